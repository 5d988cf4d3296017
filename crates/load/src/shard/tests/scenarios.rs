//! Scenarios with one fault each, and their results.

use std::rc::Rc;

use ::measure::pace::Distribution;

use super::load::{LIMITS, Load, Pace, Run, START, Script, every};
use super::server::{Conduct, SERVICE, Welcome};
use super::*;
use crate::pacing::Sharing;

/// Returns a load of a thousand requests per second, for one second.
fn with(conduct: Rc<dyn Fn(super::server::Key) -> Conduct>) -> Load {
    Load { conduct, ..Load::default() }
}

fn count(run: &Run, outcome: Outcome) -> usize {
    run.witness.with(outcome).count()
}

fn attempts(run: &Run) -> u64 {
    run.truths.iter().map(|truth| truth.attempts).sum()
}

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn each_conduct_has_its_outcome_and_closes_its_connection_or_not() {
    use Conduct::*;
    for (conduct, outcome, is_replaced) in [
        (Well, Outcome::Ok, false),
        (Late(MS * 50), Outcome::Ok, false),
        (Busy, Outcome::Status, false),
        (NoContent, Outcome::Ok, false),
        (Chunked, Outcome::Ok, false),
        (Interim, Outcome::Ok, false),
        (Bytewise(Nanos(10)), Outcome::Ok, false),
        (UntilClose, Outcome::Ok, true),
        (LastByHeader, Outcome::Ok, true),
        (CloseAfter(Nanos::ZERO), Outcome::Ok, true),
        (Chatter, Outcome::Ok, true),
        (Early(MS * 50), Outcome::Ok, true),
        (Silence, Outcome::Timeout, true),
        (Withheld, Outcome::Timeout, true),
        (Endless, Outcome::Timeout, true),
        (Late(MS * 500), Outcome::Timeout, true),
        (Reset, Outcome::Reset, true),
        (ResetMidway, Outcome::Reset, true),
        (CloseMidway, Outcome::Reset, true),
        (HalfClose, Outcome::Reset, true),
        (Broken, Outcome::Write, true),
        (Nonsense, Outcome::Malformed, true),
    ] {
        let run = with(every(100, conduct)).run();
        let expected = if outcome == Outcome::Ok { 1_000 } else { 10 };
        assert_eq!(count(&run, outcome), expected, "{conduct:?}: {:?}", run.witness.outcomes());
        assert_eq!(run.witness.completions.len(), 1_000);
        let lost = run.witness.disconnected.len();
        assert_eq!(lost, if is_replaced { 10 } else { 0 }, "{conduct:?}");
        let is_replaced_at_once = |at: &Instant| {
            let mut later = run.witness.connected.iter().map(|(opened, _)| *opened);
            later.any(|opened| *at <= opened && opened <= *at + MS * 10)
        };
        let end = START + Nanos::SECOND;
        let lost = run.witness.disconnected.iter().filter(|at| **at + MS * 10 < end);
        assert!(lost.clone().all(is_replaced_at_once), "{conduct:?}");
    }
}

#[test]
fn requests_behind_an_announced_close_are_sent_again_once_with_their_intended_time() {
    for batch in [1, 3] {
        let conduct = every(100, Conduct::LastByHeader);
        let pace = Pace::Closed { think: Think::Fixed(Nanos::ZERO) };
        let run = Load { pipeline: 16, connections: 2, pace, batch, ..with(conduct) }.run();
        let outcomes = run.witness.outcomes();
        assert!(outcomes.keys().eq([&Outcome::Ok]), "{outcomes:?}");
        assert!(100 < run.witness.sent_again, "{}", run.witness.sent_again);
    }
}

#[test]
fn a_target_that_closes_silently_gets_its_next_connection_without_a_pause() {
    for conduct in [Conduct::CloseAfter(Nanos::ZERO), Conduct::Reset] {
        let every_second = move |(_, number, _): super::server::Key| match conduct {
            Conduct::Reset if number % 2 == 0 => Conduct::Well,
            conduct => conduct,
        };
        let pace = Pace::Closed { think: Think::Fixed(Nanos::ZERO) };
        let load = Load { connections: 1, pace, ..with(Rc::new(every_second)) };
        let run = load.run();
        let slowest = run.witness.with(Outcome::Ok).map(Completion::response_time).max();
        assert!(slowest < Some(MS), "{conduct:?}: {slowest:?}");
        assert!(1_000 < run.failures.unannounced, "{conduct:?}");
        assert_eq!(run.failures.unannounced, run.failures.after_one, "{conduct:?}");
    }
}

