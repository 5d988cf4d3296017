use std::net::TcpListener;

use lab::spec::Port;

use super::*;
use crate::output::{self, Output};

fn foreign(tcp: bool, log: Option<&str>, port: u16) -> (Waiting, [Option<Lines>; 2]) {
    let log = log.map(|text| text.to_owned().try_into().unwrap());
    Waiting::new(Some(port), Some(Foreign { port: Port::Auto, tcp, log }))
}

fn print(text: &str, to: Option<&Lines>) {
    output::pump(text.as_bytes(), &Output::new(None, results::Secrets::default()), to);
}

#[test]
fn a_component_is_ready_when_it_prints_its_url() {
    let (mut waiting, [stdout, stderr]) = Waiting::new(None, None);
    assert!(stderr.is_none());
    print("starting\n", stdout.as_ref());
    assert_eq!(waiting.poll(), None);
    assert_eq!(waiting.missing(), "it never printed `ready <url>`");
    // However much it prints, only the first of these is kept.
    print(&"starting\n".repeat(10_000), stdout.as_ref());
    print("ready http://127.0.0.1:9/ \n", stdout.as_ref());
    print(&"ready http://127.0.0.1:8/\n".repeat(10_000), stdout.as_ref());
    assert_eq!(waiting.poll(), Some("http://127.0.0.1:9/".to_owned()));
    assert_eq!(waiting.line.try_iter().count(), 0);
}

#[test]
fn a_foreign_program_is_ready_when_all_its_signs_are_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for stream in [0, 1] {
        let (mut waiting, lines) = foreign(true, Some("^ready in \\d+ s$"), port);
        print("loading\n", lines[stream].as_ref());
        assert_eq!(waiting.poll(), None);
        assert_eq!(waiting.missing(), "it never printed a line that `^ready in \\d+ s$` matches");
        print("ready in 3 s\n", lines[stream].as_ref());
        assert_eq!(waiting.poll(), Some(format!("http://127.0.0.1:{port}")));
    }

    drop(listener);
    let (mut waiting, lines) = foreign(true, None, port);
    assert!(lines.iter().all(Option::is_none));
    assert_eq!(waiting.poll(), None);
    assert_eq!(waiting.missing(), format!("it accepts no connection at port {port}"));
    let (mut waiting, _) = foreign(false, None, port);
    assert_eq!(waiting.poll(), Some(format!("http://127.0.0.1:{port}")));
}

#[test]
fn a_component_is_a_place_on_this_host() {
    for url in [
        "http://127.0.0.1:8080",
        "http://127.9.9.9:1/",
        "http://localhost:80",
        "http://0.0.0.0:80",
        "https://127.0.0.1",
        "http+unix://%2Frun%2Fa.sock",
    ] {
        check_local(url).unwrap_or_else(|why| panic!("{url}: {why}"));
    }
    let why = check_local("http://192.0.2.1:80").unwrap_err();
    assert!(why.starts_with("`192.0.2.1` is not this host; load a service elsewhere"), "{why}");
    for url in ["http://[2001:db8::1]:80", "http://127.0.0.1:99999", "127.0.0.1:80", "http://"] {
        check_local(url).unwrap_err();
    }
}
