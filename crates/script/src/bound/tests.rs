use std::sync::mpsc;
use std::thread;

use load::Fault;

use super::*;
use crate::Results;
use crate::support::{Setting, exchange, path};

const SHORT: Duration = Duration::from_millis(200);

fn setting() -> Setting {
    Setting { longest_call: SHORT, ..Setting::default() }
}

/// Returns the line of the error with which this script ends.
fn line_of_the_end(text: &str) -> String {
    let played = setting().play(text);
    let done = |(set, _): (crate::ScriptSet, Vec<crate::Script>)| set.done(0, &Results::default());
    let fault = played.and_then(done).unwrap_err();
    assert!(is_endless(&fault), "{fault:?}");
    let Fault(what) = fault;
    let (place, rest) = what.split_once(": ").unwrap();
    assert_eq!(rest, "the script did not return within 0.2 s", "{text}");
    place.to_owned()
}

#[test]
fn a_loop_before_or_after_the_load_ends_with_its_line() {
    for text in [
        "\nwhile true do end",
        "local function forever()\nwhile true do end end\nforever()",
        "local n = 0\nrepeat n = n + 1 until n < 0",
        "function setup()\nwhile true do end end",
        "function init()\nwhile true do end end",
        "function request()\nwhile true do end end",
        "function done()\nwhile true do end end",
        // The error cannot be caught.
        "local function forever()\nwhile true do end end\nwhile true do pcall(forever) end",
    ] {
        let place = line_of_the_end(text);
        let line: u32 = place.strip_prefix("scripts/mine.lua:").unwrap().parse().unwrap();
        assert!(line == 2 || line == 3 && text.contains("pcall"), "{text}: {place}");
    }
}

/// The functions are compiled once the load begins: that is what makes them fast.
#[test]
fn the_load_runs_compiled_code() {
    let text = "
        local info = require('jit.util').traceinfo
        local before = info(1)
        function request()
            local sum = 0
            for n = 1, 1000 do sum = sum + n end
            return wrk.format('GET', '/' .. tostring(info(1) ~= nil))
        end
    ";
    let mut script = setting().script(text).unwrap();
    let all: Vec<String> = (0..50).map(|_| path(&mut script)).collect();
    assert_eq!(all.last().unwrap(), "/true", "{all:?}");
}

#[test]
fn a_callback_that_does_not_return_is_seen_by_another_thread() {
    let text = "\nfunction response()\nlocal begin = os.clock()\nrepeat until 0.3 < os.clock() - begin end";
    let (set, mut scripts) = setting().play(text).unwrap();
    let mut watch = set.watch();
    let mut script = scripts.pop().unwrap();
    assert_eq!(watch.look(SHORT * 9), None);
    let answered = thread::spawn(move || exchange(&mut script, "HTTP/1.1 200 OK", ""));
    let (_kept, nothing) = mpsc::channel::<()>();
    let stuck = (0..1_000).find_map(|_| {
        nothing.recv_timeout(Duration::from_millis(5)).unwrap_err();
        watch.look(SHORT / 4)
    });
    assert_eq!(
        stuck.unwrap(),
        "scripts/mine.lua:2: `response`: the script did not return within 0.2 s"
    );
    answered.join().unwrap();
    assert_eq!(watch.look(SHORT * 9), None);
}

/// A function of C calls no hook.
#[test]
fn a_call_that_waits_outside_of_lua_is_seen_by_another_thread() {
    let text = "\nfunction init() os.execute('sleep 2') end";
    let path = std::path::Path::new("scripts/mine.lua");
    let program = Program::parse(path, text.into(), vec![]).unwrap().with_longest_call(SHORT);
    let mut watch = Watch::before(&program);
    assert_eq!(watch.look(SHORT * 9), None);
    let assembled = thread::spawn(move || Setting::default().perform(&program).is_err());
    let (_kept, nothing) = mpsc::channel::<()>();
    let stuck = (0..1_000).find_map(|_| {
        nothing.recv_timeout(Duration::from_millis(5)).unwrap_err();
        watch.look(LATER / 4)
    });
    assert_eq!(
        stuck.unwrap(),
        "scripts/mine.lua:2: the script did not return within 0.2 s from a function of C, such as `os.execute`, \
         `io.read` or `string.find`"
    );
    // Only now it returns.
    assembled.join().unwrap();
    assert_eq!(watch.look(LATER * 9), None);
}
