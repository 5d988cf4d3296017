use super::*;

#[test]
fn a_quick_run_needs_only_what_the_distribution_has() {
    let rows: Vec<&str> =
        ROWS.iter().filter(|row| Extent::QUICK.holds(row)).map(|row| row.group).collect();
    assert_eq!(rows, ["wrk", "nginx", "script"]);
    let only = Extent { only: Some("k6".to_owned()), ..Extent::QUICK };
    assert_eq!(ROWS.iter().filter(|row| only.holds(row)).count(), 1);
}

#[test]
fn a_peer_without_a_registry_or_without_a_goal_may_be_missing() {
    let may = |group: &str| ROWS.iter().find(|row| row.group == group).unwrap().may_be_missing();
    assert!(may("vegeta") && may("io"));
    assert!(!may("k6") && !may("wrk"));
}

#[test]
fn the_rows_in_which_the_other_was_better_are_named() {
    let finding = |what: &str, figures: &[f64]| Finding {
        what: what.to_owned(),
        figures: figures.to_vec(),
        beside: String::new(),
        goal: Goal::None,
    };
    let findings = [finding("a", &[0.9, 0.99, 1.2]), finding("b", &[1.0])];
    assert_eq!(better(&findings), "Theirs was better in the median: a.");
    assert_eq!(better(&findings[1..]), "Theirs was better in the median: in no row.");
}

#[test]
fn a_side_that_reports_more_or_much_less_than_the_server_saw_is_refused() {
    let agrees = |completed, seen| agree("k6", completed, Some(seen), 64).is_ok();
    assert!(agrees(1000.0, 1000.0) && agrees(1000.0, 1074.0));
    assert!(!agrees(1000.0, 999.0) && !agrees(1000.0, 1075.0) && !agrees(0.0, 0.0));
    assert!(agree("k6", 1000.0, None, 64).is_ok(), "nginx does not report it");
}
