use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;

/// Starts a server that gives each connection these responses, one for each request, and then closes it.
fn serve(responses: Vec<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x?y=z", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            for response in &responses {
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut byte) {
                        Ok(1) => request.push(byte[0]),
                        _ => break,
                    }
                }
                let _ = stream.write_all(response.as_bytes());
            }
        }
    });
    url
}

fn asked(url: &str) -> Probed {
    let asked =
        Probe { url, header: &[], header_file: None, ca: None, insecure: false, requests: 4 };
    probe(&asked).unwrap_or_else(|failure| panic!("{:#}", failure.error))
}

const KEPT: &str =
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: a-server\r\nSet-Cookie: a=secret\r\n\r\nhello";
const CLOSED: &str = "HTTP/1.0 404 No\r\nContent-Type: text/plain\r\n\r\nno";

#[test]
fn a_few_requests_say_what_a_service_is() {
    let seen = asked(&serve(vec![KEPT; 4]));
    assert_eq!(seen.statuses, BTreeMap::from([(200, 4)]));
    assert_eq!((seen.version.as_str(), seen.closed, seen.body_bytes), ("HTTP/1.1", 0, 5));
    assert_eq!((&seen.body[..], seen.failed.len()), (&b"hello"[..], 0));
    assert_eq!(seen.fields, BTreeMap::from([("server".to_owned(), "a-server".to_owned())]));
    assert!(seen.alone.is_some() && seen.tls.is_none());
}

#[test]
fn a_service_that_closes_its_connections_is_seen_as_one() {
    let seen = asked(&serve(vec![CLOSED]));
    assert_eq!(seen.statuses, BTreeMap::from([(404, 4)]));
    assert_eq!((seen.version.as_str(), seen.body_bytes), ("HTTP/1.0", 2));
    assert!(3 <= seen.closed && !seen.has_success(), "{seen:?}");
}

/// A connection that we close says nothing about the service, and the time of a limit nothing about its responses.
#[test]
fn what_is_closed_or_given_up_by_us_is_not_of_the_service() {
    let bad = "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n";
    let seen = asked(&serve(vec![bad; 4]));
    assert_eq!((seen.responses(), seen.closed, seen.alone), (0, 0, None), "{seen:?}");
    let failures = seen.failures.unwrap();
    assert!(
        failures.starts_with("malformed response (") && failures.contains(" of 4 requests"),
        "{failures}"
    );
    let twice: &'static str = Box::leak(format!("{KEPT}{KEPT}").into_boxed_str());
    let seen = asked(&serve(vec![twice; 4]));
    assert_eq!((seen.responses(), seen.closed), (4, 0), "{seen:?}");
    assert!(3 <= seen.unasked && seen.has_success(), "{seen:?}");
}

#[test]
fn a_place_where_nothing_listens_is_refused() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let asked =
        Probe { url: &url, header: &[], header_file: None, ca: None, insecure: false, requests: 4 };
    let failure = probe(&asked).unwrap_err();
    assert!(format!("{:#}", failure.error).contains("is it running"), "{failure:?}");
}
