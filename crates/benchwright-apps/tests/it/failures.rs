//! The failures when processes die, hang, leave or are slow, and how long they last.

use std::thread;
use std::time::Duration;

use crate::grpc::Grpc;
use crate::instance::{now, sleep};
use crate::services::{Caller, Load, Plan, Process, SEARCH, Sample, failures, wait_for};
use apps::hotel::api::reservation::ReservationRequest;

const CALLERS: usize = 4;
/// A time in which a load sends a few hundred requests.
const WHILE: Duration = Duration::from_millis(400);
/// The longest time to notice a broken connection, which is immediate unless the machine is busy.
const AT_ONCE: Duration = Duration::from_secs(2);
/// The longest time to notice a replica that hangs: a second between pings, three for the answer,
/// and two for a busy machine.
const LONGEST_DETECTION: Duration = Duration::from_secs(6);
/// The longest time until a replica that is back is used: it is tried at least once a second; the
/// rest is for a busy machine.
const LONGEST_RETURN: Duration = Duration::from_secs(10);

const SLOW: &[&str] = &["--delay", "2ms"];

fn is_used_again(replica: &Process) {
    let before = replica.answered("Ok");
    let used = || before + 10 < replica.answered("Ok");
    wait_for("it is used again", LONGEST_RETURN, used);
}

#[test]
fn a_killed_replica_fails_only_its_calls_in_progress_and_is_used_again_when_it_is_back() {
    for service in ["geo", "reservation"] {
        let mut hotel = Plan::default().replicas(service, 2).options(service, SLOW).start();
        let load = Load::start(hotel.frontend(), CALLERS);
        sleep(WHILE);
        let died = now();
        hotel.of(service)[0].kill();
        sleep(2 * WHILE);
        hotel.of(service)[0].start_again();
        is_used_again(&hotel.of(service)[0]);
        is_used_again(&hotel.of(service)[1]);
        let samples = load.end();

        let failures = failures(&samples);
        let is_at_once = |failed: &&Sample| {
            let end = failed.began + failed.took;
            died <= end && failed.began <= died + AT_ONCE && failed.took <= AT_ONCE
        };
        assert!(failures.iter().all(is_at_once), "{service}: {failures:?}");
        // Each caller has one request in progress.
        assert!(failures.len() <= CALLERS, "{service}: {failures:?}");
        assert!(40 < samples.len(), "{}", samples.len());
    }
}

#[test]
fn a_replica_that_hangs_is_skipped_and_is_used_again_when_it_continues() {
    // Longer than pauses of the machine: only the replica that hangs takes so long.
    let deadline = Duration::from_secs(1);
    let mut hotel =
        Plan::default().replicas("geo", 2).options("search", &["--deadline", "1s"]).start();
    let load = Load::start(hotel.frontend(), CALLERS);
    sleep(WHILE);
    let hung = now();
    hotel.of("geo")[0].signal("-STOP");
    sleep(LONGEST_DETECTION + WHILE);
    let went_on = now();
    hotel.of("geo")[0].signal("-CONT");
    is_used_again(&hotel.of("geo")[0]);
    let samples = load.end();

    let failures = failures(&samples);
    assert!(!failures.is_empty(), "no caller noticed that it hung");
    for failed in &failures {
        let text = failed.wrong.as_ref().unwrap();
        assert!(text.contains("DeadlineExceeded") || text.contains("Unavailable"), "{text}");
        let since = failed.began - hung;
        assert!(since < LONGEST_DETECTION, "{text} {since:?} after it hung");
    }
    let late: Vec<_> = samples.iter().filter(|one| one.took > deadline + AT_ONCE).collect();
    assert!(late.is_empty(), "{late:?}");
    assert!(samples.iter().any(|one| hung + LONGEST_DETECTION < one.began && one.began < went_on));
}

fn reservation(hotel: usize, number: usize) -> String {
    let (day, next) = (9 + number % 15, 10 + number % 15);
    format!(
        "/reservation?inDate=2015-04-{day:02}&outDate=2015-04-{next:02}&hotelId={}\
         &customerName=Cornell_7&username=Cornell_7&password=7777777777&number=1",
        1 + hotel
    )
}