#[test]
fn a_rate_that_no_machine_can_make_ends_the_load_and_its_iterations() {
    let pace =
        Pace::Open { rate: 300e6, distribution: Distribution::Constant, sharing: Sharing::InTurn };
    let limits = Limits { backlog: 200_000, ..LIMITS };
    let load = Load { pace, limits, call_cost: MS, ..Load::default() };
    let run = load.run();
    assert_eq!(run.ended[0].1, Ended::Overloaded);
    assert!(run.is_behind);
    let most = run.witness.most_in_turn;
    assert_eq!(most, crate::shard::admission::MOST_ADMITTED, "{:?}", run.witness.outcomes());
}

#[test]
fn an_interruption_is_noticed_while_the_load_waits_for_the_last_responses() {
    /// Interrupts the load half a second after its end.
    struct Impatient<'a>(&'a AtomicBool);

    impl Observer for Impatient<'_> {
        fn turn(&mut self, now: Instant, _turn: Turn) {
            self.0.store(Instant(1_500_000_000) <= now, Ordering::Relaxed);
        }
    }

    let stop = AtomicBool::new(false);
    let server = Queue { misbehaviour: Some((1, Misbehaviour::Silence)), ..Queue::default() };
    let world = net::Simulation::new(server);
    let mut shard = Shard::new(world, Impatient(&stop), super::LIMITS, [&stop, &stop]);
    let driver = Http1::new(1, Static::new("GET", "/", &[], b""));
    let address: std::net::SocketAddr = ([127, 0, 0, 1], 1).into();
    let numbers = Numbers { first: 0, step: 1, quota: None };
    shard.add_pool(Of { pool: 0, target: 0 }, driver, (vec![address.into()], 1), numbers);
    shard.connect(Instant(0) + Nanos::SECOND).unwrap();
    let think = Think::Fixed(Nanos::ZERO);
    let mut source = Source::Closed { think, random: Random::new(1) };
    let (start, end) = (Instant(0), Instant(0) + Nanos::SECOND);
    let schedule = Schedule { start, overload: start, end, drain: Nanos::SECOND * 10 };
    let (done, ended) = shard.run(&mut source, schedule).unwrap();
    assert_eq!(ended, Ended::Halted);
    assert!(done < end + Nanos::SECOND, "{done:?}");
}

#[test]
fn a_failed_request_has_no_status_of_an_earlier_one() {
    let run = with(every(100, Conduct::Reset)).run();
    let statuses: Vec<u16> = run.witness.with(Outcome::Reset).map(|c| c.status).collect();
    assert_eq!(statuses, [0; 10]);
}

/// The first and the last byte are distinguished, however the response is sliced.
#[test]
fn an_answer_byte_by_byte_begins_with_its_first_and_is_done_with_its_last() {
    let run = with(every(1, Conduct::Bytewise(Nanos(100)))).run();
    for completion in &run.witness.completions {
        let start = completion.start.unwrap();
        assert_eq!(start.first_byte.unwrap() - start.sent, SERVICE + Nanos(100));
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".len() as u64;
        let took = completion.done - start.first_byte.unwrap();
        assert_eq!(took, Nanos(100) * (head + completion.bytes - 1), "{completion:?}");
    }
}

/// `check` asserts that each request's sent time is when the server received it.
#[test]
fn a_request_is_sent_when_its_bytes_leave_and_holding_it_back_is_lateness() {
    let pace = Pace::Open {
        rate: 20_000.0,
        distribution: Distribution::Poisson,
        sharing: Sharing::InTurn,
    };
    let call_cost = Nanos::from_micros(20);
    let load = Load { pace, call_cost, connections: 64, ..Load::default() };
    let lateness = |run: &Run| run.recorded.parts[0].lateness.mean().unwrap();
    let (at_once, held_back) = (load.run(), Load { held_back: true, ..load }.run());
    assert_eq!(count(&held_back, Outcome::Ok), held_back.witness.completions.len());
    // The first of several in an iteration is as late as the others.
    assert!(lateness(&at_once) + call_cost < lateness(&held_back));
}

#[test]
fn bytes_that_belong_to_no_request_are_counted() {
    for (conduct, unasked) in [(Conduct::Well, 0), (Conduct::Chatter, 10)] {
        let run = with(every(100, conduct)).run();
        assert_eq!((count(&run, Outcome::Ok), run.failures.unasked), (1_000, unasked));
    }
    // This server sends bytes before it has received a request.
    let welcome = Rc::new(|_| Welcome::Greeted);
    let run = Load { welcome, connections: 1, ..Load::default() }.run();
    assert_eq!(run.failures.unasked, attempts(&run));
}

