//! The load generators that ours is compared with: the source of each, its fastest mode, and the
//! reading of its completed requests.
//!
//! Only benches need them; continuous integration uses the distribution's ones only. They are
//! installed into the target folder, one folder for each version.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::{repository, tools};

pub(crate) mod ycsb;

#[cfg(test)]
mod tests;

pub(crate) struct Peer {
    pub(crate) name: &'static str,
    source: Source,
    /// The arguments of a closed loop, with the placeholders `{url}`, `{connections}`, `{seconds}`,
    /// `{scratch}` (a folder) and `{root}` (the repository).
    pub(crate) load: &'static str,
    /// The text for its standard input.
    pub(crate) stdin: &'static str,
    /// The arguments of a second call that prints the results, if the first one does not.
    pub(crate) report: Option<&'static str>,
    /// Reads the number of responses with status 200 from its output.
    pub(crate) completed: fn(&str) -> Option<f64>,
}

enum Source {
    /// A package that the tests also need.
    Debian,
    Cargo {
        version: &'static str,
    },
    /// A package of a module with the same path.
    Go {
        module: &'static str,
        version: &'static str,
    },
    /// No registry has it; it may be in a folder of `PATH`.
    Nowhere,
}

pub(crate) const WRK: Peer = Peer {
    name: "wrk",
    source: Source::Debian,
    load: "-t1 -c {connections} -d {seconds} {url}",
    stdin: "",
    report: None,
    completed: in_words,
};

/// wrk with the mixed workload of guide 1, as in our own experiments.
pub(crate) const WRK_WITH_SCRIPT: Peer = Peer {
    load: "-t1 -c {connections} -d {seconds} -s {root}/experiments/hotel-mixed.lua {url}",
    ..WRK
};

pub(crate) const WRK2: Peer = Peer {
    name: "wrk2",
    source: Source::Nowhere,
    load: "-t1 -c {connections} -d {seconds} -R 50000 {url}",
    ..WRK
};

/// oha without its screen and without a rate, which is its fastest mode according to its manual.
pub(crate) const OHA: Peer = Peer {
    name: "oha",
    source: Source::Cargo { version: "1.16.0" },
    load: "--no-tui --worker-threads 1 --disable-compression --output-format json \
           -z {seconds}s -c {connections} {url}",
    stdin: "",
    report: None,
    completed: |output| json(output, "/statusCodeDistribution/200"),
};

/// k6 as its guide to large tests recommends: without bodies and thresholds.
pub(crate) const K6: Peer = Peer {
    name: "k6",
    source: Source::Go { module: "go.k6.io/k6", version: "v1.8.1" },
    load: "run --quiet --no-usage-report --no-thresholds --discard-response-bodies \
           --address= --vus {connections} --duration {seconds}s --env URL={url} \
           {root}/xtask/src/bench/k6.js",
    stdin: "",
    report: None,
    completed: |output| json(output, "/completed"),
};

/// vegeta with a rate of 0: as fast as its workers can.
pub(crate) const VEGETA: Peer = Peer {
    name: "vegeta",
    source: Source::Go { module: "github.com/tsenart/vegeta/v12", version: "v12.13.0" },
    load: "attack -rate=0 -workers={connections} -max-workers={connections} \
           -connections={connections} -max-body=0 -duration={seconds}s -output={scratch}/vegeta",
    stdin: "GET {url}\n",
    report: Some("report -type=json {scratch}/vegeta"),
    completed: |output| json(output, "/status_codes/200"),
};

/// fortio with its own fast client, without a rate. This is the last version that does not need the
/// module grol.io/grol, which the Go proxy did not serve when this was written.
pub(crate) const FORTIO: Peer = Peer {
    name: "fortio",
    source: Source::Go { module: "fortio.org/fortio", version: "v1.68.2" },
    load: "load -qps 0 -nocatchup -loglevel error -json - -c {connections} -t {seconds}s {url}",
    stdin: "",
    report: None,
    completed: |output| json(output, "/RetCodes/200"),
};

const ALL: [&Peer; 6] = [&WRK, &OHA, &K6, &VEGETA, &FORTIO, &WRK2];

