use std::fs;

use measure::quantity::grouped;
use results::answer::Verdict;
use results::journal::Status;
use results::manifest::State;
use results::{Answer, Directory};

use super::*;
use crate::fixture::Fixture;
use crate::text::time;

mod accessible;
mod by_label;
mod comparison;
mod delivery;
mod foreign;
mod heat;
mod levels;
mod many;
mod path;
mod percentiles;
mod scaling;
mod spread;
mod trials;
mod verdict;

/// Markup, a script, an attribute's end, a terminal's colours and a reversal of direction.
pub(crate) const HOSTILE: &str = "</td></table></pre><script>alert(1)</script>\" onload='x' <img src=//evil> \u{1b}[31m \u{202e}";

fn page(fixture: &Fixture) -> String {
    render(&fixture.directory, None).unwrap()
}

/// The text between tags.
pub(crate) fn words(page: &str) -> String {
    let body = page.split_once("</head>").unwrap().1.split("<script>").next().unwrap();
    let mut text = String::new();
    for part in body.split('<').skip(1) {
        text += part.split_once('>').unwrap().1;
        text += " ";
    }
    text
}

#[test]
fn a_sample_page_is_written_on_request() {
    let fixture = Fixture::sweep();
    let path = write(&fixture.directory, None, None).unwrap().path;
    let page = fs::read(&path).unwrap();
    assert_eq!(page, render(&fixture.directory, None).unwrap().into_bytes());
    assert!(path.ends_with("report.html"));
    assert!(!fixture.directory.path().join("report.html.partial").exists());
    if let Some(wanted) = std::env::var_os("REPORT_SAMPLE") {
        fs::write(wanted, page).unwrap();
    }
}

#[test]
fn a_slow_machine_shows_in_its_trial_and_in_its_second() {
    let page = page(&Fixture::sweep());
    let words = words(&page);
    assert!(words.contains(" machine "), "the column");
    assert_eq!(words.matches(" 0.80 ").count(), 1, "the fourth trial");
    assert!(words.contains("at 2.0 s the machine ran at 67 % of its usual speed"));
}

#[test]
fn operations_are_columns_of_runs_that_have_them() {
    let mut fixture = Fixture::new(|_| {});
    fixture.push(1_000.0, |_| {});
    assert!(!words(&page(&fixture)).contains("operation"));
    fixture.push(1_000.0, |entry| {
        let observed = entry.observed.as_mut().unwrap();
        (observed.operations_per_s, observed.bytes_per_operation) = (Some(1_234_567.0), Some(9.5));
    });
    let words = words(&page(&fixture));
    for word in ["operations", "bytes per operation", "1,234,567", "9.5"] {
        assert!(words.contains(&format!(" {word} ")), "{word}");
    }
}

#[test]
fn operations_by_the_second_are_beside_the_requests_of_a_trial_that_has_them() {
    let page = heat::changed(|load| {
        let each = load.series.iter_mut();
        each.for_each(|interval| interval.operations = Some(1_000 * interval.completed));
    });
    let seconds = levels::figure(&page, "seconds-maximum");
    for text in ["operations per second", "</svg>operations</span></li>", ">operations /s<"] {
        assert!(seconds.contains(text), "{text}");
    }
    let page = heat::changed(|_| {});
    assert!(!levels::figure(&page, "seconds-maximum").contains("operations"));
}

#[test]
fn every_number_of_every_trial_is_in_the_page() {
    let fixture = Fixture::sweep();
    let words = words(&page(&fixture));
    for entry in &fixture.entries {
        let Some(o) = &entry.observed else { continue };
        let rates = [o.offered_per_s, o.completed_per_s, o.goodput_per_s].map(grouped);
        let times =
            [o.p50_ns, o.p90_ns, o.p99_ns, o.p999_ns, o.max_ns, o.lateness_p99_ns, o.hiccup_p99_ns];
        let times = times.map(|ns| time(ns.unwrap()));
        let cpu = o.cpu.values().map(|cpu| format!("{cpu:.2}"));
        for number in rates.into_iter().chain(times).chain(cpu) {
            assert!(words.contains(&format!(" {number} ")), "{number} of trial {}", entry.trial);
        }
    }
}

