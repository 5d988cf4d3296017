use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use expect_test::{Expect as Golden, expect};
use load::Fault;
use wire::http1::Expect;

use super::{Defaults, Script, Target, seed_of_luajit};
use crate::Program;

#[test]
fn a_script_without_request_sends_what_wrk_says() {
    check(
        "",
        expect![[r#"
            GET /index.html?a=b HTTP/1.1
            Host: localhost:5000

        "#]],
    );
}

#[test]
fn method_headers_and_body_are_set_at_the_top_of_a_script() {
    check(
        r#"
            wrk.method = "POST"
            wrk.body = "foo=bar&baz=quux"
            wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
        "#,
        expect![[r#"
            POST /index.html?a=b HTTP/1.1
            Content-Length: 16
            Content-Type: application/x-www-form-urlencoded
            Host: localhost:5000

            foo=bar&baz=quux"#]],
    );
}

#[test]
fn a_request_is_exactly_the_bytes_that_the_script_returns() {
    let mut script = script(r#"request = function() return wrk.format("GET", "/\195\188") end"#);
    assert_eq!(bytes(&mut script), b"GET /\xc3\xbc HTTP/1.1\r\nHost: localhost:5000\r\n\r\n");
}

#[test]
fn format_takes_what_is_missing_from_wrk() {
    check(
        r#"
            wrk.headers["X-Mine"] = "always"
            request = function() return wrk.format(nil, "/counter/" .. 7) end
        "#,
        expect![[r#"
            GET /counter/7 HTTP/1.1
            Host: localhost:5000
            X-Mine: always

        "#]],
    );
}

#[test]
fn format_takes_an_absolute_url_and_headers_of_its_own() {
    check(
        r#"
            wrk.headers["X-Mine"] = "always"
            request = function()
                return wrk.format("POST", url .. "/user?username=a", { Accept = "*/*" }, nil)
            end
        "#,
        expect![[r#"
            POST http://localhost:5000/user?username=a HTTP/1.1
            Accept: */*
            Host: localhost:5000

        "#]],
    );
}

#[test]
fn format_accepts_numbers_for_texts() {
    check(
        r#"request = function() return wrk.format("PUT", "/", { ["X-Number"] = 1.5 }, 12345) end"#,
        expect![[r#"
            PUT / HTTP/1.1
            Content-Length: 5
            Host: localhost:5000
            X-Number: 1.5

            12345"#]],
    );
}

#[test]
fn format_sets_host_and_content_length_in_the_table_passed() {
    check(
        r#"
            local headers = {}
            request = function()
                wrk.format("POST", "/", headers, "four")
                assert(headers["Host"] == "localhost:5000")
                assert(headers["Content-Length"] == 4)
                return wrk.format("GET", "/", headers)
            end
        "#,
        expect![[r#"
            GET / HTTP/1.1
            Host: localhost:5000

        "#]],
    );
}

#[test]
fn a_host_that_is_given_stays() {
    let headers = vec![("host".to_owned(), "hotel.example".to_owned())];
    let script = start("", &target(), &Defaults { headers, ..Defaults::default() }, 1);
    check_script(
        script.unwrap(),
        expect![[r#"
            GET /index.html?a=b HTTP/1.1
            Host: hotel.example

        "#]],
    );
}

#[test]
fn host_brackets_an_ipv6_address_and_has_a_port_only_if_the_url_has() {
    let host = |host: &str, port: Option<&str>| {
        let target = Target { host: host.to_owned(), port: port.map(str::to_owned), ..target() };
        let mut script = start("", &target, &Defaults::default(), 1).unwrap();
        text(&mut script).lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(host("::1", Some("80")), "Host: [::1]:80");
    assert_eq!(host("::1", None), "Host: [::1]");
    assert_eq!(host("localhost", None), "Host: localhost");
}

#[test]
fn the_defaults_are_what_the_script_finds_in_wrk() {
    let defaults = Defaults {
        method: "PATCH".to_owned(),
        headers: vec![("X-Mine".to_owned(), "yes".to_owned())],
        body: Some(b"\xff\0".to_vec()),
    };
    let source = r#"
        assert(wrk.scheme == "http" and wrk.host == "localhost" and wrk.port == "5000")
        assert(wrk.path == "/index.html?a=b" and url == "http://localhost:5000")
        assert(wrk.method == "PATCH" and wrk.headers["X-Mine"] == "yes" and wrk.body == "\255\0")
    "#;
    let mut script = start(source, &target(), &defaults, 1).unwrap();
    assert_eq!(
        bytes(&mut script),
        b"PATCH /index.html?a=b HTTP/1.1\r\nContent-Length: 2\r\nHost: localhost:5000\r\n\
          X-Mine: yes\r\n\r\n\xff\0"
    );
}

#[test]
fn init_gets_the_url_and_the_arguments() {
    let source = r#"
        init = function(args)
            assert(args[0] == "http://localhost:5000" and #args == 2 and args[3] == nil)
            wrk.path = "/" .. args[1] .. "/" .. args[2]
        end
    "#;
    let arguments = vec!["depth".to_owned(), "3".to_owned()];
    let program = Program::parse(Path::new("mine.lua"), source.into(), arguments).unwrap();
    let mut script = Script::new(&program, &target(), &Defaults::default(), 1).unwrap();
    assert!(text(&mut script).starts_with("GET /depth/3 HTTP/1.1\n"));
}

#[test]
fn init_may_define_request() {
    let mut script = script(
        r#"init = function() request = function() return wrk.format("GET", "/late") end end"#,
    );
    assert!(text(&mut script).starts_with("GET /late "));
}

#[test]
fn a_request_function_may_replace_itself_and_remove_itself() {
    let mut script = script(
        r#"
            request = function()
                request = function()
                    request = nil
                    return wrk.format("GET", "/second")
                end
                return wrk.format("GET", "/first")
            end
        "#,
    );
    assert!(text(&mut script).starts_with("GET /first "));
    assert!(text(&mut script).starts_with("GET /second "));
    assert!(text(&mut script).starts_with("GET /index.html?a=b "));
}

#[test]
fn each_script_has_globals_of_its_own() {
    let source = r#"
        counter = 0
        request = function()
            path = "/" .. counter
            wrk.headers["X-Counter"] = counter
            counter = counter + 1
            return wrk.format(nil, path)
        end
    "#;
    let (mut one, mut other) = (script(source), script(source));
    assert!(text(&mut one).starts_with("GET /0 "));
    assert!(text(&mut one).starts_with("GET /1 "));
    assert!(text(&mut other).starts_with("GET /0 "));
    assert!(text(&mut one).contains("X-Counter: 2\n"));
}

#[test]
fn the_answer_to_head_is_expected_without_a_body() {
    for source in ["wrk.method = 'HEAD'", "request = function() return wrk.format('HEAD') end"] {
        assert_eq!(script(source).append(&mut Vec::new()), Ok(Expect::NoBody));
    }
}

#[test]
fn requests_are_appended() {
    let mut script = script("request = function() return wrk.format() end");
    let mut wire = b"before".to_vec();
    script.append(&mut wire).unwrap();
    assert!(wire.starts_with(b"beforeGET /"));
}

const CLOCK_SEEDED: &str = r#"
    local socket = require("socket")
    math.randomseed(socket.gettime() * 1000)
    request = function()
        math.randomseed(os.time())
        local headers = { A = math.random(), B = math.random(0, 500), C = "c", D = "d", E = "e" }
        return wrk.format("GET", "/" .. math.random(1, 1000000), headers)
    end
"#;

#[test]
fn a_clock_seeded_script_repeats_exactly_with_the_same_seed() {
    assert_eq!(hundred(CLOCK_SEEDED, 7), hundred(CLOCK_SEEDED, 7));
}

#[test]
fn different_seeds_give_different_requests() {
    let seeds = [0, 1, 2, 1 << 63, u64::MAX];
    for (index, &one) in seeds.iter().enumerate() {
        for &other in &seeds[..index] {
            assert_ne!(hundred(CLOCK_SEEDED, one), hundred(CLOCK_SEEDED, other), "{one} {other}");
        }
    }
}

#[test]
fn every_bit_of_a_seed_counts() {
    for bit in 0..64 {
        assert_ne!(seed_of_luajit(42), seed_of_luajit(42 ^ (1 << bit)), "bit {bit}");
    }
}

#[test]
fn socket_has_the_wall_clock_and_sleep_and_explains_what_it_has_not() {
    check_fault(
        r#"
            local socket = require "socket"
            local before = socket.gettime()
            assert(os.time() - 2 < before and before < os.time() + 2)
            socket.sleep(0.01)
            assert(0.009 < socket.gettime() - before)
            socket.sleep(-1)
            socket.tcp()
        "#,
        expect![
            "scripts/mine.lua:8: `socket.tcp` is not built in, only `socket.gettime` and `socket.sleep` are"
        ],
    );
}

#[test]
fn the_libraries_that_wrk_opens_are_there_and_code_is_compiled() {
    script(
        r#"
            local ffi = require("ffi")
            ffi.cdef("int getpid(void);")
            assert(ffi.C.getpid() > 0)
            assert(debug.getinfo(1, "l").currentline == 5)
            assert(jit.status() == true and require("bit").bor(1, 2) == 3)
            assert(io.open and os.getenv and coroutine.create and string.rep and table.concat)
        "#,
    );
}

#[test]
fn a_script_writes_to_standard_error_since_the_result_has_standard_output() {
    script(r#"assert(io.output() == io.stderr)"#);
}

#[test]
fn modules_are_found_in_the_folder_of_the_script() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("paths.lua"), "return { first = '/from-a-module' }").unwrap();
    let path = folder.path().join("mine.lua");
    fs::write(&path, "wrk.path = require('paths').first").unwrap();
    let program = Program::load(&path, vec![]).unwrap();
    let mut script = Script::new(&program, &target(), &Defaults::default(), 1).unwrap();
    assert!(text(&mut script).starts_with("GET /from-a-module "));
}

#[test]
fn an_error_at_the_top_or_in_init_names_file_and_line() {
    check_fault(
        "local a = 1\nlocal b = a.b.c\n",
        expect!["scripts/mine.lua:2: attempt to index local 'a' (a number value)"],
    );
    check_fault(
        "init = function()\n  error('no dataset')\nend",
        expect!["scripts/mine.lua:2: no dataset"],
    );
}

#[test]
fn an_error_while_requests_are_made_names_file_and_line() {
    check_next_fault(
        "local n = 0\nrequest = function()\n  n = n + 1\n  return n .. nil\nend",
        expect!["scripts/mine.lua:4: attempt to concatenate a nil value"],
    );
}

#[test]
fn an_error_in_what_a_script_calls_names_the_line_that_called_it() {
    check_next_fault(
        "request = function()\n  local text = wrk.format('GET', '/', 7)\n  return text\nend",
        expect![
            "scripts/mine.lua:2: prelude.lua:91: attempt to index local 'headers' (a number value)"
        ],
    );
    check_next_fault(
        "request = function()\n  require('socket').sleep('long')\nend",
        expect![
            "scripts/mine.lua:2: bad argument #1: error converting Lua string to f64 (expected number or string coercible to number)"
        ],
    );
    check_next_fault(
        "request = function()\n  error('no place', 0)\nend",
        expect!["scripts/mine.lua:2: no place"],
    );
    check_next_fault(
        "request = function() return wrk.format('GET', '/', 7) end",
        expect![
            "scripts/mine.lua:1: prelude.lua:91: attempt to index local 'headers' (a number value)"
        ],
    );
    let told = "setmetatable({}, { __tostring = function() return 'told' end })";
    check_next_fault(
        &format!("request = function()\n  error({told})\nend"),
        expect!["scripts/mine.lua:2: told"],
    );
}

#[test]
fn a_request_that_is_no_string_is_refused() {
    check_next_fault(
        "\nrequest = function() end",
        expect![
            "scripts/mine.lua:2: `request` returned a nil; it has to return a request, as a string"
        ],
    );
    check_next_fault(
        "request = function() return {} end",
        expect![
            "scripts/mine.lua:1: `request` returned a table; it has to return a request, as a string"
        ],
    );
}

#[test]
fn bytes_that_are_not_one_request_are_refused() {
    check_next_fault(
        "request = function() return '/hotels' end",
        expect![
            "scripts/mine.lua:1: what `request` returned is incomplete: the empty line after its headers is missing, or a part of the body which they announce"
        ],
    );
    check_next_fault(
        "request = function() return 'GET /a b HTTP/1.1\\r\\n\\r\\n' end",
        expect![
            "scripts/mine.lua:1: what `request` returned is no HTTP/1.1 request; `wrk.format` makes one"
        ],
    );
    check_next_fault(
        "local three = wrk.format():rep(3)\nrequest = function() return three end",
        expect![
            "scripts/mine.lua:2: what `request` returned goes on after its end: a body needs a `Content-Length`, and several requests at once (pipelining) are not supported yet"
        ],
    );
    check_fault(
        "wrk.path = 'a b'",
        expect!["scripts/mine.lua: the request is no HTTP/1.1 request; `wrk.format` makes one"],
    );
}

#[test]
fn a_request_that_is_refused_leaves_nothing_on_the_wire() {
    let mut wire = Vec::new();
    script("request = function() return 'GET' end").append(&mut wire).unwrap_err();
    assert_eq!(wire, b"");
}

#[test]
fn callbacks_that_would_be_ignored_are_refused_by_name() {
    check_fault(
        "\nfunction response(status, headers, body) end",
        expect!["scripts/mine.lua:2: the callback `response` is not supported yet"],
    );
    check_fault(
        "function delay() return 10 end",
        expect!["scripts/mine.lua:1: the callback `delay` is not supported yet"],
    );
    check_fault(
        "done = function(summary, latency, requests) end",
        expect!["scripts/mine.lua:1: the callback `done` is not supported yet"],
    );
    check_fault(
        "function setup(thread) end\nfunction init() error('never') end",
        expect!["scripts/mine.lua:1: the callback `setup` is not supported yet"],
    );
    check_fault(
        "function init()\n  response = function() end\nend",
        expect!["scripts/mine.lua:2: the callback `response` is not supported yet"],
    );
}

#[test]
fn a_global_that_only_has_the_name_of_a_callback_is_no_callback() {
    script("done = 0\ndelay = 'none'");
}

#[test]
fn parts_of_wrk_that_are_missing_are_refused_by_name() {
    check_fault(
        "\nlocal addresses = wrk.lookup('localhost', 'http')",
        expect!["scripts/mine.lua:2: `wrk.lookup` is not supported yet"],
    );
    check_fault(
        "wrk.setup = function(thread) end",
        expect!["scripts/mine.lua:1: `wrk.setup` is not supported yet"],
    );
    check_next_fault(
        "request = function()\n  wrk.thread:stop()\nend",
        expect!["scripts/mine.lua:2: `wrk.thread` is not supported yet"],
    );
}

#[test]
fn the_originals_script_runs_unmodified() {
    let Some(peers) = peers("the_originals_script_runs_unmodified") else { return };
    let path = peers.join(
        "deathstarbench/hotelReservation/wrk2/scripts/hotel-reservation/mixed-workload_type_1.lua",
    );
    let program = Program::load(&path, vec![]).unwrap();
    let requests = 100_000;
    let kinds = [
        ("GET http://localhost:5000/hotels?inDate=2015-04-", 0.6),
        ("GET http://localhost:5000/recommendations?require=", 0.39),
        ("POST http://localhost:5000/user?username=Cornell_", 0.005),
        ("POST http://localhost:5000/reservation?inDate=2015-04-", 0.005),
    ];

    let mut script = Script::new(&program, &target(), &Defaults::default(), 3).unwrap();
    let mut counts = [0; 4];
    for _ in 0..requests {
        let request = text(&mut script);
        let kind = kinds.iter().position(|(start, _)| request.starts_with(start));
        counts[kind.unwrap_or_else(|| panic!("{request}"))] += 1;
        assert!(request.ends_with(" HTTP/1.1\nHost: localhost:5000\n\n"), "{request}");
    }

    for ((start, share), count) in kinds.into_iter().zip(counts) {
        let expected = share * f64::from(requests);
        let deviation = (expected * (1.0 - share)).sqrt();
        assert!((f64::from(count) - expected).abs() < 4.0 * deviation, "{start}: {count}");
    }
}

#[test]
fn wrks_own_scripts_run_or_are_refused_by_name() {
    let Some(peers) = peers("wrks_own_scripts_run_or_are_refused_by_name") else { return };
    let first = |name: &str| {
        let path = peers.join("wrk/scripts").join(name);
        let program = Program::load(&path, vec![]).unwrap();
        match Script::new(&program, &target(), &Defaults::default(), 1) {
            Ok(mut script) => try_text(&mut script),
            Err(fault) => Err(fault),
        }
    };
    let refused = |name: &str, callback: &str| {
        let Fault(what) = first(name).unwrap_err();
        assert!(
            what.ends_with(&format!("the callback `{callback}` is not supported yet")),
            "{what}"
        );
    };
    assert!(first("counter.lua").unwrap().starts_with("GET /0 "));
    assert!(first("post.lua").unwrap().ends_with("\n\nfoo=bar&baz=quux"));
    assert!(first("pipeline.lua").unwrap_err().0.contains("pipelining"));
    refused("auth.lua", "response");
    refused("delay.lua", "delay");
    refused("report.lua", "done");
    refused("setup.lua", "setup");
}

fn target() -> Target {
    Target {
        url: "http://localhost:5000".to_owned(),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: Some("5000".to_owned()),
        path: "/index.html?a=b".to_owned(),
    }
}

fn start(source: &str, target: &Target, defaults: &Defaults, seed: u64) -> Result<Script, Fault> {
    let path = Path::new("scripts/mine.lua");
    let program = Program::parse(path, source.into(), vec![]).unwrap();
    Script::new(&program, target, defaults, seed)
}

fn script(source: &str) -> Script {
    start(source, &target(), &Defaults::default(), 1).unwrap()
}

fn bytes(script: &mut Script) -> Vec<u8> {
    let mut wire = Vec::new();
    script.append(&mut wire).unwrap();
    wire
}

/// With the line ends that golden texts have.
fn text(script: &mut Script) -> String {
    try_text(script).unwrap()
}

fn try_text(script: &mut Script) -> Result<String, Fault> {
    let mut wire = Vec::new();
    script.append(&mut wire)?;
    Ok(String::from_utf8(wire).unwrap().replace("\r\n", "\n"))
}

fn hundred(source: &str, seed: u64) -> Vec<String> {
    let mut script = start(source, &target(), &Defaults::default(), seed).unwrap();
    (0..100).map(|_| text(&mut script)).collect()
}

fn check(source: &str, expected: Golden) {
    check_script(script(source), expected);
}

/// Twice, since a script that has only one request takes another way than the first.
fn check_script(mut script: Script, expected: Golden) {
    expected.assert_eq(&text(&mut script));
    expected.assert_eq(&text(&mut script));
}

fn check_fault(source: &str, expected: Golden) {
    let Fault(what) = start(source, &target(), &Defaults::default(), 1).unwrap_err();
    expected.assert_eq(&what);
}

fn check_next_fault(source: &str, expected: Golden) {
    let Fault(what) = script(source).append(&mut Vec::new()).unwrap_err();
    expected.assert_eq(&what);
}

/// The folder with the originals' scripts, which are not ours to ship; without it `test` is
/// reported as skipped.
fn peers(test: &str) -> Option<PathBuf> {
    const PEERS: &str = "BENCHWRIGHT_PEERS";
    let folder = std::env::var_os(PEERS).filter(|folder| !folder.is_empty());
    if folder.is_none() {
        skip(&format!("skipped: {test}: needs {PEERS}\n"));
    }
    folder.map(PathBuf::from)
}

#[expect(clippy::print_stderr, reason = "a skipped test must not pass in silence")]
fn skip(line: &str) {
    eprint!("{line}");
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}
