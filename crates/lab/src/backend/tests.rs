use std::path::Path;

use super::*;
use crate::Host;
use crate::spec::{self, Method};

/// Checks what every backend must do.
fn contract(backend: &mut dyn Backend, resolved: &Resolved) {
    backend.prepare(resolved).unwrap();
    let before = backend.now();
    backend.pause(Nanos::from_millis(1)).unwrap();
    assert!(before + Nanos::from_millis(1) <= backend.now());

    let component = Component {
        name: "server".to_owned(),
        step: "server".to_owned(),
        service: "server".to_owned(),
        command: ["sh", "-c", "echo ready http://127.0.0.1:1; exec sleep 60"]
            .map(str::to_owned)
            .to_vec(),
        environment: BTreeMap::new(),
        cpu_limit: None,
        memory_limit: None,
        ready_within: Nanos::from_secs(30),
        role: "sut",
    };
    let wave = [component.clone(), Component { name: "server.2".to_owned(), ..component }];
    let urls = backend.start(&wave).unwrap();
    assert_eq!(urls.len(), 2);
    let url = &urls[0];
    assert!(url.starts_with("http://"), "{url}");
    backend.check().unwrap();
    assert_eq!(backend.placement().unwrap(), backend.placement().unwrap());
    let exchange =
        Exchange { method: Method::Get, target: "/".to_owned(), status: 200, body: None };
    match backend.ask(url, &exchange) {
        Ok(reply) => assert_eq!(reply.status, 200),
        Err(why) => assert_eq!(why, "connection refused"),
    }
    // This machine may be calm or not at this moment.
    let calm = backend.await_calm(Nanos::from_millis(1)).unwrap();
    assert!(calm.waited < Nanos::from_secs(30), "{calm}");
    backend.stop();
    backend.stop();
    backend.check().unwrap();
    assert!(backend.placement().unwrap().is_empty());
    backend.start(&wave).unwrap();
    backend.stop();
}

fn read(backend: &str) -> Resolved {
    let text = format!(
        "name: x\nwhere: {{backend: {backend}}}\nsimulated: {{service_time: 1ms}}\n\
         sut: {{deploy: [process: {{name: server, command: [sh]}}]}}\nworkload: {{get: /}}\n\
         load: {{model: open, rate: 10/s}}\nphases: {{measure: {{time: 1s}}}}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

#[test]
fn every_backend_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let host =
        Host { temporary: folder.path().to_owned(), ..Host::new("/bin/true".into(), "0.0.0") };
    contract(&mut dry_run::DryRun::default(), &read("local"));
    contract(&mut local::Local::new(host), &read("local"));
    let simulated = read("simulated");
    contract(&mut simulated::Simulated::new(&simulated), &simulated);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
