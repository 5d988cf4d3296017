//! The report of an experiment on events: it is about their delivery.

use expect_test::expect;
use results::journal::{Delivery, Entry};
use results::repetitions;

use super::levels::{figure, rows};
use super::*;

/// Four trials at each of two stages. The spread of the second is far smaller, which four trials cannot show. One event
/// was delivered twice.
fn stages() -> Fixture {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    for turn in 0..4_u64 {
        for (strand, stage, spread) in [(1, "none", 60_000), (2, "pinned", 2_000)] {
            let off = spread * [0, 3, 1, 2][turn as usize];
            fixture.push(500.0, |entry: &mut Entry| {
                entry.cell = Some(format!("hardening={stage}"));
                entry.strand = Some(strand);
                let observed = entry.observed.as_mut().unwrap();
                observed.requests = 2_500;
                observed.delivery = Some(Delivery {
                    p50_ns: Some(132_000_000 + off),
                    p90_ns: Some(225_000_000 + off),
                    p99_ns: Some(250_000_000 + 20 * off),
                    p999_ns: Some(251_000_000 + 20 * off),
                    p9999_ns: Some(252_000_000 + 20 * off),
                    duplicated: u64::from(turn == 2 && strand == 1),
                    timer_ns: Some(250_000_000),
                    ..Delivery::default()
                });
            });
        }
    }
    fixture
}

fn report() -> String {
    let fixture = stages();
    let reproducibility = repetitions::of(&fixture.entries, &[], None, None);
    let between_levels = repetitions::levels::of(&fixture.entries, 0.05);
    let answer = fixture.answer(Verdict::Answered);
    let answer = results::Answer { reproducibility, between_levels, ..answer };
    render(&fixture.directory, Some(answer)).unwrap()
}

#[test]
fn a_report_on_events_is_about_their_delivery_and_has_a_table_for_each_stage() {
    let page = report();
    assert!(figure(&page, "trials").contains("p99 delivery time"));
    let tables = page.split("<h2>Delivery times by trial</h2>").nth(1).unwrap();
    let second = tables.split("<h3>hardening=pinned</h3>").nth(1).unwrap();
    expect![[r#"
        trial | p50 | p99 | p99.9 | p99.99 | lost | twice | 
        2 | 132.000 | 250.000 | 251.000 2 beyond | 252.000 0 beyond | 0 | 0
        4 | 132.006 | 250.120 | 251.120 2 beyond | 252.120 0 beyond | 0 | 0
        6 | 132.002 | 250.040 | 251.040 2 beyond | 252.040 0 beyond | 0 | 0
        8 | 132.004 | 250.080 | 251.080 2 beyond | 252.080 0 beyond | 0 | 0
    "#]]
    .assert_eq(&rows(second));
    let spread = rows(figure(&page, "spread"));
    let of_none: Vec<&str> =
        spread.lines().filter(|line| line.contains("delivery p99")).take(3).collect();
    expect![[r#"
        hardening=none · 500/s | delivery p99 | 4 | 252 ms | 0.62 % | 0.35 % | 2.29 % | 0.92 % | 0.75 % | 0.750 | +0.28 % |  | 
        hardening=none · 500/s | delivery p99.9 | 4 | – needs 20 s at 500/s | – | – | – | – | – | – | – | – | –
        hardening=none · 500/s | delivery p99.99 | 4 | – needs 200 s at 500/s | – | – | – | – | – | – | – | – | –"#]].assert_eq(&of_none.join("\n"));
}

#[test]
fn the_map_has_a_column_for_each_trial_those_of_a_stage_side_by_side() {
    let fixture = stages();
    let mut given = fixture.answer_of_levels(Verdict::Answered);
    given.searches.iter_mut().for_each(|search| search.fixed = true);
    let page = render(&fixture.directory, Some(given)).unwrap();
    let heat = figure(&page, "heat-trials");
    let rows = rows(heat);
    let trials: Vec<&str> =
        rows.lines().skip(1).filter_map(|row| Some(row.split_once(" | ")?.0)).collect();
    assert_eq!(trials, ["1", "3", "5", "7", "2", "4", "6", "8"]);
    assert!(heat.contains("The times of 8 valid trials of 2 levels, a column for each."), "{heat}");
    assert!(heat.contains(" % in a cell"), "{heat}");
}

#[test]
fn what_was_lost_and_what_came_twice_is_said_in_words() {
    let badge = "of 20,000 events none lost, 1 delivered twice, none overtaken by a later one";
    let words = words(&report());
    assert!(words.contains(badge), "{words}");
    assert!(words.contains("flat to 250 ms: a timer"), "{words}");
}

#[test]
fn the_stages_stand_side_by_side() {
    let page = report();
    let section = page.split("<h2>Between the levels</h2>").nth(1).unwrap();
    let list = section.split("</ul>").next().unwrap();
    expect![[r#"

        <ul>
        <li>delivery p50: the RSD is 0.06 % (0.03 … 0.22 %) at none, 0.00 % (0.00 … 0.01 %) at pinned. No difference is shown: none → pinned (RSD × 0.03, p = 0.1000).</li>
        <li>delivery p90: the RSD is 0.03 % (0.02 … 0.13 %) at none, 0.00 % (0.00 … 0.00 %) at pinned. No difference is shown: none → pinned (RSD × 0.03, p = 0.1000).</li>
        <li>delivery p99: the RSD is 0.62 % (0.35 … 2.29 %) at none, 0.02 % (0.01 … 0.08 %) at pinned. No difference is shown: none → pinned (RSD × 0.03, p = 0.1000).</li>
        <li>! delivery p99.9 of 2,500 requests rests on 2.5 beyond it: it is unsupported, at least 10 are needed for an indication (10,000 requests); that takes 20 s</li>
        <li>! delivery p99.99 of 2,500 requests rests on 0.3 beyond it: it is unsupported, at least 10 are needed for an indication (100,000 requests); that takes 200 s</li>
    "#]].assert_eq(list);
    expect![[r#"
        metric | from | to | ratio | interval from | to | level | RSD × | p | p (F) | p (B.-F.) | spread | 
        delivery p50 | none | pinned | 0.999 | 0.998 | 1.000 | equivalent | 0.03 | 0.1000 decides | 0.0001 | 0.0155 | ? no difference shown
        delivery p90 | none | pinned | 1.000 | 0.999 | 1.000 | equivalent | 0.03 | 0.1000 decides | 0.0001 | 0.0155 | ? no difference shown
        delivery p99 | none | pinned | 0.993 | 0.983 | 1.003 | equivalent | 0.03 | 0.1000 decides | 0.0001 | 0.0155 | ? no difference shown
    "#]].assert_eq(&rows(section));
    assert!(!self::page(&Fixture::sweep()).contains("Between the levels"));
}