#[test]
fn the_two_quantities_are_separate_and_defined() {
    let words = words(&page(&Fixture::sweep()));
    let maximum = words.find("Maximum throughput").unwrap();
    let capacity = words.find("Capacity under the SLO").unwrap();
    let definition = words.find("with any response time").unwrap();
    assert!(maximum < definition && definition < capacity);
    assert!(words[capacity..].contains("p99 ≤ 100 ms and failures ≤ 0.1 %"));
    assert!(words.contains("limited by  hotel, CPU 0.98 of 1"));
}

#[test]
fn a_search_for_the_capacity_does_not_look_for_the_maximum() {
    let fixture = Fixture::sweep();
    let answer = Answer { maximum_throughput: None, ..fixture.answer(Verdict::Answered) };
    fixture.directory.write_answer(&answer).unwrap();
    let words = words(&page(&fixture));
    assert!(words.contains("Not looked for: the search was for the capacity"), "{words}");
    assert!(!words.contains("No valid trial"));
}

#[test]
fn trials_that_do_not_count_are_kept_with_their_reason() {
    let fixture = Fixture::sweep();
    let words = words(&page(&fixture));
    assert!(words.contains("✗ invalid") && words.contains("generator late: lateness p99 1.90 ms"));
    assert!(words.contains("■ aborted") && words.contains("hotel ended with signal 9"));
    assert!(words.contains("17 of 19 trials valid; not valid: trial 8; aborted: trial 16"));
    let marked = fixture.entries.iter().filter(|entry| entry.status != Status::Valid).count();
    assert_eq!(page(&fixture).matches("<tr class=\"bad\">").count(), marked);
}

#[test]
fn a_trial_shows_the_residual_of_littles_law_or_that_it_is_unknown() {
    let mut fixture = Fixture::new(|_| {});
    fixture.push(1_000.0, |_| {});
    fixture.push(1_000.0, |entry| entry.observed.as_mut().unwrap().little = None);
    let page = page(&fixture);
    let table = page
        .split("<summary>Further figures of each trial, and what was found</summary>")
        .nth(1)
        .unwrap();
    let rows: Vec<Vec<String>> = levels::rows(table)
        .lines()
        .map(|row| row.split(" | ").map(str::to_owned).collect())
        .collect();
    let [_, columns, known, unknown] = &rows[..] else { panic!("{rows:#?}") };
    let at = columns.iter().position(|name| name == "|L − λW|").unwrap();
    assert_eq!((&*known[at], &*unknown[at]), ("2 %", "–"));
}

#[test]
fn every_figure_has_a_summary_and_a_table() {
    let page = page(&Fixture::sweep());
    let figures: Vec<&str> = page.split("<figure ").skip(1).collect();
    assert_eq!(
        figures.len(),
        8,
        "completed, p99, percentiles, monitors, and of two trials a map and all by the second"
    );
    for figure in figures {
        let figure = figure.split("</figure>").next().unwrap();
        assert!(figure.contains("role=\"img\" aria-label=\""));
        assert!(figure.contains("<desc>"));
        assert!(figure.contains("<p>") && figure.contains("<details"));
        assert!(5 <= figure.matches("<tr data-x=").count());
        assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
    }
}

#[test]
fn the_p99_is_drawn_against_what_was_completed() {
    let fixture = Fixture::sweep();
    let page = page(&fixture);
    let p99 = page.split("<figure id=\"p99\"").nth(1).unwrap().split("</figure>").next().unwrap();
    let x = |number: u32| -> f64 {
        let row =
            p99.split("<tr data-x=\"").find(|row| row.contains(&format!("<td>{number}</td>")));
        row.unwrap().split('"').next().unwrap().parse().unwrap()
    };
    // Beyond its maximum the fixture's application completes less the more is offered.
    let maximum = fixture.answer(Verdict::Answered).maximum_throughput.unwrap();
    let highest = fixture.entries[18].observed.as_ref().unwrap();
    assert!(maximum.offered_per_s < highest.offered_per_s);
    assert!(x(19) < x(maximum.trial));
}

