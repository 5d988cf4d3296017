//! The parts of a file that the question decides.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use results::{regular, secrets};
use wire::url::{self, Destination};

use super::kept::Kept;
use super::words::{Guessed, Words};
use super::{Asked, Field, Requests, Service, Started};
use crate::spec::quoted;

/// The parts of the file that the question decides.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) about: String,
    /// The place, and the system under test, in YAML.
    pub(super) service: String,
    /// The fields of `workload`, in YAML.
    pub(super) workload: String,
    /// The further fields of `load`, in YAML.
    pub(super) load: String,
}

impl Parts {
    pub(super) fn of(
        asked: &Asked,
        folder: &Path,
        kept: &mut Kept,
    ) -> Result<Parts, anyhow::Error> {
        let ServiceParts { name, server, service, path } = match &asked.service {
            Service::At(url) => ServiceParts::at(url, asked, kept)?,
            Service::Started(started) => ServiceParts::started(started, &asked.words)?,
        };
        let in_name =
            |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
        let prefix = &asked.words.prefix;
        let name = format!("{prefix}{name}{}", end_of_name(&asked.requests, &path));
        let name: String = name.chars().map(in_name).take(80).collect();
        let about = format!(
            "What is the capacity of {} under {}?",
            requests_in_words(&asked.requests, &server, &path),
            results::slo::in_words(&asked.slo)
        );
        let file = |path: &Path| quoted(&in_folder(path, folder).display().to_string());
        let mut workload = match &asked.requests {
            Requests::One { .. } => asked.words.guess(Guessed::Path, "  "),
            Requests::Script { .. } | Requests::Mix { .. } => String::new(),
        };
        let mut line = |name: &str, value: String| {
            let _ = writeln!(workload, "  {name}: {value}");
        };
        let request = |line: &mut dyn FnMut(&str, String),
                       method: &Option<String>,
                       body: &Option<String>,
                       body_file: &Option<PathBuf>| {
            method.iter().for_each(|method| line("method", quoted(method)));
            body.iter().for_each(|body| line("body", quoted(body)));
            body_file.iter().for_each(|path| line("body_file", file(path)));
        };
        match &asked.requests {
            Requests::One { method, body, body_file, check } => {
                line("path", quoted(&path));
                request(&mut line, method, body, body_file);
                check.iter().for_each(|check| line("check", quoted(check)));
            }
            Requests::Script { file: script, arguments, method, body, body_file } => {
                line("script", file(script));
                if !arguments.is_empty() {
                    let arguments: Vec<String> =
                        arguments.iter().map(|word| quoted(word)).collect();
                    line("args", format!("[{}]", arguments.join(", ")));
                }
                line("path", quoted(&path));
                request(&mut line, method, body, body_file);
            }
            Requests::Mix { file: mix, data } => {
                line("mix", file(mix));
                data.iter().for_each(|path| line("data", file(path)));
            }
        }
        let headers = headers(&asked.headers, kept);
        if !headers.is_empty() {
            workload += "  headers:\n";
            for (name, values) in headers {
                let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
                let _ = match &values[..] {
                    [value] => writeln!(workload, "    {}: {value}", quoted(&name)),
                    values => writeln!(workload, "    {}: [{}]", quoted(&name), values.join(", ")),
                };
            }
        }
        let mut load = String::new();
        match (&asked.ca, asked.insecure) {
            (_, true) => load += "  tls: {insecure: true}    # any certificate is accepted\n",
            (Some(ca), false) => {
                let _ = writeln!(load, "  tls: {{ca: {}}}", file(ca));
            }
            (None, false) => {}
        }
        Ok(Parts { name, about, service, workload, load })
    }
}

/// The most characters of a path in the words of a question.
const MOST_OF_PATH: usize = 80;

/// Returns the requests of a question in a few words: those to several paths of a service are questions of their own.
fn requests_in_words(requests: &Requests, server: &str, path: &str) -> String {
    let file = |file: &Path| file.file_name().unwrap_or_default().display().to_string();
    let shown = secrets::references(path)
        .fold(path.to_owned(), |shown, name| shown.replace(&format!("${{{name}}}"), "…"));
    let shown = match shown.char_indices().nth(MOST_OF_PATH) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None if shown == "/" => String::new(),
        None => shown,
    };
    match requests {
        Requests::One { method, .. } => {
            format!("{}{server}{shown}", of_method(method.as_deref(), "", " "))
        }
        Requests::Script { file: script, method, .. } => {
            format!("{}{server}{shown} by {}", of_method(method.as_deref(), "", " "), file(script))
        }
        Requests::Mix { file: mix, .. } => format!("{server} by {}", file(mix)),
    }
}

/// Returns the end of an experiment's name, by which its results are told from those of other requests.
fn end_of_name(requests: &Requests, path: &str) -> String {
    let parts = path.split(['?', ';']).next().unwrap_or_default().split('/');
    let parts = parts.filter(|part| !part.is_empty() && !part.contains("${"));
    let path: String = parts.map(|part| format!("-{part}")).collect();
    let of_file = |file: &Path| {
        file.file_stem().map_or_else(String::new, |stem| format!("-{}", stem.display()))
    };
    match requests {
        Requests::One { method, .. } => path + &of_method(method.as_deref(), "-", ""),
        Requests::Script { file, method, .. } => {
            path + &of_method(method.as_deref(), "-", "") + &of_file(file)
        }
        Requests::Mix { file, .. } => of_file(file),
    }
}

