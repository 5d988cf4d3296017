//! The channel over real brokers: each carries its events through kills of the channel and its own.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::broker::{Broker, Kind};
use crate::channel::{LONG, channel, event, exchange, metric, send};
use crate::channel_log::{kills, send_until_it_dies};
use crate::instance::{Instance, now, sleep};
use crate::services::wait_for;
use crate::sink::{Sink, status, taken};

#[test]
fn redis_streams_carry_the_events_of_a_channel() {
    let test = "redis_streams_carry_the_events_of_a_channel";
    let Some(mut broker) = Broker::start(Kind::Redis, test) else { return };
    carries_events(&mut broker);
    every_delivery_waits_for_a_shared_poll(&broker);
    foreign_entries_are_counted_and_passed_over(&broker);
}

#[test]
fn nats_jetstream_carries_the_events_of_a_channel() {
    let test = "nats_jetstream_carries_the_events_of_a_channel";
    let Some(mut broker) = Broker::start(Kind::Nats, test) else { return };
    carries_events(&mut broker);
    too_large_an_event_is_refused(&broker);
}

#[test]
fn apache_kafka_carries_the_events_of_a_channel() {
    let test = "apache_kafka_carries_the_events_of_a_channel";
    let Some(mut broker) = Broker::start(Kind::Kafka, test) else { return };
    carries_events(&mut broker);
    every_delivery_waits_for_a_shared_poll(&broker);
    too_large_an_event_is_refused(&broker);
}

fn carries_events(broker: &mut Broker) {
    events_reach_all_subscribers(broker);
    failures_are_acknowledged_like_deliveries(broker);
    nothing_acknowledged_is_lost_when_the_channel_is_killed(broker);
    a_full_queue_refuses_events_until_there_is_room(broker);
    a_frozen_broker_is_refused_events_and_comes_back(broker);
    a_killed_broker_is_refused_events_and_comes_back(broker);
}

fn over(broker: &Broker, stream: &str, subscriber: &Sink, arguments: &[&str]) -> Instance {
    channel(subscriber, &[&["--broker", &broker.url(stream)], arguments].concat())
}

fn taken_in(channel: &Instance) -> u64 {
    metric(channel, "channel_deliveries_total{outcome=\"taken\"}")
}

fn events_reach_all_subscribers(broker: &Broker) {
    for acknowledge in ["enqueued", "durable", "delivered"] {
        let (first, second) = (Sink::taking(), Sink::taking());
        let url = second.url();
        let arguments = ["--ordered", "--acknowledge", acknowledge, "--subscriber", &url];
        let channel = over(broker, acknowledge, &first, &arguments);
        assert_eq!(channel.get("/healthz"), (200, "ok".to_owned()));
        let ids: Vec<String> = (0..20).map(|id| id.to_string()).collect();
        for id in &ids {
            assert_eq!(send(&channel, id), 202, "{acknowledge}");
        }
        for sink in [first, second] {
            let got = sink.wait(20);
            assert_eq!(sink.ids(), ids);
            assert_eq!(
                (got[0].field("content-type"), &*got[0].body),
                (Some("text/plain"), "hello")
            );
        }
        wait_for("nothing is pending", LONG, || metric(&channel, "channel_pending") == 0);
        let hostile = event("1").replacen("\r\n", "\r\nCe-Id: 2\r\n", 1);
        assert_eq!(exchange(&channel, &hostile).0, 400);
        assert_eq!(channel.terminate(), Some(0));
    }
    if let Kind::Redis = broker.kind() {
        wait_for("the stream is trimmed", LONG, || {
            broker.tell_redis(&["XLEN", "enqueued"]).parse::<u64>().unwrap() <= 20
        });
    }
}

fn failures_are_acknowledged_like_deliveries(broker: &Broker) {
    let (sink, dead) = (Sink::start(|_, _| status(503)), Sink::taking());
    let retry = ["--acknowledge", "delivered", "--retry", "2", "--backoff-delay", "1ms"];
    let channel = over(broker, "failures", &sink, &retry);
    assert_eq!(send(&channel, "1"), 500);
    let url = dead.url();
    let letters = [&retry[..], &["--dead-letter", &url]].concat();
    assert_eq!(channel.terminate(), Some(0));
    let channel = over(broker, "failures", &sink, &letters);
    assert_eq!(send(&channel, "2"), 202);
    // The offset of the first event may not have been stored: then it comes again.
    assert!(dead.ids().contains(&"2".to_owned()), "{:?}", dead.ids());
    wait_for("nothing is pending", LONG, || metric(&channel, "channel_pending") == 0);
}

fn nothing_acknowledged_is_lost_when_the_channel_is_killed(broker: &Broker) {
    // Every third delivery fails, so that some are always on their way.
    let sink = Sink::start(|number, _| if number % 3 == 0 { status(503) } else { taken() });
    let arguments = [
        "--acknowledge",
        "durable",
        "--retry",
        "50",
        "--backoff-delay",
        "5ms",
        "--backoff",
        "linear",
    ];
    let mut recovered = 0;
    for kill in 0..kills() {
        let running = over(broker, "kills", &sink, &arguments);
        let has_begun = AtomicBool::new(false);
        let acknowledged = thread::scope(|scope| {
            let sender = scope.spawn(|| send_until_it_dies(&running, kill, &has_begun));
            wait_for("an event is acknowledged", LONG, || has_begun.load(Ordering::Relaxed));
            sleep(Duration::from_millis(40 + 17 * (kill as u64 % 7)));
            let id = running.id().to_string();
            Command::new("kill").args(["-9", &id]).status().unwrap();
            sender.join().unwrap()
        });
        running.kill();
        let last = over(broker, "kills", &sink, &arguments);
        wait_for("all are delivered", LONG, || metric(&last, "channel_pending") == 0);
        recovered += metric(&last, "channel_recovered_events_total");
        last.kill();
        let delivered: BTreeSet<String> = sink.ids().into_iter().collect();
        let lost: Vec<&String> =
            acknowledged.iter().filter(|id| !delivered.contains(*id)).collect();
        assert!(lost.is_empty(), "acknowledged and lost, in kill {kill}: {lost:?}");
    }
    assert!(0 < recovered, "some events were not delivered before their kill");
}

