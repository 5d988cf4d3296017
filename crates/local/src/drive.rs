//! One load: the generator's process beside the system, watched from outside. Somebody else's
//! generator is in `foreign`.
//!
//! Eight times a second the runner checks that all processes are alive and reads what the generator
//! printed. A second thread watches what the components use (`watch`); nothing is sent to the
//! system itself. Both threads run on the CPUs of the load, which are not measured. If the system has
//! CPUs of its own, one more thread on each measures its speed (`speed`).

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};

use anyhow::anyhow;
use lab::backend::{Consumed, Death, Drive, Driven, Happened, Limits, Machine, Stop, Ticking};
use lab::host;
use lab::spec::generator::in_fields;
use lab::spec::{LOAD, SUT};
use lab::speed::Gauged;
use measure::Nanos;
use nix::sys::signal::Signal;
use results::said::Said;
use results::{Load, Secrets, regular, secrets};

use crate::confine::Group;
use crate::output::{self, LAST_WORDS, Output, in_background};
use crate::process::{self, Process};
use crate::processes::Local;
use crate::replica::{died, lives};
use crate::speed::Gauging;
use crate::watch::{Source, Watching};
use crate::{events, machine};

mod foreign;

/// The interval at which the runner wakes during a measurement: it may share a CPU with what is
/// measured.
const POLL_EVERY: Nanos = Nanos::from_millis(125);
/// The time that a generator may take beyond its phases and the opening of its connections: to
/// start, and to print.
const GRACE: Nanos = Nanos::from_secs(30);
/// The number of its lines that may wait for the runner; beyond them they are left out.
const MOST_LINES: usize = 4096;
/// The number of messages of the generator that are kept.
const MOST_MESSAGES: usize = 20;

pub(super) fn drive(
    local: &mut Local,
    drive: &Drive,
    tick: &mut Ticking<'_>,
) -> Result<Driven, Stop> {
    local.note_members();
    if let Some(made) = &drive.foreign {
        return foreign::drive(local, drive, made);
    }
    let mut command = Command::new(&local.host.benchwright);
    command.args(drive.arguments.words());
    without_variables(&mut command, &local.secrets);
    let input = process::input(&drive.secrets).map_err(Stop::no_answer)?;
    let mut generator =
        Generator::start(local, command, input, regular::MOST).map_err(Stop::NoAnswer)?;
    let mut watch = Watch::begin(local);
    watch.watching.generator(&generator.group, generator.process.id());
    let phases = [drive.opening, drive.warm_up, drive.measure, drive.drain];
    let longest = phases.into_iter().sum::<Nanos>() + GRACE;
    let ended = match watch.until_ended(local, &mut generator, longest, tick) {
        Ok(status) => document(&mut generator, status, watch.end(local), tick),
        Err(stop) => Err(stop),
    };
    generator.end();
    ended
}

/// Removes the variables of secrets from the environment of our generator, which gets those that it
/// needs on its standard input.
pub(super) fn without_variables(command: &mut Command, secrets: &Secrets) {
    for variable in secrets.names().filter_map(|name| name.strip_prefix(secrets::ENV)) {
        command.env_remove(variable);
    }
}

struct Generator {
    process: Process,
    group: Group,
    document: Receiver<Vec<u8>>,
    lines: Receiver<String>,
    _reading: Receiver<()>,
    messages: Vec<String>,
    /// True once it was asked to end early.
    is_ending: bool,
    /// The secrets that its messages must not show.
    secrets: Secrets,
}

impl Generator {
    /// Starts a generator in its group, on the CPUs of the load; keeps at most `most` bytes of what it
    /// prints on stdout.
    fn start(
        local: &mut Local,
        command: Command,
        input: Stdio,
        most: u64,
    ) -> anyhow::Result<Generator> {
        let cpus = local.roles.get(LOAD).cloned();
        let group = local.confinement().group("generator", cpus.as_ref(), Limits::default())?;
        let mut process = local.spawn(command, &group, cpus.as_ref(), input)?;
        let (stdout, stderr) = process.take_output();
        let (document_sender, document) = mpsc::channel();
        in_background(move || {
            let mut bytes = Vec::new();
            // A broken pipe leaves a document that cannot be read, which is reported then.
            let _ = stdout.take(most).read_to_end(&mut bytes);
            let _ = document_sender.send(bytes);
        });
        let (sender, lines) = mpsc::sync_channel(MOST_LINES);
        let to_runner = output::Lines { sender, is_wanted: Box::new(|_| true) };
        let stderr_tail = Output::new(None, Secrets::default());
        let reading = in_background(move || output::pump(stderr, &stderr_tail, Some(&to_runner)));
        let (messages, is_ending, _reading) = (Vec::new(), false, reading);
        let secrets = local.secrets.clone();
        Ok(Generator { process, group, document, lines, _reading, messages, is_ending, secrets })
    }

    /// Handles a line of the generator: progress, or a message.
    fn take_line(&mut self, line: String, tick: &mut Ticking<'_>) {
        match Said::read(&line) {
            Some(Said::Tick(figures)) => {
                if tick(figures).is_continue() || self.is_ending {
                    return;
                }
                // Once only: a second Ctrl-C would end it without its document.
                self.is_ending = true;
                self.process.signal(Signal::SIGINT);
            }
            Some(_) => {}
            None if line.is_empty() => {}
            None => {
                self.messages.push(self.secrets.redact(&line));
                let excess = self.messages.len().saturating_sub(MOST_MESSAGES);
                self.messages.drain(..excess);
            }
        }
    }

    /// Handles the lines that it printed before its end.
    fn take_last_lines(&mut self, tick: &mut Ticking<'_>) {
        while let Ok(line) = self.lines.recv_timeout(LAST_WORDS) {
            self.take_line(line, tick);
        }
    }

