use std::fs;
use std::path::Path;

use clap::Parser;
use expect_test::expect;
use results::Metric;
use results::comparison::Verdict;
use results::metric::MetricOf;
use tempfile::TempDir;

use super::*;
use crate::cli::{Cli, Command};
use crate::command::compare::{markdown, text as text_of_comparison, wanted};

/// A table of hey: requests of so many milliseconds, one every 10 ms.
fn hey(factor: f64) -> String {
    hey_with(factor, 2_000, 0)
}

/// The same of so many requests, of which the first ones failed.
fn hey_with(factor: f64, requests: u32, failed: u32) -> String {
    let mut text = "response-time,DNS+dialup,status-code,offset\n".to_owned();
    for number in 0..requests {
        let status = if number < failed { 500 } else { 200 };
        let time = 0.005 * factor * (1.0 + f64::from(number % 50) / 10.0);
        let _ = writeln!(text, "{time:.4},{factor:.6},{status},{:.4}", f64::from(number) / 100.0);
    }
    text
}

const WRK2: &str = "\
Running 20s test @ http://127.0.0.1:8080/
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.12ms  510.33us   9.87ms   78.00%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.05ms
 99.000%    3.10ms
  20000 requests in 20.00s, 2.99MB read
Requests/sec:   1000.00
";

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Returns a text without the name of the folder.
fn plain(folder: &TempDir, text: &str) -> String {
    text.replace(&format!("{}/", folder.path().display()), "")
}

fn error(result: Result<impl std::fmt::Debug, Failure>) -> String {
    result.unwrap_err().error.to_string()
}

/// The page leaves lines out, and ends long ones, with `…`.
#[test]
fn the_book_shows_what_is_printed_of_a_file() {
    let folder = TempDir::new().unwrap();
    let sample = include_str!("../../../../foreign/src/tests/samples/hey.txt");
    let files = read(&[write(&folder, "hey.txt", sample)], &Says::default()).unwrap();
    let printed = plain(&folder, &text(&files[0]));
    let page = include_str!("../../../../../docs/book/results-of-other-tools.md");
    let shown = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    for line in shown.lines().filter(|line| !line.starts_with("$ ")) {
        assert!(printed.contains(line.trim_end_matches('…')), "{line} is not in {printed}");
    }
}

