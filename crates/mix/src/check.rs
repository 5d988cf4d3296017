//! The rules that a response must meet.

use load::Outcome;
use load::driver::http1::{Response, Wanted, outcome_of};
use memchr::memmem;
use wire::http1::fields;

use crate::{interned, json};

#[cfg(test)]
mod tests;

/// A set of rules that a response must all meet. Several are separated by spaces; a value that is
/// empty or contains spaces is written as `"…"` or `'…'`, and cannot contain that quote itself.
///
/// | rule | met by a response |
/// |---|---|
/// | `status=200,2xx` | with one of these statuses; without this rule, one below 400 |
/// | `body=TEXT` | whose body is exactly this |
/// | `body~TEXT` | whose body contains this |
/// | `bytes>=N` | whose body, without chunk framing, has at least this many bytes |
/// | `header:NAME=V` | with a field of this name, in any case, and exactly this value |
/// | `json:/POINTER=V` | in whose JSON the pointer (RFC 6901) leads to V: the text V, or another value that is equal to V parsed as JSON |
///
/// A response with an unexpected status is [`Outcome::Status`], whatever its body; one that
/// violates another rule is [`Outcome::Check`].
#[derive(Clone, Debug)]
pub struct Checks {
    statuses: Option<Vec<(u16, u16)>>,
    rules: Vec<Rule>,
    /// The text of each rule, which is the reason of a failure.
    texts: Vec<&'static str>,
    /// The longest part of a searched text that may lie in an earlier piece than its end, in bytes.
    overlap: usize,
}

