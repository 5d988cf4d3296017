use std::collections::BTreeMap;

use console::view::Single;
use expect_test::{Expect, expect};
use lab::backend::Drive;
use lab::course::{Ending, Outline, Outlined, Trial};
use lab::progress::{Event as Happened, Stage};
use lab::wishes::Wishes;
use measure::Rate;
use measure::pace::Think;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use results::Entry;
use results::Tick;
use results::at_load;
use results::journal::{Purpose, Status};
use results::said::{Phase, Quantiles};

use super::*;

use labels::by_label;

mod labels;
mod terminal;

const WIDE: (u16, u16) = (120, 30);
const USUAL: (u16, u16) = (80, 24);
const SMALL: (u16, u16) = (40, 10);

/// Every state with the size in which it is tested.
const SCENES: [(&str, (u16, u16)); 17] = [
    ("deploy", USUAL),
    ("opening", USUAL),
    ("warm-up", USUAL),
    ("measuring", USUAL),
    ("measuring", WIDE),
    ("measuring", SMALL),
    ("between", USUAL),
    ("waiting", USUAL),
    ("paused", SMALL),
    ("invalid", USUAL),
    ("ended", USUAL),
    ("quitting", USUAL),
    ("help", USUAL),
    ("load", USUAL),
    ("labels", USUAL),
    ("labels of a load", USUAL),
    ("operations", USUAL),
];

fn at(seconds: u64) -> Instant {
    Instant::default() + Nanos::from_secs(seconds)
}

fn trial(number: u32, asked: f64) -> Trial {
    let (repetition, attempt, seed, place) = (1, 1, 7, Default::default());
    let (purpose, asked) = (Purpose::Trial, Rate::per_second(asked));
    Trial { number, purpose, asked, repetition, attempt, seed, place }
}

fn drive() -> Drive {
    let (warm_up, measure, drain) = (Nanos::SECOND, Nanos::from_secs(5), Nanos::SECOND);
    let (think, opening) = (Think::NONE, Nanos::SECOND);
    let (targets, arguments) = (Vec::new(), Default::default());
    let (rate, interval, seed) = (None, None, 7);
    let foreign = None;
    Drive {
        targets,
        rate,
        think,
        opening,
        warm_up,
        measure,
        drain,
        interval,
        seed,
        arguments,
        secrets: Default::default(),
        foreign,
    }
}

fn tick(phase: Phase, elapsed_s: f64) -> Tick {
    let p50 = 1_100_000 + (elapsed_s * 1e5) as u64;
    let times =
        |p50: u64| Quantiles { p50_ns: Some(p50), p99_ns: Some(4 * p50), p999_ns: Some(9 * p50) };
    Tick {
        phase,
        elapsed_s,
        asked_per_s: Some(4_105.0),
        offered_per_s: Some(4_105.0),
        completed_per_s: Some(3_000.0 + 200.0 * elapsed_s),
        operations_per_s: None,
        last: times(p50),
        whole: times(1_150_000),
        lateness_p99_ns: Some(20_000),
        in_flight: Some(212),
        failed: 2,
        errors: BTreeMap::from([("timeout".to_owned(), 1), ("reset".to_owned(), 1)]),
        labels: Vec::new(),
    }
}

/// Returns an interval of requests that carry a hundred operations each; in the last one none is answered.
fn of_batches(elapsed_s: f64) -> Tick {
    let tick = tick(Phase::Measurement, elapsed_s);
    let operations_per_s =
        tick.completed_per_s.map(|rate| 100.0 * rate).filter(|_| elapsed_s < 7.0);
    Tick { operations_per_s, ..tick }
}

