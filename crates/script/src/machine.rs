//! A LuaJIT instance with a script in it: how it is created, and the calls into it.
//!
//! The environment is created first (`prelude.lua`), then the whole file runs, once.

use std::cell::Cell;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use load::Fault;
use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value, ffi};

use crate::bound::{Bound, Callback, Calling, Jit, Watch};
use crate::end::{self, Inside};
use crate::network::{self, Network};
use crate::program::Program;
use crate::stage::{Compatibility, Defaults, Seed, Stage, Target};
use crate::thread::Thread;

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct Machine {
    program: Arc<Program>,
    calls: Calls,
    /// The callbacks that the script has at this moment, as the prelude reports them.
    callbacks: Arc<AtomicU8>,
    mentions_connection: bool,
    /// The whole file as a function.
    file: Function,
    jit: Jit,
    calling: Arc<Calling>,
    /// The number of calls during the load.
    called: Cell<u64>,
    lua: Lua,
}

/// The set of callbacks that a script has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Callbacks(u8);

impl Callbacks {
    pub(crate) const NONE: Callbacks = Callbacks(0);
    pub(crate) const RESPONSE: Callbacks = Callbacks(1);
    pub(crate) const FAILED: Callbacks = Callbacks(2);
    pub(crate) const DELAY: Callbacks = Callbacks(4);
    /// Not a callback, but with the same effect: the script has read `wrk.connection`.
    pub(crate) const CONNECTION: Callbacks = Callbacks(8);

    pub(crate) fn has(self, any: Callbacks) -> bool {
        self.0 & any.0 != 0
    }

    pub(crate) fn and(self, other: Callbacks) -> Callbacks {
        Callbacks(self.0 | other.0)
    }
}

/// The prelude's functions, documented there.
#[derive(Debug)]
struct Calls {
    resolve: Function,
    setup: Function,
    adopt: Function,
    init: Function,
    begin: Function,
    next: Function,
    share: Function,
    forget: Function,
    answer: Function,
    fail: Function,
    delay: Function,
    has_done: Function,
    done: Function,
    export: Function,
    import: Function,
}

impl Calls {
    fn new(calls: &Table) -> mlua::Result<Calls> {
        Ok(Calls {
            resolve: calls.get("resolve")?,
            setup: calls.get("setup")?,
            adopt: calls.get("adopt")?,
            init: calls.get("init")?,
            begin: calls.get("begin")?,
            next: calls.get("next")?,
            share: calls.get("share")?,
            forget: calls.get("forget")?,
            answer: calls.get("answer")?,
            fail: calls.get("fail")?,
            delay: calls.get("delay")?,
            has_done: calls.get("has_done")?,
            done: calls.get("done")?,
            export: calls.get("export")?,
            import: calls.get("import")?,
        })
    }
}

impl Machine {
    /// Creates an instance and runs the whole file.
    pub(crate) fn start(
        program: &Arc<Program>,
        stage: &Stage<'_>,
        target: &Target,
        seed: u64,
    ) -> Result<Machine, Fault> {
        Machine::run(program, stage, target, seed)
            .map_err(|error| Fault(program.explain(&error, None)))
    }

    fn run(
        program: &Arc<Program>,
        stage: &Stage<'_>,
        target: &Target,
        seed: u64,
    ) -> mlua::Result<Machine> {
        let lua = luajit();
        let callbacks = Arc::new(AtomicU8::new(0));
        let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude.lua");
        let host = host(&lua, program.path(), stage, target, seed)?;
        let told = callbacks.clone();
        let tell = move |_: &Lua, now: u8| {
            told.store(now, Relaxed);
            Ok(())
        };
        host.set("tell", lua.create_function(tell)?)?;
        let calls = Calls::new(&prelude.call(host)?)?;
        let (jit, file) = (Jit::of(&lua)?, program.compile(&lua)?);
        let bound = jit.bound(&lua, &file, program, None)?;
        file.call::<()>(())?;
        drop(bound);
        let mentions_connection = program.mentions_connection();
        let (program, calling, called) = (program.clone(), Arc::default(), Cell::new(0));
        Ok(Machine {
            program,
            calls,
            callbacks,
            mentions_connection,
            file,
            jit,
            calling,
            called,
            lua,
        })
    }

