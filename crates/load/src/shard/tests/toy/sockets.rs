//! The toy protocol over real sockets: everything at once, plain and secured.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use net::{Epoll, Timer, Uring};

use super::super::alike::skip;
use super::server::{End, Far};
use super::*;

/// Starts the nodes. Their threads end with the process, and their connections with ours.
fn start(load: &Load, truth: &Arc<Mutex<Truth>>) -> Vec<Endpoint> {
    let settings = load.settings();
    let nodes = (0..u32::from(load.nodes)).map(|node| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let (conduct, truth) = (load.conduct.clone(), Arc::clone(truth));
        let settings = settings.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut end = End::new(Far::new(node, &conduct, &truth), settings.as_ref());
                thread::spawn(move || {
                    let mut bytes = [0; 4_096];
                    while let Ok(count @ 1..) = stream.read(&mut bytes) {
                        if stream.write_all(&end.receive(&bytes[..count])).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        address.into()
    });
    nodes.collect()
}

fn check<I: Io>(io: impl Fn() -> I) {
    for tls in [None, SECURED] {
        let habits = Habits {
            batch: 5,
            linger: MS * 3,
            keys: 4,
            counts: true,
            map: vec![0; PARTS as usize],
            ..Habits::default()
        };
        let conduct = Conduct { owner: TWO, ping_every: 3, ..Conduct::default() };
        let load = Load {
            conduct,
            habits,
            tls,
            // A busy machine may take long for a handshake.
            limits: Limits { connect_timeout: SECOND * 20, ..LIMITS },
            nodes: 2,
            rate: Some(2_000.0),
            length: MS * 300,
            ..Load::default()
        };
        let truth = Arc::new(Mutex::new(Truth::default()));
        let to = start(&load, &truth);
        let ran = load.drive(io(), to, &truth);
        assert_eq!((ran.part.completed(), ran.part.sent), (600, 600), "{:?}", ran.part.outcomes);
        assert_eq!((ran.truth.moved, ran.part.redirected), (4 * 300, 300));
        assert_eq!(ran.part.operations.iter().sum::<u64>(), 2_400);
        assert_eq!((ran.failures, ran.part.reconnects), (Failures::default(), 0));
        assert!(0 < ran.truth.pongs && ran.truth.pongs <= ran.truth.pings);
        // Requests share batches, and are held no longer than asked.
        assert!(ran.truth.asked.len() < 800, "{}", ran.truth.asked.len());
        let held = ran.witness.completions.iter().map(|c| c.start.unwrap().held);
        assert!((MS..=MS * 3).contains(&held.max().unwrap()));
    }
}

#[test]
fn everything_at_once_over_epoll() {
    check(|| Epoll::new(Timer::Hybrid).unwrap());
}

#[test]
fn everything_at_once_over_io_uring() {
    if let Err(refusal) = net::uring::granted() {
        return skip("everything_at_once_over_io_uring", &format!("io_uring: {refusal}"));
    }
    check(|| Uring::new(Timer::Hybrid).unwrap());
}