fn entry(number: u32, strand: Option<u32>, asked: f64, status: Status) -> Entry {
    let observed = match status {
        Status::Invalid | Status::Aborted => "null".to_owned(),
        _ => format!(
            r#"{{"offered_per_s": {asked}, "completed_per_s": {asked}, "sustained_per_s": {asked},
                "goodput_per_s": {asked}, "requests": 9, "failures": 0, "p50_ns": 1100000,
                "p99_ns": {}, "slo_met": {}, "saturated": {}, "cpu": {{"hotel": 0.61}}}}"#,
            4_000_000 + 100_000 * u64::from(number),
            asked < 3_900.0,
            4_000.0 < asked,
        ),
    };
    let reasons = match status {
        Status::Invalid => r#"["generator late: p99 1.90 ms > 490 µs"]"#,
        _ => "[]",
    };
    let strand = strand.map_or("null".to_owned(), |strand| strand.to_string());
    let text = format!(
        r#"{{"trial": {number}, "key": "", "purpose": "trial", "strand": {strand},
            "asked_per_s": {asked}, "asked_per_target_per_s": {asked}, "repetition": 1,
            "attempt": 1, "seed": 7, "status": "{}", "reasons": {reasons},
            "observed": {observed}, "findings": [], "warnings": [], "files": {{}}}}"#,
        status.name()
    );
    serde_json::from_str(&text).unwrap()
}

fn outline(labels: &[&str]) -> Outline {
    let strand = |label: &&str| Outlined {
        label: (*label).to_owned(),
        fewest: 5,
        most: 30,
        usual: Some(12),
        trial: Nanos::from_secs(8),
        ..Outlined::default()
    };
    let strands = labels.iter().map(strand).collect();
    Outline { name: "hotel".to_owned(), seed: 8_271, strands, sut: vec![0], load: vec![1] }
}

fn ended<'a>(entry: &'a Entry, label: &str) -> Happened<'a> {
    let (label, without_rate, again) = (label.to_owned(), "closed", None);
    let conclusion = at_load::conclusions([entry]).into_values().next();
    Happened::Ended { entry, conclusion, label, without_rate, speed: None, again }
}

/// Returns an experiment with one search after four trials.
fn after_four_trials(wishes: Arc<Wishes>) -> Experiment {
    let mut view = Experiment::new(Common::new(true), wishes, at(0));
    view.fold(&Happened::Began { headline: "hotel · local · at most 30 trials".to_owned() }, at(0));
    view.fold(&Happened::Planned { outline: outline(&[""]), journal: &[] }, at(0));
    let what = "hotel ×1".to_owned();
    let took = Some(Nanos::from_millis(400));
    view.fold(&Happened::Deployed { what, took, smoke_tests: 9 }, at(1));
    for (number, asked) in [(1, 2_400.0), (2, 3_200.0), (3, 4_267.0), (4, 3_910.0)] {
        let entry = entry(number, None, asked, Status::Valid);
        view.fold(&ended(&entry, ""), at(9 * u64::from(number)));
    }
    let near = Some("capacity between 3,200/s and 3,910/s".to_owned());
    view.fold(&Happened::Stands { strand: 0, near, ending: None }, at(36));
    view.common().cost = Some(0.003);
    view
}

/// Returns the view of a load after seven seconds.
fn single(tick: impl Fn(f64) -> Tick) -> Single {
    let (common, headline) = (Common::new(true), "http://127.0.0.1:8080/".to_owned());
    let times = (Nanos::from_secs(10), Nanos::SECOND);
    let mut single = Single::new(common, headline, vec![1], times, at(30));
    (1..=7).for_each(|second| single.add(tick(f64::from(second))));
    single
}