    /// Bounds a call before or after the load, of this callback, until the value that is returned is dropped.
    pub(crate) fn bound(&self, callback: &str) -> Result<Bound<'_>, Fault> {
        let bound = self.jit.bound(&self.lua, &self.file, &self.program, self.line_of(callback));
        bound.map_err(|error| self.fault(&error, None))
    }

    /// Makes a call during the load.
    fn during<T>(&self, callback: Callback, call: impl FnOnce() -> T) -> T {
        let number = self.called.get() + 1;
        self.called.set(number);
        self.calling.enter(number, callback);
        let _inside = Inside::enter();
        let called = call();
        self.calling.leave();
        called
    }

    /// Shows its calls during the load to a thread that watches them.
    pub(crate) fn show(&self, watch: &mut Watch) {
        watch.add(self.calling.clone(), |callback| self.line_of(callback.name()));
    }

    pub(crate) fn callbacks(&self) -> Callbacks {
        Callbacks(self.callbacks.load(Relaxed))
    }

    /// True if the script's text contains the word, so that it may come to read `wrk.connection`.
    pub(crate) fn mentions_connection(&self) -> bool {
        self.mentions_connection
    }

    /// Finds the addresses that accept a connection.
    pub(crate) fn resolve(&self, target: &Target) -> Result<(), Fault> {
        let Target { scheme, host, port, .. } = target;
        let service = port.as_ref().unwrap_or(scheme);
        let found = self.calls.resolve.call((host.as_str(), service.as_str()));
        let (accepting, why): (usize, Option<String>) =
            found.map_err(|error| match self.program.message(&error) {
                message if message.starts_with("unable to resolve ") => Fault(message),
                _ => self.fault(&error, None),
            })?;
        if 0 < accepting {
            return Ok(());
        }
        let why = why.unwrap_or_default();
        Err(Fault(format!("unable to connect to {host}:{service} {why}")))
    }

    /// Calls `setup` for the thread that runs in `other`; only in the main instance.
    pub(crate) fn setup(&self, thread: &Arc<Thread>, other: &Machine) -> Result<(), Fault> {
        let link = thread.link(&self.lua).and_then(|link| {
            link.set("get", self.getter(other)?)?;
            link.set("set", self.setter(other)?)?;
            Ok(link)
        });
        let _bound = self.bound("setup")?;
        self.explained("setup", link.and_then(|link| self.calls.setup.call(link)))
    }

    /// Returns the bytes of a global of `other`; otherwise nil and the reason.
    fn getter(&self, other: &Machine) -> mlua::Result<Function> {
        let (export, other) = (other.calls.export.clone(), other.lua.clone());
        self.lua.create_function(move |lua, name: LuaString| {
            let name = other.create_string(name.as_bytes())?;
            let (bytes, why): (Option<LuaString>, Option<String>) = export.call(name)?;
            let bytes = bytes.map(|bytes| lua.create_string(bytes.as_bytes())).transpose()?;
            Ok((bytes, why))
        })
    }

    fn setter(&self, other: &Machine) -> mlua::Result<Function> {
        let (import, other) = (other.calls.import.clone(), other.lua.clone());
        self.lua.create_function(move |_, (name, bytes): (LuaString, LuaString)| {
            let name = other.create_string(name.as_bytes())?;
            let bytes = other.create_string(bytes.as_bytes())?;
            import.call::<()>((name, bytes))
        })
    }

    /// Makes the thread known to its own instance.
    pub(crate) fn adopt(&self, thread: &Arc<Thread>) -> Result<(), Fault> {
        let adopted = thread.link(&self.lua).and_then(|link| self.calls.adopt.call(link));
        self.explained("init", adopted)
    }

    /// Runs `init`. Returns the request of a script that has only one.
    pub(crate) fn init(&self, url: &str) -> Result<Option<Vec<u8>>, Fault> {
        let _bound = self.bound("init")?;
        let arguments = self.program.arguments().iter().map(String::as_str);
        let made = self.lua.create_sequence_from(arguments).and_then(|arguments| {
            arguments.set(0, url)?;
            self.calls.init.call::<Option<LuaString>>(arguments)
        });
        Ok(self.explained("init", made)?.map(|request| request.as_bytes().to_vec()))
    }

    pub(crate) fn begin(&self) -> Result<(), Fault> {
        self.explained("init", self.calls.begin.call(()))
    }

    /// Appends the next request to `wire`. Returns the tag of its context, or 0. Connections are
    /// counted from 1; `None` if it is not known yet.
    pub(crate) fn next(&self, connection: Option<u32>, wire: &mut Vec<u8>) -> Result<u32, Fault> {
        let mut is_taken = false;
        let take = |state| {
            #[expect(unsafe_code, reason = "mlua allocates for each string whose bytes it lends")]
            // SAFETY: the function is on the stack below its only argument. Of its two results the
            // lower one is at -2 and keeps its `length` bytes until it is replaced there. If the
            // call raises an error, nothing here has to be dropped.
            unsafe {
                ffi::lua_call(state, 1, 2);
                if ffi::lua_type(state, -2) == ffi::LUA_TSTRING {
                    let mut length = 0;
                    let bytes = ffi::lua_tolstring(state, -2, &mut length);
                    wire.extend_from_slice(std::slice::from_raw_parts(bytes.cast(), length));
                    ffi::lua_pushnil(state);
                    ffi::lua_replace(state, -3);
                    is_taken = true;
                }
            }
        };
        #[expect(unsafe_code, reason = "`exec_raw` is unsafe for what `take` does")]
        // SAFETY: `take` leaves two values, as it returns, and it has room for them.
        let called = self.during(Callback::Request, || unsafe {
            self.lua.exec_raw((&self.calls.next, connection), take)
        });
        match called {
            Ok((_, tag)) if is_taken => Ok(Option::<u32>::unwrap_or(tag, 0)),
            Ok((other, _)) => Err(self.not_a_request(&other)),
            Err(error) => Err(self.fault(&error, Some("request"))),
        }
    }

    fn not_a_request(&self, other: &Value) -> Fault {
        self.tell(
            "request",
            &format!(
                "`request` returned a {}; it has to return a request, as a string",
                if other.is_number() || other.is_integer() { "number" } else { other.type_name() }
            ),
        )
    }

    /// Records that the request with this tag turned out to be several.
    pub(crate) fn share(&self, tag: u32, answers: usize) -> Result<(), Fault> {
        self.explained("request", self.calls.share.call((tag, answers)))
    }

    /// Forgets the context of the request with this tag: no callback will get it.
    pub(crate) fn forget(&self, tag: u32) -> Result<(), Fault> {
        self.explained("request", self.calls.forget.call(tag))
    }

    pub(crate) fn answer<'a>(
        &self,
        status: u16,
        fields: impl Iterator<Item = (&'a str, &'a [u8])>,
        body: &[u8],
        connection: u32,
        tag: u32,
    ) -> Result<(), Fault> {
        let answered = headers(&self.lua, fields).and_then(|headers| {
            let body = self.lua.create_string(body)?;
            self.during(Callback::Response, || {
                self.calls.answer.call((status, headers, body, connection, tag))
            })
        });
        self.explained("response", answered)
    }

    pub(crate) fn fail(&self, kind: &str, tag: u32) -> Result<(), Fault> {
        let called = self.during(Callback::Failed, || self.calls.fail.call((kind, tag)));
        self.explained("failed", called)
    }

    /// Returns the script's delay in milliseconds: any number.
    pub(crate) fn delay(&self) -> Result<f64, Fault> {
        self.explained("delay", self.during(Callback::Delay, || self.calls.delay.call(())))
    }

    pub(crate) fn has_done(&self) -> Result<bool, Fault> {
        self.explained("done", self.calls.has_done.call(()))
    }

    pub(crate) fn done(
        &self,
        results: impl FnOnce(&Lua) -> mlua::Result<Three>,
    ) -> Result<(), Fault> {
        let _bound = self.bound("done")?;
        let done = results(&self.lua).and_then(|results| self.calls.done.call(results));
        self.explained("done", done)
    }

    pub(crate) fn used_memory(&self) -> usize {
        self.lua.used_memory()
    }

    /// Takes one step of the collection; true if it was the last one.
    pub(crate) fn collect(&self) -> Result<bool, Fault> {
        self.explained("request", self.lua.gc_step())
    }

    /// Returns an error about what a callback did.
    pub(crate) fn tell(&self, callback: &str, what: &str) -> Fault {
        Fault(self.program.tell(self.line_of(callback), what))
    }

    fn explained<T>(&self, callback: &str, result: mlua::Result<T>) -> Result<T, Fault> {
        result.map_err(|error| self.fault(&error, Some(callback)))
    }

    fn fault(&self, error: &mlua::Error, callback: Option<&str>) -> Fault {
        let nearby = callback.and_then(|callback| self.line_of(callback));
        Fault(self.program.explain(error, nearby))
    }

    /// The line where the script's callback of this name begins, if it has one now.
    fn line_of(&self, callback: &str) -> Option<usize> {
        self.lua.globals().get::<Function>(callback).ok()?.info().line_defined
    }
}