#[test]
fn the_line_of_the_p99_follows_the_load_and_not_the_time() {
    let mut fixture = Fixture::new(|_| {});
    [1_000.0, 3_000.0, 500.0, 2_000.0].into_iter().for_each(|rate| fixture.push(rate, |_| {}));
    let page = page(&fixture);
    let p99 = page.split("<figure id=\"p99\"").nth(1).unwrap().split("</figure>").next().unwrap();
    let line = p99.split("class=\"line c1 d0\" d=\"M").nth(1).unwrap().split('"').next().unwrap();
    let x = |point: &str| point.split(' ').next().unwrap().parse::<f64>().unwrap();
    let drawn: Vec<f64> = line.split('L').map(x).collect();
    assert!(3 <= drawn.len() && drawn.is_sorted(), "{line}");
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = page(&Fixture::sweep());
    for reference in ["src=", "href=", "url(", "@import", "<link", "<iframe", "fetch(", "import("] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn thirty_trials_stay_below_two_hundred_kilobytes() {
    let mut fixture = Fixture::sweep();
    while fixture.entries.len() < 30 {
        fixture.push(5_000.0 + 100.0 * fixture.entries.len() as f64, |_| {});
    }
    let size = page(&fixture).len();
    assert!(size <= 200_000, "{size} bytes");
    let script = include_str!("script.js").len();
    assert!(script <= 10_240, "{script} bytes of script");
}

#[test]
fn a_thousand_trials_stay_below_two_megabytes() {
    let mut fixture = Fixture::new(|_| {});
    fixture.repeat(1_000);
    let page = page(&fixture);
    assert!(page.len() <= 2_000_000, "{} bytes", page.len());
    assert!(page.contains("<td>1000</td>"), "the table of trials holds the last one");
    assert!(words(&page).contains("trials are drawn"));
    if let Some(wanted) = std::env::var_os("REPORT_SAMPLE_THOUSAND") {
        fs::write(wanted, page).unwrap();
    }
}

#[test]
fn foreign_text_stays_text_wherever_it_comes_from() {
    let mut fixture = Fixture::new(|manifest| {
        manifest.experiment = HOSTILE.into();
        manifest.profile = Some(HOSTILE.into());
        manifest.set = vec![HOSTILE.into()];
        manifest.tool = HOSTILE.into();
        manifest.binaries.insert(HOSTILE.into(), HOSTILE.into());
    });
    fixture.push(2_400.0, |entry| {
        entry.reasons = vec![HOSTILE.into()];
        entry.findings = vec![HOSTILE.into()];
        entry.warnings = vec![HOSTILE.into()];
        entry.observed.as_mut().unwrap().cpu.insert(HOSTILE.into(), 0.5);
        entry.observed.as_mut().unwrap().limited_by = Some(HOSTILE.into());
    });
    let mut answer = fixture.answer(Verdict::NoAnswer);
    answer.summary = HOSTILE.into();
    answer.stopped_by = HOSTILE.into();
    answer.limited_by = Some(HOSTILE.into());
    answer.capacity.as_mut().unwrap().slo = HOSTILE.into();
    fixture.directory.write_answer(&answer).unwrap();
    let spec = format!("about: {HOSTILE}\n{HOSTILE}\n");
    fixture.directory.write("spec.yaml", spec.as_bytes()).unwrap();
    let mut environment = fixture.directory.environment().unwrap();
    environment.nodes[0].kernel = Some(HOSTILE.into());
    environment.roles.insert(HOSTILE.into(), HOSTILE.into());
    fixture.directory.write_environment(&environment).unwrap();

    let page = page(&fixture);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img") && !page.contains("onload='x'"));
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    assert!(20 <= page.matches("&lt;script&gt;alert(1)").count());
}

#[test]
fn an_empty_directory_has_a_page_that_says_so() {
    let words = words(&page(&Fixture::new(|_| {})));
    assert!(words.contains("… Unfinished"));
    assert!(words.contains("is based on 0 attempted trials so far"));
    assert!(words.contains("Nothing was measured yet."));
    assert!(words.contains("benchwright resume "));
}

#[test]
fn a_killed_run_shows_its_trials_and_states_that_they_are_not_a_result() {
    let mut fixture = Fixture::new(|_| {});
    fixture.unfinished_sweep();
    let so_far = fixture.answer(Verdict::Open);
    let page = render(&fixture.directory, Some(so_far)).unwrap();
    let words = words(&page);
    assert!(words.contains("… Unfinished") && words.contains("is not a result"));
    assert!(words.contains("so far"));
    assert_eq!(page.matches("<figure ").count(), 8);
}

#[test]
fn an_interrupted_run_shows_how_to_resume_it() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Interrupted);
    fixture.unfinished_sweep();
    fixture.directory.write_answer(&fixture.answer(Verdict::Interrupted)).unwrap();
    let words = words(&page(&fixture));
    assert!(words.contains("‖ Interrupted") && words.contains("benchwright resume "));
}

