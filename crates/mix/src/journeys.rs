//! The workload of a pool whose requests belong to sessions.
//!
//! A session's step is made from the session's number, the number of the step and the values that the
//! session has captured, so it is the same if it has to be sent again. The table of sessions is as
//! large as the most sessions that were in progress at once, which the engine bounds; a session that
//! has ended leaves its buffers to the next one.

use std::fmt;
use std::sync::Arc;

use load::driver::http1::{Expected, HttpWorkload, Origin, Outgoing, Response, Wanted, outcome_of};
use load::driver::{Arrivals, Session};
use load::{Fault, Label, Outcome};
use measure::random::seed_of;
use measure::{Nanos, Random};
use wire::http1::{Expect, fields};

use crate::capture::Captures;
use crate::entry::Entry;
use crate::jar::{Jar, Setter};
use crate::mixture::Mix;
use crate::redirect::{self, Hop};
use crate::steps::{Journey, Sessions, Step};
use crate::template::{Captured, Clock, Filling, target_of};
use crate::workload::{Pool, Searches};

#[cfg(test)]
mod tests;

const FULL_JAR: &str = "more or larger cookies than a session may have";

/// A workload of sessions, whose requests follow from each other's responses.
#[derive(Clone)]
pub struct Journeys {
    mix: Arc<Mix>,
    searches: Searches,
    connections_before: u32,
    is_tls: bool,
    clock: Clock,
    /// The seed of the randomness of sessions, together with their numbers.
    seed: u64,
    /// A buffer for a body whose length is not known yet.
    body: Vec<u8>,
    /// The sessions by their index.
    sessions: Vec<State>,
}

/// A session, or the buffers of one that has ended.
#[derive(Clone, Debug, Default)]
struct State {
    /// `None` if it has not begun.
    current: Option<Current>,
    /// The captured values by variable.
    values: Vec<Vec<u8>>,
    jar: Jar,
    /// The target of the last request, which cookies and redirects refer to.
    target: Vec<u8>,
    /// The target of the next request if that follows a redirect.
    location: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    number: u64,
    /// The seed of the randomness of its steps.
    seed: u64,
    pub(crate) journey: usize,
    pub(crate) step: usize,
    /// The number of redirects that this step has followed, and the way to follow the next one.
    hops: u8,
    hop: Option<Hop>,
}

impl Journeys {
    /// Makes the workload of a mix with sessions.
    pub fn new(mix: &Arc<Mix>, pool: Pool, clock: Clock) -> Journeys {
        assert!(mix.has_sessions(), "a mix without sessions is a `Mixed`");
        let seed = Random::part(pool.seed ^ seed_of("mix"), u64::from(pool.target)).next_u64();
        Journeys {
            mix: Arc::clone(mix),
            searches: Searches::default(),
            connections_before: pool.connections_before,
            is_tls: pool.is_tls,
            clock,
            seed,
            body: Vec::new(),
            sessions: Vec::new(),
        }
    }
}

impl Journeys {
    fn journey(&self, session: u32) -> &Journey {
        let current = self.sessions[session as usize].current;
        let current = current.expect("a request belongs to a session that has begun");
        &sessions(&self.mix).journeys[current.journey]
    }
}

fn sessions(mix: &Mix) -> &Sessions {
    mix.sessions().expect("the mix has sessions")
}

fn step(sessions: &Sessions, current: Current) -> Step {
    sessions.journeys[current.journey].steps[current.step]
}

impl Current {
    /// Begins the session with a number: the choice depends on nothing else.
    pub(crate) fn begin(mix: &Mix, seed: u64, number: u64) -> Current {
        let mut random = Random::part(seed, number);
        let journey = mix.choose_session(&mut random);
        let seed = random.next_u64();
        Current { number, seed, journey, step: 0, hops: 0, hop: None }
    }

    /// The randomness of the placeholders of its step.
    pub(crate) fn random(self) -> Random {
        Random::part(self.seed, self.step as u64)
    }

    /// Goes to the next step, and returns the think time before it; `None` if this was the last one.
    fn advance(&mut self, journey: &Journey) -> Option<Nanos> {
        self.step += 1;
        (self.hops, self.hop) = (0, None);
        let next = journey.steps.get(self.step)?;
        Some(next.think.draw(&mut Random::part(!self.seed, self.step as u64)))
    }
}

impl State {
    fn end(&mut self) {
        self.current = None;
        self.values.iter_mut().for_each(Vec::clear);
        self.jar.clear();
    }

    /// Takes from a response what later requests need: its cookies, then the place that it redirects
    /// to or else the values to capture.
    fn take(
        &mut self,
        (entry, sessions): (&Entry, &Sessions),
        answer: &Response<'_>,
        is_tls: bool,
        now: impl Fn() -> u64,
    ) -> (Outcome, &'static str) {
        let State { current, values, jar, target, location } = self;
        let current = current.as_mut().expect("a response belongs to a session that has begun");
        if sessions.journeys[current.journey].has_cookies {
            let set =
                fields(answer.head).filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
            for (_, field) in set {
                let setter = Setter { host: entry.host(), target, now: now() };
                if !jar.set(field, setter) {
                    return (Outcome::Capture, FULL_JAR);
                }
            }
        }
        let next = hop(entry, answer, *current);
        current.hop = None;
        if let Some(hop) = next {
            current.hops += 1;
            if entry.follows.as_ref().is_some_and(|follows| follows.most < current.hops) {
                return (Outcome::Check, redirect::TOO_OFTEN);
            }
            let to = redirect::location(answer.head).expect("a redirect has a place");
            let server = redirect::Server { is_tls, host: entry.authority() };
            return match redirect::resolve(to, target, server, location) {
                Ok(()) => {
                    current.hop = Some(hop);
                    (Outcome::Ok, "")
                }
                Err(why) => (Outcome::Check, why),
            };
        }
        let Some(captures) = &entry.captures else { return (Outcome::Ok, "") };
        match captures.take(answer, &sessions.needs, values) {
            Ok(()) => (Outcome::Ok, ""),
            Err(why) => (Outcome::Capture, why),
        }
    }
}

