use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use net::Address;

use super::{Network, System, address_of, fetch, listed, name_of, reason};
use crate::support::{Pretended, inet};

const SYSTEM: System = System { timeout: Duration::from_secs(5) };

#[test]
fn a_service_is_a_port_or_a_name_that_has_one() {
    assert_eq!(SYSTEM.lookup("127.0.0.1", "8080").unwrap(), [inet("127.0.0.1:8080")]);
    assert_eq!(SYSTEM.lookup("::1", "http").unwrap(), [inet("[::1]:80")]);
    assert_eq!(SYSTEM.lookup("127.0.0.1", "https").unwrap(), [inet("127.0.0.1:443")]);
    let error = SYSTEM.lookup("127.0.0.1", "no such service").unwrap_err();
    assert_eq!(reason(&error), "is neither a port nor a service with a known port");
}

#[test]
fn services_are_found_by_name_and_alias() {
    let services = "# Services\nwww 80/udp\nwww\t80/tcp web http # WorldWideWeb\nredis 6379/tcp\n";
    assert_eq!(listed(services, "redis"), Some(6379));
    assert_eq!(listed(services, "web"), Some(80));
    assert_eq!(listed(services, "WorldWideWeb"), None);
}

#[test]
fn addresses_come_back_from_lua_as_they_went() {
    for address in [inet("127.0.0.1:80"), inet("[::1]:80"), Address::Unix("/run/a b.sock".into())] {
        assert_eq!(address_of(&name_of(&address)), address);
    }
}

#[test]
fn a_connection_is_accepted_or_there_is_a_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Inet(listener.local_addr().unwrap());
    SYSTEM.open(&address).unwrap();
    drop(listener);
    // A process that another test is starting holds a copy of the listener until it calls exec.
    let error = (0..10_000).find_map(|_| SYSTEM.open(&address).err()).unwrap();
    assert_eq!(reason(&error), "Connection refused");
}

#[test]
fn an_answer_is_fetched_from_an_address_or_a_socket_in_the_file_system() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Inet(listener.local_addr().unwrap());
    let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    check_fetch(&address);
    server.join().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    check_fetch(&Address::Unix(path));
    server.join().unwrap();
}

fn serve(mut stream: impl Read + Write) {
    let mut request = [0; 64];
    let read = stream.read(&mut request).unwrap();
    assert!(request[..read].starts_with(b"GET /login HTTP/1.1\r\n"));
    let answer = b"HTTP/1.1 200 OK\r\nX-Token: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    stream.write_all(answer).unwrap();
}

fn check_fetch(address: &Address) {
    let fetched = fetch(&SYSTEM, address, b"GET /login HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!((fetched.status, fetched.body), (200, b"abc".to_vec()));
    assert_eq!(fetched.fields[0], ("X-Token".to_owned(), b"a".to_vec()));
}

#[test]
fn an_answer_may_end_with_its_connection_but_not_before_its_end() {
    let fetch = |answer| {
        let network =
            Pretended { addresses: vec![("127.0.0.1:1", true)], answer, ..Pretended::default() };
        fetch(&network, &inet("127.0.0.1:1"), b"GET / HTTP/1.1\r\n\r\n")
    };
    assert_eq!(fetch("HTTP/1.1 200 OK\n\nall of it").unwrap().body, b"all of it");
    assert_eq!(
        fetch("HTTP/1.1 200 OK\nContent-Length: 100\n\nsome").unwrap_err(),
        "the connection closed before the answer was complete"
    );
    assert_eq!(fetch("").unwrap_err(), "the connection closed before the answer was complete");
    assert_eq!(fetch("SSH-2.0\n\n").unwrap_err(), "malformed header block");
    let skipped = "HTTP/1.1 100 Continue\n\nHTTP/1.1 204 No Content\nA: b\n\n";
    assert_eq!(fetch(skipped).unwrap().status, 204);
}

#[test]
fn only_one_request_is_fetched_at_a_time() {
    let refused = |request: &[u8]| {
        let network = Pretended { addresses: vec![("127.0.0.1:1", true)], ..Pretended::default() };
        fetch(&network, &inet("127.0.0.1:1"), request).unwrap_err()
    };
    let two = b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    assert_eq!(refused(two), "one request at a time");
    assert!(refused(b"GET").starts_with("the request is incomplete"));
}

#[test]
fn a_reason_has_no_number() {
    assert_eq!(reason(&io::Error::from_raw_os_error(111)), "Connection refused");
    assert_eq!(reason(&io::Error::other("why not")), "why not");
}
