//! The requests of a mix as they would be sent, for people.

use measure::Random;
use measure::random::seed_of;

use crate::journeys::Current;
use crate::mixture::Mix;
use crate::template::{Captured, Clock, Filling};

#[cfg(test)]
mod tests;

/// A request as it would be sent. Captured values and cookies are shown as placeholders.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shown {
    pub label: String,
    /// The number of the arrival, or of the session.
    pub number: u64,
    /// Present if the request belongs to a session with a name.
    pub step: Option<StepOf>,
    pub bytes: Vec<u8>,
    /// The captures from its response, as they are written.
    pub captures: Vec<String>,
    /// The number of redirects that it follows.
    pub redirects: u8,
}

/// The place of a request in its session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StepOf {
    pub session: String,
    /// From 1.
    pub step: usize,
    pub of: usize,
    /// The think time before it, `exp:1s`; `None` without one.
    pub think: Option<String>,
}

/// Returns the first requests of a load on its first target: of sessions one after the other, whatever
/// the load does at the same time.
pub fn show(mix: &Mix, count: usize, seed: u64, clock: Clock) -> Vec<Shown> {
    let seed = Random::part(seed ^ seed_of("mix"), 0).next_u64();
    let (mut shown, mut number) = (Vec::new(), 0);
    while shown.len() < count {
        match mix.sessions() {
            None => shown.push(alone(mix, seed, number, clock)),
            Some(_) => session(mix, seed, number, clock, count, &mut shown),
        }
        number += 1;
    }
    shown
}

fn filling<'a>(mix: &'a Mix, number: u64, random: Random, clock: Clock) -> Filling<'a> {
    let data = mix.data();
    Filling { number, connection: 1, random, data, clock, captured: Captured::None, begin: 0 }
}

fn alone(mix: &Mix, seed: u64, number: u64, clock: Clock) -> Shown {
    let mut filling = filling(mix, number, Random::part(seed, number), clock);
    let index = mix.choose(load::Label::NONE, &mut filling.random);
    shown(mix, index, &mut filling, None)
}

fn session(mix: &Mix, seed: u64, number: u64, clock: Clock, most: usize, all: &mut Vec<Shown>) {
    let sessions = mix.sessions().expect("it has sessions");
    let mut current = Current::begin(mix, seed, number);
    let journey = &sessions.journeys[current.journey];
    for (index, step) in journey.steps.iter().enumerate().take(most - all.len()) {
        current.step = index;
        let mut filling = filling(mix, number, current.random(), clock);
        let has_cookies = journey.has_cookies && 0 < index;
        filling.captured = Captured::Placeholders { names: &sessions.captured, has_cookies };
        let think = (step.think != measure::pace::Think::NONE).then(|| step.think.to_string());
        let of = journey.steps.len();
        let place = journey.name.clone();
        let place = place.map(|session| StepOf { session, step: index + 1, of, think });
        all.push(shown(mix, step.entry, &mut filling, place));
    }
}

fn shown(mix: &Mix, index: usize, filling: &mut Filling<'_>, step: Option<StepOf>) -> Shown {
    let entry = &mix.entries()[index];
    let mut bytes = Vec::new();
    entry.write(filling, &mut Vec::new(), &mut bytes);
    Shown {
        label: entry.label.clone(),
        number: filling.number,
        step,
        bytes,
        captures: entry.captures.iter().flat_map(|captures| captures.texts()).collect(),
        redirects: entry.follows.as_ref().map_or(0, |follows| follows.most),
    }
}