#[test]
fn a_finished_run_can_be_run_again_but_not_resumed() {
    let words = words(&page(&Fixture::sweep()));
    assert!(
        words.contains("/spec.yaml experiments/again.yaml\nbenchwright run experiments/again.yaml")
    );
    assert!(!words.contains("benchwright resume "));
}

#[test]
fn a_file_that_was_changed_is_named_and_costs_only_its_own_figures() {
    let mut fixture = Fixture::new(|_| {});
    fixture.push(2_400.0, |entry| {
        entry.files.insert("load.json".into(), "not its digest".into());
    });
    fixture.push(2_520.0, |_| {});
    let words = words(&page(&fixture));
    assert!(
        words.contains("✗ does not count: trial 1: load.json changed since it was measured"),
        "{words}"
    );
    assert!(words.contains(" 2,520 "));
}

#[test]
fn figures_that_are_odd_do_not_stop_a_report() {
    let mut fixture = Fixture::new(|_| {});
    fixture.push(100.0, |entry| {
        let observed = entry.observed.as_mut().unwrap();
        (observed.offered_per_s, observed.completed_per_s) = (0.0, 0.0);
        observed.p99_ns = Some(0);
    });
    let path = fixture.directory.trial_path(1).join("load.json");
    let mut load: results::Load = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for interval in &mut load.series {
        (interval.t_s, interval.length_s, interval.p99_ns) = (0.0, 0.0, Some(0));
    }
    load.total.response_time.as_mut().unwrap().histogram =
        serde_json::from_str(r#""no histogram""#).unwrap();
    fs::write(&path, serde_json::to_vec(&load).unwrap()).unwrap();
    let page = page(&fixture);
    // The page has a random path as well, in which these letters may follow each other.
    let figures: Vec<&str> = page.split("<figure ").skip(1).collect();
    assert!(!figures.is_empty(), "{page}");
    for figure in figures {
        let figure = figure.split("</figure>").next().unwrap();
        assert!(!figure.contains("NaN"), "{figure}");
    }
}

#[test]
fn equal_directories_have_equal_pages() {
    let fixture = Fixture::sweep();
    assert_eq!(page(&fixture), page(&fixture));
}

#[test]
fn thirty_four_components_are_shown_as_services() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    fixture.microservices = true;
    fixture.unfinished_sweep();
    fixture.directory.write_answer(&fixture.answer(Verdict::Answered)).unwrap();
    let page = page(&fixture);
    if let Some(wanted) = std::env::var_os("REPORT_SAMPLE_SERVICES") {
        fs::write(wanted, &page).unwrap();
    }
    let words = words(&page);
    let trials = &words[words.find("CPUs used   ").unwrap()..];
    assert!(trials.contains("frontend ×4  search ×4  7 others"));
    assert!(words.contains(" CPU geo ×4 ") && words.contains(" queued geo ×4 "));
    assert!(words.contains(" 4 others "));
    assert!(page.contains("CPUs used") && page.contains("requests queued"));
    assert!(page.len() <= 260_000, "{} bytes", page.len());
}

/// Checks the page of a results directory that a tool of version 1 wrote.
#[test]
fn a_directory_of_version_1_still_has_its_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/version1/hello");
    let directory = Directory::open(std::path::Path::new(path)).unwrap();
    let words = words(&render(&directory, None).unwrap());
    for said in [
        "✓ Answered",
        "maximum throughput 996/s; capacity 994/s with p99 ≤ 20 ms and failures ≤ 0.1 %",
        "benchwright.results version 1",
        "2 of 2 trials valid",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(!words.contains("not shown"), "{words}");
}

/// Checks the page of one of version 2, whose failures contain the requests without a response.
#[test]
fn a_directory_of_version_2_still_has_its_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/version2/overload");
    let directory = Directory::open(std::path::Path::new(path)).unwrap();
    let words = words(&render(&directory, None).unwrap());
    for said in ["benchwright.results version 2", "1 of 1 trials valid"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(!words.contains("not shown"), "{words}");
}

