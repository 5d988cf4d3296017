use std::collections::BTreeMap;
use std::fs;

use measure::quantity::grouped;
use results::load::{Connections, Group, Operations, Pacing, Segment, Target};
use results::sessions::{Arrivals, Broken, Sessions};
use results::{Little, Load, Times, slo, verdict};

use super::render;
use crate::fixture;
use crate::tests::{HOSTILE, words};
use crate::text::time;

/// An open loop on two targets, with labels, segments, statuses and an SLO.
fn whole() -> Load {
    let mut load = fixture::measured(7, 2_400.0);
    let words = "load http://127.0.0.1:40113/ --rate 2.4k/s --header 'A: b'";
    load.arguments = words.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
    load.connections = Some(Connections { asked: 64, reached: 64, ..Connections::default() });
    load.total.lateness = load.total.service_time.clone();
    load.total.backlog_delay = load.total.service_time.clone();
    load.total.statuses.insert("503".into(), 12);
    load.total.outcomes.insert("status".into(), 12);
    load.total.reasons.insert("malformed: two lengths".into(), 3);
    load.targets.push(Target {
        url: "http://[::1]:8081/x".into(),
        path: None,
        part: load.total.clone(),
    });
    load.targets[1].part.counts.failed = 4_321;
    let group = Group {
        completed: 7_123,
        failed: 4,
        outcomes: BTreeMap::from([("ok".into(), 7_119)]),
        reasons: BTreeMap::new(),
        ok_statuses: BTreeMap::new(),
        response_time: load.total.response_time.clone(),
        service_time: load.total.service_time.clone(),
    };
    load.labels = BTreeMap::from([("search".into(), group.clone())]);
    load.segments = [(0.0, 2.0), (2.0, 5.0)]
        .map(|(begin_s, end_s)| Segment {
            name: format!("hold {begin_s}"),
            begin_s,
            end_s,
            group: group.clone(),
        })
        .into();
    load.generator.busy_share = Some(0.31);
    load.generator.receive_delay = load.total.service_time.clone();
    load.generator.segments_retransmitted = Some(8_765);
    load.series.iter_mut().for_each(|interval| interval.run_queue_wait = Some(0.02));
    load.findings =
        vec!["unfinished 12 of 12,000 requests: no response when the load ended".into()];
    load.slo = verdict::judge(&slo::read("p99<=10ms,failures<=0.1%").unwrap(), &load.total);
    load
}

fn all_times(times: &Times) -> [u64; 11] {
    let t = times;
    [
        t.mean_ns,
        t.min_ns,
        t.p50_ns,
        t.p75_ns,
        t.p90_ns,
        t.p95_ns,
        t.p99_ns,
        t.p999_ns,
        t.p9999_ns,
        t.p99999_ns,
        t.max_ns,
    ]
}

#[test]
fn a_sample_page_is_written_on_request() {
    let page = render(&whole());
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.len() <= 120_000, "{} bytes", page.len());
    let contents = "Before you share this page: it contains the command with its arguments as they were written";
    assert!(words(&page).contains(contents), "{page}");
    if let Some(wanted) = std::env::var_os("REPORT_SAMPLE_LOAD") {
        fs::write(wanted, page).unwrap();
    }
}

#[test]
fn the_gates_come_first_then_the_headline_then_the_curves_and_the_tables() {
    let words = words(&render(&whole()));
    let order = [
        "http://127.0.0.1:40113/ and 1 more target",
        "Open loop: 2,400/s by the clock, poisson arrivals, for 5.0 s on 64 connections.",
        "✓ Valid, and the SLO is met",
        "✓ late  lateness p99 52 µs, bound 490 µs",
        "Completed rate",
        "Response time",
        "found  unfinished 12 of 12,000 requests: no response when the load ended",
        "Times by percentile",
        "By the second",
        "from … to",
        "Every intended request has exactly one outcome.",
        "lateness p99",
        "label ",
        "segment ",
        "Load and generator",
        "benchwright load http://127.0.0.1:40113/ --rate 2.4k/s --header",
    ];
    let mut rest = words.replace('\n', " ");
    for wanted in order {
        let Some(at) = rest.find(wanted) else { panic!("{wanted} is not in order in {rest}") };
        rest = rest.split_off(at + wanted.len());
    }
}

