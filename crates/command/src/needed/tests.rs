use results::journal::Status;

use super::*;

fn strand(usual: Option<u64>) -> Strand {
    let trial = Nanos::from_secs(2);
    Strand::new(Outlined { fewest: 3, usual, most: 10, trial, ..Outlined::default() })
}

fn entry(purpose: &str, status: Status) -> Entry {
    let text = format!(
        r#"{{"trial": 1, "key": "", "purpose": "{purpose}", "asked_per_s": 5,
            "asked_per_target_per_s": 5, "repetition": 1, "attempt": 1, "seed": 7,
            "status": "{}", "reasons": [], "observed": null, "findings": [], "warnings": [],
            "files": {{}}}}"#,
        status.name()
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn trials_that_count_are_needed_no_more() {
    let mut strands = [strand(Some(6)), strand(Some(4))];
    let ended = [("trial", Status::Valid), ("probe", Status::Valid), ("trial", Status::Invalid)];
    for (purpose, status) in ended {
        strands[0].end(&entry(purpose, status));
    }
    assert_eq!(strands[0].done(), 1);
    let (time, longest) = (Nanos::from_secs(18), Nanos::from_secs(38));
    let expected = Needed { trials: 9, time, is_usual: true, most: 19, longest };
    assert_eq!(needed(strands.iter()), expected);
}

#[test]
fn what_is_usual_is_known_of_all_open_strands_or_of_none() {
    let mut strands = [strand(Some(6)), strand(None)];
    let fewest = needed(strands.iter());
    assert_eq!((fewest.trials, fewest.most, fewest.is_usual), (6, 20, false));
    strands[1].ending = Some(Ending::Answered("enough".to_owned()));
    let usual = needed(strands.iter());
    assert_eq!((usual.trials, usual.most, usual.is_usual), (6, 10, true));
}

#[test]
fn an_open_strand_needs_one_more_trial_than_it_has_up_to_its_most() {
    let mut open = strand(Some(6));
    for ended in 1..=10 {
        open.end(&entry("trial", Status::Valid));
        let needed = needed([&open].into_iter());
        assert!(needed.trials <= needed.most && needed.most == 10 - ended, "{needed:?}");
        assert_eq!(needed.trials == 0, ended == 10, "{needed:?}");
    }
}
