//! The event channel: the data plane of Knative's channels row by row, and its pathologies.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::time::Duration;

use crate::instance::{Instance, now, sleep};
use crate::services::wait_for;
use crate::sink::{Got, Sink, Switch, status, taken};

pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) fn channel(subscriber: &Sink, arguments: &[&str]) -> Instance {
    Instance::of("channel", &[&["--subscriber", &subscriber.url()], arguments].concat())
}

/// Returns a request with an event in binary mode.
pub(crate) fn event(id: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: x\r\nCe-Specversion: 1.0\r\nCe-Id: {id}\r\nCe-Source: test\r\n\
         Ce-Type: t\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
    )
}

/// Sends an event on a new connection; returns the status of the response.
pub(crate) fn send(channel: &Instance, id: &str) -> u16 {
    exchange(channel, &event(id)).0
}

/// Returns the status, the fields and the body of the response to a request.
pub(crate) fn exchange(channel: &Instance, request: &str) -> (u16, String, String) {
    let answer = channel.exchange(request.replacen("\r\n", "\r\nConnection: close\r\n", 1));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head[9..12].parse().unwrap(), head.to_lowercase(), body.to_owned())
}

pub(crate) fn metric(channel: &Instance, name: &str) -> u64 {
    let (_, text) = channel.get("/metrics");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// Returns the milliseconds of each request after the first.
fn times(got: &[Got]) -> Vec<u128> {
    got.iter().map(|one| (one.at - got[0].at).as_millis()).collect()
}

#[test]
fn binary_and_structured_events_are_delivered_in_binary_mode() {
    let sink = Sink::taking();
    let channel = channel(&sink, &[]);
    let accepted = exchange(&channel, &event("1"));
    assert_eq!((accepted.0, &*accepted.2), (202, ""));
    let structured = r#"{"specversion":"1.0","id":"2","source":"test","type":"t","data":{"a":1}}"#;
    let length = structured.len();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/cloudevents+json\r\n\
         Content-Length: {length}\r\n\r\n{structured}"
    );
    sink.wait(1);
    assert_eq!(exchange(&channel, &request).0, 202);
    let got = sink.wait(2);
    let shown = |got: &Got| {
        let names = ["ce-specversion", "ce-id", "ce-source", "ce-type", "content-type", "prefer"];
        let values = names.map(|name| got.field(name).unwrap_or("-").to_owned());
        format!("{} {} {}", got.path, values.join(" "), got.body)
    };
    assert_eq!(shown(&got[0]), "/in 1.0 1 test t text/plain reply hello");
    assert_eq!(shown(&got[1]), "/in 1.0 2 test t application/json reply {\"a\":1}");
    assert_eq!(metric(&channel, "channel_deliveries_total{outcome=\"taken\"}"), 2);
    assert_eq!(channel.terminate(), Some(0));
}

