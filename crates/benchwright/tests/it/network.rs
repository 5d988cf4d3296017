//! `--io`: the network interface of a load, and the message if the kernel refuses one.

use std::process::Command;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::Value;

use crate::support::{Ran, Server, benchwright, machine, run, run_while, skip};

fn arguments<'a>(server: &'a Server, more: &[&'a str]) -> Vec<&'a str> {
    let load = ["load", &server.url, "--closed", "--connections", "8", "--requests", "500"];
    [&load[..], &["--json"], more].concat()
}

/// Runs the program where the kernel refuses io_uring, as a container's filter does.
fn run_without_io_uring(arguments: &[&str]) -> Ran {
    let refused = SeccompAction::Errno(nix::errno::Errno::EPERM as u32);
    let calls = [(nix::libc::SYS_io_uring_setup, Vec::new())].into_iter().collect();
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refused, arch).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    // The filter applies to this thread and to the processes that it starts.
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            seccompiler::apply_filter(&filter).unwrap();
            run_while(Command::new(benchwright()).args(arguments), |_| {})
        });
        run.join().unwrap()
    })
}

fn requests(server: Server) -> u64 {
    serde_json::from_str::<Value>(&server.end()).unwrap()["requests"].as_u64().unwrap()
}

#[test]
fn where_io_uring_is_refused_asking_for_it_exits_with_2_and_nothing_is_sent() {
    let _machine = machine();
    let server = Server::reference(&[]);
    for words in [
        arguments(&server, &["--io", "uring"]),
        vec!["wrk", "-d1", "--strict", "--io", "uring", &server.url],
    ] {
        let ran = run_without_io_uring(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:#?}");
        assert!(ran.stderr.contains("it is forbidden here"), "{ran:#?}");
        assert!(ran.stderr.contains("use --io epoll, or auto"), "{ran:#?}");
    }
    assert_eq!(requests(server), 0);
}

/// Uses reno, which Linux always has.
#[test]
fn the_congestion_control_is_the_systems_or_the_one_asked_for_and_is_in_the_document() {
    let _machine = machine();
    let server = Server::reference(&["--congestion-control", "reno"]);
    let path = "/proc/sys/net/ipv4/tcp_congestion_control";
    let system = std::fs::read_to_string(path).unwrap();
    for (more, name) in [(&[][..], system.trim()), (&["--congestion-control", "reno"], "reno")] {
        for io in ["epoll", "auto"] {
            let ran = run(&arguments(&server, &[&["--io", io][..], more].concat()));
            assert_eq!(ran.json()["generator"]["congestion_control"], name, "{ran:#?}");
        }
    }
    let wrong = ["--congestion-control", "pigeons"];
    for words in [arguments(&server, &wrong), [&["reference"][..], &wrong].concat()] {
        let ran = run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:#?}");
        assert!(ran.stderr.contains("--congestion-control `pigeons`: there is none"), "{ran:#?}");
    }
}

#[test]
fn where_io_uring_is_refused_auto_falls_back_and_says_so() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let ran = run_without_io_uring(&arguments(&server, &["--shards", "1"]));
    let document = ran.json();
    assert_eq!(document["outcomes"]["ok"], 500, "{ran:#?}");
    let generator = &document["generator"];
    assert_eq!(generator["io"], "epoll");
    let why = generator["io_why"].as_str().unwrap();
    assert!(why.starts_with("io_uring is not granted: it is forbidden here"), "{why}");
    assert_eq!(requests(server), 500);
}

#[test]
fn a_load_over_either_has_an_outcome_for_each_request_and_names_its_interface() {
    let _machine = machine();
    let test = "a_load_over_either_has_an_outcome_for_each_request_and_names_its_interface";
    for io in ["epoll", "uring"] {
        for more in [&[][..], &["--keep-alive", "1"], &["--pipeline", "4"], &["--timer", "sleep"]] {
            let server = Server::reference(&["--body", "100000"]);
            let ran = run(&arguments(&server, &[&["--io", io], more].concat()));
            if ran.stderr.contains("io_uring is not granted") {
                return skip(test, &format!("io_uring: {}", ran.stderr.trim()));
            }
            let document = ran.json();
            assert_eq!(document["outcomes"]["ok"], 500, "{io} {more:?} {ran:#?}");
            let generator = &document["generator"];
            assert_eq!((&generator["io"], &generator["io_why"]), (&io.into(), &"asked for".into()));
            assert_eq!(requests(server), 500);
        }
    }
}

#[test]
fn kernel_timestamps_are_refused_with_io_uring() {
    let words = ["load", "http://127.0.0.1:1/", "--closed", "--kernel-timestamps", "--io", "uring"];
    let ran = run(&words);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("leave it out, or use --io epoll"), "{ran:#?}");
}
