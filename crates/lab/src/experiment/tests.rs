use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use expect_test::{Expect, expect};
use results::directory::Readers;
use results::failure::Failure;

use super::*;
use crate::backend::for_tests;
use crate::plan::found;
use crate::progress::Silent;
use crate::spec;

mod guides;
mod moved;
mod refused;
mod searches;
mod shipped;
mod twice;

const SWEEP: &str = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open}
phases: {warm_up: {fixed: 100ms}, measure: {time: 500ms}, drain: 100ms}
slo: [{metric: p99, max: 20ms}, {metric: failures, max: 0.1%}]
search: {start: {probe: 0.6}, step: 10%, stop: [{rule: no_new_max, window: 3, by: 1%}]}
";

fn read(text: &str) -> Resolved {
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

fn host() -> Host {
    Host::new("/nowhere/benchwright".into(), "0.0.0")
}

/// Keeps the transcript; raises the interrupt flag after so many measurements.
struct Transcript {
    text: String,
    interrupt: Option<(Host, usize)>,
}

impl Progress for Transcript {
    fn event(&mut self, event: &Event<'_>) {
        if event.is_lasting() && !matches!(event, Event::Finished { .. }) {
            self.text += &format!("{event}\n");
        }
        if let (Some((host, left)), Event::Measuring { .. }) = (&mut self.interrupt, event) {
            match left {
                1 => host.interrupted.store(true, Ordering::Relaxed),
                _ => *left -= 1,
            }
        }
    }
}

/// Returns every file that a reader may compare, as text.
fn contents(path: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for name in ["journal.jsonl", "answer.json", "spec.yaml"] {
        files.push((name.to_owned(), fs::read_to_string(path.join(name)).unwrap()));
    }
    let mut trials: Vec<_> = fs::read_dir(path.join("trials")).unwrap().flatten().collect();
    trials.sort_by_key(|trial| trial.path());
    for file in trials.iter().flat_map(|t| fs::read_dir(t.path()).unwrap().flatten()) {
        let name = file.path().strip_prefix(path).unwrap().display().to_string();
        files.push((name, fs::read_to_string(file.path()).unwrap()));
    }
    files.sort();
    files
}

fn run(
    resolved: &Resolved,
    out: Option<PathBuf>,
    host: &Host,
    progress: &mut dyn Progress,
) -> Result<Ended, Error> {
    super::run(resolved, out, host, &for_tests, progress)
}

fn resume(dir: &Path, host: &Host, progress: &mut dyn Progress) -> Result<Ended, Error> {
    super::resume(dir, &[], host, &for_tests, progress)
}

fn check_run(text: &str, expected: Expect) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let mut transcript = Transcript { text: String::new(), interrupt: None };
    let ended = run(&read(text), Some(folder.path().join("r")), &host(), &mut transcript).unwrap();
    let table = answer::table(&ended.answer);
    expected.assert_eq(&format!("{}---\n{table}", transcript.text));
    ended.answer
}

