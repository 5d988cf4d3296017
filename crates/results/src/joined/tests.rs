use std::io::Cursor;

use measure::{Instant, Offset};

use super::*;
use crate::notes::{self, Ahead, Arrivals, Compared, Header, Sender, Side};

const MS: u64 = 1_000_000;

/// A sender on a host whose clock is ahead of the true time, and what it knows of other clocks.
struct Place {
    clock: &'static str,
    ahead: u64,
    compared: Vec<Compared>,
}

const HERE: Place = Place { clock: "here", ahead: 0, compared: Vec::new() };

fn compared(clock: &str, ahead_ns: i64, error_ns: u64) -> Compared {
    let before = Ahead { ahead_ns, error_ns };
    Compared { address: String::new(), clock: clock.to_owned(), before, after: Some(before) }
}

/// Returns the file of a sender that sends an event each millisecond. The measurement begins with the
/// fourth.
fn sender(name: &str, place: &Place, count: u64, outcome: impl Fn(u64) -> u8) -> OfSender {
    let at = |ms: u64| Instant(ms * MS + place.ahead);
    let sent = |number: u64| {
        let times = (at(1000 + number), at(1000 + number), at(1001 + number));
        Sent::new(number, outcome(number), times)
    };
    let of = Sender {
        sources: vec![format!("/{name}")],
        outcomes: vec!["accepted".to_owned(), "timeout".to_owned()],
        from_ns: at(1003).0,
        to_ns: at(9000).0,
        compared: place.compared.clone(),
    };
    let header = Header::new(Some(place.clock.to_owned()), Side::Sender(of));
    let mut file = Vec::new();
    notes::write_sent(&header, &[(0..count).map(sent).collect()], 0, &mut file).unwrap();
    match Notes::read(name, &mut Cursor::new(&file), file.len() as u64).unwrap() {
        Notes::Sender(sender) => sender,
        Notes::Receiver(_) => panic!("it is a sender's"),
    }
}

/// The time until which receivers wait.
const UNTIL: Instant = Instant(9_500 * MS);

/// Returns the file of a receiver with these arrivals: source, id and time.
fn receiver(clock: &str, ahead: u64, arrivals: &[(&str, &str, u64)], unnoted: u64) -> OfReceiver {
    let mut file = Header::new(Some(clock.to_owned()), Side::Receiver).line();
    let mut notes = Arrivals::default();
    for (source, id, us) in arrivals {
        assert!(notes.note(source.as_bytes(), id.as_bytes(), Instant(us * 1000 + ahead)));
    }
    file.extend(notes.close().bytes);
    let until_ns = Some(UNTIL.0 + ahead);
    file.extend(notes::end(End { noted: arrivals.len() as u64, unnoted, until_ns }));
    read_receiver(&file)
}

fn read_receiver(file: &[u8]) -> OfReceiver {
    match Notes::read("r", &mut Cursor::new(file), file.len() as u64).unwrap() {
        Notes::Receiver(receiver) => receiver,
        Notes::Sender(_) => panic!("it is a receiver's"),
    }
}

