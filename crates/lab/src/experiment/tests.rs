use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use expect_test::{Expect, expect};

use super::*;
use crate::progress::Silent;
use crate::spec;

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
            capacity              954/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %; missed at 1,046/s
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
            maximum throughput    710/s sustained at 710/s offered (trial 4)
            capacity              710/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %
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
            maximum throughput    982/s sustained at 1,010/s offered (trial 1)
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
              3     660/s   slo missed  p50 1.75 ms  p99 6.07 ms   cpu 0.69
            ---
            maximum throughput    690/s sustained at 690/s offered (trial 3)
            validity              2 of 2 trials valid
            verdict               no load met the SLO
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
            maximum throughput    366/s sustained at 366/s offered (trial 1)
            capacity              366/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %
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
            maximum throughput    680/s sustained at 686/s offered (trial 6); 2 trials above it brought no more
            capacity              690/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %
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
            let line = answer::interrupted(&ended);
            let path = path.display();
            let expected = format!(
                "interrupted after trial {stop} of about 101 · everything stopped in 0.0 s · \
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

/// Plans every shipped spec; a change of method shows as a change of text.
#[test]
fn shipped_specs_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let plan = |name: &str, profile: Option<&str>| {
        let resolved = spec::load(&folder.join(name), profile, &[]).unwrap();
        let text = plan(&resolved).unwrap();
        text.replace(&folder.display().to_string(), "experiments")
    };
    // The stages of the first trial are the same in all profiles except for their lengths.
    let fixed = |name: &str, profile: &str| {
        let text = plan(name, Some(profile));
        text[..text.find("first").unwrap()].to_owned()
    };
    expect![[r#"
        hello · local · roles: sut = CPU 0, load = CPU 1 · at most 2 trials, 6 s
        system    reference ×1
        load      64 connections, Poisson arrivals, GET /
        search    sweep from 500/s to 1,000/s, step 500/s: 500/s, 1,000/s
        trial     warm up 500 ms → measure 2 s → drain ≤ 500 ms
        seed      11831194018420276491
        time      3 s per trial; 2 trials: 6 s; up to 3 min 0 s more if the machine is disturbed
        the first trial:
          start    reference: benchwright reference --delay exponential:1ms --listen 127.0.0.1:0 · ready within 30 s
          drive    benchwright load http://reference/ --rate 500/s --arrivals poisson --connections 64 --warm-up 500ms --duration 2s --drain 500ms --timeout 10s --seed 1540608551651571 --slo p99<=20ms,failures<=0.1% --progress lines --json
          stop     everything
    "#]].assert_eq(&plan("hello.yaml", None));
    expect![[r#"
        hotel-max-throughput · local · roles: sut = CPU 0, load = CPU 1 · at most 45 trials, 4 min 30 s
        system    2 instances × (2 replicas of geo, rate, profile, recommendation, user, reservation, review, attractions, search, frontend + 1 of store): 42 processes
        load      per instance: 64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep per instance, from 70 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum (by more than 1 %) in 6 loads
        trial     reset → warm up 1 s → measure 6 s → drain ≤ 1 s
        seed      6200346834173954307
        time      8 s per trial; 7 to 45 trials: 60 s to 4 min 30 s; up to 3 min 0 s more if the machine is disturbed
        first, to find the first load:
          start    store-1: benchwright app hotel store --listen 127.0.0.1:0 · ready within 30 s
          start    store-2: benchwright app hotel store --listen 127.0.0.1:0 · ready within 30 s
          start    geo-1 ×2: benchwright app hotel geo --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    rate-1 ×2: benchwright app hotel rate --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    profile-1 ×2: benchwright app hotel profile --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    recommendation-1 ×2: benchwright app hotel recommendation --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    user-1 ×2: benchwright app hotel user --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    reservation-1 ×2: benchwright app hotel reservation --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    review-1 ×2: benchwright app hotel review --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    attractions-1 ×2: benchwright app hotel attractions --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    geo-2 ×2: benchwright app hotel geo --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    rate-2 ×2: benchwright app hotel rate --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    profile-2 ×2: benchwright app hotel profile --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    recommendation-2 ×2: benchwright app hotel recommendation --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    user-2 ×2: benchwright app hotel user --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    reservation-2 ×2: benchwright app hotel reservation --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    review-2 ×2: benchwright app hotel review --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    attractions-2 ×2: benchwright app hotel attractions --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    search-1 ×2: benchwright app hotel search --geo geo-1.1,geo-1.2 --rate rate-1.1,rate-1.2 --listen 127.0.0.1:0 · ready within 30 s
          start    search-2 ×2: benchwright app hotel search --geo geo-2.1,geo-2.2 --rate rate-2.1,rate-2.2 --listen 127.0.0.1:0 · ready within 30 s
          start    frontend-1 ×2: benchwright app hotel frontend --search search-1.1,search-1.2 --profile profile-1.1,profile-1.2 --recommendation recommendation-1.1,recommendation-1.2 --user user-1.1,user-1.2 --reservation reservation-1.1,reservation-1.2 --review review-1.1,review-1.2 --attractions attractions-1.1,attractions-1.2 --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    frontend-2 ×2: benchwright app hotel frontend --search search-2.1,search-2.2 --profile profile-2.1,profile-2.2 --recommendation recommendation-2.1,recommendation-2.2 --user user-2.1,user-2.2 --reservation reservation-2.1,reservation-2.2 --review review-2.1,review-2.2 --attractions attractions-2.1,attractions-2.2 --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          ask      GET http://frontend-1.1/healthz → 200
          ask      GET http://frontend-1.2/healthz → 200
          ask      GET http://frontend-2.1/healthz → 200
          ask      GET http://frontend-2.2/healthz → 200
          ask      GET http://frontend-1.1/healthz → 200, `ok` in it
          ask      GET http://frontend-1.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-1.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=10&lon=10 → 200, `"features":[]` in it
          ask      GET http://frontend-1.1/hotels?lat=38.0235&lon=-122.095 → 400, `Please specify inDate/outDate params` in it
          ask      GET http://frontend-1.1/recommendations?require=dis&lat=38.0235&lon=-122.095 → 200, `FeatureCollection` in it
          ask      GET http://frontend-1.1/recommendations?require=rate&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-1.1/recommendations?require=price&lat=38.0235&lon=-122.095 → 200, `"id":"2"` in it
          ask      GET http://frontend-1.1/recommendations?lat=38.0235&lon=-122.095 → 400, `Please specify require params` in it
          ask      POST http://frontend-1.1/user?username=Cornell_1&password=1111111111 → 200, `Login successfully!` in it
          ask      POST http://frontend-1.1/user?username=Cornell_1&password=wrong → 200, `Failed. Please check your username and password.` in it
          ask      POST http://frontend-1.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1 → 200, `Reserve successfully!` in it
          ask      POST http://frontend-1.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1000 → 200, `Failed. Already reserved.` in it
          ask      POST http://frontend-1.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=wrong&number=1 → 200, `Failed. Please check your username and password.` in it
          ask      GET http://frontend-1.1/review?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have reviews = 4` in it
          ask      GET http://frontend-1.1/review?username=Cornell_1&password=1111111111&hotelId=80 → 200, `Failed. No Reviews.` in it
          ask      GET http://frontend-1.1/review?username=Cornell_1&password=1111111111 → 400, `Please specify hotelId params` in it
          ask      GET http://frontend-1.1/restaurants?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have restaurants = 5` in it
          ask      GET http://frontend-1.1/museums?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have museums = 5` in it
          ask      GET http://frontend-1.1/cinema?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Failed. No Cinemas.` in it
          ask      GET http://frontend-1.1/metrics → 200, `hotel_` in it
          ask      GET http://frontend-2.1/healthz → 200, `ok` in it
          ask      GET http://frontend-2.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-2.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=10&lon=10 → 200, `"features":[]` in it
          ask      GET http://frontend-2.1/hotels?lat=38.0235&lon=-122.095 → 400, `Please specify inDate/outDate params` in it
          ask      GET http://frontend-2.1/recommendations?require=dis&lat=38.0235&lon=-122.095 → 200, `FeatureCollection` in it
          ask      GET http://frontend-2.1/recommendations?require=rate&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-2.1/recommendations?require=price&lat=38.0235&lon=-122.095 → 200, `"id":"2"` in it
          ask      GET http://frontend-2.1/recommendations?lat=38.0235&lon=-122.095 → 400, `Please specify require params` in it
          ask      POST http://frontend-2.1/user?username=Cornell_1&password=1111111111 → 200, `Login successfully!` in it
          ask      POST http://frontend-2.1/user?username=Cornell_1&password=wrong → 200, `Failed. Please check your username and password.` in it
          ask      POST http://frontend-2.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1 → 200, `Reserve successfully!` in it
          ask      POST http://frontend-2.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1000 → 200, `Failed. Already reserved.` in it
          ask      POST http://frontend-2.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=wrong&number=1 → 200, `Failed. Please check your username and password.` in it
          ask      GET http://frontend-2.1/review?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have reviews = 4` in it
          ask      GET http://frontend-2.1/review?username=Cornell_1&password=1111111111&hotelId=80 → 200, `Failed. No Reviews.` in it
          ask      GET http://frontend-2.1/review?username=Cornell_1&password=1111111111 → 400, `Please specify hotelId params` in it
          ask      GET http://frontend-2.1/restaurants?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have restaurants = 5` in it
          ask      GET http://frontend-2.1/museums?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have museums = 5` in it
          ask      GET http://frontend-2.1/cinema?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Failed. No Cinemas.` in it
          ask      GET http://frontend-2.1/metrics → 200, `hotel_` in it
          ask      POST http://frontend-1.1/reset → 200
          ask      POST http://frontend-2.1/reset → 200
          drive    benchwright load http://frontend-1.1 http://frontend-2.1 --address frontend-1.1,frontend-1.2 --address frontend-2.1,frontend-2.2 --closed --connections 64 --warm-up 1s --duration 2s --drain 1s --timeout 10s --seed 221217432148139 --slo p99<=100ms,failures<=0.1% --progress lines --json --per-target --script experiments/hotel-mixed.lua
          stop     everything
    "#]].assert_eq(&plan("hotel.yaml", None));
    expect![[r#"
        hotel-max-throughput · profile ci · local · roles: sut = CPU 0, load = CPU 1 · at most 20 trials, 17 s
        system    2 instances × (2 replicas of geo, rate, profile, recommendation, user, reservation, review, attractions, search, frontend + 1 of store): 42 processes
        load      per instance: 64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep per instance, from 70 % of what a closed loop completes in a short probe, step 20 %; stop: no new maximum (by more than 1 %) in 2 loads
        trial     reset → warm up 200 ms → measure 400 ms → drain ≤ 200 ms
        seed      6200346834173954307
        time      0.8 s per trial; 3 to 20 trials: 3.2 s to 17 s; up to 2 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel.yaml", "ci"));
    expect![[r#"
        hotel-max-throughput · profile guide_rule · local · roles: sut = CPU 0, load = CPU 1 · at most 45 trials, 4 min 30 s
        system    2 instances × (2 replicas of geo, rate, profile, recommendation, user, reservation, review, attractions, search, frontend + 1 of store): 42 processes
        load      per instance: 64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep per instance, from 70 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum in 6 loads
        trial     reset → warm up 1 s → measure 6 s → drain ≤ 1 s
        seed      6200346834173954307
        time      8 s per trial; 7 to 45 trials: 60 s to 4 min 30 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel.yaml", "guide_rule"));
    expect![[r#"
        hotel-all-in-one · local · roles: sut = CPU 0, load = CPU 1 · at most 30 trials, 3 min 34 s
        system    hotel ×1 · hotel may use 0.2 CPUs
        load      64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep from 80 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum (by more than 1 %) in 6 loads
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 1 s
        seed      15145020614165038492
        time      7 s per trial; 7 to 30 trials: 53 s to 3 min 34 s; up to 3 min 0 s more if the machine is disturbed
        first, to find the first load:
          start    hotel: benchwright app hotel all-in-one --listen 127.0.0.1:0 · at most 0.2 CPUs · ready within 30 s
          ask      GET http://hotel/healthz → 200
          ask      GET http://hotel/healthz → 200, `ok` in it
          ask      GET http://hotel/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://hotel/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=10&lon=10 → 200, `"features":[]` in it
          ask      GET http://hotel/hotels?lat=38.0235&lon=-122.095 → 400, `Please specify inDate/outDate params` in it
          ask      GET http://hotel/recommendations?require=dis&lat=38.0235&lon=-122.095 → 200, `FeatureCollection` in it
          ask      GET http://hotel/recommendations?require=rate&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://hotel/recommendations?require=price&lat=38.0235&lon=-122.095 → 200, `"id":"2"` in it
          ask      GET http://hotel/recommendations?lat=38.0235&lon=-122.095 → 400, `Please specify require params` in it
          ask      POST http://hotel/user?username=Cornell_1&password=1111111111 → 200, `Login successfully!` in it
          ask      POST http://hotel/user?username=Cornell_1&password=wrong → 200, `Failed. Please check your username and password.` in it
          ask      POST http://hotel/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1 → 200, `Reserve successfully!` in it
          ask      POST http://hotel/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1000 → 200, `Failed. Already reserved.` in it
          ask      POST http://hotel/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=wrong&number=1 → 200, `Failed. Please check your username and password.` in it
          ask      GET http://hotel/review?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have reviews = 4` in it
          ask      GET http://hotel/review?username=Cornell_1&password=1111111111&hotelId=80 → 200, `Failed. No Reviews.` in it
          ask      GET http://hotel/review?username=Cornell_1&password=1111111111 → 400, `Please specify hotelId params` in it
          ask      GET http://hotel/restaurants?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have restaurants = 5` in it
          ask      GET http://hotel/museums?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have museums = 5` in it
          ask      GET http://hotel/cinema?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Failed. No Cinemas.` in it
          ask      GET http://hotel/metrics → 200, `hotel_` in it
          ask      POST http://hotel/reset → 200
          drive    benchwright load http://hotel --closed --connections 64 --warm-up 1s --duration 2s --drain 1s --timeout 10s --seed 4860157389481002 --slo p99<=100ms,failures<=0.1% --progress lines --json --script experiments/hotel-mixed.lua
          stop     everything
    "#]].assert_eq(&plan("hotel-all-in-one.yaml", None));
    expect![[r#"
        hotel-all-in-one · profile ci · local · roles: sut = CPU 0, load = CPU 1 · at most 20 trials, 17 s
        system    hotel ×1 · hotel may use 0.2 CPUs
        load      64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep from 80 % of what a closed loop completes in a short probe, step 20 %; stop: no new maximum (by more than 1 %) in 2 loads
        trial     reset → warm up 200 ms → measure 400 ms → drain ≤ 200 ms
        seed      15145020614165038492
        time      0.8 s per trial; 3 to 20 trials: 3.2 s to 17 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel-all-in-one.yaml", "ci"));
    expect![[r#"
        hotel-all-in-one · profile guide_rule · local · roles: sut = CPU 0, load = CPU 1 · at most 30 trials, 3 min 34 s
        system    hotel ×1 · hotel may use 0.2 CPUs
        load      64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep from 80 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum in 6 loads
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 1 s
        seed      15145020614165038492
        time      7 s per trial; 7 to 30 trials: 53 s to 3 min 34 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel-all-in-one.yaml", "guide_rule"));
    expect![[r#"
        simulated · simulated · at most 30 trials, 3 min 34 s
        system    a simulated queue
        load      64 connections, Poisson arrivals, GET /
        search    sweep from 60 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum (by more than 1 %) in 6 loads
        trial     warm up 1 s → measure 5 s → drain ≤ 1 s
        seed      17285499004125085777
        time      7 s per trial; 7 to 30 trials: 53 s to 3 min 34 s; up to 3 min 0 s more if the machine is disturbed
        first, to find the first load:
          drive    benchwright load http://queue.simulated/ --closed --connections 64 --warm-up 1s --duration 2s --drain 1s --timeout 10s --seed 5122804340250067 --slo p99<=10ms,failures<=0.1% --progress lines --json
          stop     everything
    "#]].assert_eq(&plan("simulated.yaml", None));
    expect![[r#"
        simulated · profile ci · simulated · at most 30 trials, 19 s
        system    a simulated queue
        load      64 connections, Poisson arrivals, GET /
        search    sweep from 60 % of what a closed loop completes in a short probe, step 20 %; stop: no new maximum (by more than 1 %) in 2 loads
        trial     warm up 100 ms → measure 400 ms → drain ≤ 100 ms
        seed      17285499004125085777
        time      0.6 s per trial; 3 to 30 trials: 2.4 s to 19 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("simulated.yaml", "ci"));
}
