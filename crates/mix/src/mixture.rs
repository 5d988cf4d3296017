//! A mix: weighted requests, compiled.

use std::sync::Arc;

use load::Label;
use load::driver::Arrivals;
use load::observe::MOST_LABELS;
use measure::{Nanos, Random};

use crate::capture::Needs;
use crate::data::Data;
use crate::entry::Entry;
use crate::error::Error;
use crate::line::{Line, Written};
use crate::outline::Outline;
use crate::source::Source;
use crate::steps::{Journey, Sessions};
use crate::template::Form;

#[cfg(test)]
mod tests;

/// A set of weighted requests to one target, ready to be written.
#[derive(Debug)]
pub struct Mix {
    entries: Vec<Entry>,
    /// The labels of the requests that follow redirects, which come after those of the entries.
    hops: Vec<String>,
    /// The sum of the weights up to and including each entry, or if there are sessions each of these.
    sums: Vec<f64>,
    data: Option<Arc<Data>>,
    sessions: Option<Sessions>,
}

impl Mix {
    pub fn read(source: &Source<'_>) -> Result<Mix, Error> {
        let mut mix = Mix {
            entries: Vec::new(),
            hops: Vec::new(),
            sums: Vec::new(),
            data: source.data.clone(),
            sessions: None,
        };
        let mut lines = Vec::new();
        let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
        for (number, text) in (1..).zip(text.lines()) {
            let line = Line { file: source.file, number, text };
            if text.trim().is_empty() || text.trim_start().starts_with('#') {
                continue;
            }
            lines.push((line, line.parse()?));
        }
        let outline = Outline::of(&lines)?;
        let requests = || lines.iter().filter(|(_, written)| !is_other(written));
        for (line, written) in requests() {
            mix.add(source, *line, written, &outline)?;
        }
        if mix.entries.is_empty() {
            let what =
                r#"the file contains no request; write one per line, such as {"target":"/"}"#;
            return Err(Error::new(source.file, (1, ""), 0, what));
        }
        mix.number_hops(source.file)?;
        match outline.has_sessions || !mix.hops.is_empty() {
            true => mix.add_sessions(&lines, &outline)?,
            false => {
                for (line, written) in &lines {
                    mix.add_weight(*line, written)?;
                }
            }
        }
        for ((line, written), entry) in requests().zip(&mix.entries) {
            entry.check_place(*line, written, &outline)?;
        }
        Ok(mix)
    }

    fn add_weight(&mut self, line: Line<'_>, written: &Written<'_>) -> Result<(), Error> {
        let weight = written.weight.map_or(Ok(1.0), |raw| line.weight(raw))?;
        let sum = self.sums.last().unwrap_or(&0.0) + weight;
        if !sum.is_finite() {
            let what = "the sum of the weights is not a finite number; write smaller weights";
            return Err(line.error(0, what));
        }
        self.sums.push(sum);
        Ok(())
    }

    /// Gives the requests that follow redirects their labels.
    fn number_hops(&mut self, file: &str) -> Result<(), Error> {
        let count = self.entries.len();
        for entry in &mut self.entries {
            let Some(follows) = &mut entry.follows else { continue };
            follows.label = Label((count + self.hops.len()) as u16);
            self.hops.push(format!("{} redirected", entry.label));
        }
        match count + self.hops.len() <= MOST_LABELS {
            true => Ok(()),
            false => Err(Error::new(
                file,
                (1, ""),
                0,
                format!(
                    "there are more than {MOST_LABELS} labels with those of the redirects; leave out \
                     some requests, or `redirects` of some"
                ),
            )),
        }
    }

    /// Orders the requests to sessions.
    fn add_sessions(
        &mut self,
        lines: &[(Line<'_>, Written<'_>)],
        outline: &Outline,
    ) -> Result<(), Error> {
        let mut journeys: Vec<Journey> = Vec::new();
        let mut requests = 0;
        for (line, written) in lines {
            if written.arrivals.is_some() {
                continue;
            }
            if let Some(raw) = written.session {
                let journey = Journey::compile(*line, written, &self.entries, &outline.captured)?;
                if journeys.iter().any(|known| known.name == journey.name) {
                    let what = format!("there is already a session {raw}; write another name");
                    return Err(line.error_at(raw, what));
                }
                self.add_weight(*line, written)?;
                journeys.push(journey);
                continue;
            }
            let entry = requests;
            requests += 1;
            if !outline.is_step(&self.entries[entry].label) {
                self.add_weight(*line, written)?;
                let is_redirected = self.entries[entry].follows.is_some();
                journeys.push(Journey::of_one(entry, is_redirected));
            }
        }
        let mut needs = vec![Needs::default(); outline.captured.len()];
        for entry in &self.entries {
            for (variable, form) in entry.uses() {
                needs[variable].in_field |= form == Form::Field;
            }
            entry.begins.into_iter().for_each(|variable| needs[variable].begins_target = true);
        }
        let arrivals = outline.arrivals.unwrap_or(Arrivals::Sessions);
        let captured = outline.captured.clone();
        self.sessions = Some(Sessions { journeys, captured, needs, arrivals });
        Ok(())
    }

