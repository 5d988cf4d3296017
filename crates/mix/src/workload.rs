//! The workloads of a pool: requests of a mix, or the same request again and again with a check.

use std::fmt;
use std::sync::Arc;

use load::driver::http1::{
    Expected, HttpWorkload, Origin, Outgoing, Response, Static, Wanted, outcome_of,
};
use load::{Fault, Label, Outcome};
use measure::Random;
use measure::random::seed_of;

use crate::check::{Checks, Search};
use crate::mixture::Mix;
use crate::template::{Captured, Clock, Filling};

#[cfg(test)]
mod tests;

/// The pool of a load that a workload is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pool {
    /// The seed of the run.
    pub seed: u64,
    pub target: u32,
    /// The number of connections of all pools before this one, so that `{{connection}}` is
    /// different for each connection of the load.
    pub connections_before: u32,
    /// True if the target is https: redirects stay there.
    pub is_tls: bool,
}

/// A workload of a mix's requests, each made from its number only (see the crate's documentation).
#[derive(Clone)]
pub struct Mixed {
    mix: Arc<Mix>,
    searches: Searches,
    connections_before: u32,
    clock: Clock,
    /// The seed of the randomness of requests, together with their numbers.
    seed: u64,
    /// A buffer for a body whose length is not known yet.
    body: Vec<u8>,
}

impl Mixed {
    pub fn new(mix: &Arc<Mix>, pool: Pool, clock: Clock) -> Mixed {
        assert!(!mix.has_sessions(), "a mix with sessions is a `Journeys`");
        // Arrivals also draw from streams of the run's seed.
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
            captured: Captured::None,
            begin: request.wire.len(),
        };
        let index = self.mix.choose(of.label, &mut filling.random);
        let entry = &self.mix.entries()[index];
        entry.write(&mut filling, &mut self.body, request.wire);
        let (body, closes) = (entry.expect, entry.closes);
        request.expected.push(Expected { body, tag: index as u32, closes });
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

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        Ok(match &self.mix.entries()[answer.tag as usize].checks {
            Some(checks) => self.searches.judge(checks, answer),
            None => (outcome_of(answer.status), ""),
        })
    }
}

impl fmt::Debug for Mixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mixed").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// A workload that sends the same request again and again, with rules for its responses.
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

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        Ok(self.searches.judge(&self.checks, answer))
    }
}

/// The searches in bodies that are being received: one for each connection with a response in
/// progress. An idle connection has none, and finished searches are reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Searches {
    /// The active searches, indexed by connection.
    open: Vec<Option<Box<Search>>>,
    #[expect(clippy::vec_box, reason = "boxes move between both lists without allocation")]
    spare: Vec<Box<Search>>,
}

impl Searches {
    /// Starts a search for the next body on a connection, and returns the parts of the response
    /// that these rules need.
    pub(crate) fn begin(&mut self, checks: &Checks, connection: u32) -> Wanted {
        let wanted = checks.wanted();
        if Wanted::Pieces <= wanted {
            let index = connection as usize;
            if self.open.len() <= index {
                self.open.resize_with(index + 1, || None);
            }
            let Searches { open, spare } = self;
            let search = open[index].get_or_insert_with(|| spare.pop().unwrap_or_default());
            checks.begin(search);
        }
        wanted
    }

    /// Returns the search in the body that is being received on a connection.
    pub(crate) fn on(&mut self, connection: u32) -> &mut Search {
        let open = self.open.get_mut(connection as usize).and_then(Option::as_mut);
        open.expect("a body begins before it passes")
    }

    /// Judges a response by the search that ends with it.
    pub(crate) fn judge(
        &mut self,
        checks: &Checks,
        answer: &Response<'_>,
    ) -> (Outcome, &'static str) {
        match self.open.get_mut(answer.connection as usize).and_then(Option::take) {
            Some(search) => {
                let judged = checks.judge(answer, &search);
                self.spare.push(search);
                judged
            }
            // There was no search.
            None => checks.judge(answer, &Search::default()),
        }
    }
}