#[test]
fn other_requests_are_answered_as_the_specification_says() {
    let sink = Sink::taking();
    let channel = channel(&sink, &[]);
    let ask = |request: &str| exchange(&channel, request);
    let (code, head, body) = ask("OPTIONS / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!((code, &*body), (200, ""));
    for field in ["allow: post, options", "webhook-allowed-origin: *", "webhook-allowed-rate: *"] {
        assert!(head.contains(field), "{head}");
    }
    let (code, head, _) = ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(code == 405 && head.contains("allow: post, options"), "{head}");
    let (code, _, why) = ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    assert_eq!((code, &*why), (400, "ce-specversion is missing: a CloudEvent needs it\n"));
    assert_eq!(ask(&event("1").replace("Ce-Source", "X-Source")).0, 400);
    assert_eq!(ask(&event("1").replace("POST /", "POST /unknown")).0, 404);
    assert_eq!(channel.get("/healthz"), (200, "ok".to_owned()));
    assert_eq!(sink.got().len(), 0);
}

#[test]
fn the_acknowledgement_comes_when_it_was_asked_for() {
    let (sink, switch) = Sink::holding();
    let early = ["enqueued", "durable"].map(|early| channel(&sink, &["--acknowledge", early]));
    for channel in &early {
        assert_eq!(send(channel, "early"), 202, "the subscriber has not answered");
    }
    let late = channel(&sink, &["--acknowledge", "delivered"]);
    let mut stream = late.connect();
    stream.write_all(event("late").as_bytes()).unwrap();
    let before = sink.wait(3).len();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut answer = [0; 12];
    assert!(stream.read(&mut answer).is_err(), "it is acknowledged before it is delivered");
    switch.turn_on();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert_eq!((&answer, before), (b"HTTP/1.1 202", 3));
    assert_eq!(send(&Instance::of("channel", &["--acknowledge", "delivered"]), "1"), 202);
}

#[test]
fn acknowledged_after_delivery_a_failure_without_policy_is_500_and_one_attempt() {
    for code in [400, 404, 429, 500, 503] {
        let sink = Sink::start(move |_, _| status(code));
        let channel = channel(&sink, &["--acknowledge", "delivered"]);
        assert_eq!(send(&channel, "1"), 500);
        assert_eq!(sink.got().len(), 1);
        assert_eq!(metric(&channel, "channel_deliveries_total{outcome=\"dropped\"}"), 1);
    }
}

#[test]
fn retries_back_off_and_end_with_a_dead_letter() {
    let sink = Sink::start(|_, _| Some("503 Full\r\n\r\nno room".to_owned()));
    let dead = Sink::taking();
    let arguments = ["--acknowledge", "delivered", "--retry", "3", "--dead-letter", &dead.url()];
    let channel = channel(&sink, &arguments);
    assert_eq!(send(&channel, "1"), 202);
    let got = sink.got();
    let times = times(&got);
    assert_eq!(times.len(), 4, "{times:?}");
    for (time, expected) in times.iter().zip([0, 200, 600, 1400]) {
        assert!((expected..expected + 150).contains(time), "{times:?}");
    }
    let letter = &dead.got()[0];
    assert_eq!((letter.field("ce-id"), &*letter.body), (Some("1"), "hello"));
    assert_eq!(letter.field("ce-knativeerrordest"), Some(&*sink.url()));
    assert_eq!(letter.field("ce-knativeerrorcode"), Some("503"));
    // The base64 of the response's body.
    assert_eq!(letter.field("ce-knativeerrordata"), Some("bm8gcm9vbQ=="));
    assert_eq!(letter.field("prefer"), None);
}

#[test]
fn a_final_failure_is_a_dead_letter_at_once() {
    let sink = Sink::start(|_, _| status(400));
    let dead = Sink::taking();
    let arguments = ["--acknowledge", "delivered", "--retry", "3", "--dead-letter", &dead.url()];
    let channel = channel(&sink, &arguments);
    assert_eq!(send(&channel, "1"), 202);
    assert_eq!((sink.got().len(), dead.got().len()), (1, 1));
}

#[test]
fn an_event_that_fails_twice_arrives_three_times() {
    let sink = Sink::start(|number, _| if number < 2 { status(503) } else { taken() });
    let arguments = [
        "--acknowledge",
        "delivered",
        "--retry",
        "3",
        "--backoff-delay",
        "10ms",
        "--backoff",
        "linear",
    ];
    let channel = channel(&sink, &arguments);
    assert_eq!(send(&channel, "1"), 202);
    assert_eq!(sink.ids(), ["1", "1", "1"]);
    assert_eq!(metric(&channel, "channel_attempts_total"), 3);
    assert_eq!(metric(&channel, "channel_deliveries_total{outcome=\"taken\"}"), 1);
}

#[test]
fn a_subscriber_that_hangs_up_or_hangs_is_tried_again() {
    let sink = Sink::start(|number, _| match number {
        0 => None,
        1 => {
            sleep(Duration::from_millis(600));
            taken()
        }
        _ => taken(),
    });
    let arguments = [
        "--acknowledge",
        "delivered",
        "--retry",
        "5",
        "--backoff-delay",
        "1ms",
        "--deadline",
        "300ms",
    ];
    let channel = channel(&sink, &arguments);
    assert_eq!(send(&channel, "1"), 202);
    assert_eq!(sink.ids(), ["1", "1", "1"]);
}

#[test]
fn retry_after_delays_a_repetition() {
    let sink = Sink::start(|number, _| match number {
        0 => Some("429 Slow\r\nRetry-After: 1\r\n\r\n".to_owned()),
        _ => taken(),
    });
    let arguments = [
        "--acknowledge",
        "delivered",
        "--retry",
        "1",
        "--backoff-delay",
        "1ms",
        "--retry-after-max",
        "5s",
    ];
    let channel = channel(&sink, &arguments);
    assert_eq!(send(&channel, "1"), 202);
    let times = times(&sink.got());
    assert!((1000..1500).contains(&times[1]), "{times:?}");
}

#[test]
fn a_reply_is_passed_on_if_its_status_is_200() {
    const REPLY: &str =
        "Ce-Specversion: 1.0\r\nCe-Id: r\r\nCe-Source: sub\r\nCe-Type: t\r\n\r\nanswer";
    let sink = Sink::start(|number, _| {
        let code = if number == 0 { "200 OK" } else { "202 Accepted" };
        Some(format!("{code}\r\n{REPLY}"))
    });
    let replies = Sink::taking();
    let channel = channel(&sink, &["--acknowledge", "delivered", "--reply", &replies.url()]);
    assert_eq!((send(&channel, "1"), send(&channel, "2")), (202, 202));
    let got = replies.got();
    assert_eq!(got.len(), 1, "a reply with 202 is not processed");
    assert_eq!((got[0].field("ce-id"), &*got[0].body), (Some("r"), "answer"));
}

#[test]
fn a_reply_that_nobody_wants_or_that_is_no_event_is_counted() {
    let sink = Sink::start(|number, _| {
        let fields = if number == 0 { "Ce-Source: s\r\nCe-Type: t\r\n" } else { "" };
        Some(format!("200 OK\r\nCe-Specversion: 1.0\r\nCe-Id: r\r\n{fields}\r\nanswer"))
    });
    let channel = channel(&sink, &["--acknowledge", "delivered"]);
    assert_eq!((send(&channel, "1"), send(&channel, "2")), (202, 202));
    for outcome in ["dropped", "invalid"] {
        let name = format!("channel_replies_total{{outcome=\"{outcome}\"}}");
        assert_eq!(metric(&channel, &name), 1, "{outcome}");
    }
    assert_eq!(metric(&channel, "channel_deliveries_total{outcome=\"taken\"}"), 2);
}

#[test]
fn a_reply_that_its_destination_refuses_is_a_dead_letter() {
    let sink = Sink::start(|_, _| {
        let fields = "Ce-Specversion: 1.0\r\nCe-Id: r\r\nCe-Source: s\r\nCe-Type: t";
        Some(format!("200 OK\r\n{fields}\r\n\r\nanswer"))
    });
    let (refusing, dead) = (Sink::start(|_, _| status(400)), Sink::taking());
    let more = ["--reply", &refusing.url(), "--dead-letter", &dead.url()];
    let channel = channel(&sink, &[&["--acknowledge", "delivered"], &more[..]].concat());
    assert_eq!(send(&channel, "1"), 202);
    let letter = &dead.got()[0];
    let field = |name| letter.field(name).unwrap_or("-").to_owned();
    assert_eq!((field("ce-id"), field("ce-knativeerrordest")), ("r".to_owned(), refusing.url()));
}

#[test]
fn pipelined_events_are_sent_together_and_each_has_its_own_end() {
    let switch = Switch::default();
    let opened = switch.clone();
    // The first delays those that come meanwhile; of the others every third fails once.
    let sink = Sink::start(move |number, got| {
        opened.wait();
        let id: u32 = got.field("ce-id").unwrap().parse().unwrap();
        let fails = id.is_multiple_of(3) && number < 40;
        if fails { status(503) } else { taken() }
    });
    let arguments = ["--pipeline", "16", "--in-flight", "16", "--retry", "50"];
    let channel = channel(&sink, &[&arguments[..], &["--backoff-delay", "1ms"]].concat());
    let count = 33;
    let mut stream = channel.connect();
    for id in 0..count {
        stream.write_all(event(&id.to_string()).as_bytes()).unwrap();
    }
    wait_for("all are accepted", LONG, || metric(&channel, "channel_pending") == count);
    switch.turn_on();
    wait_for("all are done", LONG, || metric(&channel, "channel_pending") == 0);
    assert_eq!(metric(&channel, "channel_deliveries_total{outcome=\"taken\"}"), count);
    let ids: BTreeSet<String> = sink.ids().into_iter().collect();
    assert_eq!(ids.len() as u64, count);
    assert!(count < sink.got().len() as u64, "some were repeated");
}

#[test]
fn a_pipelined_connection_that_ends_loses_nothing_behind_it() {
    // Every fifth response is the last of its connection, and every seventh is missing.
    let sink = Sink::start(|number, _| match number {
        number if number % 7 == 6 => None,
        number if number % 5 == 4 => Some("202 Accepted\r\nConnection: close\r\n\r\n".to_owned()),
        _ => taken(),
    });
    let arguments = ["--pipeline", "16", "--retry", "9", "--backoff-delay", "1ms"];
    let channel = channel(&sink, &[&arguments[..], &["--acknowledge", "enqueued"]].concat());
    let mut stream = channel.connect();
    for id in 0..200 {
        stream.write_all(event(&id.to_string()).as_bytes()).unwrap();
    }
    let taken = "channel_deliveries_total{outcome=\"taken\"}";
    wait_for("all are delivered", LONG, || metric(&channel, taken) == 200);
    let ids: BTreeSet<String> = sink.ids().into_iter().collect();
    assert_eq!(ids.len(), 200);
}

#[test]
fn every_subscriber_gets_every_event_and_one_that_fails_does_not_delay_others() {
    let (good, bad) = (Sink::taking(), Sink::start(|_, _| status(503)));
    let channel = channel(&good, &["--subscriber", &bad.url(), "--retry", "2"]);
    for id in ["1", "2", "3"] {
        assert_eq!(send(&channel, id), 202);
    }
    good.wait(3);
    assert_eq!(bad.wait(9).len(), 9);
    let twice = ["channel", "--subscriber", &good.url(), "--subscriber", &good.url()];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    let refused = command.args(twice).output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("is a subscriber twice; give another URL"), "{error}");
}

