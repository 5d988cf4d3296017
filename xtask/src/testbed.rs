//! The test bed: a small real Kubernetes cluster on this machine, and an experiment on it.
//!
//! `testbed/kc` builds and runs the cluster; here is what the product needs of it: the image in its
//! nodes, a run with its configuration, and the proof that the run left nothing behind.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::programs::Build;
use crate::{image, repository, tools};
use checks::rights;
use cluster::{Cluster, differences};

mod checks;
mod cluster;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask testbed TASK

  run SPEC [--keep] [options of `benchwright run`]
                 builds what is missing, starts the cluster, runs the experiment on it, prints
                 the API objects that it left behind, and takes the cluster down (not with --keep)
  up             builds what is missing and starts the cluster, with our image in its nodes
  down           takes the cluster down; it leaves nothing behind
  image          builds the image and puts it into the nodes
  env            prints the shell lines for kubectl and helm: eval \"$(cargo xtask testbed env)\"
  kc [WORDS]     calls the cluster's own program: status, kill, freeze, ...
  check [--long | --short] [NAME...]
                 checks what needs a cluster, all or some; `check list` names them; --short are
                 those that find faults in a quarter of an hour. Without --long the programs are
                 those of the tests

It needs root, Linux, Python 3.11 and Go. The first build takes ten minutes and a gigabyte in
/var/cache/kc (KC_DIR).
";

/// The nodes and the roles that they have in our experiments.
const ROLES: [(&str, &str); 3] = [("w1", "load"), ("w2", "sut"), ("w3", "sut")];

/// The options of the cluster. All nodes share the machine's two CPUs, but a generator must not share
/// one with what it measures: node w1 gives away CPU 1 only, and pods of w2 and w3 have CPU 0.
const UP: [&str; 11] = [
    "up",
    "--daemon-cpus",
    "0",
    "--kubelet",
    "w2:reservedSystemCPUs=\"1\"",
    "--kubelet",
    "w2:cpuManagerPolicyOptions={\"strict-cpu-reservation\":\"true\"}",
    "--kubelet",
    "w3:reservedSystemCPUs=\"1\"",
    "--kubelet",
    "w3:cpuManagerPolicyOptions={\"strict-cpu-reservation\":\"true\"}",
];

/// Runs a task of the test bed; `None` if there is no such task.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    let ended = match words {
        ["run", spec, options @ ..] if !spec.starts_with('-') => experiment(spec, options),
        ["up"] => up(Build::Release),
        ["down"] => down(),
        ["image"] => load_image(Build::Release),
        ["check", "list"] => checks::list(),
        ["check", words @ ..] if checks::are_known(words) => checks::run(words),
        ["env"] => kc(&["env"]),
        ["kc", words @ ..] => kc(words),
        _ => return None,
    };
    if let Err(why) = &ended {
        eprintln!("error: {why}");
    }
    Some(ended.is_ok())
}

/// Runs the checks that find faults soon.
pub(crate) fn check_short() -> Result<(), String> {
    checks::run(&["--short"])
}

/// Takes the cluster down at the end, also if printing to a closed pipe panics.
struct Standing {
    stays: bool,
}

impl Standing {
    /// Begins with a cluster that stays if it is there already.
    fn now() -> Standing {
        Standing { stays: Cluster::running().is_ok() }
    }

    fn end(mut self) -> Result<(), String> {
        match std::mem::replace(&mut self.stays, true) {
            true => Ok(()),
            false => down(),
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if !self.stays {
            // The reason for the early end is shown; whether this fails, `kc` itself says.
            let _ = down();
        }
    }
}

/// Runs an experiment on a new cluster.
fn experiment(spec: &str, options: &[&str]) -> Result<(), String> {
    let standing = Standing { stays: options.contains(&"--keep") };
    let options: Vec<&str> = options.iter().copied().filter(|word| *word != "--keep").collect();
    up(Build::Release)?;
    let ran = Cluster::running().and_then(|cluster| on_cluster(&cluster, spec, &options));
    standing.end()?;
    ran
}

fn on_cluster(cluster: &Cluster, spec: &str, options: &[&str]) -> Result<(), String> {
    let before = cluster.objects()?;
    // The runner is the program of the image: it runs here as well as there.
    let mut command = cluster.command(&benchwright(Build::Release)?.display().to_string());
    command.arg("run").arg(spec).args(options);
    let status = command.status().map_err(|error| format!("starting benchwright: {error}"))?;
    let left = differences(&before, &cluster.objects()?);
    match left.is_empty() {
        true => println!("the API objects are the same as before the run: {}", before.len()),
        false => println!("the API objects differ:\n{}", left.join("\n")),
    }
    match (status.success(), left.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err("the run left something behind".to_owned()),
        (false, _) => Err(format!("benchwright run {}", in_words(status))),
    }
}

fn in_words(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("ended with exit code {code}"))
}

/// Builds what is missing and starts the cluster.
fn up(build: Build) -> Result<(), String> {
    install()?;
    load_image(build)?;
    let recorded = format!("kube-apiserver:--audit-policy-file={}", rights::policy()?.display());
    let record = format!("kube-apiserver:--audit-log-path={}", rights::log()?.display());
    kc(&[&UP[..], &["--flag", &recorded, "--flag", &record]].concat())?;
    let cluster = Cluster::running()?;
    for (node, role) in ROLES {
        let label = format!("benchwright.dev/role={role}");
        cluster.kubectl(&["label", "--overwrite", "node", node, &label])?;
    }
    Ok(())
}

fn down() -> Result<(), String> {
    kc(&["down"])
}

/// Builds the image and imports it; nodes that run get it at once.
fn load_image(build: Build) -> Result<(), String> {
    let options = image::Options::read(&[]).expect("no option is wrong");
    let digest = match build {
        Build::Release => image::made(&options),
        Build::Tests => image::made_of_tests(&options),
    }?;
    println!("{} {digest}", options.name());
    let archive = options.out().display().to_string();
    kc(&["image", "import", &archive])?;
    match Cluster::running() {
        Ok(_) => kc(&["image", "load", options.name()]),
        Err(_) => Ok(()),
    }
}

/// Returns the path of the runner that is in the image.
fn benchwright(build: Build) -> Result<PathBuf, String> {
    match build {
        Build::Release => Ok(image::folder("release").join("benchwright")),
        Build::Tests => build.program("benchwright"),
    }
}

/// Says at once what is missing; installs and builds what can be.
fn install() -> Result<(), String> {
    if !tools::is_root() {
        return Err("the test bed makes network namespaces: run it as root".to_owned());
    }
    for (program, why) in [("python3", "the cluster's own program"), ("go", "building Kubernetes")]
    {
        if repository::first_line(Command::new(program).arg("--help")).is_empty() {
            return Err(format!("`{program}` is missing, for {why}"));
        }
    }
    let missing = Command::new(program()).arg("packages").output();
    let missing = missing.map_err(|error| format!("testbed/kc packages: {error}"))?;
    let missing = String::from_utf8_lossy(&missing.stdout).into_owned();
    tools::apt_get(&missing.split_whitespace().collect::<Vec<_>>());
    kc(&["build"])
}

/// Calls the cluster's own program.
fn kc(words: &[&str]) -> Result<(), String> {
    match repository::succeeds(Command::new(program()).args(words)) {
        true => Ok(()),
        false => Err(format!("testbed/kc {} failed", words.join(" "))),
    }
}

fn program() -> PathBuf {
    repository::root().join("testbed/kc")
}
