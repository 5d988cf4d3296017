//! A HAR (HTTP Archive) of a browser: the requests of one origin, by how often they were sent, or as a session.

use std::collections::BTreeMap;

use measure::{Nanos, civil};
use results::secrets;
use serde::Deserialize;
use wire::http1::{check_field, check_method};

use crate::body;
use crate::described::{Described, Request, Step, Wanted, reads, server};
use crate::references::References;
use crate::target;
use crate::words::{one_line, several};

mod tokens;

/// The longest body that is kept.
const MOST_BODY: usize = 64 << 10;
/// The most steps of a session in a mix.
const MOST_STEPS: usize = 256;
/// A shorter time between two requests is not one in which a user thinks, and a longer one is a pause.
const LEAST_THINK: Nanos = Nanos::from_millis(100);
const MOST_THINK: Nanos = Nanos::from_secs(60);

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    #[serde(default)]
    creator: Option<Named>,
    #[serde(default)]
    browser: Option<Named>,
    #[serde(default)]
    pages: Vec<Page>,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    title: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    started_date_time: String,
    #[serde(default)]
    time: Option<f64>,
    request: Asked,
    #[serde(default)]
    response: Answered,
    #[serde(default, rename = "_resourceType")]
    resource_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    method: String,
    url: String,
    #[serde(default)]
    http_version: String,
    #[serde(default)]
    headers: Vec<Field>,
    #[serde(default)]
    post_data: Option<Posted>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Posted {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: Option<String>,
    /// The fields of a form, in place of the text.
    #[serde(default)]
    params: Vec<Field>,
    /// Present if the text is the bytes in base 64.
    #[serde(default, alias = "_encoding")]
    encoding: Option<String>,
}

impl Posted {
    fn is_empty(&self) -> bool {
        self.text.as_deref().unwrap_or_default().is_empty() && self.params.is_empty()
    }

    /// Returns the body as a text; `None` if the file does not have it so.
    fn text(&self) -> Option<String> {
        let is_form = self.mime_type.starts_with("application/x-www-form-urlencoded");
        let has_text = self.text.as_ref().is_some_and(|text| !text.is_empty());
        let text = match is_form && !has_text && !self.params.is_empty() {
            true => {
                Some(body::form_of(self.params.iter().map(|field| (&*field.name, &*field.value))))
            }
            false => self.text.clone(),
        };
        let is_kept = self.encoding.is_none() && !self.mime_type.starts_with("multipart/");
        text.filter(|text| is_kept && text.len() <= MOST_BODY)
    }
}

#[derive(Default, Deserialize)]
struct Answered {
    #[serde(default)]
    status: f64,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    text: Option<String>,
    /// Present if the text is the bytes in base 64.
    #[serde(default)]
    encoding: Option<String>,
}

impl Entry {
    fn mime_type(&self) -> &str {
        let content = self.response.content.as_ref();
        content.and_then(|content| content.mime_type.as_deref()).unwrap_or_default()
    }

    fn is_document(&self) -> bool {
        match &self.resource_type {
            Some(kind) => kind == "document",
            None => self.mime_type().starts_with("text/html"),
        }
    }

    fn is_file(&self) -> bool {
        let of_type = self
            .resource_type
            .as_deref()
            .is_some_and(|kind| ["image", "font", "stylesheet", "script", "media"].contains(&kind));
        let mime = self.mime_type();
        let of_mime = ["image/", "font/", "audio/", "video/", "text/css"]
            .iter()
            .any(|begin| mime.starts_with(begin))
            || mime.contains("javascript");
        of_type || of_mime || target::is_file(target::path(&self.request.url))
    }

    /// Returns the times of its beginning and its end, in nanoseconds since the first one's beginning.
    fn times(&self, first: f64) -> Option<(Nanos, Nanos)> {
        /// A recording of three years is a wrong clock.
        const LONGEST: f64 = 1e8;
        let begin = (civil::seconds(&self.started_date_time)? - first).clamp(0.0, LONGEST);
        let begin = Nanos::from_secs_f64(begin);
        let took = self.time.filter(|took| (0.0..1e9).contains(took)).unwrap_or_default();
        Some((begin, begin + Nanos::from_secs_f64(took / 1e3)))
    }
}