fn a_full_queue_refuses_events_until_there_is_room(broker: &Broker) {
    let down = std::sync::Arc::new(AtomicUsize::new(1));
    let is_down = std::sync::Arc::clone(&down);
    let sink = Sink::start(move |_, _| match is_down.load(Ordering::Relaxed) {
        0 => taken(),
        _ => status(503),
    });
    let arguments = ["--acknowledge", "durable", "--queue", "3", "--retry", "100"];
    let slow = ["--backoff-delay", "20ms", "--backoff", "linear"];
    let channel = over(broker, "full", &sink, &[&arguments[..], &slow].concat());
    let codes: Vec<u16> = (0..5).map(|id| send(&channel, &id.to_string())).collect();
    assert_eq!(codes, [202, 202, 202, 503, 503]);
    assert_eq!(metric(&channel, "channel_events_total{outcome=\"full\"}"), 2);
    down.store(0, Ordering::Relaxed);
    wait_for("there is room", LONG, || send(&channel, "6") == 202);
}

fn a_frozen_broker_is_refused_events_and_comes_back(broker: &Broker) {
    let sink = Sink::taking();
    let arguments = ["--acknowledge", "durable", "--deadline", "500ms"];
    let channel = over(broker, "frozen", &sink, &arguments);
    assert_eq!(send(&channel, "1"), 202);
    broker.freeze();
    let began = now();
    assert_eq!(send(&channel, "2"), 503);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    is_refused_with_a_reason(&channel);
    broker.thaw();
    is_usable_again(&channel, &sink);
}

fn a_killed_broker_is_refused_events_and_comes_back(broker: &mut Broker) {
    let sink = Sink::taking();
    let channel = over(broker, "killed", &sink, &["--acknowledge", "durable"]);
    assert_eq!(send(&channel, "1"), 202);
    broker.kill();
    is_refused_with_a_reason(&channel);
    broker.resume();
    is_usable_again(&channel, &sink);
}

fn is_refused_with_a_reason(channel: &Instance) {
    wait_for("the channel is not ready", LONG, || channel.get("/healthz").0 == 503);
    let (code, head, why) = exchange(channel, &event("no"));
    assert!(code == 503 && head.contains("retry-after: 1"), "{head}");
    assert!(why.starts_with("the broker ") && why.contains(" cannot be used: "), "{why}");
    assert!(0 < metric(channel, "channel_events_total{outcome=\"not_published\"}"));
}

fn is_usable_again(channel: &Instance, sink: &Sink) {
    wait_for("the channel is ready", LONG, || channel.get("/healthz").0 == 200);
    wait_for("an event is taken", LONG, || send(channel, "again") == 202);
    wait_for("it is delivered", LONG, || sink.ids().contains(&"again".to_owned()));
    wait_for("nothing is pending", LONG, || metric(channel, "channel_pending") == 0);
    assert!(0 < taken_in(channel));
}

/// The broker answers one connection in order: an event is published when the poll before it ends.
fn every_delivery_waits_for_a_shared_poll(broker: &Broker) {
    let sink = Sink::taking();
    let arguments = ["--acknowledge", "durable", "--shared-poll", "250ms"];
    let channel = over(broker, "shared", &sink, &arguments);
    let began = now();
    for id in 1..=4 {
        assert_eq!(send(&channel, &id.to_string()), 202);
        sink.wait(id);
    }
    // The first event may meet the end of a poll.
    let took = began.elapsed();
    assert!(Duration::from_millis(700) < took, "{took:?}");
}

fn too_large_an_event_is_refused(broker: &Broker) {
    let sink = Sink::taking();
    let channel = over(broker, "large", &sink, &["--acknowledge", "durable"]);
    let head = event("1").replace("Length: 5", "Length: 1048576").replace("hello", "");
    let mut stream = channel.connect();
    stream.write_all(head.replacen("\r\n", "\r\nConnection: close\r\n", 1).as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; 1 << 20]).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(" refused: "), "{answer}");
    assert_eq!(send(&channel, "2"), 202);
    sink.wait(1);
    assert_eq!(sink.ids(), ["2"]);
}

fn foreign_entries_are_counted_and_passed_over(broker: &Broker) {
    let sink = Sink::taking();
    let channel = over(broker, "foreign", &sink, &[]);
    broker.tell_redis(&["XADD", "foreign", "*", "e", "junk"]);
    broker.tell_redis(&["XADD", "foreign", "*", "f", "1", "g", "2"]);
    assert_eq!(send(&channel, "1"), 202);
    sink.wait(1);
    assert_eq!(metric(&channel, "channel_unreadable_records_total"), 2);
    wait_for("nothing is pending", LONG, || metric(&channel, "channel_pending") == 0);
}
