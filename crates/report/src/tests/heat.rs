use results::Load;

use super::levels::{figure, rows};
use super::*;

/// A directory with one trial, whose load's document was changed.
pub(super) fn changed(change: impl Fn(&mut Load)) -> String {
    let mut fixture = Fixture::new(|_| {});
    fixture.push(1_000.0, |_| {});
    let path = fixture.directory.trial_path(1).join("load.json");
    let mut load: Load = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut load);
    fs::write(&path, serde_json::to_vec(&load).unwrap()).unwrap();
    let so_far = fixture.answer(Verdict::Open);
    render(&fixture.directory, Some(so_far)).unwrap()
}

/// The numbers of responses in the rows of the table, each with its second.
fn sums(heat: &str) -> Vec<(String, u64)> {
    let rows = rows(heat);
    let row = |line: &str| {
        let mut cells = line.split(" | ").map(|cell| cell.replace(',', ""));
        (cells.next().unwrap(), cells.map(|cell| cell.parse::<u64>().unwrap()).sum())
    };
    rows.lines().skip(1).map(row).collect()
}

#[test]
fn the_map_has_every_response_of_every_second() {
    let page = changed(|_| {});
    let heat = figure(&page, "heat-maximum");
    let second = |number: u32| (number.to_string(), 1_000);
    assert_eq!(sums(heat), [0, 1, 2, 3, 4].map(second));
    assert!(heat.contains("5,000 requests ended, after "));
    assert!(heat.contains("A cell is 1.00 s wide and a quarter of an octave high"));
    // The legend has all colours, from the least to the most.
    let legend = heat.split("<ul class=\"legend\">").nth(1).unwrap();
    let colours: Vec<usize> =
        (1..=6).filter_map(|n| legend.find(&format!("heat h{n}\""))).collect();
    assert!(colours.len() == 6 && colours.is_sorted(), "{legend}");
    let strongest = heat.split("<ul").next().unwrap();
    assert!(strongest.contains("<path class=\"heat h1\"") && strongest.contains("heat h6\""));
}

/// The edges of the cells are no times that were measured, and a long drain is no column.
#[test]
fn the_map_is_described_by_its_requests() {
    let page = changed(|load| {
        let (mut times, mut drained) = (measure::Histogram::new(), measure::Histogram::new());
        [3, 7].iter().for_each(|ms| times.record(measure::Nanos::from_millis(*ms)));
        drained.record(measure::Nanos::from_secs(9));
        let none = measure::Histogram::new();
        load.series.iter_mut().for_each(|second| second.set_times(&times, &none));
        let (t_s, length_s) = (load.measured_s - 1e-9, 4.0);
        let mut drain = results::load::Interval { t_s, length_s, ..Default::default() };
        drain.set_times(&drained, &none);
        load.series.push(drain);
    });
    let heat = figure(&page, "heat-maximum");
    assert!(heat.contains("10 requests ended, after 3.00 ms to 7.00 ms."), "{heat}");
    assert_eq!(sums(heat).len(), 5);
}

#[test]
fn events_are_marked_above_the_map_where_they_cover_nothing() {
    let page = changed(|_| {});
    let heat = figure(&page, "heat-maximum");
    let strip =
        "<rect class=\"strip c2\" x=\"158.0\" y=\"19.0\" width=\"96.0\" height=\"6\"><title>Pod";
    assert!(heat.contains(strip), "{heat}");
    assert!(heat.contains("1 event marked above the map."));
}

#[test]
fn many_intervals_share_columns() {
    let page = changed(|load| {
        let first = load.series[0].clone();
        load.measured_s = 250.0;
        let at = |second: u32| results::load::Interval { t_s: second.into(), ..first.clone() };
        load.series = (0..250).map(at).collect();
    });
    let heat = figure(&page, "heat-maximum");
    assert!(heat.contains("A cell is 3.00 s wide"));
    let sums = sums(heat);
    assert_eq!(sums.len(), 84, "250 seconds in threes");
    assert_eq!((&sums[0], &sums[83]), (&("0".into(), 3_000), &("249".into(), 1_000)));
}

#[test]
fn a_document_without_histograms_of_its_intervals_has_no_map() {
    let page = changed(|load| load.series[2].response_histogram = None);
    assert!(page.contains("id=\"seconds-maximum\"") && !page.contains("id=\"heat-maximum\""));
}
