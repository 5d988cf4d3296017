use std::collections::BTreeMap;

use expect_test::expect;
use results::at_load::{self, Conclusion};
use results::journal::Entry;
use results::slo::{self, Slo};

use super::levels::{figure, panels, rows, titled};
use super::*;
use crate::fixture::PATH;
use crate::text;

/// One finished search for a capacity.
fn one(change: impl Fn(&mut Entry)) -> Fixture {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    fixture.search(change);
    fixture.directory.write_answer(&fixture.answer_of_searches(&[3_500.0])).unwrap();
    fixture
}

/// Three equal searches.
fn three() -> Fixture {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    for strand in 1..=3 {
        fixture.search(|entry| entry.strand = Some(strand));
    }
    let answer = fixture.answer_of_searches(&[3_500.0, 3_600.0, 3_700.0]);
    fixture.directory.write_answer(&answer).unwrap();
    fixture
}

#[test]
fn the_path_of_a_search_has_each_trial_with_the_bounds_that_were_known_before_it() {
    let page = page(&one(|_| {}));
    let path = figure(&page, "path");
    expect![[r#"
        trial | asked /s | reason | SLO | lower bound /s | upper bound /s | 
        1 | 2,000 | a new load | ✓ met | – | –
        2 | 4,000 | a new load | ✗ missed | 2,000 | –
        3 | 4,000 | not decided yet | ✗ missed | 2,000 | –
        4 | 2,828 | a new load | ✓ met | 2,000 | 4,000
        5 | 3,200 | a new load | not valid | 2,828 | 4,000
        6 | 3,200 | a new load | ✓ met | 2,828 | 4,000
        7 | 3,500 | a new load | ✓ met | 3,200 | 4,000
        8 | 3,500 | a bound of the answer | ✓ met | 3,500 | 4,000
    "#]]
    .assert_eq(&rows(path));
    let said = "8 trials; the capacity lies between 3,500 and 3,570/s. Each mark is a trial";
    assert!(path.contains(said), "{path}");
    let all = panels(path);
    assert_eq!(
        all.iter().map(|(title, _)| *title).collect::<Vec<_>>(),
        ["all loads", "near the answer"]
    );
    assert_eq!(titled(all[0].1).len(), PATH.len());
    // Loads that are far from the answer are not drawn near it.
    assert_eq!(titled(all[1].1), [5, 6, 7, 8].into());
}

#[test]
fn the_outcome_of_a_trial_is_a_shape_and_a_word() {
    let page = page(&one(|_| {}));
    let path = panels(figure(&page, "path"))[0].1.to_owned();
    let shape = |class: &str, outcome: &str| {
        let class = format!("class=\"{class} ");
        let marks = path.split(&class).skip(1);
        marks.filter(|mark| mark.split("</title>").next().unwrap().ends_with(outcome)).count()
    };
    assert_eq!(shape("disc", "SLO met"), 5);
    assert_eq!(shape("ring", "SLO missed"), 2);
    assert_eq!(shape("cross", "not valid"), 1);
}

#[test]
fn the_bounds_are_those_of_the_journal_and_of_the_answer() {
    let without = |entry: &mut Entry| entry.bounds = None;
    let (with, without) = (page(&one(|_| {})), page(&one(without)));
    let areas = |page: &str| figure(page, "path").matches("class=\"area").count();
    assert_eq!((areas(&with), areas(&without)), (3, 3), "the answer, in two plots and the legend");
    let said = "This journal does not contain the bounds before each trial.";
    assert!(!with.contains(said) && without.contains(said));
}

#[test]
fn equal_searches_are_in_one_plot_with_their_median_and_interval() {
    let page = page(&three());
    let path = figure(&page, "path");
    let said =
        "24 trials in 3 equal searches; median capacity 3,600/s; 95 % interval 3,400 … 3,800/s";
    assert!(path.contains(said), "{path}");
    // One band for each search, and one mark for each of their capacities, in both plots.
    assert_eq!(path.matches("class=\"area").count(), 2 * 3 + 1, "and one in the legend");
    assert_eq!(path.matches(": capacity 3,600/s</title>").count(), 2);
    assert_eq!(path.matches("<tr data-x=").count(), 24);
}

#[test]
fn the_bounds_are_a_band_in_the_plot_of_the_p99() {
    let page = page(&one(|_| {}));
    let p99 = figure(&page, "p99");
    // In the logarithmic and in the linear plot.
    assert_eq!(p99.matches("<title>the capacity: 3,500 … 3,570/s</title>").count(), 2);
    assert!(p99.contains("</svg>between the bounds of the capacity</span></li>"));
    // Two loads have two trials each whose median lies between them.
    assert!(p99.contains("</svg>median of a load</span></li>"));
}

/// Returns the labels below the places of a plot.
fn places(panel: &str) -> Vec<&str> {
    let texts = panel.split("class=\"place mid\"").skip(1);
    texts.map(|rest| rest.split('>').nth(1).unwrap().split('<').next().unwrap()).collect()
}

/// A probe is trial 1, so the first trial of the search is trial 2 everywhere.
#[test]
fn a_trial_has_the_number_of_the_journal_below_its_mark_too() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    fixture.push(3_900.0, |entry| entry.purpose = results::journal::Purpose::Probe);
    fixture.search(|_| {});
    fixture.directory.write_answer(&fixture.answer_of_searches(&[3_500.0])).unwrap();
    let page = page(&fixture);
    let all = panels(figure(&page, "path"))[0].1;
    assert_eq!(titled(all), (2..=9).collect());
    assert_eq!(places(all), ["2", "3", "4", "5", "6", "7", "8", "answer"]);
    // Those of several searches share their places.
    let page = super::page(&three());
    let all = panels(figure(&page, "path"))[0].1;
    assert!(all.contains("place in each search, from 1"), "{all}");
    assert_eq!(places(all).first(), Some(&"1"));
}

#[test]
fn a_load_above_the_maximum_has_the_number_of_its_trial() {
    let page = page(&Fixture::sweep());
    let completed = figure(&page, "completed");
    let notes = completed.split("class=\"note mid\"").skip(1);
    let notes = notes.map(|rest| rest.split('>').nth(1).unwrap().split('<').next().unwrap());
    let numbers: Vec<u32> = notes.filter_map(|note| note.parse().ok()).collect();
    assert!(
        !numbers.is_empty() && numbers.iter().all(|n| titled(completed).contains(n)),
        "{numbers:?}"
    );
    assert!(numbers.iter().all(|number| 12 < *number), "those after the maximum's: {numbers:?}");
}

/// The range ended below the capacity: neither the figure nor the path takes its end for the capacity.
#[test]
fn a_search_that_found_only_a_bound_says_so() {
    let fixture = one(|_| {});
    let mut answer = fixture.answer_of_searches(&[3_500.0]);
    let search = &mut answer.searches[0];
    (search.verdict, search.upper) = (Verdict::NoAnswer, None);
    for capacity in [&mut search.capacity, &mut answer.capacity].into_iter().flatten() {
        (capacity.rate_per_s, capacity.at_least, capacity.missed_at_per_s) = (3_500.0, true, None);
    }
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    assert!(page.contains("<p class=\"big\">at least 3,500/s <span>asked for</span></p>"));
    assert!(figure(&page, "path").contains("8 trials; the capacity is at least 3,500/s."));
    assert!(!page.contains(">capacity 3,500/s<"), "no line of a figure has it without the words");
    // No load met the SLO: the lowest that missed it is a bound, too.
    let search = &mut answer.searches[0];
    (search.verdict, search.capacity, search.lower) = (Verdict::No, None, None);
    (search.upper, answer.capacity) = (Some(2_000.0), None);
    fixture.directory.write_answer(&answer).unwrap();
    assert!(self::page(&fixture).contains("<p class=\"big\">at most 2,000/s</p>"));
}

/// Two of three equal searches were cut: what the third found is not their median.
#[test]
fn equal_searches_with_bounds_have_a_median_that_is_a_bound() {
    let fixture = three();
    let mut answer = fixture.answer_of_searches(&[3_500.0, 3_600.0, 3_700.0]);
    for search in &mut answer.searches[1..] {
        (search.verdict, search.upper) = (Verdict::NoAnswer, None);
        search.capacity.as_mut().unwrap().at_least = true;
    }
    answer.searches.iter_mut().for_each(|search| search.interval = None);
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    assert!(figure(&page, "path").contains("; median capacity at least 3,600/s"), "{page}");
    let verdict = page.split("<section class=\"verdict").nth(1).unwrap();
    expect![[r#"
         | maximum throughput | capacity
         | median | least | most | of | median | least | most | of | 
        ✓ answered 1, ! no answer 2 | – | – | – | 0 | at least 3,600 trial 24 | 3,500 trial 24 | at least 3,700 trial 24 | 3
         | stopped by: the bounds are 2 % apart
    "#]].assert_eq(&rows(verdict.split("</section>").next().unwrap()));
}

#[test]
fn a_sweep_has_no_path() {
    assert!(!page(&Fixture::sweep()).contains("id=\"path\""));
}

/// Trials that are too short for a verdict each are judged together, and every part of the page says so.
#[test]
fn the_parts_of_a_page_say_the_same_of_each_trial() {
    for seed in 0..12 {
        let mut random = measure::Random::new(seed);
        let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
        fixture.search(|_| {});
        for entry in &mut fixture.entries {
            let mut objective = |quantile: f64| {
                let quantile = measure::Quantile::new(quantile).unwrap();
                let slo = Slo::ResponseTime { quantile, max: measure::Nanos::from_millis(100) };
                let over = ((1.0 - quantile.level()) * 1_500.0 * random.unit()) as u64;
                let (of, verdict) = (1_000, slo::Verdict::Undecided);
                let met = over as f64 <= (1.0 - quantile.level()) * 1_000.0 + 1e-9;
                let text = String::new();
                let (over_at_least, reached_ns) = (over, None);
                slo::Judged { slo, over, over_at_least, of, reached_ns, verdict, met, text }
            };
            entry.slo = vec![objective(0.99), objective(0.95)];
            let met = entry.slo.iter().all(|judged| judged.met);
            entry.observed.as_mut().unwrap().slo_met = Some(met);
        }
        let lines: Vec<String> =
            fixture.entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        fs::write(fixture.directory.path().join("journal.jsonl"), lines.join("\n") + "\n").unwrap();
        let page = page(&fixture);
        let conclusions = at_load::conclusions(&fixture.entries);
        let said = |id: &str, column: usize| -> BTreeMap<u32, String> {
            let table = rows(figure(&page, id));
            let row = |row: &str| {
                let cells: Vec<&str> = row.split(" | ").collect();
                (cells[0].parse().unwrap(), cells[column].to_owned())
            };
            table.lines().skip(1).map(row).collect()
        };
        let mark = |trial: u32| conclusions.get(&trial).map_or("not valid", |of| text::mark(*of));
        let wanted: BTreeMap<u32, String> =
            (1..=8).map(|trial| (trial, mark(trial).to_owned())).collect();
        assert_eq!(said("path", 3), wanted, "seed {seed}");
        assert_eq!(said("p99", 6), wanted, "seed {seed}");
        let missed = conclusions.values().filter(|of| **of == Conclusion::Missed).count();
        let trials = page.split("<h2>Trials</h2>").nth(1).unwrap();
        assert_eq!(trials.matches("SLO missed").count(), missed, "seed {seed}");
    }
}