#[test]
fn several_senders_and_receivers_are_one_measurement() {
    let senders =
        vec![sender("a", &HERE, 8, |number| u8::from(number == 7)), sender("b", &HERE, 5, |_| 0)];
    let first = [
        ("/a", "0", 1_000_500),
        ("/a", "3", 1_003_500),
        ("/a", "5", 1_005_500),
        ("/x", "3", 1_005_600),
        ("/a", "id", 1_005_700),
    ];
    let second = [
        ("/b", "3", 1_003_500),
        ("/b", "3", 1_003_600),
        ("/a", "4", 1_006_000),
        ("/a", "7", 1_007_500),
        ("/a", "3", 1_008_000),
    ];
    let receivers = vec![receiver("here", 0, &first, 0), receiver("here", 0, &second, 0)];
    let joined = join(senders, receivers).unwrap();
    let events = &joined.events;
    assert_eq!(events.source, "/a /b");
    let counts = [events.sent, events.accepted, events.delivered, events.lost];
    // 4 and 6 of a; 3 and 4 of b.
    assert_eq!(counts, [7, 6, 5, 2]);
    let counts = [events.duplicated, events.duplicates, events.reordered, events.unknown];
    assert_eq!(counts, [2, 2, 1, 2]);
    assert_eq!(events.delivered_though_refused, 1);
    assert_eq!(
        joined.outcomes.clone().into_iter().collect::<Vec<_>>(),
        [("accepted".to_owned(), 6), ("timeout".to_owned(), 1)]
    );
    let delivery = events.delivery_time.as_ref().unwrap();
    assert_eq!((delivery.min_ns + 500) / 1000, 500);
    // 4 of b was sent at 1,004 ms, 6 of a at 1,006 ms.
    let lost = events.lost_time_at_least.as_ref().unwrap();
    assert_eq!(lost.count, 2);
    assert!(lost.min_ns.abs_diff(8_494 * MS) < 10 * MS, "{lost:?}");
    assert_eq!((joined.clock_error_ns, joined.complete), (Some(0), true));
    assert_eq!((joined.warnings, joined.delivery_by_clocks), (Vec::<String>::new(), None));
    assert_eq!(joined.receivers[0].sources, ["/a", "/x"]);
    assert_eq!((joined.senders[0].noted, joined.receivers[1].noted), (8, 5));
}

#[test]
fn delivery_times_of_two_hosts_are_shown_if_the_clocks_allow_it() {
    // The receiver's clock is 5 s ahead; the sender estimates it 5.00001 s, ± 20 µs.
    let place = |error_ns| Place {
        clock: "there",
        ahead: 3_000 * MS,
        compared: vec![compared("here", -3_000_000_000 + 5_000_000_000 + 10_000, error_ns)],
    };
    let arrivals: Vec<(String, u64)> = (0..1000)
        .map(|number| {
            let delay = if number % 10 == 0 { 10_000 } else { 300 };
            (number.to_string(), 1_000_000 + number * 1000 + delay)
        })
        .collect();
    let arrivals: Vec<(&str, &str, u64)> =
        arrivals.iter().map(|(id, us)| ("/a", &**id, *us)).collect();
    let joined = |error_ns| {
        let receivers = vec![receiver("here", 5_000 * MS, &arrivals, 0)];
        join(vec![sender("a", &place(error_ns), 1000, |_| 0)], receivers).unwrap()
    };
    let by_clocks = |error_ns| joined(error_ns).delivery_by_clocks.unwrap();
    let known = by_clocks(14_000);
    let near = |ns: Option<u64>, us: u64| ns.is_some_and(|ns| ns.abs_diff(us * 1000) < us + 500);
    assert!(near(known.p50_ns, 290) && near(known.p99_ns, 9_990), "{known:?}");
    assert_eq!((known.refused, known.count), (None, 997));
    let partly = by_clocks(20_000);
    assert_eq!((partly.p50_ns, partly.p90_ns), (None, None));
    assert!(near(partly.p99_ns, 9_990) && near(partly.max_ns, 9_990), "{partly:?}");
    assert_eq!(
        partly.refused.as_deref(),
        Some(
            "no p50, p90: the offset of the clocks is known to ± 20.0 µs, which is more than 5 % of it"
        )
    );
    let nothing = by_clocks(600_000);
    assert_eq!((nothing.p99_ns, nothing.max_ns), (None, None));
    let joined = joined(20_000);
    assert_eq!((joined.events.delivered, joined.events.lost), (997, 0));
    assert_eq!((&joined.events.delivery_time, joined.clock_error_ns), (&None, Some(20_000)));
    assert!(joined.events.publish_time.is_some(), "it is by one clock");
    assert_eq!(joined.clocks.len(), 2);
    assert_eq!(joined.clocks[1].ahead_ns, Some(2_000_010_000));
    assert_eq!(joined.warnings, [""; 0]);
}

