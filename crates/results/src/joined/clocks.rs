//! The offsets of all clocks from that of the first sender.

use measure::{Nanos, Offset};

use super::{Clock, OfReceiver, OfSender};

/// The clocks of all files.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Places {
    names: Vec<Option<String>>,
    /// The clock of each sender, and of each receiver, by its place in `names`.
    pub(super) senders: Vec<usize>,
    pub(super) receivers: Vec<usize>,
    /// The offset of each clock from the first one; `None` if they were not compared.
    pub(super) offsets: Vec<Option<Offset>>,
    /// The most by which a time from a sender to a receiver may be wrong.
    pub(super) error: Option<Nanos>,
    /// True if the clocks of two receivers were not compared.
    are_receivers_unknown: bool,
}

impl Places {
    /// Returns the offset by which the times of a clock are converted: none if it is not known.
    pub(super) fn offset(&self, clock: usize) -> Offset {
        self.offsets[clock].unwrap_or(Offset::NONE)
    }

    pub(super) fn unknown_receivers(&self) -> Option<String> {
        self.are_receivers_unknown.then(|| {
            "the clocks of the receivers were not compared: which of two arrivals at different \
             receivers was earlier is not known, so the reordered events are not"
                .to_owned()
        })
    }

    pub(super) fn clocks(&self) -> Vec<Clock> {
        let clocks = self.names.iter().zip(&self.offsets).map(|(name, offset)| Clock {
            clock: name.clone(),
            ahead_ns: offset.map(|offset| offset.ahead_ns),
            error_ns: offset.map(|offset| offset.error.0),
        });
        clocks.collect()
    }
}

/// Names the clocks of all files, and chains what the senders know of them.
pub(super) fn places(senders: &[OfSender], receivers: &[OfReceiver]) -> Places {
    let mut names = Vec::new();
    let mut place = |clock: &Option<String>| {
        // A clock without a name is nobody else's.
        let known = names.iter().position(|known| known == clock).filter(|_| clock.is_some());
        known.unwrap_or_else(|| {
            names.push(clock.clone());
            names.len() - 1
        })
    };
    let of_senders: Vec<usize> = senders.iter().map(|sender| place(&sender.clock)).collect();
    let of_receivers: Vec<usize> =
        receivers.iter().map(|receiver| place(&receiver.clock)).collect();
    let mut known = Vec::new();
    for (sender, from) in senders.iter().zip(&of_senders) {
        for compared in &sender.of.compared {
            // A clock between two others may have no file.
            let to = place(&Some(compared.clock.clone()));
            known.extend(compared.offset().map(|offset| (*from, to, offset)));
        }
    }
    let offsets = offsets(names.len(), &known);
    let worst = |of: &[usize]| {
        let errors = of.iter().map(|clock| offsets[*clock].map(|offset| offset.error));
        errors.collect::<Option<Vec<_>>>().map(|all| all.into_iter().max().unwrap_or_default())
    };
    let error = worst(&of_senders).zip(worst(&of_receivers)).map(|(one, other)| one + other);
    let are_receivers_unknown = worst(&of_receivers).is_none()
        && of_receivers.iter().any(|clock| *clock != of_receivers[0]);
    Places {
        senders: of_senders,
        receivers: of_receivers,
        error,
        are_receivers_unknown,
        offsets,
        names,
    }
}

/// Returns the offset of each of so many clocks from the first one, by the chain of known offsets
/// with the smallest error.
fn offsets(count: usize, known: &[(usize, usize, Offset)]) -> Vec<Option<Offset>> {
    let mut offsets = vec![None; count];
    if let Some(first) = offsets.first_mut() {
        *first = Some(Offset::NONE);
    }
    let both = |&(from, to, offset): &(usize, usize, Offset)| {
        [(from, to, offset), (to, from, offset.reversed())]
    };
    // A chain has at most one step less than there are clocks.
    for _ in 1..count {
        let mut is_found = true;
        for (from, to, offset) in known.iter().flat_map(both) {
            let Some(by_chain) = offsets[from].map(|first: Offset| first.then(offset)) else {
                continue;
            };
            let is_better = offsets[to].is_none_or(|best| by_chain.error < best.error);
            if is_better {
                offsets[to] = Some(by_chain);
                is_found = false;
            }
        }
        if is_found {
            break;
        }
    }
    offsets
}
