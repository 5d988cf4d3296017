use super::*;
use crate::for_tests::ran;

const QUEUE: &str = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms, distribution: exponential, servers: 2}
workload: {get: /}
load: {model: open, rate: 600/s}
phases: {warm_up: {fixed: 1s}, measure: {time: 5s}, drain: 100ms}
slo: [{metric: p99, max: 30ms}]
";

fn advised(rest: &str) -> Vec<(Code, Option<String>)> {
    let past = ran(&format!("{QUEUE}{rest}"));
    of(&past, &past.answer()).into_iter().map(|advice| (advice.code, advice.change)).collect()
}

fn versions(slower: &str, rest: &str) -> String {
    format!("factors: {{time: {{path: simulated.service_time, levels: [1ms, {slower}]}}}}\n{rest}")
}

#[test]
fn a_run_without_weaknesses_gets_no_advice() {
    assert_eq!(advised(""), []);
}

/// No setting helps while nothing succeeds.
#[test]
fn a_service_that_fails_at_every_load_is_to_be_changed_first() {
    let past = ran(QUEUE);
    let mut answer = past.answer();
    for entry in &mut answer.trials {
        let observed = entry.observed.as_mut().unwrap();
        (observed.failures, observed.unfinished) = (observed.requests, Some(0));
    }
    let advice = of(&past, &answer);
    assert_eq!(advice[0].code, Code::Failing, "{advice:?}");
    assert!(advice[0].text.contains("failed"), "{advice:?}");
}

/// Whoever follows the advice gets a verdict soon. The noise is estimated from few blocks, so that the
/// first advice need not be the last.
#[test]
fn an_undecided_comparison_gets_as_many_trials_as_it_needs() {
    let mut trials = 4;
    let mut advice = 0;
    while advice < 5 {
        let repeat = format!("repeat: {{trials: {trials}, order: {{blocks: 4}}}}");
        let found = advised(&versions("1.05ms", &format!("{repeat}\ncompare: {{}}\n")));
        let change = found.into_iter().find(|(code, _)| *code == Code::MoreBlocks);
        let Some((_, change)) = change else { break };
        let next = change.unwrap().strip_prefix("repeat.trials=").unwrap().parse().unwrap();
        assert!(trials < next, "{trials} → {next}");
        (trials, advice) = (next, advice + 1);
    }
    assert!((1..5).contains(&advice), "after {advice} advices: {trials} trials");
}

#[test]
fn arms_that_ran_one_after_the_other_are_to_be_interleaved() {
    let found = advised(&versions("2ms", "repeat: {trials: 6}\ncompare: {metrics: [p50]}\n"));
    assert!(
        found.contains(&(Code::NotInterleaved, Some("repeat.order={blocks: 4}".to_owned()))),
        "{found:?}"
    );
}

#[test]
fn a_target_that_the_interval_does_not_show_gets_more_trials() {
    let found = advised("repeat: {trials: 5}\nreproducibility: {target: {metric: p50, rsd: 8%}}\n");
    let (_, change) = found.iter().find(|(code, _)| *code == Code::MoreTrials).expect("advice");
    let trials: u32 =
        change.as_ref().unwrap().strip_prefix("repeat.trials=").unwrap().parse().unwrap();
    assert!((6..100).contains(&trials), "{trials}");
}

#[test]
fn one_search_is_to_be_repeated() {
    let past = ran(&format!("{}search: {{start: 500/s}}\n", QUEUE.replace(", rate: 600/s", "")));
    let found = of(&past, &past.answer());
    assert_eq!(found[0].code, Code::SearchedOnce);
}

/// How far a bound repeats is not the next question.
#[test]
fn a_search_that_ended_with_a_bound_is_to_be_made_in_a_wider_range() {
    let queue = QUEUE.replace(", rate: 600/s", "");
    let wider = Some("search.range=[100/s, 800/s]".to_owned());
    for search in ["{range: [100/s, 200/s]}", "{range: [100/s, 200/s], step: 100/s}"] {
        let past = ran(&format!("{queue}search: {search}\n"));
        let found = of(&past, &past.answer());
        assert_eq!((found[0].code, &found[0].change), (Code::NotEnclosed, &wider), "{search}");
        assert_eq!(found.len(), 1, "{search}: {found:?}");
    }
}

