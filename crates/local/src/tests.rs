use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use expect_test::expect;
use lab::backend::contract::Contract;
use lab::backend::simulated::Simulated;
use lab::backend::{Backend, Drive, Limits, Service, Stop};
use lab::experiment::{self, Ended};
use lab::progress::{Event, Progress, Silent};
use lab::spec::generator::Arguments;
use lab::spec::{self, BackendKind, Resolved};
use lab::{Error, Host, host};
use measure::pace::Think;
use measure::{Nanos, Rate};
use nix::sys::signal::Signal;
use results::Tick;
use results::answer::Verdict;
use results::journal::Status;

use crate::lock::Lock;
use crate::{Local, confine, remains};

mod foreign;
mod foreign_generator;

/// Returns the backends that the tests' specs name.
fn for_tests(host: &Host) -> impl Fn(&Resolved) -> Box<dyn Backend> {
    |resolved| match resolved.spec.where_.backend {
        BackendKind::Simulated => Box::new(Simulated::new(resolved)),
        _ => Box::new(Local::new(host.clone())),
    }
}

#[test]
fn it_keeps_the_contract_of_backends() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tempfile::tempdir().unwrap();
    let host = Host {
        temporary: folder.path().to_owned(),
        runtime: runtime.path().to_owned(),
        ..Host::new("/bin/true".into(), "0.0.0")
    };
    let text = "name: x\nsut: {deploy: [process: {name: server, command: [sh]}]}\nworkload: {get: /}\n\
                load: {model: open, rate: 10/s}\nphases: {measure: {time: 1s}}\n";
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let contract = Contract {
        server: &["sh", "-c", "echo ready http://127.0.0.1:1; exec sleep 60"],
        program: &["echo", "done"],
        output: "done",
    };
    contract.check(&mut Local::new(host), &resolved);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A stand-in for the generator: prints a document that was made beforehand, at the pace that
/// `behaviour` sets. A file in its folder shows that it has begun.
const GENERATOR: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$2" = --dry-run ]; then
    for last; do :; done
    case $last in *.lua) ;; *) exit 0 ;; esac
    if grep -q broken "$last"; then echo "error: $last:1: '=' expected near 'broken'" >&2; exit 2; fi
    exit 0
fi
: >"$here/driving"
echo '{"phase":"measurement","elapsed_s":1.0,"completed_per_s":500.0,"failed":0}' >&2
. "$here/behaviour"
"#;

const SERVER: &str = "echo starting; echo ready http://127.0.0.1:9; exec sleep 60";

/// A folder with a generator that follows the given script.
struct Stage {
    folder: tempfile::TempDir,
    host: Host,
}

impl Stage {
    fn new(behaviour: &str) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let generator = folder.path().join("benchwright");
        fs::write(&generator, GENERATOR).unwrap();
        fs::set_permissions(&generator, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("behaviour"), behaviour).unwrap();
        fs::write(folder.path().join("document"), a_document()).unwrap();
        let temporary = folder.path().to_owned();
        let runtime = folder.path().join("runtime");
        let host = Host { temporary, runtime, ..Host::new(generator, "0.0.0") };
        Stage { folder, host }
    }

    /// An experiment with one component, a shell's command.
    fn text(command: &str) -> String {
        format!(
            "name: demo\n\
             where: {{roles: {{sut: {{cpus: 0}}, load: {{cpus: 0}}}}}}\n\
             sut:\n  \
               deploy: [process: {{name: server, command: [sh, -c, '{command}']}}]\n  \
               ready: {{within: 30s}}\n\
             workload: {{get: /}}\n\
             load: {{model: open, rate: 500/s}}\n\
             phases: {{warm_up: {{fixed: 0s}}, measure: {{time: 300ms}}, drain: 0s}}\n"
        )
    }

    /// The command of a component that runs `then` once it is under load, on fast and slow machines
    /// alike.
    fn under_load(&self, then: &str) -> String {
        let driving = self.folder.path().join("driving").display().to_string();
        format!(
            "rm -f {driving}; echo ready http://127.0.0.1:9; \
             until [ -e {driving} ]; do sleep 0.05; done; {then}"
        )
    }

    fn read(&self, text: &str) -> Resolved {
        spec::from_bytes("my.yaml", text.as_bytes(), self.folder.path(), None, &[]).unwrap()
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    fn run(&self, resolved: &Resolved) -> Result<Ended, Error> {
        experiment::run(resolved, Some(self.out()), &self.host, &for_tests(&self.host), &mut Silent)
    }

    /// Returns why a run came to no answer; its directory is kept, with what the components
    /// printed.
    fn no_answer(&self, resolved: &Resolved) -> String {
        let Ended { answer, directory, .. } = self.run(resolved).unwrap();
        assert_eq!(answer.verdict, Verdict::NoAnswer);
        assert_eq!(answer.summary, format!("no trustworthy answer: {}", answer.stopped_by));
        assert_eq!(directory.answer().unwrap().as_ref(), Some(&answer));
        answer.stopped_by
    }

    /// Asserts that no process or folder of ours is left.
    fn assert_nothing_left(&self) {
        let mark = self.folder.path().display().to_string();
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&environment).contains(&mark), "{process:?}");
        }
        for entry in fs::read_dir(self.folder.path()).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            assert!(!name.starts_with(remains::FOLDER), "{name}");
        }
        for note in fs::read_dir(&self.host.runtime).into_iter().flatten().flatten() {
            assert_eq!(note.file_name(), "lock");
        }
    }
}

