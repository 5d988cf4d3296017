//! The bounds of a simulation. It keeps every request of a load in memory, and the load's document has a
//! line for each second, so a load without a bound would take all memory of the machine.

use measure::pace::{Distribution as Law, Think};
use measure::quantity::grouped;
use measure::{Nanos, Rate};

use super::source::SpecError;
use super::{BackendKind, Model, Offered, Phases, Resolved, Simulated, Spec, Start};

#[cfg(test)]
mod tests;

/// The most requests of one load, of all its targets together. With what is worked out from them they
/// take less than 1 GiB.
pub(crate) const MOST_REQUESTS: usize = 20_000_000;
/// The longest load: more than a day.
const LONGEST: Nanos = Nanos::from_secs(100_000);

/// A load to simulate: how many requests it has is known on average.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    /// The requests per second of all targets; of a closed loop, as many as its responses allow.
    per_s: f64,
    /// The fewest requests: those of one burst.
    least: f64,
    words: String,
    remedy: &'static str,
}

/// The reason why a load is not simulated, and the remedy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TooMuch {
    pub(crate) message: String,
    pub(crate) remedy: &'static str,
}

impl Offer {
    /// Returns an open loop of this rate of each target, on average.
    pub(crate) fn open(per_s: f64, law: Law, targets: usize) -> Offer {
        let least = match law {
            Law::Bursts { n } => f64::from(n),
            _ => 0.0,
        };
        let burst = if 1.0 < least { format!(" in {law}") } else { String::new() };
        let each =
            if 1 < targets { format!(" for each of {targets} targets") } else { String::new() };
        let all = targets as f64;
        let words = format!("{}/s{burst}{each}", grouped(per_s));
        Offer { per_s: per_s * all, least: least * all, words, remedy: LESS }
    }

    /// Returns a closed loop: each connection sends again once it has thought, and no more responses
    /// come than the servers give.
    pub(crate) fn closed(
        model: &Simulated,
        connections: u32,
        think: Think,
        targets: usize,
    ) -> Offer {
        let service = model.service_time.as_secs_f64();
        let round = service + think.mean().as_secs_f64();
        let of_servers = f64::from(model.servers.0) / service;
        let per_s = (f64::from(connections) / round).min(of_servers) * targets as f64;
        let round = Nanos::from_secs_f64(round);
        let words =
            format!("a closed loop of {connections} connections (service and think time: {round})");
        Offer { per_s, least: 0.0, words, remedy: SLOWER }
    }

    /// Returns why this load cannot be simulated for so long, if it cannot.
    pub(crate) fn refused(&self, length: Nanos) -> Option<TooMuch> {
        let seconds = length.as_secs_f64();
        if LONGEST < length {
            return Some(TooMuch {
                message: format!("a simulated load takes at most {LONGEST}, and this one {length}"),
                remedy: "shorten the warm-up and the measurement",
            });
        }
        let requests = (self.per_s * seconds).max(self.least);
        let most = MOST_REQUESTS as f64;
        if requests <= most {
            return None;
        }
        let most = grouped(most);
        let message = match requests.is_finite() {
            true => format!(
                "{} for {length} has {} requests, and a simulation keeps at most {most} in memory",
                self.words,
                grouped(requests)
            ),
            false => format!("{} never comes to an end", self.words),
        };
        Some(TooMuch { message, remedy: self.remedy })
    }

    /// Returns the refusal of a load that turned out to have more requests than on average.
    pub(crate) fn too_many(&self, length: Nanos) -> TooMuch {
        let most = grouped(MOST_REQUESTS as f64);
        let message = format!(
            "{} for {length} has more requests than the {most} that a simulation keeps in memory",
            self.words
        );
        TooMuch { message, remedy: self.remedy }
    }
}

/// The remedies for a load with too many requests.
const LESS: &str = "lower the rate, or shorten the warm-up and the measurement";
const SLOWER: &str =
    "lengthen the service time or the think time, or shorten the warm-up and the measurement";

/// Checks that every load that is known beforehand can be simulated: a range up to its end.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let Spec { where_, simulated, load, search, phases, sut, .. } = &resolved.spec;
    let (BackendKind::Simulated, Some(model)) = (where_.backend, simulated) else { return Ok(()) };
    let targets = sut.instances.0 as usize;
    let law = load.arrivals().0;
    let closed = || Offer::closed(model, load.connections_at(None), load.think(), targets);
    let open = |rate: Rate| Offer::open(rate.as_per_second(), law, targets);
    let length = longest(phases);
    let (offer, key): (Offer, &[&str]) = match (search, &load.model) {
        (Some(search), _) => match (search.to, search.start) {
            (Some(to), _) => (open(to), &["range"]),
            (None, Start::At(rate)) => (open(rate), &["start"]),
            // It begins near what the servers answer, and goes on to it.
            (None, Start::Probe(_)) => (closed(), &["start"]),
        },
        (None, Model::Rate { rate: Some(Offered::Rate(rate)), .. }) => {
            (open(*rate), &["load", "rate"])
        }
        (None, Model::Shape { shape, .. }) => {
            let curve = shape.curve.after_warm_up(*phases.warm_up.fixed);
            let mean = curve.mean_rate(Nanos::ZERO, length);
            (Offer::open(mean, law, targets), &["load", "shape"])
        }
        (None, Model::Closed { .. }) => (closed(), &["load", "model"]),
        // The rate of another search's capacity; a trace is not simulated.
        (None, Model::Rate { .. } | Model::Trace { .. }) => return Ok(()),
    };
    let Some(TooMuch { message, remedy }) = offer.refused(length) else { return Ok(()) };
    Err(resolved.source.error(message, resolved.source.key(key), remedy))
}

/// Returns the length of the longest load of a trial.
fn longest(phases: &Phases) -> Nanos {
    let until_steady = phases.warm_up.until_steady.map_or(Nanos::ZERO, |until| *until.max);
    until_steady.max(*phases.warm_up.fixed + *phases.measure.time)
}