#[test]
fn answers_in_one_packet_are_each_their_own() {
    let load = Load { connections: 1, pipeline: 2, ..with(every(2, Conduct::Well)) };
    // Even numbers wait for the odd ones.
    let conduct = |(_, number, _)| match number % 2 {
        0 => Conduct::Withheld,
        _ => Conduct::Well,
    };
    let run = Load { conduct: Rc::new(conduct), ..load }.run();
    assert_eq!(count(&run, Outcome::Ok), 1_000);
    let response_time = |number| {
        let found = run.witness.completions.iter().find(|c| c.number == number).unwrap();
        found.response_time()
    };
    assert_eq!((response_time(10), response_time(11)), (MS + SERVICE, SERVICE));
}

#[test]
fn connections_refused_at_first_are_tried_again_later_and_later() {
    let welcome = |attempt| match attempt < 6 {
        true => Welcome::Refused(Nanos::ZERO),
        false => Welcome::After(Nanos::ZERO),
    };
    let run = Load { connections: 2, welcome: Rc::new(welcome), ..Load::default() }.run();
    // Each slot is tried once before the load; then after 10 ms, 20 ms, …, even without requests.
    let opened: Vec<_> = run.witness.connected.iter().map(|(at, _)| at.0).collect();
    assert_eq!(opened.len(), 2, "{opened:?}");
    assert_eq!(count(&run, Outcome::Ok) + count(&run, Outcome::Connect), 1_000);
}

/// A server that accepts connections only to close them is not retried in a loop: virtual time
/// would stand still.
#[test]
fn a_server_that_closes_unused_connections_is_retried_less_and_less() {
    for welcome in [Welcome::Dismissed, Welcome::Greeted] {
        let run = Load { connections: 1, welcome: Rc::new(move |_| welcome), ..Load::default() };
        let run = run.run();
        assert!(attempts(&run) < 40, "{}", attempts(&run));
        assert_eq!(count(&run, Outcome::Ok), 0);
    }
}

#[test]
fn an_attempt_to_connect_that_nobody_answers_is_given_up_in_time() {
    // The first attempts are for the connections opened before the load; all others never succeed.
    let limits = Limits { connect_timeout: MS * 100, keep_alive: Some(1), ..LIMITS };
    let load = Load {
        welcome: Rc::new(|_| Welcome::Ignored),
        limits,
        pace: Pace::Open {
            rate: 10.0,
            distribution: Distribution::Constant,
            sharing: Sharing::InTurn,
        },
        ..Load::default()
    };
    let run = load.run();
    assert_eq!(count(&run, Outcome::Connect), 10);
    for completion in &run.witness.completions {
        let start = completion.start.unwrap();
        assert_eq!(completion.done - start.sent, MS * 100);
        assert_eq!(completion.why, "no route, or no answer in time");
    }
    // If connecting takes longer than the request may, the request times out.
    let limits = Limits { connect_timeout: MS * 300, ..limits };
    let run = Load { limits, ..load }.run();
    assert_eq!(count(&run, Outcome::Timeout), 10, "{:?}", run.witness.outcomes());
}

#[test]
fn a_connection_for_each_request_is_in_its_response_time_and_never_lateness() {
    let limits = Limits { keep_alive: Some(1), ..LIMITS };
    let welcome = Rc::new(|_| Welcome::After(MS * 3));
    let run = Load { limits, welcome, ..Load::default() }.run();
    assert_eq!(count(&run, Outcome::Ok), 1_000);
    assert_eq!(attempts(&run), 16 + 1_000);
    for completion in &run.witness.completions {
        let start = completion.start.unwrap();
        assert_eq!(completion.response_time(), MS * 3 + SERVICE);
        assert_eq!(start.sent, completion.intended, "it is sent when it begins to connect");
    }
}

#[test]
fn waiting_for_a_connection_to_open_is_waiting_for_the_target() {
    // Three at once on a connection that takes 3 ms to open: only the first one opened it.
    let limits = Limits { keep_alive: Some(3), ..LIMITS };
    let welcome = Rc::new(|_| Welcome::After(MS * 3));
    let load = Load { limits, welcome, connections: 1, pipeline: 3, ..Load::default() };
    let run = load.run();
    assert_eq!(run.witness.completions.len(), 1_000);
    // `check` asserts that each lateness is zero; the rest is the target's.
    assert!(MS * 3 <= run.recorded.parts[0].backlog_delay.max().unwrap());
}

