use std::collections::BTreeMap;

use measure::Random;

use super::*;

const MS: u64 = 1_000_000;
/// The time until which the receivers wait.
const UNTIL: Instant = Instant(540 * MS);

fn sent(number: u64, is_accepted: bool, intended_ms: u64) -> Sent {
    let at = |ms: u64| Instant(ms * MS);
    let outcome = if is_accepted { Sent::ACCEPTED } else { 3 };
    Sent::new(number, outcome, (at(intended_ms), at(intended_ms + 1), at(intended_ms + 3)))
}

fn received(sender: u16, number: u64, at_ms: u64, order: u32) -> Received {
    Received { number, at: Instant(at_ms * MS), order, sender }
}

#[test]
fn each_fate_of_an_event_is_counted() {
    let mut senders = [vec![
        sent(0, true, 0),
        sent(1, true, 10),
        sent(2, false, 20),
        sent(3, false, 30),
        sent(4, true, 40),
        sent(5, true, 50),
        // After the measurement.
        sent(6, true, 2000),
    ]];
    let mut arrivals = [
        received(0, 0, 5, 0),
        // 2 was refused, and 1 is overtaken by it.
        received(0, 2, 25, 1),
        received(0, 1, 26, 2),
        received(0, 1, 27, 3),
        received(0, 1, 28, 4),
        received(0, 5, 60, 5),
        received(0, 5, 61, 6),
        received(0, 6, 2010, 7),
        received(0, 6, 2011, 8),
        // Nobody sent these.
        received(0, 7, 70, 9),
        received(Received::UNKNOWN, 0, 71, 10),
    ];
    let Join { events, early } =
        join(&mut senders, &mut arrivals, UNTIL, |_, at| at < Instant(1000 * MS));
    assert_eq!(early, Nanos::ZERO);
    let expected = Events {
        sent: 6,
        accepted: 4,
        refused: 2,
        delivered: 4,
        lost: 1,
        duplicated: 2,
        duplicates: 3,
        reordered: 1,
        delivered_though_refused: 1,
        unknown: 2,
        ..Events::default()
    };
    let times = |times: &Option<Times>| {
        let times = times.as_ref().unwrap();
        // To within the precision of a histogram.
        (times.count, (times.min_ns + MS / 2) / MS, (times.max_ns + MS / 2) / MS)
    };
    assert_eq!(times(&events.publish_time), (4, 3, 3));
    assert_eq!(times(&events.publish_time_since_sent), (4, 2, 2));
    // The first arrival counts: a later one does not lengthen the delivery.
    // 4 is lost: it waited from 40 ms to the end.
    assert_eq!(times(&events.delivery_time), (5, 5, 500));
    assert_eq!(times(&events.delivery_time_since_sent), (5, 4, 499));
    assert_eq!(times(&events.lost_time_at_least), (1, 500, 500));
    let without_times = Events {
        publish_time: None,
        publish_time_since_sent: None,
        delivery_time: None,
        delivery_time_since_sent: None,
        delivery_time_at_least: None,
        lost_time_at_least: None,
        ..events
    };
    assert_eq!(without_times, expected);
}

/// Of a thousand events in a second, each twentieth does not arrive; the others take 1 to 12.9 ms.
#[test]
fn lost_events_are_in_the_percentiles_with_the_time_that_they_were_waited_for() {
    let events = |lost_every: u64| {
        let mut sender = vec![(0..1_000).map(|number| sent(number, true, number)).collect()];
        let arrived = (0..1_000).filter(|number| number % lost_every != lost_every - 1);
        let mut arrivals: Vec<Received> =
            arrived.map(|number| received(0, number, number + 1 + number % 12, 0)).collect();
        // A second after the last event was sent.
        join(&mut sender, &mut arrivals, Instant(2_000 * MS), |_, _| true).events
    };
    let lossy = events(20);
    assert_eq!((lossy.lost, lossy.delivered), (50, 950));
    let at = |level| {
        let (low, high) = lossy.delivery_bounds(level).unwrap();
        assert!(low <= high, "{low} {high}");
        high
    };
    let from = lossy.at_least_from().unwrap();
    assert!(from.0.abs_diff(1_001 * MS) < 2 * MS, "{from}");
    assert!(at(Quantile::P90) < Nanos::from_millis(13));
    assert!(from <= at(Quantile::P99) && at(Quantile::P99) <= Nanos::from_millis(2_001));
    let delivery = crate::journal::Delivery::of(&lossy);
    let written = |ns: Option<u64>| delivery.written(ns.unwrap());
    assert!(written(delivery.p90_ns).ends_with("ms") && !written(delivery.p90_ns).contains('≥'));
    assert!(written(delivery.p99_ns).starts_with("≥ 1."), "{}", written(delivery.p99_ns));
    let whole = events(2_000);
    assert_eq!((whole.lost, whole.at_least_from()), (0, None));
    assert!(whole.delivery_bounds(Quantile::P99).unwrap().1 < Nanos::from_millis(13));
}

