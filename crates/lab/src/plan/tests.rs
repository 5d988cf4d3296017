use std::path::Path;

use results::journal::{Purpose, Status};

use super::*;
use crate::spec;

/// Two levels × two fixed loads × two repetitions.
fn plan(repeat: &str) -> Plan {
    let text = format!(
        "
name: queue
where: {{backend: simulated}}
simulated: {{service_time: 1ms}}
factors: {{servers: {{path: simulated.servers, levels: [1, 2]}}}}
workload: {{get: /}}
load: {{model: open}}
searches:
  slow: {{load: {{rate: 100/s}}}}
  fast: {{load: {{rate: 200/s}}}}
repeat: {{{repeat}}}
"
    );
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    Plan::of(&read.unwrap()).unwrap()
}

/// The entry of a turn that ended with this status.
fn entry(plan: &Plan, turn: &Turn, status: Status) -> Entry {
    let Attempt { purpose, asked, repetition, attempt, .. } = turn.attempt;
    let asked = asked.map(|rate| rate.as_per_second());
    let observed = serde_json::json!({
        "offered_per_s": asked, "completed_per_s": asked, "sustained_per_s": asked,
        "goodput_per_s": asked, "requests": 1000, "failures": 0, "saturated": false, "cpu": {},
    });
    let entry = serde_json::json!({
        "trial": 1, "key": "", "purpose": purpose, "strand": turn.strand + 1,
        "block": turn.block, "asked_per_s": asked, "asked_per_target_per_s": asked,
        "repetition": repetition, "attempt": attempt, "seed": plan.seed_of(turn.strand),
        "status": status, "reasons": [], "observed": observed, "findings": [], "warnings": [],
        "files": {},
    });
    serde_json::from_value(entry).unwrap()
}

/// Runs a plan to its end, with every trial valid, and returns the strand of each trial.
fn ran(plan: &Plan) -> Vec<usize> {
    let mut turns = Turns::new(plan, Vec::new());
    while let Some(turn) = turns.next_turn() {
        assert_eq!(turn.attempt.purpose, Purpose::Trial);
        turns.push(entry(plan, &turn, Status::Valid));
        // Reading the journal again gives the same next turn.
        assert_eq!(Turns::new(plan, turns.journal()).next_turn(), turns.next_turn());
    }
    assert!(matches!(turns.ending(), Ending::Answered(_)), "{:?}", turns.ending());
    turns.order.clone()
}

#[test]
fn strands_are_listed_by_cell_search_and_repetition() {
    let plan = plan("searches: 2");
    let labels: Vec<String> = (0..plan.strands.len()).map(|strand| plan.label(strand)).collect();
    assert_eq!(
        labels,
        [
            "servers=1 · slow · 1",
            "servers=1 · slow · 2",
            "servers=1 · fast · 1",
            "servers=1 · fast · 2",
            "servers=2 · slow · 1",
            "servers=2 · slow · 2",
            "servers=2 · fast · 1",
            "servers=2 · fast · 2",
        ]
    );
    // Both searches of a level measure one system; the levels measure two.
    let systems: Vec<usize> = (0..8).map(|strand| plan.place(strand).system).collect();
    assert_eq!(systems, [0, 0, 0, 0, 2, 2, 2, 2]);
}