#[test]
fn a_slot_whose_pause_is_over_is_used_at_once() {
    // Every connection breaks with its request, and another one is opened 10 ms later, not only
    // when the next request is due.
    let limits = Limits { keep_alive: Some(2), ..LIMITS };
    let run = Load { limits, connections: 2, ..with(every(1, Conduct::Reset)) }.run();
    assert_eq!(run.witness.completions.len(), 1_000);
    assert_eq!(run.recorded.parts[0].lateness.max(), Some(Nanos::ZERO));
}

#[test]
fn a_connection_serves_its_maximum_number_of_requests() {
    for most in [1, 2, 7, 1_000, 1_001] {
        let limits = Limits { keep_alive: Some(most), ..LIMITS };
        let run = Load { limits, connections: 1, ..Load::default() }.run();
        assert_eq!(count(&run, Outcome::Ok), 1_000);
        // The connection that is open when the load begins is used, unless each serves one request.
        let unused = u64::from(most == 1);
        assert_eq!(attempts(&run), unused + 1_000u64.div_ceil(u64::from(most)), "{most}");
        assert_eq!(run.recorded.parts[0].reconnects, 0, "our own closing does not count");
    }
}

#[test]
fn a_marked_request_is_overdue_once_and_counts_with_its_true_time() {
    let limits = Limits { overdue: Overdue::Mark, ..LIMITS };
    let late = MS * 450;
    let run = Load { limits, connections: 64, ..with(every(100, Conduct::Late(late))) }.run();
    assert_eq!((run.witness.overdue, count(&run, Outcome::Ok)), (10, 1_000));
    assert_eq!(run.recorded.parts[0].overdue, 10);
    assert_eq!(run.recorded.parts[0].response.count_above(LIMITS.timeout), 10);
    assert_eq!(run.witness.completions.iter().map(|c| c.response_time()).max(), Some(late));
    // A request whose response never ends is still in progress at the end of the drain.
    let run = Load { limits, connections: 64, ..with(every(100, Conduct::Endless)) }.run();
    assert_eq!((run.witness.overdue, count(&run, Outcome::Unfinished)), (9, 9));
    assert_eq!(count(&run, Outcome::Ok), 991, "a response to HEAD ends with its head");
}

#[test]
fn a_timeout_fails_the_other_requests_on_the_connection() {
    let pace =
        Pace::Open { rate: 100.0, distribution: Distribution::Constant, sharing: Sharing::InTurn };
    let load = Load { pace, connections: 1, pipeline: 16, ..with(every(50, Conduct::Silence)) };
    let run = load.run();
    // Number 49 is intended at 490 ms and cut at 690 ms; 16 fit on the connection, and 50 to 64 are
    // behind it. The same happens to 99, but the load has none behind it.
    assert_eq!(count(&run, Outcome::Timeout), 2, "{:?}", run.witness.outcomes());
    assert_eq!(count(&run, Outcome::Reset), 15);
    assert_eq!(count(&run, Outcome::Ok), 83);
}

#[test]
fn a_request_sent_in_the_iteration_of_a_timeout_is_not_done_before_it_was_sent() {
    // Calls take time, so that requests of an iteration are sent after its beginning.
    let pace =
        Pace::Open { rate: 5_000.0, distribution: Distribution::Poisson, sharing: Sharing::InTurn };
    let limits = Limits { timeout: MS, ..LIMITS };
    let call_cost = Nanos::from_micros(20);
    let conduct = every(20, Conduct::Silence);
    let load = Load { pace, limits, call_cost, conduct, connections: 1, ..Load::default() };
    let run = Load { pipeline: 16, ..load }.run();
    assert!(0 < count(&run, Outcome::Reset) && 0 < count(&run, Outcome::Timeout));
}

#[test]
fn every_pipelining_depth_is_fully_used() {
    for pipeline in 1..=16 {
        for batch in [1, 3] {
            // In sequence, at 100 µs each, they take at most 60 % of the time.
            let pace = Pace::Open {
                rate: 2_000.0,
                distribution: Distribution::Poisson,
                sharing: Sharing::InTurn,
            };
            let load = Load { pace, pipeline, batch, connections: 1, ..Load::default() };
            let run = load.run();
            let completions = &run.witness.completions;
            assert_eq!(count(&run, Outcome::Ok), completions.len(), "{pipeline} × {batch}");
            assert_eq!(attempts(&run), 1);
            let answers: u64 = completions.iter().map(|c| u64::from(c.answers)).sum();
            assert_eq!(answers, completions.len() as u64 * u64::from(batch));
        }
    }
}

