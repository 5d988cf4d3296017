use super::*;

/// A component that uses half a CPU, with readings at these seconds.
fn read_at(seconds: &[u64], read_every: u64) -> Consumed {
    let sample = |&second: &u64| (at(second), second * 500_000_000);
    let read_every = Nanos::from_secs(read_every);
    Consumed { cpu: seconds.iter().map(sample).collect(), read_every, ..Consumed::default() }
}

fn at(second: u64) -> Instant {
    Instant(second * 1_000_000_000)
}

#[test]
fn readings_that_come_by_themselves_need_not_come_at_the_ends() {
    let minute = |consumed: &Consumed| consumed.cpu_in((at(100), at(160)));
    let around = read_at(&[90, 105, 165], 20);
    assert_eq!(minute(&around), Some(0.5));
    // The last one is 15 s old, or the first came 5 s late.
    let within = read_at(&[105, 120, 145], 20);
    assert_eq!(minute(&within), Some(0.5));
    // A place that reads at the end too has lost the component.
    assert_eq!(minute(&read_at(&[90, 105, 145], 0)), None);
    // A reading was left out.
    assert_eq!(minute(&read_at(&[90, 105, 138], 20)), None);
    // Of a short measurement too little is known.
    assert_eq!(within.cpu_in((at(100), at(110))), Some(0.5));
    assert_eq!(read_at(&[90, 104], 20).cpu_in((at(100), at(110))), None);
    assert_eq!(minute(&read_at(&[], 20)), None);
}

#[test]
fn cpu_is_cut_to_the_measurement() {
    let samples: Vec<(Instant, u64)> =
        [(0, 0), (100, 10), (200, 110), (300, 110)].map(|(t, used)| (Instant(t), used)).to_vec();
    let cpu = |from, to| cpu_between(&samples, Instant(from), Instant(to));
    assert_eq!(cpu(100, 200), Some(1.0));
    assert_eq!(cpu(150, 250), Some(0.5));
    assert_eq!(cpu(0, 300), Some(110.0 / 300.0));
    assert_eq!(cpu(200, 400), None);
    assert_eq!(cpu(200, 200), None);
}
