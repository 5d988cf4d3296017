//! An OpenAPI document, 3.0 or 3.1, or one of Swagger 2.0; in JSON or YAML.

use std::collections::BTreeMap;

use results::secrets::{is_secret_field, is_secret_parameter};
use serde_json::{Map, Value};
use wire::http1::check_field;

use crate::body;
use crate::described::{Described, NO_SERVER, Request, Wanted, reads, server};
use crate::references::References;
use crate::schema::{Example, example, resolved, stated};
use crate::secret;
use crate::target::{self, encode};
use crate::words::{one_line, several};

/// The most requests that are made of a document.
const MOST_OPERATIONS: usize = 1_000;
/// The longest body that is kept.
const MOST_BODY: usize = 16 << 10;
const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

pub(crate) fn read(bytes: &[u8], wanted: &Wanted) -> Result<Described, String> {
    let root = document(bytes)?;
    let is_two = match (root.get("openapi"), root.get("swagger")) {
        (Some(version), _) if written(version).starts_with("3.") => false,
        (None, Some(version)) if written(version).starts_with('2') => true,
        (Some(version), _) | (None, Some(version)) => {
            return Err(format!(
                "version {} of OpenAPI is not read; convert the document to 3.0 or 3.1",
                one_line(&written(version))
            ));
        }
        (None, None) => {
            return Err("it has no `openapi: 3.…` and no `swagger: \"2.0\"`, so it is not an OpenAPI document; if it \
                        is something else, say what: --as har or --as log"
                .to_owned());
        }
    };
    let mut described = Described {
        title: root.pointer("/info/title").and_then(Value::as_str).map(one_line),
        weights_guess: Some(
            "every request is as frequent as the others: the document says nothing of it"
                .to_owned(),
        ),
        ..Described::default()
    };
    let base = servers(&root, is_two, wanted, &mut described)?;
    let Some(paths) =
        root.get("paths").and_then(Value::as_object).filter(|paths| !paths.is_empty())
    else {
        return Err("it has no `paths`, so there is nothing to request; name the document of the service, not a part \
                    of it"
            .to_owned());
    };
    let mut reading = Reading {
        root: &root,
        is_two,
        base,
        references: References::default(),
        skipped: BTreeMap::new(),
    };
    let mut beyond = 0;
    for (path, item) in paths {
        let Some(item) = resolved(&root, item).and_then(Value::as_object) else {
            reading.skip(
                "a path that is described elsewhere (`$ref`): join the parts to one document first",
            );
            continue;
        };
        for method in METHODS {
            let Some(operation) = item.get(method).and_then(Value::as_object) else { continue };
            if described.requests.len() == MOST_OPERATIONS {
                beyond += 1;
                continue;
            }
            match reading.request(path, method, item, operation) {
                Ok(request) => described.requests.push(request),
                Err(why) => reading.skip(why),
            }
        }
    }
    for (why, count) in &reading.skipped {
        described.said.push(format!("left out: {}: {why}", several(*count, "request", "requests")));
    }
    if 0 < beyond {
        described.said.push(format!(
            "left out: {} beyond the first {MOST_OPERATIONS}",
            several(beyond, "request", "requests")
        ));
    }
    described.variables = reading.references.0;
    Ok(described)
}

/// Reads JSON or YAML, within bounds.
fn document(bytes: &[u8]) -> Result<Value, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii_start().starts_with(b"{") {
        return serde_json::from_slice(bytes).map_err(|error| {
            format!(
                "line {}, column {}: {}; correct the JSON",
                error.line(),
                error.column(),
                one_line(&error.to_string())
            )
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        format!("byte {}: it is not UTF-8; save it as UTF-8", error.valid_up_to())
    })?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 100,
            max_nodes: 3_000_000,
            max_events: 8_000_000,
            max_aliases: 10_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 200_000,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.without_snippet().location();
        let place = place
            .map_or(String::new(), |at| format!("line {}, column {}: ", at.line(), at.column()));
        let what = error.without_snippet().to_string();
        format!("{place}{}; correct the YAML", one_line(&what))
    })
}

