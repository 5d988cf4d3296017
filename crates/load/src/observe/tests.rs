use ::measure::Histogram;

use super::*;

const OF: Of = Of { pool: 0, target: 0 };
const MS: fn(u64) -> Instant = |ms| Instant(ms * 1_000_000);

fn recorder() -> Recorder {
    let window = Window { start: MS(1_000), end: MS(3_000) };
    let mut recorder = Recorder::new(1, Nanos::SECOND, None);
    recorder.begin(MS(0), window);
    recorder
}

fn completion(intended: u64, done: u64, outcome: Outcome) -> Completion {
    let (sent, connection) = (MS(intended), Slot(0));
    Completion {
        of: OF,
        intended: sent,
        number: 0,
        label: Label::NONE,
        start: Some(Start { room: MS(0), sent, held: Nanos::ZERO, first_byte: None, connection }),
        done: MS(done),
        outcome,
        status: 200,
        answers: 1,
        bad: 0,
        bytes: 0,
        why: "",
    }
}

#[test]
fn only_what_was_intended_in_the_window_counts_and_only_what_ends_in_it_is_a_rate() {
    let mut recorder = recorder();
    for (intended, done) in [(900, 1_100), (1_500, 1_600), (2_900, 3_100), (3_000, 3_200)] {
        recorder.intended(OF, MS(intended));
        recorder.completed(&completion(intended, done, Outcome::Ok));
    }
    let part = &recorder.finish(MS(4_000)).parts[0];
    assert_eq!((part.intended, part.outcome(Outcome::Ok)), (2, 2));
    assert_eq!(part.completed_inside, 2);
    assert_eq!(part.response.count(), 2);
}

#[test]
fn a_request_is_in_progress_for_its_time_in_the_window_however_it_ends() {
    let mut recorder = recorder();
    for (intended, done, outcome) in [
        (500, 900, Outcome::Ok),
        (900, 1_100, Outcome::Ok),
        (1_500, 1_600, Outcome::Status),
        (1_700, 2_000, Outcome::Connect),
        (2_900, 3_500, Outcome::Unfinished),
        (3_000, 3_200, Outcome::Ok),
    ] {
        recorder.intended(OF, MS(intended));
        recorder.completed(&completion(intended, done, outcome));
    }
    let part = &recorder.finish(MS(4_000)).parts[0];
    assert_eq!(part.in_progress, Nanos::from_millis(100 + 100 + 300 + 100));
}

/// Requests of 5 ms, one each 10 ms from 0 to 4 s, and what the recorder keeps of them.
fn recorded(window: Window) -> Recorded {
    let mut recorder = Recorder::new(1, Nanos::SECOND, None);
    recorder.begin(MS(0), window);
    for ms in (0..4_000).step_by(10) {
        recorder.intended(OF, MS(ms));
        let outcome = if ms % 100 == 0 { Outcome::Status } else { Outcome::Ok };
        recorder.completed(&completion(ms, ms + 5, outcome));
        recorder.turn(MS(ms + 5), Turn::default());
    }
    recorder.finish(MS(4_000))
}

#[test]
fn the_intervals_sum_up_to_the_totals() {
    let recorded = recorded(Window { start: MS(1_000), end: MS(3_000) });
    let part = &recorded.parts[0];
    let sum = |figure: fn(&Interval) -> u64| recorded.series.iter().map(|(_, i)| figure(i)).sum();
    let sums: [u64; 3] = [sum(|i| i.intended), sum(|i| i.completed), sum(|i| i.failed())];
    assert_eq!(sums, [part.intended, part.completed_inside, part.failed()]);
    assert_eq!(sums, [200, 200, 20]);
}

/// The window is 2.5 intervals long, and begins in the middle of one.
#[test]
fn the_last_interval_ends_with_the_window_and_answers_count_when_they_come() {
    let recorded = recorded(Window { start: MS(1_302), end: MS(3_802) });
    let part = &recorded.parts[0];
    let completed: Vec<_> = recorded.series.iter().map(|(_, i)| i.completed).collect();
    assert_eq!(completed, [100, 100, 50]);
    assert_eq!(part.completed_inside, 250);
    assert_eq!(recorded.drained.completed, 20);
    assert_eq!((recorded.drained.intended, recorded.drained.failed()), (0, 1));
}

