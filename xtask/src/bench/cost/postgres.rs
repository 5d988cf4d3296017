//! A PostgreSQL on the server's CPU, with a database for each instance. A commit is written but does not
//! wait for the disk, as in the embedded store: the CPU is measured.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::bench::machine::{self, Machine, Process, Side};
use crate::processes::signal;
use crate::{repository, tools};

pub(super) struct Postgres {
    pub(super) process: Process,
    port: u16,
    /// Removed after the process has ended.
    _folder: TempDir,
}

/// The package's user: PostgreSQL refuses to run as root.
const USER: &str = "postgres";

impl Postgres {
    pub(super) fn start(machine: &Machine, instances: usize) -> Result<Postgres, String> {
        let programs = programs().ok_or("PostgreSQL is missing; install the package postgresql")?;
        let folder = folder()?;
        let data = folder.path().join("data");
        let mut prepare = as_package_user(Command::new("setpriv"), &programs.join("initdb"));
        prepare.args(["--no-sync", "--auth=trust", "--username=hotel", "--no-locale"]);
        prepare.args(["--encoding=UTF8", "--pgdata"]).arg(&data).current_dir(&folder);
        if !repository::succeeds(&mut prepare) {
            return Err("initdb failed".to_owned());
        }
        let port = machine::free_port();
        let mut command =
            as_package_user(machine.command(Side::Server, "setpriv"), &programs.join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(folder.path()).current_dir(&folder);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-c", "fsync=off"]);
        let postgres = Postgres { process: Process::start(&mut command)?, port, _folder: folder };
        // It refuses sessions for some time after it listens.
        let mut asking = Command::new(programs.join("pg_isready"));
        asking.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
        let otherwise = format!("PostgreSQL accepts no sessions on port {port}");
        machine::wait_until(|| repository::succeeds(&mut asking), &otherwise)?;
        for instance in 1..=instances {
            let mut create = Command::new(programs.join("createdb"));
            create.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "hotel"]);
            if !repository::succeeds(create.arg(format!("hotel{instance}"))) {
                return Err(format!("createdb hotel{instance} failed"));
            }
        }
        Ok(postgres)
    }

    /// Returns its URL, with a place for the number of the instance.
    pub(super) fn url(&self) -> String {
        format!("postgres://hotel@127.0.0.1:{}/hotel{{instance}}", self.port)
    }
}

impl Drop for Postgres {
    /// Ends it by a signal: otherwise its own processes would not end with it.
    fn drop(&mut self) {
        signal("INT", &[self.process.0.id()]);
        // Its exit code does not matter.
        let _ = self.process.0.wait();
    }
}

/// Makes a folder of the package's user among the temporary ones: that user cannot always read the
/// target folder.
fn folder() -> Result<TempDir, String> {
    let folder = tempfile::Builder::new().prefix("benchwright-hotel-").tempdir();
    let folder = folder.map_err(|error| format!("making a folder: {error}"))?;
    if tools::is_root() {
        let number = |option: &str| {
            let printed = repository::first_line(Command::new("id").args([option, USER]));
            printed.parse().map_err(|_| format!("there is no user {USER}: {printed}"))
        };
        let (user, group) = (number("-u")?, number("-g")?);
        chown(folder.path(), Some(user), Some(group)).map_err(|e| e.to_string())?;
    }
    Ok(folder)
}

/// Returns the folder of the programs of one of the installed versions.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut programs = versions.map(|version| version.path().join("bin"));
    programs.find(|programs| programs.join("postgres").is_file())
}

/// Runs a program as the package's user if we are root.
fn as_package_user(mut setpriv: Command, program: &Path) -> Command {
    if tools::is_root() {
        setpriv.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    }
    setpriv.arg("--").arg(program).stdout(Stdio::null()).stderr(Stdio::null());
    setpriv
}
