use std::net::TcpListener;

use lab::spec::Port;

use super::*;
use crate::output::{self, Output};
use crate::tests::server;

/// A service of this scheme, if the spec states one.
fn service(scheme: Option<&str>) -> Service {
    let scheme = scheme.map(|text| text.to_owned().try_into().unwrap());
    Service { scheme, ..server("") }
}

fn foreign(tcp: bool, log: Option<&str>, port: u16) -> (Waiting, [Option<Lines>; 2]) {
    let log = log.map(|text| text.to_owned().try_into().unwrap());
    let foreign = Some(Foreign { port: Port::Auto, tcp, log });
    Waiting::new(Some(port), &Service { foreign, ..service(Some("redis")) })
}

fn print(text: &str, to: Option<&Lines>) {
    output::pump(text.as_bytes(), &Output::new(None, results::Secrets::default()), to);
}

#[test]
fn a_component_is_ready_when_it_prints_its_url() {
    let (mut waiting, [stdout, stderr]) = Waiting::new(None, &service(None));
    assert!(stderr.is_none());
    print("starting\n", stdout.as_ref());
    assert_eq!(waiting.poll(), None);
    let missing = waiting.missing(&service(None));
    assert!(
        missing.starts_with("it never printed `ready <url>`; we appended `--listen"),
        "{missing}"
    );
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
        assert_eq!(
            waiting.missing(&service(None)),
            "it never printed a line that `^ready in \\d+ s$` matches"
        );
        print("ready in 3 s\n", lines[stream].as_ref());
        assert_eq!(waiting.poll(), Some(format!("redis://127.0.0.1:{port}")));
    }

    // Nobody listens there; the port that was free before may be that of another test by now.
    let port = 1;
    let (mut waiting, lines) = foreign(true, None, port);
    assert!(lines.iter().all(Option::is_none));
    assert_eq!(waiting.poll(), None);
    assert_eq!(waiting.missing(&service(None)), format!("it accepts no connection at port {port}"));
    let (mut waiting, _) = foreign(false, None, port);
    assert_eq!(waiting.poll(), Some(format!("redis://127.0.0.1:{port}")));
}

#[test]
fn a_component_is_a_place_on_this_host_of_any_scheme() {
    let checked = |url: &str| check(url, &service(None)).map(|server| (server.url, server.port));
    for (url, with_port, port) in [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", Some(8080)),
        ("http://127.9.9.9:1/", "http://127.9.9.9:1/", Some(1)),
        ("http://localhost:80", "http://localhost:80", Some(80)),
        ("http://0.0.0.0:80", "http://0.0.0.0:80", Some(80)),
        ("https://127.0.0.1", "https://127.0.0.1:443", Some(443)),
        ("http+unix://%2Frun%2Fa.sock", "http+unix://%2Frun%2Fa.sock", None),
        ("kv://127.0.0.1:7720", "kv://127.0.0.1:7720", Some(7720)),
        ("kv://127.0.0.1 id=1", "kv://127.0.0.1:7720", Some(7720)),
        ("redis://127.0.0.1/0", "redis://127.0.0.1:6379/0", Some(6379)),
    ] {
        assert_eq!(checked(url), Ok((with_port.to_owned(), port)));
    }
    for url in ["http://192.0.2.1:80", "kv://192.0.2.1:7720", "redis://me@192.0.2.1"] {
        let why = checked(url).unwrap_err();
        assert!(why.starts_with("`192.0.2.1` is not this host; load a service elsewhere"), "{why}");
    }
    for (url, remedy) in [
        ("kv://[2001:db8::1]:80", "is not this host"),
        ("http://127.0.0.1:99999", "a number from 1 to 65535"),
        ("127.0.0.1:80", "write http://127.0.0.1:80, or state its `scheme`"),
        ("to accept connections", "has no scheme"),
        ("http://", "names no host"),
        ("nats://127.0.0.1", "write nats://127.0.0.1:PORT"),
    ] {
        let why = checked(url).unwrap_err();
        assert!(why.contains(remedy), "{url}: {why}");
    }
}

