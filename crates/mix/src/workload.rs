//! What a pool sends: requests of a mix, or the same request again and again with a check.

use std::fmt;
use std::sync::Arc;

use load::driver::http1::{
    Answer, Expected, HttpWorkload, Origin, Outgoing, Static, Wanted, outcome_of,
};
use load::{Fault, Label, Outcome};
use measure::Random;
use measure::random::seed_of;

use crate::check::{Checks, Search};
use crate::mixture::Mix;
use crate::template::Filling;

#[cfg(test)]
mod tests;

/// Milliseconds since 1970, now.
pub type Clock = fn() -> u64;

/// Which pool of a load a workload is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pool {
    /// The run's.
    pub seed: u64,
    pub target: u32,
    /// How many connections the pools before this one have, so that `{{connection}}` names each
    /// connection of the load differently.
    pub connections_before: u32,
}

/// Requests of a mix, each made from nothing but its number (see the crate's documentation).
#[derive(Clone)]
pub struct Mixed {
    mix: Arc<Mix>,
    searches: Searches,
    connections_before: u32,
    clock: Clock,
    /// From which, and a number, the randomness of a request comes.
    seed: u64,
    /// Where a body is written to find its length.
    body: Vec<u8>,
}

impl Mixed {
    pub fn new(mix: &Arc<Mix>, pool: Pool, clock: Clock) -> Mixed {
        // Arrivals draw from streams of the run's seed too.
        let seed = Random::part(pool.seed ^ seed_of("mix"), u64::from(pool.target)).next_u64();
        Mixed {
            mix: Arc::clone(mix),
            searches: Searches::default(),
            connections_before: pool.connections_before,
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

    fn wanted(&mut self, connection: u32, tag: u32) -> Wanted {
        match &self.mix.entries()[tag as usize].checks {
            Some(checks) => self.searches.begin(checks, connection),
            None => Wanted::Nothing,
        }
    }

    fn took(&mut self, connection: u32, tag: u32, piece: &[u8]) {
        if let Some(checks) = &self.mix.entries()[tag as usize].checks {
            checks.look(self.searches.on(connection), piece);
        }
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<Outcome, Fault> {
        Ok(match &self.mix.entries()[answer.tag as usize].checks {
            Some(checks) => self.searches.judge(checks, answer),
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
    searches: Searches,
}

impl Checked {
    pub fn new(request: Static, checks: Arc<Checks>) -> Checked {
        Checked { request, checks, searches: Searches::default() }
    }
}

impl HttpWorkload for Checked {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        self.request.next(of, request)
    }

    fn wanted(&mut self, connection: u32, _tag: u32) -> Wanted {
        self.searches.begin(&self.checks, connection)
    }

    fn took(&mut self, connection: u32, _tag: u32, piece: &[u8]) {
        self.checks.look(self.searches.on(connection), piece);
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<Outcome, Fault> {
        Ok(self.searches.judge(&self.checks, answer))
    }
}

/// The searches in the bodies that pass: one on each connection that an answer passes on now. An idle
/// connection holds none, and a search that is over is used again.
#[derive(Clone, Debug, Default)]
struct Searches {
    /// By connection.
    open: Vec<Option<Box<Search>>>,
    #[expect(clippy::vec_box, reason = "a box goes to and fro, so that nothing is allocated")]
    spare: Vec<Box<Search>>,
}

impl Searches {
    /// Begins with the next body on a connection, and returns what these rules need of its answer.
    fn begin(&mut self, checks: &Checks, connection: u32) -> Wanted {
        let wanted = checks.wanted();
        if Wanted::Pieces <= wanted {
            let place = connection as usize;
            if self.open.len() <= place {
                self.open.resize_with(place + 1, || None);
            }
            let Searches { open, spare } = self;
            let search = open[place].get_or_insert_with(|| spare.pop().unwrap_or_default());
            checks.begin(search);
        }
        wanted
    }

    /// The search in the body that passes on a connection.
    fn on(&mut self, connection: u32) -> &mut Search {
        let open = self.open.get_mut(connection as usize).and_then(Option::as_mut);
        open.expect("a body begins before it passes")
    }

    /// Judges an answer by the search that ends with it.
    fn judge(&mut self, checks: &Checks, answer: &Answer<'_>) -> Outcome {
        match self.open.get_mut(answer.connection as usize).and_then(Option::take) {
            Some(search) => {
                let outcome = checks.judge(answer, &search);
                self.spare.push(search);
                outcome
            }
            // Nothing was searched for.
            None => checks.judge(answer, &Search::default()),
        }
    }
}
