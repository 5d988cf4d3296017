//! When garbage is collected: while nothing else is due, so that LuaJIT's own collection, which
//! would hold up a request, finds it done.

use load::Fault;

use crate::machine::Machine;

/// A cycle takes the longer the more is in use, and less than this is not worth one.
const LEAST: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// In use when the last cycle ended, in bytes.
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
