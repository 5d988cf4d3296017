//! A line of an access log: in the common or combined format of Apache and nginx, or a JSON object as nginx, Caddy,
//! Traefik and others write it.

use measure::civil;
use serde_json::{Map, Value};

/// A request in a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) target: String,
    pub(crate) status: Option<u16>,
    /// The seconds since 1970.
    pub(crate) second: Option<i64>,
}

/// The names of fields in JSON, the most certain first.
const METHODS: [&str; 5] = ["request_method", "RequestMethod", "http_method", "method", "verb"];
const TARGETS: [&str; 8] =
    ["request_uri", "RequestPath", "uri", "request_path", "path", "url", "target", "original"];
const QUERIES: [&str; 3] = ["query_string", "args", "query"];
const STATUSES: [&str; 6] =
    ["status", "DownstreamStatus", "OriginStatus", "status_code", "response_code", "code"];
const TIMES: [&str; 9] = [
    "time_iso8601",
    "time_local",
    "@timestamp",
    "timestamp",
    "StartUTC",
    "msec",
    "ts",
    "time",
    "date",
];

/// Reads a line; `None` if it is not one of a request.
pub(crate) fn parse(line: &str) -> Option<Entry> {
    match line.trim_start().starts_with('{') {
        true => of_json(&serde_json::from_str(line).ok()?),
        false => of_text(line).or_else(|| of_console(line)),
    }
}

/// Reads `2026/11/24 10:00:05.123 INFO http.log.access handled request {…}`, as Caddy prints it for people with tabs,
/// and `caddy | {…}`, as Docker prints the lines of a container. Objects in other texts are examples.
fn of_console(line: &str) -> Option<Entry> {
    let (before, object) = line.split_at(line.find('{')?);
    (before.ends_with('\t') || before.trim_end().ends_with('|')).then_some(())?;
    let mut entry = of_json(&serde_json::from_str(object).ok()?)?;
    if entry.second.is_none() {
        // It has no zone: only the distances of such times count.
        let date = before.get(..19).map(|date| format!("{}Z", date.replace('/', "-")));
        entry.second = date.and_then(|date| civil::seconds(&date)).map(|second| second as i64);
    }
    Some(entry)
}

/// Reads `host - user [date] "GET /path HTTP/1.1" 200 …`, whatever stands before the date and behind the status.
fn of_text(line: &str) -> Option<Entry> {
    let (date, behind) = line.split_once('[')?.1.split_once(']')?;
    let second = civil::of_log(date)?;
    let request = behind.trim_start().strip_prefix('"')?;
    let end = end_of_quoted(request)?;
    let (method, target) = of_request(&request[..end])?;
    let status = request[end + 1..].split_whitespace().next()?.parse().ok();
    Some(Entry { method, target: unescaped(&target), status, second: Some(second) })
}

/// Returns a target without the escapes of a log, `\x7B`, `\"` and `\\`: the bytes that they stand for are encoded.
fn unescaped(target: &str) -> String {
    let mut parts = target.split('\\');
    let mut result = parts.next().unwrap_or_default().to_owned();
    while let Some(part) = parts.next() {
        let hex = part.strip_prefix('x').and_then(|rest| Some((rest.get(..2)?, rest.get(2..)?)));
        let hex = hex.filter(|(hex, _)| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hex {
            Some((hex, rest)) => result += &format!("%{}{rest}", hex.to_ascii_uppercase()),
            None if part.is_empty() => {
                result += "%5C";
                result += parts.next().unwrap_or_default();
            }
            None => result += part,
        }
    }
    result
}

/// Returns the place of the quote that ends a text; one behind a backslash does not.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// Reads `GET /path HTTP/1.1`.
fn of_request(text: &str) -> Option<(String, String)> {
    let (method, rest) = text.split_once(' ')?;
    let (target, version) = rest.rsplit_once(' ')?;
    (version.starts_with("HTTP/") && is_method(method)).then_some(())?;
    Some((method.to_owned(), target_of(target)?))
}

fn is_method(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Returns the path and the query of a target, which may be a URL.
fn target_of(text: &str) -> Option<String> {
    let path = match text.split_once("://") {
        Some((scheme, rest)) if wire::url::is_scheme(scheme) => {
            rest.find('/').map_or("/", |at| &rest[at..])
        }
        _ => text,
    };
    path.starts_with('/').then(|| path.to_owned())
}

fn of_json(fields: &Map<String, Value>) -> Option<Entry> {
    // A container's log has the line of the program as a text.
    if let Some(line) = fields.get("log").or(fields.get("message")).and_then(Value::as_str)
        && let Some(entry) = of_text(line)
    {
        return Some(entry);
    }
    let mut layers = vec![fields];
    let inside = ["request", "http", "url"].map(|name| fields.get(name).and_then(Value::as_object));
    layers.extend(inside.into_iter().flatten());
    let of_http = fields.get("http").and_then(|http| http.get("request"));
    layers.extend(of_http.and_then(Value::as_object));
    let of_http = fields.get("http").and_then(|http| http.get("response"));
    layers.extend(of_http.and_then(Value::as_object));
    let find = |names: &[&str]| {
        names.iter().find_map(|name| layers.iter().find_map(|layer| layer.get(*name)))
    };
    let text = |names: &[&str]| find(names).and_then(Value::as_str);
    let (method, mut target) = match fields.get("request").and_then(Value::as_str) {
        Some(request) => of_request(request)?,
        None => {
            let method = text(&METHODS)?.to_ascii_uppercase();
            (is_method(&method).then_some(method)?, target_of(text(&TARGETS)?)?)
        }
    };
    if let Some(query) = text(&QUERIES).filter(|query| !["", "-"].contains(query))
        && !target.contains('?')
    {
        target = format!("{target}?{}", query.trim_start_matches('?'));
    }
    let status = find(&STATUSES).and_then(|status| match status {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    });
    Some(Entry { method, target, status, second: find(&TIMES).and_then(second) })
}

/// Returns the second of a time: a text, or a number of seconds, or of a smaller unit, since 1970.
fn second(value: &Value) -> Option<i64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => match text.parse::<f64>() {
            Ok(number) => number,
            Err(_) => return civil::seconds(text).map(|s| s as i64).or(civil::of_log(text)),
        },
        _ => return None,
    };
    /// The seconds of the year 5138: what is more is in milliseconds, and so on.
    const MOST: f64 = 1e11;
    let scale = [1.0, 1e3, 1e6, 1e9].into_iter().find(|scale| number / scale < MOST)?;
    (0.0 < number).then_some((number / scale) as i64)
}
