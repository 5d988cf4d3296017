//! The share of time in which a quota of CPU time stopped a group of processes.

#[cfg(test)]
mod tests;

/// Returns the share of a time, by the growth of the kernel's counters in it: the time in which the quota
/// stopped the group as a share of that time, and the periods of the quota, stopped and all, where they are
/// counted.
///
/// The kernel adds up the time of all CPUs on which the group was stopped. It was never stopped for longer
/// than the periods in which that happened.
pub fn stopped_share(time: f64, periods: Option<(f64, f64)>) -> f64 {
    let of_periods = periods.filter(|(_, all)| 0.0 < *all).map(|(stopped, all)| stopped / all);
    time.min(of_periods.unwrap_or(1.0)).clamp(0.0, 1.0)
}