#[test]
fn each_order_makes_every_trial_once() {
    assert_eq!(ran(&plan("trials: 2")), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(ran(&plan("trials: 2, order: interleaved")), [0, 1, 2, 3, 0, 1, 2, 3]);
    let mut shuffled = ran(&plan("trials: 2, order: shuffled"));
    assert!(shuffled.chunks(2).all(|pair| pair[0] == pair[1]), "{shuffled:?}");
    assert_ne!(shuffled, [0, 0, 1, 1, 2, 2, 3, 3]);
    shuffled.sort_unstable();
    assert_eq!(shuffled, [0, 0, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn every_block_has_each_question_equally_often_in_a_random_order() {
    let plan = plan("trials: 40, order: {blocks: 8}");
    let order = ran(&plan);
    let blocks: Vec<&[usize]> = order.chunks(8).collect();
    assert_eq!(blocks.len(), 20);
    for block in &blocks {
        let mut sorted = block.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 0, 1, 1, 2, 2, 3, 3]);
    }
    assert!(blocks.windows(2).any(|pair| pair[0] != pair[1]), "{blocks:?}");
    // In a random order each question is about equally often first.
    let first = |strand: usize| blocks.iter().filter(|block| block[0] == strand).count();
    assert!((0..4).all(|strand| (1..=11).contains(&first(strand))), "{blocks:?}");
}

#[test]
fn blocks_are_numbered() {
    let blocks = blocks_of("trials: 3, order: {blocks: 4}");
    assert_eq!(blocks, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
}

/// Four questions: a block that began in the middle of a group would lack some of them.
#[test]
fn a_block_that_cannot_be_divided_has_fewer_trials_and_every_question() {
    for size in [1, 3, 5, 6, 7] {
        let blocks = blocks_of(&format!("trials: 3, order: {{blocks: {size}}}"));
        assert_eq!(blocks, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], "{size}");
    }
}

/// Returns the block of each trial.
fn blocks_of(repeat: &str) -> Vec<u32> {
    let plan = plan(repeat);
    let mut turns = Turns::new(&plan, Vec::new());
    let mut blocks = Vec::new();
    while let Some(turn) = turns.next_turn() {
        blocks.extend(turn.block);
        turns.push(entry(&plan, &turn, Status::Valid));
    }
    blocks
}

#[test]
fn a_trial_without_an_answer_is_repeated_at_once_and_costs_its_strand_only() {
    let plan = plan("trials: 1, order: interleaved");
    let mut turns = Turns::new(&plan, Vec::new());
    let mut made = Vec::new();
    while let Some(turn) = turns.next_turn() {
        made.push(turn.strand);
        // The second strand never gives an answer.
        let status = if turn.strand == 1 { Status::Aborted } else { Status::Valid };
        turns.push(entry(&plan, &turn, status));
    }
    assert_eq!(made, [0, 1, 1, 1, 2, 3]);
    let Ending::NoAnswer(why) = turns.ending() else { panic!("{:?}", turns.ending()) };
    assert!(why.starts_with("servers=1 · fast: a trial was aborted 3 times"), "{why}");
}

#[test]
fn a_share_waits_for_the_search_that_it_is_a_share_of() {
    let text = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open}
searches:
  half: {load: {rate: {share: 50%, of: top}}}
  top: {range: [100/s, 300/s], step: 100/s}
repeat: {searches: 2, order: interleaved}
";
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    let plan = Plan::of(&read.unwrap()).unwrap();
    let mut turns = Turns::new(&plan, Vec::new());
    let mut made = Vec::new();
    while let Some(turn) = turns.next_turn() {
        made.push((turn.strand, turn.attempt.asked.map_or(0.0, |rate| rate.as_per_second())));
        turns.push(entry(&plan, &turn, Status::Valid));
        assert_eq!(Turns::new(&plan, turns.journal()).next_turn(), turns.next_turn());
    }
    // Strands: half 1, half 2, top 1, top 2. The highest rate was 300/s.
    assert_eq!(
        made[..6],
        [(2, 100.0), (3, 100.0), (2, 200.0), (3, 200.0), (2, 300.0), (0, 150.0),]
    );
    assert_eq!(made[6..], [(3, 300.0), (1, 150.0)]);
}

#[test]
fn another_level_does_not_change_the_seeds_of_the_others() {
    let one = plan("trials: 1");
    let text = one.resolved(0).source.text.replace("levels: [1, 2]", "levels: [3, 1]");
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    let other = Plan::of(&read.unwrap()).unwrap();
    assert_eq!(one.seed_of(0), other.seed_of(2));
    assert_ne!(one.seed_of(0), other.seed_of(0));
}

#[test]
fn a_trial_of_an_unknown_strand_is_refused() {
    let plan = plan("trials: 1");
    let turn = Turns::new(&plan, Vec::new()).next_turn().unwrap();
    let good = entry(&plan, &turn, Status::Valid);
    assert!(plan.check(std::slice::from_ref(&good)).is_ok());
    for strand in [None, Some(0), Some(5)] {
        let error = plan.check(&[Entry { strand, ..good.clone() }]).unwrap_err().to_string();
        assert!(error.contains("the plan has 1 to 4"), "{error}");
    }
}