/// Returns the number of reservation documents in the store.
fn reservations(caller: &mut Caller) -> u64 {
    let (code, counts) = caller.ask("GET", "/counts").unwrap();
    assert_eq!(code, 200, "{counts}");
    let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
    counts["reservations"].as_u64().unwrap()
}

#[test]
fn a_store_that_is_killed_and_started_again_has_all_that_it_acknowledged() {
    let mut hotel = Plan::default().replicas("reservation", 2).start();
    let frontend = hotel.frontend();
    let seeded = reservations(&mut Caller::new(frontend));
    let began = now();
    let guest = move |hotel: usize| {
        let mut caller = Caller::new(frontend);
        let (mut made, mut unknown) = (0, 0);
        for number in 0.. {
            match caller.ask("POST", &reservation(hotel, number)).unwrap() {
                (200, body) if body.contains("successfully") => made += 1,
                (500, body) => {
                    assert!(body.contains("rpc error: code = Unavailable"), "{body}");
                    unknown += 1;
                    sleep(Duration::from_millis(1));
                }
                other => panic!("{other:?}"),
            }
            if 6 * WHILE < began.elapsed() {
                break;
            }
        }
        (made, unknown)
    };
    let guests: Vec<_> =
        (20..20 + CALLERS).map(|hotel| thread::spawn(move || guest(hotel))).collect();
    sleep(WHILE);
    hotel.of("store")[0].kill();
    sleep(WHILE);
    hotel.of("store")[0].start_again();
    wait_for("services find the store again", LONGEST_RETURN, || {
        Caller::new(frontend).ask("POST", &reservation(60, 0)).is_ok_and(|(code, _)| code == 200)
    });
    let kept = reservations(&mut Caller::new(frontend));
    assert!(seeded < kept);
    let counted: Vec<(u64, u64)> = guests.into_iter().map(|guest| guest.join().unwrap()).collect();
    let made: u64 = counted.iter().map(|(made, _)| made).sum();
    let unknown: u64 = counted.iter().map(|(_, unknown)| unknown).sum();
    assert!(0 < unknown, "no caller noticed");
    let there = reservations(&mut Caller::new(frontend));
    // One was made while we waited. Requests in progress when it died may have been made or not.
    let least = seeded + made + 1;
    assert!(
        (least..=least + CALLERS as u64).contains(&there),
        "{least} acknowledged, {there} there"
    );
}

#[test]
fn a_change_of_the_list_moves_the_load_and_fails_nothing() {
    let mut hotel = Plan::default().replicas("geo", 2).options("geo", SLOW).in_files().start();
    let load = Load::start(hotel.frontend(), CALLERS);
    sleep(WHILE);
    hotel.add("geo");
    assert_eq!(hotel.of("geo").len(), 3);
    assert_eq!(hotel.of("geo")[2].answered("Ok"), 0);
    hotel.announce("geo", &[0, 1, 2]);
    is_used_again(&hotel.of("geo")[2]);
    // A replica that the machine delays gets fewer calls meanwhile.
    wait_for("the shares are equal", LONGEST_RETURN, || {
        let before: Vec<u64> = hotel.of("geo").iter().map(|one| one.answered("Ok")).collect();
        sleep(2 * WHILE);
        let after = hotel.of("geo").iter().map(|one| one.answered("Ok"));
        let shares: Vec<u64> = after.zip(&before).map(|(after, before)| after - before).collect();
        let (least, most) = (*shares.iter().min().unwrap(), *shares.iter().max().unwrap());
        10 < most && most < least + least / 4 + 5
    });

    hotel.announce("geo", &[1, 2]);
    wait_for("it gets no more calls", LONGEST_RETURN, || {
        let calls = hotel.of("geo")[0].answered("Ok");
        sleep(WHILE);
        hotel.of("geo")[0].answered("Ok") == calls
    });
    is_used_again(&hotel.of("geo")[1]);
    let samples = load.end();
    assert!(failures(&samples).is_empty(), "{:?}", failures(&samples));
}

