use scopeguard::guard;

use super::*;

/// A quota that stops its group all of the time in periods of 100 ms.
fn quota(ms: u64) -> Quota {
    let time = Nanos::from_millis(ms);
    Quota { time, ran: Nanos::ZERO, stopped: ms / 100, periods: ms / 100 }
}

/// Returns the counters of one shard at a time; all values in milliseconds.
fn reading(at: u64, waited: u64, stolen: u64, throttled: u64) -> Reading {
    Reading {
        at: Instant(at * 1_000_000),
        run_queue_wait: vec![Some(Nanos::from_millis(waited))],
        steal: vec![Some(Nanos::from_millis(stolen))],
        quotas: vec![quota(throttled)],
        ..Reading::default()
    }
}

/// Returns a watch from 5 s to 7.5 s that reads each second.
fn watch() -> Watch {
    let window = Window { start: Instant(5_000_000_000), end: Instant(7_500_000_000) };
    Watch::begin(window, Nanos::SECOND, reading(5_000, 900, 400, 300))
}

#[test]
fn the_time_taken_is_a_share_of_the_window() {
    let mut watch = watch();
    watch.add(reading(6_000, 900, 400, 300));
    watch.add(reading(7_000, 1_000, 450, 300));
    assert_eq!(watch.next, Instant(7_500_000_000));
    watch.add(reading(7_500, 1_150, 450, 800));
    assert_eq!(watch.next, Instant::NEVER, "nothing is read after the window");
    let whole = watch.seen.whole;
    let share = |share: Option<f64>| share.unwrap();
    assert!((share(whole.run_queue_wait) - 0.1).abs() < 1e-9, "{whole:?}");
    assert!((share(whole.steal) - 0.02).abs() < 1e-9, "{whole:?}");
    assert!((share(whole.throttled) - 0.2).abs() < 1e-9, "{whole:?}");
    // The last interval is half a second long.
    let throttled: Vec<_> = watch.seen.taken.iter().map(|(_, taken)| taken.throttled).collect();
    assert_eq!(throttled, [Some(0.0), Some(0.0), Some(1.0)]);
}

/// The watch may see the window late, and may not be scheduled for several intervals.
#[test]
fn a_late_watch_makes_no_readings_without_length() {
    let window = Window { start: Instant(5_000_000_000), end: Instant(7_500_000_000) };
    let mut watch = Watch::begin(window, Nanos::from_millis(20), reading(5_048, 0, 0, 0));
    assert_eq!(watch.next, Instant(5_060_000_000));
    watch.add(reading(5_130, 0, 10, 0));
    assert_eq!(watch.next, Instant(5_140_000_000));
    watch.add(reading(7_600, 0, 10, 0));
    assert_eq!(watch.next, Instant::NEVER);
    let shares: Vec<f64> = watch.seen.taken.iter().filter_map(|(_, taken)| taken.steal).collect();
    assert!(shares.iter().all(|share| *share < 0.5), "{shares:?}");

    let mut watch = Watch::begin(window, Nanos::SECOND, reading(7_600, 0, 0, 0));
    assert_eq!(watch.next, Instant::NEVER);
    watch.add(reading(7_600, 0, 0, 0));
    assert_eq!(watch.seen.whole.steal, None);
}

/// A shard that is not pinned may run on either of two CPUs, and its pod has a quota as its container has.
#[test]
fn the_share_is_that_of_the_worst_cpu_and_the_worst_quota_and_no_sum() {
    let ms = |ms: u64| Some(Nanos::from_millis(ms));
    // Two busy CPUs with a quota of 0.4 of one are stopped in every period.
    let [time, ran] = [1_600, 400].map(Nanos::from_millis);
    let stopped = Quota { time, ran, stopped: 10, periods: 10 };
    let less = Quota { stopped: 7, ..stopped };
    let first = Reading {
        steal: vec![ms(0), ms(0)],
        quotas: vec![Quota::default(); 2],
        ..reading(5_000, 0, 0, 0)
    };
    let now = Reading {
        steal: vec![ms(300), ms(200)],
        quotas: vec![stopped, less],
        ..reading(6_000, 0, 0, 0)
    };
    let taken = now.taken_since(&first);
    assert_eq!((taken.steal, taken.throttled), (Some(0.3), Some(0.8)));
}

#[test]
fn values_that_the_kernel_does_not_count_are_absent() {
    let mut watch = watch();
    watch.add(Reading { quotas: Vec::new(), ..reading(6_000, 900, 400, 300) });
    assert_eq!(watch.seen.whole.throttled, None);
    assert_eq!(watch.seen.whole.steal, Some(0.0));
}

/// Holds a lock that the watch needs, as if it did not run in the window.
#[test]
fn a_watch_that_missed_the_window_has_the_shares_since_its_last_reading() {
    let shards = Mutex::new(vec![Watched::current(Vec::new())]);
    let window = Mutex::new(None);
    let done = AtomicBool::new(false);
    let missing = clock::now() + NAP * 3;
    let start = missing + NAP;
    let end = start + NAP;
    let seen = std::thread::scope(|scope| {
        let watching = scope.spawn(|| super::watch(&shards, &window, Nanos::SECOND, &done));
        let end_watch = guard(&done, |done| done.store(true, Ordering::Relaxed));
        *window.lock().unwrap() = Some(Window { start, end });
        clock::sleep_until(missing);
        let held = shards.lock().unwrap();
        clock::sleep_until(end + NAP);
        drop(end_watch);
        drop(held);
        watching.join().unwrap()
    });
    assert_eq!(seen.taken.iter().count(), 0);
    assert!(seen.whole.run_queue_wait.is_some(), "{seen:?}");
}
