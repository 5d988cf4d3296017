//! Garbage collection while no request is due, so that LuaJIT does not have to collect by itself
//! and delay a request.

use load::Fault;

use crate::machine::Machine;

/// The smallest growth that is worth a cycle: a cycle takes longer the more memory is in use.
const LEAST: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// The bytes in use when the last cycle ended.
    left: usize,
    is_at_work: bool,
}

impl Collector {
    /// Takes one small step if enough was allocated since the last cycle; false if not.
    pub(crate) fn step(&mut self, machine: &Machine) -> Result<bool, Fault> {
        if !self.is_at_work {
            // LuaJIT begins by itself when twice as much is in use.
            if machine.used_memory() < self.left + LEAST.max(self.left / 2) {
                return Ok(false);
            }
            self.is_at_work = true;
        }
        if machine.collect()? {
            self.is_at_work = false;
            self.left = machine.used_memory();
        }
        Ok(true)
    }
}