#[test]
fn an_ordered_subscriber_gets_events_in_order_through_failures() {
    let sink = Sink::start(|number, _| if number % 3 == 0 { status(503) } else { taken() });
    let channel = channel(&sink, &["--ordered", "--retry", "3", "--backoff-delay", "1ms"]);
    let mut stream = channel.connect();
    let count = 100;
    for id in 0..count {
        stream.write_all(event(&id.to_string()).as_bytes()).unwrap();
    }
    wait_for("all are delivered", LONG, || {
        metric(&channel, "channel_deliveries_total{outcome=\"taken\"}") == count
    });
    let mut ids: Vec<u64> = sink.ids().iter().map(|id| id.parse().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids, (0..count).collect::<Vec<_>>());
}

#[test]
fn a_full_queue_refuses_events_until_there_is_room() {
    let (sink, switch) = Sink::holding();
    let channel = channel(&sink, &["--queue", "3"]);
    let codes: Vec<u16> = (0..5).map(|id| send(&channel, &id.to_string())).collect();
    assert_eq!(codes, [202, 202, 202, 503, 503]);
    assert_eq!(metric(&channel, "channel_pending"), 3);
    switch.turn_on();
    wait_for("there is room", LONG, || metric(&channel, "channel_pending") == 0);
    assert_eq!(send(&channel, "5"), 202);
}

