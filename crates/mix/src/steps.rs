//! The lines of a mix that order requests to sessions.

use load::driver::Arrivals;
use measure::pace::Think;

use crate::capture::Needs;
use crate::entry::Entry;
use crate::error::Error;
use crate::line::{Line, Text, Written};
use crate::outline::{MOST_NAMES, texts};

#[cfg(test)]
mod tests;

/// The maximum number of steps in a session.
const MOST_STEPS: usize = 256;

/// The sessions of a mix.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// The sessions, and the requests that stand alone as sessions of one step, in the order of their
    /// lines.
    pub(crate) journeys: Vec<Journey>,
    pub(crate) captured: Vec<String>,
    /// The requirements on each captured value.
    pub(crate) needs: Vec<Needs>,
    pub(crate) arrivals: Arrivals,
}

/// The requests of a session in their order.
#[derive(Debug)]
pub(crate) struct Journey {
    /// `None` for a request that stands alone.
    pub(crate) name: Option<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) has_cookies: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) entry: usize,
    /// The time between the response of the step before and this one.
    pub(crate) think: Think,
}

impl Journey {
    /// A request that stands alone; it needs cookies only for the case that it is redirected.
    pub(crate) fn of_one(entry: usize, has_cookies: bool) -> Journey {
        let steps = vec![Step { entry, think: Think::NONE }];
        Journey { name: None, steps, has_cookies }
    }

    pub(crate) fn compile(
        line: Line<'_>,
        written: &Written<'_>,
        entries: &[Entry],
        captured: &[String],
    ) -> Result<Journey, Error> {
        let name = written.session.expect("the outline was checked");
        let name = line.text_of("session", name)?;
        if name.text.is_empty() || name.text.contains(char::is_control) {
            let what = "the name of a session is a text of one line; write for example \"user\"";
            return Err(line.error_at(name.raw(), what));
        }
        let has_cookies = match written.cookies {
            None => true,
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| {
                line.error_at(raw, format!("`cookies` is {raw}; write true or false"))
            })?,
        };
        let raw = written.steps.ok_or_else(|| {
            let what = r#"`steps` is missing; write for example "steps":["login","items"]"#;
            line.error_at(name.raw(), what)
        })?;
        let mut journey = Journey { name: Some(name.text), steps: Vec::new(), has_cookies };
        let mut think = None;
        let mut known = [false; MOST_NAMES];
        for text in texts(line, raw)? {
            match thinks(&text.text) {
                Some(time) => {
                    if journey.steps.is_empty() || think.is_some() {
                        let what = "a think time stands between two steps; leave this one out";
                        return Err(line.error_at(text.raw(), what));
                    }
                    let time = time.parse::<Think>().map_err(|error| {
                        line.error_at(text.raw(), format!("{error}, such as \"think exp:200ms\""))
                    })?;
                    think = Some(time);
                }
                None => {
                    let entry = find(line, &text, entries)?;
                    check_uses(line, &text, &entries[entry], (&mut known, captured))?;
                    journey.steps.push(Step { entry, think: think.take().unwrap_or(Think::NONE) });
                }
            }
        }
        if think.is_some() {
            let what = "there is no step behind the last think time; leave it out. In a closed loop, \
                        --think is the time between two sessions";
            return Err(line.error_at(raw, what));
        }
        if !(1..=MOST_STEPS).contains(&journey.steps.len()) {
            let what = format!(
                "a session has 1 to {MOST_STEPS} steps, and this one {}; write the labels of \
                 requests",
                journey.steps.len()
            );
            return Err(line.error_at(raw, what));
        }
        Ok(journey)
    }
}

/// Returns the time of a text such as `think 1s`.
fn thinks(text: &str) -> Option<&str> {
    text.strip_prefix("think").filter(|rest| rest.starts_with(' ')).map(str::trim)
}

fn find(line: Line<'_>, step: &Text<'_>, entries: &[Entry]) -> Result<usize, Error> {
    entries.iter().position(|entry| entry.label == step.text).ok_or_else(|| {
        let labels: Vec<&str> = entries.iter().map(|entry| &*entry.label).collect();
        let labels = if labels.is_empty() { "a request first".into() } else { labels.join(", ") };
        let what = format!(
            "no request has the label `{}`; write one of {labels}, or a think time such as \
             \"think 1s\"",
            step.text
        );
        line.error_at(step.raw(), what)
    })
}

/// Checks that the values which a step uses were captured before it, and notes those that it captures.
fn check_uses(
    line: Line<'_>,
    step: &Text<'_>,
    entry: &Entry,
    (known, captured): (&mut [bool; MOST_NAMES], &[String]),
) -> Result<(), Error> {
    if let Some((variable, _)) = entry.uses().into_iter().find(|&(variable, _)| !known[variable]) {
        let what = format!(
            "`{}` uses {{{{session.{}}}}}, which no step before it captures; put the step that \
             captures it first",
            step.text, captured[variable]
        );
        return Err(line.error_at(step.raw(), what));
    }
    entry.captures.iter().flat_map(|captures| captures.variables()).for_each(|variable| {
        known[variable] = true;
    });
    Ok(())
}