/// Deliveries on a grid of 100 ms show its timer also if some events are lost.
#[test]
fn a_timer_is_found_beside_lost_events() {
    let mut sender: Vec<Sent> = (0..4_000).map(|number| sent(number, true, number)).collect();
    let arrived = |number: &u64| !number.is_multiple_of(10);
    let grid = |number: u64| (number / 100 + 1) * 100 + 2;
    let mut arrivals: Vec<Received> =
        (0..4_000).filter(arrived).map(|n| received(0, n, grid(n), 0)).collect();
    let until = Instant(9_000 * MS);
    let lossy = join(&mut [sender.clone()], &mut arrivals, until, |_, _| true).events;
    sender.retain(|one| arrived(&one.number()));
    let whole = join(&mut [sender], &mut arrivals, until, |_, _| true).events;
    assert_eq!((lossy.lost, whole.lost), (400, 0));
    assert!(whole.timer().is_some());
    assert_eq!(lossy.timer(), whole.timer());
}

/// The channel delivers one event at a time, each within 2 ms.
#[test]
fn an_event_is_forgiven_the_longest_lateness_since_the_channel_was_empty() {
    let late = |number: u64, intended_ms: u64, lateness_ms: u64| {
        let at = |ms: u64| Instant(ms * MS);
        let sent_ms = intended_ms + lateness_ms;
        Sent::new(number, Sent::ACCEPTED, (at(intended_ms), at(sent_ms), at(sent_ms)))
    };
    let bounds = |events: &[(Sent, u64)]| {
        let arrival = |(sent, at_ms): &(Sent, u64)| received(0, sent.number(), *at_ms, 0);
        let mut arrivals: Vec<Received> = events.iter().map(arrival).collect();
        let mut senders = [events.iter().map(|(sent, _)| *sent).collect()];
        let events = join(&mut senders, &mut arrivals, UNTIL, |_, _| true).events;
        let (low, high) = events.delivery_bounds(Quantile::P9999).unwrap();
        let in_ms = |nanos: Nanos| (nanos.0 + MS / 2) / MS;
        let mut mean = events.delivery_time_at_least.unwrap().mean_ns;
        mean = (mean + MS / 2) / MS;
        (in_ms(low), in_ms(high), mean)
    };
    // Punctual: both bounds are what was measured.
    assert_eq!(bounds(&[(late(0, 0, 0), 2), (late(1, 10, 0), 12)]), (2, 2, 2));
    // Its own lateness, and none of that of others when the channel was empty between them.
    assert_eq!(bounds(&[(late(0, 0, 6), 8), (late(1, 10, 0), 12)]), (2, 8, 2));
    // The second one was punctual, but waited behind the first: it took 4 ms, and without that
    // lateness 2 ms. Its bound is zero.
    assert_eq!(bounds(&[(late(0, 0, 6), 8), (late(1, 6, 0), 10)]), (2, 8, 1));
}

#[test]
fn nothing_sent_and_nothing_received_is_nothing() {
    assert_eq!(join(&mut [], &mut [], UNTIL, |_, _| true), Join::default());
    let only = join(&mut [vec![]], &mut [received(0, 3, 1, 0)], UNTIL, |_, _| true).events;
    assert_eq!((only.unknown, only.delivered, only.delivery_time), (1, 0, None));
}

