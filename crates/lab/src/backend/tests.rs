use std::path::Path;

use super::*;
use crate::Host;
use crate::spec::{self, Files};

mod cluster;

/// Checks what every backend must do.
fn contract(backend: &mut dyn Backend, resolved: &Resolved) {
    backend.lock().unwrap();
    assert_eq!(backend.clean_up(), [""; 0]);
    assert_eq!(backend.digests(resolved).unwrap(), backend.digests(resolved).unwrap());
    backend.prepare(resolved).unwrap();
    let before = backend.now();
    backend.pause(Nanos::from_millis(1)).unwrap();
    assert!(before + Nanos::from_millis(1) <= backend.now());

    let service = Service {
        name: "server".to_owned(),
        component: "server".to_owned(),
        replicas: 2,
        command: ["sh", "-c", "echo ready http://127.0.0.1:1; exec sleep 60"]
            .map(str::to_owned)
            .to_vec(),
        environment: BTreeMap::new(),
        files: Files::default(),
        foreign: None,
        limits: Limits::default(),
        ready_within: Nanos::from_secs(30),
        role: "sut",
    };
    let single = Service { name: "single".to_owned(), replicas: 1, ..service.clone() };
    let wave = [service, single];
    let addresses = backend.start(&wave).unwrap();
    assert_eq!(addresses.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    for Address { of_peers, of_generator, of_runner } in addresses.iter().flatten() {
        let all = [of_peers, of_generator, of_runner];
        assert!(all.iter().all(|url| url.starts_with("http://")), "{all:?}");
    }
    let url = &addresses[0][0].of_runner;
    backend.check().unwrap();
    assert_eq!(backend.placement().unwrap(), backend.placement().unwrap());
    match backend.ask(url, &Exchange::get("/")) {
        Ok(reply) => assert_eq!(reply.status, 200),
        Err(why) => assert_eq!(why, "connection refused"),
    }
    let names: Vec<String> = backend.placement().unwrap().into_keys().collect();
    let is_placed = !names.is_empty();
    assert!(!is_placed || names == ["server.1", "server.2", "single"], "{names:?}");

    // Restarted replicas keep their addresses, and added ones do not change those of the first.
    backend.restart(&["server".to_owned(), "single".to_owned()]).unwrap();
    backend.check().unwrap();
    let scaled = backend.scale("server", 3).unwrap();
    assert_eq!(scaled.len(), 3);
    assert_eq!(scaled[..2], addresses[0][..]);
    assert_eq!(backend.scale("server", 1).unwrap().len(), 1);
    backend.check().unwrap();
    let placed = backend.placement().unwrap();
    assert_eq!(placed.len(), if is_placed { 2 } else { 0 }, "{placed:?}");

    let run = serde_json::json!({"command": ["echo", "done"], "output_equals": "done"});
    let done = backend.execute(&serde_json::from_value(run).unwrap()).unwrap();
    assert!(done.succeeded && done.output.trim() == "done", "{done:?}");
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
    let lock = tempfile::NamedTempFile::new().unwrap();
    let host = Host {
        temporary: folder.path().to_owned(),
        lock: lock.path().to_owned(),
        ..Host::new("/bin/true".into(), "0.0.0")
    };
    contract(&mut dry_run::DryRun::default(), &read("local"));
    contract(&mut local::Local::new(host), &read("local"));
    let simulated = read("simulated");
    contract(&mut simulated::Simulated::new(&simulated), &simulated);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