#[test]
fn a_service_slower_than_its_callers_deadline_is_an_error_in_time() {
    let hotel = Plan::default()
        .options("geo", &["--delay", "5s"])
        .options("search", &["--deadline", "100ms"])
        .start();
    let began = now();
    let (code, body) = Caller::new(hotel.frontend()).ask("GET", SEARCH).unwrap();
    let took = began.elapsed();
    assert_eq!(code, 500);
    assert_eq!(body, "rpc error: code = DeadlineExceeded desc = geo took longer than 100ms\n");
    assert!(took < Duration::from_secs(4), "{took:?}");
}

/// Returns a request that needs the store.
fn check() -> ReservationRequest {
    ReservationRequest {
        hotel_id: vec!["1".to_owned()],
        in_date: "2015-04-09".to_owned(),
        out_date: "2015-04-10".to_owned(),
        room_number: 1,
        customer_name: String::new(),
    }
}

const CHECK: &str = "/reservation.Reservation/CheckAvailability";

#[test]
fn a_server_obeys_its_callers_deadline_and_refuses_calls_beyond_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let statistics = folder.path().join("statistics");
    let store = Process::start(&["store"]);
    let arguments = ["reservation", "--store", &store.address.to_string(), "--max-calls", "2"];
    let statistics_file = ["--statistics", statistics.to_str().unwrap()];
    let reservation = Process::start(&[&arguments[..], &statistics_file].concat());
    let grpc = Grpc::connect(reservation.address);
    assert_eq!(grpc.call(CHECK, &check(), None).code, 0);

    // A call that needs the store has to wait now.
    store.signal("-STOP");
    let began = now();
    // Shorter than the time after which the store counts as dead.
    let timeout = Duration::from_secs(2);
    let first = grpc.begin(CHECK, &check(), Some(timeout));
    let second = grpc.begin(CHECK, &check(), Some(timeout));
    let third = grpc.call(CHECK, &check(), Some(timeout));
    let took = began.elapsed();
    assert_eq!((third.code, third.message.as_str()), (8, "too many calls at once"));
    assert!(took < timeout, "{took:?}");
    for held in [first, second] {
        let held = grpc.end(held);
        assert_eq!((held.code, held.message.as_str()), (4, "the call took too long"));
    }
    let took = began.elapsed();
    assert!(timeout <= took && took < 2 * timeout, "{took:?}");
    assert_eq!(reservation.answered("ResourceExhausted"), 1);
    assert_eq!(reservation.answered("DeadlineExceeded"), 2);
    wait_for("the statistics show it", LONGEST_RETURN, || {
        std::fs::read_to_string(&statistics).is_ok_and(|line| line.contains("\"refused\":1"))
    });

    store.signal("-CONT");
    assert_eq!(grpc.call(CHECK, &check(), None).code, 0, "it serves again");
}

#[test]
fn an_ending_process_finishes_its_calls_and_fails_nothing() {
    let services = ["geo", "search", "reservation"];
    let mut plan = Plan::default();
    for service in services {
        plan = plan.replicas(service, 2).options(service, SLOW);
    }
    let mut hotel = plan.start();
    let load = Load::start(hotel.frontend(), CALLERS);
    for round in 0..4 {
        for service in services {
            sleep(WHILE / 10);
            let replica = &mut hotel.of(service)[round % 2];
            assert_eq!(replica.terminate(), Some(0));
            replica.start_again();
            is_used_again(&hotel.of(service)[round % 2]);
        }
    }
    let samples = load.end();
    assert!(failures(&samples).is_empty(), "{:?}", failures(&samples));
}

#[test]
fn each_signal_that_asks_for_an_end_lets_an_application_end() {
    for signal in ["-INT", "-TERM", "-HUP", "-QUIT", "-USR1", "-USR2", "-ALRM", "-XCPU"] {
        assert_eq!(Process::start(&["all-in-one"]).end_by(signal), Some(0), "{signal}");
    }
}
