use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use measure::Histogram;
use results::load::{Gate, GateName, Group, Pacing, Target};
use results::sessions::{Broken, Sessions};

use super::*;

/// Returns a load of 20,000 requests in 10 s on two targets; one request in a hundred took 20 ms.
fn load() -> Load {
    let times = |fast, slow| {
        let mut histogram = Histogram::new();
        histogram.record_n(Nanos(fast), 19_799);
        histogram.record_n(Nanos(slow), 201);
        Times::of(&histogram)
    };
    let mut load = Load {
        pacing: Pacing::Open { arrivals: "poisson".to_owned() },
        measured_s: 10.0,
        ..Load::empty("benchwright")
    };
    load.total.counts.intended = 20_000;
    load.total.counts.bytes_received = 3_000_000;
    let rates = &mut load.total.rates_per_s;
    (rates.asked, rates.offered, rates.completed) = (Some(2_000.0), 2_000.0, 2_000.0);
    load.total.response_time = times(1_050_000, 20_000_000);
    load.total.service_time = times(1_040_000, 19_000_000);
    load.total.lateness = times(1_200, 900_000);
    let of = |url: &str| Target { url: url.to_owned(), path: None, part: load.total.clone() };
    load.targets = vec![of("http://127.0.0.1:8080/"), of("http://127.0.0.1:8081/")];
    load
}

fn check(load: &Load, expected: Expect) {
    expected.assert_eq(&of(load));
}

