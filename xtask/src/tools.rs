//! The tools that the tests need from the distribution, PyPI, npm, Go's proxy and Maven's, installed
//! if possible.
//!
//! Only missing tools are installed: packages of the distribution only as root (never by asking for
//! a password), those of Python, Node, Go and Java into the target folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{brokers, grafana, repository};

mod node;
mod python;

#[cfg(test)]
mod tests;

/// A package of Debian and the proof that its content is there, from any source.
struct Package {
    name: &'static str,
    proof: Proof,
}

enum Proof {
    /// A program in one of the folders of `PATH`.
    Program(&'static str),
    File(&'static str),
    /// A path below a folder's subfolders, one for each version.
    Versioned(&'static str, &'static str),
}

const PACKAGES: [Package; 16] = [
    Package { name: "wrk", proof: Proof::Program("wrk") },
    Package { name: "nginx-light", proof: Proof::Program("nginx") },
    Package { name: "lua-socket", proof: Proof::File("/usr/share/lua/5.1/socket.lua") },
    Package { name: "lua-cjson", proof: Proof::File("/usr/share/lua/5.1/cjson/util.lua") },
    Package { name: "chromium", proof: Proof::Program("chromium") },
    Package { name: "chromium-driver", proof: Proof::Program("chromedriver") },
    Package { name: "jq", proof: Proof::Program("jq") },
    Package { name: "memcached", proof: Proof::Program("memcached") },
    Package { name: "redis-server", proof: Proof::Program("redis-server") },
    // With a Java runtime.
    Package { name: "maven", proof: Proof::Program("mvn") },
    Package { name: "postgresql", proof: Proof::Versioned("/usr/lib/postgresql", "bin/postgres") },
    Package { name: "prometheus", proof: Proof::Program("prometheus") },
    Package { name: "tmux", proof: Proof::Program("tmux") },
    Package { name: "musl-tools", proof: Proof::Program("musl-gcc") },
    Package { name: "npm", proof: Proof::Program("npm") },
    Package { name: "python3-venv", proof: Proof::Versioned("/usr/lib", "ensurepip/__init__.py") },
];

/// Installs missing tools. In continuous integration all must then be there; elsewhere the tests
/// that need them report that they were skipped.
pub(crate) fn install() -> bool {
    install_packages(&PACKAGES.map(|package| package.name));
    if !python::is_there() {
        python::install();
    }
    if !node::is_there() {
        node::install();
    }
    if !grafana::is_there() {
        grafana::install();
    }
    if !brokers::is_there() {
        brokers::install();
    }
    let missing = missing();
    if missing.is_empty() {
        println!("all present: {}", PACKAGES.map(|package| package.name).join(", "));
    } else {
        println!("missing: {0}; install with: apt-get install {0}", missing.join(" "));
    }
    let others = [python::is_there(), node::is_there(), grafana::is_there(), brokers::is_there()];
    let of_others = !others.contains(&false);
    (missing.is_empty() && of_others) || !repository::in_ci()
}

/// Installs the missing ones of the named packages, if possible.
pub(crate) fn install_packages(names: &[&str]) {
    let is_missing = |package: &&Package| names.contains(&package.name) && !package.proof.holds();
    let wanted: Vec<&str> =
        PACKAGES.iter().filter(is_missing).map(|package| package.name).collect();
    if is_root() {
        apt_get(&wanted);
    }
}

fn missing() -> Vec<&'static str> {
    PACKAGES.iter().filter(|package| !package.proof.holds()).map(|package| package.name).collect()
}

/// Installs packages of the distribution. Failures are not handled: the caller checks what is there
/// afterwards.
pub(crate) fn apt_get(packages: &[&str]) {
    if packages.is_empty() {
        return;
    }
    println!("installing {}", packages.join(", "));
    let run = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(["-q", "-o", "DPkg::Lock::Timeout=120"]).args(arguments);
        repository::succeeds(command.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    run(&["update"]);
    run(&[&["install", "-y", "--no-install-recommends"], packages].concat());
}

/// Returns true if a program is in one of the folders of `PATH`.
pub(crate) fn has_program(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

/// Returns true if this process runs as root: the owner of its entry in `/proc` is its user.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

impl Proof {
    fn holds(&self) -> bool {
        match self {
            Proof::File(path) => Path::new(path).exists(),
            Proof::Versioned(parent, path) => {
                let versions = fs::read_dir(parent).into_iter().flatten().flatten();
                versions.map(|version| version.path().join(path)).any(|path| path.exists())
            }
            Proof::Program(name) => has_program(name),
        }
    }
}
