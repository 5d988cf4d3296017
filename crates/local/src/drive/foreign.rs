//! A load that somebody else's generator makes: its process runs where ours would. The warm-up is a
//! run of its own, since its output tells nothing of a part of a run.

use std::ops::ControlFlow;
use std::process::{Command, Stdio};

use lab::backend::{Drive, Driven, Stop};
use lab::host;
use lab::spec::generator::ForeignLoad;
use measure::Nanos;

use super::{GRACE, Generator, POLL_EVERY, Watch, Watched};
use crate::digests::program_of;
use crate::output::{self, LAST_WORDS};
use crate::processes::Local;
use crate::{foreign_generator, process};

/// A longer output is not a summary.
const MOST_OUTPUT_BYTES: u64 = 4 << 20;

pub(super) fn drive(local: &mut Local, drive: &Drive, made: &ForeignLoad) -> Result<Driven, Stop> {
    let mut watch = Watch::begin(local);
    // The use of resources is known from the first look on, which is before the measurement.
    local.host.pause(POLL_EVERY)?;
    let begin = host::now();
    if let Some(command) = &made.warm_up {
        run(local, command, drive.warm_up + drive.drain, &mut watch)?;
    }
    let started = host::now();
    let output = run(local, &made.command, drive.measure + drive.drain, &mut watch)?;
    let ended = host::now();
    let Watched { consumed, deaths, gauged, machine, events } = watch.end(local);
    let load = foreign_generator::document(drive, made, &output, (begin, started, ended));
    let load = load.map_err(|why| Stop::Disturbed {
        cause: format!(
            "the output of {} cannot be read: {why}{}",
            program(made),
            last(local, &output)
        ),
    })?;
    Ok(Driven { load, parts: Vec::new(), consumed, deaths, gauged, machine, events })
}

/// Runs the generator to its end; returns what it printed on stdout.
fn run(
    local: &mut Local,
    words: &[String],
    longest: Nanos,
    watch: &mut Watch,
) -> Result<String, Stop> {
    let (name, arguments) = words.split_first().expect("a command has a program");
    let program = program_of(name, &local.host, &local.folder_of_spec).map_err(Stop::NoAnswer)?;
    let mut command = Command::new(program);
    command.args(arguments.iter().map(|word| local.secrets.reveal(word)));
    local.in_folder_of_spec(&mut command);
    let mut generator = Generator::start(local, command, Stdio::null(), MOST_OUTPUT_BYTES)
        .map_err(Stop::NoAnswer)?;
    let (group, pid) = (generator.group.clone(), generator.process.id());
    watch.watching.generator(&group, pid);
    let tick = &mut |_| ControlFlow::Continue(());
    let ended = watch.until_ended(local, &mut generator, longest + GRACE, tick);
    let ended = ended.and_then(|status| {
        generator.take_last_lines(tick);
        let output = generator.document.recv_timeout(LAST_WORDS).unwrap_or_default();
        let output = String::from_utf8_lossy(&output).into_owned();
        match status.success() {
            true => Ok(output),
            false => {
                let end = process::end_in_words(status);
                let said = if generator.messages.is_empty() {
                    last(local, &output)
                } else {
                    format!("\n  {}", generator.messages())
                };
                Err(Stop::Disturbed { cause: format!("{name} {end}{said}") })
            }
        }
    });
    watch.watching.end_generator(&group, pid);
    generator.end();
    ended
}

fn program(made: &ForeignLoad) -> &str {
    made.command.first().map_or("the generator", String::as_str)
}

/// Returns the last lines of an output, each after a line break, without secrets.
fn last(local: &Local, output: &str) -> String {
    let lines = output::last_lines(&local.secrets.redact(output));
    match lines.is_empty() {
        true => "\n  it printed nothing".to_owned(),
        false => lines.iter().map(|line| format!("\n  {line}")).collect(),
    }
}
