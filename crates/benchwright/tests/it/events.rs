//! Events through the channel: their delivery, and the exact count of injected faults.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    Ran, Server, apps, benchwright, free_port, machine, run, run_while, signal, sleep,
};

fn channel(listen: &str, receiver: &str, arguments: &[&str]) -> Server {
    let subscriber = format!("http://{receiver}/");
    let mut command = Command::new(apps());
    command.args(["channel", "--listen", listen, "--subscriber", &subscriber]).args(arguments);
    Server::start(&mut command)
}

fn receiver() -> String {
    format!("127.0.0.1:{}", free_port())
}

fn load(url: &str, receiver: &str, arguments: &[&str]) -> Vec<String> {
    let fixed = [
        "load",
        url,
        "--receive",
        receiver,
        "--rate",
        "400/s",
        "--warm-up",
        "200ms",
        "--connections",
        "32",
        "--progress",
        "never",
        "--json",
    ];
    fixed.iter().chain(arguments).map(|&word| word.to_owned()).collect()
}

fn send(url: &str, receiver: &str, arguments: &[&str]) -> Ran {
    let words = load(url, receiver, arguments);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run(&words)
}

fn count(events: &Value, field: &str) -> u64 {
    events[field].as_u64().unwrap_or_else(|| panic!("no {field} in {events}"))
}

/// Returns these counts of the events, after checking that all of them agree with each other.
fn counts<const N: usize>(document: &Value, fields: [&str; N]) -> [u64; N] {
    let events = &document["events"];
    let of = |field| count(events, field);
    assert_eq!(of("accepted") + of("refused"), of("sent"));
    assert_eq!(of("accepted") + of("delivered_though_refused"), of("delivered") + of("lost"));
    assert_eq!((of("unknown"), of("unnoted")), (0, 0), "{events}");
    assert_eq!(of("sent"), document["counts"]["sent"].as_u64().unwrap());
    fields.map(of)
}

#[test]
fn every_event_is_accepted_and_delivered_once() {
    let _machine = machine();
    let receiver = receiver();
    let channel = channel("127.0.0.1:0", &receiver, &[]);
    for mode in ["binary", "structured"] {
        let document =
            send(&channel.url, &receiver, &["--events", mode, "--duration", "2s"]).json();
        let fields = ["sent", "accepted", "delivered", "lost", "duplicated"];
        let [sent, accepted, delivered, lost, duplicated] = counts(&document, fields);
        assert!(600 < sent, "{document}");
        assert_eq!((accepted, delivered, lost, duplicated), (sent, sent, 0, 0));
        let events = &document["events"];
        for times in ["publish_time", "delivery_time", "delivery_time_since_sent"] {
            assert_eq!(events[times]["count"], sent, "{times}");
        }
        let p50 = |times: &str| events[times]["p50_ns"].as_u64().unwrap();
        assert!(p50("delivery_time") < 100_000_000, "{events}");
        assert!(p50("delivery_time_since_sent") <= p50("delivery_time"));
    }
}

#[test]
fn refused_arrivals_are_counted_exactly() {
    let _machine = machine();
    let receiver = receiver();
    let retries =
        ["--retry", "3", "--backoff-delay", "1ms", "--backoff", "linear", "--deadline", "200ms"];
    for (how, arrivals) in [("503:2", 3), ("close:1", 2), ("hang:1", 2)] {
        let channel = channel("127.0.0.1:0", &receiver, &retries);
        let more = ["--events", "binary", "--duration", "1s", "--receive-refuse", how];
        let document = send(&channel.url, &receiver, &more).json();
        let fields = ["sent", "delivered", "lost", "duplicated", "duplicates"];
        let [sent, delivered, lost, duplicated, duplicates] = counts(&document, fields);
        assert_eq!((delivered, lost, duplicated), (sent, 0, sent), "{how}");
        assert_eq!(duplicates, (arrivals - 1) * sent, "{how}");
        let taken = channel.metric("channel_deliveries_total{outcome=\"taken\"}");
        assert_eq!(channel.metric("channel_attempts_total"), arrivals as f64 * taken, "{how}");
        let findings = document["findings"].to_string();
        assert!(findings.contains("events arrived more than once"), "{findings}");
    }
}

