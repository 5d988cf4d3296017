//! Runs of more trials than a reader looks at one by one.

use super::*;

/// The part of a page between a heading and the end of its section.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let section = page.split(&format!("<h2>{heading}</h2>")).nth(1).unwrap();
    section.split("</section>").next().unwrap()
}

#[test]
fn of_many_trials_those_behind_the_answer_come_first_and_the_others_on_demand() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    fixture.repeat(200);
    let answer = fixture.answer(Verdict::Answered);
    let [maximum, capacity] = [
        answer.maximum_throughput.as_ref().unwrap().trial,
        answer.capacity.as_ref().unwrap().trial,
    ];
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    let trials = section(&page, "Trials");
    let (open, folded) = trials.split_once("<details>").unwrap();
    assert!(open.contains("The trials on which the answer rests, and those that are not valid."));
    let row = |number: u32| format!("<td>{number}</td><td class=\"words\">");
    for number in [maximum, capacity] {
        assert!(open.contains(&row(number)), "{number}");
    }
    assert!(
        open.matches("<tr").count() < 60 && !open.contains(&row(100)),
        "{}",
        open.matches("<tr").count()
    );
    assert!(folded.starts_with("<summary>All 200 trials</summary>"));
    assert!((1..=200).all(|number| folded.contains(&row(number))));
    assert!(page.len() < 600_000, "{} bytes", page.len());
    if let Some(wanted) = std::env::var_os("REPORT_SAMPLE_MANY") {
        fs::write(wanted, page).unwrap();
    }
}

#[test]
fn few_trials_are_all_on_the_page_with_status_and_p99_first() {
    let page = page(&Fixture::sweep());
    let trials = section(&page, "Trials");
    assert!(!trials.contains("All "));
    let columns = trials.split("<thead>").nth(1).unwrap().split("</thead>").next().unwrap();
    let named: Vec<&str> =
        columns.split("<th").skip(1).map(|th| th.split(['>', '<']).nth(1).unwrap()).collect();
    assert_eq!(named[..5], ["trial", "status", "offered", "p99", "completed"]);
}