/// Draws one of the states.
fn draw(scene: &str, frame: &mut Frame<'_>) {
    let wishes = Arc::new(Wishes::default());
    let mut view = after_four_trials(Arc::clone(&wishes));
    let trial = trial(5, 4_105.0);
    let begin = |view: &mut Experiment| {
        view.fold(&Happened::Begins { trial: &trial, strand: 0 }, at(37));
        view.fold(&Happened::Measuring { trial: &trial, drive: &drive() }, at(38));
    };
    let ticked = |view: &mut Experiment| {
        for second in 1..=3 {
            let tick = tick(Phase::Measurement, f64::from(second));
            view.fold(&Happened::Tick { trial: &trial, tick }, at(40));
        }
    };
    match scene {
        "deploy" => {
            view = Experiment::new(Common::new(true), wishes, at(0));
            let outline = outline(&["replicas=1 · capacity", "replicas=2 · capacity"]);
            let journal = [entry(1, Some(1), 2_400.0, Status::Valid)];
            view.fold(&Happened::Planned { outline, journal: &journal }, at(0));
            view.fold(&Happened::Notice("continued after trial 1".to_owned()), at(0));
            let trial = Trial { number: 2, ..trial };
            view.fold(&Happened::Begins { trial: &trial, strand: 1 }, at(1));
            view.fold(&Happened::Stage(Stage::Deploy), at(1));
        }
        "opening" => begin(&mut view),
        "warm-up" => {
            begin(&mut view);
            let tick = Tick { offered_per_s: None, ..tick(Phase::WarmUp, 0.0) };
            view.fold(&Happened::Tick { trial: &trial, tick }, at(40));
        }
        "measuring" => {
            begin(&mut view);
            ticked(&mut view);
        }
        "labels" => {
            begin(&mut view);
            view.fold(&Happened::Tick { trial: &trial, tick: by_label(1.0) }, at(40));
        }
        "between" => {}
        "waiting" => view.fold(&Happened::Stage(Stage::WaitForCalm), at(30)),
        "paused" => {
            view.key('p');
            view.fold(&Happened::Stage(Stage::Paused), at(37));
        }
        "invalid" => {
            begin(&mut view);
            ticked(&mut view);
            view.key('p');
            view.fold(&ended(&entry(5, None, 4_105.0, Status::Invalid), ""), at(41));
        }
        "ended" => {
            let why = "the capacity lies between 3,830/s and 3,910/s, 2.1 % apart".to_owned();
            let (near, ending) = (None, Some(Ending::Answered(why)));
            view.fold(&Happened::Stands { strand: 0, near, ending }, at(36));
        }
        "quitting" => {
            begin(&mut view);
            ticked(&mut view);
            view.common().is_quitting = true;
        }
        "help" => assert!(view.common().key('?')),
        "load" => {
            let mut single = single(|second| tick(Phase::Measurement, second));
            assert!(single.common().key('l'));
            return single.draw(frame, at(42));
        }
        "labels of a load" => {
            return single(by_label).draw(frame, at(42));
        }
        "operations" => return single(of_batches).draw(frame, at(42)),
        unknown => panic!("there is no scene {unknown}"),
    }
    view.draw(frame, at(42));
}

/// Returns a picture as text.
fn picture(scene: &str, (width, height): (u16, u16)) -> String {
    let mut terminal = ratatui::Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(scene, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| format!("{}\n", line(y).trim_end())).collect()
}

fn check(scene: &str, size: (u16, u16), expected: Expect) {
    assert!(SCENES.contains(&(scene, size)), "add it, so that it is also tested in a terminal");
    expected.assert_eq(&picture(scene, size));
}

