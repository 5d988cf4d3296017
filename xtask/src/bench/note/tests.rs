use super::*;
use crate::bench::goal::Goal;

#[test]
fn a_section_has_a_line_for_each_finding_and_every_attempt_in_it() {
    let finding = Finding {
        what: "wrk, nginx".to_owned(),
        figures: vec![1.25, 1.5, 1.0],
        beside: "250 k and 200 k".to_owned(),
        goal: Goal::at_least(1.0, 1.3),
    };
    let expected = "## Ratios

| what | median (range) | goal | other figures | each |
|---|---|---|---|---|
| wrk, nginx | median 1.250 (1.000 … 1.500) | must ≥ 1 met, stretch ≥ 1.3 missed | 250 k and 200 k | 1.250 1.500 1.000 |

Nothing else.
";
    assert_eq!(section("Ratios", &[finding], &["Nothing else.".to_owned()]), expected);
}