pub(crate) fn read(bytes: &[u8], wanted: &Wanted) -> Result<Described, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let File { log } = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "line {}, column {}: it is not a HAR ({}); save it again with the browser's developer tools, as \"HAR \
             with content\" or without",
            error.line(),
            error.column(),
            one_line(&error.to_string())
        )
    })?;
    let origins = origins(&log.entries);
    let base = wanted.base.as_deref().map(server).transpose()?;
    let of_base = base.as_ref().filter(|(base, _)| origins.contains_key(base));
    let document = log.entries.iter().find(|entry| entry.is_document());
    let of_document = document.and_then(|entry| origin(&entry.request.url));
    let frequent =
        origins.iter().max_by_key(|(_, count)| **count).map(|(origin, _)| origin.clone());
    let own = of_base
        .map(|(origin, _)| origin.clone())
        .or(of_document)
        .or(frequent)
        .ok_or("it has no request by http or https; record it again while the page loads")?;
    let mut reading = Reading { wanted, own: &own, ..Reading::new() };
    for entry in &log.entries {
        reading.add(entry);
    }
    let mut described = reading.described(&origins);
    let tool = log
        .browser
        .or(log.creator)
        .map(|tool| one_line(&tool.name))
        .filter(|name| !name.is_empty());
    let page = log.pages.iter().find_map(|page| page.title.as_deref()).map(one_line);
    described.title = page.filter(|page| !page.is_empty() && !page.contains("://")).or(tool);
    described.endpoint_guess = match (&base, origins.len()) {
        (Some(_), _) | (None, 1) => None,
        (None, several) => {
            Some(format!("the origin of the first page, one of {several} in the HAR"))
        }
    };
    described.endpoint = base.map_or(own.clone(), |(base, _)| base);
    Ok(described)
}

/// Returns the origin of a URL, whatever its path is.
fn origin(url: &str) -> Option<String> {
    let begin = url.find("://")? + "://".len();
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    server(&url[..end]).ok().map(|(origin, _)| origin)
}

/// Returns the origins of the requests with the number of each.
fn origins(entries: &[Entry]) -> BTreeMap<String, u64> {
    let mut origins = BTreeMap::new();
    for entry in entries {
        if let Some(origin) = origin(&entry.request.url) {
            *origins.entry(origin).or_default() += 1;
        }
    }
    origins
}

struct Reading<'a> {
    wanted: &'a Wanted,
    own: &'a str,
    /// The requests, in the order of their first sending.
    requests: Vec<Request>,
    /// The place of each by what is sent.
    places: BTreeMap<String, usize>,
    /// Each sending: the place of its request, and the entry.
    sent: Vec<(usize, &'a Entry)>,
    references: References,
    files: u64,
    unanswered: u64,
    elsewhere: u64,
    unusable: u64,
    cookies: u64,
    newer: u64,
}

static NONE: Wanted =
    Wanted { writes: false, files: false, journey: false, base: None, from: None };