/// Returns the result of [`join`], computed with maps, event by event.
fn expected(senders: &[Vec<Sent>], received: &[Received], end: Instant) -> Events {
    let mut arrivals: BTreeMap<(u16, u64), Vec<(Instant, u32)>> = BTreeMap::new();
    for one in received {
        arrivals.entry((one.sender, one.number)).or_default().push((one.at, one.order));
    }
    let mut events = Events::default();
    for (sender, all) in senders.iter().enumerate() {
        for one in all {
            let key = (sender as u16, one.number());
            if end <= one.intended {
                continue;
            }
            events.sent += 1;
            events.accepted += u64::from(one.is_accepted());
            events.refused += u64::from(!one.is_accepted());
            let Some(arrived) = arrivals.get(&key) else {
                events.lost += u64::from(one.is_accepted());
                continue;
            };
            let first = arrived.iter().min().unwrap();
            let is_overtaken =
                all.iter().filter(|other| one.number() < other.number()).any(|other| {
                    let later = arrivals.get(&(sender as u16, other.number()));
                    later.is_some_and(|later| later.iter().min().unwrap() < first)
                });
            events.delivered += 1;
            events.reordered += u64::from(is_overtaken);
            events.duplicated += u64::from(1 < arrived.len());
            events.duplicates += arrived.len() as u64 - 1;
            events.delivered_though_refused += u64::from(!one.is_accepted());
        }
    }
    let is_ours = |one: &&Received| {
        let sender = senders.get(usize::from(one.sender));
        sender.is_some_and(|all| all.iter().any(|sent| sent.number() == one.number))
    };
    events.unknown = received.iter().filter(|one| !is_ours(one)).count() as u64;
    events
}

#[test]
fn any_injected_faults_are_counted_exactly() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut senders: Vec<Vec<Sent>> = Vec::new();
        let mut arrivals = Vec::new();
        for sender in 0..1 + random.below(3) as u16 {
            let count = random.below(60);
            let mut all = Vec::new();
            for number in 0..count {
                // Some numbers are another shard's.
                if random.below(10) == 0 {
                    continue;
                }
                let intended = number * 2;
                all.push(sent(number, random.below(5) != 0, intended));
                let copies = [0, 1, 1, 1, 1, 1, 2, 5][random.below(8) as usize];
                for _ in 0..copies {
                    let at = intended + 1 + random.below(12);
                    arrivals.push(received(sender, number, at, arrivals.len() as u32));
                }
            }
            // Shards note their own events, so their order is any.
            for at in (1..all.len()).rev() {
                all.swap(at, random.below(at as u64 + 1) as usize);
            }
            senders.push(all);
        }
        for _ in 0..random.below(4) {
            let sender = [7, Received::UNKNOWN][random.below(2) as usize];
            arrivals.push(received(sender, random.below(60), 5, arrivals.len() as u32));
        }
        let end = Instant(random.below(140) * MS);
        let wanted = expected(&senders, &arrivals, end);
        let Join { events, .. } = join(&mut senders, &mut arrivals, UNTIL, |_, at| at < end);
        let delivered = events.delivery_time.as_ref().map_or(0, |times| times.count);
        let published = events.publish_time.as_ref().map_or(0, |times| times.count);
        let lost = events.lost_time_at_least.as_ref().map_or(0, |times| times.count);
        let of_lost = (delivered - lost, lost);
        assert_eq!(of_lost, (events.delivered, events.lost), "seed {seed}");
        assert_eq!(published, events.accepted, "seed {seed}");
        let found = Events {
            publish_time: None,
            publish_time_since_sent: None,
            delivery_time: None,
            delivery_time_since_sent: None,
            delivery_time_at_least: None,
            lost_time_at_least: None,
            ..events
        };
        assert_eq!(found, wanted, "seed {seed}");
        assert_eq!(found.sent, found.accepted + found.refused);
        assert_eq!(found.accepted + found.delivered_though_refused, found.delivered + found.lost);
    }
}

#[test]
fn senders_have_measurements_of_their_own() {
    let mut senders = [vec![sent(0, true, 0)], vec![sent(0, true, 0), sent(1, true, 10)]];
    let mut arrivals = [received(0, 0, 5, 0), received(1, 0, 5, 1), received(1, 1, 10, 2)];
    let joined =
        join(&mut senders, &mut arrivals, UNTIL, |sender, at| sender == 0 || Instant(0) < at);
    assert_eq!((joined.events.sent, joined.events.delivered), (2, 2));
    // The last one arrived 1 ms before it was sent.
    assert_eq!(joined.early, Nanos::from_millis(1));
}

#[test]
fn an_event_survives_a_file() {
    let sent = Sent::new(u64::MAX, 9, (Instant(1), Instant(2), Instant(u64::MAX)));
    assert_eq!((sent.number(), sent.outcome()), (Sent::MOST_NUMBER, 9));
    assert_eq!(Sent::from_bytes(&sent.to_bytes()), sent);
    let later = sent.by(|at| at + Nanos(5));
    assert_eq!((later.sent, later.number()), (Instant(7), sent.number()));
}
