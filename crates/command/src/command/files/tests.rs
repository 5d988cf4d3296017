use std::fs;
use std::path::Path;

use clap::Parser;
use expect_test::expect;
use results::Metric;
use results::comparison::Verdict;
use tempfile::TempDir;

use super::*;
use crate::cli::{Cli, Command};
use crate::command::compare::text as text_of_comparison;

/// A table of hey: requests of so many milliseconds, one every 10 ms.
fn hey(factor: f64) -> String {
    let mut text = "response-time,DNS+dialup,status-code,offset\n".to_owned();
    for number in 0..2_000_u32 {
        let time = 0.005 * factor * (1.0 + f64::from(number % 50) / 10.0);
        let _ = writeln!(text, "{time:.4},0.0000,200,{:.4}", f64::from(number) / 100.0);
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
    let paths: Vec<PathBuf> = [1.0, 1.02, 0.99, 1.01, 1.0]
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
        ! not interleaved: the arms ran one after the other, and a drift of the machine looks like a difference between them; run both in one experiment with repeat.order: {blocks: 4}
        b.csv compared with a.csv: undecided  (margin 3 %)
          completed undecided: −0.1 % (too few trials for an interval), p = 1.0000; median 99.9/s → 99.8/s; 1 and 1 trials; how many more are needed cannot be known
          p99 undecided: +49.8 % (too few trials for an interval), p = 1.0000; median 29.5 ms → 44.2 ms; 1 and 1 trials; how many more are needed cannot be known
        percentiles, to look at:
          p50      +50.0 %
          p90      +50.0 %
          p99      +49.8 %
          p99.9    +49.8 %
    "#]].assert_eq(&plain(&folder, &text_of_comparison(&found.comparison)));
    assert!(found.warnings[0].starts_with("a closed loop sends less"), "{:?}", found.warnings);
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
    let found = compare::compare([&a, &b], &says, &[Metric::P99], Some(0.05)).unwrap();
    let first = &found.comparison.metrics[0];
    assert_eq!((first.verdict, first.trials_a, first.trials_b), (Verdict::Worse, 6, 6));
    assert!(first.interval.is_some_and(|(low, high)| 1.4 < low && high < 1.6), "{first:?}");
    assert!(found.comparison.a.ends_with("old-0.csv and 5 more"));
}

#[test]
fn what_does_not_mean_the_same_is_not_compared() {
    let folder = TempDir::new().unwrap();
    let (a, b) = (write(&folder, "a.csv", &hey(1.0)), write(&folder, "b.txt", WRK2));
    let both = || [std::slice::from_ref(&a), std::slice::from_ref(&b)];
    let says = Says::default();
    let refused = error(compare::compare(both(), &says, &[Metric::P99], None));
    expect!["p99 cannot be compared: times count from sending in a.csv and from the intended start in b.txt"].assert_eq(&plain(&folder, &refused));
    let refused = error(compare::compare(both(), &says, &[Metric::P90], None));
    assert!(refused.contains("b.txt has no p90; name a figure that all files have"), "{refused}");
    let refused = error(compare::compare(both(), &says, &[Metric::Goodput], None));
    assert!(refused.starts_with("files of load generators have no `goodput`"), "{refused}");
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
