//! Trials in a slow machine. They measured a neighbour, so they are repeated, but only as often as was
//! declared: the work that shows the speed may depend on the load itself, and an overload must not
//! dismiss its own misses for ever.

use results::journal::{Entry, Purpose, SLOW_MACHINE, Status};
use results::speed::{SLOW, Usual};

use super::Turns;

#[cfg(test)]
mod tests;

/// Returns the speed of the machine in a trial, relative to the trials before it.
pub(crate) fn speed(entry: &Entry, before: &Turns<'_>) -> Option<f64> {
    Usual::so_far(before.all())?.speed_in(entry)
}

/// Returns a valid trial that leaves its question open as it goes to the journal: if the machine was
/// slow, it is not valid, or counts with a warning once no further repetition is allowed.
pub(crate) fn judge(entry: Entry, strand: usize, before: &Turns<'_>) -> Entry {
    if entry.purpose != Purpose::Trial || entry.status != Status::Valid {
        return entry;
    }
    let Some(speed) = speed(&entry, before).filter(|speed| *speed < SLOW) else { return entry };
    let slow = format!("{SLOW_MACHINE}{:.0} % of the speed of the trials before", 100.0 * speed);
    let same = |other: &&Entry| {
        other.configuration() == entry.configuration()
            && other.repetition == entry.repetition
            && other.slow_machine.is_some()
    };
    let repeated = before.of(strand).iter().filter(same).count() as u64;
    let allowed = before.slow_attempts(strand);
    let invalid = Entry {
        status: Status::Invalid,
        reasons: vec![format!("{slow}, at least {:.0} % are needed", 100.0 * SLOW)],
        slow_machine: Some(speed),
        ..entry.clone()
    };
    if repeated < u64::from(allowed) && before.repeats(strand, &invalid) {
        return invalid;
    }
    let mut entry = entry;
    entry.warnings.push(format!("{slow}; it counts, since the budget allows no other repetition"));
    entry
}
