//! One load: the generator's process beside the system, watched from outside.
//!
//! Eight times a second the runner looks whether everybody is alive and reads what the generator
//! said meanwhile, and beside it a thread keeps watch over what the components use (`watch`); the
//! system itself is not talked to. Both keep to the CPUs of the load, which are not measured.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver};

use anyhow::anyhow;
use measure::Nanos;
use nix::sys::signal::Signal;
use results::Load;

use super::output::Output;
use super::process::Process;
use super::watch::Watching;
use super::{Limits, Local, died, in_background, lives, process, start};
use crate::backend::{Consumed, Death, Drive, Driven, Stop, Tick};
use crate::host;

/// How often the runner wakes while a trial measures: it may share a CPU with what is measured.
const POLL_EVERY: Nanos = Nanos::from_millis(125);
/// How much longer than its phases a generator may take: to connect, and to print.
const GRACE: Nanos = Nanos::from_secs(30);
/// A document is larger only if something is wrong.
const MOST_DOCUMENT_BYTES: u64 = 256 << 20;
/// How many messages of the generator are kept.
const MOST_MESSAGES: usize = 20;

pub(super) fn drive(
    local: &mut Local,
    drive: &Drive,
    tick: &mut dyn FnMut(Tick),
) -> Result<Driven, Stop> {
    let mut generator = Generator::start(local, drive).map_err(Stop::NoAnswer)?;
    let watched = watch(local, &mut generator, drive, tick);
    let ended = match watched {
        Ok(watched) => document(&mut generator, watched),
        Err(stop) => Err(stop),
    };
    generator.end();
    ended
}

struct Generator {
    process: Process,
    group: super::Group,
    document: Receiver<Vec<u8>>,
    lines: Receiver<String>,
    _reading: Receiver<()>,
    messages: Vec<String>,
}

impl Generator {
    fn start(local: &mut Local, drive: &Drive) -> anyhow::Result<Generator> {
        let cpus = local.roles.get("load").cloned();
        let group = local.confinement().group("generator", cpus.as_ref(), Limits::default())?;
        let mut command = Command::new(&local.host.benchwright);
        command.args(&drive.arguments).env("TMPDIR", local.folder.make()?);
        let mut process = start(command, &group, cpus.as_ref())?;
        let (stdout, stderr) = process.take_output();
        let (document_sender, document) = mpsc::channel();
        in_background(move || {
            let mut bytes = Vec::new();
            // A pipe that breaks leaves a document that cannot be read, which is then said.
            let _ = stdout.take(MOST_DOCUMENT_BYTES).read_to_end(&mut bytes);
            let _ = document_sender.send(bytes);
        });
        let (line_sender, lines) = mpsc::channel();
        let unkept = Output::new(None);
        let reading =
            in_background(move || super::output::pump(stderr, &unkept, Some(&line_sender)));
        Ok(Generator { process, group, document, lines, _reading: reading, messages: Vec::new() })
    }

    /// A line of progress, or a message.
    fn heard(&mut self, line: String, tick: &mut dyn FnMut(Tick)) {
        match serde_json::from_str::<Tick>(&line) {
            Ok(figures) => tick(figures),
            Err(_) if line.is_empty() => {}
            Err(_) => {
                self.messages.push(line);
                let excess = self.messages.len().saturating_sub(MOST_MESSAGES);
                self.messages.drain(..excess);
            }
        }
    }

    fn said(&self) -> String {
        match self.messages.is_empty() {
            true => "it said nothing".to_owned(),
            false => self.messages.join("\n  ").trim_start_matches("error: ").to_owned(),
        }
    }

    /// Nothing of what it measured is wanted any more, if it is still running.
    fn end(self) {
        self.process.signal(Signal::SIGKILL);
        self.group.remove();
        self.process.reap();
    }
}

/// What was seen of a load until the generator ended.
struct Watched {
    status: ExitStatus,
    consumed: BTreeMap<String, Consumed>,
    deaths: Vec<Death>,
}

/// Watches until the generator ends by itself.
fn watch(
    local: &mut Local,
    generator: &mut Generator,
    drive: &Drive,
    tick: &mut dyn FnMut(Tick),
) -> Result<Watched, Stop> {
    let begun = host::now();
    let longest: Nanos = [drive.warm_up, drive.measure, drive.drain, GRACE].into_iter().sum();
    let _guard = local.roles.get("load").map(process::AffinityGuard::new);
    let watching = Watching::begin(local.running.iter().map(|r| r.source.clone()).collect());
    let mut deaths = Vec::new();
    loop {
        let next = host::now() + POLL_EVERY;
        while let Ok(line) = generator.lines.try_recv() {
            generator.heard(line, tick);
        }
        if local.host.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        // The generator is asked first: whatever died before its end is known then.
        let ended = generator.process.ended().map_err(Stop::no_answer)?;
        record_deaths(local, &mut deaths)?;
        if let Some(status) = ended {
            let consumed = watching.end();
            while let Ok(line) = generator.lines.recv_timeout(super::LAST_WORDS) {
                generator.heard(line, tick);
            }
            return Ok(Watched { status, consumed, deaths });
        }
        if longest < host::now() - begun {
            return Err(Stop::no_answer(format!("the generator did not end in {longest}")));
        }
        // A generator that ends is noticed at once: no trial is longer for our being asleep.
        generator.process.await_end(next.saturating_since(host::now()).into());
    }
}

/// Notes who has died; the last of a service takes the load with it.
fn record_deaths(local: &mut Local, deaths: &mut Vec<Death>) -> Result<(), Stop> {
    for index in 0..local.running.len() {
        let name = &local.running[index].name;
        if deaths.iter().any(|death| death.component == *name) {
            continue;
        }
        let Some(stop) = died(&local.running[index]) else { continue };
        let service = local.running[index].service.clone();
        let mut others = local.running.iter().filter(|running| running.service == service);
        match (stop, others.any(lives)) {
            (Stop::Died { component, why, last_lines }, true) => {
                deaths.push(Death { component, at: host::now(), why, last_lines });
            }
            (stop, _) => return Err(stop),
        }
    }
    Ok(())
}

/// The measurement, if there was one: valid or not, saturated or not.
fn document(generator: &mut Generator, watched: Watched) -> Result<Driven, Stop> {
    let Watched { status, consumed, deaths } = watched;
    let bytes = generator.document.recv_timeout(super::LAST_WORDS).unwrap_or_default();
    match status.code() {
        Some(2) => Err(Stop::Question(anyhow!("the generator refuses: {}", generator.said()))),
        Some(0 | 1 | 3) if !bytes.trim_ascii().is_empty() => match Load::read(&bytes) {
            Ok(load) => Ok(Driven { load, consumed, deaths }),
            Err(why) => Err(Stop::no_answer(format!("the generator: {why}"))),
        },
        Some(130) => Err(Stop::no_answer("the generator was interrupted by somebody else")),
        _ => {
            let end = process::end_in_words(status);
            Err(Stop::no_answer(format!("the generator {end}: {}", generator.said())))
        }
    }
}
