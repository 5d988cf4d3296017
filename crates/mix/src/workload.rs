//! What a lane sends: requests of a mix, or the same request again and again with a check.

use std::fmt;
use std::sync::Arc;

use load::driver::http1::{
    Answer, Expected, HttpWorkload, Origin, Outgoing, Static, Wanted, outcome_of,
};
use load::{Fault, Label, Outcome};
use measure::Random;
use measure::random::seed_of;

use crate::check::Checks;
use crate::mixture::Mix;
use crate::template::Filling;

#[cfg(test)]
mod tests;

/// Milliseconds since 1970, now.
pub type Clock = fn() -> u64;

/// Which lane of a load a workload is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lane {
    /// The run's.
    pub seed: u64,
    pub target: u32,
    /// How many connections the lanes before this one have, so that `{{connection}}` names each
    /// connection of the load differently.
    pub connections_before: u32,
}

/// Requests of a mix, each made from nothing but its number (see the crate's documentation).
#[derive(Clone)]
pub struct Mixed {
    mix: Arc<Mix>,
    wanted: Wanted,
    connections_before: u32,
    clock: Clock,
    /// From which, and a number, the chance of a request comes.
    seed: u64,
    /// Where a body is written to find its length.
    body: Vec<u8>,
}

impl Mixed {
    pub fn new(mix: &Arc<Mix>, lane: Lane, clock: Clock) -> Mixed {
        let checks = mix.entries().iter().filter_map(|entry| entry.checks.as_ref());
        // Arrivals draw from streams of the run's seed too.
        let seed = Random::part(lane.seed ^ seed_of("mix"), u64::from(lane.target)).next_u64();
        Mixed {
            mix: Arc::clone(mix),
            wanted: checks.map(Checks::wanted).max().unwrap_or(Wanted::Nothing),
            connections_before: lane.connections_before,
            clock,
            seed,
            body: Vec::new(),
        }
    }
}

impl HttpWorkload for Mixed {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        let mut filling = Filling {
            number: of.number,
            connection: u64::from(self.connections_before) + u64::from(of.connection) + 1,
            random: Random::part(self.seed, of.number),
            data: self.mix.data(),
            clock: self.clock,
        };
        let index = self.mix.choose(of.label, &mut filling.random);
        let entry = &self.mix.entries()[index];
        entry.write(&mut filling, &mut self.body, request.wire);
        request.expected.push(Expected { body: entry.expect, tag: index as u32 });
        request.label = Label(index as u16);
        Ok(())
    }

    fn wanted(&self) -> Wanted {
        self.wanted
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<Outcome, Fault> {
        Ok(match &self.mix.entries()[answer.tag as usize].checks {
            Some(checks) => checks.judge(answer),
            None => outcome_of(answer.status),
        })
    }
}

impl fmt::Debug for Mixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mixed").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// The same request again and again, with rules for its answers.
#[derive(Clone, Debug)]
pub struct Checked {
    request: Static,
    checks: Arc<Checks>,
}

impl Checked {
    pub fn new(request: Static, checks: Arc<Checks>) -> Checked {
        Checked { request, checks }
    }
}

impl HttpWorkload for Checked {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        self.request.next(of, request)
    }

    fn wanted(&self) -> Wanted {
        self.checks.wanted()
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<Outcome, Fault> {
        Ok(self.checks.judge(answer))
    }
}
