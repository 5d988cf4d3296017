//! The behaviour without a free descriptor: in a process of its own, whose limit it is.

use std::net::TcpStream;

use measure::Nanos;
use net::{Epoll, Event, Io, Timer, clock};
use nix::sys::resource::{Resource, setrlimit};

/// Lets the process open no descriptor beyond this one.
fn allow(descriptors: u64) {
    setrlimit(Resource::RLIMIT_NOFILE, descriptors, 4096).unwrap();
}

#[test]
fn a_listener_rests_until_a_descriptor_is_free() {
    let mut io = Epoll::new(Timer::Sleep).unwrap();
    let listener = io.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let _client = TcpStream::connect(listener.address).unwrap();
    allow(3);
    let begin = clock::now();
    let mut waits = 0;
    while clock::now() < begin + Nanos::from_millis(350) {
        io.wait(clock::now() + Nanos::from_millis(50));
        assert!(io.next_event().is_none());
        waits += 1;
    }
    // Seven of 50 ms, and one for each attempt.
    assert!(waits <= 20, "{waits} waits: it must not spin");
    allow(4096);
    for _ in 0..100 {
        io.wait(clock::now() + Nanos::from_millis(50));
        if let Some(Event::Accepted(_)) = io.next_event() {
            return;
        }
    }
    panic!("the connection is never accepted");
}
