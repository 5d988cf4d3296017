use measure::Random;

use super::*;

/// Returns the time at which a watch calls the machine calm, given the spins.
fn calm_after(
    cpus: u32,
    until: Nanos,
    spin: impl FnMut(u32, Nanos) -> Option<Spin>,
) -> Option<Nanos> {
    calm_of(&loads(cpus), until, spin)
}

/// Returns CPUs on which only the generator runs.
fn loads(cpus: u32) -> Vec<Watched> {
    (0..cpus).map(|cpu| Watched { cpu, runs_system: false }).collect()
}

fn calm_of(
    watched: &[Watched],
    until: Nanos,
    mut spin: impl FnMut(u32, Nanos) -> Option<Spin>,
) -> Option<Nanos> {
    let mut watch = Watch::of(watched.iter().copied(), CALM_FOR);
    let mut at = Nanos::ZERO;
    while at < until {
        for &Watched { cpu, .. } in watched {
            if let Some(spin) = spin(cpu, at) {
                watch.add(spin);
                if watch.is_calm() {
                    return Some(spin.ended - Instant::default());
                }
            }
        }
        at += EVERY;
    }
    None
}

/// Returns a spin that begins at this time and loses this time in one gap.
fn spin(cpu: u32, at: Nanos, lost: Nanos) -> Spin {
    let begun = Instant::default() + at;
    // A gap delays its end.
    let ended = begun + SPIN.max(lost + Nanos::from_micros(1));
    Spin { cpu, begun, ended, lost, longest_gap: lost, stolen: Nanos::ZERO }
}

/// Returns true at the beginning of every tenth spin.
fn is_tenth(at: Nanos) -> bool {
    at.0.is_multiple_of((EVERY * 10).0)
}

const LONG: Nanos = Nanos::from_secs(60);

#[test]
fn an_undisturbed_machine_is_calm_after_two_seconds() {
    let calm = calm_after(4, LONG, |cpu, at| Some(spin(cpu, at, Nanos::ZERO)));
    let calm = calm.unwrap();
    assert!(CALM_FOR <= calm && calm < CALM_FOR + EVERY, "{calm}");
}

#[test]
fn it_is_calm_two_seconds_after_the_disturbance_ends() {
    // A busy neighbour of equal priority on CPU 1: half of each spin is lost, for 20 s.
    let calm = calm_after(2, LONG, |cpu, at| {
        let disturbed = cpu == 1 && at < Nanos::from_secs(20);
        Some(spin(cpu, at, if disturbed { Nanos::from_millis(10) } else { Nanos::ZERO }))
    });
    let calm = calm.unwrap();
    assert!(Nanos::from_millis(21_800) < calm && calm < Nanos::from_millis(22_200), "{calm}");
}

#[test]
fn losses_count_by_their_share_of_the_spins() {
    let with_gaps = |gap| {
        calm_after(1, LONG, |cpu, at| {
            Some(spin(cpu, at, if is_tenth(at) { gap } else { Nanos::ZERO }))
        })
    };
    // In two seconds there are about 430 ms of spins, of which 4.3 ms are one percent; two or three
    // have a gap.
    assert_eq!(with_gaps(Nanos::from_millis(3)), None);
    assert!(with_gaps(Nanos::from_micros(1_300)).is_some());
}

#[test]
fn one_long_pause_is_waited_out() {
    let pause = EVERY * 10;
    let calm = calm_after(1, LONG, |cpu, at| {
        let lost = if at == pause { Nanos::from_millis(70) } else { Nanos::ZERO };
        Some(spin(cpu, at, lost))
    });
    let calm = calm.unwrap();
    assert!(pause + CALM_FOR < calm && calm < pause + CALM_FOR + EVERY * 2, "{calm}");
}

/// Steal shorter than the gaps that count appears in the kernel's count only.
#[test]
fn steal_that_makes_no_gaps_counts() {
    let with_steal = |of_each_period| {
        calm_after(2, LONG, |cpu, at| {
            Some(Spin { stolen: of_each_period, ..spin(cpu, at, Nanos::ZERO) })
        })
    };
    assert_eq!(with_steal(Nanos::from_millis(1)), None);
    assert!(with_steal(Nanos::from_micros(800)).is_some());
}