/// The document of a queue with one server at half its capacity.
fn a_document() -> String {
    let text = "name: queue\nwhere: {backend: simulated}\nsimulated: {service_time: 1ms}\n\
                workload: {get: /}\nload: {model: open, rate: 500/s}\n\
                phases: {measure: {time: 1s}}\n";
    let resolved = spec::from_bytes("q", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let mut backend = Simulated::new(&resolved);
    let drive = Drive {
        targets: vec!["http://queue/".to_owned()],
        rate: Rate::per_second(500.0),
        think: Think::NONE,
        opening: Nanos::ZERO,
        warm_up: Nanos::ZERO,
        measure: Nanos::SECOND,
        drain: Nanos::SECOND,
        interval: None,
        seed: 1,
        arguments: Arguments::default(),
        secrets: Default::default(),
        foreign: None,
    };
    serde_json::to_string(&backend.drive(&drive, &mut |_| ControlFlow::Continue(())).unwrap().load)
        .unwrap()
}

#[test]
fn a_trial_of_a_process_leaves_its_results_and_nothing_else() {
    let stage = Stage::new(r#"sleep 0.5; cat "$here/document""#);
    let ended = stage.run(&stage.read(&Stage::text(SERVER))).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered);
    let entry = &ended.answer.trials[0];
    assert_eq!(entry.status, Status::Valid, "{entry:?}");
    assert!(entry.observed.as_ref().unwrap().cpu.contains_key("server"), "{entry:?}");
    let files: Vec<&str> = entry.files.keys().map(String::as_str).collect();
    let documents = ["components.json", "doctor.json", "load.json"];
    assert_eq!(files, [&documents[..], &["response_time.hlog", "service_time.hlog"]].concat());
    let directory = results::Directory::open(&stage.out()).unwrap();
    let doctor = directory.doctor().unwrap().unwrap();
    assert_eq!(
        entry.fingerprint.as_ref(),
        Some(&doctor.fingerprint.hash),
        "a trial changes nothing"
    );
    let environment = directory.environment().unwrap();
    assert_eq!(environment.placement["server"], "0");
    assert!(environment.confinement.is_some());
    assert_eq!(environment.versions["benchwright"], "0.0.0");
    let log = fs::read_to_string(stage.out().join("components/server.log")).unwrap();
    assert_eq!(log, "starting\nready http://127.0.0.1:9\n");
    stage.assert_nothing_left();
}

#[test]
fn a_component_that_dies_in_mid_trial_aborts_it_and_is_restarted_twice() {
    let stage = Stage::new("sleep 60");
    let dies = stage.under_load("echo out of rooms >&2; exit 7");
    let ended = stage.run(&stage.read(&Stage::text(&dies))).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::NoAnswer);
    let statuses: Vec<Status> = ended.answer.trials.iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [Status::Aborted; 3]);
    expect![[r#"
        a trial was aborted 3 times: server ended with exit code 7 in mid-trial
          its last output: ready http://127.0.0.1:9 | out of rooms"#]]
    .assert_eq(&ended.answer.stopped_by);
    stage.assert_nothing_left();
}

/// Two replicas, of which one dies, once: under the first load.
fn mortal_pair(stage: &Stage) -> String {
    let mark = stage.folder.path().join("mark").display().to_string();
    let dies = stage.under_load(&format!(
        "mkdir {mark} 2>/dev/null || exec sleep 60; echo out of rooms >&2; kill -9 $$"
    ));
    Stage::text(&dies).replace("sut:\n", "sut:\n  replicas: 2\n") + "repeat: {trials: 2}\n"
}

/// A record of the lasting events.
#[derive(Default)]
struct Lasting(Vec<String>);

impl Progress for Lasting {
    fn event(&mut self, event: &Event<'_>) {
        if event.is_lasting() {
            self.0.push(event.to_string());
        }
    }
}

#[test]
fn a_replica_that_dies_marks_its_trial_and_the_system_is_restarted() {
    let stage = Stage::new(r#"sleep 2; cat "$here/document""#);
    let resolved = stage.read(&mortal_pair(&stage));
    let mut events = Lasting::default();
    let ended = experiment::run(
        &resolved,
        Some(stage.out()),
        &stage.host,
        &for_tests(&stage.host),
        &mut events,
    )
    .unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{:?}", events.0);
    let [marked, whole] = &ended.answer.trials[..] else { panic!("{:?}", ended.answer.trials) };
    assert_eq!((marked.status, whole.status), (Status::Valid, Status::Valid));
    let finding = marked.findings.iter().find(|finding| finding.contains("killed")).unwrap();
    let (who, rest) = finding.split_once(" was killed by SIGKILL ").unwrap();
    assert!(["server.1", "server.2"].contains(&who), "{finding}");
    assert!(rest.ends_with(": the trial went on without it"), "{finding}");
    let last = format!("the last output of {who}: ready http://127.0.0.1:9 | out of rooms");
    assert!(marked.findings.contains(&last), "{:?}", marked.findings);
    assert!(whole.findings.iter().all(|finding| !finding.contains("killed")), "{whole:?}");
    let restarted = format!("! `{who}` was killed by SIGKILL: the system is restarted");
    assert_eq!(events.0.iter().filter(|line| **line == restarted).count(), 1, "{:?}", events.0);
    assert!(events.0.contains(&format!("! {finding}")), "{:?}", events.0);
    assert_eq!(events.0.iter().filter(|line| line.starts_with("deploy")).count(), 2);
    for name in ["server.1", "server.2"] {
        assert!(stage.out().join(format!("components/{name}.log")).exists(), "{name}");
    }
    stage.assert_nothing_left();
}

/// Kills the process that wrote its pid into a file, once the first trial is over.
struct KillOnce(PathBuf, Lasting);

impl Progress for KillOnce {
    fn event(&mut self, event: &Event<'_>) {
        if let (Event::Ended { .. }, Ok(pid)) = (event, fs::read_to_string(&self.0)) {
            fs::remove_file(&self.0).unwrap();
            let pid = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
            nix::sys::signal::kill(pid, Signal::SIGKILL).unwrap();
            // It dies when it is next scheduled, which may take a while on a busy machine.
            let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            while !stat().is_empty() && !stat().contains(") Z ") {
                host::rest(Duration::from_millis(1));
            }
        }
        self.1.event(event);
    }
}

/// A service that runs `then` once it is ready.
pub(crate) fn server(then: &str) -> Service {
    let script = format!("echo ready http://127.0.0.1:9; {then}");
    Service {
        name: "server".to_owned(),
        component: "server".to_owned(),
        replicas: 1,
        command: vec!["sh".to_owned(), "-c".to_owned(), script],
        environment: BTreeMap::new(),
        files: spec::Files::default(),
        scheme: None,
        foreign: None,
        limits: Limits::default(),
        ready_within: Nanos::from_secs(30),
        role: "sut",
        chart: None,
        manifest: None,
    }
}

/// Another user may have made a folder or a link of that name where everybody may write.
#[test]
fn a_runs_folder_is_its_own_alone() {
    let stage = Stage::new("");
    let mut local = Local::new(stage.host.clone());
    local.prepare(&stage.read(&Stage::text(SERVER))).unwrap();
    let component = server("exec sleep 60");
    local.start(std::slice::from_ref(&component)).unwrap();
    let path = local.folder.path().unwrap().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    local.stop();
    assert!(!path.exists());

    let precious = stage.folder.path().join("precious");
    fs::create_dir(&precious).unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    local.start(&[component]).unwrap();
    assert_ne!(local.folder.path().unwrap(), path, "nobody can guess its name");
    local.stop();
    assert!(precious.is_dir() && path.is_symlink());
}

#[test]
fn a_missing_folder_for_temporary_files_is_named_with_the_remedy() {
    let stage = Stage::new("");
    let missing = stage.folder.path().join("missing");
    let host = Host { temporary: missing.clone(), ..stage.host.clone() };
    let resolved = stage.read(&Stage::text(SERVER));
    // Before anything is begun.
    let refused = |temporary: &Path| {
        let mut local = Local::new(Host { temporary: temporary.to_owned(), ..stage.host.clone() });
        let Stop::Question(why) = local.accept(&resolved).unwrap_err() else { panic!() };
        why.to_string()
    };
    assert_eq!(
        refused(Path::new("/dev/null")),
        "cannot make a folder for temporary files in /dev/null: it is not a folder; set TMPDIR to a folder \
         that you may write to"
    );
    assert_eq!(
        refused(Path::new("")),
        "TMPDIR is empty; unset it, or set it to a folder that you may write to"
    );
    let mut local = Local::new(host);
    local.prepare(&resolved).unwrap();
    let Stop::NoAnswer(why) = local.start(&[server("exec sleep 60")]).unwrap_err() else {
        panic!()
    };
    let expected = format!(
        "cannot make a folder for temporary files in {}: no such file or directory; set TMPDIR to a folder \
         that you may write to",
        missing.display()
    );
    assert_eq!(why.to_string(), expected);
    assert_eq!(refused(&missing), expected);
}

/// The signals that end the others go to its group as well, so its number must stay its own.
#[test]
fn the_number_of_a_dead_component_stays_taken_until_its_group_was_signalled() {
    let stage = Stage::new("");
    let mut local = Local::new(stage.host.clone());
    local.prepare(&stage.read(&Stage::text(SERVER))).unwrap();
    let component = server("read -r line; exit 7");
    // It may die before it is ready, or after.
    let mut stop = local.start(&[component]).map(drop);
    while stop.is_ok() {
        stop = local.check();
    }
    assert!(matches!(stop.unwrap_err(), Stop::Died { why, .. } if why == "ended with exit code 7"));
    let pid = local.running[0].source.pid;
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(stat().contains(") Z "), "{}", stat());
    local.stop();
    assert!(!stat().contains(") Z "), "{}", stat());
}

#[test]
fn a_component_that_dies_between_trials_is_restarted_with_a_notice() {
    let stage = Stage::new(r#"cat "$here/document""#);
    let pid = stage.folder.path().join("pid");
    let command = format!("echo $$ > {}; {SERVER}", pid.display());
    let resolved = stage.read(&(Stage::text(&command) + "repeat: {trials: 2}\n"));
    let mut killer = KillOnce(pid, Lasting::default());
    let ended = experiment::run(
        &resolved,
        Some(stage.out()),
        &stage.host,
        &for_tests(&stage.host),
        &mut killer,
    )
    .unwrap();
    let statuses: Vec<Status> = ended.answer.trials.iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [Status::Valid; 2]);
    let restarted = "! `server` was killed by SIGKILL: the system is restarted";
    assert_eq!(killer.1.0.iter().filter(|line| *line == restarted).count(), 1, "{:?}", killer.1.0);
    stage.assert_nothing_left();
}

#[test]
fn twenty_starts_and_stops_of_34_processes_leave_nothing_behind() {
    let stage = Stage::new("");
    let text = Stage::text(SERVER).replace("sut:\n", "sut:\n  instances: 2\n  replicas: 17\n");
    let resolved = stage.read(&text);
    let mut backend = Local::new(stage.host.clone());
    backend.accept(&resolved).unwrap();
    backend.prepare(&resolved).unwrap();
    let mut lengths = Vec::new();
    for _ in 0..20 {
        let mut system = lab::system::System::default();
        let begun = host::now();
        system.deploy(&resolved, &mut backend, &mut Silent).unwrap();
        lengths.push(host::now() - begun);
        assert_eq!(system.addresses.len(), 2);
        let placement = backend.placement().unwrap();
        assert_eq!(placement.len(), 34);
        assert!(placement.contains_key("server-2.17"), "{placement:?}");
        backend.stop();
        stage.assert_nothing_left();
        let group = format!("{}{}", remains::GROUP, backend.run);
        let mut parents = confine::parents(&stage.host.cgroups, &confine::own()).into_iter();
        assert!(!parents.any(|parent| parent.join(&group).exists()), "{group} is left");
    }
    // The best quarter: others use this machine too.
    lengths.sort();
    assert!(lengths[5] < Nanos::from_secs(3), "{lengths:?}");
}

/// Starts a component that prints its arguments, and returns these and its URL.
fn arguments_of(stage: &Stage, command: &str) -> (String, String) {
    let text = Stage::text("").replace("[sh, -c, '']", command);
    let resolved = stage.read(&text);
    let mut backend = Local::new(stage.host.clone());
    backend.prepare(&resolved).unwrap();
    let mut system = lab::system::System::default();
    system.deploy(&resolved, &mut backend, &mut Silent).unwrap();
    let printed = backend.last_words().into_iter().find(|line| line.starts_with("arguments"));
    backend.stop();
    (printed.unwrap(), system.urls[0].clone())
}

#[test]
fn a_component_that_says_where_it_listens_gets_no_option() {
    let stage = Stage::new("");
    let printed = |line: &str| format!("'echo arguments \"$@\"; echo {line}; exec sleep 60'");
    let (usual, url) =
        arguments_of(&stage, &format!("[sh, -c, {}, _]", printed("ready http://127.0.0.1:9")));
    assert_eq!((&*usual, &*url), ("arguments --listen 127.0.0.1:0", "http://127.0.0.1:9"));
    let own = format!("[sh, -c, {}, _, --ip, '${{listen}}']", printed("ready kv://127.0.0.1:9"));
    let (own, url) = arguments_of(&stage, &own);
    assert_eq!((&*own, &*url), ("arguments --ip 127.0.0.1:0", "kv://127.0.0.1:9"));
}

/// The spec does not say that it speaks another protocol, so only its line tells it.
#[test]
fn a_component_of_another_scheme_gets_no_request_of_the_runner() {
    let stage = Stage::new("");
    let text = Stage::text("echo ready kv://127.0.0.1:9; exec sleep 60");
    let why = stage.no_answer(&stage.read(&text.replace("ready: {", "ready: {get: /healthz, ")));
    expect![[r#"
        the runner's own requests are plain HTTP, and `server` is at kv://
         --> my.yaml:5:16
          |
        5 |   ready: {get: /healthz, within: 30s}
          |                ^^^^^^^^ remove it: a component is ready by its line `ready <url>`, or with a port by `tcp` or `log`"#]]
    .assert_eq(&why);
    stage.assert_nothing_left();
}

#[test]
fn a_component_that_never_becomes_ready_is_shown_with_its_output() {
    let stage = Stage::new("");
    let text = Stage::text("echo store: permission denied; sleep 60");
    let why = stage.no_answer(&stage.read(&text.replace("within: 30s", "within: 2s")));
    expect![[r#"
        `server` did not become ready in 2 s: it never printed `ready <url>`; we appended `--listen ADDRESS:PORT` to its command, and await its line `ready <url>`: if it knows nothing of that, write `port: auto` beside its command, and ${port} where the command names the port
          its last output:
            store: permission denied"#]]
    .assert_eq(&why);
    let log = fs::read_to_string(stage.out().join("components/server.log")).unwrap();
    assert_eq!(log, "store: permission denied\n");
    stage.assert_nothing_left();
}

/// Its load would reach somebody else.
#[test]
fn a_component_that_names_another_host_is_not_loaded() {
    let stage = Stage::new("");
    let component = "echo ready http://192.0.2.1:80; exec sleep 60";
    let why = stage.no_answer(&stage.read(&Stage::text(component)));
    let said = "`server` printed `ready http://192.0.2.1:80`: `192.0.2.1` is not this host; load a service elsewhere";
    assert!(why.starts_with(said), "{why}");
    stage.assert_nothing_left();
}

#[test]
fn a_component_that_ends_before_it_is_ready_is_shown_with_its_end() {
    let stage = Stage::new("");
    let why = stage.no_answer(&stage.read(&Stage::text("echo no disk >&2; exit 3")));
    expect![[r#"
        `server` ended with exit code 3 before it was ready; we appended `--listen ADDRESS:PORT` to its command, and await its line `ready <url>`: if it knows nothing of that, write `port: auto` beside its command, and ${port} where the command names the port
          its last output:
            no disk"#]]
    .assert_eq(&why);
    stage.assert_nothing_left();
}

#[test]
fn a_system_that_does_not_answer_its_readiness_request_is_an_error_with_the_request() {
    let stage = Stage::new("");
    let set = ["sut.ready.get=/healthz".to_owned(), "sut.ready.within=2s".to_owned()];
    let text = Stage::text(SERVER);
    let resolved =
        spec::from_bytes("my.yaml", text.as_bytes(), stage.folder.path(), None, &set).unwrap();
    let why = stage.no_answer(&resolved);
    expect![[r#"
        the system did not become ready in 2 s
          waiting for GET http://127.0.0.1:9/healthz: connection refused
          the last output:
            starting
            ready http://127.0.0.1:9"#]]
    .assert_eq(&why);
    stage.assert_nothing_left();
}

/// Raises the interrupt flag at the first event with this text.
struct InterruptAt(&'static str, Host);

impl Progress for InterruptAt {
    fn event(&mut self, event: &Event<'_>) {
        if event.to_string().contains(self.0) {
            self.1.interrupted.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupt_in_any_stage_takes_everything_down_in_seconds() {
    for at in ["demo", "deploy", "ready", "measuring", "measuring 1 s"] {
        let stage = Stage::new("sleep 30");
        // It ignores signals to end, and so does its child.
        let stubborn = "trap \"\" TERM INT; echo ready http://127.0.0.1:9; sleep 60; sleep 60";
        let in_load = at == "measuring 1 s";
        let resolved = stage.read(&Stage::text(if in_load { stubborn } else { SERVER }));
        let begun = host::now();
        let mut progress = InterruptAt(at, stage.host.clone());
        let ended = experiment::run(
            &resolved,
            Some(stage.out()),
            &stage.host,
            &for_tests(&stage.host),
            &mut progress,
        );
        let took = host::now() - begun;
        if stage.host.is_interrupted() {
            assert_eq!(ended.unwrap().answer.verdict, Verdict::Interrupted, "{at}");
        }
        assert!(took < Nanos::from_secs(15), "{at}: {took}");
        stage.assert_nothing_left();
    }
}

#[test]
fn the_generators_messages_are_passed_on() {
    for (behaviour, question) in [
        ("echo 'error: cannot connect to 127.0.0.1:9: connection refused' >&2; exit 3", false),
        ("echo 'error: no rate' >&2; exit 2", true),
        ("echo '{}'; exit 0", false),
        ("kill -9 $$", false),
    ] {
        let stage = Stage::new(behaviour);
        let resolved = stage.read(&(Stage::text(SERVER) + "budget: {invalid_attempts: 0}\n"));
        let why = match question {
            true => match stage.run(&resolved).unwrap_err() {
                Error::Question(error) => error.to_string(),
                error => panic!("{error}"),
            },
            false => stage.no_answer(&resolved),
        };
        let expected = match behaviour {
            _ if behaviour.contains("connect") => {
                "the generator ended with exit code 3: cannot connect to 127.0.0.1:9: connection refused"
            }
            _ if behaviour.contains("rate") => "the generator refuses: no rate",
            _ if behaviour.contains("kill") => {
                "a trial was not valid, and budget.invalid_attempts allows no other: the generator was \
                 killed by SIGKILL: it printed nothing"
            }
            _ => "the generator: its document cannot be read: missing field `schema`",
        };
        assert!(why.starts_with(expected), "{why}");
        stage.assert_nothing_left();
    }
}

#[test]
fn an_absent_cpu_and_a_broken_script_are_found_before_anything_is_deployed() {
    let stage = Stage::new("");
    let text = Stage::text(SERVER);
    let absent = stage.read(&text.replacen("cpus: 0", "cpus: 4095", 1));
    let error = stage.run(&absent).unwrap_err();
    assert!(matches!(error, Error::Question(_)), "{error}");
    let shown = error.to_string();
    assert!(shown.starts_with("role sut needs CPU 4095, which is not available here\n"), "{shown}");
    assert!(shown.contains("my.yaml:") && shown.contains("^^^^ CPUs here: 0"), "{shown}");

    fs::write(stage.folder.path().join("w.lua"), "broken\n").unwrap();
    let error = stage.run(&stage.read(&text.replace("get: /", "script: w.lua"))).unwrap_err();
    assert!(matches!(error, Error::Question(_)), "{error}");
    assert!(error.to_string().ends_with("w.lua:1: '=' expected near 'broken'"), "{error}");

    let error = stage.run(&stage.read(&text.replace("[sh,", "[no-such-shell,"))).unwrap_err();
    assert!(matches!(error, Error::Question(_)), "{error}");
    assert!(error.to_string().starts_with("program `no-such-shell` not found\n"), "{error}");
    assert!(!stage.out().exists());
    stage.assert_nothing_left();
}

#[test]
fn only_one_experiment_measures_on_a_host() {
    let stage = Stage::new("");
    let _lock = Lock::take(&stage.host.runtime).unwrap();
    let error = stage.run(&stage.read(&Stage::text(SERVER))).unwrap_err();
    let pid = std::process::id();
    let expected = format!("another experiment is measuring on this host (pid {pid})");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(!stage.out().exists());
}

#[test]
fn a_limit_is_kept_where_there_are_control_groups() {
    let stage = Stage::new(r#"sleep 1; cat "$here/document""#);
    let busy = "echo ready http://127.0.0.1:9; while :; do :; done";
    let text = Stage::text(busy).replace("name: server,", "name: server, cpu_limit: 0.2,");
    let resolved = stage.read(&text);
    let answer = stage.run(&resolved).unwrap().answer;
    let trial = &answer.trials[0];
    let used = trial.observed.as_ref().unwrap().cpu["server"];
    let is_kept = trial.warnings.iter().all(|warning| !warning.contains("without its CPU limit"));
    assert!(!is_kept || (0.05..0.3).contains(&used), "{used}: {:?}", trial.warnings);
    stage.assert_nothing_left();
}

#[test]
fn a_memory_limit_is_kept_where_there_are_control_groups() {
    let stage = Stage::new(r#"sleep 5; cat "$here/document""#);
    let greedy = stage
        .under_load("head -c 100000000 /dev/zero | tail -n 1 >/dev/null || exit 9; exec sleep 60");
    let text = Stage::text(&greedy).replace("name: server,", "name: server, memory_limit: 16MiB,");
    let answer = stage.run(&stage.read(&text)).unwrap().answer;
    let is_kept =
        answer.trials[0].warnings.iter().all(|warning| !warning.contains("its memory limit"));
    let expected = if is_kept && answer.trials[0].status == Status::Aborted {
        "server ended with exit code 9, as the kernel had killed a process of it at its `memory_limit`, in mid-trial"
    } else {
        "`server` runs without its memory limit of 16MiB: "
    };
    let messages = [&answer.trials[0].reasons[..], &answer.trials[0].warnings].concat();
    assert!(messages.iter().any(|text| text.starts_with(expected)), "{messages:?}");
    assert_eq!(answer.summary.contains("memory_limit"), !expected.contains("without"));
    stage.assert_nothing_left();
}

#[test]
fn a_service_of_ones_own_is_measured_by_its_address_alone() {
    let stage = Stage::new(r#"sleep 0.2; cat "$here/document""#);
    let text = Stage::text(SERVER);
    let (before, behind) = text.split_once("where").unwrap();
    let (_, behind) = behind.split_once("workload").unwrap();
    let text = format!(
        "{before}where: {{backend: external}}\nsut: {{endpoint: \"http://127.0.0.1:9\"}}\nworkload{behind}"
    );
    let ended = stage.run(&stage.read(&text)).unwrap();
    let observed = ended.answer.trials[0].observed.as_ref().unwrap();
    assert!(observed.cpu.is_empty());
    assert_eq!(observed.limited_by, None);
    assert!(!stage.out().join("components").exists());
    stage.assert_nothing_left();
}

#[test]
fn without_control_groups_processes_are_still_pinned_watched_and_ended() {
    let mut stage = Stage::new(r#"sleep 0.5; cat "$here/document""#);
    stage.host.cgroups = stage.folder.path().join("none");
    let busy = "echo ready http://127.0.0.1:9; while :; do :; done";
    let ended = stage.run(&stage.read(&Stage::text(busy))).unwrap();
    let observed = ended.answer.trials[0].observed.as_ref().unwrap();
    assert!(0.0 < observed.cpu["server"], "{observed:?}");
    let environment = results::Directory::open(&stage.out()).unwrap().environment().unwrap();
    assert_eq!(environment.placement["server"], "0");
    let confinement = environment.confinement.unwrap();
    assert!(confinement.starts_with("affinity only: "), "{confinement}");
    stage.assert_nothing_left();

    let limited = Stage::text(SERVER).replace("name: server,", "name: server, cpu_limit: 0.2,");
    fs::remove_dir_all(stage.out()).unwrap();
    let trials = stage.run(&stage.read(&limited)).unwrap().answer.trials;
    let why = &trials[0].warnings[0];
    assert!(why.starts_with("`server` runs without its CPU limit of 0.2: affinity only"), "{why}");
    stage.assert_nothing_left();
}

#[test]
fn the_cpu_time_of_all_components_is_counted() {
    let stage = Stage::new("");
    let resolved = stage.read(&Stage::text(SERVER));
    let mut local = Local::new(stage.host.clone());
    local.accept(&resolved).unwrap();
    local.prepare(&resolved).unwrap();
    assert_eq!(local.cpu_time(), None);
    local.start(&[server("while :; do :; done")]).unwrap();
    let begun = local.cpu_time().unwrap();
    let second = Nanos::SECOND;
    for _ in 0..600 {
        if begun + second < local.cpu_time().unwrap() {
            local.stop();
            return stage.assert_nothing_left();
        }
        local.pause(Nanos::from_millis(100)).unwrap();
    }
    panic!("a busy process used {:?} in a minute", local.cpu_time());
}

/// The generator prints its ticks and goes on until it is told to end, as it does at Ctrl-C. Only
/// after its second tick it can be told.
#[test]
fn a_load_that_its_ticks_end_is_interrupted_and_still_gives_its_document() {
    let stage = Stage::new(
        r#"trap 'cat "$here/document"; exit 130' INT
        echo '{"phase":"measurement","elapsed_s":2.0,"completed_per_s":500.0,"failed":0}' >&2
        while true; do sleep 0.05; done"#,
    );
    let resolved = stage.read(&Stage::text(SERVER));
    let mut local = Local::new(stage.host.clone());
    local.accept(&resolved).unwrap();
    local.prepare(&resolved).unwrap();
    let drive = Drive {
        targets: Vec::new(),
        rate: None,
        think: Think::NONE,
        opening: Nanos::ZERO,
        warm_up: Nanos::ZERO,
        measure: Nanos::from_secs(60),
        drain: Nanos::ZERO,
        interval: Some(Nanos::SECOND),
        seed: 1,
        arguments: Arguments::default(),
        secrets: Default::default(),
        foreign: None,
    };
    let mut end_second = |tick: Tick| match tick.elapsed_s < 2.0 {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let ended = local.drive(&drive, &mut end_second).unwrap();
    assert_eq!(ended.load.measured_s, 1.0);
    local.stop();
    stage.assert_nothing_left();
}
