//! Releases of charts, by the helm program of the user: what it installs can be seen and changed with
//! the tools that everybody knows.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::backend::{Chart, Stop};
use local::helper::{self, Answer, Bounds, Unanswered};
use measure::Nanos;
use results::regular::MOST_OF_SHORT;
use results::{Secrets, secrets};
use serde_json::Value;

use crate::api::Error;

#[cfg(test)]
mod tests;

/// The longest time for what needs no cluster: the version, the objects of a chart.
const SOON: Nanos = Nanos::from_secs(60);
/// The number of times that an installation may take the time that it was told: helm counts it anew for each hook of a
/// chart, and for its objects.
const STEPS: u64 = 4;
/// The time that a removal may take by what helm is told.
const REMOVED_WITHIN: Nanos = Nanos::from_secs(300);
/// The time that helm may take beyond what it was told.
const GRACE: Nanos = Nanos::from_secs(60);
/// The most bytes of the objects of a chart.
const MOST_OF_OBJECTS: usize = MOST_OF_SHORT as usize;

/// The helm program, with the cluster that it uses.
#[derive(Clone, Debug)]
pub(crate) struct Helm {
    program: PathBuf,
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    /// Set to interrupt the run, which ends helm too.
    interrupted: Arc<AtomicBool>,
}

/// The effect of an interruption on the removal of a release.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Interruption {
    /// Ends it: what is left is still noted on the cluster, for a later removal.
    Ends,
    /// None: this removal is the end of an interrupted run.
    Waits,
}

impl Helm {
    pub(crate) fn new(
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
        interrupted: Arc<AtomicBool>,
    ) -> Helm {
        Helm { program: PathBuf::from("helm"), kubeconfig, context, interrupted }
    }

    /// Returns helm's version; the error says how to get it.
    pub(crate) fn version(&self) -> Result<String, Error> {
        let words = ["version", "--short"].map(str::to_owned);
        let printed = self.ask(&words, short(SOON), &self.interrupted)?;
        Ok(text(&printed))
    }

    /// Installs a release, or changes it to these values, and waits until it is ready.
    pub(crate) fn install(
        &self,
        chart: &Chart,
        namespace: &str,
        within: Nanos,
        affinity: &Value,
        secrets: &Secrets,
    ) -> Result<(), Stop> {
        let failed = |error: Error| match error {
            Error::Helm(why) => {
                let why = secrets.redact(&why);
                Stop::no_answer(format!("helm could not install `{}`: {why}", chart.release))
            }
            other => other.into_stop(),
        };
        let (shown, files) =
            hidden(chart, secrets).map_err(|error| failed(Error::Helm(error.to_string())))?;
        let mut words = arguments(&shown, namespace, within, affinity);
        for (path, file) in &files {
            words.push(format!("--set-file={path}={}", file.path().display()));
        }
        let bounds = short(within * STEPS + GRACE);
        self.ask(&words, bounds, &self.interrupted).map(drop).map_err(failed)
    }

    /// Returns the objects of a release as YAML, without a cluster.
    pub(crate) fn rendered(&self, chart: &Chart, namespace: &str) -> Result<String, String> {
        let folder = chart.folder.display().to_string();
        let words = ["template", &chart.release, &folder, "--namespace", namespace];
        let words = words.into_iter().map(str::to_owned).chain(chart.values());
        let words = words.collect::<Vec<_>>();
        let bounds = Bounds { longest: SOON, most: MOST_OF_OBJECTS };
        let printed = self.ask(&words, bounds, &self.interrupted).map_err(|error| match error {
            Error::Helm(why) => why,
            other => other.to_string(),
        })?;
        match printed.len() < MOST_OF_OBJECTS {
            true => Ok(text(&printed)),
            false => Err(format!("its objects have {} MiB or more", MOST_OF_OBJECTS >> 20)),
        }
    }

    /// Removes a release; one that is gone already is no error.
    pub(crate) fn uninstall(
        &self,
        release: &str,
        namespace: &str,
        interruption: Interruption,
    ) -> Result<(), Error> {
        let timeout = format!("--timeout={}s", seconds(REMOVED_WITHIN));
        let words = [
            "uninstall",
            release,
            "--namespace",
            namespace,
            "--ignore-not-found",
            "--wait",
            &timeout,
        ];
        let words = words.map(str::to_owned);
        let never = AtomicBool::new(false);
        let interrupted = match interruption {
            Interruption::Ends => &*self.interrupted,
            Interruption::Waits => &never,
        };
        self.ask(&words, short(REMOVED_WITHIN + GRACE), interrupted).map(drop)
    }

