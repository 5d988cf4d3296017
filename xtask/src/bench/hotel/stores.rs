//! The foreign stores of the hotel application, on the server's CPU: each listens on a free
//! loopback port, and is ended by its process id.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::foreign::{free_port, start, wait_until_it_listens};
use crate::bench::machine::{self, Machine, Process, Side};
use crate::{repository, tools};

/// A memcached with one thread.
pub(super) struct Memcached {
    pub(super) process: Process,
    port: u16,
}

impl Memcached {
    pub(super) fn start(machine: &Machine) -> Result<Memcached, String> {
        if !machine::is_there("memcached") {
            return Err("memcached is missing; install the package memcached".to_owned());
        }
        let port = free_port();
        let mut command = machine.command(Side::Server, "memcached");
        command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-m", "64"]);
        command.args(["-t", "1", "-u", "nobody"]);
        let memcached = Memcached { process: start(&mut command)?, port };
        wait_until_it_listens(port, "memcached")?;
        Ok(memcached)
    }

    /// Returns the URL for services: instances share it, each with keys of its own.
    pub(super) fn url(&self, instance: usize) -> String {
        format!("memcached://127.0.0.1:{}/{instance}", self.port)
    }
}

/// A PostgreSQL with a database for each instance. A commit is written but does not wait for the
/// disk, as in the embedded store: the CPU is measured.
pub(super) struct Postgres {
    pub(super) process: Process,
    port: u16,
    /// Removed after the process has ended.
    _folder: Folder,
}

/// The package's user: PostgreSQL refuses to run as root.
const USER: &str = "postgres";

impl Postgres {
    pub(super) fn start(machine: &Machine, instances: usize) -> Result<Postgres, String> {
        let programs = programs().ok_or("PostgreSQL is missing; install the package postgresql")?;
        let folder = Folder::create()?;
        let data = folder.0.join("data");
        let mut prepare = as_package_user(Command::new("setpriv"), &programs.join("initdb"));
        prepare.args(["--no-sync", "--auth=trust", "--username=hotel", "--no-locale"]);
        prepare.args(["--encoding=UTF8", "--pgdata"]).arg(&data).current_dir(&folder.0);
        if !repository::succeeds(&mut prepare) {
            return Err("initdb failed".to_owned());
        }
        let port = free_port();
        let mut command =
            as_package_user(machine.command(Side::Server, "setpriv"), &programs.join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(&folder.0).current_dir(&folder.0);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-c", "fsync=off"]);
        let postgres = Postgres { process: start(&mut command)?, port, _folder: folder };
        wait_until_it_listens(port, "PostgreSQL")?;
        for instance in 1..=instances {
            let mut create = Command::new(programs.join("createdb"));
            create.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "hotel"]);
            if !repository::succeeds(create.arg(format!("hotel{instance}"))) {
                return Err(format!("createdb hotel{instance} failed"));
            }
        }
        Ok(postgres)
    }

    pub(super) fn url(&self, instance: usize) -> String {
        format!("postgres://hotel@127.0.0.1:{}/hotel{instance}", self.port)
    }
}

impl Drop for Postgres {
    /// Ends it by a signal: otherwise its own processes would not end with it.
    fn drop(&mut self) {
        let pid = self.process.0.id().to_string();
        if repository::succeeds(Command::new("kill").args(["-INT", &pid])) {
            // Its exit code does not matter.
            let _ = self.process.0.wait();
        }
    }
}

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    /// Creates it in the temporary folder: the package's user cannot always read the target folder.
    fn create() -> Result<Folder, String> {
        let folder = std::env::temp_dir().join(format!("benchwright-hotel-{}", std::process::id()));
        let failed = |error| format!("creating {}: {error}", folder.display());
        fs::DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let folder = Folder(folder);
        if tools::is_root() {
            let number = |option: &str| {
                let printed = repository::first_line(Command::new("id").args([option, USER]));
                printed.parse().map_err(|_| format!("there is no user {USER}: {printed}"))
            };
            let (user, group) = (number("-u")?, number("-g")?);
            chown(&folder.0, Some(user), Some(group)).map_err(|e| e.to_string())?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
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
