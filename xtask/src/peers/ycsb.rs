//! The other clients of YCSB: the core of the Java client with a binding of ours, as no registry has the
//! original's, and go-ycsb with a command of ours, since its own needs libraries of databases that we do
//! not measure. Versions are pinned, with the hashes of everything that is downloaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{brokers, repository, tools};

/// The folder with the sources, and with the lists of what is needed.
const SOURCES: &str = "xtask/src/peers/ycsb";
const CLASSES: [&str; 2] = ["Oracle", "RedisBinding"];

pub(crate) const JAVA: &str = "the Java client 0.17.0";
pub(crate) const GO: &str = "go-ycsb 1.0.3";

/// Installs what is missing; returns true if all is there.
pub(crate) fn install() -> bool {
    tools::install_packages(&["redis-server", "maven"]);
    if !is_there() {
        println!("installing {JAVA} and {GO} into {}", folder().display());
        if let Err(why) = java_client().and_then(|()| go_client()) {
            println!("error: {why}");
            return false;
        }
    }
    println!("{JAVA}, {GO} ({})", folder().display());
    true
}

/// Returns true if both are installed as listed, from these sources.
pub(crate) fn is_there() -> bool {
    let of_java = CLASSES.iter().all(|class| is_built(&format!("{class}.java")));
    let of_go = ["main.go", "go.sum"].into_iter().all(is_built);
    of_java && of_go && brokers::unlisted(&jars(), &sums()).is_empty() && go().is_file()
}

/// Returns a command of a class, which has the Java client and our binding.
pub(crate) fn java(class: &str) -> Vec<String> {
    let (classes, jars) = (folder().join("classes"), jars());
    let path = format!("{}:{}/*", classes.display(), jars.display());
    ["java", "-cp", &path, class].map(str::to_owned).to_vec()
}

pub(crate) fn go() -> PathBuf {
    folder().join("go-ycsb")
}

/// The vectors that the Java client is asked about.
pub(crate) fn vectors() -> PathBuf {
    repository::root().join("crates/ycsb/src/tests/vectors.txt")
}

fn java_client() -> Result<(), String> {
    // Jars of another version would be on the class path, too.
    let _ = fs::remove_dir_all(jars());
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--quiet", brokers::COPY, "-DincludeScope=runtime", "--file"]);
    maven.arg(sources().join("pom.xml")).arg(format!("-DoutputDirectory={}", jars().display()));
    repository::succeeds(&mut maven);
    let wrong = brokers::unlisted(&jars(), &sums());
    if !wrong.is_empty() {
        // Nobody may run them.
        let _ = fs::remove_dir_all(jars());
        return Err(format!("not as in {SOURCES}/jars.sha256: {}", wrong.join(", ")));
    }
    let mut compiler = Command::new("javac");
    compiler.args(["-cp", &format!("{}/*", jars().display()), "-d"]).arg(folder().join("classes"));
    compiler.args(CLASSES.map(|class| sources().join(format!("{class}.java"))));
    if !repository::succeeds(&mut compiler) {
        return Err("javac failed; it is in the package openjdk-17-jdk-headless".to_owned());
    }
    CLASSES.iter().try_for_each(|class| note(&format!("{class}.java")))
}

fn go_client() -> Result<(), String> {
    let mut command = Command::new("go");
    command.args(["build", "-mod=readonly", "-buildvcs=false", "-o"]).arg(go()).arg(".");
    if !repository::succeeds(command.current_dir(sources())) {
        return Err("building go-ycsb failed".to_owned());
    }
    note("main.go").and_then(|()| note("go.sum"))
}

/// Copies a source once it is built, so that another one does not count as built.
fn note(name: &str) -> Result<(), String> {
    let copied = fs::copy(sources().join(name), folder().join(name));
    copied.map(drop).map_err(|error| format!("writing into {}: {error}", folder().display()))
}

fn is_built(name: &str) -> bool {
    repository::are_equal(&sources().join(name), &folder().join(name))
}

fn sums() -> String {
    fs::read_to_string(sources().join("jars.sha256")).unwrap_or_default()
}

fn sources() -> PathBuf {
    repository::root().join(SOURCES)
}

fn jars() -> PathBuf {
    folder().join("jars")
}

fn folder() -> PathBuf {
    repository::target().join(Path::new("peers/ycsb"))
}
