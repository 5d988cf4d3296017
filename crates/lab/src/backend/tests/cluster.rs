//! A backend by script: all that an experiment asks of a cluster can be said with the operations of
//! a backend. Its nodes have clocks of their own, its generators can be lost, and services have
//! other addresses inside than outside.

use std::cell::RefCell;
use std::rc::Rc;

use results::journal::Status;
use results::{Directory, answer::Verdict};

use super::super::simulated::Simulated;
use super::*;
use crate::experiment::{self, Ended};
use crate::progress::{Event, Progress};
use crate::{Error, Host};

/// The events on the cluster, and the operations that were asked of it.
#[derive(Default)]
struct Script {
    asked: Vec<String>,
    /// The holder of the lease, if another run measures.
    holder: Option<&'static str>,
    /// The objects of a run that was killed.
    left: Vec<String>,
    /// The digest of the image.
    image: &'static str,
    /// The causes for which the next loads are lost.
    lost: Vec<&'static str>,
    clock_error: Nanos,
}

struct Cluster {
    script: Rc<RefCell<Script>>,
    load: Simulated,
    replicas: BTreeMap<String, u32>,
}

impl Cluster {
    fn tell(&self, what: String) {
        self.script.borrow_mut().asked.push(what);
    }

    /// Peers use the service's name in the cluster, generators a port of a node, and the runner the
    /// proxy of the API server.
    fn addresses(&self, service: &str) -> Vec<Address> {
        let address = |number: u32| Address {
            of_peers: format!("http://{service}-{number}.demo.svc:80"),
            of_generator: format!("http://node-{number}:30080"),
            of_runner: format!("http://api/proxy/{service}-{number}"),
        };
        (1..=self.replicas[service]).map(address).collect()
    }
}

impl Backend for Cluster {
    fn now(&mut self) -> Instant {
        self.load.now()
    }
    fn date(&mut self) -> Option<Nanos> {
        Some(Nanos::from_secs(1_700_000_000))
    }
    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        self.load.pause(length)
    }
    fn lock(&mut self) -> Result<(), Stop> {
        match self.script.borrow().holder {
            None => Ok(()),
            Some(holder) => Err(Stop::no_answer(format!("the lease of `sut` is held by {holder}"))),
        }
    }
    fn clean_up(&mut self) -> Vec<String> {
        std::mem::take(&mut self.script.borrow_mut().left)
    }
    fn digests(&mut self, _: &Resolved) -> Result<BTreeMap<String, String>, Stop> {
        Ok([("image".to_owned(), self.script.borrow().image.to_owned())].into())
    }
    fn prepare(&mut self, _: &Resolved) -> Result<Environment, Stop> {
        Ok(Environment::default())
    }
    fn collect(&mut self, folder: &Path) {
        let name = folder.file_name().unwrap_or_default().display();
        self.tell(format!("collect the logs of all pods in {name}"));
    }
    fn start(&mut self, wave: &[Service]) -> Result<Vec<Vec<Address>>, Stop> {
        for Service { name, replicas, command, limits, role, .. } in wave {
            self.tell(format!(
                "apply {name} ×{replicas} {command:?} {limits:?} on nodes of {role}"
            ));
            self.replicas.insert(name.clone(), *replicas);
        }
        Ok(wave.iter().map(|service| self.addresses(&service.name)).collect())
    }
    fn restart(&mut self, services: &[String]) -> Result<(), Stop> {
        self.tell(format!("rollout restart {}", services.join(" ")));
        Ok(())
    }
    fn scale(&mut self, service: &str, replicas: u32) -> Result<Vec<Address>, Stop> {
        self.replicas.insert(service.to_owned(), replicas);
        Ok(self.addresses(service))
    }
    fn execute(&mut self, run: &Run) -> Result<Executed, String> {
        self.tell(format!("job {}", run.in_words()));
        Ok(Executed::as_expected(run))
    }
    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop> {
        let names = self.replicas.iter().flat_map(|(name, number)| replicas(name, *number));
        Ok((1..).zip(names).map(|(node, name)| (name, format!("node-{node}"))).collect())
    }
    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        self.tell(format!("{} {url}{}", exchange.method, exchange.target));
        Ok(Reply::as_expected(exchange))
    }
    fn check(&mut self) -> Result<(), Stop> {
        Ok(())
    }
    fn await_calm(&mut self, within: Nanos) -> Result<Calm, Stop> {
        self.load.await_calm(within)
    }
    fn drive(&mut self, drive: &Drive, tick: &mut Ticking<'_>) -> Result<Driven, Stop> {
        self.tell(format!("load of {}", drive.targets.join(" ")));
        let lost = self.script.borrow_mut().lost.pop();
        if let Some(cause) = lost {
            return Err(Stop::Disturbed { cause: cause.to_owned() });
        }
        let mut driven = self.load.drive(drive, tick)?;
        let clock_error = self.script.borrow().clock_error;
        driven.consumed.values_mut().for_each(|consumed| consumed.clock_error = clock_error);
        Ok(driven)
    }
    fn stop(&mut self) {
        self.tell("delete everything of this run".to_owned());
    }
}

