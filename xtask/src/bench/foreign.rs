//! Foreign servers beside a measured application: each listens on a free loopback port, prints
//! nothing, and is ended by its process id.

use std::net::TcpStream;
use std::process::{Command, Stdio};

use measure::Nanos;

use super::machine::{self, Process};

/// The longest time that a server may take to start.
const LONGEST_START: Nanos = Nanos::from_secs(20);
const POLL_EVERY: Nanos = Nanos::from_millis(10);

pub(super) fn start(command: &mut Command) -> Result<Process, String> {
    Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Returns a port on which nobody listens, below the ports that the kernel gives to connections.
pub(super) fn free_port() -> u16 {
    let first = 20_000 + (std::process::id() % 12_000) as u16;
    let mut ports = (first..32_000).chain(20_000..first);
    ports.find(|port| !listens(*port)).expect("nobody has 12,000 servers")
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

pub(super) fn wait_until_it_listens(port: u16, name: &str) -> Result<(), String> {
    let begun = machine::now();
    while !listens(port) {
        if LONGEST_START < machine::since(begun) {
            return Err(format!("{name} does not listen on port {port}"));
        }
        machine::sleep(POLL_EVERY);
    }
    Ok(())
}