impl<'a> Reading<'a> {
    fn new() -> Reading<'a> {
        Reading {
            wanted: &NONE,
            own: "",
            requests: Vec::new(),
            places: BTreeMap::new(),
            sent: Vec::new(),
            references: References::default(),
            files: 0,
            unanswered: 0,
            elsewhere: 0,
            unusable: 0,
            cookies: 0,
            newer: 0,
        }
    }

    fn add(&mut self, entry: &'a Entry) {
        let is_own = origin(&entry.request.url).is_some_and(|origin| origin == self.own);
        if !is_own {
            self.elsewhere += 1;
        } else if !self.wanted.files && entry.is_file() {
            self.files += 1;
        } else if !(200.0..400.0).contains(&entry.response.status) {
            self.unanswered += 1;
        } else {
            match self.request(&entry.request) {
                Some(request) => self.put(request, entry),
                None => self.unusable += 1,
            }
        }
    }

    fn put(&mut self, request: Request, entry: &'a Entry) {
        let key =
            serde_json::json!([&request.method, &request.target, &request.headers, &request.body]);
        let next = self.requests.len();
        let place = *self.places.entry(key.to_string()).or_insert(next);
        if place == next {
            self.requests.push(request);
        }
        self.requests[place].weight += 1;
        self.sent.push((place, entry));
        let version = entry.request.http_version.to_ascii_lowercase();
        self.newer += u64::from(
            ["h2", "h3", "http/2", "http/3"].iter().any(|newer| version.starts_with(newer)),
        );
    }

    /// Returns the request of an entry; `None` if it cannot be sent, or not without a secret.
    fn request(&mut self, asked: &Asked) -> Option<Request> {
        let method = asked.method.to_ascii_uppercase();
        check_method(&method).ok()?;
        if ["CONNECT", "OPTIONS", "TRACE"].contains(&&*method) {
            return None;
        }
        let behind = asked.url.split_once("://")?.1;
        let whole = behind.find(['/', '?']).map_or("/", |at| &behind[at..]);
        let whole = if whole.starts_with('/') { whole.to_owned() } else { format!("/{whole}") };
        if target::MOST < whole.len() {
            return None;
        }
        let target = target::without_secrets(&target::plain(&whole), &mut self.references)?;
        let mut guesses = Vec::new();
        // Firefox writes an empty one for every GET.
        let posted = asked.post_data.as_ref();
        let body = match posted.filter(|posted| !reads(&method) || !posted.is_empty()) {
            None => None,
            Some(posted) => {
                let text = posted.text();
                let body =
                    text.and_then(|text| body::of(&text, &posted.mime_type, &mut self.references));
                if body.is_none() {
                    guesses.push(
                        "its body is left out: write it as \"body\" or \"body_file\"".to_owned(),
                    );
                }
                body
            }
        };
        let headers = self.headers(&asked.headers);
        let label = one_line(&format!("{method} {}", target::name(&target)));
        Some(Request { label, method, target, headers, body, guesses, ..Request::default() })
    }

    /// Returns the header fields that decide the answer, with references in place of secrets.
    fn headers(&mut self, fields: &[Field]) -> Vec<(String, String)> {
        const KEPT: [&str; 5] =
            ["accept", "accept-encoding", "accept-language", "authorization", "content-type"];
        let mut headers: Vec<(String, String)> = Vec::new();
        for Field { name, value } in fields {
            let lower = name.to_ascii_lowercase();
            if lower == "cookie" {
                self.cookies += 1;
                continue;
            }
            let is_secret = secrets::is_secret(name, value);
            let is_kept = KEPT.contains(&&*lower)
                || secrets::is_secret_field(name)
                || lower.starts_with("x-") && !lower.starts_with("x-forwarded");
            let is_known = headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
            if !is_kept
                || is_known
                || check_field(name, value).is_err()
                || 64 < name.len()
                || 1_024 < value.len() && !is_secret
            {
                continue;
            }
            let value = match is_secret {
                true => {
                    let mut keep = |secret: &str| {
                        let of = one_line(&secrets::part_of_field(name, value, secret));
                        self.references.to(&format!("HEADER_{name}"), &of)
                    };
                    secrets::field_kept(name, value, &mut keep)
                }
                false => value.clone(),
            };
            let is_plain = is_secret || !value.contains("{{") && !value.contains("${");
            if is_plain {
                headers.push((name.clone(), value));
            }
        }
        headers
    }

    fn described(mut self, origins: &BTreeMap<String, u64>) -> Described {
        let mut said = Vec::new();
        let mut tell = |count: u64, why: &str| {
            if 0 < count {
                said.push(why.replace("{}", &several(count, "request", "requests")));
            }
        };
        tell(
            self.files,
            "left out: {} for files (images, fonts, styles, scripts); --files has them, too",
        );
        tell(self.unanswered, "left out: {} without a successful answer (2xx or 3xx)");
        tell(
            self.unusable,
            "left out: {} by OPTIONS, with an overlong URL, or one that seems to hold a secret",
        );
        tell(self.newer, "sent by HTTP/2 or HTTP/3: {}; the load is HTTP/1.1");
        tell(
            self.cookies,
            "left out: the cookies of {}; if the service needs them, write `headers: {Cookie: \"${env.COOKIE}\"}` under \
             `workload`, or a session that logs in",
        );
        if 0 < self.elsewhere {
            let mut others: Vec<(&String, &u64)> =
                origins.iter().filter(|(origin, _)| *origin != self.own).collect();
            others.sort_by(|a, b| b.1.cmp(a.1));
            let named: Vec<String> = others
                .iter()
                .take(5)
                .map(|(origin, count)| format!("{} ({count})", one_line(origin)))
                .collect();
            said.push(format!(
                "left out: {} to other origins: {}; --base with one of these takes its requests",
                several(self.elsewhere, "request", "requests"),
                named.join(", ")
            ));
        }
        for request in &mut self.requests {
            request
                .facts
                .push(format!("{} in the HAR", several(request.weight, "request", "requests")));
        }
        let weights = "a request is as frequent as in this one recording: that of one user, once";
        let steps = if self.wanted.journey {
            self.capture(&mut said);
            self.steps(&mut said)
        } else {
            Vec::new()
        };
        Described {
            requests: self.requests,
            weights_guess: Some(weights.to_owned()),
            steps,
            said,
            variables: self.references.0,
            ..Described::default()
        }
    }

    /// Returns the places of the requests in the order of their sending.
    fn in_order(&self) -> Vec<(usize, &'a Entry)> {
        let mut sent = self.sent.clone();
        sent.sort_by(|a, b| a.1.started_date_time.cmp(&b.1.started_date_time));
        sent
    }

    /// Returns the requests in the order of their sending, with the times between them.
    fn steps(&self, said: &mut Vec<String>) -> Vec<Step> {
        let sent = self.in_order();
        let first = sent
            .iter()
            .find_map(|(_, entry)| civil::seconds(&entry.started_date_time))
            .unwrap_or_default();
        let mut steps = Vec::new();
        let mut count = 0;
        let mut end = None;
        for (place, entry) in sent {
            if !reads(&self.requests[place].method) && !self.wanted.writes {
                continue;
            }
            if count == MOST_STEPS {
                said.push(format!(
                    "the session has the first {MOST_STEPS} requests, the most that one can have"
                ));
                break;
            }
            let times = entry.times(first);
            if let (Some(end), Some((begin, _))) = (end, times) {
                let think = begin.saturating_sub(end).min(MOST_THINK);
                if 0 < count && LEAST_THINK <= think {
                    steps.push(Step::Think(think));
                }
            }
            end = times.map(|(_, own)| own).max(end);
            steps.push(Step::Request(place));
            count += 1;
        }
        steps
    }
}
