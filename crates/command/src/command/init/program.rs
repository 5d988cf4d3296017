//! A program that serves: it is started as an experiment starts it, asked, and ended.

use std::path::Path;

use console::output::Failure;
use described::Described;
use generator::load::probe::{self, Probed};
use lab::asked::words::Guessed;
use lab::asked::{self, Service, Started};
use lab::backend::Backend;
use lab::progress::Silent;
use lab::spec::Resolved;
use lab::system::System;
use local::Local;
use measure::cpus::Cpus;
use results::regular;

use super::{Draft, Init, ask, experiment, must_succeed};
use crate::command::run::{failed, host};

/// The word that the user writes for the port, and the one that a spec has.
const WRITTEN: &str = "{port}";
const IN_SPEC: &str = "${port}";

/// Makes the experiment of a program, which may have a description.
pub(super) fn draft(
    arguments: &Init,
    mix: Option<&Path>,
    described: Option<&Described>,
) -> Result<Draft, Failure> {
    let is_stated = arguments.path.is_some();
    let path = arguments.path.clone().or_else(|| described.and_then(first_path));
    let path = path.unwrap_or_else(|| "/".to_owned());
    let service = started(&arguments.command, path.clone())?;
    let first = experiment(arguments, Service::Started(service.clone()), None)?;
    let out = &arguments.out;
    let name = regular::shown(out);
    let made = asked::experiment(&first.asked, &name, regular::folder_of(out))
        .map_err(|error| Failure { exit: console::output::Exit::Question, error })?;
    let seen = running(&made.resolved, |url| {
        let url = format!("{}{path}", url.trim_end_matches('/'));
        ask(arguments, &url, probe::REQUESTS)
    });
    let seen = seen.map_err(|failure| match elsewhere(regular::folder_of(out)) {
        Some(line) => failure.with(&line),
        None => failure,
    })?;
    // With a mix, the requests of the experiment are others.
    if mix.is_none() {
        must_succeed(&seen)?;
    }
    let mut draft = experiment(arguments, Service::Started(service), Some(&seen))?;
    let words = &mut draft.asked.words;
    if !is_stated {
        let why = "the root; --path names what the service is used for";
        words.guesses.insert(Guessed::Path, why.to_owned());
    }
    words.guesses.insert(
        Guessed::Ready,
        "it is ready once it accepts a connection; or `get: /path`".to_owned(),
    );
    if let Service::Started(Started { cpus: Some(_), .. }) = &draft.asked.service {
        let why = "half of this machine's CPUs for the program, and the others for the load";
        words.guesses.insert(Guessed::Cpus, why.to_owned());
    }
    if mix.is_none() {
        let command = described::one_line(&arguments.command.join(" "));
        words.head.insert(0, format!("Written by `benchwright init` for the program `{command}`."));
    }
    Ok(draft)
}

/// Says where the program ran, if that is not where the user is.
fn elsewhere(folder: &Path) -> Option<String> {
    let (here, there) = (Path::new(".").canonicalize().ok()?, folder.canonicalize().ok()?);
    (here != there).then(|| {
        format!(
            "the command ran in {}, the folder of --out, as the experiment will run it: write its paths from there, or \
             whole ones",
            regular::shown(&there)
        )
    })
}

/// Returns the first target without a placeholder or a reference.
fn first_path(described: &Described) -> Option<String> {
    let sent = described.requests.iter().filter(|one| one.left_out.is_none());
    sent.map(|one| &one.target).find(|target| !target.contains('{')).cloned()
}

fn started(command: &[String], path: String) -> Result<Started, Failure> {
    let has_port = |word: &String| word.contains(WRITTEN);
    if !command.iter().any(has_port) {
        return Err(Failure::question(
            "the command does not say where its port belongs; write {port} there, for example \
             `-- ./service --port {port}`, or start it yourself and name its URL",
        ));
    }
    if !path.starts_with('/') {
        return Err(Failure::question(format!(
            "--path {path}: a path begins with `/`; write --path /{path}"
        )));
    }
    let program = command[0].rsplit('/').next().unwrap_or_default();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name: String =
        program.chars().map(|c| if is_of_name(c) { c } else { '-' }).take(40).collect();
    let name = name.trim_matches('-').to_ascii_lowercase();
    let name = if name.is_empty() { "service".to_owned() } else { name };
    let text = |word: &String| word.replace(IN_SPEC, WRITTEN).replace(WRITTEN, IN_SPEC);
    Ok(Started { name, command: command.iter().map(text).collect(), path, cpus: halves() })
}

/// Returns the CPUs of the program and of the load; `None` if there is only one.
fn halves() -> Option<(String, String)> {
    let all = net::cores::allowed();
    let (program, load) = all.split_at(all.len() / 2);
    (!program.is_empty())
        .then(|| (Cpus(program.to_vec()).to_string(), Cpus(load.to_vec()).to_string()))
}

/// Starts the program as `run` does, and ends it after the work.
fn running(
    resolved: &Resolved,
    work: impl FnOnce(&str) -> Result<Probed, Failure>,
) -> Result<Probed, Failure> {
    let mut local = Local::new(host()?);
    let stop = |stop: lab::backend::Stop| failed(stop.into());
    local.lock().map_err(stop)?;
    local.clean_up();
    local.prepare(resolved).map_err(stop)?;
    let mut system = System::default();
    let deployed = system.deploy(resolved, &mut local, &mut Silent).map_err(stop);
    let seen = deployed.and_then(|()| work(&system.urls[0]));
    local.stop();
    seen
}