/// Returns a method between these texts; nothing for GET, which is the usual one.
fn of_method(method: Option<&str>, before: &str, behind: &str) -> String {
    let method = method.filter(|method| *method != "GET");
    method.map_or_else(String::new, |method| format!("{before}{method}{behind}"))
}

/// The parts of a file that a service decides.
struct ServiceParts {
    /// The end of the experiment's name.
    name: String,
    /// The service for people.
    server: String,
    /// The fields `where` and `sut`, in YAML.
    service: String,
    /// The path that is requested, with its query.
    path: String,
}

impl ServiceParts {
    fn at(url: &str, asked: &Asked, kept: &mut Kept) -> Result<ServiceParts, anyhow::Error> {
        let parsed = url::parse(url).map_err(anyhow::Error::msg)?;
        let written = secrets::url_kept(url, &mut |parameter, value| {
            kept.keep("URL_SECRET", &part_of_url(parameter), value)
        });
        let (endpoint, path) = split(&written);
        // The targets are in the mix.
        let is_mix = matches!(asked.requests, Requests::Mix { .. });
        let endpoint = if is_mix { &written } else { endpoint };
        let name = match &parsed.place {
            Destination::Host(host, Some(port)) => format!("{host}-{port}"),
            Destination::Host(host, None) => host.clone(),
            Destination::Socket(path) => path.trim_start_matches('/').to_owned(),
        };
        let service = format!(
            "# The service runs already: nothing is started.\nwhere: {{backend: external}}\n{}\
             sut: {{endpoint: {}}}\n",
            asked.words.guess(Guessed::Service, ""),
            quoted(endpoint)
        );
        let server = format!("{}://{}", parsed.scheme, parsed.authority);
        Ok(ServiceParts { name, server, service, path: path.to_owned() })
    }

    fn started(started: &Started, words: &Words) -> anyhow::Result<ServiceParts> {
        let Started { name, command, path, cpus } = started;
        for (number, word) in (1..).zip(command) {
            ensure!(
                secrets::passwords_kept(word, &mut |_| String::new()) == *word,
                "word {number} of the command has a password or a token, which the process list would show to \
                 everybody: let the program read it from its environment, or from a file"
            );
        }
        let command = command.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(", ");
        let mut service = String::from(
            "# The program is started before the trials, and ended behind them. ${port} is a free port of this machine.\n",
        );
        if let Some((sut, load)) = cpus {
            service += &words.guess(Guessed::Cpus, "");
            let _ = writeln!(
                service,
                "where: {{roles: {{sut: {{cpus: {}}}, load: {{cpus: {}}}}}}}",
                quoted(sut),
                quoted(load)
            );
        }
        let _ = write!(
            service,
            "sut:\n  deploy:\n    - process:\n        name: {}\n        command: [{command}]\n        port: auto\n\
             {}        ready: {{tcp: true}}\n",
            quoted(name),
            words.guess(Guessed::Ready, "        ")
        );
        Ok(ServiceParts {
            name: name.clone(),
            server: format!("`{name}`"),
            service,
            path: path.clone(),
        })
    }
}

/// Splits a URL into its server, and the path with the query.
fn split(url: &str) -> (&str, &str) {
    let url = url.split('#').next().unwrap_or(url);
    let begin = url.find("://").map_or(0, |at| at + "://".len());
    let at = url[begin..].find(['/', '?']).map_or(url.len(), |at| begin + at);
    match url.split_at(at) {
        (server, "") => (server, "/"),
        (server, path) => (server, path),
    }
}

/// Returns the header fields with references in place of their secrets; a field that is repeated has several values.
fn headers(fields: &[Field], kept: &mut Kept) -> Vec<(String, Vec<String>)> {
    let mut headers: Vec<(String, Vec<String>)> = Vec::new();
    for Field { name, value, is_secret } in fields {
        let mut keep = |secret: &str| {
            let of = secrets::part_of_field(name, value, secret);
            kept.keep(&format!("HEADER_{name}"), &of, secret)
        };
        // A file has values, whatever they look like, and no references.
        let is_literal = *is_secret && value.contains("${");
        let value = match () {
            () if secrets::is_secret(name, value) && !is_literal => {
                secrets::field_kept(name, value, &mut keep)
            }
            () if *is_secret && !value.is_empty() => keep(value),
            () => value.clone(),
        };
        let known = headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match known {
            Some((_, values)) => values.push(value),
            None => headers.push((name.clone(), vec![value])),
        }
    }
    headers
}

/// Names the part of a URL that is a secret: a parameter, or what stands before the host.
fn part_of_url(parameter: Option<&str>) -> String {
    match parameter {
        Some(name) => format!("the parameter {name} of the URL"),
        None => "the password or the token before the host of the URL".to_owned(),
    }
}

/// Returns the path of a file as a spec in this folder names it.
fn in_folder(path: &Path, folder: &Path) -> PathBuf {
    if let Some(name) = path.file_name().filter(|_| regular::folder_of(path) == folder) {
        return PathBuf::from(name);
    }
    match folder.as_os_str().is_empty() || folder == Path::new(".") {
        true => path.to_owned(),
        false => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}