#[test]
fn pools_of_a_shard_have_their_own_connections_and_their_own_requests() {
    let load = Load { targets: 3, pools: 4, connections: 2, shards: 2, ..Load::default() };
    let run = load.run();
    assert_eq!(attempts(&run), 24);
    for pool in 0..12 {
        let of_pool = run.witness.completions.iter().filter(|c| c.of.pool == pool);
        let numbers: Vec<u64> = of_pool.map(|c| c.number).collect();
        // Number i goes to target i mod 3, and there to its pool i / 3 mod 4.
        let expected: Vec<u64> = (0..1_000)
            .filter(|i| i % 3 == u64::from(pool / 4) && i / 3 % 4 == u64::from(pool % 4))
            .collect();
        assert_eq!(numbers, expected, "pool {pool}");
    }
}

#[test]
fn a_load_ends_when_every_workload_has_stopped() {
    let script = Script { enough: Some(20), ..Script::default() };
    let run = Load { script, pools: 3, connections: 1, ..Load::default() }.run();
    assert_eq!(run.ended, [(START + MS * 59 + SERVICE, Ended::ByWorkload)]);
    assert_eq!(count(&run, Outcome::Ok), 60);
    // One of three pools cannot get this far.
    let conduct = Rc::new(|(_, number, _)| match number % 3 {
        0 => Conduct::Silence,
        _ => Conduct::Well,
    });
    let run = Load { script, conduct, pools: 3, connections: 1, ..Load::default() }.run();
    assert_eq!(run.ended[0].1, Ended::AsPlanned);
    assert_eq!(count(&run, Outcome::Ok), 40);
}

#[test]
fn the_requested_number_of_requests_is_sent_and_no_more() {
    for requests in [1, 7, 100] {
        for shards in [1, 2, 3] {
            for pace in [
                Pace::Open {
                    rate: 1_000.0,
                    distribution: Distribution::Poisson,
                    sharing: Sharing::InTurn,
                },
                Pace::Open {
                    rate: 1_000.0,
                    distribution: Distribution::Poisson,
                    sharing: Sharing::Each,
                },
                Pace::Closed { think: Think::NONE },
            ] {
                let load = Load {
                    requests: Some(requests),
                    shards,
                    pools: 3,
                    targets: 2,
                    pace,
                    ..Load::default()
                };
                let run = load.run();
                let asked = run.witness.completions.len() as u64;
                let expected = requests.next_multiple_of(load.processes());
                assert_eq!(asked, expected, "{pace:?} on {shards} shards");
                assert_eq!(count(&run, Outcome::Ok) as u64, asked);
                let is_early = |(at, why): &(Instant, Ended)| {
                    *at < START + Nanos::SECOND / 2 && *why == Ended::AsPlanned
                };
                assert!(run.ended.iter().all(is_early), "{:?}", run.ended);
            }
        }
    }
}

#[test]
fn a_user_thinks_as_long_as_the_script_delays() {
    let script = Script { delay: MS * 20, is_scripted: true, ..Script::default() };
    let pace = Pace::Closed { think: Think::Fixed(MS * 5) };
    let run = Load { script, pace, connections: 1, ..Load::default() }.run();
    let intended: Vec<_> = run.witness.completions.iter().map(|c| c.intended).collect();
    // The first one is delayed too.
    assert_eq!(intended[0], START + MS * 20);
    for pair in intended.windows(2) {
        assert_eq!(pair[1] - pair[0], MS * 25 + SERVICE);
    }
}

#[test]
fn preparing_in_advance_delays_no_due_request() {
    let call_cost = Nanos::from_micros(5);
    let lateness = |preparations| {
        let script = Script { is_scripted: true, preparations, ..Script::default() };
        let run = Load { script, call_cost, ..Load::default() }.run();
        assert_eq!(run.prepared, preparations);
        assert!(Nanos::ZERO < run.witness.scripted);
        run.recorded.parts[0].lateness.max().unwrap()
    };
    let (without, with) = (lateness(0), lateness(10_000));
    // By one preparation at most, started when there seemed to be time.
    assert!(with <= without + call_cost * 4, "{with} for {without}");
}

