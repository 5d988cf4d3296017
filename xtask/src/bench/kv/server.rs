//! The servers that are measured, each with one thread on the CPU of the measured side.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;

use measure::Nanos;

use super::machine::{Machine, Process, Side, free_port, ready, wait_until_it_listens};
use crate::bench::machine::{self, Cpu};
use crate::bench::scratch::Scratch;
use crate::processes;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Store,
    Redis,
    Memcached,
}

impl Kind {
    /// The name that the client knows it by.
    pub(super) fn protocol(self) -> &'static str {
        match self {
            Kind::Store => "kv",
            Kind::Redis => "redis",
            Kind::Memcached => "memcached",
        }
    }
}

pub(super) struct Server {
    process: Process,
    folder: Scratch,
    pub(super) kind: Kind,
    pub(super) address: SocketAddr,
}

impl Server {
    pub(super) fn start(machine: &Machine, kind: Kind) -> Result<Server, String> {
        let folder = Scratch::make()?;
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let (port, logs) = (at.port().to_string(), folder.path("logs"));
        let mut command = match kind {
            Kind::Store => {
                let mut command = machine.command(Side::Server, &machine.benchwright);
                command.args(["kv", "serve", "--ip", &at.to_string(), "--threads", "1"]);
                command.args(["--storage", "none", "--memory", "1GiB", "--logs"]).arg(logs);
                command
            }
            Kind::Redis => {
                let mut command = machine.command(Side::Server, "redis-server");
                command.args(["--port", &port, "--save", "", "--appendonly", "no"]);
                command.arg("--dir").arg(machine::scratch());
                command
            }
            Kind::Memcached => {
                let mut command = machine.command(Side::Server, "memcached");
                command.args(["-l", "127.0.0.1", "-p", &port, "-t", "1", "-m", "1024"]);
                // As root it asks for another user.
                command.args(["-u", "root"]);
                command
            }
        };
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::start(&mut command)?;
        match kind {
            Kind::Store => drop(ready(&mut process).ok_or("kv serve did not become ready")?),
            Kind::Redis | Kind::Memcached => wait_until_it_listens(at.port(), kind.protocol())?,
        }
        Ok(Server { process, folder, kind, address: at })
    }

    /// A place for a file that is removed with it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    /// Its resident bytes.
    pub(super) fn resident(&self) -> u64 {
        processes::resident(self.process.0.id()).unwrap_or_default()
    }

    /// Its CPU time so far.
    pub(super) fn cpu(&self) -> Nanos {
        Cpu::of(self.process.0.id()).unwrap_or_default().all
    }
}