/// The beginning of the prelude's message for a script that calls `os.exit`.
const EXIT: &str = "`os.exit` would end the load";

/// Returns true for the fault of a script that would end the process.
pub fn ends_process(Fault(what): &Fault) -> bool {
    what.contains(EXIT)
}

/// The arguments of `done`.
pub(crate) type Three = (Table, mlua::AnyUserData, mlua::AnyUserData);

/// Builds a table of header fields. Of equal names the last one wins.
fn headers<'a>(
    lua: &Lua,
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> mlua::Result<Table> {
    let headers = lua.create_table()?;
    for (name, value) in fields {
        headers.raw_set(name, lua.create_string(value)?)?;
    }
    Ok(headers)
}

/// Creates a LuaJIT with all libraries that wrk opens, including `debug` and `ffi`, and its own
/// `pcall`, which is compiled; mlua's is not.
fn luajit() -> Lua {
    end::explain();
    let options = LuaOptions::new().catch_rust_panics(false);
    #[expect(unsafe_code, reason = "wrk's scripts may use `ffi` and `debug`, which are not safe")]
    // SAFETY: a script is the user's own program, trusted like every other program that the user
    // starts; a wrong use of `ffi` breaks this process, which holds no data of other users.
    unsafe {
        Lua::unsafe_new_with(StdLib::ALL, options)
    }
}

