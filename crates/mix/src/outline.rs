//! The relations between the lines of a mix: which requests are steps of sessions, and which
//! values these capture.

use std::collections::BTreeSet;

use load::driver::Arrivals;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::line::{Line, Text, Written};

/// The maximum number of different values that the sessions of a mix capture.
pub(crate) const MOST_NAMES: usize = 32;

/// The facts of all lines that have to be known before one is compiled.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) captured: Vec<String>,
    /// The labels of the requests that are steps.
    steps: BTreeSet<String>,
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) has_sessions: bool,
}

impl Outline {
    pub(crate) fn of(lines: &[(Line<'_>, Written<'_>)]) -> Result<Outline, Error> {
        let mut outline = Outline::default();
        for (line, written) in lines {
            if let Some(raw) = written.arrivals {
                outline.take_arrivals(*line, written, raw)?;
            } else if let Some((name, raw)) = written.of_session().next() {
                check_session(*line, written, (name, raw))?;
                let steps = written.steps.map_or(Ok(Vec::new()), |raw| texts(*line, raw))?;
                outline.steps.extend(steps.into_iter().map(|step| step.text));
                outline.has_sessions = true;
            } else if let Some(raw) = written.capture {
                for (name, text) in line.texts("capture", raw)? {
                    check_name(*line, &name, &text)?;
                    if !outline.captured.contains(&name) {
                        outline.captured.push(name);
                    }
                }
                if MOST_NAMES < outline.captured.len() {
                    let what = format!(
                        "there are more than {MOST_NAMES} captured values; use a name again where \
                         the earlier value is not needed any more"
                    );
                    return Err(line.error_at(raw, what));
                }
            }
        }
        match lines.iter().find(|(_, written)| written.arrivals.is_some()) {
            Some((line, _)) if !outline.has_sessions => Err(line.error(
                0,
                "`arrivals` says what arrivals are in a mix with sessions, and there is none; leave \
                 it out, or write a line such as {\"session\":\"user\",\"steps\":[\"login\"]}",
            )),
            _ => Ok(outline),
        }
    }

    fn take_arrivals(
        &mut self,
        line: Line<'_>,
        written: &Written<'_>,
        raw: &RawValue,
    ) -> Result<(), Error> {
        let mut others = written.of_session().chain(written.of_request());
        if let Some((name, raw)) = others.next() {
            let what = format!("`{name}` needs a line of its own; write `arrivals` alone");
            return Err(line.error_at(raw, what));
        }
        if self.arrivals.is_some() {
            let what = "there is already a line with `arrivals`; leave one of them out";
            return Err(line.error_at(raw, what));
        }
        self.arrivals = Some(match line.text_of("arrivals", raw)?.text.as_str() {
            "sessions" => Arrivals::Sessions,
            "requests" => Arrivals::Requests,
            other => {
                let what = format!("`{other}` does not arrive; write \"sessions\" or \"requests\"");
                return Err(line.error_at(raw, what));
            }
        });
        Ok(())
    }

    /// True if a request with this label is a step of a session.
    pub(crate) fn is_step(&self, label: &str) -> bool {
        self.steps.contains(label)
    }
}

fn check_session(
    line: Line<'_>,
    written: &Written<'_>,
    (name, raw): (&str, &RawValue),
) -> Result<(), Error> {
    if written.session.is_none() {
        let what = format!("`{name}` belongs to a session; write \"session\":\"NAME\", too");
        return Err(line.error_at(raw, what));
    }
    if let Some((name, raw)) = written.of_request().next() {
        let what = format!(
            "`{name}` belongs to a request; write the request in a line of its own, and its label \
             in `steps`"
        );
        return Err(line.error_at(raw, what));
    }
    Ok(())
}

fn check_name(line: Line<'_>, name: &str, text: &Text<'_>) -> Result<(), Error> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match begins && name.chars().all(is_word) {
        true => Ok(()),
        false => Err(line.error_at(
            text.raw(),
            format!("`{name}` is not a valid name; write a word such as \"token\""),
        )),
    }
}

/// Returns the texts of the list `steps`.
pub(crate) fn texts<'a>(line: Line<'a>, raw: &'a RawValue) -> Result<Vec<Text<'a>>, Error> {
    let list: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|_| {
        let what = r#"`steps` is not a list; write it as ["login","think 1s","items"]"#;
        line.error_at(raw, what)
    })?;
    list.into_iter().map(|raw| line.text_of("steps", raw)).collect()
}
