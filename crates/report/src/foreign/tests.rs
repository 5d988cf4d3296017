use measure::Histogram;
use results::Times;
use results::foreign::{Code, Limit, Quantiles, SCHEMA};
use results::printed::Percentile;

use super::*;
use crate::tests::{HOSTILE, words};

fn file(name: &str, times: Option<Distribution>) -> Foreign {
    let facts = Facts {
        since: Some(Since::Sent),
        pacing: Some(Loop::Closed),
        requests: Some(12_000),
        failed: Some(24),
        statuses: [("503".to_owned(), 24)].into(),
        times,
        ..Facts::default()
    };
    let limit = |text: &str| Limit { code: Code::ClosedLoop, text: text.to_owned() };
    Foreign {
        schema: SCHEMA.to_owned(),
        file: name.to_owned(),
        format: "hey".to_owned(),
        tool: "hey".to_owned(),
        facts,
        supports: vec!["service times".to_owned()],
        limits: vec![limit("a closed loop"), limit(&format!("only of {name}"))],
    }
}

fn measured() -> Distribution {
    let mut histogram = Histogram::new();
    (1..=12_000).for_each(|us| histogram.record(Nanos::from_micros(us)));
    Distribution::Histogram(Box::new(Times::of(&histogram).unwrap()))
}

fn printed(count: Option<u64>) -> Distribution {
    let percentile = |level, ms| Percentile { level, time_ns: Nanos::from_millis(ms).0 };
    let percentiles = vec![percentile(0.5, 7), percentile(0.99, 19), percentile(0.999, 31)];
    Distribution::Quantiles(Quantiles { count, percentiles, ..Quantiles::default() })
}

#[test]
fn figures_stand_beside_each_other_and_what_is_not_known_is_a_dash() {
    let files =
        [file("a.csv", Some(measured())), file("b.txt", Some(printed(Some(500)))), file("c", None)];
    let page = render(&files);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    let words = words(&page);
    for text in [
        "3 files",
        "✓ service times",
        "! a closed loop",
        "b.txt: ✓ 0 supported, ! 1 not",
        "! only of b.txt",
        "12,000",
        "7.00 ms",
    ] {
        assert!(words.contains(text), "{text} is not in {words}");
    }
    assert!(words.contains("Before you share this page: it contains the names of the files"));
    assert_eq!(words.matches("a closed loop").count(), 1, "what is true of all is said once");
    assert!(words.contains("0 beyond"), "a percentile of 500 requests is weak: {words}");
    // A curve for each file with times, and none for the third.
    assert!(page.contains("</svg>a.csv</span></li>") && page.contains("</svg>b.txt</span></li>"));
    assert!(
        !page.contains("</svg>c</span></li>") && !page.contains("=\"NaN") && !page.contains(">NaN")
    );
}

#[test]
fn a_file_without_a_number_of_requests_is_drawn_as_far_as_it_goes() {
    let page = render(&[file("a.hgrm", Some(printed(None)))]);
    assert!(page.contains("<title>a.hgrm · benchwright</title>") && page.contains("<figure "));
    let nothing = render(&[file("a", None)]);
    assert!(nothing.contains("No file has times to draw."));
}

#[test]
fn foreign_text_stays_text() {
    let mut hostile = file(HOSTILE, Some(printed(Some(5_000))));
    hostile.tool = HOSTILE.to_owned();
    hostile.supports = vec![HOSTILE.to_owned()];
    hostile.limits[0].text = HOSTILE.to_owned();
    hostile.facts.statuses.insert(HOSTILE.to_owned(), 1);
    for files in [vec![hostile.clone()], vec![hostile, file("a", None)]] {
        let page = render(&files);
        assert_eq!(page.matches("<script").count(), 1);
        assert!(
            !page.contains("<img") && !page.contains("onload='x'") && !page.contains('\u{202e}')
        );
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn failures_come_before_what_is_supported() {
    let mut failing = file("a.txt", Some(printed(Some(5_000))));
    failing.facts.failed = Some(2_000);
    failing.limits.push(Limit { code: Code::Failing, text: "2,000 of 12,000 failed".to_owned() });
    let words = words(&render(&[failing.clone()]));
    let place = |text: &str| words.find(text).unwrap_or_else(|| panic!("{text} is not in {words}"));
    assert!(place("✗ Requests failed") < place("✗ 2,000 of 12,000 failed"));
    assert!(place("✗ 2,000 of 12,000 failed") < place("✓ service times"));
    assert!(place("✓ service times") < place("! a closed loop"));
}

#[test]
fn the_labels_of_files_stand_beside_each_other() {
    let labelled = |name: &str, ms: u64, count| {
        let percentiles = vec![Percentile { level: 0.99, time_ns: Nanos::from_millis(ms).0 }];
        let times =
            Distribution::Quantiles(Quantiles { count, percentiles, ..Quantiles::default() });
        let of = OfLabel { requests: count, failed: None, times: Some(times) };
        let mut file = file(name, None);
        file.facts.labels = [("login".to_owned(), of.clone()), (HOSTILE.to_owned(), of)].into();
        file
    };
    let page = render(&[labelled("a", 20, Some(5_000)), labelled("b", 47, None)]);
    let words = words(&page).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("Labels label file p50 p90 p95 p99 requests failed"), "{words}");
    assert!(words.contains("login a – – – 20.0 ms 5,000 – login b – – – 47.0 ms – –"), "{words}");
    assert!(!page.contains(HOSTILE));
    // One label says what the file as a whole says.
    let mut one = labelled("a", 20, None);
    one.facts.labels.remove("login");
    assert!(!render(&[one]).contains("<h2>Labels</h2>"));
}
