//! Builds and runs the fuzz targets: a nightly compiler that counts which edges an input takes, and
//! libFuzzer, which looks for inputs that take new ones.
//!
//! Inputs that were found stay in the target folder. Only small seeds are part of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask fuzz build
cargo xtask fuzz run --seconds N [TARGET]

  Needs a nightly toolchain and a C++ compiler. Each target, or the one named, runs for so long.
";

/// What the compiler has to add for libFuzzer.
const FLAGS: &str = "\
    --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The one that every input is cut to: no bound of a parser lies beyond it but those of whole files.
const LONGEST_INPUT: u32 = 4096;
/// An input that takes more memory or time has found something.
const MOST_MEMORY_MIB: u32 = 512;
const LONGEST_SECONDS: u32 = 5;

#[derive(Debug, Eq, PartialEq)]
enum Chore<'a> {
    Build,
    Run { seconds: u32, target: Option<&'a str> },
}

/// Does what the words say; `None` if they say nothing.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    let chore = read(words)?;
    let root = repository::root();
    let targets = targets(&root);
    Some(match chore {
        Chore::Build => build(),
        Chore::Run { target: Some(unknown), .. } if !targets.iter().any(|t| t == unknown) => {
            eprintln!("there is no target `{unknown}`; there are {}", targets.join(", "));
            false
        }
        Chore::Run { seconds, target } => {
            let chosen = targets.iter().filter(|name| target.is_none_or(|target| target == *name));
            // A finding in one says nothing of the others.
            let run = || chosen.map(|name| fuzz(&root, name, seconds)).collect::<Vec<_>>();
            build() && run().into_iter().all(|passed| passed)
        }
    })
}

fn read<'a>(words: &[&'a str]) -> Option<Chore<'a>> {
    let chore = |seconds: &str, target| {
        let seconds = seconds.parse().ok().filter(|&seconds| 0 < seconds)?;
        Some(Chore::Run { seconds, target })
    };
    match *words {
        ["build"] => Some(Chore::Build),
        ["run", "--seconds", seconds] => chore(seconds, None),
        ["run", "--seconds", seconds, target] | ["run", target, "--seconds", seconds] => {
            chore(seconds, Some(target))
        }
        _ => None,
    }
}

/// The names of the files in `fuzz/targets`, in order.
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
    // Whoever runs this chore has named another compiler.
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

/// Beside what the other chores build.
fn folder() -> PathBuf {
    repository::target().join("fuzz")
}

/// The machine's name among targets of compilers.
fn host() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}
