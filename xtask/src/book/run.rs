//! One run of a generator, ours or wrk, and its output.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use measure::{Histogram, Nanos};
use results::{Load, Times};

use crate::bench::machine::{self, Machine, Server, Side};

#[cfg(test)]
mod tests;

/// A stall: the time from the generator's start to its beginning, and its length.
#[derive(Clone, Copy)]
pub(super) struct Stall {
    pub(super) after: Nanos,
    pub(super) length: Nanos,
}

/// The output of `wrk`, or of `benchwright wrk`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Printed {
    pub(super) text: String,
    pub(super) completed_per_s: f64,
    pub(super) max: Nanos,
    /// The levels and values of the distribution.
    pub(super) percentiles: Vec<(f64, Nanos)>,
}

impl Printed {
    /// Returns the time at a level in words.
    pub(super) fn at(&self, level: f64) -> String {
        let found = self.percentiles.iter().find(|(l, _)| (l - level).abs() < 1e-9);
        found.map_or("–".to_owned(), |(_, time)| time.to_string())
    }
}

/// Runs `benchwright load` on the server, and returns its document.
pub(super) fn load(
    machine: &Machine,
    server: &Server,
    arguments: &str,
    stall: Option<Stall>,
) -> Result<Load, String> {
    let mut command = machine.command(Side::Client, &machine.benchwright);
    command.args(["load", &server.url, "--json", "--progress", "never"]);
    command.args(arguments.split_whitespace());
    let output = ended(&mut command, server, stall)?;
    document(&output.stdout)
        .map_err(|error| format!("{error}\n{}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Runs Debian's wrk.
pub(super) fn wrk(
    machine: &Machine,
    server: &Server,
    arguments: &str,
    stall: Option<Stall>,
) -> Result<Printed, String> {
    let mut command = machine.command(Side::Client, "wrk");
    command.args(arguments.split_whitespace()).arg(&server.url);
    printed(&ended(&mut command, server, stall)?)
}

/// Runs benchwright as one of the originals; returns its output and its document.
pub(super) fn as_original(
    machine: &Machine,
    server: &Server,
    name_and_arguments: &str,
    stall: Option<Stall>,
) -> Result<(Output, Load), String> {
    let file = scratch("load.json");
    let mut command = machine.command(Side::Client, &machine.benchwright);
    command.args(name_and_arguments.split_whitespace());
    command.arg(format!("--json={}", file.display())).arg(&server.url);
    let output = ended(&mut command, server, stall)?;
    let document = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok((output, self::document(&document)?))
}

/// Reads the figures from wrk's layout.
pub(super) fn printed(output: &Output) -> Result<Printed, String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    read(&text).ok_or_else(|| {
        format!("this is not wrk's text:\n{text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Returns the path of a file of ours in the system's temporary folder.
pub(super) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("benchwright-book-{}-{name}", std::process::id()))
}

/// Returns the distribution, or an empty one if nothing was measured.
pub(super) fn histogram(times: Option<&Times>) -> Histogram {
    times.and_then(Times::histogram).cloned().unwrap_or_default()
}

/// Returns the failed gates of a load that is not valid, for example `late, disturbed`.
pub(super) fn doubt(load: &Load) -> Option<String> {
    let failed = load.validity.gates.iter().filter(|gate| !gate.passed);
    let names: Vec<String> = failed.map(|gate| gate.name.to_string()).collect();
    (!load.validity.valid).then(|| names.join(", "))
}

fn ended(command: &mut Command, server: &Server, stall: Option<Stall>) -> Result<Output, String> {
    let program = command.get_program().display().to_string();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("starting {program}: {error}"))?;
    if let Some(Stall { after, length }) = stall {
        machine::sleep(after);
        server.pause(length);
    }
    child.wait_with_output().map_err(|error| format!("waiting for {program}: {error}"))
}

fn document(json: &[u8]) -> Result<Load, String> {
    serde_json::from_slice(json).map_err(|error| format!("the generator's document: {error}"))
}

fn read(text: &str) -> Option<Printed> {
    let after = |line: &str| text.lines().find_map(|l| Some(l.trim().strip_prefix(line)?.trim()));
    let percentiles = text.lines().filter_map(|line| {
        let (level, value) = line.trim().split_once('%')?;
        Some((level.parse::<f64>().ok()? / 100.0, time(value.trim())?))
    });
    Some(Printed {
        text: text.to_owned(),
        completed_per_s: after("Requests/sec:")?.parse().ok()?,
        max: time(after("Latency  ")?.split_whitespace().nth(2)?)?,
        percentiles: percentiles.collect(),
    })
}

/// Reads a time as wrk writes it: `1.07ms`.
fn time(text: &str) -> Option<Nanos> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (digits, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    Some(Nanos::from_secs_f64(digits.parse::<f64>().ok()? * unit))
}
