use super::*;

#[test]
fn a_bound_is_met_by_a_figure_equal_to_it() {
    let ratio = Goal::at_least(1.3, 1.5);
    assert!(ratio.is_met(1.3) && !ratio.is_met(1.299));
    assert_eq!(ratio.verdict(1.3), "must ≥ 1.3 met, stretch ≥ 1.5 missed");
    assert_eq!(ratio.verdict(1.5), "must ≥ 1.3 met, stretch ≥ 1.5 met");
    let lateness = Goal::at_most(10.0, 2.0);
    assert!(lateness.is_met(10.0) && !lateness.is_met(10.1));
    assert_eq!(lateness.verdict(2.5), "must ≤ 10 met, stretch ≤ 2 missed");
    let oha = Goal::least(3.0);
    assert_eq!(oha.verdict(2.0), "must ≥ 3 missed");
    assert!(Goal::None.is_met(0.0));
}

#[test]
fn a_finding_is_judged_by_its_median() {
    let finding = Finding {
        what: "nginx".to_owned(),
        figures: vec![0.9, 1.1, 1.2],
        beside: String::new(),
        goal: Goal::at_least(1.0, 1.15),
    };
    let text = "nginx: median 1.100 (0.900 … 1.200): must ≥ 1 met, stretch ≥ 1.15 missed";
    assert_eq!(finding.to_string(), text);
    assert!(!Finding { figures: vec![0.9, 0.9, 1.2], ..finding }.is_met());
}