#[test]
fn a_cpu_on_which_nothing_could_spin_is_not_calm() {
    let calm = calm_after(2, LONG, |cpu, at| {
        (cpu == 0 || is_tenth(at)).then(|| spin(cpu, at, Nanos::ZERO))
    });
    assert_eq!(calm, None);
    let never = calm_after(2, LONG, |cpu, at| (cpu == 0).then(|| spin(cpu, at, Nanos::ZERO)));
    assert_eq!(never, None);
}

/// Forty idle processes run in turns on the system's CPU: the time that they use is not a
/// disturbance, and the time that the machine's host takes is.
#[test]
fn gaps_where_the_system_runs_do_not_count_and_steal_does() {
    let watched = [Watched { cpu: 0, runs_system: true }, Watched { cpu: 1, runs_system: false }];
    let gaps = |cpu, at| spin(cpu, at, Nanos::from_millis(if cpu == 0 { 4 } else { 0 }));
    let calm = calm_of(&watched, LONG, |cpu, at| Some(gaps(cpu, at)));
    assert!(calm.is_some_and(|calm| calm < CALM_FOR + EVERY), "{calm:?}");
    let stolen = Nanos::from_millis(1);
    let calm = calm_of(&watched, LONG, |cpu, at| Some(Spin { stolen, ..gaps(cpu, at) }));
    assert_eq!(calm, None);
    let mut watch = Watch::of(watched, CALM_FOR);
    watch.add(Spin { stolen: Nanos::from_millis(60), ..gaps(0, Nanos::ZERO) });
    watch.add(gaps(1, Nanos::ZERO));
    assert_eq!(watch.worst().unwrap().to_string(), "CPU 0 lost 3.0 % to steal, bound 1 %");
}

#[test]
fn short_random_gaps_below_the_bound_do_not_delay_it() {
    let mut random = Random::new(7);
    let calm = calm_after(2, LONG, |cpu, at| {
        let share = 0.008 * random.unit();
        Some(spin(cpu, at, Nanos((share * SPIN.0 as f64) as u64)))
    });
    assert!(calm.is_some_and(|calm| calm < CALM_FOR + EVERY), "{calm:?}");
}

#[test]
fn the_worst_cpu_is_shown_with_its_figures() {
    let mut watch = Watch::of(loads(2), CALM_FOR);
    watch.add(spin(0, Nanos::ZERO, Nanos::ZERO));
    let stolen = Nanos::from_millis(60);
    watch.add(Spin { stolen, ..spin(1, Nanos::ZERO, Nanos::from_millis(4)) });
    let calm = Calm {
        is_calm: watch.is_calm(),
        waited: LONG,
        quiet: CALM_FOR,
        worst: watch.worst(),
        lost: None,
    };
    let text = "not calm after 60.0 s: CPU 1 lost 20.0 % to gaps (up to 4.00 ms) and 3.0 % to \
                steal, bound 1 %";
    assert_eq!(calm.to_string(), text);
    let calm = Calm { is_calm: true, waited: CALM_FOR, quiet: CALM_FOR, worst: None, lost: None };
    assert_eq!(calm.to_string(), "calm for 2.00 s, after 2.00 s");
}

/// A neighbour that pauses for three seconds between its bursts would disturb a trial again.
#[test]
fn a_machine_that_disturbed_a_trial_again_has_to_be_calm_for_longer() {
    assert_eq!(quiet(Nanos::from_secs(5)), CALM_FOR);
    let [first, second] = [20, 40].map(|within| quiet(Nanos::from_secs(within)));
    assert_eq!((first, second), (CALM_FOR, CALM_FOR * 2));
    let bursts = |at: Nanos| {
        let is_burst = at.0 % Nanos::from_secs(4).0 < Nanos::SECOND.0;
        spin(0, at, if is_burst { Nanos::from_millis(5) } else { Nanos::ZERO })
    };
    for (quiet, is_calm) in [(first, true), (second, false)] {
        let mut watch = Watch::of(loads(1), quiet);
        let mut at = Nanos::ZERO;
        while at < LONG && !watch.is_calm() {
            watch.add(bursts(at));
            at += EVERY;
        }
        assert_eq!(watch.is_calm(), is_calm, "{quiet}");
    }
}
