use measure::Nanos;
use results::journal::Status;

use super::levels::{figure, rows};
use super::*;

/// A load with three valid trials and one that is not, and a higher one.
fn page_of_equal() -> (Vec<u64>, String) {
    let mut fixture = Fixture::new(|_| {});
    for turn in 0..4 {
        fixture.push(1_000.0, |entry| {
            if turn == 3 {
                entry.status = Status::Invalid;
                entry.observed.as_mut().unwrap().p99_ns = Some(1);
            }
        });
    }
    fixture.push(2_000.0, |_| {});
    let valid = fixture.entries.iter().take(3);
    let times = valid.map(|entry| entry.observed.as_ref().unwrap().p99_ns.unwrap()).collect();
    let so_far = fixture.answer(Verdict::Open);
    (times, render(&fixture.directory, Some(so_far)).unwrap())
}

#[test]
fn a_band_is_from_the_least_to_the_most_of_the_equal_valid_trials() {
    let (times, page) = page_of_equal();
    let percentiles = figure(&page, "percentiles");
    let (least, most) = (*times.iter().min().unwrap(), *times.iter().max().unwrap());
    let rows = rows(percentiles);
    let p99 = rows.lines().find(|line| line.starts_with("p99 ")).unwrap();
    let band = format!("{} … {}", Nanos(least), Nanos(most));
    assert_eq!(p99.matches('…').count(), 1, "only the load with several trials: {p99}");
    assert!(least < most && p99.contains(&band), "{band}: {p99}");
    // In the logarithmic plot, in the linear one, and in the legend.
    assert_eq!(percentiles.matches("class=\"area c").count(), 3);
    assert!(percentiles.contains("from the least to the most of all valid trials"));
}

#[test]
fn trials_without_an_equal_have_no_band() {
    let page = page(&Fixture::sweep());
    let percentiles = figure(&page, "percentiles");
    assert!(!percentiles.contains("class=\"area") && !percentiles.contains("from the least to"));
}