#[test]
fn a_full_backlog_ends_the_load_on_its_shard_and_loses_nothing() {
    let limits = Limits { backlog: 50, timeout: Nanos::SECOND * 10, ..LIMITS };
    let run = Load { limits, connections: 4, ..with(every(1, Conduct::Silence)) }.run();
    // Number 54 is one too many, and no further request comes.
    assert_eq!(run.ended, [(START + MS * 55, Ended::Overloaded)]);
    assert_eq!(count(&run, Outcome::Dropped), 1);
    assert_eq!(count(&run, Outcome::Unfinished), 54);
}

#[test]
fn a_load_that_is_overloaded_in_its_warm_up_is_measured_for_a_moment() {
    let limits = Limits { backlog: 50, timeout: Nanos::SECOND * 10, ..LIMITS };
    let (warm_up, overload) = (MS * 200, MS * 100);
    let silent = with(every(1, Conduct::Silence));
    let run = Load { limits, connections: 4, warm_up, overload, ..silent }.run();
    assert_eq!(run.ended, [(START + warm_up + overload, Ended::Overloaded)]);
    // None of these 100 ms found room, and those before them are not counted.
    assert_eq!(run.recorded.parts[0].outcome(Outcome::Dropped), 100);
    assert_eq!(run.recorded.parts[0].intended, 100);
}

#[test]
fn a_backlog_may_be_left_at_the_end_and_what_was_sent_has_its_drain() {
    // Two connections carry 28 of 1,000 requests per second.
    let load = |leaves_backlog| Load {
        limits: Limits { leaves_backlog, ..LIMITS },
        connections: 2,
        drain: MS * 500,
        ..with(every(1, Conduct::Late(MS * 70)))
    };
    let (left, drained) = (load(true).run(), load(false).run());
    let length = Load::default().length;
    // The last ones were sent just before the end.
    let end = left.ended[0].0 - START;
    assert!(length + MS * 20 < end && end <= length + MS * 80, "{end}");
    assert_eq!(drained.ended[0].0 - START, length + MS * 500);
    let never_sent = left.witness.with(Outcome::Unfinished).filter(|done| done.start.is_none());
    assert_eq!(never_sent.count(), count(&left, Outcome::Unfinished));
    assert_eq!(left.witness.completions.len(), 1_000);
}

mod canaries {
    //! Tests of the checks: each of these breaks a rule, which must be detected.

    use super::*;

    fn run() -> (Load, Run) {
        let load = Load { length: MS * 100, ..Load::default() };
        let run = load.run();
        (load, run)
    }

    #[test]
    #[should_panic(expected = "one outcome a request")]
    fn a_request_without_an_outcome() {
        let (load, mut run) = run();
        run.witness.completions.pop();
        load.check(&run);
    }

    #[test]
    #[should_panic(expected = "one outcome a request")]
    fn a_request_with_two_outcomes() {
        let (load, mut run) = run();
        run.witness.completions.push(run.witness.completions[0]);
        load.check(&run);
    }

    #[test]
    #[should_panic(expected = "every request of the schedule was intended")]
    fn a_request_that_is_left_out_while_the_target_is_slow() {
        let (load, mut run) = run();
        run.witness.completions.pop();
        run.witness.intended.pop();
        load.check(&run);
    }

    #[test]
    #[should_panic(expected = "nothing is late")]
    fn a_request_that_is_sent_late() {
        let (load, mut run) = run();
        let start = run.witness.completions[0].start.as_mut().unwrap();
        start.sent = start.sent + Nanos(1);
        load.check(&run);
    }

    #[test]
    #[should_panic(expected = "the response to another request")]
    fn an_answer_to_another_request() {
        // The first response is shorter than announced, so that each response overlaps the one
        // before.
        let conduct = |(_, number, _): super::super::server::Key| match number {
            0 => Conduct::Swapped,
            _ => Conduct::Well,
        };
        Load { conduct: Rc::new(conduct), ..Load::default() }.run();
    }

    #[test]
    #[should_panic(expected = "the intervals sum up to the total")]
    fn an_interval_that_counts_too_much() {
        let (load, mut run) = run();
        run.recorded.series.at(START).intended += 1;
        load.check(&run);
    }

    #[test]
    #[should_panic(expected = "the record matches the requests")]
    fn a_record_that_lacks_response_times() {
        let (load, mut run) = run();
        run.recorded.parts[0].response.clear();
        load.check(&run);
    }

    #[test]
    #[should_panic(expected = "the labels sum up to the labelled")]
    fn a_label_that_is_lost() {
        let (load, mut run) = run();
        run.recorded.labels.pop();
        load.check(&run);
    }
}
