//! A replica: one process of a service, with what only this backend knows of it, until its end.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use anyhow::{Context, anyhow};
use lab::backend::{Foreign, Service, Stop};
use lab::host;
use lab::spec::{FOLDER, LISTEN, PORT, Port};
use measure::Nanos;
use nix::sys::signal::Signal;
use results::Secrets;

use crate::confine::Group;
use crate::output::{LAST_WORDS, Output};
use crate::ports;
use crate::process::{self, POLL_EVERY, Process};
use crate::ready::Waiting;
use crate::watch::Source;

/// The longest time that a component may take to end by itself.
const GENTLE: Nanos = Nanos::from_secs(2);

/// One process of a service.
#[derive(Clone)]
pub(crate) struct Replica {
    pub(crate) name: String,
    /// Its number among the replicas, from 1.
    pub(crate) number: u32,
    pub(crate) service: Service,
    /// Present if it ran before: what it keeps.
    pub(crate) kept: Option<Kept>,
}

/// The part of its past that a restarted replica keeps, beside its folder.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) port: Option<u16>,
}

/// One started process.
pub(crate) struct Running {
    pub(crate) replica: Replica,
    pub(crate) process: Process,
    pub(crate) group: Group,
    pub(crate) output: Output,
    /// Its URL; empty until it is ready.
    pub(crate) url: String,
    /// The data that a watch needs about it.
    pub(crate) source: Source,
    /// One for each stream that is copied; each ends with its stream.
    pub(crate) pumps: Vec<Receiver<()>>,
}

/// The values that only this backend knows of a replica.
pub(crate) struct Own {
    pub(crate) port: Option<u16>,
    /// The address at which it shall listen.
    pub(crate) listen: String,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) secrets: Secrets,
}

impl Own {
    pub(crate) fn replaced(&self, text: &str) -> String {
        let mut text = text.replace(LISTEN, &self.listen);
        if let Some(port) = self.port {
            text = text.replace(PORT, &port.to_string());
        }
        if let Some(folder) = &self.folder {
            text = text.replace(FOLDER, &folder.display().to_string());
        }
        self.secrets.reveal(&text)
    }
}

/// Returns the port of a foreign program. Another program there would be measured in its place.
pub(crate) fn port_for(name: &str, foreign: &Foreign) -> anyhow::Result<u16> {
    match foreign.port {
        Port::Auto => ports::free().context("no port is free on this host"),
        Port::At(port) if ports::is_free(port) => Ok(port),
        Port::At(port) => Err(anyhow!(
            "port {port} of `{name}` is in use on this host: end the program that has it, or write \
             `port: auto`"
        )),
    }
}

/// True for an application of ours, which reports statistics when it is given a file.
pub(crate) fn is_app(service: &Service) -> bool {
    service.command.starts_with(&["benchwright".to_owned(), "app".to_owned()])
}

pub(crate) fn statistics(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.statistics"))
}

/// Ends processes, all at once: with SIGTERM first, then with SIGKILL.
pub(crate) fn end(ending: Vec<Running>) {
    ending.iter().for_each(|running| running.process.signal(Signal::SIGTERM));
    let deadline = host::now() + GENTLE;
    while let Some(living) = ending.iter().find(|running| lives(running))
        && host::now() < deadline
    {
        living.process.await_end(POLL_EVERY);
    }
    let mut pumps = Vec::new();
    for running in ending {
        running.process.signal(Signal::SIGKILL);
        running.group.remove();
        running.process.reap();
        pumps.extend(running.pumps);
    }
    let deadline = host::now() + Nanos(LAST_WORDS.as_nanos() as u64);
    for pump in pumps {
        let _ = pump.recv_timeout(deadline.saturating_since(host::now()).into());
    }
}

pub(crate) fn lives(running: &Running) -> bool {
    matches!(running.process.ended(), Ok(None))
}

/// Returns `Died` if the process has ended.
pub(crate) fn died(running: &Running) -> Option<Stop> {
    let status = running.process.ended().ok()??;
    for pump in &running.pumps {
        let _ = pump.recv_timeout(LAST_WORDS);
    }
    let end = process::end_in_words(status);
    let why = match (running.group.killed_for_memory(), status.signal()) {
        (0, _) => end,
        (_, Some(nix::libc::SIGKILL)) => {
            "was killed by the kernel at its `memory_limit`".to_owned()
        }
        _ => format!("{end}, as the kernel had killed a process of it at its `memory_limit`,"),
    };
    Some(Stop::Died {
        component: running.replica.name.clone(),
        why,
        last_lines: running.output.last_lines(),
    })
}

pub(crate) fn unready(running: &Running, waiting: &Waiting) -> Stop {
    let lines = running.output.last_lines();
    let printed = match lines.is_empty() {
        true => "\n  it printed nothing".to_owned(),
        false => format!("\n  its last output:\n    {}", lines.join("\n    ")),
    };
    Stop::no_answer(format!(
        "`{}` did not become ready in {}: {}{printed}",
        running.replica.name,
        running.replica.service.ready_within.in_words(),
        waiting.missing(&running.replica.service)
    ))
}
