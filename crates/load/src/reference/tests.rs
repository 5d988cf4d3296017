use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use ::measure::Quantile;
use scopeguard::defer;

use super::*;

#[test]
fn delays_are_read_and_a_wrong_one_is_explained() {
    let ms = Nanos::from_millis;
    for (text, delay) in [
        ("1ms", Delay::Fixed(ms(1))),
        ("fixed:0s", Delay::Fixed(ms(0))),
        ("exponential:2ms", Delay::Exponential { mean: ms(2) }),
        ("bimodal:1ms,10ms,5%", Delay::Bimodal { fast: ms(1), slow: ms(10), slow_share: 0.05 }),
        ("stall:1s/10s", Delay::Stalls { length: ms(1_000), period: ms(10_000) }),
    ] {
        assert_eq!(text.parse(), Ok(delay), "{text}");
    }
    for text in ["", "1", "normal:1ms", "bimodal:1ms,2ms", "bimodal:1ms,2ms,120%", "stall:2s/2s"] {
        let error = text.parse::<Delay>().expect_err(text);
        assert!(error.contains("write"), "{error}");
    }
}

#[test]
fn the_log_distinguishes_disorder_from_simultaneous_arrivals() {
    let mut log = Log::default();
    for (at, target) in [(1, "/1"), (2, "/3"), (2, "/2"), (3, "/2"), (4, "/about"), (5, "/4")] {
        log.arrived(Instant(at), target);
    }
    assert_eq!((log.requests, log.out_of_order), (6, 1));

    // Requests are read in another order than they arrived: `/2` arrived after `/5`, `/3` at the
    // same time.
    let mut log = Log::default();
    for (at, target) in [(30, "/5"), (10, "/1"), (40, "/2"), (30, "/3"), (50, "/6")] {
        log.arrived(Instant(at), target);
    }
    assert_eq!((log.requests, log.out_of_order), (5, 1));
    // The gaps add up from 30 to 50.
    assert_eq!((log.gaps.count(), log.gaps.mean()), (4, Some(Nanos(5))));
}

