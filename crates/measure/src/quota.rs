//! The share of time in which a quota of CPU time stopped a group of processes.

#[cfg(test)]
mod tests;

/// The growth of the kernel's counters of a group in some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The time in which the quota stopped the group, added up over CPUs, as a multiple of the time.
    pub stopped: f64,
    /// The CPU time that the group used, as a multiple of the time; 0 if it is not known.
    pub ran: f64,
    /// The periods of the quota in which it stopped the group, and all of them, where they are counted.
    pub periods: Option<(f64, f64)>,
}

impl Growth {
    /// Returns the share of the time in which the quota stopped the group on a CPU, as a mean over the CPUs that
    /// had something of it to run: at most.
    ///
    /// The kernel does not say how many CPUs these are. Each of them ran the group, stopped it, or did neither, so
    /// there are at least as many as both times add up to, and one. The share is exact if the group always had
    /// something to run on each of them, and too high otherwise; without the time that it ran, too. No CPU was
    /// stopped for longer than the periods in which that happened, but they count as a whole.
    pub fn stopped_share(&self) -> f64 {
        let of_periods = self.periods.filter(|(_, all)| 0.0 < *all);
        let of_periods = of_periods.map_or(1.0, |(stopped, all)| stopped / all);
        let cpus = (self.stopped + self.ran).max(1.0);
        (self.stopped / cpus).min(of_periods).clamp(0.0, 1.0)
    }
}
