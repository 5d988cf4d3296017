use expect_test::expect;
use measure::Random;

use super::*;

/// Returns a load with these service times and first bytes, each with its number.
fn load(service: &[(f64, u64)], first_byte: &[(f64, u64)]) -> Load {
    let mut load = Load::empty("benchwright");
    load.total.service_time = times(service);
    load.total.first_byte_time = times(first_byte);
    load
}

fn times(ms: &[(f64, u64)]) -> Option<Times> {
    let mut histogram = Histogram::new();
    ms.iter().for_each(|(ms, count)| histogram.record_n(Nanos::from_secs_f64(ms / 1e3), *count));
    Times::of(&histogram)
}

fn group(service: &[(f64, u64)]) -> Group {
    Group {
        completed: 0,
        failed: 0,
        outcomes: Default::default(),
        reasons: Default::default(),
        ok_statuses: Default::default(),
        response_time: None,
        service_time: times(service),
    }
}

fn findings(load: &Load) -> Vec<String> {
    habits(load).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_flat_band_at_40_ms_after_early_first_bytes_is_a_delayed_acknowledgement() {
    let stalled = load(&[(0.8, 9_800), (41.2, 120), (43.9, 80)], &[(0.7, 10_000)]);
    expect!["a delayed acknowledgement, not slow code: 200 of 10,000 requests took 40 ms and a little, hardly any 5 to 38 ms, and their first bytes came before: the server writes head and body apart and does not set TCP_NODELAY, so the second segment waits until Linux acknowledges the first, after 40 ms; set TCP_NODELAY in the server, or write each response at once"]
        .assert_eq(&findings(&stalled).join("\n"));
    // Each response of a connection, after the first few.
    assert_eq!(findings(&load(&[(0.8, 30), (44.0, 970)], &[(0.7, 1_000)])).len(), 1);
    // A few that took longer for another reason.
    assert_eq!(findings(&load(&[(0.8, 30), (44.0, 970), (300.0, 9)], &[(0.7, 1_000)])).len(), 1);
}

#[test]
fn a_slow_service_is_not_taken_for_a_delayed_acknowledgement() {
    let fast = &[(0.7, 10_000)][..];
    // A service that works for 42 ms, and begins to answer then.
    assert!(findings(&load(&[(42.0, 1_000)], &[(41.9, 1_000)])).is_empty());
    // One that begins at once, and takes 40 ms with the usual spread.
    let mut random = Random::new(1);
    let spread: Vec<(f64, u64)> = (0..2_000).map(|_| (40.0 + 5.0 * random.normal(), 1)).collect();
    assert!(findings(&load(&spread, fast)).is_empty());
    // Exponential times, of which some are in the band.
    let exponential: Vec<(f64, u64)> = (0..10_000).map(|_| (random.exponential(12.0), 1)).collect();
    assert!(findings(&load(&exponential, fast)).is_empty());
    // A service whose slowest answers are beyond the band, too.
    assert!(findings(&load(&[(0.8, 9_000), (42.0, 100), (80.0, 100)], fast)).is_empty());
    // Too few to say anything.
    assert!(findings(&load(&[(0.8, 9_981), (42.0, 19)], fast)).is_empty());
    assert!(findings(&load(&[(0.8, 9_960), (42.0, 40)], fast)).is_empty());
    // Nothing is known of the first bytes.
    assert!(findings(&load(&[(0.8, 9_000), (42.0, 1_000)], &[])).is_empty());
}

#[test]
fn the_requests_that_wait_are_named_where_others_hide_them() {
    let mut load = load(&[(0.8, 500), (20.0, 5_000), (42.0, 500)], &[(0.7, 1_000), (19.0, 5_000)]);
    assert!(findings(&load).is_empty());
    let labels = [("search", group(&[(20.0, 5_000)])), ("post", group(&[(0.8, 500), (42.0, 500)]))];
    load.labels = labels.map(|(name, group)| (name.to_owned(), group)).into();
    let found = findings(&load).join("\n");
    assert!(found.contains("500 of 1,000 requests with the label `post` took 40 ms"), "{found}");
}

#[test]
fn a_target_that_ends_the_connection_with_each_response_is_named() {
    let unasked = std::cell::Cell::new(None);
    let closing = |reconnects: u64, completed: u64, failed: u64| {
        let mut load = Load::empty("benchwright");
        load.connections = Some(crate::load::Connections {
            asked: 1,
            reached: 1,
            unasked: unasked.get(),
            ..crate::load::Connections::default()
        });
        let counts = &mut load.total.counts;
        (counts.reconnects, counts.completed_inside, counts.failed) =
            (reconnects, completed, failed);
        load.total.connect_time = times(&[(0.1, completed)]);
        findings(&load)
    };
    expect!["the target ends the connection with each response (9,990 connections for 10,000 responses): HTTP/1.0, or `Connection: close`. A new connection takes a round trip more (100 µs in the median), a local port, and CPU on both sides; let the server keep connections alive, unless its users do come with a connection each"]
        .assert_eq(&closing(9_990, 10_000, 0).join("\n"));
    assert!(closing(0, 10_000, 0).is_empty(), "it keeps them alive");
    assert!(closing(100, 10_000, 0).is_empty(), "after a hundred requests, as nginx did");
    assert!(closing(9_990, 10_000, 9_900).is_empty(), "they were lost with their requests");
    assert!(closing(10, 10, 0).is_empty(), "so few say nothing");
    assert!(closing(0, 0, 0).is_empty());
    unasked.set(Some(9_990));
    assert!(closing(9_990, 10_000, 0).is_empty(), "they were closed by the generator");
}

/// A bad answer ends no connection, and a lost request takes its own along.
#[test]
fn a_target_that_ends_each_connection_is_named_although_its_answers_are_failures() {
    let closing = |outcome: &str| {
        let mut load = Load::empty("benchwright");
        let counts = &mut load.total.counts;
        (counts.reconnects, counts.completed_inside, counts.failed) = (10_000, 10_000, 4_000);
        load.total.outcomes = [(outcome.to_owned(), 4_000)].into();
        findings(&load).len()
    };
    assert_eq!((closing("status"), closing("reset")), (1, 0));
}

#[test]
fn a_target_that_closes_without_a_word_has_one_remedy_whatever_was_lost() {
    let mut load = Load::empty("benchwright");
    let counts = &mut load.total.counts;
    (counts.reconnects, counts.completed_inside, counts.failed) = (9_990, 10_000, 100);
    load.connections =
        Some(crate::load::Connections { closed_silently: Some(5_040), ..Default::default() });
    let [(habit, text)] = &habits(&load)[..] else { panic!("{:?}", habits(&load)) };
    expect!["the target closes the connection after each response without announcing it (5,040 times): requests that are sent before the close arrives end as `reset`; use --keep-alive 1, or let the target respond with `Connection: close`"]
        .assert_eq(text);
    let (_, remedy) = habit.in_words();
    assert!(remedy.starts_with("use load.keep_alive 1, or"), "{remedy}");
}

#[test]
fn responses_that_are_mostly_redirects_say_where_to_measure() {
    let load = |statuses: &[(&str, u64)]| {
        let mut load = Load::empty("benchwright");
        load.total.statuses =
            statuses.iter().map(|(status, count)| ((*status).to_owned(), *count)).collect();
        load
    };
    expect!["389 of 389 responses are a redirect (302), which is not followed; name the URL that it leads to, if that is meant; `redirects` of a request in a mix follows it"]
        .assert_eq(&findings(&load(&[("302", 389)])).join("\n"));
    let some = findings(&load(&[("200", 49), ("301", 30), ("304", 1), ("308", 21)])).join("\n");
    assert!(some.starts_with("51 of 101 responses are a redirect (301, 308), which"), "{some}");
    assert!(findings(&load(&[("200", 50), ("302", 50)])).is_empty());
    assert!(findings(&load(&[("304", 100)])).is_empty(), "the answer is the one that is known");
    // A mix that follows them ends with another response.
    let mut followed = load(&[("200", 100), ("302", 300)]);
    let ok_statuses = [("200".to_owned(), 100)].into();
    followed.labels.insert("items".to_owned(), Group { ok_statuses, ..group(&[]) });
    assert!(findings(&followed).is_empty());
}