/// Returns the way to follow a response, if it is a redirect that is to be followed.
fn hop(entry: &Entry, answer: &Response<'_>, current: Current) -> Option<Hop> {
    entry.follows.as_ref()?;
    let method = if current.is_get() { "GET" } else { &entry.method };
    let hop = redirect::hop(answer, method)?;
    // What has become a GET stays one.
    Some(if current.is_get() { Hop::Get } else { hop })
}

impl Current {
    fn is_get(self) -> bool {
        self.hop == Some(Hop::Get)
    }
}

impl HttpWorkload for Journeys {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        let Journeys { mix, sessions: states, body, .. } = self;
        let sessions = sessions(mix);
        let index = of.session.0 as usize;
        assert_ne!(of.session, Session::NONE, "each request belongs to a session");
        if states.len() <= index {
            states.resize_with(index + 1, State::default);
        }
        let state = &mut states[index];
        let current =
            *state.current.get_or_insert_with(|| Current::begin(mix, self.seed, of.number));
        state.values.resize_with(sessions.captured.len(), Vec::new);
        let State { values, jar, target, location, .. } = state;
        let step = step(sessions, current);
        let entry = &mix.entries()[step.entry];
        let begin = request.wire.len();
        let mut filling = Filling {
            number: current.number,
            connection: u64::from(self.connections_before) + u64::from(of.connection) + 1,
            random: current.random(),
            data: mix.data(),
            clock: self.clock,
            captured: Captured::Values { values, jar },
            begin,
        };
        let (mut expect, mut label) = (entry.expect, Label(step.entry as u16));
        match current.hop {
            None => entry.write(&mut filling, body, request.wire),
            Some(hop) => {
                entry.write_hop(hop, location, &mut filling, body, request.wire);
                if hop == Hop::Get {
                    expect = Expect::of("GET");
                }
                label = entry.follows.as_ref().map_or(label, |follows| follows.label);
            }
        }
        let head = &request.wire[begin..];
        target.clear();
        target.extend_from_slice(&head[target_of(head)]);
        request.expected.push(Expected { body: expect, tag: of.session.0, closes: entry.closes });
        request.label = label;
        Ok(())
    }

    fn wanted(&mut self, connection: u32, tag: u32) -> Wanted {
        let entry = entry_of(&self.mix, &self.sessions, tag);
        let by_checks = match &entry.checks {
            Some(checks) => self.searches.begin(checks, connection),
            None => Wanted::Nothing,
        };
        let by_captures = entry.captures.as_ref().map_or(Wanted::Nothing, Captures::wanted);
        let needs_head = self.journey(tag).has_cookies || entry.follows.is_some();
        let of_session = if needs_head { Wanted::Head } else { Wanted::Nothing };
        by_checks.max(by_captures).max(of_session)
    }

    fn took(&mut self, connection: u32, tag: u32, piece: &[u8]) {
        let entry = entry_of(&self.mix, &self.sessions, tag);
        // The body may also be wanted for its captures alone.
        if let Some(checks) = &entry.checks
            && Wanted::Pieces <= checks.wanted()
        {
            checks.look(self.searches.on(connection), piece);
        }
    }

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        let entry = entry_of(&self.mix, &self.sessions, answer.tag);
        let state = &mut self.sessions[answer.tag as usize];
        let is_redirect =
            state.current.is_some_and(|current| hop(entry, answer, current).is_some());
        let judged = match &entry.checks {
            Some(checks) => self.searches.judge(checks, answer),
            None => (outcome_of(answer.status), ""),
        };
        // The rules are for the last response.
        if judged.0 != Outcome::Ok && !is_redirect {
            return Ok(judged);
        }
        Ok(state.take((entry, sessions(&self.mix)), answer, self.is_tls, self.clock))
    }

    fn sessions(&self) -> Option<Arrivals> {
        Some(sessions(&self.mix).arrivals)
    }

    fn follow(&mut self, Session(session): Session, outcome: Outcome) -> Option<Nanos> {
        // A session may end before its first request was made.
        let state = self.sessions.get_mut(session as usize)?;
        let next = match (&mut state.current, outcome) {
            (Some(Current { hop: Some(_), .. }), Outcome::Ok) => Some(Nanos::ZERO),
            (Some(current), Outcome::Ok) => {
                let journey = &sessions(&self.mix).journeys[current.journey];
                current.advance(journey)
            }
            _ => None,
        };
        if next.is_none() {
            state.end();
        }
        next
    }
}

fn entry_of<'m>(mix: &'m Mix, states: &[State], session: u32) -> &'m Entry {
    let current = states[session as usize].current;
    let current = current.expect("a request belongs to a session that has begun");
    &mix.entries()[step(sessions(mix), current).entry]
}

impl fmt::Debug for Journeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journeys").field("seed", &self.seed).finish_non_exhaustive()
    }
}
