use super::*;

const SEAT: Seat = Seat(0);

/// Sends one request and shows what the given slices of an answer make of it.
fn check(slices: &[&str]) -> String {
    let mut driver = Http1::new(1, Static::new("GET", "/", &[("Host", "x")], b""));
    let (mut wire, mut completed) = (Vec::new(), Vec::new());
    driver.start(SEAT, Token(7), &mut wire).unwrap();
    assert_eq!(wire, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut next = Next::Continue;
    for slice in slices {
        next = driver.receive(SEAT, slice.as_bytes(), &mut completed);
    }
    if completed.is_empty() {
        driver.closed(SEAT, Closed::ByPeer, &mut completed);
    }
    assert_eq!(driver.room(SEAT), 1, "a request has one outcome");
    let [Done { token: Token(7), outcome, status }] = completed[..] else {
        panic!("{completed:?}")
    };
    format!("{} {status} {next:?}", outcome.name())
}

#[test]
fn an_answer_becomes_an_outcome() {
    for (slices, outcome) in [
        (&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"][..], "ok 200 Continue"),
        (&["HTTP/1.1 200 OK\r\nContent-", "Length: 2\r\n\r\no", "k"], "ok 200 Continue"),
        (&["HTTP/1.1 204 No Content\r\n\r\n"], "ok 204 Continue"),
        (&["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"], "status 404 Continue"),
        (&["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"], "ok 200 Close"),
        (&["HTTP/1.1 200 OK\r\n\r\nuntil the close"], "ok 200 Continue"),
        (&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"], "reset 200 Continue"),
        (&["nonsense\r\n\r\n"], "malformed 0 Close"),
        (&[], "reset 0 Continue"),
        // The answer stands; the connection that says more than was asked does not.
        (&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay"], "ok 200 Close"),
    ] {
        assert_eq!(check(slices), outcome, "{slices:?}");
    }
}
