use std::collections::BTreeMap;

use expect_test::expect;
use measure::Histogram;
use results::Events;
use results::joined::{Clock, File};

use super::*;

fn times(ms: std::ops::RangeInclusive<u64>) -> Option<Times> {
    let mut histogram = Histogram::default();
    ms.for_each(|ms| histogram.record(Nanos::from_millis(ms)));
    Times::of(&histogram)
}

fn joined() -> Joined {
    let file = |name: &str, noted| File {
        file: name.to_owned(),
        sources: vec!["/a".to_owned()],
        noted,
        unnoted: Some(0),
        torn_bytes: 0,
    };
    let events = Events {
        source: "/a".to_owned(),
        sent: 1000,
        accepted: 990,
        refused: 10,
        delivered: 991,
        lost: 0,
        duplicated: 3,
        duplicates: 4,
        reordered: 2,
        delivered_though_refused: 1,
        unknown: 5,
        publish_time: times(1..=1000),
        publish_time_since_sent: times(1..=900),
        delivery_time: times(2..=1001),
        ..Events::default()
    };
    let outcomes = [("accepted", 990), ("status", 7), ("timeout", 3)];
    Joined {
        schema: "benchwright.join/2".to_owned(),
        senders: vec![file("s.notes", 1000)],
        receivers: vec![file("r.notes", 500), file("q.notes", 500)],
        events,
        outcomes: BTreeMap::from(outcomes.map(|(name, count)| (name.to_owned(), count))),
        clocks: vec![Clock { clock: Some("b".to_owned()), ahead_ns: Some(0), error_ns: Some(0) }],
        clock_error_ns: Some(0),
        delivery_by_clocks: None,
        delivery_since_sent_by_clocks: None,
        complete: true,
        findings: vec!["3 of 1000 events arrived more than once".to_owned()],
        warnings: Vec::new(),
    }
}

#[test]
fn a_join_fits_on_a_screen() {
    expect![[r#"
        1 sender · 2 receivers · one clock
        events: 990 accepted · 10 refused · 991 delivered · 0 lost · 3 duplicated
          2 reordered
        refused: 7 status, 3 timeout
        5 arrivals of other events

                          p50        p90        p99      p99.9     p99.99        max
        publish        500 ms     900 ms     990 ms   (999 ms)   (1.00 s)     1.00 s
         sent          450 ms     810 ms   (891 ms)   (900 ms)   (900 ms)     900 ms
        delivery       501 ms     901 ms     991 ms   (1.00 s)   (1.00 s)     1.00 s
        publish: from the intended start to acceptance · sent: the same from sending on
          delivery: from the intended start to the first arrival
          (…): fewer than 10 beyond it

        found: 3 of 1000 events arrived more than once
        all notes are complete
    "#]]
    .assert_eq(&of(&joined()));
}

/// A tenth of the events was lost, after a wait of 901 ms or more.
#[test]
fn a_percentile_among_lost_events_is_a_lower_bound() {
    let mut joined = joined();
    (joined.events.delivered, joined.events.lost) = (891, 100);
    joined.events.lost_time_at_least = times(902..=1001);
    let text = of(&joined);
    let line = text.lines().find(|line| line.starts_with("delivery")).unwrap();
    let figures = "501 ms     901 ms   ≥ 991 ms  ≥ (1.00 s)  ≥ (1.00 s)   ≥ 1.00 s";
    assert!(line.contains(figures), "{line}");
}

#[test]
fn what_two_clocks_do_not_support_is_a_dash_with_its_reason() {
    let mut joined = joined();
    joined.events.delivery_time = None;
    joined.clock_error_ns = Some(20_000_000);
    joined.delivery_by_clocks = Some(ByClocks {
        count: 991,
        p50_ns: Some(500_000_000),
        p90_ns: None,
        p99_ns: None,
        p999_ns: None,
        p9999_ns: None,
        max_ns: None,
        at_least_from_ns: None,
        refused: Some("no p90, p99: they are too short".to_owned()),
    });
    joined.complete = false;
    joined.warnings = vec!["r.notes has no end".to_owned()];
    expect![[r#"
        1 sender · 2 receivers · clocks compared to ± 20.0 ms
        events: 990 accepted · 10 refused · 991 delivered · 0 lost · 3 duplicated
          2 reordered
        refused: 7 status, 3 timeout
        5 arrivals of other events

                          p50        p90        p99      p99.9     p99.99        max
        publish        500 ms     900 ms     990 ms   (999 ms)   (1.00 s)     1.00 s
         sent          450 ms     810 ms   (891 ms)   (900 ms)   (900 ms)     900 ms
        delivery       500 ms          –          –          –          –          –
        publish: from the intended start to acceptance · sent: the same from sending on
          delivery: from the intended start to the first arrival
          (…): fewer than 10 beyond it

        delivery: no p90, p99: they are too short
        found: 3 of 1000 events arrived more than once
        warning: r.notes has no end
        notes are missing, so the counts are wrong
    "#]]
    .assert_eq(&of(&joined));
}
