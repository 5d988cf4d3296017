//! One request of a mix, compiled: its bytes with placeholders, and what is done with its response.

use load::Label;
use serde_json::value::RawValue;
use wire::http1::{Expect, asks_to_close, check_fields, check_method, check_name, says_close};
use wire::url::{self, is_absolute};

use crate::capture::Captures;
use crate::check::Checks;
use crate::error::{Error, Wrong};
use crate::line::{Line, Text, Written};
use crate::outline::Outline;
use crate::redirect::Hop;
use crate::source::Source;
use crate::template::{Filling, Form, Names, Part, Template};

/// The largest number of redirects that a request may follow.
const MOST_REDIRECTS: u8 = 20;

/// A request of a mix.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) label: String,
    pub(crate) method: String,
    /// The request up to the body's length if that differs between requests; otherwise the complete
    /// request.
    head: Template,
    body: Option<Template>,
    pub(crate) expect: Expect,
    /// True if the request says that its connection ends with its response.
    pub(crate) closes: bool,
    pub(crate) checks: Option<Checks>,
    pub(crate) captures: Option<Captures>,
    /// The value with which the target begins.
    pub(crate) begins: Option<usize>,
    pub(crate) follows: Option<Box<Follows>>,
    /// The value of `Host`.
    host: String,
}

/// The parts that a request needs to follow redirects.
#[derive(Debug)]
pub(crate) struct Follows {
    pub(crate) most: u8,
    pub(crate) label: Label,
    fields: Template,
    body: Option<Template>,
}

