//! The bound of each call into a script, so that none hangs: a loop that does not end is an error with its line.
//!
//! Before and after the load LuaJIT interprets the script, and a hook looks at the clock from time to time. During
//! the load it compiles the script, and a compiled loop calls no hook: then another thread looks at what each
//! instance is doing ([`Watch`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mlua::debug::Debug;
use mlua::{Function, HookTriggers, Lua, Table, VmState};

use crate::program::Program;

#[cfg(test)]
mod tests;

/// The instructions between two looks at the clock: some milliseconds.
const INTERVAL: u32 = 100_000;

/// The functions `jit.off` and `jit.on`, whatever a script does with their names.
#[derive(Debug)]
pub(crate) struct Jit {
    off: Function,
    on: Function,
}

impl Jit {
    pub(crate) fn of(lua: &Lua) -> mlua::Result<Jit> {
        let jit: Table = lua.globals().get("jit")?;
        Ok(Jit { off: jit.get("off")?, on: jit.get("on")? })
    }

    /// Ends whatever this instance runs with an error after this time, until the value that is returned is
    /// dropped. The whole script is `file`.
    pub(crate) fn bound<'a>(
        &'a self,
        lua: &'a Lua,
        file: &'a Function,
        longest: Duration,
    ) -> mlua::Result<Bound<'a>> {
        // With all functions in the file.
        self.off.call::<()>((file, true))?;
        let bound = Bound { jit: self, lua, file };
        let end = now() + longest;
        let stop = move |debug: &Debug<'_>| {
            let place = debug.source().short_src.map(|source| source.into_owned());
            let line = debug.current_line().unwrap_or_default();
            let place = place.map(|source| format!("{source}:{line}: ")).unwrap_or_default();
            Err(mlua::Error::runtime(format!("{place}{}", too_long(longest))))
        };
        lua.set_global_hook(every(INTERVAL), move |lua, debug| {
            if now() < end {
                return Ok(VmState::Continue);
            }
            // A script that catches the error does not go on: so does the next instruction.
            lua.set_global_hook(every(1), move |_, debug| stop(debug))?;
            stop(debug)
        })?;
        Ok(bound)
    }
}

/// The time in which an instance is interpreted, and looks at the clock.
pub(crate) struct Bound<'a> {
    jit: &'a Jit,
    lua: &'a Lua,
    file: &'a Function,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        self.lua.remove_global_hook();
        self.lua.remove_hook();
        // Only memory that is used up makes it fail, and then the next call fails, too.
        let _ = self.jit.on.call::<()>((self.file, true));
    }
}

fn every(instructions: u32) -> HookTriggers {
    HookTriggers::new().every_nth_instruction(instructions)
}

fn too_long(longest: Duration) -> String {
    format!("the script did not return within {} s", longest.as_secs_f64())
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "the bound is one of the wall clock")]
    Instant::now()
}

/// A callback during the load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Callback {
    Request,
    Response,
    Failed,
    Delay,
}

impl Callback {
    pub(crate) const ALL: [Callback; 4] =
        [Callback::Request, Callback::Response, Callback::Failed, Callback::Delay];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Callback::Request => "request",
            Callback::Response => "response",
            Callback::Failed => "failed",
            Callback::Delay => "delay",
        }
    }
}

/// The call that an instance is in: its number and its callback; 0 outside of all calls.
#[derive(Debug, Default)]
pub(crate) struct Calling(AtomicU64);

impl Calling {
    /// Notes that the call of this number, from 1, begins.
    pub(crate) fn enter(&self, number: u64, callback: Callback) {
        self.0.store(number << 2 | callback as u64, Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.0.store(0, Relaxed);
    }
}

/// The callbacks of all instances, as a thread sees them that looks from time to time.
#[derive(Clone, Debug)]
pub struct Watch {
    program: Arc<Program>,
    instances: Vec<Instance>,
}

/// An instance at the last look.
#[derive(Clone, Debug)]
struct Instance {
    calling: Arc<Calling>,
    /// The line at which each callback begins, if there is one.
    lines: [Option<usize>; Callback::ALL.len()],
    last: u64,
    /// The time since this call was seen first.
    since: Duration,
}

impl Watch {
    pub(crate) fn new(program: Arc<Program>) -> Watch {
        Watch { program, instances: Vec::new() }
    }

    /// Adds an instance, with the line at which each of its callbacks begins.
    pub(crate) fn add(
        &mut self,
        calling: Arc<Calling>,
        line_of: impl Fn(Callback) -> Option<usize>,
    ) {
        let lines = Callback::ALL.map(line_of);
        self.instances.push(Instance { calling, lines, last: 0, since: Duration::ZERO });
    }

    /// Looks again after this time. Returns an error with its place if a call does not end.
    pub fn look(&mut self, passed: Duration) -> Option<String> {
        let longest = self.program.longest_call();
        let stuck = self.instances.iter_mut().find_map(|seen| {
            let now = seen.calling.0.load(Relaxed);
            let is_same = now != 0 && now == seen.last;
            seen.since = if is_same { seen.since + passed } else { Duration::ZERO };
            seen.last = now;
            let callback = (now & 3) as usize;
            (longest <= seen.since).then(|| (Callback::ALL[callback], seen.lines[callback]))
        });
        let (callback, line) = stuck?;
        let what = format!("`{}`: {}", callback.name(), too_long(longest));
        Some(self.program.tell(line, &what))
    }
}
