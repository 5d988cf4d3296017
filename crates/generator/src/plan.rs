//! The parts of a plan that every command of the generator has.

use anyhow::Error;
use console::output::{Exit, Failure};
use load::measurement::Pool;
use net::process;

use crate::target::Target;

/// Raises the limit of open files; `flag` is the option that sets the number of connections.
pub(crate) fn provide_files(connections: usize, flag: &str) -> Result<(), Failure> {
    let needed = connections as u64 + 64;
    let files = process::raise_open_files();
    if files < needed {
        return Err(Failure::question(format!(
            "{connections} connections need {needed} open files, and the limit is {files}\n  \
             raise the hard limit (ulimit -Hn), start several processes with a part of the connections \
             and of the rate each\n  and merge their documents (see benchwright merge --help), or use \
             fewer with {flag}"
        )));
    }
    Ok(())
}

/// Returns the pools of each target, which share its connections.
pub(crate) fn pools(targets: &[Target], connections: usize, of_each: usize) -> Vec<Pool> {
    let pool = |target: &Target, place: usize| Pool {
        endpoints: target.endpoints.clone(),
        connections: connections / of_each + usize::from(place < connections % of_each),
    };
    let of_target = |target| (0..of_each).map(move |place| pool(target, place));
    targets.iter().flat_map(of_target).collect()
}

/// Checks the name of a congestion control before anything is sent.
pub(crate) fn congestion_control(asked: Option<&str>) -> Result<Option<String>, Failure> {
    if let Some(name) = asked {
        net::congestion::check(name).map_err(|error| {
            Failure::question(format!("--congestion-control {error}\n  or leave it out"))
        })?;
    }
    Ok(asked.map(str::to_owned))
}

/// Checks, before anything is sent, that the kernel supports timestamps.
pub(crate) fn kernel_timestamps(asked: bool) -> Result<bool, Failure> {
    if asked {
        net::epoll::kernel_timestamps_granted().map_err(|error| {
            Failure::question(format!(
                "--kernel-timestamps: the kernel does not timestamp received data: {error}\n  \
                 or leave it out"
            ))
        })?;
    }
    Ok(asked)
}

pub(crate) fn question(error: Error) -> Failure {
    Failure { exit: Exit::Question, error }
}