impl Entry {
    pub(crate) fn compile(
        source: &Source<'_>,
        line: Line<'_>,
        written: &Written<'_>,
        outline: &Outline,
    ) -> Result<Entry, Error> {
        let names = Names { data: source.data.as_deref(), captured: &outline.captured };
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
        let begins = compile_target(&mut head, line, &target, names)?;
        head.text(b" HTTP/1.1\r\n");
        let is_step = outline.is_step(&label);
        let most = written.redirects.map_or(Ok(0), |raw| redirects(line, raw))?;
        let Fields { mut template, closes, host, has_cookie } =
            compile_fields(source, line, written, names)?;
        if (is_step || 0 < most) && !has_cookie {
            template.cookies();
        }
        head.append(template.clone());
        let body = match (written.body, written.body_file) {
            (None, None) if ["POST", "PUT", "PATCH"].contains(&method.as_str()) => {
                Some(Template::default())
            }
            (None, None) => None,
            (Some(raw), None) => {
                let text = line.text_of("body", raw)?;
                let mut body = Template::default();
                body.compile(&text.text, Part::Body, names)
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
        let follows = (0 < most).then(|| {
            Box::new(Follows { most, label: Label::NONE, fields: template, body: body.clone() })
        });
        let body = finish(&mut head, body);
        let (expect, checks) = (Expect::of(&method), checks(line, written)?);
        let captures = captures(line, written, outline)?;
        Ok(Entry {
            label,
            method,
            head,
            body,
            expect,
            closes,
            checks,
            captures,
            begins,
            follows,
            host,
        })
    }

    /// Checks that what only a step of a session can have is in one.
    pub(crate) fn check_place(
        &self,
        line: Line<'_>,
        written: &Written<'_>,
        outline: &Outline,
    ) -> Result<(), Error> {
        let label = &self.label;
        if outline.is_step(label) {
            return match written.weight {
                None => Ok(()),
                Some(raw) => Err(line.error_at(
                    raw,
                    "this request is a step of a session; write the weight in the line of the session",
                )),
            };
        }
        let remedy =
            format!("write a line such as {{\"session\":\"user\",\"steps\":[\"{label}\"]}}");
        if let Some(raw) = written.capture {
            let what =
                format!("no session has `{label}` as a step, so nothing can use what it captures");
            return Err(line.error_at(raw, format!("{what}; {remedy}")));
        }
        match self.uses().first() {
            Some(&(variable, _)) => Err(line.error(
                0,
                format!(
                    "no session has `{label}` as a step, so there is no {{{{session.{}}}}}; {remedy}",
                    outline.captured[variable]
                ),
            )),
            None => Ok(()),
        }
    }

    /// Returns the captured values that it uses, and how.
    pub(crate) fn uses(&self) -> Vec<(usize, Form)> {
        self.head.uses().chain(self.body.iter().flat_map(Template::uses)).collect()
    }

    /// The host to which redirects may lead, with its port.
    pub(crate) fn authority(&self) -> &str {
        &self.host
    }

    /// The host to which its cookies belong.
    pub(crate) fn host(&self) -> &str {
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.host,
        }
    }

    /// Appends the request that follows a redirect to a target.
    pub(crate) fn write_hop(
        &self,
        hop: Hop,
        target: &[u8],
        filling: &mut Filling<'_>,
        body: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) {
        let follows = self.follows.as_ref().expect("only a request with `redirects` follows one");
        let method = if hop == Hop::Get { "GET" } else { &self.method };
        wire.extend_from_slice(method.as_bytes());
        wire.push(b' ');
        wire.extend_from_slice(target);
        wire.extend_from_slice(b" HTTP/1.1\r\n");
        follows.fields.write(filling, wire);
        match follows.body.as_ref().filter(|_| hop == Hop::Same) {
            Some(template) => {
                body.clear();
                template.write(filling, body);
                end_head(body.len(), wire);
                wire.extend_from_slice(body);
            }
            None => wire.extend_from_slice(b"\r\n"),
        }
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
pub(crate) fn without_query(target: &str) -> &str {
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
    names: Names<'_>,
) -> Result<Option<usize>, Error> {
    let text = target.text.as_str();
    let first = text.strip_prefix("{{").map(str::trim_start);
    let column = first.and_then(|first| first.strip_prefix("row."));
    let captured = first.is_some_and(|first| first.starts_with("session."));
    let is_target = |text: &str| text == "*" || text.starts_with('/') || is_absolute(text);
    if column.is_none() && !captured && !is_target(text) {
        let what = "a target begins with `/`, or is absolute; write for example \"/hotels?id=1\"";
        return Err(line.error_at(target.raw(), what));
    }
    head.compile(text, Part::Target, names).map_err(|wrong| line.error_in(target, wrong))?;
    let fixed = text.split("{{").next().unwrap_or(text);
    let has_whole_host = fixed == text || 2 < fixed.matches('/').count();
    if is_absolute(fixed) && has_whole_host {
        url::parse(fixed).map_err(|why| line.error_at(target.raw(), why))?;
    }
    let begins = head.uses().next().map(|(variable, _)| variable).filter(|_| captured);
    let name = column.and_then(|column| column.split("}}").next()).map(str::trim_end);
    if let (Some(name), Some(data)) = (name, names.data)
        && let Some(column) = data.columns().iter().position(|known| known == name)
    {
        if let Some(place) = data.find(column, |cell| !is_target(cell)) {
            let what = format!("`{name}` does not begin with `/` at {place}, but a target must");
            return Err(line.error_at(target.raw(), what + "; write it there, or before {{"));
        }
        let is_wrong = |cell: &str| is_absolute(cell) && url::parse(cell).is_err();
        if let Some(place) = data.find(column, is_wrong) {
            let what = format!("`{name}` is not a valid URL at {place}");
            return Err(line.error_at(target.raw(), what + "; write http://HOST:PORT/PATH there"));
        }
    }
    Ok(begins)
}

/// The header fields of a request.
struct Fields {
    template: Template,
    /// True if one of them ends the connection.
    closes: bool,
    host: String,
    /// True if the request has a `Cookie` of its own.
    has_cookie: bool,
}

/// Compiles the common header fields that this request does not set itself, then its own.
fn compile_fields(
    source: &Source<'_>,
    line: Line<'_>,
    written: &Written<'_>,
    names: Names<'_>,
) -> Result<Fields, Error> {
    let own = written.headers.map_or(Ok(Vec::new()), |raw| line.texts("headers", raw))?;
    let mut head = Template::default();
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
        head.compile(&value.text, Part::Field, names)
            .map_err(|wrong| line.error_in(value, wrong))?;
        head.text(b"\r\n");
        check_fields([(&**name, &*value.text)].into_iter(), None).map_err(refusal)?;
    }
    let common = source.fields.iter().filter(|(name, _)| !is_own(name));
    let common = common.map(|(name, value)| (&**name, &**value));
    let own = own.iter().map(|(name, value)| (&**name, &*value.text));
    let all = common.chain(own);
    check_fields(all.clone(), None).map_err(|why| line.error(0, why))?;
    let of = |name: &str| all.clone().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let host = of("host").map_or(String::new(), |(_, host)| host.trim().to_owned());
    let has_cookie = of("cookie").is_some();
    Ok(Fields { template: head, closes, host, has_cookie })
}

fn redirects(line: Line<'_>, raw: &RawValue) -> Result<u8, Error> {
    let most = serde_json::from_str(raw.get()).ok();
    most.filter(|most| *most <= MOST_REDIRECTS).ok_or_else(|| {
        let what =
            format!("`redirects` is {raw}; write a number up to {MOST_REDIRECTS}, such as 3");
        line.error_at(raw, what)
    })
}

fn captures(
    line: Line<'_>,
    written: &Written<'_>,
    outline: &Outline,
) -> Result<Option<Captures>, Error> {
    let Some(raw) = written.capture else { return Ok(None) };
    let mut captures = Captures::default();
    for (name, text) in line.texts("capture", raw)? {
        let variable = outline.captured.iter().position(|known| *known == name);
        let variable = variable.expect("the outline has all names");
        let added = captures.add(variable, &name, &text.text);
        added.map_err(|what| line.error_in(&text, Wrong { at: 0, what }))?;
    }
    Ok(Some(captures))
}

fn checks(line: Line<'_>, written: &Written<'_>) -> Result<Option<Checks>, Error> {
    let Some(raw) = written.check else { return Ok(None) };
    let text = line.text_of("check", raw)?;
    let checks = Checks::parse(&text.text);
    checks.map(Some).map_err(|what| line.error_in(&text, Wrong { at: 0, what }))
}