#[test]
fn events_that_nobody_receives_are_lost() {
    let _machine = machine();
    let (receiver, nobody) = (receiver(), receiver());
    let channel = channel("127.0.0.1:0", &nobody, &[]);
    let more = ["--events", "binary", "--duration", "1s", "--receive-within", "300ms"];
    let ran = send(&channel.url, &receiver, &more);
    let document = ran.json();
    let [sent, accepted, delivered, lost] =
        counts(&document, ["sent", "accepted", "delivered", "lost"]);
    assert_eq!((accepted, delivered, lost), (sent, 0, sent));
    // A lost event waited at least as long as the receiver.
    let p50 = document["events"]["delivery_time"]["p50_ns"].as_u64().unwrap();
    assert!(300_000_000 <= p50, "{}", document["events"]);
}

#[test]
fn a_durable_channel_that_is_killed_under_load_loses_nothing_that_it_accepted() {
    let _machine = machine();
    let (receiver, folder) = (receiver(), TempDir::new().unwrap());
    let listen = format!("127.0.0.1:{}", free_port());
    let data = folder.path().to_str().unwrap();
    let arguments = [
        "--acknowledge",
        "durable",
        "--data",
        data,
        "--retry",
        "100",
        "--backoff-delay",
        "10ms",
        "--backoff",
        "linear",
    ];
    let first = channel(&listen, &receiver, &arguments);
    let more = ["--events", "binary", "--duration", "3s", "--receive-within", "10s"];
    let words = load(&first.url, &receiver, &more);
    let mut second = None;
    let ran = run_while(Command::new(benchwright()).args(words), |_| {
        sleep(Duration::from_millis(1200));
        signal(first.pid(), "KILL");
        drop(first);
        second = Some(channel(&listen, &receiver, &arguments));
    });
    let document = ran.json();
    let [sent, accepted, refused, lost] =
        counts(&document, ["sent", "accepted", "refused", "lost"]);
    assert!(0 < accepted && 0 < sent && lost == 0, "{}", document["events"]);
    assert!(refused < sent / 2, "the channel came back: {refused} of {sent} were refused");
}

#[test]
fn a_channel_that_waits_for_a_timer_is_found_out() {
    let _machine = machine();
    let receiver = receiver();
    let channel = channel("127.0.0.1:0", &receiver, &["--shared-poll", "250ms"]);
    let document =
        send(&channel.url, &receiver, &["--events", "binary", "--duration", "6s"]).json();
    let findings = document["findings"].to_string();
    // A disturbed machine delays some of the deliveries at the end of a poll.
    let period = findings.split("the delivery times are flat to ").nth(1).expect(&findings);
    let period: u32 = period.split_once(" ms: a timer").expect(&findings).0.parse().unwrap();
    assert!((220..=280).contains(&period), "{findings}");
    let p50 = document["events"]["delivery_time"]["p50_ns"].as_u64().unwrap() / 1_000_000;
    assert!((100..160).contains(&p50), "{p50} ms");
    let publish = document["events"]["publish_time"]["p50_ns"].as_u64().unwrap();
    assert!(publish < 50_000_000, "the acknowledgement does not wait: {publish} ns");
}

#[test]
fn wrong_events_are_refused_before_anything_is_sent() {
    for (arguments, why) in [
        (&["--events", "binary", "--closed"][..], "cannot be used with"),
        (&["--receive", "127.0.0.1:1", "--rate", "1/s"], "required"),
        (&["--events", "binary", "--rate", "1/s", "--event-size", "1B"], "from 2 bytes to 1 MiB"),
        (&["--events", "binary", "--rate", "1/s", "--event-type", "a b"], "is not a type"),
        (
            &[
                "--events",
                "binary",
                "--rate",
                "1/s",
                "--receive",
                "127.0.0.1:1",
                "--receive-refuse",
                "x",
            ],
            "write 503:2",
        ),
    ] {
        let ran = run(&[&["load", "http://127.0.0.1:9/"][..], arguments].concat());
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.contains(why), "{ran:#?}");
    }
}