/// The state of the rules for one body that is being received: only `json:` rules need it as a
/// whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// The state of each rule: for `body~` true if the text was found, for `body=` true if the body
    /// so far is a beginning of the text.
    holds: Vec<bool>,
    length: usize,
    /// The end of the received part, in which a searched text may have begun.
    tail: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Rule {
    Body(Vec<u8>),
    Contains(Box<memmem::Finder<'static>>),
    Bytes(u64),
    Header { name: String, value: String },
    Json(json::Rule),
}

const RULES: &str = "the rules are status=200,2xx body=TEXT body~TEXT bytes>=N header:NAME=VALUE \
     json:/POINTER=VALUE";

impl Checks {
    /// Parses the rules. An error contains the problem and what to write instead.
    pub fn parse(text: &str) -> Result<Checks, String> {
        let mut checks =
            Checks { statuses: None, rules: Vec::new(), texts: Vec::new(), overlap: 0 };
        let mut rest = text.trim_start();
        if rest.is_empty() {
            return Err(format!("a check has at least one rule; {RULES}"));
        }
        while !rest.is_empty() {
            let (rule, begin) = split_key(rest)?;
            let (value, behind) = split_value(begin)?;
            checks.add(rule, value)?;
            let text = rest[..rest.len() - behind.len()].trim_end();
            checks.texts.resize(checks.rules.len(), interned(text));
            rest = behind;
        }
        Ok(checks)
    }

    fn add(&mut self, key: Key<'_>, value: &str) -> Result<(), String> {
        self.rules.push(match key {
            Key::Status if self.statuses.is_some() => {
                return Err("there are two rules `status=`; write one: status=200,404".to_owned());
            }
            Key::Status => {
                self.statuses = Some(value.split(',').map(status).collect::<Result<_, _>>()?);
                return Ok(());
            }
            Key::Body => Rule::Body(value.as_bytes().to_vec()),
            Key::Contains if value.is_empty() => {
                return Err("`body~` has no text; write for example body~hotel".to_owned());
            }
            Key::Contains => {
                self.overlap = self.overlap.max(value.len() - 1);
                Rule::Contains(Box::new(memmem::Finder::new(value).into_owned()))
            }
            Key::Bytes => Rule::Bytes(value.parse().map_err(|_| {
                format!("`{value}` is not a valid number of bytes; write for example bytes>=1000")
            })?),
            Key::Header("") => {
                return Err(
                    "`header:` has no name; write for example header:Server=nginx".to_owned()
                );
            }
            Key::Header(name) => Rule::Header { name: name.to_owned(), value: value.to_owned() },
            Key::Json(pointer) => Rule::Json(json::Rule::new(pointer, value)?),
        });
        Ok(())
    }

    /// Returns the parts of a response that the rules need.
    pub(crate) fn wanted(&self) -> Wanted {
        let wanted = self.rules.iter().map(|rule| match rule {
            Rule::Json(_) => Wanted::Body,
            Rule::Body(_) | Rule::Contains(_) => Wanted::Pieces,
            Rule::Bytes(_) | Rule::Header { .. } => Wanted::Head,
        });
        wanted.fold(Wanted::Head, Ord::max)
    }

    /// Resets `search` for a new body.
    pub(crate) fn begin(&self, search: &mut Search) {
        search.holds.clear();
        search.holds.extend(self.rules.iter().map(|rule| matches!(rule, Rule::Body(_))));
        search.length = 0;
        search.tail.clear();
    }

    /// Processes the next piece of a body.
    pub(crate) fn look(&self, search: &mut Search, piece: &[u8]) {
        let Search { holds, length, tail } = search;
        // A text that begins in an earlier piece and ends in this one is found in `tail`.
        let straddles = !tail.is_empty();
        tail.extend_from_slice(&piece[..piece.len().min(self.overlap)]);
        for (rule, holds) in self.rules.iter().zip(holds) {
            match rule {
                Rule::Body(body) => {
                    *holds = *holds && body.get(*length..).is_some_and(|b| b.starts_with(piece));
                }
                Rule::Contains(text) => {
                    let is_in = |bytes: &[u8]| text.find(bytes).is_some();
                    *holds = *holds || (straddles && is_in(tail)) || is_in(piece);
                }
                Rule::Bytes(_) | Rule::Header { .. } | Rule::Json(_) => {}
            }
        }
        match piece.len().checked_sub(self.overlap) {
            Some(end) => {
                tail.clear();
                tail.extend_from_slice(&piece[end..]);
            }
            None => drop(tail.drain(..tail.len().saturating_sub(self.overlap))),
        }
        *length += piece.len();
    }

    /// Returns the outcome of a response, given the search in its body if one was needed, and the first
    /// rule that it violates besides that of the status.
    pub(crate) fn judge(&self, answer: &Response<'_>, search: &Search) -> (Outcome, &'static str) {
        let status = answer.status;
        let by_status = match &self.statuses {
            Some(ranges) if ranges.iter().any(|&(low, high)| (low..=high).contains(&status)) => {
                Outcome::Ok
            }
            Some(_) => Outcome::Status,
            None => outcome_of(status),
        };
        let is_met = |(index, rule): &(usize, &Rule)| match rule {
            Rule::Body(body) => search.holds[*index] && search.length == body.len(),
            Rule::Contains(_) => search.holds[*index],
            Rule::Bytes(least) => *least <= answer.body_length,
            Rule::Header { name, value } => has_field(answer.head, name, value),
            Rule::Json(rule) => rule.is_met(answer.body),
        };
        if by_status != Outcome::Ok {
            return (by_status, "");
        }
        match self.rules.iter().enumerate().find(|rule| !is_met(rule)) {
            Some((index, _)) => (Outcome::Check, self.texts[index]),
            None => (Outcome::Ok, ""),
        }
    }
}

fn has_field(head: &[u8], name: &str, value: &str) -> bool {
    fields(head).any(|(known, found)| {
        known.eq_ignore_ascii_case(name) && found.trim_ascii() == value.as_bytes()
    })
}

enum Key<'a> {
    Status,
    Body,
    Contains,
    Bytes,
    Header(&'a str),
    Json(&'a str),
}

/// Splits off a rule's key, and returns the rest, which begins with the value.
fn split_key(text: &str) -> Result<(Key<'_>, &str), String> {
    let fixed = [
        ("status=", Key::Status),
        ("body=", Key::Body),
        ("body~", Key::Contains),
        ("bytes>=", Key::Bytes),
    ];
    for (prefix, key) in fixed {
        if let Some(rest) = text.strip_prefix(prefix) {
            return Ok((key, rest));
        }
    }
    let word = text.split_whitespace().next().unwrap_or_default();
    let named = |prefix: &str| text.strip_prefix(prefix)?.split_once('=');
    match (named("header:"), named("json:")) {
        (Some((name, rest)), _) if word.contains('=') => Ok((Key::Header(name), rest)),
        (_, Some((pointer, rest))) if word.contains('=') => Ok((Key::Json(pointer), rest)),
        _ => Err(format!("`{word}` is not a rule; {RULES}")),
    }
}

/// Splits off a value, and returns the next rule.
fn split_value(text: &str) -> Result<(&str, &str), String> {
    let Some(quote) = text.chars().next().filter(|c| ['"', '\''].contains(c)) else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((&text[..end], text[end..].trim_start()));
    };
    match text[1..].split_once(quote) {
        Some((value, rest)) if rest.is_empty() || rest.starts_with(char::is_whitespace) => {
            Ok((value, rest.trim_start()))
        }
        Some(_) => Err(format!(
            "text after the closing quote in `{text}`; leave a space between rules, and put a \
             value with quotes into the other kind: body~'\"a\": 1'",
        )),
        None => Err(format!("the quote in `{text}` is not closed; write for example body~\"a b\"")),
    }
}

/// Parses a status or a class of them.
fn status(text: &str) -> Result<(u16, u16), String> {
    let class = text.strip_suffix("xx").or(text.strip_suffix("XX"));
    let digits = class.unwrap_or(text);
    let fits = digits.bytes().all(|byte| byte.is_ascii_digit());
    match (class, digits.parse::<u16>()) {
        (Some(_), Ok(class @ 1..=9)) if fits => Ok((class * 100, class * 100 + 99)),
        (None, Ok(code @ 100..=999)) if fits => Ok((code, code)),
        _ => Err(format!(
            "`{text}` is not a valid status; write for example status=200 or status=2xx,304"
        )),
    }
}
