//! A mix: weighted requests, compiled.

use std::io;
use std::sync::Arc;

use load::Label;
use load::observe::MOST_LABELS;
use measure::Random;
use wire::http1::{Expect, asks_to_close, check_fields, check_method, check_name, says_close};

use crate::check::Checks;
use crate::data::Data;
use crate::error::{Error, Wrong};
use crate::line::{Line, Text, Written};
use crate::template::{Filling, Part, Template};

#[cfg(test)]
mod tests;

/// A set of weighted requests to one target, ready to be written.
#[derive(Debug)]
pub struct Mix {
    entries: Vec<Entry>,
    /// The sum of the weights up to and including each entry.
    sums: Vec<f64>,
    data: Option<Arc<Data>>,
}

/// The inputs of a mix.
#[derive(Clone)]
pub struct Source<'a> {
    /// The file name in error messages.
    pub file: &'a str,
    pub text: &'a str,
    pub data: Option<Arc<Data>>,
    /// The header fields of all requests, including `Host`, as they are sent. A request's own
    /// fields replace those of the same name.
    pub fields: &'a [(String, String)],
    /// Reads the file named by `body_file`; relative paths start from the mix's folder.
    pub body_file: &'a dyn Fn(&str) -> io::Result<Vec<u8>>,
}

/// One line of a mix.
#[derive(Debug)]
pub(crate) struct Entry {
    label: String,
    /// The request up to the body's length if that differs between requests; otherwise the complete
    /// request.
    head: Template,
    body: Option<Template>,
    pub(crate) expect: Expect,
    /// True if the request says that its connection ends with its response.
    pub(crate) closes: bool,
    pub(crate) checks: Option<Checks>,
}

impl Mix {
    pub fn read(source: &Source<'_>) -> Result<Mix, Error> {
        let mut mix = Mix { entries: Vec::new(), sums: Vec::new(), data: source.data.clone() };
        let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
        for (number, text) in (1..).zip(text.lines()) {
            let line = Line { file: source.file, number, text };
            if text.trim().is_empty() || text.trim_start().starts_with('#') {
                continue;
            }
            mix.add(source, line)?;
        }
        if mix.entries.is_empty() {
            let what =
                r#"the file contains no request; write one per line, such as {"target":"/"}"#;
            return Err(Error::new(source.file, (1, ""), 0, what));
        }
        Ok(mix)
    }

    fn add(&mut self, source: &Source<'_>, line: Line<'_>) -> Result<(), Error> {
        let written = line.parse()?;
        let weight = written.weight.map_or(Ok(1.0), |raw| line.weight(raw))?;
        let sum = self.sums.last().unwrap_or(&0.0) + weight;
        if !sum.is_finite() {
            let what = "the sum of the weights is not a finite number; write smaller weights";
            return Err(line.error(0, what));
        }
        let entry = Entry::compile(source, line, &written)?;
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
        self.sums.push(sum);
        Ok(())
    }

