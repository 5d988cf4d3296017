//! A program that is run once, beside the components: its own control group and process group, and
//! everything that it leaves running is killed at its end.

use std::process::{Command, Stdio};
use std::sync::mpsc;

use anyhow::Context;
use lab::backend::{Executed, Limits};
use lab::host;
use lab::spec::Run;
use measure::Nanos;
use nix::sys::signal::Signal;

use crate::confine::Group;
use crate::digests::program_of;
use crate::output::{self, LAST_WORDS, in_background};
use crate::process::{self, POLL_EVERY};
use crate::processes::Local;

/// The name of the program's group and of the log of all actions. No component has it: its name
/// begins with a letter or a digit.
const NAME: &str = "_actions";
/// The longest output that is compared with an expectation; the log has more.
const MOST_OUTPUT_BYTES: usize = 1 << 20;

pub(super) fn execute(local: &mut Local, run: &Run) -> Result<Executed, String> {
    let mut started = Started::new(local, run).map_err(|error| format!("{error:#}"))?;
    let ended = started.until_ended(local, *run.timeout);
    // Whatever it left running would disturb the measurement.
    started.process.signal(Signal::SIGKILL);
    started.group.remove();
    started.process.reap();
    let (end, succeeded) = ended?;
    let output = started.stdout.recv_timeout(LAST_WORDS).unwrap_or_default();
    let _ = started.stderr.recv_timeout(LAST_WORDS);
    Ok(Executed {
        end,
        succeeded,
        output: String::from_utf8_lossy(&output).into_owned(),
        last_lines: started.output.last_lines(),
    })
}

struct Started {
    process: process::Process,
    group: Group,
    output: output::Output,
    /// The bytes that it printed, at the end of the stream.
    stdout: mpsc::Receiver<Vec<u8>>,
    stderr: mpsc::Receiver<()>,
}

impl Started {
    fn new(local: &mut Local, run: &Run) -> anyhow::Result<Started> {
        let (name, arguments) = run.command.0.split_first().expect("a command has a program");
        let group = local
            .confinement()
            .group(NAME, None, Limits::default())
            .context("making the control group of an action")?;
        let mut command = Command::new(program_of(name, &local.host, &local.folder_of_spec)?);
        let reveal = |text: &String| local.secrets.reveal(text);
        command.args(arguments.iter().map(reveal));
        command.envs(run.environment.iter().map(|(name, value)| (name, reveal(value))));
        local.in_folder_of_spec(&mut command);
        let mut process = local.spawn(command, &group, None, Stdio::null())?;
        let output = local.output(NAME);
        output.begin();
        let (stdout, stderr) = process.take_output();
        let (sender, bytes) = mpsc::channel();
        let (of_stdout, of_stderr) = (output.clone(), output.of_stderr());
        in_background(move || {
            let _ = sender.send(output::capture(stdout, &of_stdout, MOST_OUTPUT_BYTES));
        });
        let stderr = in_background(move || output::pump(stderr, &of_stderr, None));
        Ok(Started { process, group, output, stdout: bytes, stderr })
    }

    /// Waits for its end; returns it in words, and true if it is a success.
    fn until_ended(&mut self, local: &Local, timeout: Nanos) -> Result<(String, bool), String> {
        let deadline = host::now() + timeout;
        loop {
            if let Some(status) = self.process.ended().map_err(|error| error.to_string())? {
                return Ok((process::end_in_words(status), status.success()));
            }
            if local.host.is_interrupted() {
                return Err("interrupted".to_owned());
            }
            if deadline <= host::now() {
                return Err(format!("did not end in {}", timeout.in_words()));
            }
            self.process.await_end(POLL_EVERY);
        }
    }
}
