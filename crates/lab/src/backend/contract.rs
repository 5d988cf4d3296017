//! The contract of backends: what each of them must do, whatever place it is. A backend of another
//! crate is checked with it too, where its place is.

use std::collections::BTreeMap;

use measure::Nanos;

use super::{Address, Backend, Limits, Service};
use crate::spec::{Exchange, Files, Resolved};

const WORKS: &str = "the backend works";

/// The programs of a place that its backend is checked with.
#[derive(Clone, Copy, Debug)]
pub struct Contract<'a> {
    /// A program that takes `--listen`, prints `ready <url>` and goes on.
    pub server: &'a [&'a str],
    /// A program that ends by itself, and the text that it prints.
    pub program: &'a [&'a str],
    pub output: &'a str,
}

impl Contract<'_> {
    /// Checks a backend, of a spec that it accepts.
    ///
    /// # Panics
    ///
    /// Panics if it breaks the contract.
    pub fn check(&self, backend: &mut dyn Backend, resolved: &Resolved) {
        backend.accept(resolved).expect(WORKS);
        backend.lock().expect(WORKS);
        assert_eq!(backend.clean_up(), [""; 0]);
        assert_eq!(
            backend.digests(resolved).expect(WORKS),
            backend.digests(resolved).expect(WORKS)
        );
        backend.prepare(resolved).expect(WORKS);
        let before = backend.now();
        backend.pause(Nanos::from_millis(1)).expect(WORKS);
        assert!(before + Nanos::from_millis(1) <= backend.now());

        let service = Service {
            name: "server".to_owned(),
            component: "server".to_owned(),
            replicas: 2,
            command: words(self.server),
            environment: BTreeMap::new(),
            files: Files::default(),
            scheme: None,
            foreign: None,
            limits: Limits::default(),
            ready_within: Nanos::from_secs(30),
            role: "sut",
            chart: None,
            manifest: None,
        };
        let single = Service { name: "single".to_owned(), replicas: 1, ..service.clone() };
        let wave = [service, single];
        let addresses = backend.start(&wave).expect(WORKS);
        assert_eq!(addresses.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        for Address { of_peers, of_generator, of_runner } in addresses.iter().flatten() {
            let all = [of_peers, of_generator, of_runner];
            assert!(all.iter().all(|url| url.starts_with("http://")), "{all:?}");
        }
        let url = &addresses[0][0].of_runner;
        backend.check().expect(WORKS);
        assert_eq!(backend.placement().expect(WORKS), backend.placement().expect(WORKS));
        match backend.ask(url, &Exchange::get("/")) {
            Ok(reply) => assert_eq!(reply.status, 200),
            Err(why) => assert_eq!(why, "connection refused"),
        }
        let names: Vec<String> = backend.placement().expect(WORKS).into_keys().collect();
        let is_placed = !names.is_empty();
        assert!(!is_placed || names == ["server.1", "server.2", "single"], "{names:?}");

        // Restarted replicas keep their addresses, and added ones do not change those of the first.
        backend.restart(&["server".to_owned(), "single".to_owned()]).expect(WORKS);
        backend.check().expect(WORKS);
        let scaled = backend.scale("server", 3).expect(WORKS);
        assert_eq!(scaled.len(), 3);
        assert_eq!(scaled[..2], addresses[0][..]);
        assert_eq!(backend.scale("server", 1).expect(WORKS).len(), 1);
        backend.check().expect(WORKS);
        let placed = backend.placement().expect(WORKS);
        assert_eq!(placed.len(), if is_placed { 2 } else { 0 }, "{placed:?}");

        let run = serde_json::json!({"command": self.program, "output_equals": self.output});
        let run = serde_json::from_value(run).expect("it is a program");
        let done = backend.execute(&run).expect(WORKS);
        assert!(done.succeeded && done.output.trim() == self.output, "{done:?}");
        // This machine may be calm or not at this moment.
        let calm = backend.await_calm(Nanos::from_millis(1)).expect(WORKS);
        assert!(calm.waited < Nanos::from_secs(30), "{calm}");
        backend.stop();
        backend.stop();
        backend.check().expect(WORKS);
        assert!(backend.placement().expect(WORKS).is_empty());
        backend.start(&wave).expect(WORKS);
        backend.stop();
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
