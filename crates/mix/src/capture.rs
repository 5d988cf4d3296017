//! The values that a session takes from a response.

mod form;

use std::borrow::Cow;

use load::driver::http1::{Response, Wanted};
use regex::bytes::Regex;
use wire::http1::{check_name, fields};

use crate::interned;
use crate::jar::pair;
use crate::json::Pointer;

#[cfg(test)]
mod tests;

/// The longest value that is kept, the largest sum of all values of a session, and the longest body in
/// which a value is searched for.
pub(crate) const MOST_OF_ONE: usize = 8 * 1024;
pub(crate) const MOST_OF_ALL: usize = 32 * 1024;
const MOST_OF_BODY: u64 = 1024 * 1024;

const SOURCES: &str =
    "write one of json:/POINTER, header:NAME, cookie:NAME, form:FIELD, regex:PATTERN";

/// The captures of one step, in the order in which they are written.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    list: Vec<Capture>,
}

#[derive(Debug)]
struct Capture {
    variable: usize,
    /// The name and the source.
    text: String,
    from: From,
    /// The ways to fail, in words that live as long as the process.
    missing: &'static str,
    null: &'static str,
    long: &'static str,
    unfit: &'static str,
    body: &'static str,
}

#[derive(Debug)]
enum From {
    Json(Pointer),
    Header(String),
    Cookie(String),
    /// The first group of the first match, or else the whole match.
    Pattern(Box<Regex>),
    /// The value of the first `<input>`, or the text of the first `<textarea>`, of this name.
    Form(String),
}

/// The conditions that a value has to meet where it is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// It has no control character.
    pub(crate) in_field: bool,
    /// It begins with `/`, or is absolute.
    pub(crate) begins_target: bool,
}

impl From {
    fn parse(text: &str) -> Result<From, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let named = |what: &str, example: &str| match rest {
            "" => Err(format!("`{kind}:` has no {what}; write for example {example}")),
            name => Ok(name.to_owned()),
        };
        Ok(match kind {
            "json" => From::Json(Pointer::parse(rest, "json:/user/token")?),
            "header" => {
                let name = named("name", "header:Location")?;
                check_name(&name)?;
                From::Header(name)
            }
            "cookie" => From::Cookie(named("name", "cookie:session")?),
            "form" => From::Form(named("field", "form:csrf_token")?),
            "regex" => {
                let pattern = named("pattern", r#"regex:token=(\\w+)"#)?;
                let regex = Regex::new(&pattern).map_err(|error| {
                    let error = error.to_string();
                    let last = error.lines().last().unwrap_or_default();
                    format!("`{pattern}` is not a valid regular expression ({last}); correct it")
                })?;
                From::Pattern(Box::new(regex))
            }
            _ => return Err(format!("`{text}` is not a source of a value; {SOURCES}")),
        })
    }

    fn find<'a>(&self, answer: &Response<'a>) -> Option<Cow<'a, [u8]>> {
        match self {
            From::Json(pointer) => pointer.text_in(answer.body),
            From::Header(name) => {
                let mut found = fields(answer.head);
                let (_, value) = found.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
                Some(Cow::Borrowed(value.trim_ascii()))
            }
            From::Cookie(name) => {
                let set = fields(answer.head)
                    .filter(|(known, _)| known.eq_ignore_ascii_case("set-cookie"));
                let mut pairs = set.filter_map(|(_, value)| pair(value));
                let (_, value) = pairs.find(|(known, _)| *known == name.as_bytes())?;
                Some(Cow::Borrowed(value))
            }
            From::Pattern(regex) => {
                let groups = regex.captures(answer.body)?;
                let found = groups.get(1).or_else(|| groups.get(0))?;
                Some(Cow::Borrowed(found.as_bytes()))
            }
            From::Form(name) => form::value(answer.body, name),
        }
    }

    fn needs_body(&self) -> bool {
        match self {
            From::Json(_) | From::Pattern(_) | From::Form(_) => true,
            From::Header(_) | From::Cookie(_) => false,
        }
    }
}

impl Captures {
    /// Adds a capture into a variable. An error says what to write instead.
    pub(crate) fn add(&mut self, variable: usize, name: &str, text: &str) -> Result<(), String> {
        let from = From::parse(text)?;
        let reason = |what: &str| interned(&format!("{name} from {text}: {what}"));
        self.list.push(Capture {
            variable,
            text: format!("{name} from {text}"),
            from,
            missing: reason("not in the response"),
            null: reason("null in the response"),
            long: reason(&format!(
                "over {MOST_OF_ONE} bytes, or all values of the session over {MOST_OF_ALL}"
            )),
            unfit: reason("not a value that may stand where it is used"),
            body: reason(&format!("the body is longer than {MOST_OF_BODY} bytes")),
        });
        Ok(())
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = usize> {
        self.list.iter().map(|capture| capture.variable)
    }

    /// Returns each name with its source: `token from json:/token`.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        self.list.iter().map(|capture| capture.text.clone())
    }

    /// Returns the parts of a response that the captures need.
    pub(crate) fn wanted(&self) -> Wanted {
        match self.list.iter().any(|capture| capture.from.needs_body()) {
            true => Wanted::Body,
            false => Wanted::Head,
        }
    }

    /// Takes the values from a response; an error is the reason of the failure.
    pub(crate) fn take(
        &self,
        answer: &Response<'_>,
        needs: &[Needs],
        values: &mut [Vec<u8>],
    ) -> Result<(), &'static str> {
        for capture in &self.list {
            let Capture { variable, ref from, .. } = *capture;
            if from.needs_body() && MOST_OF_BODY < answer.body_length {
                return Err(capture.body);
            }
            let found = from.find(answer).ok_or_else(|| capture.absent(answer))?;
            let others = values.iter().map(Vec::len).sum::<usize>() - values[variable].len();
            if MOST_OF_ONE < found.len() || MOST_OF_ALL < others + found.len() {
                return Err(capture.long);
            }
            if !needs[variable].are_met(&found) {
                return Err(capture.unfit);
            }
            let value = &mut values[variable];
            value.clear();
            value.extend_from_slice(&found);
        }
        Ok(())
    }
}

impl Capture {
    /// Returns why there is no value in a response.
    fn absent(&self, answer: &Response<'_>) -> &'static str {
        match &self.from {
            From::Json(pointer) if pointer.leads_to_null(answer.body) => self.null,
            _ => self.missing,
        }
    }
}

impl Needs {
    fn are_met(self, value: &[u8]) -> bool {
        let is_clean = || !value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t');
        let begins = [&b"/"[..], b"http://", b"https://"];
        (!self.in_field || is_clean())
            && (!self.begins_target || begins.iter().any(|begin| value.starts_with(begin)))
    }
}