#[test]
fn a_file_is_told_with_what_it_supports() {
    let folder = TempDir::new().unwrap();
    let paths = [write(&folder, "a.csv", &hey(1.0)), write(&folder, "b.txt", WRK2)];
    let files = read(&paths, &Says::default()).unwrap();
    let texts: Vec<String> = files.iter().map(|file| plain(&folder, &text(file))).collect();
    expect![[r#"
        a.csv: hey (hey-csv)
          requests  2,000 in 20.0 s: 99.9/s completed
          outcomes  0 failed · 200: 2,000
          started   by the answers to earlier ones (closed loop)
          times     2,000, each from its sending
            mean       17.2 ms
            p50        17.0 ms  (16.5 ms … 18.0 ms)
            p75        23.5 ms  (23.0 ms … 24.0 ms)
            p90        27.0 ms  (27.0 ms … 27.5 ms)
            p95        28.5 ms  (28.0 ms … 28.5 ms)
            p99        29.5 ms  (29.5 ms … 29.5 ms)  20 beyond it: an indication
            p99.9      29.5 ms  2 beyond it: unsupported
            p99.99     29.5 ms  0 beyond it: unsupported
            max        29.5 ms
        + the completed rate, 99.9/s
        + service times, from sending: percentiles up to p99, shares beyond any limit
        + a merge with the other parts of the same load
        + a comparison with trials of the same tool and settings, several of each side
        ! a closed loop sends less while answers are slow: no percentiles of response time under overload (coordinated omission), and no capacity; measure at a rate: `benchwright load --rate`
        ! hey writes no line for a request without an answer: how many there were is unknown
        ! p99.9 of 2,000 requests rests on 2 beyond it: at least 10 are needed (10,000 requests)
        ! nothing says whether hey was late, lost requests or was disturbed: it may have measured itself
        ! hey keeps at most the first 1,000,000 answers: with as many lines the file is only the beginning of the load

        b.txt: wrk2 (wrk2)
          requests  20,000 in 20.0 s: 1,000/s completed
          outcomes  0 failed
          started   by a clock (open loop)
          times     20,000, each from its intended start, as printed
            mean       1.12 ms
            p50        1.05 ms
            p99        3.10 ms
            max        9.87 ms
        + the completed rate, 1,000/s
        + response times, from the intended start: p50, p99 as printed
        + a comparison with trials of the same tool and settings, several of each side
        ! only percentiles, no distribution: no other percentile, no share beyond a limit, and no merge with another file
        ! nothing says whether wrk2 was late, lost requests or was disturbed: it may have measured itself
    "#]].assert_eq(&texts.join("\n"));
}

#[test]
fn what_cannot_be_read_is_an_error_with_the_name_of_the_file() {
    let folder = TempDir::new().unwrap();
    let prose = write(&folder, "prose.txt", "no figures\n");
    let says = Says::default();
    let found = error(read(&[prose], &says));
    assert!(found.contains("prose.txt: its format is not recognised; known are"), "{found}");
    let found = error(read(&[folder.path().to_owned()], &says));
    assert!(found.contains("it is a folder: "), "{found}");
    let found = error(read(&[folder.path().join("none")], &says));
    assert!(found.ends_with("none: No such file or directory"), "{found}");
    let many = vec![PathBuf::new(); MOST_FILES + 1];
    assert_eq!(error(read(&many, &says)), "1001 files are too many; name at most 1000");
}

#[test]
fn files_of_the_same_are_analysed_as_trials() {
    let folder = TempDir::new().unwrap();
    let name = |number: usize| format!("{number}.csv");
    let paths: Vec<PathBuf> = [1.0, 1.02, 0.99, 1.01, 1.005]
        .iter()
        .enumerate()
        .map(|(number, factor)| write(&folder, &name(number), &hey(*factor)))
        .collect();
    let files = read(&paths, &Says::default()).unwrap();
    let found = analyse::together(&files, 0.03).unwrap();
    let metrics: Vec<&str> = found.metrics.iter().map(|metric| metric.metric.as_str()).collect();
    assert_eq!(metrics, ["completed", "p50_ms", "p90_ms", "p99_ms", "p99.9_ms"]);
    assert_eq!((found.requests, found.metrics[1].levels[0].figures.n), (Some(2_000), 5));
    let p50 = found.metrics[1].levels[0].figures.mean;
    assert!((17.0..18.5).contains(&p50), "in milliseconds: {p50}");
    // The percentiles are known as such by their names.
    assert!(
        found.warnings.iter().any(|warning| warning.text.starts_with("p99.9_ms of 2,000 requests"))
    );
    assert!(analyse::together(&files[..1], 0.03).is_none());
    let wrk2 = write(&folder, "w.txt", WRK2);
    let mixed = read(&[paths[0].clone(), wrk2], &Says::default()).unwrap();
    assert!(analyse::together(&mixed, 0.03).is_none());
}

#[test]
fn two_single_files_have_an_effect_and_no_verdict() {
    let folder = TempDir::new().unwrap();
    let (a, b) = (write(&folder, "a.csv", &hey(1.0)), write(&folder, "b.csv", &hey(1.5)));
    let found = compare::compare([&[a], &[b]], &Says::default(), &[], None).unwrap();
    assert_eq!(found.comparison.verdict, Verdict::Undecided);
    expect![[r#"
        ! the order of the trials is not known, since files do not say whether the arms alternated: a drift of the machine looks like a difference between them; one experiment with repeat.order: {blocks: 4} alternates them
        b.csv compared with a.csv: undecided  (margin 3 %)
          completed undecided: −0.1 % (too few trials for an interval), p = 1.0000; median 99.9/s → 99.8/s; 1 and 1 trials; how many more are needed cannot be known
          p99 undecided: +49.8 % (too few trials for an interval), p = 1.0000; median 29.5 ms → 44.2 ms; 1 and 1 trials; how many more are needed cannot be known
        percentiles, to look at:
          p50      +50.0 %
          p90      +50.0 %
          p99      +49.8 %
    "#]].assert_eq(&plain(&folder, &text_of_comparison(&found.comparison)));
    assert!(
        found.warnings[0].starts_with("all 2 files: a closed loop sends less"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn several_files_of_each_side_decide() {
    let folder = TempDir::new().unwrap();
    let arm = |name: &str, factor: f64| -> Vec<PathBuf> {
        let one = |trial: usize| {
            let factor = factor * (1.0 + trial as f64 / 1_000.0);
            write(&folder, &format!("{name}-{trial}.csv"), &hey(factor))
        };
        (0..6).map(one).collect()
    };
    let (a, b) = (arm("old", 1.0), arm("new", 1.5));
    let says = Says::default();
    let found = compare::compare([&a, &b], &says, &[Metric::P99.into()], Some(0.05)).unwrap();
    let first = &found.comparison.metrics[0];
    assert_eq!((first.verdict, first.trials_a, first.trials_b), (Verdict::Worse, 6, 6));
    assert!(first.interval.is_some_and(|(low, high)| 1.4 < low && high < 1.6), "{first:?}");
    assert!(found.comparison.a.ends_with("old-0.csv and 5 more"));
}

/// Six files of each side, of so many requests; of B the first ones failed, fast.
fn arms(folder: &TempDir, requests: u32, failed: [u32; 6]) -> [Vec<PathBuf>; 2] {
    let arm = |name: &str, factor: f64, failed: [u32; 6]| {
        let one = |(trial, failed): (usize, u32)| {
            let factor = factor * (1.0 + trial as f64 / 1_000.0);
            write(folder, &format!("{name}-{trial}.csv"), &hey_with(factor, requests, failed))
        };
        (0..).zip(failed).map(one).collect()
    };
    [arm("a", 1.0, [0; 6]), arm("b", 0.3, failed)]
}

fn compare_arms([a, b]: &[Vec<PathBuf>; 2], metrics: &[Metric]) -> compare::Found {
    let metrics: Vec<MetricOf> = metrics.iter().copied().map(MetricOf::from).collect();
    compare::compare([a, b], &Says::default(), &metrics, None).unwrap()
}

#[test]
fn a_service_that_fails_fast_is_never_better_and_every_form_says_so() {
    let folder = TempDir::new().unwrap();
    let arms = arms(&folder, 2_000, [1_800; 6]);
    let found = compare_arms(&arms, &[Metric::P99]).comparison;
    assert_eq!(found.verdict, Verdict::Worse);
    let failures = "B: 10,800 of 12,000 requests failed (90.00 %): no file shows a working service, and only its \
                    goodput is compared";
    let refused = "p99 worse: too many requests failed in 6 of 6 trials of B, and in 0 of 6 of A (p = 0.0022): a \
                   service that fails is worse, however fast it fails";
    let text = text_of_comparison(&found);
    assert!(text.starts_with(&format!("! {failures}\n")), "{text}");
    assert!(
        text.contains(&format!("  {refused}\n")) && !text.contains("percentiles, to look at"),
        "{text}"
    );
    let table = markdown(&found);
    assert!(
        table.contains(&format!("> {failures}\n")) && table.contains(&format!("> {refused}\n")),
        "{table}"
    );
    let json = console::output::json(&found);
    assert!(json.contains(failures) && json.contains("too many requests failed"), "{json}");
    let goodput = compare_arms(&arms, &[Metric::Goodput]).comparison;
    assert_eq!(goodput.verdict, Verdict::Worse);
    assert_eq!(goodput.failures, found.failures);
}

/// It fails many of its requests, though not most, and completes more than the other.
#[test]
fn a_service_that_fails_above_the_documented_share_is_worse_and_the_other_one_no_better() {
    let folder = TempDir::new().unwrap();
    let verdicts = |arms: &[Vec<PathBuf>; 2]| {
        let found = compare_arms(arms, &[]).comparison;
        let each = found.metrics.iter().map(|one| (one.metric, one.verdict));
        (each.collect::<Vec<_>>(), found)
    };
    let [a, b] = arms(&folder, 2_000, [800; 6]);
    let (both, found) = verdicts(&[a.clone(), b.clone()]);
    assert_eq!(both, [(Metric::Completed, Verdict::Worse), (Metric::P99, Verdict::Worse)]);
    assert_eq!((found.verdict, found.percentiles.len()), (Verdict::Worse, 0));
    let (both, found) = verdicts(&[b, a]);
    assert_eq!(both, [(Metric::Completed, Verdict::Undecided), (Metric::P99, Verdict::Undecided)]);
    let text = text_of_comparison(&found);
    let why = "p99 undecided: too many requests failed in 6 of 6 trials of A and 0 of 6 of B";
    assert!(text.contains(why), "{text}");
    let few = arms(&folder, 2_000, [60; 6]);
    assert_eq!(compare_arms(&few, &[Metric::P99]).comparison.verdict, Verdict::Better);
}

#[test]
fn files_that_their_generator_calls_not_valid_decide_nothing() {
    let folder = TempDir::new().unwrap();
    let arm = |name: &str, rate: f64, reason: Option<&str>| -> Vec<PathBuf> {
        let one = |trial: u32| {
            let mut load = results::Load::empty("benchwright 0.1.0");
            load.measured_s = 1.0;
            load.total.rates_per_s.completed = rate + f64::from(trial);
            load.validity.valid = reason.is_none();
            load.validity.reasons = reason.map(str::to_owned).into_iter().collect();
            let text = serde_json::to_string(&load).unwrap();
            write(&folder, &format!("{name}-{trial}.json"), &text)
        };
        (0..6).map(one).collect()
    };
    let (a, b) = (arm("a", 100.0, None), arm("b", 200.0, None));
    let metrics = [Metric::Completed];
    let found = compare_arms(&[a.clone(), b.clone()], &metrics).comparison;
    assert_eq!(found.verdict, Verdict::Better);
    let late = arm("late", 200.0, Some("late: p99 11.3 ms"));
    let found = compare_arms(&[a, [&b[1..], &late[..1]].concat()], &metrics).comparison;
    assert_eq!(found.verdict, Verdict::Undecided);
    let text = plain(&folder, &text_of_comparison(&found));
    let why = "completed undecided: late-0.json: not valid, as its generator says itself, so nothing follows from it: \
               measure again, or compare without it (late: p99 11.3 ms)";
    assert!(text.contains(why), "{text}");
    assert_eq!(read(&late[..1], &Says::default()).unwrap()[0].supports, [""; 0]);
}

/// A script that checks its answers says that the service answers wrongly, also where it answers with 200.
#[test]
fn failed_checks_are_failures_of_the_service() {
    let folder = TempDir::new().unwrap();
    let arm = |name: &str, fails: u32| -> Vec<PathBuf> {
        let one = |trial: u32| {
            let text = format!(
                "{{\"metrics\": {{\"http_req_duration\": {{\"med\": 4, \"p(99)\": {}}}, \"http_reqs\": {{\"count\": 5000, \
                 \"rate\": 100}}, \"http_req_failed\": {{\"passes\": 0, \"fails\": 5000}}, \"checks\": {{\"passes\": {}, \
                 \"fails\": {fails}}}}}}}",
                20 + trial,
                5_000 - fails
            );
            write(&folder, &format!("{name}-{trial}.json"), &text)
        };
        (0..6).map(one).collect()
    };
    let arms = [arm("a", 0), arm("b", 4_950)];
    let found = compare_arms(&arms, &[Metric::P99]).comparison;
    assert_eq!(found.verdict, Verdict::Worse);
    assert_eq!(
        found.failures,
        [
            "B: 29,700 of 30,000 checks failed (99.00 %): no file shows a working service, and only its goodput is compared"
        ]
    );
    let files = read(&arms[1][..1], &Says::default()).unwrap();
    let told = text(&files[0]);
    assert!(told.contains("\n  checks    4,950 of 5,000 failed\n"), "{told}");
    assert!(told.contains("\n! 4,950 of 5,000 checks failed (99.00 %): fewer than half"), "{told}");
    let exit = analyse::analyse(&arms[1][..1], &Says::default(), analyse::Each::Trial, 0.03, false);
    assert!(matches!(exit.unwrap(), console::output::Exit::No));
}

#[test]
fn long_labels_are_told_apart_by_both_ends() {
    let url = |end: &str| format!("http://127.0.0.1:8080/{}{end}", "a/long/path/".repeat(10));
    let labels = [url("one"), url("two"), "short".to_owned()];
    let shown = shortened(labels.iter());
    assert!(shown[0].ends_with("/one") && shown[1].ends_with("/two"), "{shown:?}");
    assert!(shown.iter().all(|label| label.chars().count() <= WIDTH_OF_LABEL));
    let middle = |inner: &str| format!("{}{inner}{}", "a".repeat(60), "b".repeat(60));
    let alike = shortened([middle("x"), middle("y")].iter());
    assert!(alike[1].ends_with(" (2)") && alike[0] != alike[1], "{alike:?}");
}

#[test]
fn the_files_of_a_failing_service_are_left_out_and_a_few_failures_are_said() {
    let folder = TempDir::new().unwrap();
    let found = |failed| {
        let found = compare_arms(&arms(&folder, 2_000, failed), &[Metric::P99]).comparison;
        let first = &found.metrics[0];
        ((first.trials_a, first.trials_b), found.failures.join("\n"))
    };
    let text = "B: 1,800 of 12,000 requests failed (15.00 %): 1 of 6 files show no working service, and only the \
                goodput of these is compared";
    assert_eq!(found([1_800, 0, 0, 0, 0, 0]), ((6, 5), text.to_owned()));
    let text = "B: 204 of 12,000 requests failed (1.70 %): 1 of 6 files show no working service, and only the \
                goodput of these is compared";
    assert_eq!(found([200, 4, 0, 0, 0, 0]), ((6, 5), text.to_owned()));
    let text = "B: 1 of 12,000 requests failed (0.01 %)";
    assert_eq!(found([1, 0, 0, 0, 0, 0]), ((6, 6), text.to_owned()));
    assert_eq!(found([0; 6]), ((6, 6), String::new()));
}

#[test]
fn a_percentile_that_rests_on_too_few_requests_decides_nothing() {
    let folder = TempDir::new().unwrap();
    let found = compare_arms(&arms(&folder, 30, [0; 6]), &[Metric::P99, Metric::P50]);
    let verdicts: Vec<Verdict> = found.comparison.metrics.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::Undecided, Verdict::Better]);
    assert_eq!(found.comparison.verdict, Verdict::Undecided);
    let text = plain(&folder, &text_of_comparison(&found.comparison));
    let why = "p99 undecided: all 12 files, such as a-0.csv: too few requests: 0 of 30 lie beyond its p99, and at \
               least 10 are needed (1,000 requests)";
    assert!(text.contains(why), "{text}");
    // Nor are the unsupported ones shown beside the others.
    let shown: Vec<Metric> = found.comparison.percentiles.iter().map(|one| one.metric).collect();
    assert_eq!(shown, [Metric::P50]);
    let warnings = plain(&folder, &found.warnings.join("\n"));
    let every =
        "all 12 files: 0 of 30 lie beyond its p99, and at least 10 are needed (1,000 requests)";
    assert!(warnings.contains(every), "{warnings}");
}

#[test]
fn what_weakens_files_is_said_once_for_each_kind_with_their_names() {
    let folder = TempDir::new().unwrap();
    let document = |name: &str, reasons: &[&str]| {
        let mut load = results::Load::empty("benchwright 0.1.0");
        load.measured_s = 1.0;
        load.pacing = results::load::Pacing::Open { arrivals: "poisson".to_owned() };
        load.validity.reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
        write(&folder, name, &serde_json::to_string(&load).unwrap())
    };
    let a = [
        document("a-1.json", &["late: p99 11.3 ms, bound 1.00 ms. Free the core."]),
        document("a-2.json", &["late: p99 2.64 ms, bound 381 µs. Free the core.", "disturbed"]),
    ];
    let b = [document("b-1.json", &["late: p99 5.13 ms, bound 1.00 ms. Free the core."])];
    let found =
        compare::compare([&a, &b], &Says::default(), &[Metric::Completed.into()], None).unwrap();
    let warnings: Vec<String> = found.warnings.iter().map(|text| plain(&folder, text)).collect();
    let late = "all 3 files, such as a-1.json: late: p99 11.3 ms, bound 1.00 ms. Free the core.";
    assert_eq!(warnings, [late, "a-2.json: disturbed"]);
}

#[test]
fn the_figures_of_a_failing_service_end_with_no() {
    let folder = TempDir::new().unwrap();
    let exit = |failed: u32| {
        let path = write(&folder, "a.csv", &hey_with(1.0, 2_000, failed));
        analyse::analyse(&[path], &Says::default(), analyse::Each::Trial, 0.03, false).unwrap()
    };
    assert!(matches!(exit(900), console::output::Exit::Answered));
    assert!(matches!(exit(1_100), console::output::Exit::No));
    let path = write(&folder, "a.csv", &hey_with(1.0, 2_000, 200));
    let told = text(&read(&[path], &Says::default()).unwrap()[0]);
    let marked: Vec<&str> = told.lines().filter(|line| line.starts_with(['!', '+'])).collect();
    assert!(marked[0].starts_with("! 200 of 2,000 requests failed (10.00 %)"), "{told}");
    assert!(marked[1].starts_with("+ the completed rate"), "{told}");
}

#[test]
fn what_does_not_mean_the_same_is_not_compared() {
    let folder = TempDir::new().unwrap();
    let (a, b) = (write(&folder, "a.csv", &hey(1.0)), write(&folder, "b.txt", WRK2));
    let both = || [std::slice::from_ref(&a), std::slice::from_ref(&b)];
    let says = Says::default();
    let refused = error(compare::compare(both(), &says, &[Metric::P99.into()], None));
    expect!["p99 cannot be compared: times count from sending in a.csv and from the intended start in b.txt"].assert_eq(&plain(&folder, &refused));
    let refused = error(compare::compare(both(), &says, &[Metric::P90.into()], None));
    assert!(refused.contains("b.txt has no p90; name a figure that all files have"), "{refused}");
    let again = write(&folder, "again.csv", &hey(1.01));
    let same = [std::slice::from_ref(&a), std::slice::from_ref(&again)];
    let found =
        compare::compare(same, &says, &[Metric::P95.into(), Metric::P75.into()], None).unwrap();
    assert_eq!(found.comparison.metrics.len(), 2, "any percentile that all files have");
    let refused = error(compare::compare(both(), &says, &[Metric::Capacity.into()], None));
    assert!(refused.starts_with("files of load generators have no `capacity`"), "{refused}");
    // The rates mean the same.
    let found = compare::compare(both(), &says, &[], None).unwrap();
    let metrics: Vec<Metric> = found.comparison.metrics.iter().map(|one| one.metric).collect();
    assert_eq!((metrics, found.comparison.percentiles.len()), (vec![Metric::Completed], 0));
    let differs = &found.comparison.metrics[0].environment_differences;
    let differs: Vec<&str> = differs.iter().map(|difference| difference.what.as_str()).collect();
    assert_eq!(differs, ["tool", "format", "loop", "times"]);
    let last = found.warnings.last().unwrap();
    assert!(last.starts_with("percentiles are not compared: times count from sending"), "{last}");
}

#[test]
fn a_page_stands_beside_the_first_file_unless_it_is_named() {
    let folder = TempDir::new().unwrap();
    let (a, b) = (write(&folder, "a.csv", &hey(1.0)), write(&folder, "b.txt", WRK2));
    let says = Says::default();
    let place = report::report(&[a.clone(), b], &says, None).unwrap();
    assert_eq!(place, folder.path().join("a.csv.html"));
    let page = fs::read_to_string(&place).unwrap();
    assert!(page.contains("2 files") && page.ends_with("</html>\n"));
    let named = folder.path().join("page.html");
    report::report(std::slice::from_ref(&a), &says, Some(&named)).unwrap();
    assert!(fs::read_to_string(&named).unwrap().contains("a.csv"));
    let refused = error(report::report(&[Path::new("/dev/null").to_owned()], &says, None));
    assert_eq!(refused, "/dev/null is not a regular file: name the page by --out FILE.html");
    let refused = error(report::report(&[a], &says, Some(folder.path())));
    assert!(refused.ends_with("it is a folder; name a file in it"), "{refused}");
}

#[test]
fn the_page_of_one_load_of_ours_has_all_of_it() {
    let folder = TempDir::new().unwrap();
    let mut load = results::Load::empty("benchwright 0.1.0");
    load.measured_s = 1.0;
    let path = write(&folder, "load.json", &serde_json::to_string(&load).unwrap());
    let place = report::report(&[path], &Says::default(), None).unwrap();
    assert!(fs::read_to_string(place).unwrap().contains("A load without targets"));
}

#[test]
fn options_that_belong_together_are_asked_for_together() {
    let is_accepted = |line: &str| {
        let words = ["benchwright"].into_iter().chain(line.split(' '));
        Cli::try_parse_from(words).map_err(|error| error.kind())
    };
    for line in [
        "analyse a.json",
        "analyse a.csv b.csv --merge --json",
        "analyse a.csv --rows requests --column t --unit ms --since sent --loop open",
        "analyse t.csv --by v --metrics p99 --requests 100",
        "compare a b",
        "compare --a x y --b z",
        "compare --a x y --b z --metrics p95,p99",
        "report a.json b.json --out page.html --format hey",
    ] {
        assert!(is_accepted(line).is_ok(), "{line}");
    }
    for line in [
        "analyse",
        "analyse t.csv --by v",
        "analyse t.csv --metrics p99",
        "analyse a.csv --requests 5",
        "compare",
        "compare --a x",
        "compare --a x --b z --metrics p98",
        "compare d --a x --b y",
        "report",
        "report a --format jtl",
    ] {
        assert!(is_accepted(line).is_err(), "{line}");
    }
    let Command::Compare(compare) = is_accepted("compare --a x y --b z").unwrap().command else {
        panic!("another command");
    };
    assert_eq!((compare.of_a.len(), compare.of_b.len()), (2, 1));
}

#[test]
fn a_page_beside_a_file_replaces_a_link_and_one_at_a_named_place_follows_it() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = [write(&folder, "a.csv", &hey(1.0))];
    let victim = write(&folder, "victim", "precious");
    std::os::unix::fs::symlink(&victim, at("a.csv.html")).unwrap();
    report::report(&paths, &Says::default(), None).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(fs::symlink_metadata(at("a.csv.html")).unwrap().is_file());
    std::os::unix::fs::symlink(&victim, at("named.html")).unwrap();
    report::report(&paths, &Says::default(), Some(&at("named.html"))).unwrap();
    assert_ne!(fs::read_to_string(&victim).unwrap(), "precious");
    fs::remove_file(at("a.csv.html")).unwrap();
    fs::create_dir(at("a.csv.html")).unwrap();
    let refused = error(report::report(&paths, &Says::default(), None));
    assert!(refused.ends_with("it is a folder; name the page by --out FILE.html"), "{refused}");
}

#[test]
fn the_labels_of_another_tool_are_a_table() {
    let folder = TempDir::new().unwrap();
    let mut table = "timeStamp,elapsed,label,responseCode,success\n".to_owned();
    for number in 0..3_000_u64 {
        let (label, code) = if number % 3 == 0 { ("login", 503) } else { ("items", 200) };
        let at = 1_764_000_000_000 + number * 10;
        let _ = writeln!(table, "{at},{},{label},{code},{}", 5 + number % 40, code == 200);
    }
    let path = folder.path().join("run.jtl");
    fs::write(&path, table).unwrap();
    let foreign = read(&[path], &Says::default()).unwrap().remove(0);
    let text = text(&foreign);
    let lines = text.lines().skip_while(|line| !line.trim_start().starts_with("label"));
    let lines: Vec<&str> = lines.take(3).filter_map(|line| line.strip_prefix("  ")).collect();
    expect![[r#"
          label                             requests    failed          p50          p99
          items                                2,000         0      24.0 ms      44.0 ms
          login                                1,000     1,000      24.0 ms      44.0 ms"#]]
    .assert_eq(&lines.join("\n"));
}

/// Results with labels of which one becomes slower: its times are those of the others in A, and twice as long in B.
#[test]
fn the_label_that_became_slower_is_seen() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, slower: f64| {
        let mut text = "timeStamp,elapsed,label,success\n".to_owned();
        for n in 0..2_000_u64 {
            let ms = 10 + n * 7 % 50;
            let login = (ms as f64 * slower) as u64;
            let at = 1_764_000_000_000 + n;
            text += &format!("{at},{ms},items,true\n{at},{login},login,true\n");
        }
        // No two files are copies.
        text += &format!("1764000000{:03},5,rare,true\n", (slower * 1e3).round() as u64 % 1_000);
        write(&folder, name, &text)
    };
    let arm = |name: &str, slower: f64| -> Vec<PathBuf> {
        let one = |n: u32| file(&format!("{name}-{n}.jtl"), slower + f64::from(n) / 1e3);
        (0..6).map(one).collect()
    };
    let (a, b) = (arm("a", 1.0), arm("b", 2.0));
    let compared = |metrics: &[&str]| {
        let metrics: Vec<MetricOf> = metrics.iter().map(|name| wanted(name).unwrap()).collect();
        let found = compare::compare([&a, &b], &Says::default(), &metrics, None);
        found.map(|found| plain(&folder, &text_of_comparison(&found.comparison)))
    };
    expect![[r#"
        ! the order of the trials is not known, since files do not say whether the arms alternated: a drift of the machine looks like a difference between them; one experiment with repeat.order: {blocks: 4} alternates them
        b-0.jtl and 5 more compared with a-0.jtl and 5 more: worse  (margin 3 %)
          items: p99 equivalent: +0.0 % (+0.0 … +0.0 %), p = 1.0000; median 59.0 ms → 59.0 ms; 6 and 6 trials
          login: p95 worse: +100.0 % (+100.0 … +100.0 %), p = 0.0022; median 57.0 ms → 114 ms; 6 and 6 trials
        percentiles, to look at:
          p50      +35.3 %  (+35.3 … +35.3 %)
          p90      +81.6 %  (+81.6 … +81.6 %)
          p99      +96.7 %  (+96.7 … +96.7 %)
          items: p50       +0.0 %  (+0.0 … +0.0 %)
          items: p99       +0.0 %  (+0.0 … +0.0 %)
          login: p50     +100.0 %  (+100.0 … +100.0 %)
          login: p99     +100.0 %  (+100.0 … +100.0 %)
    "#]].assert_eq(&compared(&["items.p99", "login.p95"]).unwrap());
    let refused = ["nothing.p99", "rare.p99"].map(|metric| match compared(&[metric]) {
        Ok(text) => text.lines().nth(2).unwrap_or_default().to_owned(),
        Err(failure) => error(Err::<(), Failure>(failure)),
    });
    expect![[r#"
        a-0.jtl has no nothing.p99; name a figure that all files have by --metrics
          rare: p99 undecided: all 12 files, such as a-0.jtl: too few requests: 0 of 1 lie beyond its rare.p99, and at least 10 are needed (1,000 requests)"#]].assert_eq(&plain(&folder, &refused.join("\n")));
}

#[test]
fn a_file_counts_once_under_whatever_name_and_so_does_its_copy() {
    let folder = TempDir::new().unwrap();
    let [a, other, copy] = [("a.csv", 1.0), ("other.csv", 1.1), ("copy.csv", 1.0)]
        .map(|(name, factor)| write(&folder, name, &hey(factor)));
    let [soft, hard] = ["soft.csv", "hard.csv"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink(&a, &soft).unwrap();
    fs::hard_link(&a, &hard).unwrap();
    let round = folder.path().join(".").join("a.csv");
    let says = Says::default();
    let refused = |files: &[&PathBuf]| {
        let files: Vec<PathBuf> = files.iter().map(|file| (*file).clone()).collect();
        plain(&folder, &error(read(&files, &says)))
    };
    assert_eq!(
        refused(&[&a, &other, &a]),
        "a.csv is named twice; a file counts once: name it once"
    );
    let same = "are the same file, which counts once; name one of them";
    assert_eq!(refused(&[&a, &soft]), format!("a.csv and soft.csv {same}"));
    assert_eq!(refused(&[&other, &hard, &a]), format!("hard.csv and a.csv {same}"));
    assert!(refused(&[&a, &round]).ends_with("name it once"));
    assert_eq!(
        refused(&[&a, &copy]),
        "a.csv and copy.csv have the same contents: a copy is no further measurement; name one of them"
    );
    // Also on both sides of a comparison.
    let compared = compare::compare([std::slice::from_ref(&a), &[copy]], &says, &[], None);
    assert!(error(compared).contains("have the same contents"));
    assert!(read(&[a, other], &says).is_ok());
}

#[test]
fn contradictory_figures_decide_nothing() {
    let folder = TempDir::new().unwrap();
    let more = WRK2.replace("99.000%    3.10ms", "99.000%    0.10ms");
    let a = [write(&folder, "a.txt", WRK2)];
    let b = [write(&folder, "b.txt", &more)];
    let found = compare::compare([&a, &b], &Says::default(), &[], None).unwrap();
    assert_eq!(found.comparison.verdict, Verdict::Undecided);
    let text = plain(&folder, &text_of_comparison(&found.comparison));
    assert!(text.contains("b.txt: its figures contradict each other"), "{text}");
}
