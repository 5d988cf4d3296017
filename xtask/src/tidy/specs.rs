//! The check that every shipped spec can be planned, without a profile and with each of its
//! profiles.

use std::process::Output;

use super::Finding;
use super::tree::{File, Tree};
use crate::programs::Build;

/// Calls `plan` for each spec and profile; it returns the error message if it refuses the spec.
pub(super) fn check(
    tree: &Tree,
    plan: impl Fn(&str, Option<&str>) -> Result<(), String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for spec in tree.files().iter().filter(|file| is_spec(file)) {
        let profiles = profiles(&spec.text).into_iter().map(Some);
        for profile in [None].into_iter().chain(profiles) {
            if let Err(message) = plan(&spec.path, profile) {
                let with = profile.map_or(String::new(), |name| format!(" with profile {name}"));
                findings.push(Finding::new(&spec.path, format!("does not plan{with}:\n{message}")));
            }
        }
    }
    findings
}

/// Builds the programs.
pub(super) fn build() -> bool {
    Build::Tests.make()
}

/// Runs `benchwright plan` of that build.
pub(super) fn plan(spec: &str, profile: Option<&str>) -> Result<(), String> {
    let mut command = Build::Tests.command("benchwright")?;
    command.args(["plan", spec]);
    command.args(profile.iter().flat_map(|name| ["--profile", name]));
    let message = |output: Output| String::from_utf8_lossy(&output.stderr).into_owned();
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(message(output)),
        Err(error) => Err(error.to_string()),
    }
}

fn is_spec(file: &File) -> bool {
    file.path.starts_with("experiments/") && file.path.ends_with(".yaml")
}

/// Returns the keys directly below `profiles:`, which are indented like the first one.
fn profiles(spec: &str) -> Vec<&str> {
    let mut lines = spec.lines().skip_while(|line| !line.starts_with("profiles:")).skip(1);
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let inside: Vec<&str> =
        lines.by_ref().filter(is_content).take_while(|line| line.starts_with(' ')).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = inside.first().map_or(0, |line| indent(line));
    let keys = inside.into_iter().filter(|line| indent(line) == depth);
    keys.filter_map(|line| line.trim().split(':').next()).collect()
}