/// Ten requests wait for 900 ms, and none for 100 ms.
#[test]
fn an_interval_has_the_mean_number_of_outstanding_requests_and_the_highest() {
    let mut recorder = recorder();
    let turn = |outstanding, waited| Turn {
        outstanding,
        waited: Nanos::from_millis(waited),
        ..Turn::default()
    };
    recorder.turn(MS(1_000), Turn::default());
    recorder.turn(MS(1_900), turn(10, 900));
    recorder.turn(MS(2_000), turn(0, 100));
    let recorded = recorder.finish(MS(4_000));
    let (_, first) = recorded.series.iter().next().unwrap();
    assert_eq!((first.outstanding_max, first.outstanding_time), (10, Nanos::from_secs(9)));
}

#[test]
fn slow_answers_are_no_goodput() {
    let mut recorder = recorder().with_slo(Some(Nanos::from_millis(10)));
    recorder.completed(&completion(1_500, 1_505, Outcome::Ok));
    recorder.completed(&completion(1_500, 1_515, Outcome::Ok));
    recorder.completed(&completion(1_500, 1_505, Outcome::Status));
    let part = &recorder.finish(MS(4_000)).parts[0];
    assert_eq!((part.completed_inside, part.ok_inside, part.good_inside), (3, 2, 1));
}

#[test]
fn a_request_without_a_response_at_the_end_is_no_failure() {
    let mut recorder = recorder();
    for outcome in [Outcome::Ok, Outcome::Timeout, Outcome::Unfinished, Outcome::Unfinished] {
        recorder.intended(OF, MS(1_500));
        recorder.completed(&completion(1_500, 3_500, outcome));
    }
    let recorded = recorder.finish(MS(4_000));
    let part = &recorded.parts[0];
    assert_eq!((part.intended, part.failed(), part.outcome(Outcome::Unfinished)), (4, 1, 2));
    let timed = [&part.response, &part.failed_response, &part.unfinished_response];
    assert_eq!(timed.map(Histogram::count), [4, 1, 2]);
    assert_eq!((recorded.drained.failed(), recorded.drained.is_empty()), (1, false));
}

#[test]
fn labels_and_segments_have_figures_of_their_own() {
    let segments = [Nanos::from_millis(1_000), Nanos::from_millis(2_000)];
    let mut recorder = recorder().with_segments(&segments);
    for (intended, label) in [(1_100, 1), (1_200, 0), (2_500, 1), (2_600, u16::MAX)] {
        let label = Label(label);
        recorder.completed(&Completion { label, ..completion(intended, 2_700, Outcome::Ok) });
    }
    let recorded = recorder.finish(MS(4_000));
    let counts = |groups: &[Group]| groups.iter().map(|g| g.response.count()).collect::<Vec<_>>();
    assert_eq!(counts(&recorded.labels), [1, 2]);
    assert_eq!(counts(&recorded.segments), [2, 2]);
}

#[test]
fn a_load_that_is_cut_has_a_shorter_window_and_its_drain_apart() {
    let mut recorder = recorder();
    for (intended, done) in [(1_500, 1_600), (2_400, 2_600)] {
        recorder.intended(OF, MS(intended));
        if done == 2_600 {
            recorder.cut(MS(2_500));
        }
        recorder.completed(&completion(intended, done, Outcome::Ok));
    }
    let recorded = recorder.finish(MS(2_700));
    assert_eq!(recorded.window_end, MS(2_500));
    let part = &recorded.parts[0];
    assert_eq!((part.intended, part.outcome(Outcome::Ok), part.completed_inside), (2, 2, 1));
    let completed: Vec<u64> = recorded.series.iter().map(|(_, i)| i.completed).collect();
    assert_eq!((completed, recorded.drained.completed), (vec![1, 0], 1));
}