    fn messages(&self) -> String {
        match self.messages.is_empty() {
            true => "it printed nothing".to_owned(),
            false => {
                let messages = self.messages.join("\n  ");
                in_fields(messages.trim_start_matches("error: "))
            }
        }
    }

    /// Ends the generator. If it still runs, its measurement is not needed any more.
    fn end(self) {
        self.process.signal(Signal::SIGKILL);
        self.group.remove();
        self.process.reap();
    }
}

/// The watch over the system and the generator's machine while a load is made.
struct Watch {
    /// Keeps this thread on the CPUs of the load.
    _guard: Option<Option<process::AffinityGuard>>,
    watching: Watching,
    gauging: Option<Gauging>,
    deaths: Vec<Death>,
}

/// The observations of a load.
struct Watched {
    consumed: BTreeMap<String, Consumed>,
    deaths: Vec<Death>,
    gauged: Vec<Gauged>,
    machine: Machine,
    events: Vec<Happened>,
}

impl Watch {
    fn begin(local: &Local) -> Watch {
        let sources: Vec<Source> = local.running.iter().map(|r| r.source.clone()).collect();
        let roles = machine::shares(&local.roles, !sources.is_empty());
        Watch {
            _guard: local.roles.get(LOAD).map(process::AffinityGuard::new),
            watching: Watching::begin(sources, roles),
            // A system without CPUs of its own may be anywhere: the speed of an idle CPU is not its
            // speed.
            gauging: local.roles.get(SUT).map(Gauging::begin),
            deaths: Vec::new(),
        }
    }

    /// Watches until the generator ends by itself.
    fn until_ended(
        &mut self,
        local: &mut Local,
        generator: &mut Generator,
        longest: Nanos,
        tick: &mut Ticking<'_>,
    ) -> Result<ExitStatus, Stop> {
        let begun = host::now();
        loop {
            let next = host::now() + POLL_EVERY;
            while let Ok(line) = generator.lines.try_recv() {
                generator.take_line(line, tick);
            }
            local.host.check_load()?;
            // The generator is checked first: whatever died before its end is known then.
            let ended = generator.process.ended().map_err(Stop::no_answer)?;
            record_deaths(local, &mut self.deaths)?;
            process::reap_orphans();
            if let Some(status) = ended {
                return Ok(status);
            }
            if longest < host::now() - begun {
                let cause = format!("the generator did not end in {longest}");
                return Err(Stop::Disturbed { cause });
            }
            // The end of the generator is noticed at once: our sleep does not make a trial longer.
            generator.process.await_end(next.saturating_since(host::now()).into());
        }
    }

    fn end(self, local: &Local) -> Watched {
        let Watch { watching, gauging, deaths, .. } = self;
        let (consumed, machine) = watching.end();
        let gauged = gauging.map(Gauging::end).unwrap_or_default();
        Watched { consumed, deaths, gauged, machine, events: written(local) }
    }
}

/// Returns the unusual states that the components wrote down.
fn written(local: &Local) -> Vec<Happened> {
    let sources = || local.running.iter().map(|running| &running.source);
    let named =
        |source: &Source| Some((format!("127.0.0.1:{}", source.port?), source.name.clone()));
    let names = sources().filter_map(named).collect();
    let files = sources().filter_map(|source| source.statistics.as_deref());
    files.flat_map(|statistics| events::written(statistics, &names)).collect()
}

/// Records the components that died; the death of the last one of a service ends the load.
fn record_deaths(local: &mut Local, deaths: &mut Vec<Death>) -> Result<(), Stop> {
    for index in 0..local.running.len() {
        let name = &local.running[index].replica.name;
        if deaths.iter().any(|death| death.component == *name) {
            continue;
        }
        let Some(stop) = died(&local.running[index]) else { continue };
        let service = local.running[index].replica.service.name.clone();
        match (stop, local.replicas_of(&service).into_iter().any(lives)) {
            (Stop::Died { component, why, last_lines }, true) => {
                deaths.push(Death { component, at: host::now(), why, last_lines });
            }
            (stop, _) => return Err(stop),
        }
    }
    Ok(())
}

/// Returns the measurement, if there was one: valid or not, saturated or not.
fn document(
    generator: &mut Generator,
    status: ExitStatus,
    watched: Watched,
    tick: &mut Ticking<'_>,
) -> Result<Driven, Stop> {
    let Watched { consumed, deaths, gauged, machine, events } = watched;
    generator.take_last_lines(tick);
    let bytes = generator.document.recv_timeout(LAST_WORDS).unwrap_or_default();
    let is_expected = |code| matches!(code, 0 | 1 | 3) || code == 130 && generator.is_ending;
    match status.code() {
        Some(2) => Err(Stop::Question(anyhow!("the generator refuses: {}", generator.messages()))),
        Some(code) if is_expected(code) && !bytes.trim_ascii().is_empty() => {
            match Load::read(&bytes) {
                Ok(load) => {
                    let parts = Vec::new();
                    Ok(Driven { load, parts, consumed, deaths, gauged, machine, events })
                }
                Err(why) => Err(Stop::no_answer(format!("the generator: {why}"))),
            }
        }
        Some(130) => {
            let cause = "the generator was interrupted by another process, or by the limit of CPU time (`ulimit -t`)";
            Err(Stop::Disturbed { cause: cause.to_owned() })
        }
        code => {
            let end = process::end_in_words(status);
            let cause = format!("the generator {end}: {}", generator.messages());
            match code {
                // It was killed: by a lack of memory, or by hand.
                None => Err(Stop::Disturbed { cause }),
                Some(_) => Err(Stop::no_answer(cause)),
            }
        }
    }
}