#[test]
fn clocks_that_were_never_compared_give_counts_and_no_times() {
    let arrivals = [("/a", "3", 1_003_500), ("/a", "4", 1_004_500)];
    let receivers = vec![receiver("there", 0, &arrivals, 0), receiver("far", 0, &[], 0)];
    let joined = join(vec![sender("a", &HERE, 5, |_| 0)], receivers).unwrap();
    assert_eq!((joined.events.delivered, joined.events.lost), (2, 0));
    let times = joined.delivery_by_clocks.unwrap();
    assert_eq!((times.count, times.p50_ns, times.max_ns), (2, None, None));
    let why = times.refused.unwrap();
    assert!(
        why.ends_with("start the load with --compare-clock and the address of the receiver"),
        "{why}"
    );
    assert_eq!(joined.clock_error_ns, None);
    assert!(joined.warnings[0].starts_with("the clocks of the receivers"), "{:?}", joined.warnings);
}

#[test]
fn clocks_are_chained() {
    let there = Place { clock: "there", ahead: 0, compared: vec![compared("r", 50, 7)] };
    let here = Place { compared: vec![compared("r", -100, 5), compared("r", 1, 500)], ..HERE };
    let senders = [sender("a", &here, 5, |_| 0), sender("b", &there, 5, |_| 0)];
    let found = clocks::places(&senders, &[receiver("r", 0, &[], 0)]);
    let offset = |ahead_ns, error| Some(Offset { ahead_ns, error: Nanos(error) });
    assert_eq!(found.offsets, [offset(0, 0), offset(-150, 12), offset(-100, 5)]);
    assert_eq!(found.error, Some(Nanos(17)));
}

#[test]
fn an_event_that_arrives_before_it_was_sent_shows_a_wrong_clock() {
    let receivers = vec![receiver("here", 0, &[("/a", "3", 1_002_000)], 0)];
    let joined = join(vec![sender("a", &HERE, 4, |_| 0)], receivers).unwrap();
    let warning = "an event arrived 1.00 ms before it was sent";
    assert!(joined.warnings[0].starts_with(warning), "{:?}", joined.warnings);
}

#[test]
fn missing_notes_are_said() {
    let whole = receiver("here", 0, &[("/a", "3", 1_003_500)], 2);
    let joined = join(vec![sender("a", &HERE, 4, |_| 0)], vec![whole]).unwrap();
    assert!(!joined.complete);
    assert_eq!(joined.events.unnoted, 2);
    assert!(joined.warnings[0].contains("2 events or arrivals found no room"));
    let mut file = Header::new(Some("here".to_owned()), Side::Receiver).line();
    let mut notes = Arrivals::default();
    assert!(notes.note(b"/a", b"3", Instant(1_003_500_000)));
    file.extend(notes.close().bytes);
    file.extend(b"A\xff");
    let joined = join(vec![sender("a", &HERE, 4, |_| 0)], vec![read_receiver(&file)]).unwrap();
    assert_eq!((joined.complete, joined.events.delivered), (false, 1));
    assert!(joined.warnings[0].starts_with("r has no end: its program was killed."));
    assert_eq!((joined.receivers[0].unnoted, joined.receivers[0].torn_bytes), (None, 2));
}

#[test]
fn a_source_of_two_senders_is_refused() {
    let twice = vec![sender("a", &HERE, 1, |_| 0), sender("a", &HERE, 1, |_| 0)];
    let error = join(twice, vec![receiver("here", 0, &[], 0)]).unwrap_err();
    assert_eq!(
        error,
        "a has the source /a, which another sender has, too: give the notes of each load once"
    );
}

#[test]
fn a_document_survives_json() {
    let receivers = vec![receiver("there", 0, &[("/a", "3", 1_003_500)], 0)];
    let joined = join(vec![sender("a", &HERE, 5, |_| 0)], receivers).unwrap();
    let text = serde_json::to_string(&joined).unwrap();
    assert_eq!(serde_json::from_str::<Joined>(&text).unwrap(), joined);
}