#[test]
fn a_deployment_shows_the_plan_with_its_trials() {
    check(
        "deploy",
        USUAL,
        expect![[r#"
             hotel · about 23 trials still needed, 3 min 4 s; at most 59 · seed 8271   0:42
             deploying, 0:41
            ┌ plan: trials and the last p99 ───────┐┌ trial 2 · 4,105/s · replicas=2 · capa┐
            │  replicas=1 · capaci ✓····    4.10 ms││                                      │
            │▸ replicas=2 · capaci ●····           ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:00  ! continued after trial 1                                            │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_load_that_begins_has_no_figures() {
    check(
        "opening",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             opening connections                                        view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial 5 · 4,105/s ───────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││                                      │
            │  2    3,200/s  ✓ ok         4.20 ms  ││                                      │
            │  3    4,267/s  ▲ saturated  4.30 ms  ││                                      │
            │  4    3,910/s  ✗ slo missed 4.40 ms  ││                                      │
            │  5    4,105/s  ● running             ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │capacity between 3,200/s and 3,910/s  ││                                      │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61      │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_warm_up_has_no_offered_rate() {
    check(
        "warm-up",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             warming up                                                 view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial 5 · 4,105/s ───────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││asked      4,105/s                    │
            │  2    3,200/s  ✓ ok         4.20 ms  ││completed  3,000/s      ▅             │
            │  3    4,267/s  ▲ saturated  4.30 ms  ││           last 1 s    whole          │
            │  4    3,910/s  ✗ slo missed 4.40 ms  ││p50        1.10 ms     1.15 ms        │
            │  5    4,105/s  ● running             ││p99        4.40 ms     4.60 ms        │
            │                                      ││p99.9      9.90 ms     10.3 ms        │
            │                                      ││failed     2: cut off 1, timeout 1    │
            │                                      ││requests   212 in flight              │
            │                                      ││late       p99 20.0 µs                │
            │                                      ││p99 of the last 60 s: 0 to 4.40 ms, li│
            │                                      ││█                                     │
            │                                      ││█                                     │
            │capacity between 3,200/s and 3,910/s  ││█                                     │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61      │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_measurement_shows_offered_against_completed() {
    check(
        "measuring",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             measuring 3 s of 5 s                                       view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial 5 · 4,105/s ───────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││asked      4,105/s                    │
            │  2    3,200/s  ✓ ok         4.20 ms  ││offered    4,105/s      ███           │
            │  3    4,267/s  ▲ saturated  4.30 ms  ││completed  3,600/s      ▆▆▇           │
            │  4    3,910/s  ✗ slo missed 4.40 ms  ││           last 1 s    whole          │
            │  5    4,105/s  ● running             ││p50        1.40 ms     1.15 ms        │
            │                                      ││p99        5.60 ms     4.60 ms        │
            │                                      ││p99.9      12.6 ms     10.3 ms        │
            │                                      ││failed     6: cut off 3, timeout 3    │
            │                                      ││requests   212 in flight              │
            │                                      ││late       p99 20.0 µs                │
            │                                      ││p99 of the last 60 s: 0 to 5.60 ms, li│
            │                                      ││▅▆█                                   │
            │capacity between 3,200/s and 3,910/s  ││███                                   │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61      │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn the_book_shows_the_view_as_it_is() {
    let page = include_str!("../../../../docs/book/the-view-on-a-terminal.md");
    let shown = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(picture("measuring", (80, 12)), shown);
}

#[test]
fn a_wide_terminal_has_room_for_everything() {
    check(
        "measuring",
        WIDE,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271                                               0:42
             measuring 3 s of 5 s                                                                               view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────────────────────────┐┌ trial 5 · 4,105/s ───────────────────────────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms                      ││asked      4,105/s                                        │
            │  2    3,200/s  ✓ ok         4.20 ms                      ││offered    4,105/s      ███                               │
            │  3    4,267/s  ▲ saturated  4.30 ms                      ││completed  3,600/s      ▆▆▇                               │
            │  4    3,910/s  ✗ slo missed 4.40 ms                      ││           last 1 s    whole                              │
            │  5    4,105/s  ● running                                 ││p50        1.40 ms     1.15 ms                            │
            │                                                          ││p99        5.60 ms     4.60 ms                            │
            │                                                          ││p99.9      12.6 ms     10.3 ms                            │
            │                                                          ││failed     6: cut off 3, timeout 3                        │
            │                                                          ││requests   212 in flight                                  │
            │                                                          ││late       p99 20.0 µs                                    │
            │                                                          ││p99 of the last 60 s: 0 to 5.60 ms, linear                │
            │                                                          ││ ▄█                                                       │
            │                                                          ││▇██                                                       │
            │                                                          ││███                                                       │
            │                                                          ││███                                                       │
            │                                                          ││███                                                       │
            │                                                          ││███                                                       │
            │capacity between 3,200/s and 3,910/s                      ││███                                                       │
            └──────────────────────────────────────────────────────────┘└──────────────────────────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────┐
            │   0:01  deploy   hotel ×1 ready in 0.4 s · smoke test: 9 of 9 requests gave the expected response                    │
            │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61                                              │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61                                              │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267/s completed  cpu 0.61                  │
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61                                              │
            └──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_small_terminal_shows_the_live_trial_only() {
    check(
        "measuring",
        SMALL,
        expect![[r#"
             hotel · about 8 trials still needed, 64
             measuring 3 s of 5 s
            ┌ trial 5 · 4,105/s ───────────────────┐
            │asked      4,105/s                    │
            │offered    4,105/s      ███           │
            │completed  3,600/s      ▆▆▇           │
            │           last 1 s    whole          │
            │p50        1.40 ms     1.15 ms        │
            └──────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 6
        "#]],
    );
}

#[test]
fn between_two_trials_the_last_figures_stay() {
    check(
        "between",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             between two trials, 0:06                                   view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial ───────────────────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││                                      │
            │  2    3,200/s  ✓ ok         4.20 ms  ││                                      │
            │  3    4,267/s  ▲ saturated  4.30 ms  ││                                      │
            │  4    3,910/s  ✗ slo missed 4.40 ms  ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │capacity between 3,200/s and 3,910/s  ││                                      │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61      │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_wait_for_a_calm_machine_shows_its_length() {
    check(
        "waiting",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             waiting for a calm machine, 0:12                           view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial ───────────────────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││                                      │
            │  2    3,200/s  ✓ ok         4.20 ms  ││                                      │
            │  3    4,267/s  ▲ saturated  4.30 ms  ││                                      │
            │  4    3,910/s  ✗ slo missed 4.40 ms  ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │                                      ││                                      │
            │capacity between 3,200/s and 3,910/s  ││                                      │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61      │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_pause_says_how_to_continue() {
    check(
        "paused",
        SMALL,
        expect![[r#"
             hotel · about 8 trials still needed, 64
             paused: p continues, 0:05
            ┌ plan: trial, load, result, p99 ──────┐
            │  1    2,400/s  ✓ ok         4.10 ms  │
            │  2    3,200/s  ✓ ok         4.20 ms  │
            │  3    4,267/s  ▲ saturated  4.30 ms  │
            │  4    3,910/s  ✗ slo missed 4.40 ms  │
            │capacity between 3,200/s and 3,910/s  │
            └──────────────────────────────────────┘
             p continue  s end wait  r repeat  w las
        "#]],
    );
}

#[test]
fn an_invalid_trial_is_not_counted_and_a_pause_is_announced() {
    check(
        "invalid",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             between two trials, 0:01 · pauses before the next trial    view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial ───────────────────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││asked      4,105/s                    │
            │  2    3,200/s  ✓ ok         4.20 ms  ││offered    4,105/s      ███           │
            │  3    4,267/s  ▲ saturated  4.30 ms  ││completed  3,600/s      ▆▆▇           │
            │  4    3,910/s  ✗ slo missed 4.40 ms  ││           last 1 s    whole          │
            │  5    4,105/s  ! invalid             ││p50        1.40 ms     1.15 ms        │
            │                                      ││p99        5.60 ms     4.60 ms        │
            │                                      ││p99.9      12.6 ms     10.3 ms        │
            │                                      ││failed     6: cut off 3, timeout 3    │
            │                                      ││requests   212 in flight              │
            │                                      ││late       p99 20.0 µs                │
            │                                      ││p99 of the last 60 s: 0 to 5.60 ms, li│
            │                                      ││▅▆█                                   │
            │capacity between 3,200/s and 3,910/s  ││███                                   │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            │   0:41    5   4,105/s   invalid     generator late: p99 1.90 ms > 490 µs     │
            └──────────────────────────────────────────────────────────────────────────────┘
             p continue  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_search_that_ended_shows_its_answer() {
    check(
        "ended",
        USUAL,
        expect![[r#"
         hotel · no trial needed any more · seed 8271                              0:42
         between two trials, 0:06                                   view 0.3 % of a CPU
        ┌ plan: trial, load, result, p99 ──────┐┌ trial ───────────────────────────────┐
        │  1    2,400/s  ✓ ok         4.10 ms  ││                                      │
        │  2    3,200/s  ✓ ok         4.20 ms  ││                                      │
        │  3    4,267/s  ▲ saturated  4.30 ms  ││                                      │
        │  4    3,910/s  ✗ slo missed 4.40 ms  ││                                      │
        │                                      ││                                      │
        │                                      ││                                      │
        │                                      ││                                      │
        │                                      ││                                      │
        │                                      ││                                      │
        │                                      ││                                      │
        │                                      ││                                      │
        │ended: the capacity lies between      ││                                      │
        │3,830/s and 3,910/s, 2.1 % apart      ││                                      │
        └──────────────────────────────────────┘└──────────────────────────────────────┘
        ┌ log ─────────────────────────────────────────────────────────────────────────┐
        │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61      │
        │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
        │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
        │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
        └──────────────────────────────────────────────────────────────────────────────┘
         p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
    "#]],
    );
}

#[test]
fn a_run_that_is_being_stopped_says_so() {
    check(
        "quitting",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             stopping everything                                        view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial 5 · 4,105/s ───────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││asked      4,105/s                    │
            │  2    3,200/s  ✓ ok         4.20 ms  ││offered    4,105/s      ███           │
            │  3    4,267/s  ▲ saturated  4.30 ms  ││completed  3,600/s      ▆▆▇           │
            │  4    3,910/s  ✗ slo missed 4.40 ms  ││           last 1 s    whole          │
            │  5    4,105/s  ● running             ││p50        1.40 ms     1.15 ms        │
            │                                      ││p99        5.60 ms     4.60 ms        │
            │                                      ││p99.9      12.6 ms     10.3 ms        │
            │                                      ││failed     6: cut off 3, timeout 3    │
            │                                      ││requests   212 in flight              │
            │                                      ││late       p99 20.0 µs                │
            │                                      ││p99 of the last 60 s: 0 to 5.60 ms, li│
            │                                      ││▅▆█                                   │
            │capacity between 3,200/s and 3,910/s  ││███                                   │
            └──────────────────────────────────────┘└──────────────────────────────────────┘
            ┌ log ─────────────────────────────────────────────────────────────────────────┐
            │   0:09    1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61      │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn the_help_explains_keys_and_symbols() {
    check(
        "help",
        USUAL,
        expect![[r#"
             hotel · about 8 trials still needed, 64.0 s; at most 26 · seed 8271       0:42
             between two trials, 0:06                                   view 0.3 % of a CPU
            ┌ plan: trial, load, result, p99 ──────┐┌ trial ───────────────────────────────┐
            │  1    2,400/s  ✓ ok         4.10 ms  ││                                      │
            │  2    3,200/s  ✓ ok         4.20 ms  ││                                      │
            │  3    4,267/s ┌ help ─────────────────────────────────────────┐              │
            │  4    3,910/s │ p  pause after this trial, or continue        │              │
            │               │ s  end the wait for a calm machine            │              │
            │               │ r  end this trial as not valid, and repeat it │              │
            │               │ w  time that the charts cover                 │              │
            │               │ l  logarithmic or linear charts               │              │
            │               │ q  quit: stop everything, and keep the trials │              │
            │               │    (benchwright resume goes on)               │              │
            │               │ ?  close this help                            │              │
            │               │                                               │              │
            │capacity betwee│ ✓ ok  ≈ ok, slowed  ✗ failing, or slo missed  │              │
            └───────────────│ ▲ saturated  ! invalid  † aborted             │──────────────┘
            ┌ log ──────────│ ● running  · still needed                     │──────────────┐
            │   0:09    1   └───────────────────────────────────────────────┘cpu 0.61      │
            │   0:18    2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61      │
            │   0:27    3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267│
            │   0:36    4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61      │
            └──────────────────────────────────────────────────────────────────────────────┘
             p pause  s end wait  r repeat  w last 60 s  l log  q quit  ? help
        "#]],
    );
}

#[test]
fn a_single_load_is_the_live_half() {
    check(
        "load",
        USUAL,
        expect![[r#"
             http://127.0.0.1:8080/                                                    0:12
             measuring 7 s of 10 s
            ┌──────────────────────────────────────────────────────────────────────────────┐
            │asked      4,105/s                                                            │
            │offered    4,105/s      ▇▇▇▇▇▇▇                                               │
            │completed  4,400/s      ▅▆▆▆▇▇█                                               │
            │           last 1 s    whole                                                  │
            │p50        1.80 ms     1.15 ms                                                │
            │p99        7.20 ms     4.60 ms                                                │
            │p99.9      16.2 ms     10.3 ms                                                │
            │failed     14: cut off 7, timeout 7                                           │
            │requests   212 in flight                                                      │
            │late       p99 20.0 µs                                                        │
            │p99 of the last 60 s: 4.80 ms to 7.20 ms, logarithmic                         │
            │      █                                                                       │
            │     ▇█                                                                       │
            │    ▇██                                                                       │
            │   ▆███                                                                       │
            │  ▄████                                                                       │
            │ ▁█████                                                                       │
            │ ██████                                                                       │
            │▆██████                                                                       │
            └──────────────────────────────────────────────────────────────────────────────┘
             w last 60 s  l linear  q quit  ? help
        "#]],
    );
}

/// The highest bar is that of the 420,000/s in the sixth of seven intervals.
#[test]
fn operations_have_a_rate_and_a_chart_where_a_request_carries_several() {
    let picture = picture("operations", USUAL);
    let rates: Vec<&str> = picture.lines().filter(|line| line.contains("/s")).collect();
    for (line, begin) in [
        (1, "│offered    4,105/s      ▇▇▇▇▇▇▇ "),
        (2, "│completed  4,400/s      ▅▆▆▆▇▇█ "),
        (3, "│operations 0/s          ▆▆▆▇▇█  "),
    ] {
        assert!(rates[line].starts_with(begin), "{begin}\n{picture}");
    }
}

#[test]
fn every_size_can_be_drawn() {
    for (scene, _) in SCENES {
        for size in [(1, 1), (2, 3), (20, 4), (40, 10), (76, 8), (80, 24), (300, 100)] {
            picture(scene, size);
        }
    }
}

#[test]
fn without_colours_nothing_is_coloured_and_every_verdict_is_a_word() {
    for has_colours in [true, false] {
        let mut view = after_four_trials(Arc::default());
        view.common().has_colours = has_colours;
        let mut terminal = ratatui::Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| view.draw(frame, at(42))).unwrap();
        let cells = &terminal.backend().buffer().content;
        let coloured = cells.iter().filter(|cell| cell.fg != Color::Reset).count();
        assert_eq!(0 < coloured, has_colours);
    }
    let text = picture("between", USUAL);
    assert!(["✓ ok", "✗ slo missed", "▲ saturated"].iter().all(|word| text.contains(word)));
}

#[test]
fn a_key_is_a_wish_and_only_a_running_load_can_be_repeated() {
    let wishes = Arc::new(Wishes::default());
    let mut view = after_four_trials(Arc::clone(&wishes));
    view.key('r');
    assert!(!wishes.repeats_trial());
    let trial = trial(5, 4_105.0);
    view.fold(&Happened::Begins { trial: &trial, strand: 0 }, at(37));
    view.fold(&Happened::Measuring { trial: &trial, drive: &drive() }, at(38));
    view.key('r');
    view.key('p');
    view.key('s');
    assert!(wishes.repeats_trial() && wishes.is_paused() && wishes.ends_wait());
    view.key('p');
    assert!(!wishes.is_paused());
}

#[test]
fn lines_that_last_are_kept_for_the_terminal() {
    let mut view = after_four_trials(Arc::default());
    expect![[r#"
        hotel · local · at most 30 trials
        deploy   hotel ×1 ready in 0.4 s · smoke test: 9 of 9 requests gave the expected response
          1   2,400/s   ok          p50 1.10 ms  p99 4.10 ms   cpu 0.61
          2   3,200/s   ok          p50 1.10 ms  p99 4.20 ms   cpu 0.61
          3   4,267/s   saturated   p50 1.10 ms  p99 4.30 ms   4,267 of 4,267/s completed  cpu 0.61
          4   3,910/s   slo missed  p50 1.10 ms  p99 4.40 ms   cpu 0.61"#]]
    .assert_eq(&view.take_lines().join("\n"));
    (0..10_003).for_each(|line| view.tell(line.to_string(), at(50)));
    let lines = view.take_lines();
    assert_eq!((lines.len(), &*lines[0]), (10_001, "! 3 earlier lines are not shown"));
}