    fn add(
        &mut self,
        source: &Source<'_>,
        line: Line<'_>,
        written: &Written<'_>,
        outline: &Outline,
    ) -> Result<(), Error> {
        written.weight.map_or(Ok(1.0), |raw| line.weight(raw))?;
        let entry = Entry::compile(source, line, written, outline)?;
        if self.entries.iter().any(|known| known.label == entry.label) {
            let what = format!(
                "there is already a `{}`; give each request a different `label`",
                entry.label
            );
            return Err(line.error(written.label.map_or(0, |label| line.offset(label)), what));
        }
        if self.entries.len() == MOST_LABELS {
            let what = format!(
                "there are more than {MOST_LABELS} requests; combine some with a placeholder, such \
                 as {{{{row.path}}}} with --data",
            );
            return Err(line.error(0, what));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Returns the labels, in the order of [`Label`]s from 0 on.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter().map(|entry| entry.label.as_str());
        entries.chain(self.hops.iter().map(String::as_str))
    }

    /// Returns true if its requests belong to sessions, which [`crate::Journeys`] makes.
    pub fn has_sessions(&self) -> bool {
        self.sessions.is_some()
    }

    /// Returns the names of its sessions, in the order of their lines.
    pub fn session_names(&self) -> impl Iterator<Item = &str> {
        let journeys = self.sessions.iter().flat_map(|sessions| &sessions.journeys);
        journeys.filter_map(|journey| journey.name.as_deref())
    }

    /// Returns what the arrivals of an open loop are, if its requests belong to sessions.
    pub fn arrivals(&self) -> Option<Arrivals> {
        self.sessions.as_ref().map(|sessions| sessions.arrivals)
    }

    /// Returns the mean number of requests that an arrival brings: of sessions that of their steps, by weight. How
    /// many redirects they follow is not known before.
    pub fn requests_of_an_arrival(&self) -> f64 {
        let arriving = |sessions: &&Sessions| sessions.arrivals == Arrivals::Sessions;
        let Some(sessions) = self.sessions.as_ref().filter(arriving) else { return 1.0 };
        let mut before = 0.0;
        let mut requests = 0.0;
        for (journey, sum) in sessions.journeys.iter().zip(&self.sums) {
            requests += journey.steps.len() as f64 * (sum - before);
            before = *sum;
        }
        requests / before
    }

    /// Returns the mean think times of its longest session together; zero if no session thinks.
    pub fn longest_session(&self) -> Nanos {
        let journeys = self.sessions.iter().flat_map(|sessions| &sessions.journeys);
        let thinks =
            |journey: &Journey| journey.steps.iter().map(|step| step.think.mean()).sum::<Nanos>();
        journeys.map(thinks).max().unwrap_or(Nanos::ZERO)
    }

    pub(crate) fn sessions(&self) -> Option<&Sessions> {
        self.sessions.as_ref()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn data(&self) -> Option<&Data> {
        self.data.as_deref()
    }

    /// Returns a random session: its index among those of the mix.
    pub(crate) fn choose_session(&self, random: &mut Random) -> usize {
        let drawn = random.unit() * self.sums.last().expect("a mix has a session");
        self.sums.partition_point(|&sum| sum <= drawn).min(self.sums.len() - 1)
    }

    /// Returns the entry with the requested label, or a random one.
    pub(crate) fn choose(&self, asked: Label, random: &mut Random) -> usize {
        let asked = usize::from(asked.0);
        // Drawn in both cases, so that a label does not change the randomness of the placeholders.
        let drawn = random.unit() * self.sums.last().expect("a mix has an entry");
        if asked < self.entries.len() {
            return asked;
        }
        // Rounding may lead to the very end.
        self.sums.partition_point(|&sum| sum <= drawn).min(self.entries.len() - 1)
    }
}

/// True for a line that is not a request.
fn is_other(written: &Written<'_>) -> bool {
    written.session.is_some() || written.arrivals.is_some()
}