#[test]
fn requests_that_are_too_few_to_decide_are_to_be_measured_longer() {
    let past = ran(&QUEUE.replace("time: 5s", "time: 500ms").replace("max: 30ms", "max: 5ms"));
    let found = of(&past, &past.answer());
    assert_eq!(found[0].code, Code::TooFewRequests, "{found:?}");
    assert_eq!(found[0].change.as_deref(), Some("phases.measure.time=4s"));
}

/// The failures are few, and yet more than the SLO allows.
#[test]
fn a_search_that_its_failures_ended_is_not_advised_to_search_lower() {
    let queue = QUEUE.replace(", rate: 600/s", "");
    let past = ran(&format!("{queue}search: {{range: [4000/s, 5000/s]}}\n"));
    let mut answer = past.answer();
    let lower = of(&past, &answer);
    assert_eq!(lower[0].code, Code::NotEnclosed, "{lower:?}");
    assert!(lower[0].text.starts_with("no load met the SLO, down to 4,000/s: "), "{lower:?}");
    answer.searches[0].stopped_by = format!("the failures do not depend on the load: {CORRECT}");
    let advice = of(&past, &answer);
    assert_eq!(advice[0].code, Code::Failing, "{advice:?}");
    assert_eq!(advice[0].text, answer.searches[0].stopped_by);
    assert!(advice.iter().all(|advice| advice.code != Code::NotEnclosed), "{advice:?}");
}

#[test]
fn a_search_beside_other_programs_is_told_that_a_quiet_machine_does_better() {
    let past = ran(QUEUE);
    let mut answer = past.answer();
    answer.trials[0].disturbed = vec!["pid 9 cc used 89.5 % of CPU 0".to_owned()];
    answer.resume = Some(vec!["--set".to_owned(), "budget.time=10m".to_owned()]);
    let advice = of(&past, &answer);
    let codes: Vec<Code> = advice.iter().map(|advice| advice.code).collect();
    let place = |code| codes.iter().position(|one| *one == code);
    assert!(place(Code::Disturbed) < place(Code::Budget), "{codes:?}");
    let text = format!(
        "1 of 1 trials were disturbed (trial 1: pid 9 cc used 89.5 % of CPU 0), which only slows a system down: on a \
         quiet machine it probably does better. Go on once the machine is quiet: benchwright resume {} --set \
         budget.time=10m",
        past.name
    );
    assert_eq!(advice[place(Code::Disturbed).unwrap()].text, text);
}

/// A CPU of its own is the advice of another rule, and only where there is none.
#[test]
fn a_run_that_was_disturbed_is_advised_to_go_on_with_the_counts_of_all_other_words() {
    let past = ran(QUEUE);
    let mut answer = past.answer();
    let disturbed = |trial, purpose| results::Entry {
        trial,
        purpose,
        status: Status::Invalid,
        reasons: vec!["machine disturbed: pauses. Repeat it.".to_owned()],
        ..answer.trials[0].clone()
    };
    answer.trials = vec![disturbed(1, Purpose::Probe), disturbed(2, Purpose::Trial)];
    answer.resume = Some(Vec::new());
    let text = |answer: &Answer| {
        let found = of(&past, answer).into_iter().find(|advice| advice.code == Code::Disturbed);
        found.expect("advice").text
    };
    let begin = "1 of 1 trials were not valid, the last by: machine disturbed: pauses. Repeat it. ";
    let command = format!("Go on once the machine is quiet: benchwright resume {}", past.name);
    assert_eq!(text(&answer), format!("{begin}{command}"));
    answer.resume = None;
    let elsewhere = "Run it on a quieter machine, or once this one is quiet";
    assert_eq!(text(&answer), format!("{begin}{elsewhere}"));
}