const SHOP: &str = "
name: shop
where: {backend: local}
simulated: {service_time: 1ms}
sut:
  deploy:
    - process: {name: store, command: [store], port: 6379, replicas: 1}
    - run: {command: [fill, \"${addresses.store}\"]}
    - process: {name: web, command: [web, \"${addresses.store}\"], replicas: 2, cpu_limit: 1}
  smoke: [{get: /healthz}]
reset: {between: trials, steps: [restart: store]}
workload: {get: /}
load: {model: open, rate: 100/s}
repeat: {trials: 2}
phases: {warm_up: {fixed: 0s}, measure: {time: 1s}, drain: 0s}
";

struct Demo {
    folder: tempfile::TempDir,
    script: Rc<RefCell<Script>>,
}

#[derive(Default)]
struct Notices(Vec<String>);

impl Progress for Notices {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Notice(text) = event {
            self.0.push(text.clone());
        }
    }
}

impl Demo {
    fn new(script: Script) -> Demo {
        Demo { folder: tempfile::tempdir().unwrap(), script: Rc::new(RefCell::new(script)) }
    }

    fn out(&self) -> std::path::PathBuf {
        self.folder.path().join("out")
    }

    fn backends(&self) -> impl Fn(&Resolved) -> Box<dyn Backend> {
        let script = self.script.clone();
        move |resolved| {
            let (script, load) = (script.clone(), Simulated::new(resolved));
            Box::new(Cluster { script, load, replicas: BTreeMap::new() })
        }
    }

    fn run(&self, progress: &mut dyn Progress) -> Result<Ended, Error> {
        let read = spec::from_bytes("my.yaml", SHOP.as_bytes(), Path::new("."), None, &[]);
        let host = Host::new("benchwright".into(), "0.0.0");
        experiment::run(&read.unwrap(), Some(self.out()), &host, &self.backends(), progress)
    }
}

#[test]
fn every_party_uses_its_own_address_of_a_service() {
    let demo = Demo::new(Script::default());
    let ended = demo.run(&mut Notices::default()).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{}", ended.answer.summary);
    let asked = demo.script.borrow().asked.join("\n") + "\n";
    expect_test::expect![[r#"
        collect the logs of all pods in components
        apply store ×1 ["store"] Limits { cpu: None, memory: None } on nodes of sut
        job fill store-1.demo.svc:80
        apply web ×2 ["web", "store-1.demo.svc:80"] Limits { cpu: Some(1.0), memory: None } on nodes of sut
        GET http://api/proxy/web-1/healthz
        rollout restart store
        load of http://node-1:30080/
        rollout restart store
        load of http://node-1:30080/
        delete everything of this run
    "#]].assert_eq(&asked);
    let environment = Directory::open(&demo.out()).unwrap().environment().unwrap();
    let placed: Vec<String> =
        environment.placement.iter().map(|(name, node)| format!("{name} on {node}")).collect();
    assert_eq!(placed, ["store on node-1", "web.1 on node-2", "web.2 on node-3"]);
}

#[test]
fn a_lost_generator_makes_its_trial_invalid_and_the_run_goes_on() {
    let lost = vec!["the generator on node-7 was lost: the node is not ready"];
    let demo = Demo::new(Script { lost, ..Script::default() });
    let ended = demo.run(&mut Notices::default()).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{}", ended.answer.summary);
    let journal = Directory::open(&demo.out()).unwrap().journal().unwrap();
    let statuses: Vec<Status> = journal.iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [Status::Invalid, Status::Valid, Status::Valid]);
    assert_eq!(journal[0].reasons, ["the generator on node-7 was lost: the node is not ready"]);
    assert_eq!((journal[1].repetition, journal[1].attempt), (1, 2));
}

#[test]
fn one_run_holds_the_nodes_and_removes_what_a_killed_one_left() {
    let demo = Demo::new(Script { holder: Some("benchwright-4711"), ..Script::default() });
    let Error::NoAnswer(why) = demo.run(&mut Notices::default()).unwrap_err() else { panic!() };
    assert_eq!(why.to_string(), "the lease of `sut` is held by benchwright-4711");
    assert!(!demo.out().exists());

    let left = vec!["3 pods of run 0815 removed".to_owned()];
    let demo = Demo::new(Script { left: left.clone(), ..Script::default() });
    let mut notices = Notices::default();
    demo.run(&mut notices).unwrap();
    assert_eq!(notices.0, left);
}

#[test]
fn a_run_is_not_continued_with_another_image() {
    let demo = Demo::new(Script { image: "sha256:1", ..Script::default() });
    demo.run(&mut Notices::default()).unwrap();
    demo.script.borrow_mut().image = "sha256:2";
    let host = Host::new("benchwright".into(), "0.0.0");
    let resumed =
        experiment::resume(&demo.out(), &[], &host, &demo.backends(), &mut Notices::default());
    let why = resumed.unwrap_err().to_string();
    assert!(why.contains("changed since it began: image"), "{why}");
}

/// Figures of a second that come from a clock that is half a second wrong are none.
#[test]
fn times_of_a_clock_that_is_too_uncertain_give_no_figures_of_seconds() {
    let cpu = |clock_error: Nanos| {
        let demo = Demo::new(Script { clock_error, ..Script::default() });
        demo.run(&mut Notices::default()).unwrap();
        let journal = Directory::open(&demo.out()).unwrap().journal().unwrap();
        let path = demo.out().join("trials/1/components.json");
        assert!(journal[0].files.contains_key("components.json"), "{:?}", journal[0].files);
        let text = std::fs::read_to_string(path).unwrap();
        text.contains("\"cpu\": [") || text.contains("\"cpu\":[")
    };
    assert!(cpu(Nanos::from_millis(1)));
    assert!(!cpu(Nanos::from_millis(500)));
}
