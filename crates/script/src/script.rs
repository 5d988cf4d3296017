//! One running instance of a script.
//!
//! Its life is wrk's: the surroundings are made (`prelude.lua`), the whole file runs once, `init`
//! gets the arguments, and from then on `request` is asked for one request after the other.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use load::Fault;
use load::driver::http1::{Expected, HttpWorkload, Origin, Outgoing};
use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value};
use wire::http1::Expect;

use crate::Program;
use crate::single;

#[cfg(test)]
mod tests;

/// Where requests go, as the script sees it in `wrk`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// As the user wrote it: the script's `args[0]` and its global `url`.
    pub url: String,
    pub scheme: String,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    /// Only if the URL has one.
    pub port: Option<String>,
    /// With the query; `/` if the URL has none.
    pub path: String,
}

/// What a request has where the script says nothing else.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Defaults {
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults { method: "GET".to_owned(), headers: Vec::new(), body: None }
    }
}

/// A script with globals of its own, which belongs to the thread that made it.
#[derive(Debug)]
pub struct Script {
    program: Program,
    requests: Requests,
}

#[derive(Debug)]
enum Requests {
    /// The script has no `request`: while it was loaded it said all there is to say.
    Fixed { request: Vec<u8>, expect: Expect },
    /// Lua makes each one.
    Made(Machine),
}

/// LuaJIT with a script that has started. `next` is the prelude's, and runs as long as `lua` lives.
#[derive(Debug)]
struct Machine {
    next: Function,
    lua: Lua,
}

impl Script {
    /// Runs the whole file and its `init`. The same `seed` gives the same `math.random`, whatever
    /// the script seeds it with; instances that are to differ need different seeds.
    pub fn new(
        program: &Program,
        target: &Target,
        defaults: &Defaults,
        seed: u64,
    ) -> Result<Script, Fault> {
        let (machine, only_request) = Machine::start(program, target, defaults, seed)
            .map_err(|error| Fault(program.explain(&error, None)))?;
        let requests = match only_request {
            None => Requests::Made(machine),
            Some(request) => {
                let request = request.as_bytes().to_vec();
                let expect = single::inspect(&request)
                    .map_err(|what| Fault(program.tell(None, &format!("the request {what}"))))?;
                Requests::Fixed { request, expect }
            }
        };
        Ok(Script { program: program.clone(), requests })
    }

    /// Appends one complete request to `wire`, and says whether its answer may have a body.
    pub fn append(&mut self, wire: &mut Vec<u8>) -> Result<Expect, Fault> {
        match &self.requests {
            Requests::Fixed { request, expect } => {
                wire.extend_from_slice(request);
                Ok(*expect)
            }
            Requests::Made(machine) => machine.next(&self.program, wire),
        }
    }
}

impl HttpWorkload for Script {
    fn next(&mut self, _of: Origin, outgoing: &mut Outgoing<'_>) -> Result<(), Fault> {
        let body = self.append(outgoing.wire)?;
        outgoing.expected.push(Expected { body, tag: 0 });
        Ok(())
    }

    fn is_scripted(&self) -> bool {
        matches!(self.requests, Requests::Made(_))
    }
}

impl Machine {
    /// Also returns the request of a script that has only one.
    fn start(
        program: &Program,
        target: &Target,
        defaults: &Defaults,
        seed: u64,
    ) -> mlua::Result<(Machine, Option<LuaString>)> {
        let lua = luajit();
        let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude.lua");
        let host = host(&lua, program.path(), target, defaults, seed)?;
        let (start, next): (Function, Function) = prelude.call(host)?;
        program.compile(&lua)?.call::<()>(())?;
        let arguments = lua.create_sequence_from(program.arguments().iter().map(String::as_str))?;
        arguments.set(0, target.url.as_str())?;
        let only_request = start.call(arguments)?;
        Ok((Machine { next, lua }, only_request))
    }