#[test]
fn a_load_that_was_given_shows_no_maximum_and_no_capacity() {
    let fixture = Fixture::sweep();
    let mut answer = fixture.answer(Verdict::Answered);
    let search = r#"{"strand": 1, "repetition": 1, "verdict": "answered", "fixed": true, "trials": 19,
        "maximum_throughput": null, "capacity": null, "stopped_by": "the load was measured"}"#;
    answer.searches = vec![serde_json::from_str(search).unwrap()];
    answer.summary = "RSD of p99 3.0 %, target 1 % missed".to_owned();
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    let words = words(&page);
    assert!(words.contains("RSD of p99 3.0 %, target 1 % missed"), "{words}");
    let searched =
        ["Maximum throughput", "Capacity under the SLO", "The search was", "No load met"];
    for sign in searched {
        assert!(!words.contains(sign), "{sign}");
    }
    assert!(words.contains("The load was given, so it shows no maximum."), "{words}");
    assert!(words.contains(" trials met the SLO with its limit of 100 ms."), "{words}");
    assert!(!page.contains("<div class=\"figures\">"));
    assert!(words.contains("Given load: trial 2 by the second"), "{words}");
}

#[test]
fn the_means_of_other_monitors_are_shown_by_trial() {
    let page = page(&Fixture::sweep());
    let figure = levels::figure(&page, "monitors");
    assert!(figure.contains("cpu namespace=ingress"), "{figure}");
    // A label is foreign text, and a monitor without values has a warning in its trials instead.
    assert!(
        figure.contains("cpu namespace=shop&lt;br&gt;") && !figure.contains("disk"),
        "{figure}"
    );
    let rows = levels::rows(figure);
    assert!(rows.lines().nth(1).unwrap().ends_with("0.060 | 0.410"), "{rows}");
}

#[test]
fn a_trial_of_which_a_file_cannot_be_read_does_not_count_in_the_report() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    let promised = |entry: &mut results::Entry| {
        entry.files.insert("load.json".into(), "its digest".into());
    };
    fixture.push(2_400.0, promised);
    fixture.push(2_520.0, |_| {});
    let answer = fixture.answer(Verdict::Answered);
    fixture.directory.write_answer(&answer).unwrap();
    let path = fixture.directory.trial_path(1).join("load.json");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let why = "trial 1: load.json cannot be read: not a regular file";
    let written = crate::write(&fixture.directory, None, None).unwrap();
    assert_eq!((written.unread, written.lacks_evidence), (vec![why.to_owned()], true));
    assert_eq!(written.problems, Vec::<String>::new());
    let words = words(&fs::read_to_string(written.path).unwrap());
    assert!(words.contains(&format!("✗ does not count: {why}")), "{words}");
    assert!(words.contains(&format!("no trustworthy answer: {why}")), "{words}");
    assert!(!words.contains("✓ Answered"), "{words}");

    // Nor does what is not of a trial pass silently.
    fs::remove_file(fixture.directory.path().join("environment.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", fixture.directory.path().join("environment.json"))
        .unwrap();
    let [problem] = &crate::write(&fixture.directory, None, None).unwrap().problems[..] else {
        panic!()
    };
    assert!(problem.ends_with("environment.json: a link, not a regular file"), "{problem}");
}

#[test]
fn a_page_without_a_spec_shows_no_answer() {
    let fixture = Fixture::sweep();
    let answered = words(&page(&fixture));
    assert!(answered.contains("✓ Answered"), "{answered}");
    let contents = "Before you share this page: it contains the experiment file, the description of the machine";
    assert!(answered.contains(contents), "{answered}");
    assert!(answered.contains("are not in it."), "{answered}");
    let why = "results/x/spec.yaml:1:1: it is empty";
    let (page, written) = compose(&fixture.directory, None, None, Some(why)).unwrap();
    assert_eq!(written.problems, [format!("the answer: {why}")]);
    assert!(written.lacks_evidence);
    let words = words(&page);
    assert!(words.contains(&format!("no trustworthy answer: {why}")), "{words}");
    assert!(words.contains(&format!("✗ not shown: the answer: {why}")), "{words}");
    assert!(words.contains("Not known any more") && !words.contains("✓ Answered"), "{words}");
    // A description of the machine that is gone is named, too.
    fs::remove_file(fixture.directory.path().join("environment.json")).unwrap();
    let problems = crate::write(&fixture.directory, None, None).unwrap().problems;
    assert!(problems[0].ends_with("environment.json: No such file or directory"), "{problems:?}");
}
