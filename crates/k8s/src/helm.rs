//! Releases of charts, by the helm program of the user: what it installs can be seen and changed with
//! the tools that everybody knows.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{self, Command};

use lab::backend::{Chart, Stop};
use measure::Nanos;
use results::{Secrets, secrets};
use serde_json::Value;

#[cfg(test)]
mod tests;

/// The helm program, with the cluster that it uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Helm {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) context: Option<String>,
}

impl Helm {
    /// Returns helm's version; the error says how to get it.
    pub(crate) fn version(&self) -> Result<String, String> {
        self.run(&["version".to_owned(), "--short".to_owned()])
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
        let failed = |why: String| {
            let why = secrets.redact(&why);
            Stop::no_answer(format!("helm could not install `{}`: {why}", chart.release))
        };
        let (chart, files) = hidden(chart, secrets).map_err(|error| failed(error.to_string()))?;
        let mut words = arguments(&chart, namespace, within, affinity);
        for (path, file) in &files {
            words.push(format!("--set-file={path}={}", file.path().display()));
        }
        self.run(&words).map(drop).map_err(failed)
    }

    /// Returns the objects of a release as YAML, without a cluster.
    pub(crate) fn rendered(&self, chart: &Chart, namespace: &str) -> Result<String, String> {
        let folder = chart.folder.display().to_string();
        let words = ["template", &chart.release, &folder, "--namespace", namespace];
        let words = words.into_iter().map(str::to_owned).chain(chart.values());
        self.run(&words.collect::<Vec<_>>())
    }

    /// Removes a release; one that is gone already is no error.
    pub(crate) fn uninstall(&self, release: &str, namespace: &str) -> Result<(), String> {
        let words =
            ["uninstall", release, "--namespace", namespace, "--ignore-not-found", "--wait"];
        self.run(&words.map(str::to_owned)).map(drop)
    }

    /// Runs helm; returns what it printed, or the reason why it failed.
    fn run(&self, words: &[String]) -> Result<String, String> {
        let mut command = Command::new("helm");
        command.args(words);
        if let Some(path) = &self.kubeconfig {
            command.arg("--kubeconfig").arg(path);
        }
        if let Some(context) = &self.context {
            command.args(["--kube-context", context]);
        }
        let output = command.output().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                "the program `helm` is missing; install Helm 3 and put it into PATH".to_owned()
            }
            _ => format!("starting helm: {error}"),
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(reason(&text(&output.stderr)).to_owned()),
        }
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
    let seconds = within.as_secs_f64().ceil() as u64;
    let mut words = vec!["upgrade".to_owned(), "--install".to_owned(), chart.release.clone()];
    words.push(chart.folder.display().to_string());
    words.extend(["--namespace", namespace, "--wait"].map(str::to_owned));
    words.push(format!("--timeout={seconds}s"));
    words.push(format!("--set-json=affinity={affinity}"));
    words.extend(chart.values());
    words
}