#[test]
fn lateness_counts_from_the_most_punctual_request_of_a_constant_schedule() {
    let rate = Rate::per_second(1000.0).unwrap();
    let schedule = Some(Schedule { rate, delays: Vec::new() });
    let mut log = Log { schedule, ..Log::default() };
    // The first is 3 ms late, the second on time, the fourth overtakes the third.
    for (at_ms, target) in [(13, "/1"), (11, "/2"), (13, "/4"), (14, "/3"), (14, "/about")] {
        log.last_arrival = None;
        log.arrived(Instant(at_ms * 1_000_000), target);
    }
    let lateness = log.lateness().unwrap();
    assert_eq!(lateness.count(), 4);
    let milliseconds = |level| {
        let quantile = Quantile::new(level).unwrap();
        lateness.quantile(quantile).unwrap().as_millis_f64().round()
    };
    assert_eq!([0.25, 0.5, 0.75, 1.0].map(milliseconds), [0.0, 0.0, 2.0, 3.0]);
    let line = log.to_string();
    assert!(line.ends_with(r#""gap_mean_ns":0,"late_count":4,"late_p99_ns":3000319}"#), "{line}");
}

#[test]
fn without_a_schedule_no_lateness_is_printed() {
    let mut log = Log::default();
    log.arrived(Instant(7), "/1");
    assert_eq!(log.lateness().map(|lateness| lateness.count()), None);
    assert!(!log.to_string().contains("late"));
}

#[test]
fn in_a_stall_nothing_is_answered() {
    let stalls: Delay = "stall:1s/10s".parse().unwrap();
    let origin = Instant(777);
    let at = |ms: u64| origin + Nanos::from_millis(ms);
    let random = &mut Random::new(1);
    for (arrived, due) in
        [(0, 0), (4_499, 4_499), (4_500, 5_500), (5_499, 5_500), (5_500, 5_500), (14_600, 15_500)]
    {
        assert_eq!(stalls.due(at(arrived), origin, random), at(due), "{arrived} ms");
    }
}

fn desk(log: Log) -> Desk {
    let delay = Delay::Fixed(Nanos::ZERO);
    Desk { delay, random: Random::new(1), due: BinaryHeap::new(), log }
}

/// Returns a desk that has received these bytes on one connection.
fn seen(record: Record, parts: &[&[u8]]) -> Desk {
    let mut desk = desk(Log { record: Some(record), ..Log::default() });
    let mut connection = Connection { number: 5, ..Connection::default() };
    for (at, part) in (1..).zip(parts) {
        desk.take(&mut connection, ConnectionId(0), part, Instant(at)).unwrap();
    }
    desk
}

#[test]
fn a_line_for_each_request_gives_its_time_target_and_connection() {
    let parts: [&[u8]; 3] =
        [b"GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-", b"Length: 3\r\n\r\na", b"\tb"];
    for (record, lines) in [
        (Record::new(false), "1\t/1\t5\n2\t/2\t5\n"),
        (
            Record::new(true),
            "1\t/1\t5\tGET /1 HTTP/1.1\\r\\n\\r\\n\n\
             2\t/2\t5\tPOST /2 HTTP/1.1\\r\\nContent-Length: 3\\r\\n\\r\\na\\tb\n",
        ),
    ] {
        let mut log = seen(record, &parts).log;
        let mut text = Vec::new();
        log.record.as_mut().unwrap().write(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), lines);
        assert!(log.to_string().ends_with(r#","recorded":2,"unrecorded":0}"#), "{log}");
    }
}

#[test]
fn the_record_is_bounded_and_counts_what_it_lacks() {
    let long = vec![b'x'; Record::MOST_BYTES_OF_ONE];
    let head = format!("POST /2 HTTP/1.1\r\nContent-Length: {}\r\n\r\n", long.len());
    let log = seen(Record::new(true), &[b"GET /1 HTTP/1.1\r\n\r\n", head.as_bytes(), &long]).log;
    assert!(log.to_string().ends_with(r#","recorded":1,"unrecorded":1}"#), "{log}");
    let mut record = Record::new(false);
    (0..Record::MOST_REQUESTS + 3).for_each(|_| record.note(Arrived::default()));
    let log = Log { record: Some(record), ..Log::default() };
    assert!(log.to_string().ends_with(r#","recorded":1048576,"unrecorded":3}"#), "{log}");
}

/// A target and a method may begin with characters that have a meaning in a table.
#[test]
fn no_cell_of_the_record_is_a_formula() {
    let requests = b"+1 =1+1 HTTP/1.1\r\n\r\n-M @x HTTP/1.1\r\n\r\n";
    let mut log = seen(Record::new(true), &[requests]).log;
    let mut text = Vec::new();
    log.record.as_mut().unwrap().write(&mut text).unwrap();
    let lines =
        "1\t'=1+1\t5\t'+1 =1+1 HTTP/1.1\\r\\n\\r\\n\n1\t'@x\t5\t'-M @x HTTP/1.1\\r\\n\\r\\n\n";
    assert_eq!(String::from_utf8(text).unwrap(), lines);
}

#[test]
fn requests_that_wait_for_their_time_have_a_bound() {
    let (mut desk, mut connection) = (desk(Log::default()), Connection::default());
    let requests = "GET / HTTP/1.1\r\n\r\n".repeat(1024);
    for _ in 0..MOST_PENDING / 1024 {
        desk.take(&mut connection, ConnectionId(0), requests.as_bytes(), Instant(1)).unwrap();
    }
    let refused = desk.take(&mut connection, ConnectionId(0), requests.as_bytes(), Instant(1));
    assert_eq!((refused, desk.due.len()), (Err(Unserved::TooMany), MOST_PENDING));
}

/// Serves with these places while `ask` runs with the server's address; returns its log.
fn serving(delay: Nanos, places: Places, ask: impl FnOnce(SocketAddr)) -> Log {
    let manner = Manner {
        delay: Delay::Fixed(delay),
        status: 200,
        body: 100,
        seed: 1,
        kernel_timestamps: false,
        congestion_control: None,
    };
    let server = Reference::listen("127.0.0.1:0".parse().unwrap(), manner).unwrap();
    let server = Reference { places, ..server };
    let (address, stop) = (server.address(), AtomicBool::new(false));
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&stop));
        {
            defer! { stop.store(true, Ordering::Relaxed) }
            ask(address);
        }
        served.join().unwrap()
    })
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    for limit in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        limit(&stream, Some(Duration::from_secs(30))).unwrap();
    }
    stream
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// Returns true if a response comes to a request that was sent, and false if the connection has ended.
fn is_answered(mut stream: &TcpStream) -> bool {
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).is_ok_and(|()| begin == *b"HTTP/1.1 200")
}

#[test]
fn a_peer_that_reads_no_responses_is_disconnected() {
    let log = serving(Nanos::ZERO, Places::new(MOST_CONNECTIONS), |address| {
        let requests = REQUEST.repeat(1000);
        let mut stream = connect(address);
        let ended = (0..10_000).any(|_| stream.write_all(&requests).is_err());
        assert!(ended, "180 MB of requests were read, and their responses kept");
    });
    assert_eq!(log.refused, 1);
}

#[test]
fn once_all_places_are_taken_a_silent_peer_loses_its_own_and_one_that_waits_does_not() {
    let places = Places::with_patience(2, Nanos::from_millis(500));
    let log = serving(Nanos::from_secs(3), places, |address| {
        let silent = connect(address);
        let mut waiting = connect(address);
        waiting.write_all(REQUEST).unwrap();
        let new = (0..1_000).any(|_| {
            clock::sleep_until(clock::now() + Nanos::from_millis(10));
            let mut new = connect(address);
            new.write_all(REQUEST).is_ok() && is_answered(&new)
        });
        assert!(new, "a new peer gets the place of the silent one");
        assert!(is_answered(&waiting));
        assert_eq!((&silent).read(&mut [0; 1000]).unwrap(), 0, "it was closed");
    });
    assert!(
        2 <= log.refused,
        "the silent peer, and those that came while it was not silent for long: {log}"
    );
}
