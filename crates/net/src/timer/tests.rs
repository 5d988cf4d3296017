use std::collections::VecDeque;

use super::*;

/// Sleeps as requested and finds nothing; records each requested sleep.
struct Idle {
    waits: Waits,
    asked: VecDeque<Nanos>,
}

impl Poll for Idle {
    fn poll(&mut self, longest: Nanos) {
        self.asked.push_back(longest);
        clock::sleep_until(clock::now() + longest);
    }

    fn has_found(&self) -> bool {
        false
    }

    fn waits(&mut self) -> &mut Waits {
        &mut self.waits
    }
}

fn idle(timer: Timer) -> Idle {
    let mut waits = Waits::new(timer);
    waits.count(Instant(0), Instant::NEVER);
    Idle { waits, asked: VecDeque::new() }
}

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn each_timer_sleeps_as_long_as_it_may_and_reports_it() {
    for (timer, least, most) in [
        (Timer::Sleep, Nanos::from_micros(500), MS),
        (Timer::Hybrid, Nanos::from_micros(440), MS.saturating_sub(wake_up::LEAST)),
        (Timer::Spin, Nanos::ZERO, Nanos::ZERO),
    ] {
        // If the machine pauses between two readings of the clock, less is left to sleep or spin.
        let attempt = || {
            let mut io = idle(timer);
            let until = clock::now() + MS;
            assert!(until <= wait(&mut io, until));
            (io.asked[0], io.waits.waited().clone())
        };
        let spins = timer == Timer::Spin;
        let enough = if spins { Nanos::from_micros(500) } else { Nanos::ZERO };
        let (_, waited) = (0..100)
            .map(|_| attempt())
            .find(|(slept, waited)| (least..=most).contains(slept) && enough <= waited.spun)
            .expect("one of a hundred attempts is not disturbed");
        assert_eq!(waited.wake_up_delay.count(), u64::from(!spins));
        assert!(timer != Timer::Sleep || waited.spun == Nanos::ZERO, "{waited:?}");
    }
}

#[test]
fn a_hybrid_wait_begins_to_spin_as_much_earlier_as_it_was_woken_late() {
    let mut io = idle(Timer::Hybrid);
    let begun = clock::now();
    for second in 1..20 {
        // As if the machine had woken it 3 ms late each time.
        let asked = begun + Nanos::from_millis(100 * second);
        io.waits.woke(asked, asked + MS * 3);
        io.waits.start(asked + MS * 3);
    }
    // Rivals (other tests that run beside this one) would make it sleep: that is tested elsewhere.
    assert!(MS * 2 < io.waits.wake_ups.margin());
    io.waits.rivals = Rivals::never_looking();
    let until = clock::now() + MS;
    wait(&mut io, until);
    assert!(io.asked.iter().all(|asked| *asked == Nanos::ZERO), "{:?}", io.asked);
    assert_eq!(io.waits.waited().wake_up_delay.count(), 19);
}

#[test]
fn only_the_time_that_counts_is_reported() {
    let mut io = idle(Timer::Sleep);
    let begun = clock::now();
    io.waits.count(begun + MS * 100, begun + MS * 200);
    wait(&mut io, begun + MS);
    assert!(io.waits.waited().wake_up_delay.is_empty());
    io.waits.woke(begun + MS * 150, begun + MS * 151);
    io.waits.woke(begun + MS * 200, begun + MS * 201);
    assert_eq!(io.waits.waited().wake_up_delay.count(), 1);
}
