use super::*;

#[test]
fn a_rate_is_missed_only_if_chance_does_not_explain_it() {
    let rate = |share| Rate {
        what: "compare".to_owned(),
        share,
        replications: 10_000,
        goal: Goal::at_most(0.055, 0.05),
        seeds: vec![3, 19],
    };
    assert!(rate(0.05).is_met() && rate(0.06).is_met() && !rate(0.07).is_met());
    let line = "compare: 6.00 % ± 0.71, must ≤ 0.055 missed, stretch ≤ 0.05 missed; seeds 3, 19";
    assert_eq!(rate(0.06).to_string(), line);
}

#[test]
fn the_seeds_of_the_rarer_result_are_printed() {
    let extent = Extent { first: 0, replications: 100, ..QUICK };
    let rate = share("few".to_owned(), extent, Goal::None, |random| random.unit() < 0.1);
    assert!(rate.share < 0.5);
    for seed in &rate.seeds {
        assert!(Random::new(*seed).unit() < 0.1);
    }
    let rate = share("many".to_owned(), extent, Goal::None, |random| random.unit() < 0.9);
    assert!(0.5 < rate.share);
    for seed in &rate.seeds {
        assert!(0.9 <= Random::new(*seed).unit());
    }
}

#[test]
fn the_quick_form_meets_every_goal() {
    assert_eq!(run(&["method", "--quick"]), Some(true));
    assert!(run(&["method", "--seed", "7"]).is_some());
    assert_eq!(run(&["method", "--seed", "x"]), None);
}
