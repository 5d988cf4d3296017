//! Builds and runs the fuzz targets, with a nightly compiler that counts the edges that an input
//! covers, and libFuzzer, which searches for inputs that cover new ones.
//!
//! The inputs that it finds stay in the target folder. Only small seeds are in the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask fuzz build
cargo xtask fuzz run --seconds N [TARGET]

  Needs a nightly toolchain and a C++ compiler. Each target, or the named one, runs for N seconds.
";

/// The compiler's flags for libFuzzer.
const FLAGS: &str = "\
    --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The longest input: only bounds of whole files are beyond it.
const LONGEST_INPUT: u32 = 4096;
/// The most memory and time of an input; one that takes more is a finding.
const MOST_MEMORY_MIB: u32 = 512;
const LONGEST_SECONDS: u32 = 5;

#[derive(Debug, Eq, PartialEq)]
enum Task<'a> {
    Build,
    Run { seconds: u32, target: Option<&'a str> },
}

/// Runs the task that the words name; returns `None` if they name none.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    let task = read(words)?;
    let root = repository::root();
    let targets = targets(&root);
    Some(match task {
        Task::Build => build(),
        Task::Run { target: Some(unknown), .. } if !targets.iter().any(|t| t == unknown) => {
            eprintln!("there is no target `{unknown}`; there are {}", targets.join(", "));
            false
        }
        Task::Run { seconds, target } => {
            let chosen = targets.iter().filter(|name| target.is_none_or(|target| target == *name));
            // All targets run, even after a finding in one.
            let run = || chosen.map(|name| fuzz(&root, name, seconds)).collect::<Vec<_>>();
            build() && run().into_iter().all(|passed| passed)
        }
    })
}

fn read<'a>(words: &[&'a str]) -> Option<Task<'a>> {
    let task = |seconds: &str, target| {
        let seconds = seconds.parse().ok().filter(|&seconds| 0 < seconds)?;
        Some(Task::Run { seconds, target })
    };
    match *words {
        ["build"] => Some(Task::Build),
        ["run", "--seconds", seconds] => task(seconds, None),
        ["run", "--seconds", seconds, target] | ["run", target, "--seconds", seconds] => {
            task(seconds, Some(target))
        }
        _ => None,
    }
}

/// Returns the names of the files in `fuzz/targets`, in order.
fn targets(root: &Path) -> Vec<String> {
    let folder = fs::read_dir(root.join("fuzz/targets")).into_iter().flatten().flatten();
    let names = folder.filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn build() -> bool {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "build", "--release", "--locked"]);
    // With the target named, the flags are not those of build scripts.
    command.args(["--manifest-path", "fuzz/Cargo.toml", "--target", &host()]);
    command.current_dir(repository::root()).env("CARGO_TARGET_DIR", folder());
    command.env("RUSTFLAGS", FLAGS);
    // The cargo that runs this task has set another compiler.
    for name in ["RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(name);
    }
    repository::succeeds(&mut command)
}

fn fuzz(root: &Path, name: &str, seconds: u32) -> bool {
    println!("\n── {name}");
    let [corpus, findings] = ["corpus", "findings"].map(|kind| folder().join(kind).join(name));
    if let Err(error) = fs::create_dir_all(&corpus).and(fs::create_dir_all(&findings)) {
        eprintln!("error: making {}: {error}", corpus.display());
        return false;
    }
    let mut command = Command::new(folder().join(host()).join("release").join(name));
    command.arg(corpus).arg(root.join("fuzz/corpus").join(name));
    command.arg(format!("-artifact_prefix={}/", findings.display()));
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-max_len={LONGEST_INPUT}"));
    command.arg(format!("-rss_limit_mb={MOST_MEMORY_MIB}"));
    command.arg(format!("-timeout={LONGEST_SECONDS}"));
    command.args(["-print_final_stats=1", "-verbosity=0"]);
    let passed = repository::succeeds(&mut command);
    println!("{name}: {}", if passed { "clean" } else { "FOUND SOMETHING" });
    passed
}

/// Returns the folder of fuzz builds, apart from those of other tasks.
fn folder() -> PathBuf {
    repository::target().join("fuzz")
}

/// Returns this machine's target triple.
fn host() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}
