use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::time::Duration;

use ::measure::pace::Think;
use net::Timer;

use super::*;
use crate::driver::http1::{Http1, Static};
use crate::shard::Limits;

/// Three shards with a connection each.
fn plan(address: SocketAddr) -> Plan {
    let pools = vec![Pool { endpoints: vec![address.into()], connections: 1 }; 3];
    let hour = Nanos::from_secs(3600);
    let limits = Limits { timeout: hour, connect_timeout: hour, ..Limits::default() };
    let (timer, cpus) = (Timer::Sleep, vec![None; 3]);
    let pacing = Pacing::Closed { think: Think::NONE };
    Plan { limits, timer, cpus, ..Plan::whole(pools, pacing, hour) }
}

/// Panics once its shard's load begins.
struct Panics(bool);

impl Observer for Panics {
    fn begin(&mut self, _start: Instant, _window: Window) {
        assert!(!self.0, "an assertion of a shard");
    }
}

/// Returns true if a load whose shard or beginning panics ends with that panic, long before its time.
fn ends_with_the_panic(of_shard: Option<usize>, of_beginning: bool) -> bool {
    let (sender, receiver) = mpsc::channel();
    // A thread of its own, which a hanging load does not keep from being given up.
    thread::spawn(move || {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = plan(server.local_addr().unwrap());
        let fixed = || Http1::new(1, Static::new("GET", "/", &[("Host", "localhost")], b""));
        let watchers = (0..3).map(|shard| Panics(of_shard == Some(shard))).collect();
        let begin = || {
            assert!(!of_beginning, "an assertion at the beginning");
            Ok(clock::now() + AT_ONCE)
        };
        let stop = AtomicBool::new(false);
        let load = || {
            measure_from(&plan, (0..3).map(|_| fixed()).collect(), watchers, None, &stop, &begin)
        };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(load));
        let _ = sender.send(ended.is_err());
    });
    receiver.recv_timeout(Duration::from_secs(30)).expect("the other threads end as well")
}

#[test]
fn a_load_ends_with_the_panic_of_a_shard() {
    for shard in 0..3 {
        assert!(ends_with_the_panic(Some(shard), false));
    }
}

#[test]
fn a_load_ends_with_the_panic_of_its_beginning() {
    assert!(ends_with_the_panic(None, true));
}