/// Returns a scalar as it is written.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Finds the service: puts its URL into what is described, and returns the path before those of the document.
fn servers(
    root: &Value,
    is_two: bool,
    wanted: &Wanted,
    described: &mut Described,
) -> Result<String, String> {
    let named = if is_two { of_two(root) } else { of_three(root) };
    let from = wanted.from.as_deref().map(server).transpose()?;
    let absolute = |url: &String| match (url.contains("://"), &from) {
        (true, _) => server(url).ok(),
        (false, Some((origin, _))) => {
            server(&format!("{origin}/{}", url.trim_start_matches('/'))).ok()
        }
        (false, None) => None,
    };
    let usable: Vec<(String, String)> = named.iter().filter_map(absolute).collect();
    // The path of a server counts without its host, too.
    let first_path = usable.first().map(|(_, path)| path.clone()).or_else(|| {
        let first = named.first()?;
        server(&format!("http://host/{}", first.trim_start_matches('/'))).ok().map(|(_, path)| path)
    });
    let path = match &wanted.base {
        Some(base) => {
            let (origin, own) = server(base)?;
            described.endpoint = origin;
            match (own.as_str(), first_path) {
                ("", Some(path)) if !path.is_empty() && !base.ends_with('/') => {
                    described.paths_guess = Some(format!(
                        "they begin with {} here, too, as on the document's server; end --base with / if not",
                        one_line(&path)
                    ));
                    path
                }
                _ => own,
            }
        }
        None => {
            let no_server = || match &from {
                Some((origin, _)) => Ok((origin.clone(), String::new())),
                None => Err(NO_SERVER.to_owned()),
            };
            let count = usable.len();
            let (origin, path) = usable.into_iter().next().map_or_else(no_server, Ok)?;
            described.endpoint = origin;
            described.endpoint_guess = match count {
                0 => Some("the document names no server: the one that it came from".to_owned()),
                1 => None,
                several => Some(format!("the first of the document's {several} servers")),
            };
            path
        }
    };
    Ok(target::plain(&path))
}

/// Returns the URLs of `servers`, with the defaults of their variables.
fn of_three(root: &Value) -> Vec<String> {
    let servers = root.get("servers").and_then(Value::as_array).into_iter().flatten();
    let url = |server: &Value| {
        let mut url = server.get("url")?.as_str()?.to_owned();
        let variables = server.get("variables").and_then(Value::as_object).into_iter().flatten();
        for (name, variable) in variables {
            let value = variable.get("default").map(written).unwrap_or_default();
            url = url.replace(&format!("{{{name}}}"), &value);
        }
        (url.len() <= target::MOST).then_some(url)
    };
    servers.take(MOST_OPERATIONS).filter_map(url).collect()
}

/// Returns the URLs of `schemes`, `host` and `basePath`, https first.
fn of_two(root: &Value) -> Vec<String> {
    let base = root.get("basePath").and_then(Value::as_str).unwrap_or("/").to_owned();
    let Some(host) = root.get("host").and_then(Value::as_str) else { return vec![base] };
    let schemes = root.get("schemes").and_then(Value::as_array).into_iter().flatten();
    let mut schemes: Vec<&str> =
        schemes.filter_map(Value::as_str).filter(|s| s.starts_with("http")).collect();
    if schemes.is_empty() {
        schemes.push("https");
    }
    let slash = if base.starts_with('/') { "" } else { "/" };
    schemes.iter().map(|scheme| format!("{scheme}://{host}{slash}{base}")).collect()
}

struct Reading<'a> {
    root: &'a Value,
    is_two: bool,
    /// The path before those of the document.
    base: String,
    references: References,
    /// The numbers of requests that are left out, by the reason.
    skipped: BTreeMap<&'static str, u64>,
}

/// The parts of a request that its parameters fill.
#[derive(Default)]
struct Parts {
    path: BTreeMap<String, String>,
    query: Vec<String>,
    headers: Vec<(String, String)>,
    cookies: Vec<String>,
    form: Vec<String>,
    facts: Vec<String>,
    guesses: Vec<String>,
}

const NO_VALUE: &str = "a required parameter has no value that could be guessed";

impl<'a> Reading<'a> {
    fn skip(&mut self, why: &'static str) {
        *self.skipped.entry(why).or_default() += 1;
    }

