//! The machine's monotonic clock, CPU clocks, and sleeping until a point in time.

use measure::{Instant, Nanos};

/// CLOCK_MONOTONIC: the same for all processes of a machine.
#[inline]
pub fn now() -> Instant {
    read(libc::CLOCK_MONOTONIC)
}

/// The CPU time that this thread has used so far.
pub fn thread_cpu() -> Nanos {
    Nanos(read(libc::CLOCK_THREAD_CPUTIME_ID).0)
}

/// The CPU time that this process has used so far.
pub fn process_cpu() -> Nanos {
    Nanos(read(libc::CLOCK_PROCESS_CPUTIME_ID).0)
}

/// Returns the time now, and nanoseconds since 1970, as the kernel stamps what it receives.
///
/// The thread may be interrupted between the readings: then they are repeated. Those of the last
/// attempt are returned if it always is.
pub(crate) fn now_and_wall() -> (Instant, u64) {
    const TOGETHER: Nanos = Nanos::from_micros(10);
    const ATTEMPTS: usize = 5;
    let both = || (now(), read(libc::CLOCK_REALTIME).0);
    let mut latest = both();
    for _ in 0..ATTEMPTS {
        if now() - latest.0 < TOGETHER {
            break;
        }
        latest = both();
    }
    latest
}

/// Sleeps until `until`, or returns at once if that time has passed.
pub fn sleep_until(until: Instant) {
    let until = timespec(until.0);
    // SAFETY: `until` is a valid timespec, and the remaining time is not requested.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &until,
            std::ptr::null_mut(),
        );
    }
}

/// Asks the kernel not to round this thread's timers (it may by 50 µs to save power).
pub fn precise_timers() {
    // SAFETY: a prctl without pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

fn read(clock: libc::clockid_t) -> Instant {
    let mut time = timespec(0);
    // SAFETY: `time` is a valid timespec to write to.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0, "the clock exists on every Linux");
    Instant(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
