//! The CPUs that the shards are pinned to.

use std::str::FromStr;

use lab::spec::{Cpus, Literal};
use net::cores;

#[cfg(test)]
mod tests;

/// The placement of shards on CPUs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Pin {
    /// Each on a CPU of its own, if there are enough.
    #[default]
    Auto,
    Off,
    /// Each on one of these.
    To(Cpus),
}

impl Pin {
    /// Returns the CPUs that shards can use. Fails if a named one is not allowed for this process
    /// by the kernel.
    pub(crate) fn cpus(&self) -> Result<Vec<u32>, String> {
        self.of(cores::allowed())
    }

    fn of(&self, allowed: Vec<u32>) -> Result<Vec<u32>, String> {
        let Pin::To(Cpus(named)) = self else { return Ok(allowed) };
        match named.iter().find(|cpu| !allowed.contains(cpu)) {
            None => Ok(named.clone()),
            Some(cpu) => Err(format!(
                "--pin: this process may not run on CPU {cpu}, only on {}",
                Cpus(allowed)
            )),
        }
    }

    /// Returns the CPU of each shard, out of `cpus`.
    pub(crate) fn place(&self, shards: usize, cpus: &[u32]) -> Result<Vec<Option<u32>>, String> {
        let Some(first) = cpus.len().checked_sub(shards) else {
            return match self {
                Pin::To(named) => Err(format!(
                    "--pin: {shards} shards need a CPU each, and `{named}` names {}",
                    cpus.len()
                )),
                Pin::Auto | Pin::Off => Ok(vec![None; shards]),
            };
        };
        Ok(match self {
            Pin::Off => vec![None; shards],
            // The last ones: interrupts and other processes tend to run on the first ones.
            Pin::Auto | Pin::To(_) => cpus[first..].iter().copied().map(Some).collect(),
        })
    }
}

impl FromStr for Pin {
    type Err = String;

    fn from_str(text: &str) -> Result<Pin, String> {
        match text {
            "auto" => Ok(Pin::Auto),
            "off" => Ok(Pin::Off),
            list => Cpus::read(list).map(Pin::To).map_err(|_| {
                format!("there is no `{list}`; there are auto, off and CPUs such as 2 or 0,2-3")
            }),
        }
    }
}