#[test]
fn one_screen_has_the_rates_the_times_and_the_verdict() {
    check(
        &load(),
        expect![[r#"
            asked 2,000/s · offered 2,000/s · completed 2,000/s · 20,000 requests · 3.00 MB

                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start · service: from sending · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            target                          offered   completed                p99    failed
            http://127.0.0.1:8080/          2,000/s     2,000/s            20.0 ms         0
            http://127.0.0.1:8081/          2,000/s     2,000/s            20.0 ms         0

            valid. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
}

#[test]
fn a_quantile_with_much_lateness_is_an_interval() {
    let mut load = load();
    let mut less = Histogram::new();
    less.record_n(Nanos(1_040_000), 19_799);
    less.record_n(Nanos(900_000), 150);
    less.record_n(Nanos(12_000_000), 51);
    load.total.response_time_less_lateness = Times::of(&less);
    load.targets[0].part.response_time_less_lateness = Times::of(&less);
    check(
        &load,
        expect![[r#"
            asked 2,000/s · offered 2,000/s · completed 2,000/s · 20,000 requests · 3.00 MB

                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
             at least                           1.04 ms    12.0 ms  (12.0 ms)
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start
              at least: without our part: the target's own is between both
              service: from sending · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            target                          offered   completed                p99    failed
            http://127.0.0.1:8080/          2,000/s     2,000/s     1.04 … 20.0 ms         0
            http://127.0.0.1:8081/          2,000/s     2,000/s            20.0 ms         0
            a … b: without and with our lateness; the target's own is between

            valid. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
}

#[test]
fn quantiles_of_an_overloaded_target_are_lower_bounds() {
    let mut load = load();
    load.targets.pop();
    load.ended = Some(Ended::Overloaded);
    load.findings = vec!["overloaded: the backlog reached its bound".to_owned()];
    check(
        &load,
        expect![[r#"
            asked 2,000/s · offered 2,000/s · completed 2,000/s · 20,000 requests · 3.00 MB

                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start, lower bounds
              service: from sending, lower bounds · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            found: overloaded: the backlog reached its bound
            valid. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
}

#[test]
fn failures_come_first_and_a_failing_service_is_not_just_valid() {
    let mut load = load();
    load.targets.pop();
    let failing = |load: &mut Load, status: u64, timeout: u64| {
        let part = &mut load.total;
        (part.counts.ok, part.counts.failed) = (20_000 - status - timeout, status + timeout);
        part.rates_per_s.goodput = part.counts.ok as f64 / 10.0;
        let outcomes = [("ok", part.counts.ok), ("status", status), ("timeout", timeout)];
        part.outcomes = outcomes.map(|(name, count)| (name.to_owned(), count)).into();
        part.reasons = [("status: 404".to_owned(), status)].into();
        part.failed_response_time =
            part.response_time.clone().map(|times| Times { count: status + timeout, ..times });
        load.targets[0].path = Some("/fast/".to_owned());
        load.targets[0].part = part.clone();
    };
    failing(&mut load, 3_000, 20);
    check(
        &load,
        expect![[r#"
            failed: 404 for 3,000 of 20,000 requests to /fast/; timeout for 20 of 20,000 requests to /fast/
            asked 2,000/s · offered 2,000/s · completed 2,000/s · goodput 1,698/s
              20,000 requests · 3.00 MB

                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start · service: from sending · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            fails: 16,980 of 20,000 requests succeeded, and more than 3 % failed; see what was asked and what the service answers, or allow so many by --slo 'failures<=16%'
            look: `curl -v http://127.0.0.1:8080/` shows what the service answers
            valid measurement of a failing service. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
    failing(&mut load, 19_000, 0);
    check(
        &load,
        expect![[r#"
            failed: 404 for 19,000 of 20,000 requests to /fast/
            asked 2,000/s · offered 2,000/s · completed 2,000/s · goodput 100/s
              20,000 requests · 3.00 MB

            mostly times of failures: 19,000 of 20,000 requests failed
                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start · service: from sending · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            fails: 1,000 of 20,000 requests succeeded, fewer than half; see what was asked and what the service answers, or allow so many by --slo 'failures<=95%'
            look: `curl -v http://127.0.0.1:8080/` shows what the service answers
            valid measurement of a failing service. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
    load.arguments =
        ["load", "http://h/", "--mix=a b.jsonl", "--data", "d.csv"].map(str::to_owned).into();
    let look = "look: `benchwright mix check 'a b.jsonl' --data d.csv` shows what is asked\n";
    assert!(of(&load).contains(look), "{}", of(&load));
    load.arguments = ["load", "http://h/", "-mPOST"].map(str::to_owned).into();
    assert!(!of(&load).contains("look: "), "another request: {}", of(&load));
    let slo = "failures<=99%".parse().unwrap();
    load.slo = results::verdict::judge(&[slo], &load.total);
    assert!(!of(&load).contains("fails:"), "the objective decides: {}", of(&load));
}

/// Neither the loop nor a late generator changes what a service answers.
#[test]
fn a_failing_service_has_one_exit_code() {
    let exit_of = |failed: u64, pacing: Pacing, gates: &[GateName]| {
        let mut load = load();
        load.targets.pop();
        (load.pacing, load.validity.valid) = (pacing, gates.is_empty());
        let part = &mut load.total;
        (part.counts.ok, part.counts.failed) = (20_000 - failed, failed);
        part.outcomes = [("ok".to_owned(), 20_000 - failed), ("status".to_owned(), failed)].into();
        part.reasons = [("status: 500".to_owned(), failed)].into();
        load.targets[0].part = part.clone();
        let gate = |name: &GateName| Gate { name: *name, passed: false, figure: String::new() };
        load.validity.gates = gates.iter().map(gate).collect();
        let text = of(&load);
        assert!(!text.contains("perhaps") || gates.contains(&GateName::Disturbed), "{text}");
        crate::verdict::exit(&load)
    };
    let open = || Pacing::Open { arrivals: "poisson".to_owned() };
    let closed = || Pacing::Closed { think_ns: 0 };
    assert_eq!(exit_of(8_000, open(), &[]), Exit::No);
    assert_eq!(exit_of(8_000, closed(), &[]), Exit::No);
    assert_eq!(exit_of(8_000, open(), &[GateName::Late]), Exit::No);
    assert_eq!(exit_of(8_000, open(), &[GateName::Disturbed]), Exit::NoAnswer);
    assert_eq!(exit_of(500, open(), &[]), Exit::Answered);
    assert_eq!(exit_of(500, closed(), &[]), Exit::Answered);
}

#[test]
fn operations_and_batches_are_shown_where_there_are_any() {
    let mut load = load();
    load.targets.truncate(1);
    load.total.batch_delay = load.total.lateness.clone();
    load.total.operations = Some(results::load::Operations {
        count: 2_000_000,
        completed_per_s: 200_000.0,
        outcomes: [("ok".to_owned(), 1_999_000), ("status".to_owned(), 1_000)].into(),
    });
    check(
        &load,
        expect![[r#"
            asked 2,000/s · offered 2,000/s · completed 2,000/s · 20,000 requests · 3.00 MB
            operations 200,000/s · 1,999,000 ok · 1,000 status

                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            batched       1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start · service: from sending
              batched: the wait to be sent with others, if any · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            valid. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
}

/// A target that never answers: its quantiles would be those of the drain.
#[test]
fn waits_without_a_response_are_not_shown_as_times_of_responses() {
    let mut load = load();
    load.targets.pop();
    let total = &mut load.total;
    (total.counts.ok, total.counts.unfinished) = (0, 20_000);
    total.unfinished_response_time = total.response_time.clone();
    load.validity.valid = false;
    load.validity.reasons = vec!["nothing was measured: none had a response.".to_owned()];
    check(
        &load,
        expect![[r#"
            asked 2,000/s · offered 2,000/s · completed 2,000/s · 20,000 requests · 3.00 MB

            mostly waits without a response: 20,000 of 20,000 requests had none when the load ended, so these times are lower bounds
                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start · service: from sending · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            not valid: nothing was measured: none had a response.
        "#]],
    );
}

/// The exit code is 0, so the text must not end in a reason to distrust it.
#[test]
fn an_slo_that_a_late_load_meets_is_met_even_so() {
    let mut load = load();
    load.targets.pop();
    (load.total.counts.ok, load.validity.valid) = (20_000, false);
    load.total.response_time_less_lateness = load.total.response_time.clone();
    load.slo = results::verdict::judge(&["p99<=1s".parse().unwrap()], &load.total);
    let figure = "lateness p99 900 µs, bound 105 µs".to_owned();
    let name = results::load::GateName::Late;
    load.validity.reasons = vec![format!("generator late: {figure}. Repeat it.")];
    load.validity.gates = vec![results::load::Gate { name, passed: false, figure }];
    let text = of(&load);
    let (_, end) = text.split_once("slo: ").unwrap();
    expect![[r#"
        p99 ≤ 1 s is met: 0 of 20,000 requests over (0 %, allowed 1 %)
        not valid: generator late: lateness p99 900 µs, bound 105 µs. Repeat it.
        but lateness can only make responses slower, so the SLO is met even so
    "#]]
    .assert_eq(end);
    assert_eq!(crate::verdict::exit(&load), Exit::Answered);
    load.slo = results::verdict::judge(&["p99<=1ms".parse().unwrap()], &load.total);
    assert!(!of(&load).contains("even so"), "{}", of(&load));
    assert_eq!(crate::verdict::exit(&load), Exit::NoAnswer);
}

#[test]
fn sessions_and_labels_have_lines_of_their_own() {
    let mut load = load();
    load.targets.truncate(1);
    load.arrivals = Some(Arrivals::Sessions);
    load.total.rates_per_s.asked = None;
    load.total.sessions = Some(Sessions {
        asked_per_s: Some(1_000.0),
        started: 10_000,
        completed: 9_985,
        unfinished: 5,
        requests: 20_000,
        succeeded_per_s: Some(1_000.0),
        broken: vec![
            Broken {
                at: Some("login".to_owned()),
                outcome: "capture".to_owned(),
                reason: Some("token from json:/token: not in the response".to_owned()),
                sessions: 8,
            },
            Broken { at: None, outcome: "reset".to_owned(), reason: None, sessions: 2 },
        ],
        time: load.total.response_time.clone(),
    });
    let group = Group {
        completed: 10_000,
        failed: 8,
        outcomes: BTreeMap::new(),
        reasons: BTreeMap::new(),
        ok_statuses: BTreeMap::new(),
        response_time: load.total.response_time.clone(),
        service_time: None,
    };
    let long = "GET /a/very/long/path/that/has/no/label/of/its/own";
    load.labels = ["login", long].map(|name| (name.to_owned(), group.clone())).into();
    check(
        &load,
        expect![[r#"
            offered 2,000/s · completed 2,000/s · 20,000 requests · 3.00 MB
            sessions asked 1,000/s · 10,000 started · 9,985 complete · 10 ended by a failure
              5 unfinished · p50 1.05 ms · p99 20.0 ms
              8 ended at `login`: capture, token from json:/token: not in the response
              2 ended before a request: cut off
            arrivals are sessions: a first step counts from its intended start, each later
              one from the response before it and the think time

                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start · service: from sending · lateness: our own
              offered: what came due · (…): fewer than 10 beyond it

            label                            completed    failed          p50          p99
            GET /a/very/long/path/that/h…       10,000         8      1.05 ms      20.0 ms
            login                               10,000         8      1.05 ms      20.0 ms

            valid. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
}

#[test]
fn statuses_and_the_reasons_by_label_are_on_the_first_screen() {
    let mut load = load();
    load.targets.truncate(1);
    let statuses = [("200", 16_972), ("304", 10), ("404", 3_000), ("503", 18)];
    load.total.statuses = statuses.map(|(status, count)| (status.to_owned(), count)).into();
    type Counts<'a> = &'a [(&'a str, u64)];
    let group = |failed: u64, ok_statuses: Counts, reasons: Counts, outcomes: Counts| {
        let owned = |counts: Counts| -> BTreeMap<String, u64> {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        Group {
            completed: 10_000,
            failed,
            outcomes: owned(outcomes),
            reasons: owned(reasons),
            ok_statuses: owned(ok_statuses),
            response_time: load.total.response_time.clone(),
            service_time: None,
        }
    };
    let reasons = [("status: 404", 3_000), ("status: 503", 18), ("check: body~\"ok\"", 2)];
    let outcomes = [("ok", 6_975), ("status", 3_018), ("check", 2), ("timeout", 5)];
    let failing = group(3_025, &[("200", 6_975)], &reasons, &outcomes);
    let fine = group(0, &[("200", 9_990), ("304", 10)], &[], &[("ok", 10_000)]);
    load.labels = [("login", failing), ("items", fine)].map(|(n, g)| (n.to_owned(), g)).into();
    check(
        &load,
        expect![[r#"
            failed: 404 for 3,000 of 10,000 requests `login`; 503 for 18 of 10,000 requests `login`; timeout for 5 of 10,000 requests `login`; and one more kind of failure
            asked 2,000/s · offered 2,000/s · completed 2,000/s · 20,000 requests · 3.00 MB
            statuses 200: 16,972 · 304: 10 · 404: 3,000 · 503: 18

                              p50        p90        p99      p99.9     p99.99        max
            response      1.05 ms    1.05 ms    20.0 ms    20.0 ms  (20.0 ms)    20.0 ms
            service       1.04 ms    1.04 ms    19.0 ms    19.0 ms  (19.0 ms)    19.0 ms
            lateness      1.20 µs    1.20 µs     900 µs     900 µs   (900 µs)     900 µs
            response: from the intended start · service: from sending · lateness: our own
              offered: what came due of the asked rate · (…): fewer than 10 beyond it

            label                            completed    failed          p50          p99
            items                               10,000         0      1.05 ms      20.0 ms
              ok 200: 9,990, 304: 10
            login                               10,000     3,025      1.05 ms      20.0 ms
              ok 200: 6,975 · 404 for 3,000; 503 for 18; timeout for 5; one more kind of fa…

            valid. p99.9 rests on 20 requests: run 50.0 s for 100.
        "#]],
    );
    // The most frequent of many statuses.
    load.labels.clear();
    load.total.statuses = (200..220).map(|status| (status.to_string(), status)).collect();
    let text = of(&load);
    let (_, lines) = text.split_once("statuses ").unwrap();
    let (lines, _) = lines.split_once("\n\n").unwrap();
    expect![[r#"
        212: 212 · 213: 213 · 214: 214 · 215: 215 · 216: 216 · 217: 217
          218: 218 · 219: 219 · 12 more, which --json has"#]]
    .assert_eq(lines);
}

/// Sentences are broken at the width of a terminal, by whoever prints them.
#[test]
fn no_line_with_columns_is_wider_than_80() {
    let mut load = load();
    load.arrivals = Some(Arrivals::Requests);
    let mut slow = Histogram::new();
    (0..5_000).for_each(|n| slow.record(Nanos(305_123 + 19_999_999 * n)));
    let mut less = Histogram::new();
    (0..5_000).for_each(|n| less.record(Nanos(123 + 12_222_222 * n)));
    let total = &mut load.total;
    (total.response_time, total.response_time_less_lateness) = (Times::of(&slow), Times::of(&less));
    total.service_time = Times::of(&slow);
    total.batch_delay = Times::of(&slow);
    total.lateness = Times::of(&slow);
    total.tls_time = Times::of(&slow);
    total.tls = Some(results::load::Tls {
        handshakes: 1_000_000,
        resumed_share: 0.123,
        version: "TLS 1.3".to_owned(),
        cipher: "TLS13_CHACHA20_POLY1305_SHA256".to_owned(),
    });
    total.operations = Some(results::load::Operations {
        count: 2_000_000_000,
        completed_per_s: 200_000_000.0,
        outcomes: ["ok", "status", "timeout", "reset", "malformed", "check", "dropped"]
            .map(|name| (name.to_owned(), 1_999_000_000))
            .into(),
    });
    (total.rates_per_s.asked, total.rates_per_s.offered) = (Some(12_345_678.0), 12_345_678.0);
    (total.rates_per_s.completed, total.counts.intended) = (12_345_678.0, 1_234_567_890);
    load.generator.generator_bound = Some(true);
    load.events = Some(Events {
        accepted: 123_456_789,
        delivered: 123_456_789,
        lost: 123_456_789,
        duplicated: 123_456_789,
        publish_time: Times::of(&slow),
        delivery_time: Times::of(&slow),
        lost_time_at_least: Times::of(&slow),
        ..Events::default()
    });
    let target = Target { part: load.total.clone(), ..load.targets[0].clone() };
    let url = "https://a-long-name.of-a-service.example:8443/with/a/path".to_owned();
    load.targets = vec![target.clone(), Target { url, ..target }];
    let outcomes = [("status".to_owned(), 9_000_000), ("timeout".to_owned(), 1_000_000)].into();
    let why = "a reason that is much longer than the line, as those of scripts and checks may be";
    let group = Group {
        completed: 1_000_000_000,
        failed: 100_000_000,
        outcomes,
        reasons: [(format!("status: {why}"), 9_000_000)].into(),
        ok_statuses: BTreeMap::new(),
        response_time: load.total.response_time.clone(),
        service_time: None,
    };
    load.labels = [("a label that is longer than its column".to_owned(), group)].into();
    let text = of(&load);
    let wide: Vec<&str> = text.lines().filter(|line| 80 < line.chars().count()).collect();
    assert!(wide.iter().all(|line| line.starts_with("failed:")), "{wide:#?}\n{text}");
}
