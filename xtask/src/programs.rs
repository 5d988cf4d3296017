//! The builds of the product that tasks run.

use std::path::PathBuf;
use std::process::Command;

use crate::repository;

/// A profile in which the programs are built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Build {
    /// The users' build: figures are measured with it.
    Release,
    /// The build of the tests, which continuous integration has anyway: as punctual, and some 10 %
    /// slower. It is enough for short runs that look for faults.
    Tests,
}

impl Build {
    /// Builds the programs; returns true if that succeeded.
    pub(crate) fn make(self) -> bool {
        let mut command = repository::cargo();
        match self {
            Build::Release => command.args(["build", "--locked", "--release"]),
            // The command of the tests: another one would choose other features and build again.
            Build::Tests => command.args([
                "test",
                "--locked",
                "--profile",
                "tests",
                "--workspace",
                "--no-run",
                "--quiet",
            ]),
        };
        repository::succeeds(&mut command)
    }

    /// Returns the path of one of its programs.
    pub(crate) fn program(self, name: &str) -> Result<PathBuf, String> {
        let own =
            std::env::current_exe().map_err(|e| format!("finding the own executable: {e}"))?;
        // This program is in the folder of its own profile, beside those of the others.
        let target = own.parent().and_then(|folder| folder.parent());
        let target = target.expect("cargo puts programs in two folders");
        let profile = match self {
            Build::Release => "release",
            Build::Tests => "tests",
        };
        Ok(target.join(profile).join(name))
    }

    /// Returns a command of one of its programs, in the workspace's folder.
    pub(crate) fn command(self, name: &str) -> Result<Command, String> {
        let mut command = Command::new(self.program(name)?);
        command.current_dir(repository::root());
        Ok(command)
    }
}

/// Builds an example of a crate in the users' profile, and returns its path.
pub(crate) fn example(package: &str, name: &str) -> Result<PathBuf, String> {
    let mut cargo = repository::cargo();
    cargo.args(["build", "--locked", "--release", "-p", package, "--example", name]);
    match repository::succeeds(&mut cargo) {
        true => Build::Release.program(&format!("examples/{name}")),
        false => Err(format!("the build of the example {name} failed")),
    }
}