/// The prelude's argument, without `tell`.
fn host(
    lua: &Lua,
    script: &Path,
    stage: &Stage<'_>,
    target: &Target,
    seed: u64,
) -> mlua::Result<Table> {
    let folder = match script.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let host = lua.create_table()?;
    host.set("folder", lua.create_string(folder.as_os_str().as_bytes())?)?;
    host.set("architecture", std::env::consts::ARCH)?;
    host.set("gettime", lua.create_function(|_, ()| Ok(wall_clock().as_secs_f64()))?)?;
    host.set("time_us", lua.create_function(|_, ()| Ok(wall_clock().as_micros() as f64))?)?;
    host.set("seed", seed_of_luajit(seed))?;
    host.set("is_seed_final", matches!(stage.seed, Seed::Final(_)))?;
    host.set("keeps_output", stage.compatibility == Compatibility::Native)?;
    let sleep = |_: &Lua, seconds| {
        sleep(seconds);
        Ok(())
    };
    host.set("sleep", lua.create_function(sleep)?)?;
    if matches!(stage.compatibility, Compatibility::Native | Compatibility::Dsb) {
        host.set("url", target.url.as_str())?;
    }
    host.set("wrk", wrk(lua, target, stage.defaults)?)?;
    set_network(lua, &host, &stage.network)?;
    Ok(host)
}

fn wrk(lua: &Lua, target: &Target, defaults: &Defaults) -> mlua::Result<Table> {
    let headers = lua.create_table()?;
    for (name, value) in &defaults.headers {
        // Scripts, and wrk itself, look it up in this spelling.
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

/// Adds the network functions. Without a result each returns nil, or false, and the reason.
fn set_network(lua: &Lua, host: &Table, network: &Arc<dyn Network>) -> mlua::Result<()> {
    let of = network.clone();
    let lookup = move |_: &Lua, (name, service): (String, String)| {
        Ok(match of.lookup(&name, &service) {
            Ok(found) => (Some(found.iter().map(network::name_of).collect::<Vec<_>>()), None),
            Err(error) => (None, Some(network::reason(&error))),
        })
    };
    host.set("lookup", lua.create_function(lookup)?)?;
    let of = network.clone();
    let connect = move |_: &Lua, place: String| {
        let why = of.open(&network::address_of(&place)).err();
        Ok((why.is_none(), why.map(|error| network::reason(&error))))
    };
    host.set("connect", lua.create_function(connect)?)?;
    let of = network.clone();
    let fetch = move |lua: &Lua, (place, request): (String, LuaString)| match network::fetch(
        &*of,
        &network::address_of(&place),
        &request.as_bytes(),
    ) {
        Ok(fetched) => {
            let fields = fetched.fields.iter().map(|(name, value)| (&**name, &**value));
            let headers = Value::Table(headers(lua, fields)?);
            let body = Value::String(lua.create_string(&fetched.body)?);
            Ok((Value::Integer(fetched.status.into()), headers, body))
        }
        Err(why) => Ok((Value::Nil, Value::String(lua.create_string(&why)?), Value::Nil)),
    };
    host.set("fetch", lua.create_function(fetch)?)
}

/// The seed for LuaJIT: a floating-point number, which holds 53 bits. Multiplying by the golden
/// ratio first lets each bit of the seed, even those of small numbers, reach the upper ones.
fn seed_of_luajit(seed: u64) -> f64 {
    const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    (seed.wrapping_mul(GOLDEN_RATIO) >> 11) as f64
}

/// The time since 1970.
fn wall_clock() -> Duration {
    #[expect(clippy::disallowed_methods, reason = "the script reads the wall clock")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Blocks the whole thread, as in wrk; a value that is not a valid duration does not block.
fn sleep(seconds: f64) {
    let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    #[expect(clippy::disallowed_methods, reason = "the script asked to wait")]
    std::thread::sleep(length);
}