    /// Runs helm to its end, which comes within its bounds and at an interruption; returns the last that it printed, or
    /// the reason why it failed.
    fn ask(
        &self,
        words: &[String],
        bounds: Bounds,
        interrupted: &AtomicBool,
    ) -> Result<Vec<u8>, Error> {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null());
        if let Some(path) = &self.kubeconfig {
            command.arg("--kubeconfig").arg(path);
        }
        if let Some(context) = &self.context {
            command.args(["--kube-context", context]);
        }
        match helper::ask_within(command, bounds, interrupted) {
            Ok(answer) if answer.status.success() => Ok(answer.stdout),
            Ok(answer) => Err(Error::Helm(why(&answer))),
            Err(Unanswered::Interrupted) => Err(Error::Interrupted),
            Err(Unanswered::Late) => {
                Err(Error::Helm(format!("it did not end in {}", bounds.longest.in_words())))
            }
            Err(Unanswered::NotStarted(error)) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::Helm(
                    "the program `helm` is missing; install Helm 3 and put it into PATH".to_owned(),
                ))
            }
            Err(Unanswered::NotStarted(error)) => Err(Error::Helm(error.to_string())),
        }
    }
}

/// Returns the bounds of a call that prints messages alone.
fn short(longest: Nanos) -> Bounds {
    Bounds { longest, most: helper::MOST }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Returns the reason of a failure: the last that helm said. Where the beginning is missing, so is the rest of its
/// line: a part of a secret would not be found in it.
fn why(answer: &Answer) -> String {
    let said = &answer.stderr;
    let last = match said.len() < helper::MOST {
        true => &said[..],
        false => {
            let last = &said[said.len() - helper::MOST..];
            let end_of_line = last.iter().position(|byte| *byte == b'\n');
            end_of_line.map(|at| &last[at + 1..]).unwrap_or_default()
        }
    };
    match text(last) {
        messages if messages.is_empty() => format!("it failed ({})", answer.status),
        messages => reason(&messages).to_owned(),
    }
}

/// Returns the error among helm's messages. It comes after warnings, such as one for each link in a
/// chart.
fn reason(messages: &str) -> &str {
    messages.split_once("Error: ").map_or(messages, |(_, error)| error)
}

/// A file without a name, which only we and what we start can read: nobody can guess it, and it ends with us in any case.
struct PrivateFile(File);

impl PrivateFile {
    fn write(text: &str) -> io::Result<PrivateFile> {
        let mut file = tempfile::tempfile()?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        Ok(PrivateFile(file))
    }

    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", process::id(), self.0.as_raw_fd()).into()
    }
}

/// Returns a chart without the values that have secrets, and these as files, by the path of the value:
/// everybody can read a command.
fn hidden(chart: &Chart, secrets: &Secrets) -> io::Result<(Chart, Vec<(String, PrivateFile)>)> {
    let mut chart = chart.clone();
    let mut files = Vec::new();
    for (path, value) in std::mem::take(&mut chart.set) {
        match value.as_str().filter(|text| secrets::references(text).next().is_some()) {
            None => drop(chart.set.insert(path, value)),
            Some(text) => {
                files.push((path, PrivateFile::write(&secrets.reveal(text))?));
            }
        }
    }
    Ok((chart, files))
}

/// Returns the arguments of an installation, which may be repeated. A value of the spec comes after
/// ours, and so wins.
fn arguments(chart: &Chart, namespace: &str, within: Nanos, affinity: &Value) -> Vec<String> {
    let seconds = seconds(within);
    let mut words = vec!["upgrade".to_owned(), "--install".to_owned(), chart.release.clone()];
    words.push(chart.folder.display().to_string());
    words.extend(["--namespace", namespace, "--wait"].map(str::to_owned));
    words.push(format!("--timeout={seconds}s"));
    words.push(format!("--set-json=affinity={affinity}"));
    words.extend(chart.values());
    words
}

/// Returns a length in whole seconds, at least as long.
fn seconds(length: Nanos) -> u64 {
    length.as_secs_f64().ceil() as u64
}