/// Installs the missing ones and prints the place of each. Returns true if all are there that a
/// registry has.
pub(crate) fn install() -> bool {
    tools::install_packages(&["wrk", "nginx-light"]);
    let mut all = true;
    for peer in ALL {
        if !peer.is_there() {
            peer.install();
        }
        match (peer.is_there(), &peer.source) {
            (true, _) => println!("{}: {} ({})", peer.name, peer.version(), peer.path().display()),
            (false, Source::Nowhere) => println!("{}: no registry has it", peer.name),
            (false, _) => {
                println!("{}: could not be installed", peer.name);
                all = false;
            }
        }
    }
    ycsb::install() && all
}

/// Returns the versions of the installed ones.
pub(crate) fn versions() -> impl Iterator<Item = String> {
    ALL.iter().filter(|peer| peer.is_there()).map(|peer| peer.version())
}

impl Peer {
    /// Returns its file, or its name if it is in a folder of `PATH`.
    pub(crate) fn path(&self) -> PathBuf {
        match self.folder() {
            Some(folder) => folder.join("bin").join(self.name),
            None => PathBuf::from(self.name),
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        match self.folder() {
            Some(_) => self.path().is_file(),
            None => tools::has_program(self.name),
        }
    }

    /// Returns true if it cannot be installed automatically.
    pub(crate) fn may_be_missing(&self) -> bool {
        matches!(self.source, Source::Nowhere)
    }

    /// Returns its name and version, as it prints them if the version is not our choice.
    pub(crate) fn version(&self) -> String {
        match self.source {
            Source::Cargo { version } | Source::Go { version, .. } => {
                format!("{} {version}", self.name)
            }
            Source::Debian | Source::Nowhere => {
                repository::first_line(Command::new(self.name).arg("-v"))
            }
        }
    }

    /// Returns the folder of a version that we install.
    fn folder(&self) -> Option<PathBuf> {
        let version = match self.source {
            Source::Cargo { version } | Source::Go { version, .. } => version,
            Source::Debian | Source::Nowhere => return None,
        };
        Some(repository::target().join("peers").join(format!("{}-{version}", self.name)))
    }

    /// Installs it; `is_there` shows whether that succeeded.
    fn install(&self) {
        let Some(folder) = self.folder() else { return };
        println!("installing {} into {}", self.name, folder.display());
        let mut command = match self.source {
            Source::Cargo { version } => {
                let mut cargo = repository::cargo();
                cargo.args(["install", self.name, "--version", version, "--locked", "--root"]);
                // It builds in a temporary folder, not in our target folder.
                cargo.arg(&folder).env_remove("CARGO_TARGET_DIR");
                cargo
            }
            Source::Go { module, version } => {
                // Built from a module that requires this one: `go install` also needs the list of
                // all versions, which the proxy does not have for every module.
                let text = format!("module peers\n\ngo 1.24\n\nrequire {module} {version}\n");
                let written = fs::create_dir_all(&folder)
                    .and_then(|()| fs::write(folder.join("go.mod"), text));
                if let Err(error) = written {
                    println!("error: writing into {}: {error}", folder.display());
                    return;
                }
                let mut go = Command::new("go");
                go.args(["build", "-mod=mod", "-o", "bin/", module]).current_dir(&folder);
                go
            }
            Source::Debian | Source::Nowhere => return,
        };
        repository::succeeds(&mut command);
    }
}

/// Reads `  327678 requests in 2.00s, …` and subtracts `  Non-2xx or 3xx responses: 12`.
fn in_words(output: &str) -> Option<f64> {
    let all: f64 = output.lines().find_map(|line| {
        let (count, _) = line.trim().split_once(" requests in ")?;
        count.parse().ok()
    })?;
    let failed =
        output.lines().find_map(|line| line.trim().strip_prefix("Non-2xx or 3xx responses:"));
    Some(all - failed.map_or(Some(0.0), |count| count.trim().parse().ok())?)
}

/// Reads the number at a pointer of the JSON document that begins at the first `{`.
fn json(output: &str, pointer: &str) -> Option<f64> {
    let document: Value = serde_json::from_str(&output[output.find('{')?..]).ok()?;
    document.pointer(pointer)?.as_f64()
}