#[test]
fn a_shared_poll_delivers_at_its_ends_only_and_a_linger_after_its_time() {
    let sink = Sink::taking();
    let polled = channel(&sink, &["--shared-poll", "250ms"]);
    for id in 0..40 {
        assert_eq!(send(&polled, &id.to_string()), 202);
        sleep(Duration::from_millis(20));
    }
    let got = sink.wait(40);
    // Deliveries of one end of the poll come together, and the ends are a period apart.
    let mut ends: Vec<u128> = times(&got);
    ends.sort_unstable();
    ends.dedup_by_key(|time| (*time + 60) / 250);
    assert!((3..6).contains(&ends.len()), "{ends:?}");
    for pair in ends.windows(2) {
        assert!((150..350).contains(&(pair[1] - pair[0])), "{ends:?}");
    }

    let sink = Sink::taking();
    let lingering = channel(&sink, &["--linger", "200ms"]);
    let began = now();
    for id in ["1", "2", "3"] {
        assert_eq!(send(&lingering, id), 202);
    }
    let got = sink.wait(3);
    assert!(Duration::from_millis(200) <= got[0].at - began);
    assert!(times(&got)[2] < 150, "they go on together: {:?}", times(&got));
}

/// The events of Knative's own sender, of the version of the guide and of the last one.
#[test]
fn the_events_of_knatives_sender_pass_unmodified() {
    let sink = Sink::taking();
    let channel = channel(&sink, &["--ordered"]);
    let types = [
        "warmup.perf-test",
        "measure.perf-test",
        "measure.perf-test",
        "gc.perf-test",
        "end.perf-test",
    ];
    let mut expected = Vec::new();
    for (version, kinds) in [("0.2", types), ("1.0", types)] {
        for (number, kind) in kinds.into_iter().enumerate() {
            let id = format!("{version}-00000000deadbeef00000000deadbee{number}");
            let request = event(&id)
                .replace("Specversion: 1.0", &format!("Specversion: {version}"))
                .replace("Type: t\r", &format!("Type: {kind}\r"))
                .replace("Source: test", "Source: channel-perf-send")
                .replace("text/plain", "application/json")
                .replace("hello", "\"xxx\"");
            assert_eq!(exchange(&channel, &request).0, 202);
            expected
                .push(format!("{version} {id} channel-perf-send {kind} application/json \"xxx\""));
        }
    }
    let shown = |got: Got| {
        let names = ["ce-specversion", "ce-id", "ce-source", "ce-type", "content-type"];
        let values = names.map(|name| got.field(name).unwrap_or("-").to_owned());
        format!("{} {}", values.join(" "), got.body)
    };
    let got: Vec<String> = sink.wait(expected.len()).into_iter().map(shown).collect();
    assert_eq!(got, expected);
}