/// Multicast and broadcast are addresses to which a socket can be bound, and which reach others.
#[test]
fn only_the_addresses_of_the_interfaces_are_this_host() {
    let own = own_addresses();
    assert!(own.contains(&IpAddr::from(Ipv4Addr::LOCALHOST)), "{own:?}");
    for url in ["http://224.0.0.1:80", "http://255.255.255.255:80", "http://[ff02::1]:80"] {
        let why = check(url, &service(None)).unwrap_err();
        assert!(why.contains("is not this host"), "{url}: {why}");
    }
    check("http://[::ffff:127.0.0.1]:80", &service(None)).unwrap();
}

#[test]
fn the_address_of_a_name_that_was_checked_is_the_one_that_is_used() {
    let own: IpAddr = "192.0.2.7".parse().unwrap();
    let at = |url: &str, addresses: &[&str]| {
        let server = url::server(url).unwrap();
        let Destination::Host(host, _) = &server.place else { panic!("{url}") };
        let addresses: Vec<SocketAddr> =
            addresses.iter().map(|text| text.parse().unwrap()).collect();
        of_this_host(&server, host, &addresses, &[own]).map(|server| server.url)
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap().to_string();
    for (url, addresses, used) in [
        ("http://box.test:80/a?b", vec!["192.0.2.7:80"], "http://192.0.2.7:80/a?b".to_owned()),
        (
            "redis://me:x@box.test:80/0",
            vec!["192.0.2.7:80"],
            "redis://me:x@192.0.2.7:80/0".to_owned(),
        ),
        ("http://box.test:80", vec!["[::1]:80"], "http://[::1]:80".to_owned()),
        // Of several, the one where it listens.
        ("http://box.test:80", vec!["[::1]:1", &open], format!("http://{open}")),
        // These are nobody else's to change.
        ("http://192.0.2.7:80", vec!["192.0.2.7:80"], "http://192.0.2.7:80".to_owned()),
        ("http://localhost:80", vec!["127.0.0.1:80"], "http://localhost:80".to_owned()),
        ("https://box.test:80", vec!["192.0.2.7:80"], "https://box.test:80".to_owned()),
    ] {
        assert_eq!(at(url, &addresses), Ok(used), "{url}");
    }
    for addresses in [&["192.0.2.8:80"][..], &["192.0.2.7:80", "192.0.2.8:80"]] {
        let why = at("http://box.test:80", addresses).unwrap_err();
        assert!(why.starts_with("`box.test` is not this host; load a service"), "{why}");
    }
}

#[test]
fn a_component_has_the_scheme_that_the_spec_states() {
    let checked = |url: &str| check(url, &service(Some("redis"))).map(|server| server.url);
    assert_eq!(checked("redis://127.0.0.1:1"), Ok("redis://127.0.0.1:1".to_owned()));
    assert_eq!(checked("127.0.0.1:1 id=1"), Ok("redis://127.0.0.1:1".to_owned()));
    assert!(checked("to accept connections").unwrap_err().contains("has no scheme"));
    let why = "its `scheme` in the spec is redis; write scheme: kv".to_owned();
    assert_eq!(checked("kv://127.0.0.1:1"), Err(why));
}

#[test]
fn only_a_program_that_got_our_option_is_told_of_it() {
    let died = |service: &Service| {
        let stop =
            Stop::Died { component: "a".to_owned(), why: "ended".to_owned(), last_lines: vec![] };
        match told(stop, service) {
            Stop::Died { why, .. } => why,
            other => panic!("{other:?}"),
        }
    };
    let of = |command: &[&str]| {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Service { command, foreign: None, ..server("") }
    };
    let theirs = died(&of(&["./svc", "-x"]));
    assert!(theirs.contains("before it was ready; we appended `--listen"), "{theirs}");
    assert!(theirs.contains("write `port: auto` beside its command, and ${port}"), "{theirs}");
    assert_eq!(died(&of(&["./svc", "--at=${listen}"])), "ended");
    assert_eq!(died(&of(&["benchwright", "reference"])), "ended");
    let foreign = Foreign { port: Port::Auto, tcp: true, log: None };
    assert_eq!(died(&Service { foreign: Some(foreign), ..of(&["./svc"]) }), "ended");
}