    fn next(&self, program: &Program, wire: &mut Vec<u8>) -> Result<Expect, Fault> {
        let refused = |what: &str| Fault(program.tell(self.line_of_request(), what));
        match self.next.call(()) {
            Ok(Value::String(request)) => {
                let request = request.as_bytes();
                let expect = single::inspect(&request)
                    .map_err(|what| refused(&format!("what `request` returned {what}")))?;
                wire.extend_from_slice(&request);
                Ok(expect)
            }
            Ok(other) => Err(refused(&format!(
                "`request` returned a {}; it has to return a request, as a string",
                other.type_name()
            ))),
            Err(error) => Err(Fault(program.explain(&error, self.line_of_request()))),
        }
    }

    /// Where the script's `request` begins; `None` if the script has none any more.
    fn line_of_request(&self) -> Option<usize> {
        self.lua.globals().get::<Function>("request").ok()?.info().line_defined
    }
}

/// LuaJIT with everything that wrk opens, `debug` and `ffi` included, and its own `pcall`, which is
/// compiled, where mlua's is not.
fn luajit() -> Lua {
    let options = LuaOptions::new().catch_rust_panics(false);
    #[expect(unsafe_code, reason = "wrk's scripts may use `ffi` and `debug`, which are not safe")]
    // SAFETY: a script is the user's own program, trusted like every other one that the user
    // starts; what a wrong use of `ffi` breaks is this process, which holds nobody else's data.
    unsafe {
        Lua::unsafe_new_with(StdLib::ALL, options)
    }
}

/// What the prelude gets.
fn host(
    lua: &Lua,
    script: &Path,
    target: &Target,
    defaults: &Defaults,
    seed: u64,
) -> mlua::Result<Table> {
    let folder = match script.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let host = lua.create_table()?;
    host.set("folder", lua.create_string(folder.as_os_str().as_bytes())?)?;
    host.set("gettime", lua.create_function(|_, ()| Ok(wall_clock()))?)?;
    host.set("seed", seed_of_luajit(seed))?;
    let sleep = |_: &Lua, seconds| {
        sleep(seconds);
        Ok(())
    };
    host.set("sleep", lua.create_function(sleep)?)?;
    host.set("url", target.url.as_str())?;
    host.set("wrk", wrk(lua, target, defaults)?)?;
    Ok(host)
}

fn wrk(lua: &Lua, target: &Target, defaults: &Defaults) -> mlua::Result<Table> {
    let headers = lua.create_table()?;
    for (name, value) in &defaults.headers {
        // Scripts, and wrk itself, look it up by this spelling.
        let name = if name.eq_ignore_ascii_case("host") { "Host" } else { name };
        headers.set(name, value.as_str())?;
    }
    let body = defaults.body.as_ref().map(|body| lua.create_string(body)).transpose()?;
    let wrk = lua.create_table()?;
    wrk.set("scheme", target.scheme.as_str())?;
    wrk.set("host", target.host.as_str())?;
    wrk.set("port", target.port.as_deref())?;
    wrk.set("method", defaults.method.as_str())?;
    wrk.set("path", target.path.as_str())?;
    wrk.set("headers", headers)?;
    wrk.set("body", body)?;
    Ok(wrk)
}

/// LuaJIT is seeded with a floating-point number, which holds 53 bits. Multiplying by the golden
/// ratio first lets each bit of the seed, even those of small numbers, reach the upper ones.
fn seed_of_luajit(seed: u64) -> f64 {
    const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    (seed.wrapping_mul(GOLDEN_RATIO) >> 11) as f64
}

/// Seconds since 1970, as LuaSocket gives them.
fn wall_clock() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "the script asks for the wall clock itself")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Holds up the whole thread, as in wrk; not at all for what is no length of time.
fn sleep(seconds: f64) {
    let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    #[expect(clippy::disallowed_methods, reason = "the script asks to wait itself")]
    std::thread::sleep(length);
}
