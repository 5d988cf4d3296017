//! The brokers of the event channel that no distribution has: NATS, built by Go, and Apache Kafka from
//! its published jars. Their versions are pinned, with the hashes of everything that is downloaded.
//! Redis is a package of the distribution.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::{repository, tools};

#[cfg(test)]
mod tests;

/// The folder with the lists of what is needed.
const LISTS: &str = "xtask/src/brokers";
const SERVER: &str = "github.com/nats-io/nats-server/v2";

/// Pins Maven's plugin as well: its default version changes with Maven.
pub(crate) const COPY: &str =
    "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

/// Installs what is missing, and says how to use it.
pub(crate) fn run() -> bool {
    tools::install_packages(&["redis-server", "maven"]);
    if !is_there() {
        install();
    }
    let is_there = is_there();
    let folder = folder();
    if is_there {
        println!("NATS   {}", folder.join("nats-server").display());
        println!("Kafka  {}/*  (a class path for Java 17)", folder.join("kafka").display());
        println!("They are where profile `brokers` of experiments/channel.yaml expects them.");
    }
    is_there
}

/// Returns true if both are installed as listed.
pub(crate) fn is_there() -> bool {
    has_nats(&folder()) && unlisted(&folder().join("kafka"), &sums()).is_empty()
}

/// Installs them; `is_there` shows whether that succeeded.
pub(crate) fn install() {
    let folder = folder();
    println!("installing NATS and Apache Kafka into {}", folder.display());
    if !has_nats(&folder) {
        let mut go = Command::new("go");
        go.args(["build", "-mod=readonly", "-buildvcs=false", "-o"])
            .arg(folder.join("nats-server"));
        let built = repository::succeeds(go.arg(SERVER).current_dir(lists()));
        // Copied last, so that what was not built does not count.
        if built && fs::copy(lists().join("go.sum"), folder.join("go.sum")).is_err() {
            println!("error: {} cannot be written", folder.display());
        }
    }
    let jars = folder.join("kafka");
    if unlisted(&jars, &sums()).is_empty() {
        return;
    }
    // Jars of another version would be on the class path, too.
    let _ = fs::remove_dir_all(&jars);
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--quiet", COPY, "-DincludeScope=runtime", "--file"]);
    maven.arg(lists().join("pom.xml")).arg(format!("-DoutputDirectory={}", jars.display()));
    repository::succeeds(&mut maven);
    let wrong = unlisted(&jars, &sums());
    if !wrong.is_empty() {
        println!("error: not as in {LISTS}/kafka.sha256: {}", wrong.join(", "));
        // Nobody may run them.
        let _ = fs::remove_dir_all(&jars);
    }
}

fn has_nats(folder: &Path) -> bool {
    folder.join("nats-server").is_file()
        && repository::are_equal(&folder.join("go.sum"), &lists().join("go.sum"))
}

/// Returns the names of jars that are missing, of another content, or not in the list of hashes.
pub(crate) fn unlisted(folder: &Path, sums: &str) -> Vec<String> {
    let listed: Vec<(&str, &str)> = sums.lines().filter_map(|line| line.split_once("  ")).collect();
    let differs = |(sum, name): &&(&str, &str)| {
        let bytes = fs::read(folder.join(name)).unwrap_or_default();
        let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        hex != *sum
    };
    let mut wrong: Vec<String> =
        listed.iter().filter(differs).map(|(_, name)| (*name).to_owned()).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !listed.iter().any(|(_, one)| *one == name) {
            wrong.push(name);
        }
    }
    wrong
}

fn sums() -> String {
    fs::read_to_string(lists().join("kafka.sha256")).unwrap_or_default()
}

fn lists() -> PathBuf {
    repository::root().join(LISTS)
}

/// Returns the folder in which tests and experiments search for them.
fn folder() -> PathBuf {
    repository::target().join("brokers")
}