    fn request(
        &mut self,
        path: &str,
        method: &str,
        item: &Map<String, Value>,
        operation: &Map<String, Value>,
    ) -> Result<Request, &'static str> {
        let mut parts = Parts::default();
        for parameter in self.parameters(item, operation) {
            self.parameter(parameter, &mut parts)?;
        }
        self.secure(operation, &mut parts);
        let mut target = self.base.clone() + &filled(path, &mut parts);
        if !target.starts_with('/') {
            target.insert(0, '/');
        }
        for (index, part) in parts.query.iter().enumerate() {
            target.push(if index == 0 && !target.contains('?') { '?' } else { '&' });
            target += part;
        }
        if target::MOST < target.len() {
            return Err("its path is too long");
        }
        let method = method.to_ascii_uppercase();
        let body = if reads(&method) { None } else { self.body(operation, &mut parts) };
        if !parts.cookies.is_empty() {
            parts.headers.push(("Cookie".to_owned(), parts.cookies.join("; ")));
        }
        let named = operation.get("operationId").and_then(Value::as_str).map(one_line);
        let label = named
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| one_line(&format!("{method} {path}")));
        let mut facts = Vec::new();
        let summary =
            operation.get("summary").and_then(Value::as_str).map(one_line).unwrap_or_default();
        if !summary.is_empty() {
            facts.push(summary);
        }
        facts.append(&mut parts.facts);
        let Parts { headers, guesses, .. } = parts;
        Ok(Request {
            weight: 1,
            label,
            method,
            target,
            headers,
            body,
            facts,
            guesses,
            ..Request::default()
        })
    }

    /// Returns the parameters of an operation; its own replace those of the path with the same name.
    fn parameters(
        &self,
        item: &'a Map<String, Value>,
        operation: &'a Map<String, Value>,
    ) -> Vec<&'a Value> {
        let mut all: Vec<&Value> = Vec::new();
        for list in [item.get("parameters"), operation.get("parameters")] {
            let list = list.and_then(Value::as_array).into_iter().flatten();
            for parameter in list.filter_map(|parameter| resolved(self.root, parameter)) {
                let is_same = |other: &&Value| {
                    ["name", "in"].iter().all(|key| other.get(*key) == parameter.get(*key))
                };
                all.retain(|other| !is_same(other));
                all.push(parameter);
            }
        }
        all
    }

    fn parameter(&mut self, parameter: &Value, parts: &mut Parts) -> Result<(), &'static str> {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let (Some(name), Some(place)) = (text("name"), text("in")) else { return Ok(()) };
        let is_required =
            parameter.get("required").and_then(Value::as_bool).unwrap_or(place == "path");
        let is_ours = |name: &str| ["accept", "content-type", "authorization"].contains(&name);
        if !is_required
            || place == "body"
            || place == "header" && is_ours(&name.to_ascii_lowercase())
        {
            return Ok(());
        }
        let mut keep = |parts: &mut Parts| {
            let of = format!("the parameter {}", one_line(name));
            put(place, name, &self.references.to(name, &of), true, parts);
        };
        let is_secret = match place {
            "path" => false,
            "query" => is_secret_parameter(name),
            _ => is_secret_field(name),
        };
        if is_secret {
            keep(parts);
            return Ok(());
        }
        let schema = parameter.get("schema");
        let content = parameter.get("content").and_then(Value::as_object);
        let schema =
            schema.or_else(|| content?.values().next()?.get("schema")).unwrap_or(parameter);
        let found = match stated(parameter) {
            Some(value) => Some(Example { value: value.clone(), guess: None }),
            None => example(self.root, schema),
        };
        let Example { value, guess } = found.ok_or(NO_VALUE)?;
        let value = text_of(&value).filter(|value| !value.is_empty()).ok_or(NO_VALUE)?;
        if secret::is_in(&value) || place == "path" && secret::is_token(&value) {
            keep(parts);
            return Ok(());
        }
        let words = format!("{} = {}", one_line(name), one_line(&value));
        match guess {
            Some(why) => parts.guesses.push(format!("{words}: {why}")),
            None => parts.facts.push(format!("{words} is the document's")),
        }
        put(place, name, &value, false, parts);
        Ok(())
    }

    /// Adds the references that the first way to authenticate needs; none if a request without one is allowed.
    fn secure(&mut self, operation: &Map<String, Value>, parts: &mut Parts) {
        let wanted =
            operation.get("security").or(self.root.get("security")).and_then(Value::as_array);
        let Some(ways) = wanted else { return };
        let is_open = ways.iter().any(|way| way.as_object().is_none_or(Map::is_empty));
        let Some(first) = ways.first().and_then(Value::as_object).filter(|_| !is_open) else {
            return;
        };
        let schemes =
            if self.is_two { "/securityDefinitions" } else { "/components/securitySchemes" };
        for name in first.keys() {
            let scheme = self.root.pointer(schemes).and_then(|schemes| schemes.get(name));
            let Some(scheme) = scheme.and_then(|scheme| resolved(self.root, scheme)) else {
                continue;
            };
            let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
            let of = format!("the security scheme {}", one_line(name));
            let mut reference = |of: String| self.references.to(name, &of);
            let is_basic = text("type") == "basic" || text("scheme").eq_ignore_ascii_case("basic");
            match text("type") {
                "apiKey" => put(text("in"), text("name"), &reference(of), true, parts),
                "http" | "basic" if is_basic => {
                    let value = reference(format!("{of}: NAME:PASSWORD in base 64"));
                    put("header", "Authorization", &format!("Basic {value}"), true, parts);
                }
                "http" | "oauth2" | "openIdConnect" => {
                    let value = reference(format!("{of}: a token"));
                    put("header", "Authorization", &format!("Bearer {value}"), true, parts);
                }
                _ => parts.guesses.push(format!("{of} is not set: mutual TLS needs load.tls.cert")),
            }
        }
    }

    /// Returns the body of a request that has one.
    fn body(&mut self, operation: &Map<String, Value>, parts: &mut Parts) -> Option<String> {
        if !parts.form.is_empty() {
            parts
                .headers
                .push(("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
            return Some(parts.form.join("&"));
        }
        let (kind, found) = match self.is_two {
            true => {
                let all = operation.get("parameters")?.as_array()?.iter();
                let mut all = all.filter_map(|one| resolved(self.root, one));
                let own = all.find(|one| one.get("in").and_then(Value::as_str) == Some("body"))?;
                ("application/json".to_owned(), example(self.root, own.get("schema")?))
            }
            false => {
                let body = resolved(self.root, operation.get("requestBody")?)?;
                let content = body.get("content")?.as_object()?;
                let is_json = |(kind, _): &(&String, &Value)| kind.contains("json");
                let (kind, media) =
                    content.iter().find(is_json).or_else(|| content.iter().next())?;
                let stated = stated(media).cloned().map(|value| Example { value, guess: None });
                let found = stated.or_else(|| example(self.root, media.get("schema")?));
                (kind.clone(), found)
            }
        };
        let text = found.and_then(|Example { value, guess }| {
            let text = match () {
                () if kind.contains("json") => body::json(&value, &mut self.references),
                () if kind.starts_with("application/x-www-form-urlencoded") => of_form(&value),
                () => value.as_str().and_then(|text| body::of(text, &kind, &mut self.references)),
            };
            let text = text.filter(|text| text.len() <= MOST_BODY)?;
            parts.guesses.extend(guess.map(|why| format!("the body: {why}")));
            Some(text)
        });
        match &text {
            None => parts
                .guesses
                .push(format!("its body ({}) is left out: write it as \"body\"", one_line(&kind))),
            Some(_)
                if check_field("Content-Type", &kind).is_ok()
                    && !kind.contains(['{', '$', '*']) =>
            {
                parts.headers.push(("Content-Type".to_owned(), kind));
            }
            Some(_) => {}
        }
        text
    }
}

/// Puts a value into its place. A reference stays as it is.
fn put(place: &str, name: &str, value: &str, is_reference: bool, parts: &mut Parts) {
    let mut encoded = String::new();
    match is_reference {
        true => encoded += value,
        false => encode(value, &mut encoded),
    }
    let mut pair = String::new();
    encode(name, &mut pair);
    pair = format!("{pair}={encoded}");
    match place {
        "path" => drop(parts.path.insert(name.to_owned(), encoded)),
        "query" => parts.query.push(pair),
        "cookie" => parts.cookies.push(pair),
        "formData" => parts.form.push(pair),
        "header" => {
            let is_plain = is_reference || !value.contains("{{") && !value.contains("${");
            let is_new = !parts.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
            if is_plain && is_new && check_field(name, value).is_ok() {
                parts.headers.push((name.to_owned(), value.to_owned()));
            }
        }
        _ => {}
    }
}

/// Returns a path with the values of its parameters; one that the document does not describe gets a guess.
fn filled(path: &str, parts: &mut Parts) -> String {
    let mut target = String::new();
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once('{') {
        target += &target::plain(before);
        let Some((name, behind)) = behind.split_once('}') else {
            rest = "";
            break;
        };
        match parts.path.get(name) {
            Some(value) => target += value,
            None => {
                parts
                    .guesses
                    .push(format!("{} = 1: the document does not describe it", one_line(name)));
                target.push('1');
            }
        }
        rest = behind;
    }
    target + &target::plain(rest)
}

/// Returns a value as a parameter has it: a list with commas; `None` of an object.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => Some(items.iter().filter_map(text_of).collect::<Vec<_>>().join(",")),
        Value::Object(_) | Value::Null => None,
        scalar => Some(written(scalar)),
    }
}

/// Returns an object as the body of a form.
fn of_form(value: &Value) -> Option<String> {
    let pair = |(name, value): (&String, &Value)| {
        let mut pair = String::new();
        encode(name, &mut pair);
        pair.push('=');
        encode(&text_of(value)?, &mut pair);
        Some(pair)
    };
    Some(value.as_object()?.iter().filter_map(pair).collect::<Vec<String>>().join("&"))
}
