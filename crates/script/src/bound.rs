//! The bound of each call into a script, so that none hangs: a loop that does not end is an error with its line.
//!
//! Before and after the load LuaJIT interprets the script, and a hook looks at the clock from time to time. During
//! the load it compiles the script, and a compiled loop calls no hook; nor does a function of C, at any time. So
//! another thread looks at what the script is doing, too ([`Watch`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use load::Fault;
use mlua::debug::Debug;
use mlua::{Function, HookTriggers, Lua, Table, VmState};

use crate::end::Inside;
use crate::outside::Outside;
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

    /// Ends whatever this instance runs with an error after its time, until the value that is returned is
    /// dropped. The whole script is `file`; what is called begins at `line`, if that is known.
    pub(crate) fn bound<'a>(
        &'a self,
        lua: &'a Lua,
        file: &'a Function,
        program: &Program,
        line: Option<usize>,
    ) -> mlua::Result<Bound<'a>> {
        // With all functions in the file.
        self.off.call::<()>((file, true))?;
        let (longest, outside) = (program.longest_call(), program.outside().clone());
        outside.enter(line);
        let bound = Bound { jit: self, lua, file, outside, _inside: Inside::enter() };
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
    outside: Arc<Outside>,
    _inside: Inside,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        self.outside.leave();
        self.lua.remove_global_hook();
        self.lua.remove_hook();
        // Only memory that is used up makes it fail, and then the next call fails, too.
        let _ = self.jit.on.call::<()>((self.file, true));
    }
}

fn every(instructions: u32) -> HookTriggers {
    HookTriggers::new().every_nth_instruction(instructions)
}

const TOO_LONG: &str = "the script did not return within";

fn too_long(longest: Duration) -> String {
    format!("{TOO_LONG} {} s", longest.as_secs_f64())
}

/// Returns true for the fault of a call that did not return.
pub fn is_endless(Fault(what): &Fault) -> bool {
    what.contains(TOO_LONG)
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

/// The calls into all instances, as a thread sees them that looks from time to time.
#[derive(Clone, Debug)]
pub struct Watch {
    program: Arc<Program>,
    outside: Seen,
    instances: Vec<Instance>,
}

/// A call at the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    number: u64,
    /// The time since it was seen first.
    since: Duration,
}

impl Seen {
    /// Looks again after this time, and returns the time since the running call, if there is one, was seen first.
    fn look(&mut self, number: u64, passed: Duration) -> Duration {
        let is_same = number != 0 && number == self.number;
        self.since = if is_same { self.since + passed } else { Duration::ZERO };
        self.number = number;
        self.since
    }
}

/// An instance at the last look.
#[derive(Clone, Debug)]
struct Instance {
    calling: Arc<Calling>,
    /// The line at which each callback begins, if there is one.
    lines: [Option<usize>; Callback::ALL.len()],
    seen: Seen,
}

/// The time that the hook has for its own error, which names the line.
const LATER: Duration = Duration::from_secs(1);

impl Watch {
    pub(crate) fn new(program: Arc<Program>) -> Watch {
        Watch { program, outside: Seen::default(), instances: Vec::new() }
    }

    /// Returns what another thread sees of a script before it has any instance.
    pub fn before(program: &Program) -> Watch {
        Watch::new(Arc::new(program.clone()))
    }

    /// Adds an instance, with the line at which each of its callbacks begins.
    pub(crate) fn add(
        &mut self,
        calling: Arc<Calling>,
        line_of: impl Fn(Callback) -> Option<usize>,
    ) {
        let lines = Callback::ALL.map(line_of);
        self.instances.push(Instance { calling, lines, seen: Seen::default() });
    }

    /// Looks again after this time. Returns an error with its place if a call does not end.
    pub fn look(&mut self, passed: Duration) -> Option<String> {
        let longest = self.program.longest_call();
        let outside = self.program.outside();
        if longest + LATER <= self.outside.look(outside.running(), passed) {
            let line = outside.line();
            let what = "from a function of C, such as `os.execute`, `io.read` or `string.find`";
            let what = format!("{} {what}", too_long(longest));
            return Some(self.program.tell(line, &what));
        }
        let stuck = self.instances.iter_mut().find_map(|instance| {
            let now = instance.calling.0.load(Relaxed);
            let callback = (now & 3) as usize;
            (longest <= instance.seen.look(now, passed))
                .then(|| (Callback::ALL[callback], instance.lines[callback]))
        });
        let (callback, line) = stuck?;
        let what = format!("`{}`: {}", callback.name(), too_long(longest));
        Some(self.program.tell(line, &what))
    }
}
