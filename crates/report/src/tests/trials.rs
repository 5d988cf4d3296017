use expect_test::expect;
use results::journal::Status;

use super::levels::{figure, rows, titled};
use super::*;

/// Two loads with trials enough, one of which is not valid, and one with too few.
fn repeated() -> Fixture {
    let mut fixture = Fixture::new(|_| {});
    for turn in 0..6 {
        fixture.push(1_000.0, |entry| {
            if turn == 3 {
                entry.status = Status::Invalid;
            }
        });
        fixture.push(2_000.0, |_| {});
        if turn < 2 {
            fixture.push(500.0, |_| {});
        }
    }
    fixture
}

#[test]
fn equal_trials_are_dots_in_the_order_in_which_they_ran() {
    let page = page(&repeated());
    let trials = figure(&page, "trials");
    expect![[r#"
        load | trial | p99 | median p99 | completed /s | median completed /s |  | 
        1,000/s | 1 | 1.97 ms | 1.96 ms | 1,000 | 1,000 | 
        1,000/s | 4 | 1.96 ms | 1.96 ms | 1,000 | 1,000 | 
        1,000/s | 7 | 2.07 ms | 1.96 ms | 1,000 | 1,000 | 
        1,000/s | 9 | 2.06 ms | 1.96 ms | 1,000 | 1,000 | not valid
        1,000/s | 11 | 1.95 ms | 1.96 ms | 1,000 | 1,000 | 
        1,000/s | 13 | 1.89 ms | 1.96 ms | 1,000 | 1,000 | 
        2,000/s | 2 | 2.86 ms | 2.93 ms | 2,000 | 2,000 | 
        2,000/s | 5 | 2.95 ms | 2.93 ms | 2,000 | 2,000 | 
        2,000/s | 8 | 2.96 ms | 2.93 ms | 2,000 | 2,000 | 
        2,000/s | 10 | 2.81 ms | 2.93 ms | 2,000 | 2,000 | 
        2,000/s | 12 | 2.95 ms | 2.93 ms | 2,000 | 2,000 | 
        2,000/s | 14 | 2.91 ms | 2.93 ms | 2,000 | 2,000 | 
    "#]]
    .assert_eq(&rows(trials));
    let plots: Vec<&str> = trials.split("<svg viewBox=\"0 0 560").skip(1).collect();
    let drawn: Vec<usize> = plots.iter().map(|plot| titled(plot).len()).collect();
    assert_eq!(drawn, [12, 12], "p99 and completed");
    for plot in plots {
        let positions: Vec<f64> = plot
            .split("<circle class=\"disc c1\" cx=\"")
            .skip(1)
            .filter(|mark| mark.contains("<title>"))
            .map(|mark| mark.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!(positions.len() == 11 && positions.is_sorted(), "{positions:?}");
        // Both loads have a median, and the one with six valid trials has its interval, too.
        assert_eq!(plot.split("<ul").next().unwrap().matches("class=\"line c3").count(), 2);
        assert_eq!(plot.matches("class=\"area c3").count(), 1);
    }
}

#[test]
fn a_trial_that_is_not_valid_is_drawn_and_not_in_the_median() {
    let page = page(&repeated());
    let trials = figure(&page, "trials");
    assert!(trials.contains("not valid, or slowed: not in the median"));
    assert_eq!(trials.matches("<path class=\"cross c2\"").count(), 2 + 1, "two plots, the legend");
}

#[test]
fn loads_that_were_measured_once_are_not_compared() {
    assert!(!page(&Fixture::sweep()).contains("<figure id=\"trials\""));
}

#[test]
fn many_trials_of_many_loads_are_thinned_and_counted() {
    let mut fixture = Fixture::new(|_| {});
    fixture.repeat(900);
    let path = fixture.directory.path().join("journal.jsonl");
    let mut lines = String::new();
    for (index, entry) in fixture.entries.iter_mut().enumerate() {
        entry.asked_per_s = Some(1_000.0 + (index / 9) as f64);
        entry.asked_per_target_per_s = entry.asked_per_s;
        lines += &(serde_json::to_string(entry).unwrap() + "\n");
    }
    fs::write(path, lines).unwrap();
    let page = page(&fixture);
    let trials = figure(&page, "trials");
    assert!(trials.contains("at 40 loads with at least 3 valid ones."));
    assert!(trials.contains("60 loads between these are not drawn."), "{trials}");
    assert!(trials.contains("The loads are numbered; the table names them."));
    assert!(trials.contains("Some of 360 trials; the table of trials has all."));
}