    /// Returns the labels, in the order of [`Label`]s from 0 on.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|entry| entry.label.as_str())
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn data(&self) -> Option<&Data> {
        self.data.as_deref()
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

impl Entry {
    fn compile(source: &Source<'_>, line: Line<'_>, written: &Written<'_>) -> Result<Entry, Error> {
        let data = source.data.as_deref();
        let method = method(line, written)?;
        let target = written.target.ok_or_else(|| {
            line.error(0, r#"`target` is missing; write for example "target":"/hotels""#)
        })?;
        let target = line.text_of("target", target)?;
        let label = match written.label {
            Some(raw) => label(line, line.text_of("label", raw)?)?,
            None => format!("{method} {}", without_query(&target.text)),
        };
        let mut head = Template::default();
        head.text(format!("{method} ").as_bytes());
        compile_target(&mut head, line, &target, data)?;
        head.text(b" HTTP/1.1\r\n");
        let closes = compile_fields(&mut head, source, line, written)?;
        let body = match (written.body, written.body_file) {
            (None, None) if ["POST", "PUT", "PATCH"].contains(&method.as_str()) => {
                Some(Template::default())
            }
            (None, None) => None,
            (Some(raw), None) => {
                let text = line.text_of("body", raw)?;
                let mut body = Template::default();
                body.compile(&text.text, Part::Body, data)
                    .map_err(|wrong| line.error_in(&text, wrong))?;
                Some(body)
            }
            (None, Some(raw)) => {
                let text = line.text_of("body_file", raw)?;
                let bytes = (source.body_file)(&text.text).map_err(|error| {
                    let what =
                        format!("cannot read `{}`: {error}; paths are relative to", text.text);
                    line.error_at(raw, what + " the mix's folder")
                })?;
                let mut body = Template::default();
                body.text(&bytes);
                Some(body)
            }
            (Some(_), Some(raw)) => {
                let what = "there is a `body` too; write either `body` or `body_file`";
                return Err(line.error_at(raw, what));
            }
        };
        let body = finish(&mut head, body);
        let (expect, checks) = (Expect::of(&method), checks(line, written)?);
        Ok(Entry { label, head, body, expect, closes, checks })
    }

    /// Appends the request. `body` is a reusable buffer.
    pub(crate) fn write(&self, filling: &mut Filling<'_>, body: &mut Vec<u8>, wire: &mut Vec<u8>) {
        self.head.write(filling, wire);
        if let Some(template) = &self.body {
            body.clear();
            template.write(filling, body);
            end_head(body.len(), wire);
            wire.extend_from_slice(body);
        }
    }
}

/// Moves a fixed body into the head; returns any other body unchanged.
fn finish(head: &mut Template, body: Option<Template>) -> Option<Template> {
    let Some(body) = body else {
        head.text(b"\r\n");
        return None;
    };
    let Some(fixed) = body.fixed() else { return Some(body) };
    let mut end = Vec::new();
    end_head(fixed.len(), &mut end);
    head.text(&end);
    head.text(fixed);
    None
}

fn end_head(length: usize, wire: &mut Vec<u8>) {
    use std::io::Write;
    write!(wire, "Content-Length: {length}\r\n\r\n").expect("memory takes everything");
}

fn method(line: Line<'_>, written: &Written<'_>) -> Result<String, Error> {
    let Some(raw) = written.method else { return Ok("GET".to_owned()) };
    let method = line.text_of("method", raw)?.text;
    check_method(&method).map_err(|why| line.error_at(raw, why))?;
    Ok(method)
}

fn label(line: Line<'_>, label: Text<'_>) -> Result<String, Error> {
    if label.text.is_empty() || label.text.contains(char::is_control) {
        let what = "a label is a text of one line; write for example \"search\"";
        return Err(line.error_at(label.raw(), what));
    }
    Ok(label.text)
}

/// Removes the query from a target. A question mark ends the path, except in a column's name inside
/// a placeholder.
fn without_query(target: &str) -> &str {
    let mut at = 0;
    while let Some(offset) = target[at..].find(['?', '{']) {
        at += offset;
        if target[at..].starts_with('?') {
            return &target[..at];
        }
        let end = target[at..].starts_with("{{").then(|| target[at..].find("}}")).flatten();
        at += end.map_or(1, |length| length + 2);
    }
    target
}

fn compile_target(
    head: &mut Template,
    line: Line<'_>,
    target: &Text<'_>,
    data: Option<&Data>,
) -> Result<(), Error> {
    let text = target.text.as_str();
    let column = text.strip_prefix("{{").map(str::trim_start).and_then(|t| t.strip_prefix("row."));
    let begins = ["/", "http://", "https://"];
    let is_target = |text: &str| text == "*" || begins.iter().any(|b| text.starts_with(b));
    if column.is_none() && !is_target(text) {
        let what = "a target begins with `/`, or is absolute; write for example \"/hotels?id=1\"";
        return Err(line.error_at(target.raw(), what));
    }
    head.compile(text, Part::Target, data).map_err(|wrong| line.error_in(target, wrong))?;
    let name = column.and_then(|column| column.split("}}").next()).map(str::trim_end);
    if let (Some(name), Some(data)) = (name, data)
        && let Some(column) = data.columns().iter().position(|known| known == name)
        && let Some(place) = data.find(column, |cell| !is_target(cell))
    {
        let what = format!("`{name}` does not begin with `/` at {place}, but a target must");
        return Err(line.error_at(target.raw(), what + "; write it there, or before {{"));
    }
    Ok(())
}

/// Compiles the common header fields that this request does not set itself, then its own. Returns
/// true if one of them ends the connection.
fn compile_fields(
    head: &mut Template,
    source: &Source<'_>,
    line: Line<'_>,
    written: &Written<'_>,
) -> Result<bool, Error> {
    let own = written.headers.map_or(Ok(Vec::new()), |raw| line.headers(raw))?;
    let is_own = |name: &str| own.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let mut closes = false;
    for (name, value) in source.fields.iter().filter(|(name, _)| !is_own(name)) {
        closes |= asks_to_close(&[(name, value)]);
        head.text(format!("{name}: {value}\r\n").as_bytes());
    }
    for (name, value) in &own {
        let refusal = |why| line.error_at(value.raw(), why);
        check_name(name).map_err(refusal)?;
        if name.eq_ignore_ascii_case("connection") {
            if value.text.contains("{{") {
                let why = "`Connection` is the same for all requests of a line; write another line";
                return Err(refusal(why.to_owned()));
            }
            closes |= says_close(value.text.as_bytes());
        }
        head.text(format!("{name}: ").as_bytes());
        head.compile(&value.text, Part::Field, source.data.as_deref())
            .map_err(|wrong| line.error_in(value, wrong))?;
        head.text(b"\r\n");
        check_fields([(&**name, &*value.text)].into_iter(), None).map_err(refusal)?;
    }
    let common = source.fields.iter().filter(|(name, _)| !is_own(name));
    let common = common.map(|(name, value)| (&**name, &**value));
    let own = own.iter().map(|(name, value)| (&**name, &*value.text));
    check_fields(common.chain(own), None).map_err(|why| line.error(0, why))?;
    Ok(closes)
}

fn checks(line: Line<'_>, written: &Written<'_>) -> Result<Option<Checks>, Error> {
    let Some(raw) = written.check else { return Ok(None) };
    let text = line.text_of("check", raw)?;
    let checks = Checks::parse(&text.text);
    checks.map(Some).map_err(|what| line.error_in(&text, Wrong { at: 0, what }))
}
