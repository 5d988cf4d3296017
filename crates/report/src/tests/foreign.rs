//! The trials of other load generators.

use results::load::{GateName, Load, Pacing, Part, Unknown};
use results::printed::{Percentile, Printed, Since};

use super::*;
use crate::fixture::measured;

/// The document of wrk for what our generator measured.
fn as_of_wrk(load: Load) -> Load {
    let times = load.total.response_time.as_ref().unwrap();
    let printed = Printed {
        since: Since::Sent,
        count: times.count - 3,
        missing: 3,
        timeout_ns: Some(2_000_000_000),
        mean_ns: Some(times.mean_ns),
        max_ns: Some(times.max_ns),
        percentiles: vec![
            Percentile { level: 0.5, time_ns: times.p50_ns },
            Percentile { level: 0.99, time_ns: times.p99_ns },
        ],
    };
    let Part { counts, rates_per_s, outcomes, .. } = load.total;
    let total = Part { counts, rates_per_s, outcomes, printed: Some(printed), ..Part::default() };
    let mut made = Load {
        foreign: Some("wrk".to_owned()),
        arguments: ["wrk", "-c8", "http://127.0.0.1:40113/"].map(str::to_owned).to_vec(),
        pacing: Pacing::Closed { think_ns: 0 },
        measured_s: load.measured_s,
        total,
        findings: vec!["3 answers took longer than 2 s and are missing".to_owned()],
        ..Load::empty("wrk")
    };
    let unknown = |name| Unknown { name, why: "wrk is silent".to_owned() };
    made.validity.unknown =
        [GateName::Late, GateName::Lost, GateName::Disturbed].map(unknown).to_vec();
    made
}

/// A run of one trial of ours and two of wrk.
fn fixture() -> Fixture {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    fixture.push(3_000.0, |_| {});
    for number in 2..4 {
        fixture.push(3_000.0, |entry| {
            entry.findings = vec!["3 answers took longer than 2 s and are missing".to_owned()];
            let observed = entry.observed.as_mut().unwrap();
            observed.generator = Some("wrk".to_owned());
            (observed.lateness_p99_ns, observed.hiccup_p99_ns) = (None, None);
            (observed.p90_ns, observed.p999_ns, observed.bytes_per_answer) = (None, None, None);
        });
        let document = serde_json::to_vec(&as_of_wrk(measured(number, 3_000.0))).unwrap();
        let path = fixture.directory.trial_path(number as u32).join("load.json");
        fs::write(path, document).unwrap();
    }
    fixture.directory.write_answer(&fixture.answer(Verdict::Answered)).unwrap();
    fixture
}

#[test]
fn what_another_generator_does_not_know_is_unknown_and_never_zero_or_passed() {
    let words = words(&page(&fixture()));
    assert!(
        words.contains("! unknown with wrk: late, lost, disturbed (trials 2 and 3)"),
        "{words}"
    );
    assert!(words.contains("✓ not late: 1 trial"), "ours alone passed its gates: {words}");
    assert_eq!(words.matches("? unknown").count(), 6, "the table of gates");
    assert_eq!(words.matches("service, as printed").count(), 2, "the table of percentiles");
    assert!(words.contains("finding: 3 answers took longer than 2 s and are missing"), "{words}");
}

#[test]
fn the_page_of_one_foreign_load_shows_what_was_printed() {
    let words = words(&crate::load::render(&as_of_wrk(measured(1, 3_000.0))));
    assert!(words.contains("✓ Valid as far as it is known"), "{words}");
    assert!(words.contains("As printed, each from its sending."), "{words}");
    assert!(words.contains("wrk -c8 http://127.0.0.1:40113/"), "{words}");
    assert!(!words.contains("bytes received"), "{words}");
}
