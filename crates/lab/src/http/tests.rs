use std::net::TcpListener;

use super::*;
use crate::host::now;
use crate::spec::Method;

/// Answers one connection with these bytes; returns the client's request and its result.
fn exchange(method: Method, base: &str, answer: &'static [u8]) -> (String, Result<Reply, String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}{base}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 4096];
        let n = stream.read(&mut request).unwrap();
        stream.write_all(answer).unwrap();
        String::from_utf8_lossy(&request[..n]).into_owned()
    });
    let exchange = Exchange { method, ..Exchange::get("/a?b=c") };
    let reply = ask(&url, &exchange, now, || false);
    let request = server.join().unwrap().replace(url.split('/').nth(2).unwrap(), "HOST");
    (request, reply)
}

#[test]
fn a_request_is_sent_and_its_answer_read() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let (request, reply) = exchange(Method::Get, "", answer);
    assert_eq!(request, "GET /a?b=c HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n");
    assert_eq!(reply, Ok(Reply { status: 200, body: "hello".to_owned() }));
    let (request, reply) = exchange(Method::Post, "/base/", b"HTTP/1.1 503 No\r\n\r\nuntil close");
    assert!(request.starts_with("POST /base/a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("Content-Length: 0\r\n"), "{request}");
    assert_eq!(reply, Ok(Reply { status: 503, body: "until close".to_owned() }));
}

#[test]
fn a_missing_or_invalid_answer_is_an_error_in_words() {
    let close = "the connection was closed";
    assert_eq!(exchange(Method::Get, "", b"").1, Err(format!("{close} without an answer")));
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
    assert_eq!(
        exchange(Method::Get, "", cut).1,
        Err(format!("{close} in the middle of the answer"))
    );
    assert!(exchange(Method::Get, "", b"SSH-2.0\r\n\r\n").1.is_err());
    let get = Exchange::get("/");
    let refused = ask("http://127.0.0.1:1", &get, now, || false);
    assert_eq!(refused, Err("connection refused".to_owned()));
    let ask = |url| ask(url, &get, now, || false).unwrap_err();
    assert!(ask("ftp://x").contains("is not supported"));
    assert!(ask("https://x").contains("not a valid address"));
    assert!(ask("http://127.0.0.1:65536").contains("a number from 1 to 65535"));
}

#[test]
fn user_information_of_an_address_is_sent_as_authorization_unless_one_is_given() {
    // RFC 7617, section 2.
    let parts = parts("http://Aladdin:open%20sesame@h:1/base/").unwrap();
    assert_eq!((parts.authority.as_str(), parts.base.as_str()), ("h:1", "/base"));
    let mut exchange = Exchange::get("/a");
    let sent = |exchange: &Exchange| String::from_utf8(request(&parts, exchange).unwrap()).unwrap();
    let header = "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n";
    assert!(sent(&exchange).contains(header), "{}", sent(&exchange));
    exchange.send.headers.insert("authorization".to_owned(), "own".to_owned());
    assert!(!sent(&exchange).contains("Basic"), "{}", sent(&exchange));
}