#[test]
fn operations_redirects_and_batches_are_in_the_page_where_there_are_any() {
    let mut load = whole();
    let page = words(&render(&load));
    assert!(
        !page.contains("operations") && !page.contains("batch") && !page.contains("redirected")
    );
    load.total.operations = Some(Operations {
        count: 2_000_000,
        completed_per_s: 380_000.0,
        outcomes: [("ok".to_owned(), 1_500_000), ("status".to_owned(), 500_000)].into(),
    });
    load.total.redirected = Some(77);
    load.total.batch_delay = load.total.service_time.clone();
    load.total.setup_time = load.total.service_time.clone();
    let page = words(&render(&load));
    for text in [
        "380,000/s completed",
        "77 requests sent elsewhere",
        "batch delay",
        "protocol’s handshake",
        "1,500,000",
        "25 %",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn operations_by_the_second_have_a_panel_a_column_and_their_rate_where_there_are_any() {
    let mut load = whole();
    let by_the_second = |load: &Load| {
        let page = render(load);
        let figure = page.split("<figure id=\"seconds\"").nth(1).unwrap();
        figure.split("</figure>").next().unwrap().to_owned()
    };
    let figure = by_the_second(&load);
    assert!(!figure.contains("operations"), "{figure}");
    let panels = |figure: &str| figure.matches("class=\"panel\"").count();
    let without = panels(&figure);
    for (interval, operations) in load.series.iter_mut().zip((380_123..).step_by(1_111)) {
        interval.operations = Some(operations);
    }
    // An interval of a merged load may be one of a part without operations.
    load.series[1].operations = None;
    let outcomes = [("ok".to_owned(), 1_900_000)].into();
    load.total.operations =
        Some(Operations { count: 1_900_000, completed_per_s: 380_000.0, outcomes });
    let figure = by_the_second(&load);
    assert_eq!(panels(&figure), without + 1);
    for text in [
        "over 5.0 s, with 380,000 operations/s; p99 ",
        "aria-label=\"operations by the second\"",
        "operations per second",
        "</svg>operations</span></li>",
        ">operations /s<",
        ">380,123<",
        ">382,345<",
    ] {
        assert!(figure.contains(text), "{text} is not in {figure}");
    }
    assert!(!figure.contains(">381,234<"), "{figure}");
}

/// Of 64 connections a part of the load has 12, and each target its own.
#[test]
fn connections_say_why_they_are_not_as_many_as_were_asked_for() {
    let mut load = whole();
    load.connections = Some(Connections { asked: 12, reached: 12, ..Connections::default() });
    let shown = |load: &Load| words(&render(load));
    let page = shown(&load);
    assert!(page.contains(" 12 of 12 reached; 6 for each target "), "{page}");
    load.part = Some("2/5".to_owned());
    let page = shown(&load);
    let text = " 12 of 12 reached; they are the share of part 2/5 of the load ";
    assert!(page.contains(text), "{page}");
    load.part = None;
    load.targets.truncate(1);
    let page = shown(&load);
    assert!(page.contains(" 12 of 12 reached "), "{page}");
}

#[test]
fn every_figure_of_the_document_is_in_the_page() {
    let load = whole();
    let words = words(&render(&load));
    let has = |text: &str| assert!(words.contains(&format!(" {text} ")), "{text}");
    let total = &load.total;
    for times in [&total.response_time, &total.service_time] {
        all_times(times.as_ref().unwrap()).iter().for_each(|ns| has(&time(*ns)));
    }
    let rates = &total.rates_per_s;
    [rates.offered, rates.completed, rates.goodput].iter().for_each(|rate| has(&grouped(*rate)));
    has(&Little::of(&load).unwrap().in_words());
    for text in [
        "4,321",
        "8,765",
        "in the kernel … read",
        "503",
        "malformed: two lengths",
        "7,123",
        "search",
        "hold 2",
        "0.0 s",
        "2.0 s",
    ] {
        has(text);
    }
    for interval in &load.series {
        has(&time(interval.p99_ns.unwrap()));
        has(&time(interval.lateness_p99_ns.unwrap()));
    }
    has("31 %");
}

#[test]
fn every_figure_has_a_summary_a_legend_and_a_table() {
    let page = render(&whole());
    let figures: Vec<&str> = page.split("<figure ").skip(1).collect();
    assert_eq!(figures.len(), 3);
    for figure in &figures {
        assert!(figure.contains("role=\"img\" aria-label=\"") && figure.contains("<details"));
        assert!(5 <= figure.matches("<tr data-x=").count());
        assert!(!figure.contains("NaN"));
    }
    for name in ["response time", "service time", "backlog delay", "lateness"] {
        assert!(figures[0].contains(&format!("</svg>{name}</span></li>")), "{name}");
    }
    for name in [
        "offered",
        "completed",
        "failed",
        "p50",
        "p99",
        "busy",
        "waiting for a CPU",
        "lateness p99",
    ] {
        assert!(figures[2].contains(&format!("</svg>{name}</span></li>")), "{name}");
    }
    let rules = figures[2].matches("class=\"rule\"").count();
    assert_eq!(rules, 5, "the second segment begins in each of five panels");
    assert!(figures[0].contains("SLO: p99 ≤ 10 ms"));
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = render(&whole());
    for reference in ["src=", "href=", "url(", "@import", "<link", "<iframe", "fetch(", "import("] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn foreign_text_stays_text_wherever_it_comes_from() {
    let mut load = whole();
    let hostile = || HOSTILE.to_owned();
    load.version = hostile();
    load.arguments = vec![hostile()];
    load.compatibility = Some(hostile());
    load.pacing = Pacing::Open { arrivals: hostile() };
    load.targets[0].url = hostile();
    load.targets[1].part.outcomes.insert(hostile(), 1);
    load.total.outcomes.insert(hostile(), 1);
    load.total.statuses.insert(hostile(), 1);
    load.total.reasons.insert(hostile(), 1);
    let group = load.labels["search"].clone();
    load.labels.insert(hostile(), group);
    load.segments[0].name = hostile();
    load.generator.io = Some(hostile());
    load.generator.timer = Some(hostile());
    load.validity.gates[0].figure = hostile();
    load.validity.reasons = vec![hostile()];
    load.findings = vec![hostile()];
    load.warnings = vec![hostile()];
    load.slo.as_mut().unwrap().objectives[0].text = hostile();
    let page = render(&load);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img") && !page.contains("onload='x'"));
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    assert!(20 <= page.matches("&lt;script&gt;alert(1)").count());
}

#[test]
fn an_invalid_or_partial_load_is_marked_before_any_figure() {
    let mut load = whole();
    load.validity.valid = false;
    load.validity.gates[0].passed = false;
    load.validity.reasons = vec!["generator late: free the core".into()];
    let invalid = words(&render(&load));
    assert!(invalid.contains("! Not valid"));
    let reason = invalid.find("✗ generator late: free the core").unwrap();
    assert!(invalid.find("✗ late").unwrap() < reason);
    assert!(reason < invalid.find("Completed rate").unwrap());

    load.partial = true;
    assert!(words(&render(&load)).contains("‖ Interrupted"));
}

#[test]
fn failures_come_before_the_gates_and_no_green_word_stands_over_them() {
    let mut load = whole();
    load.labels.clear();
    load.targets.truncate(1);
    let fail = |load: &mut Load, failed: u64| {
        let part = &mut load.total;
        let all = part.counts.intended;
        (part.counts.ok, part.counts.failed) = (all - failed, failed);
        part.outcomes = [("ok".into(), all - failed), ("status".into(), failed)].into();
        part.reasons = [("status: 429".into(), failed)].into();
        part.failed_response_time = part.response_time.clone();
        load.targets[0].path = Some("/fast/".into());
        load.targets[0].part = part.clone();
    };
    fail(&mut load, 1_800);
    let word = |load: &Load| {
        let page = render(load);
        let section = page.split("<section class=\"verdict ").nth(1).unwrap();
        section.split("</h2>").next().unwrap().replace("\">\n<h2>", ": ")
    };
    // The objective on the p99 was met.
    assert_eq!(word(&load), "open: ! Valid measurement of a failing service, and the SLO is met");
    load.slo = None;
    assert_eq!(word(&load), "bad: ✗ Valid measurement of a failing service");
    let page = words(&render(&load));
    let first = page.find("✗ 429 for 1,800 of 12,000 requests to /fast/").unwrap();
    assert!(first < page.find("✓ late").unwrap());
    load.validity.valid = false;
    assert_eq!(word(&load), "bad: ✗ Failing service, and not valid");
    fail(&mut load, 11_000);
    let page = words(&render(&load));
    assert!(page.contains("! mostly times of failures: "), "{page}");
    assert!(page.contains("1,000 of 12,000 requests succeeded, fewer than half"), "{page}");
}

#[test]
fn waits_without_a_response_and_early_closes_are_called_so() {
    let mut load = whole();
    load.total.unfinished_response_time = load.total.response_time.clone();
    load.total.outcomes.insert("reset".into(), 7);
    load.total.reasons.insert("reset: half".into(), 7);
    load.targets[0].part.outcomes = [("reset".into(), 7)].into();
    let page = words(&render(&load));
    assert!(
        page.contains("! mostly waits without a response: 12,000 of 12,000 requests"),
        "{page}"
    );
    assert!(page.contains("The response times are mostly waits without a response: "), "{page}");
    assert!(page.contains("cut off: half") && page.contains("cut off 7"), "{page}");
    assert!(!page.contains("reset"), "{page}");
}

#[test]
fn a_load_that_is_not_valid_says_why_its_slo_is_met_even_so() {
    let mut load = whole();
    load.total.response_time_less_lateness = load.total.response_time.clone();
    load.slo = verdict::judge(&slo::read("p99<=10s").unwrap(), &load.total);
    let even_so = "But lateness can only make responses slower, so the SLO is met even so.";
    assert!(!words(&render(&load)).contains(even_so));
    load.validity.valid = false;
    load.validity.gates[0].passed = false;
    load.validity.reasons = vec!["generator late: free the core".into()];
    assert!(words(&render(&load)).contains(even_so), "{}", words(&render(&load)));
}

#[test]
fn a_p99_that_is_due_to_the_generator_is_an_upper_bound() {
    let mut load = whole();
    let p99 = format!("at most  {}  p99", time(load.total.response_time.as_ref().unwrap().p99_ns));
    assert!(!words(&render(&load)).contains(&p99));
    load.generator.p99_at_most = true;
    assert!(words(&render(&load)).contains(&p99), "{p99}");
}

#[test]
fn an_original_is_run_again_with_its_compatibility_mode_and_seed() {
    let mut load = whole();
    load.compatibility = Some("dsb".into());
    load.arguments = ["-t2", "-R", "100", "http://127.0.0.1:80/"].map(str::to_owned).into();
    let page = words(&render(&load));
    assert!(
        page.contains(
            "benchwright wrk2 --compatibility dsb --seed 7 -t2 -R 100 http://127.0.0.1:80/"
        )
    );
}

#[test]
fn a_load_without_answers_has_a_page() {
    let mut load = whole();
    (load.total.response_time, load.total.service_time) = (None, None);
    (load.total.lateness, load.total.backlog_delay) = (None, None);
    (load.series, load.targets, load.generator) = (Vec::new(), Vec::new(), Default::default());
    load.total.rates_per_s = Default::default();
    load.pacing = Pacing::Closed { think_ns: 0 };
    let page = words(&render(&load));
    assert!(page.contains("A load without targets") && page.contains("There was no response."));
    assert!(page.contains("Closed loop: each response brings the next request, for 5.0 s"));
}

#[test]
fn equal_documents_have_equal_pages() {
    assert_eq!(render(&whole()), render(&whole()));
}

#[test]
fn several_labels_have_a_panel_each_and_sessions_a_table() {
    let mut load = whole();
    assert!(!render(&load).contains("Response time by label"), "one label has nothing beside it");
    let group = load.labels["search"].clone();
    load.labels.insert("log <in>".into(), group);
    load.arrivals = Some(Arrivals::Sessions);
    load.total.rates_per_s.asked = None;
    load.total.sessions = Some(Sessions {
        asked_per_s: Some(20.0),
        started: 204,
        completed: 200,
        unfinished: 1,
        requests: 600,
        succeeded_per_s: None,
        broken: vec![Broken {
            at: Some("log <in>".into()),
            outcome: "capture".into(),
            reason: Some("token from json:/token: not in the response".into()),
            sessions: 3,
        }],
        time: load.total.response_time.clone(),
    });
    let page = render(&load);
    let text = words(&page);
    for expected in [
        "Response time by label",
        "All panels have the same axes.",
        "Open loop: sessions begin by the clock, 20.0/s of them",
        "token from json:/token: not in the response",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    assert!(page.contains("log &lt;in&gt;") && !page.contains("log <in>"));
}