#[test]
fn a_sweep_from_a_probe_finds_the_maximum_and_the_capacity() {
    let answer = check_run(
        SWEEP,
        expect![[r#"
            queue · simulated · at most 100 trials, 71 s
            deploy   a simulated queue ready in 0.0 s
            probe    about 1,000/s closed loop → first load 600/s, step 10 %
              2     600/s   ok          p50 1.03 ms  p99 4.02 ms   cpu 0.57
              3     660/s   ok          p50 1.75 ms  p99 6.07 ms   cpu 0.69
              4     726/s   ok          p50 1.87 ms  p99 8.45 ms   cpu 0.71
              5     799/s   ok          p50 2.08 ms  p99 8.73 ms   cpu 0.79
              6     879/s   ok          p50 3.91 ms  p99 12.2 ms   cpu 0.91
              7     967/s   ok          p50 4.94 ms  p99 14.2 ms   cpu 0.95
              8   1,064/s   slo missed  p50 31.2 ms  p99 52.5 ms   limited by: servers (CPU)
              9   1,170/s   slo missed  p50 56.1 ms  p99 79.9 ms   limited by: servers (CPU)
             10   1,287/s   saturated   p50 146 ms   p99 189 ms    1,000 of 1,346/s completed  limited by: servers (CPU)
             11   1,416/s   saturated   p50 137 ms   p99 207 ms    1,000 of 1,404/s completed  limited by: servers (CPU)
            ---
            maximum throughput    1,000/s sustained at 1,046/s offered (trial 8); 3 trials above it brought no more
            capacity              967/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %, but 477 requests are too few to decide failures at 95 %; missed at 1,064/s
            limited by            servers, CPU 1.00 of 1
            validity              10 of 10 trials valid
            stopped by            no new maximum (by more than 1 %) in 3 loads
        "#]],
    );
    assert_eq!(answer.verdict, results::answer::Verdict::Answered);
    // A server that takes 1 ms completes 1,000/s.
    let maximum = answer.maximum_throughput.unwrap();
    assert!((maximum.rate_per_s - 1_000.0).abs() < 10.0, "{maximum:?}");
}

#[test]
fn a_rule_that_is_never_reached_in_the_trials_allowed_is_no_answer() {
    let text = format!("{SWEEP}budget: {{trials: 3}}\n");
    let answer = check_run(
        &text,
        expect![[r#"
            queue · simulated · at most 3 trials, 2.8 s
            deploy   a simulated queue ready in 0.0 s
            probe    about 1,000/s closed loop → first load 600/s, step 10 %
              2     600/s   ok          p50 1.03 ms  p99 4.02 ms   cpu 0.57
              3     660/s   ok          p50 1.75 ms  p99 6.07 ms   cpu 0.69
              4     726/s   ok          p50 1.87 ms  p99 8.45 ms   cpu 0.71
            ---
            maximum throughput    at least 710/s sustained at 710/s offered (trial 4)
            capacity              at least 726/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %, but 355 requests are too few to decide failures at 95 %
            validity              3 of 3 trials valid
            no answer             no stop rule fired in the 3 trials allowed
        "#]],
    );
    assert_eq!(answer.verdict, results::answer::Verdict::NoAnswer);
}

#[test]
fn a_single_load_that_misses_its_slo_answers_no() {
    let text = SWEEP
        .replace("{model: open}", "{model: open, rate: 990/s}")
        .replace("max: 20ms", "max: 1ms");
    let text: String =
        text.lines().filter(|l| !l.starts_with("search")).map(|l| format!("{l}\n")).collect();
    let answer = check_run(
        &text,
        expect![[r#"
            queue · simulated · 1 trial, 0.7 s
            deploy   a simulated queue ready in 0.0 s
              1     990/s   slo missed  p50 14.4 ms  p99 25.7 ms   limited by: servers (CPU)
            ---
            answer                sustained 982/s of 1,010/s offered; missed p99 ≤ 1 ms and failures ≤ 0.1 % (the load was measured)
            limited by            servers, CPU 0.98 of 1
            validity              1 of 1 trials valid
            verdict               no load met the SLO
        "#]],
    );
    assert_eq!(answer.verdict, results::answer::Verdict::No);
}

#[test]
fn a_search_for_a_capacity_that_no_load_has_answers_no() {
    let text = SWEEP
        .replace("max: 20ms", "max: 1ms")
        .replace("no_new_max, window: 3, by: 1%", "slo_violated, times: 2")
        .replace("step: 10%", "step: 10%, result: capacity");
    let answer = check_run(
        &text,
        expect![[r#"
            queue · simulated · at most 100 trials, 71 s
            deploy   a simulated queue ready in 0.0 s
            probe    about 1,000/s closed loop → first load 600/s, step 10 %
              2     600/s   slo missed  p50 1.03 ms  p99 4.02 ms   cpu 0.57
              3     480/s   slo missed  p50 1.00 ms  p99 4.09 ms   cpu 0.47
              4     384/s   slo missed  p50 1.00 ms  p99 4.31 ms   cpu 0.40
              5     307/s   slo missed  p50 1.00 ms  p99 2.67 ms   cpu 0.32
              6     246/s   slo missed  p50 1.00 ms  p99 2.23 ms   cpu 0.27
              7     197/s   slo missed  p50 1.00 ms  p99 3.26 ms   cpu 0.19
              8     660/s   slo missed  p50 1.75 ms  p99 6.07 ms   cpu 0.69
            ---
            maximum throughput    at least 690/s sustained at 690/s offered (trial 8)
            capacity              at most 197/s: no load met the SLO
            validity              7 of 7 trials valid
            verdict               no load met the SLO, down to 197/s: search lower, or ask for less
        "#]],
    );
    assert_eq!(answer.verdict, results::answer::Verdict::No);
}

#[test]
fn a_closed_loop_has_one_load() {
    let text = SWEEP.replace("{model: open}", "{model: closed, connections: 4, think: 10ms}");
    let text: String =
        text.lines().filter(|l| !l.starts_with("search")).map(|l| format!("{l}\n")).collect();
    check_run(
        &text,
        expect![[r#"
            queue · simulated · 1 trial, 0.7 s
            deploy   a simulated queue ready in 0.0 s
              1    closed   ok          p50 1.00 ms  p99 1.00 ms   368/s completed  cpu 0.37
            ---
            answer                sustained 366/s of 366/s offered; met p99 ≤ 20 ms and failures ≤ 0.1 %, but 183 requests are too few to decide p99 at 95 % (the load was measured)
            validity              1 of 1 trials valid
            stopped by            the load was measured
        "#]],
    );
}

#[test]
fn repetitions_share_a_load_and_differ_in_their_seeds() {
    let text = format!("{SWEEP}repeat: {{trials: 3}}\nbudget: {{trials: 7}}\n");
    let answer = check_run(
        &text,
        expect![[r#"
            queue · simulated · at most 7 trials, 5.6 s
            deploy   a simulated queue ready in 0.0 s
            probe    about 1,000/s closed loop → first load 600/s, step 10 %
              2     600/s   ok          p50 1.03 ms  p99 4.02 ms   cpu 0.57
              3     600/s   ok          p50 1.41 ms  p99 4.87 ms   cpu 0.61
              4     600/s   ok          p50 1.43 ms  p99 4.76 ms   cpu 0.57
              5     660/s   ok          p50 1.75 ms  p99 6.07 ms   cpu 0.69
              6     660/s   ok          p50 1.54 ms  p99 8.43 ms   cpu 0.68
              7     660/s   ok          p50 1.51 ms  p99 5.55 ms   cpu 0.67
              8     726/s   ok          p50 1.87 ms  p99 8.45 ms   cpu 0.71
            ---
            maximum throughput    at least 680/s sustained at 686/s offered (trial 6)
            capacity              at least 660/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %, but 1,024 requests are too few to decide failures at 95 %
            reproducibility       600/s: p99 RSD 10.14 % (5.28 % … 63.72 %) of 3 trials, floor 9.67 %
            reproducibility       660/s: p99 RSD 22.93 % (11.94 % … 144.13 %) of 3 trials, floor 9.70 %
            validity              7 of 7 trials valid
            no answer             no stop rule fired in the 7 trials allowed
        "#]],
    );
    let mut seeds: Vec<u64> = answer.trials.iter().map(|entry| entry.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), answer.trials.len());
}

/// A run that is stopped at any point and continued leaves the same files as an unbroken run.
#[test]
fn a_run_resumed_at_any_trial_equals_the_unbroken_run_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let resolved = read(SWEEP);
    let unbroken = folder.path().join("unbroken");
    run(&resolved, Some(unbroken.clone()), &host(), &mut Silent).unwrap();
    let expected = contents(&unbroken);
    let trials = Directory::open(&unbroken).unwrap().journal().unwrap().len();
    assert!(8 < trials, "{trials}");
    for stop in 1..=trials {
        let path = folder.path().join(format!("stopped-{stop}"));
        let host = host();
        let interrupt = Some((host.clone(), stop));
        let mut transcript = Transcript { text: String::new(), interrupt };
        let ended = run(&resolved, Some(path.clone()), &host, &mut transcript).unwrap();
        if stop < trials {
            assert_eq!(ended.answer.verdict, results::answer::Verdict::Interrupted);
            let line = ended.interrupted_in_words();
            let path = path.display();
            let expected = format!(
                "interrupted after trial {stop} of about 101 · everything is stopped · \
                 benchwright resume {path}"
            );
            assert_eq!(line, expected);
        }
        host.interrupted.store(false, Ordering::Relaxed);
        resume(&path, &host, &mut Silent).unwrap();
        assert_eq!(contents(&path), expected, "stopped after {stop}");
    }
}

/// A crash leaves a prefix of the journal's bytes and perhaps a trial's folder without its line.
#[test]
fn a_run_killed_at_any_byte_of_the_journal_resumes_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let resolved = read(SWEEP);
    let path = folder.path().join("run");
    run(&resolved, Some(path.clone()), &host(), &mut Silent).unwrap();
    let expected = contents(&path);
    let journal = fs::read(path.join("journal.jsonl")).unwrap();
    for cut in (0..journal.len()).step_by(397) {
        fs::write(path.join("journal.jsonl"), &journal[..cut]).unwrap();
        fs::remove_file(path.join("answer.json")).unwrap();
        resume(&path, &host(), &mut Silent).unwrap();
        assert_eq!(contents(&path), expected, "cut at {cut}");
    }
}

/// Three levels × two searches × two repetitions; the second search takes half of what the first
/// one found.
const LEVELS: &str = "
name: levels
where: {backend: simulated}
simulated: {service_time: 1ms, distribution: exponential}
factors: {servers: {path: simulated.servers, levels: [1, 2, 4]}}
workload: {get: /}
load: {model: open}
phases: {warm_up: {fixed: 100ms}, measure: {time: 500ms}, drain: 100ms}
slo: [{metric: p99, max: 30ms}]
searches:
  capacity: {start: {probe: 0.5}, step: 20%, stop: [{rule: slo_violated}], result: capacity}
  half: {load: {rate: {share: 50%, of: capacity}}}
";

fn levels(repeat: &str) -> Resolved {
    read(&format!("{LEVELS}repeat: {{{repeat}}}\n"))
}

#[test]
fn levels_and_searches_are_answered_each_and_together() {
    let answer = check_run(
        &format!("{LEVELS}repeat: {{searches: 2, order: interleaved}}\n"),
        expect![[r#"
            levels · simulated · 12 searches · at most 606 trials, 7 min 8 s
            deploy   a simulated queue ready in 0.0 s
            probe    about 978/s closed loop → first load 489/s, step 20 %  [servers=1 · capacity · 1]
            probe    about 918/s closed loop → first load 459/s, step 20 %  [servers=1 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
            probe    about 2,072/s closed loop → first load 1,036/s, step 20 %  [servers=2 · capacity · 1]
            probe    about 2,046/s closed loop → first load 1,023/s, step 20 %  [servers=2 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
            probe    about 4,104/s closed loop → first load 2,052/s, step 20 %  [servers=4 · capacity · 1]
            probe    about 3,874/s closed loop → first load 1,937/s, step 20 %  [servers=4 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
              7     489/s   ok          p50 1.16 ms  p99 7.26 ms   cpu 0.45  [servers=1 · capacity · 1]
              8     459/s   ok          p50 1.12 ms  p99 7.12 ms   cpu 0.45  [servers=1 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
              9   1,036/s   ok          p50 944 µs   p99 4.46 ms   cpu 1.05  [servers=2 · capacity · 1]
             10   1,023/s   ok          p50 916 µs   p99 5.82 ms   cpu 1.00  [servers=2 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             11   2,052/s   ok          p50 812 µs   p99 4.44 ms   cpu 2.04  [servers=4 · capacity · 1]
             12   1,937/s   ok          p50 741 µs   p99 4.32 ms   cpu 1.82  [servers=4 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             13     587/s   ok          p50 1.45 ms  p99 7.05 ms   cpu 0.55  [servers=1 · capacity · 1]
             14     551/s   ok          p50 1.29 ms  p99 8.15 ms   cpu 0.51  [servers=1 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             15   1,243/s   ok          p50 1.04 ms  p99 5.62 ms   cpu 1.13  [servers=2 · capacity · 1]
             16   1,228/s   ok          p50 1.20 ms  p99 9.31 ms   cpu 1.23  [servers=2 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             17   2,462/s   ok          p50 801 µs   p99 4.71 ms   cpu 2.38  [servers=4 · capacity · 1]
             18   2,324/s   ok          p50 800 µs   p99 4.91 ms   cpu 2.21  [servers=4 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             19     704/s   ok          p50 1.61 ms  p99 9.43 ms   cpu 0.68  [servers=1 · capacity · 1]
             20     661/s   ok          p50 2.09 ms  p99 8.92 ms   cpu 0.69  [servers=1 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             21   1,492/s   ok          p50 1.40 ms  p99 6.67 ms   cpu 1.40  [servers=2 · capacity · 1]
             22   1,474/s   ok          p50 1.65 ms  p99 6.91 ms   cpu 1.49  [servers=2 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             23   2,954/s   ok          p50 1.08 ms  p99 5.67 ms   cpu 2.95  [servers=4 · capacity · 1]
             24   2,789/s   ok          p50 1.08 ms  p99 5.19 ms   cpu 2.81  [servers=4 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             25     845/s   ok          p50 6.12 ms  p99 21.2 ms   cpu 0.84  [servers=1 · capacity · 1]
             26     793/s   ok          p50 3.85 ms  p99 15.5 ms   cpu 0.82  [servers=1 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             27   1,790/s   ok          p50 3.80 ms  p99 11.1 ms   cpu 1.80  [servers=2 · capacity · 1]
             28   1,769/s   ok          p50 4.70 ms  p99 16.0 ms   cpu 1.81  [servers=2 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             29   3,545/s   ok          p50 1.90 ms  p99 8.64 ms   cpu 3.49  [servers=4 · capacity · 1]
             30   3,347/s   ok          p50 1.65 ms  p99 7.48 ms   cpu 3.37  [servers=4 · capacity · 2]
            deploy   a simulated queue ready in 0.0 s
             31   1,014/s   slo missed  p50 44.7 ms  p99 55.7 ms   limited by: servers (CPU)  [servers=1 · capacity · 1]
             32     423/s   ok          p50 986 µs   p99 6.05 ms   cpu 0.37  [servers=1 · half · 1]
             33     952/s   slo missed  p50 14.6 ms  p99 42.6 ms   limited by: servers (CPU)  [servers=1 · capacity · 2]
             34     397/s   ok          p50 1.19 ms  p99 5.89 ms   cpu 0.43  [servers=1 · half · 2]
            deploy   a simulated queue ready in 0.0 s
             35   2,148/s   slo missed  p50 27.5 ms  p99 39.0 ms   limited by: servers (CPU)  [servers=2 · capacity · 1]
             36     895/s   ok          p50 932 µs   p99 4.82 ms   cpu 0.90  [servers=2 · half · 1]
             37   2,123/s   slo missed  p50 34.3 ms  p99 49.0 ms   limited by: servers (CPU)  [servers=2 · capacity · 2]
             38     885/s   ok          p50 907 µs   p99 5.75 ms   cpu 0.86  [servers=2 · half · 2]
            deploy   a simulated queue ready in 0.0 s
             39   4,254/s   ok          p50 7.40 ms  p99 17.1 ms   cpu 3.98  [servers=4 · capacity · 1]
             40   4,016/s   ok          p50 10.1 ms  p99 21.7 ms   cpu 4.00  [servers=4 · capacity · 2]
             41   5,105/s   saturated   p50 112 ms   p99 165 ms    4,044 of 5,188/s completed  limited by: servers (CPU)  [servers=4 · capacity · 1]
             42   2,127/s   ok          p50 751 µs   p99 4.64 ms   cpu 2.11  [servers=4 · half · 1]
             43   4,819/s   saturated   p50 65.4 ms  p99 111 ms    3,960 of 4,734/s completed  limited by: servers (CPU)  [servers=4 · capacity · 2]
             44   2,008/s   ok          p50 774 µs   p99 4.26 ms   cpu 1.97  [servers=4 · half · 2]
            ---
            servers=1 capacity    maximum throughput at least 974/s (median of 2, at least 962/s … at least 986/s); capacity 819/s (median of 2, 793 … 845/s) with p99 ≤ 30 ms
            servers=1 half        sustained 415/s (median of 2, 410 … 420/s)
            servers=2 capacity    maximum throughput at least 2,017/s (median of 2, at least 2,006/s … at least 2,028/s); capacity 1,780/s (median of 2, 1,769 … 1,790/s) with p99 ≤ 30 ms
            servers=2 half        sustained 888/s (median of 2, 840 … 936/s)
            servers=4 capacity    maximum throughput 4,006/s (median of 2, 3,960 … 4,052/s); capacity 4,135/s (median of 2, 4,016 … 4,254/s) with p99 ≤ 30 ms
            servers=4 half        sustained 2,054/s (median of 2, 1,956 … 2,152/s)
            validity              38 of 38 trials valid
            stopped by            12 searches ended
        "#]],
    );
    assert_eq!((answer.levels.len(), answer.searches.len()), (3, 12));
    assert_eq!((answer.maximum_throughput, answer.capacity), (None, None));
    let capacity = |level: usize| answer.levels[level].searches[0].capacity_per_s.unwrap();
    assert_eq!((capacity(0).count, answer.levels[0].levels["servers"].as_str()), (2, "1"));
    let median = |level: usize| capacity(level).median.exact().unwrap();
    assert!(median(0) < median(1) && median(1) < median(2));
    // The second search offered half of the first one's capacity, within the noise of arrivals.
    for half in answer.searches.iter().filter(|search| search.name.as_deref() == Some("half")) {
        let whole = answer.searches.iter().find(|search| {
            (search.cell == half.cell && search.repetition == half.repetition)
                && search.name.as_deref() == Some("capacity")
        });
        let asked = |search: &results::answer::Search| {
            let trial = search.capacity.as_ref().unwrap().trial as usize;
            answer.trials[trial - 1].asked_per_s.unwrap()
        };
        let share = asked(half) / asked(whole.unwrap());
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }
    let blocks: Vec<Option<u32>> = answer.trials.iter().map(|entry| entry.block).collect();
    assert!(blocks.iter().all(Option::is_none), "{blocks:?}");
}

/// Its trials are valid, and not all of them were made: nothing failed.
#[test]
fn a_given_load_that_was_interrupted_lacks_trials_and_no_requests_failed() {
    let folder = tempfile::tempdir().unwrap();
    let host = host();
    let text = LEVELS
        .split("searches:")
        .next()
        .unwrap()
        .replace("{model: open}", "{model: open, rate: 400/s}");
    let resolved = read(&format!("{text}repeat: {{trials: 3, order: interleaved}}\n"));
    let mut transcript = Transcript { text: String::new(), interrupt: Some((host.clone(), 5)) };
    let ended = run(&resolved, Some(folder.path().join("r")), &host, &mut transcript).unwrap();
    let table = answer::table(&ended.answer);
    let levels: String = table
        .lines()
        .filter(|line| line.starts_with("servers="))
        .map(|l| format!("{l}\n"))
        .collect();
    expect![[r#"
        servers=1             not all of its trials were made
        servers=2             not all of its trials were made
        servers=4             not all of its trials were made
    "#]]
    .assert_eq(&levels);
}

/// Covers every order: a run that is killed at any point and continued leaves the same files.
#[test]
fn many_strands_killed_at_any_byte_of_the_journal_resume_to_the_same_bytes() {
    for order in ["listed", "shuffled", "interleaved", "{blocks: 4}"] {
        killed_at_random_bytes(&levels(&format!("searches: 2, order: {order}")), 20);
    }
}

/// Runs an experiment, and resumes it after each of so many cuts of its journal; returns its answer.
fn killed_at_random_bytes(resolved: &Resolved, times: u32) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let ended = run(resolved, Some(path.clone()), &host(), &mut Silent).unwrap();
    let expected = contents(&path);
    let journal = fs::read(path.join("journal.jsonl")).unwrap();
    let mut random = measure::Random::new(7);
    for _ in 0..times {
        let cut = (random.unit() * journal.len() as f64) as usize;
        fs::write(path.join("journal.jsonl"), &journal[..cut]).unwrap();
        fs::remove_file(path.join("answer.json")).unwrap();
        resume(&path, &host(), &mut Silent).unwrap();
        assert_eq!(contents(&path), expected, "cut at {cut}");
    }
    ended.answer
}

#[test]
fn a_search_without_an_answer_does_not_end_the_others() {
    let text = format!("{LEVELS}budget: {{trials: 3}}\n");
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&read(&text), Some(folder.path().join("r")), &host(), &mut Silent).unwrap();
    let answer = ended.answer;
    assert_eq!(answer.verdict, results::answer::Verdict::NoAnswer);
    assert!(answer.stopped_by.contains("servers=1 · capacity: no stop rule fired"), "{answer:?}");
    // Half of the best load so far is still measured, and says so.
    let half = answer.searches.iter().find(|search| search.name.as_deref() == Some("half"));
    let half = half.unwrap();
    assert!(half.capacity.is_some(), "{answer:#?}");
    expect!["the load was measured; it is a share of a bound: `servers=1 · capacity` found at least 704/s"].assert_eq(&half.stopped_by);
}

#[test]
fn a_change_of_level_rests_and_resets_only_where_the_level_changes() {
    let resolved = levels("trials: 1");
    let plan = Plan::of(&resolved).unwrap();
    let mut turns = Turns::new(&plan, Vec::new());
    assert_eq!(turns.next_turn().map(|turn| turn.strand), Some(0));
    assert_eq!((plan.place(0).cell, plan.place(1).cell, plan.place(2).cell), (0, 0, 1));
    assert_eq!((plan.place(0).system, plan.place(1).system, plan.place(2).system), (0, 0, 2));
}

/// A load that is repeated until an interval is narrow.
const UNTIL: &str = "
name: until
where: {backend: simulated}
simulated: {service_time: 1ms, distribution: exponential}
workload: {get: /}
load: {model: open, rate: 500/s}
phases: {warm_up: {fixed: 100ms}, measure: {time: 1s}, drain: 100ms}
repeat: {trials: 3, until: {metric: completed, ci_rel: 4%, max: 30}}
";

#[test]
fn a_load_is_repeated_until_its_interval_is_narrow() {
    let folder = tempfile::tempdir().unwrap();
    let trials = |text: &str| {
        let path = folder.path().join(measure::random::seed_of(text).to_string());
        let ended = run(&read(text), Some(path), &host(), &mut Silent).unwrap();
        let values: Vec<f64> = ended
            .answer
            .trials
            .iter()
            .map(|entry| entry.observed.as_ref().unwrap().completed_per_s)
            .collect();
        values
    };
    let values = trials(UNTIL);
    let half = |values: &[f64]| measure::estimate::relative_half_width(values, 0.95).unwrap();
    assert!(5 < values.len() && half(&values) <= 0.04, "{values:?}");
    assert!(0.04 < half(&values[..values.len() - 1]), "{values:?}");
    assert_eq!(trials(&UNTIL.replace("ci_rel: 4%", "ci_rel: 0.01%").replace("30", "7")).len(), 7);
    // However narrow it is by chance, the interval is not judged before the fifth trial.
    assert_eq!(
        trials(&UNTIL.replace("ci_rel: 4%", "ci_rel: 90%").replace("trials: 3, ", "")).len(),
        5
    );
}

#[test]
fn a_repetition_that_ended_by_its_interval_is_called_sequential() {
    let text = UNTIL.replace(
        "trials: 3, until: {metric: completed, ci_rel: 4%",
        "until: {metric: completed, ci_rel: 20%",
    );
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&read(&text), Some(folder.path().join("run")), &host(), &mut Silent).unwrap();
    let warnings = &ended.answer.reproducibility[0].warnings;
    let code = results::analysis::Code::Sequential;
    assert!(warnings.iter().any(|warning| warning.code == code), "{warnings:?}");
    // In a file, a repetition that could never be judged is refused; results of earlier versions are read.
    let path = folder.path().join("my.yaml");
    let error = |repeat: &str| {
        std::fs::write(
            &path,
            text.replace("{until: {metric: completed, ci_rel: 20%, max: 30}}", repeat),
        )
        .unwrap();
        crate::spec::load(&path, None, &[]).unwrap_err().to_string()
    };
    let few = error("{until: {metric: completed, ci_rel: 20%, max: 3}}");
    assert!(few.contains("from the fifth trial on, and `max` is 3"), "{few}");
    assert!(few.contains("write max: 5 or more; trials: 3 without until makes 3"), "{few}");
    let less = error("{trials: 9, until: {metric: completed, ci_rel: 20%, max: 6}}");
    assert!(less.contains("`max` is 6, and fewer than the 9 trials"), "{less}");
    read(&text.replace("max: 30", "max: 3"));
}

/// Asserts that there is no answer while trials are measured.
struct NoAnswerYet<'a>(&'a Path);

impl Progress for NoAnswerYet<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Measuring { .. } = event {
            assert!(!self.0.join("answer.json").exists());
        }
    }
}

#[test]
fn the_answer_of_an_interrupted_run_is_removed_when_it_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run(&read(SWEEP), Some(path.clone()), &host(), &mut Silent).unwrap();
    let journal = fs::read(path.join("journal.jsonl")).unwrap();
    fs::write(path.join("journal.jsonl"), &journal[..journal.len() / 2]).unwrap();
    resume(&path, &host(), &mut NoAnswerYet(&path)).unwrap();
    assert!(path.join("answer.json").exists());
}

#[test]
fn resume_refuses_to_mix_different_tools_or_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run(&read(SWEEP), Some(path.clone()), &host(), &mut Silent).unwrap();
    let newer = Host::new("/nowhere/benchwright".into(), "0.0.1");
    let error = resume(&path, &newer, &mut Silent).unwrap_err();
    expect![[r#"
        this run cannot be continued: changed since it began: the tool's version
          its trials and new ones would not measure the same; start a new run"#]]
    .assert_eq(&error.to_string());
    assert!(matches!(error, Error::Question(_)));
    let error = resume(folder.path(), &host(), &mut Silent).unwrap_err();
    assert!(matches!(error, Error::Question(_)));
    let error = run(&read(SWEEP), Some(path), &host(), &mut Silent).unwrap_err();
    assert!(matches!(error, Error::Question(_)));
}

#[test]
fn a_shape_is_one_load_without_a_rate() {
    let text = SWEEP.replace("{model: open}", "{model: open, shape: '500/s 300ms, ->900/s 200ms'}");
    let text: String =
        text.lines().filter(|l| !l.starts_with("search")).map(|l| format!("{l}\n")).collect();
    check_run(
        &text,
        expect![[r#"
            queue · simulated · 1 trial, 0.7 s
            deploy   a simulated queue ready in 0.0 s
              1     shape   ok          p50 1.55 ms  p99 4.70 ms   618/s completed  cpu 0.62
            ---
            answer                sustained 618/s of 620/s offered; met p99 ≤ 20 ms and failures ≤ 0.1 %, but 310 requests are too few to decide failures at 95 % (the load was measured)
            validity              1 of 1 trials valid
            stopped by            the load was measured
        "#]],
    );
}

#[test]
fn the_plan_names_what_decides_the_load() {
    let line = |load: &str, workload: &str| {
        let text = SWEEP
            .replace("model: open", load)
            .replace("get: /", workload)
            .replace("backend: simulated", "backend: external");
        let text: String =
            text.lines().filter(|l| !l.starts_with("search")).map(|l| format!("{l}\n")).collect();
        let text = plan(&read(&(text + "sut: {endpoint: \"http://a:1/\"}\n"))).unwrap();
        text.lines().find(|line| line.starts_with("load")).unwrap().to_owned() + "\n"
    };
    let lines = [
        line("model: open, rate: 5k/s, connections: {per_rate: 0.1}", "get: /"),
        line(
            "model: open, rate: 5k/s, connections: {per_rate: 0.1}, script_threads: 100",
            "script: Cargo.toml",
        ),
        line("model: open, shape: '1k/s 250ms, ->5k/s 250ms'", "path: /orders, method: PUT"),
        line("model: open, trace: Cargo.toml, speed: 2", "mix: Cargo.toml"),
        line("model: open, trace: Cargo.toml", "get: /"),
        line("model: open, rate: 5k/s, arrivals: 'bursts:10'", "get: /"),
        line("model: closed, connections: 1000", "get: /"),
    ];
    expect![[r#"
        load      5,000/s, 0.1 connections for each request/s, Poisson arrivals, GET /
        load      5,000/s, 0.1 connections for each request/s (at least 100), 100 script threads, Poisson arrivals, Cargo.toml
        load      shape 1k/s 250ms, ->5k/s 250ms; 32 connections, Poisson arrivals, PUT /orders
        load      trace Cargo.toml at 2 × its speed, 32 connections, starts as listed, Cargo.toml
        load      trace Cargo.toml, 32 connections, starts as listed, GET /
        load      5,000/s, 32 connections, bursts:10 arrivals, GET /
        load      1,000 connections, closed loop, GET /
    "#]].assert_eq(&lines.concat());
}

/// Writes the directory of a run whose only trial was made in so many attempts, each of which was changed.
fn attempted(resolved: &Resolved, path: &Path, attempts: u32, change: impl Fn(&mut Entry)) {
    let quiet = path.with_extension("quiet");
    run(resolved, Some(quiet.clone()), &host(), &mut Silent).unwrap();
    let quiet = Directory::open(&quiet).unwrap();
    let (manifest, environment) = (quiet.manifest().unwrap(), quiet.environment().unwrap());
    let manifest = Manifest { state: State::Open, ..manifest };
    let directory =
        Directory::create(path, Readers::Owner, &manifest, &resolved.to_yaml(), &environment)
            .unwrap();
    let [entry] = &quiet.journal().unwrap()[..] else { panic!("one trial") };
    let (_, mut writer) = directory.write_journal().unwrap();
    for attempt in 1..=attempts {
        let mut entry = Entry { trial: attempt, attempt, ..entry.clone() };
        change(&mut entry);
        writer.append(entry, &Files::new()).unwrap();
    }
}

/// Writes the directory of a run whose only trial was disturbed in every attempt that is allowed.
fn disturbed(resolved: &Resolved, path: &Path) {
    attempted(resolved, path, resolved.spec.budget.invalid_attempts + 1, |entry| {
        entry.status = Status::Invalid;
        entry.reasons = vec!["machine disturbed: pauses".to_owned()];
    });
}

/// The machine was disturbed as well, but no calmer one would change what the service answers.
#[test]
fn a_run_whose_requests_were_all_answered_wrongly_says_so_first_and_is_not_repeated() {
    let text = SWEEP.replace("open}", "open, rate: 100/s}");
    let text =
        text.lines().filter(|line| !line.starts_with("search:") && !line.starts_with("slo:"));
    let resolved = read(&text.collect::<Vec<_>>().join("\n"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    attempted(&resolved, &path, 1, |entry| {
        entry.status = Status::Invalid;
        entry.reasons = vec!["generator late: p99 1.9 ms".to_owned()];
        let observed = entry.observed.as_mut().unwrap();
        (observed.failures, observed.unfinished) = (observed.requests, Some(0));
        observed.failing = vec![Failure {
            text: "404 for 50 of 50 requests to /fast/".to_owned(),
            outcome: "status".to_owned(),
            reason: Some("404".to_owned()),
            count: observed.requests,
            of: observed.requests,
            ..Failure::default()
        }];
    });
    let ended = resume(&path, &host(), &mut Silent).unwrap();
    assert_eq!((ended.answer.trials.len(), ended.answer.verdict), (1, Verdict::No));
    assert_eq!(ended.answer.go_on("results/x"), None);
    expect!["404 for 50 of 50 requests to /fast/ (trial 1); the service fails: no request succeeded; correct the workload or the service, and run it again"].assert_eq(&ended.answer.summary);
    expect![[r#"
        answer                404 for 50 of 50 requests to /fast/ (trial 1); the service fails: no request succeeded; correct the workload or the service, and run it again
        validity              0 of 1 trials valid; not valid: trial 1
        verdict               the service fails: no request succeeded; correct the workload or the service, and run it again
    "#]].assert_eq(&answer::table(&ended.answer));
    let answer = Past::read(&path).unwrap().answer();
    let explained = |sentences: Vec<results::explanation::Sentence>| -> String {
        sentences.into_iter().map(|one| format!("{}: {}\n", one.about, one.text)).collect()
    };
    expect![[r#"
        verdict: 404 for 50 of 50 requests to /fast/ (trial 1); the service fails: no request succeeded; correct the workload or the service, and run it again
        end: no request succeeded; correct the workload or the service, and run it again, after 1 trial
        validity: 0 of 1 trials valid; not valid: trial 1
        not valid: generator late: trial 1
    "#]].assert_eq(&explained(crate::explanation::of_run(&answer)));
    expect![[r#"
        failures: 404 for 50 of 50 requests to /fast/
        purpose: 100/s asked, repetition 1
        validity: not valid: its times say nothing about the system; but no calmer machine would change that the service answered all requests wrongly
        reason: generator late: p99 1.9 ms
        load: 108/s offered, 108/s completed
        little: 0.12 in progress, and 108/s × 1.07 ms account for 0.12: 0.0 % apart
    "#]].assert_eq(&explained(crate::explanation::of_trial(&answer, 1).unwrap()));
}

/// A rate of refusals is no throughput.
#[test]
fn the_maximum_throughput_is_that_of_a_load_at_which_the_service_did_not_fail() {
    let mut past = crate::for_tests::ran(SWEEP);
    let (resolved, ending) = (past.resolved.clone(), Ending::Answered("by its rule".to_owned()));
    let maximum = |journal: &[Entry]| {
        let search = found::searched(&resolved, journal, &ending);
        search.maximum_throughput.map(|maximum| (maximum.trial, maximum.at_least))
    };
    assert_eq!(maximum(&past.journal), Some((8, false)));
    // From 1,064/s on, one request in ten is refused, at once.
    let above = |entry: &&mut Entry| Some(1_000.0) < entry.asked_per_s;
    for entry in past.journal.iter_mut().filter(above) {
        let observed = entry.observed.as_mut().unwrap();
        (observed.failures, observed.unfinished) = (observed.requests / 10, Some(0));
        (observed.sustained_per_s, observed.saturated) = (observed.offered_per_s, false);
    }
    assert_eq!(maximum(&past.journal), Some((7, false)));
    for entry in &mut past.journal {
        let observed = entry.observed.as_mut().unwrap();
        (observed.failures, observed.unfinished) = (observed.requests, Some(0));
    }
    assert_eq!(maximum(&past.journal), None);
}

/// The objective decides about the share of failures; a rate of them is still no throughput and no capacity.
#[test]
fn a_given_load_that_may_fail_is_answered_without_a_throughput() {
    let slo = "slo: [{metric: failures, max: 100%}]\n";
    let text = SWEEP.replace("open}", "open, rate: 100/s}");
    let text =
        text.lines().filter(|line| !line.starts_with("search:") && !line.starts_with("slo:"));
    let text = text.collect::<Vec<_>>().join("\n") + "\n";
    for (declared, verdict) in [(slo, Verdict::Answered), ("", Verdict::No)] {
        let mut past = crate::for_tests::ran(&(text.clone() + declared));
        let observed = past.journal[0].observed.as_mut().unwrap();
        (observed.failures, observed.unfinished) = (observed.requests, Some(0));
        let ending = Ending::Answered("the load was measured".to_owned());
        let search = found::searched(&past.resolved, &past.journal, &ending);
        assert_eq!(search.verdict, verdict, "{declared}");
        assert_eq!((search.maximum_throughput, search.capacity), (None, None), "{declared}");
    }
}

/// The words of the refusal lead to a command, and the command to an answer.
#[test]
fn a_run_that_was_refused_for_disturbances_goes_on_with_new_allowances() {
    let text = SWEEP.replace("open}", "open, rate: 100/s}");
    let text = text.lines().filter(|line| !line.starts_with("search:")).collect::<Vec<_>>();
    let resolved = read(&(text.join("\n") + "\nbudget: {invalid_attempts: 2}\n"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    disturbed(&resolved, &path);
    // A run that was killed has the allowances that it had.
    let ended = resume(&path, &host(), &mut Silent).unwrap();
    assert_eq!(ended.answer.stopped_by, "a trial was not valid 3 times: machine disturbed: pauses");
    assert_eq!((ended.answer.trials.len(), ended.answer.verdict), (3, Verdict::NoAnswer));
    assert_eq!(ended.answer.go_on("results/x").unwrap(), "benchwright resume results/x");
    // One that has ended without an answer begins with new ones.
    let ended = resume(&path, &host(), &mut Silent).unwrap();
    assert_eq!((ended.answer.trials.len(), ended.answer.verdict), (4, Verdict::Answered));
    assert_eq!(ended.answer.trials[3].attempt, 4);
    assert_eq!(ended.answer.go_on("results/x"), None);
    assert_eq!(
        Past::read(&path).unwrap().answer(),
        Directory::open(&path).unwrap().answer().unwrap().unwrap()
    );
}

#[test]
fn a_run_whose_budget_was_too_small_goes_on_with_a_larger_one_and_with_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let small = read(&format!("{SWEEP}budget: {{trials: 3}}\n"));
    let ended = run(&small, Some(path.clone()), &host(), &mut Silent).unwrap();
    let go_on = "benchwright resume r --set budget.trials=6";
    assert_eq!(ended.answer.go_on("r").unwrap(), go_on);
    // The same budget ends it again at once.
    let again = resume(&path, &host(), &mut Silent).unwrap();
    assert_eq!(again.answer, ended.answer);

    let host = host();
    let set = |set: &str| super::resume(&path, &[set.to_owned()], &host, &for_tests, &mut Silent);
    let error = set("phases.measure.time=1s").unwrap_err().to_string();
    assert!(
        error.starts_with("--set phases.measure.time=1s: ") && error.contains("new run"),
        "{error}"
    );
    let ended = set("budget.trials=60").unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered);
    assert_eq!(Directory::open(&path).unwrap().manifest().unwrap().set, ["budget.trials=60"]);
    // Nothing differs from a run that had this budget from the beginning.
    let large = folder.path().join("large");
    let resolved = read(&format!("{SWEEP}budget: {{trials: 60}}\n"));
    run(&resolved, Some(large.clone()), &host, &mut Silent).unwrap();
    assert_eq!(contents(&path), contents(&large));
}

/// A file that nobody can check any more is no evidence; a run that goes on measures it again.
#[test]
fn a_run_lacks_a_trial_of_which_a_file_cannot_be_read_until_it_was_measured_again() {
    let text = SWEEP.replace("open}", "open, rate: 100/s}");
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("search:")).collect();
    let resolved = read(&(text.join("\n") + "\nrepeat: {trials: 3}\n"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let ended = run(&resolved, Some(path.clone()), &host(), &mut Silent).unwrap();
    assert_eq!((ended.answer.trials.len(), ended.answer.verdict), (3, Verdict::Answered));
    assert!(!Past::read(&path).unwrap().lacks_evidence());
    fs::remove_file(path.join("trials/2/load.json")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path.join("trials/2/load.json")).status();
    assert!(made.unwrap().success());
    let why = "trial 2: load.json cannot be read: not a regular file";

    let past = Past::read(&path).unwrap();
    let answer = past.answer();
    assert!(past.lacks_evidence());
    assert_eq!((past.unread(), answer.verdict), (vec![why.to_owned()], Verdict::NoAnswer));
    assert!(
        answer.summary.starts_with(&format!("no trustworthy answer: {why}")),
        "{}",
        answer.summary
    );
    let about = |sentences: &[results::explanation::Sentence]| {
        let of = |about: &str| sentences.iter().find(|sentence| sentence.about == about);
        ["unread", "validity"].map(|about| of(about).map(|sentence| sentence.text.clone()).unwrap())
    };
    let [unread, validity] = about(&crate::explanation::of_run(&answer));
    assert_eq!((&*unread, &*validity), (why, "2 of 3 trials valid; not valid: trial 2"));
    let [unread, validity] = about(&crate::explanation::of_trial(&answer, 2).unwrap());
    assert_eq!(unread, why);
    assert!(validity.starts_with("not valid: a file of it cannot be read any more"), "{validity}");

    let mut transcript = Transcript { text: String::new(), interrupt: None };
    let ended = resume(&path, &host(), &mut transcript).unwrap();
    assert!(transcript.text.contains(&format!("{why}: it does not count")), "{}", transcript.text);
    assert_eq!((ended.answer.trials.len(), ended.answer.verdict), (4, Verdict::Answered));
    let past = Past::read(&path).unwrap();
    assert!(!past.lacks_evidence(), "the answer no longer needs it");
    assert_eq!((past.unread(), past.answer().verdict), (vec![why.to_owned()], Verdict::Answered));
}

#[test]
fn a_run_whose_results_can_be_kept_nowhere_does_not_begin() {
    let none = |_: &Resolved| -> Box<dyn Backend> { panic!("nothing is started") };
    let out = Some(PathBuf::from("/proc/x"));
    let refused = super::run(&read(SWEEP), out, &host(), &none, &mut Silent).unwrap_err();
    assert!(matches!(refused, Error::Question(_)));
    let refused = refused.to_string();
    assert!(refused.starts_with("/proc: "), "{refused}");
    assert!(refused.ends_with("; name another place for the results with --out"), "{refused}");
}
