use std::fs;

use expect_test::{Expect as Golden, expect};
use load::Fault;
use load::driver::http1::{Expected, HttpWorkload, Origin, Outgoing};
use load::driver::{Label, Session};
use wire::http1::Expect;

use super::Script;
use crate::support::{Setting, bytes, path, script, target, text, try_request};
use crate::{Defaults, Program, Target};

mod callbacks;

#[test]
fn a_script_without_request_sends_the_fields_of_wrk() {
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
fn a_first_line_for_the_shell_is_skipped() {
    check_fault("#!/usr/bin/env wrk\nerror('here')", expect!["scripts/mine.lua:2: here"]);
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
    check_fault(
        "local n = 0\nrequest = function()\n  n = n + 1\n  return n .. nil\nend",
        expect!["scripts/mine.lua:4: attempt to concatenate a nil value"],
    );
}

#[test]
fn an_error_in_what_a_script_calls_names_the_line_that_called_it() {
    check_fault(
        "request = function()\n  local text = wrk.format('GET', '/', 7)\n  return text\nend",
        expect!["scripts/mine.lua:2: attempt to index local 'headers' (a number value)"],
    );
    check_fault(
        "request = function()\n  require('socket').sleep('long')\nend",
        expect![
            "scripts/mine.lua:2: bad argument #1: error converting Lua string to f64 (expected number or string coercible to number)"
        ],
    );
    check_fault(
        "request = function()\n  error('no place', 0)\nend",
        expect!["scripts/mine.lua:2: no place"],
    );
    check_fault(
        "request = function() return wrk.format('GET', '/', 7) end",
        expect!["scripts/mine.lua:1: attempt to index local 'headers' (a number value)"],
    );
    let told = "setmetatable({}, { __tostring = function() return 'told' end })";
    check_fault(
        &format!("request = function()\n  error({told})\nend"),
        expect!["scripts/mine.lua:2: told"],
    );
}

#[test]
fn a_request_that_is_not_a_string_is_refused() {
    check_fault(
        "\nrequest = function() end",
        expect![
            "scripts/mine.lua:2: `request` returned a nil; it has to return a request, as a string"
        ],
    );
    check_fault(
        "request = function() return {} end",
        expect![
            "scripts/mine.lua:1: `request` returned a table; it has to return a request, as a string"
        ],
    );
}

#[test]
fn bytes_that_are_not_one_request_are_refused() {
    check_fault(
        "request = function() return '/hotels' end",
        expect![
            "scripts/mine.lua:1: what `request` returned is not an HTTP/1.1 request; `wrk.format` makes one (at 1:1 of its text)"
        ],
    );
    check_fault(
        "request = function() return 'GET /a b HTTP/1.1\\r\\n\\r\\n' end",
        expect![
            "scripts/mine.lua:1: what `request` returned is not an HTTP/1.1 request; `wrk.format` makes one (at 1:8 of its text)"
        ],
    );
    check_fault(
        "local form = wrk.format('POST') .. 'a=b'\nrequest = function() return form end",
        expect![
            "scripts/mine.lua:2: what `request` returned continues after its end with bytes that are not a request; a body needs a `Content-Length` (at 3:2 of its text)"
        ],
    );
    check_fault(
        "wrk.path = 'a b'",
        expect![
            "scripts/mine.lua: the request is not an HTTP/1.1 request; `wrk.format` makes one (at 1:7 of its text)"
        ],
    );
}

#[test]
fn requests_are_appended_and_one_that_is_refused_leaves_nothing() {
    let mut script = script(
        "local n = 0; request = function() n = n + 1; return n < 3 and wrk.format() or 'GET' end",
    );
    let (mut wire, mut expected) = (b"before".to_vec(), vec![]);
    let origin = Origin { number: 0, label: Label::NONE, session: Session::NONE, connection: 0 };
    let mut outgoing = Outgoing { wire: &mut wire, expected: &mut expected, label: Label::NONE };
    script.next(origin, &mut outgoing).unwrap();
    script.next(origin, &mut outgoing).unwrap_err();
    assert!(wire.starts_with(b"beforeGET /") && wire.ends_with(b"\r\n\r\n"));
    assert_eq!(expected.len(), 1);
}

#[test]
fn the_answer_to_head_is_expected_without_a_body() {
    for source in ["wrk.method = 'HEAD'", "request = function() return wrk.format('HEAD') end"] {
        let (_, expected) = try_request(&mut script(source), 0).unwrap();
        assert_eq!(expected, [Expected { body: Expect::NoBody, tag: 0, closes: false }]);
    }
}

#[test]
fn several_requests_in_one_string_leave_together() {
    for source in [
        "init = function() three = wrk.format('GET') .. wrk.format('HEAD') .. wrk.format('GET') end
         request = function() return three end",
        "local format = wrk.format
         wrk.format = function() return format('GET') .. format('HEAD') .. format('GET') end",
    ] {
        let (script_set, mut scripts) = Setting::default().play(source).unwrap();
        let (wire, expected) = try_request(&mut scripts[0], 0).unwrap();
        let bodies: Vec<Expect> = expected.iter().map(|expected| expected.body).collect();
        assert_eq!(bodies, [Expect::Body, Expect::NoBody, Expect::Body]);
        assert!(wire.ends_with(b"\r\n\r\n"));
        assert_eq!(script_set.at_once(), 3);
    }
}

#[test]
fn the_first_script_is_called_once_beforehand_and_reports_errors_then() {
    let counting = "n = 0; request = function() n = n + 1; return wrk.format(nil, '/' .. n) end";
    let (_, mut scripts) = Setting { threads: 2, ..Setting::default() }.play(counting).unwrap();
    assert_eq!(scripts.iter_mut().map(path).collect::<Vec<_>>(), ["/2", "/1"]);
    check_fault(
        r#"request = function() return "GET / HTTP/1.1\r\nHost: a\r\nAccept" end"#,
        expect![
            "scripts/mine.lua:1: what `request` returned is incomplete: the empty line after its headers is missing, or a part of the body which they announce (at 3:7 of its text)"
        ],
    );
}

#[test]
fn a_script_without_request_is_never_called_again() {
    let mut script = script(
        "local n = 0; wrk.init = function() wrk.request = function()
        n = n + 1; assert(n == 1); return wrk.format() end end",
    );
    assert_eq!(path(&mut script), "/index.html?a=b");
    assert_eq!(path(&mut script), "/index.html?a=b");
    assert!(!script.is_scripted() && !script.prepare().unwrap());
}

#[test]
fn a_request_function_may_replace_itself_and_remove_itself() {
    let mut script = script(
        r#"
            local function third()
                request = nil
                return wrk.format("GET", "/third")
            end
            local function second()
                request = third
                return wrk.format("GET", "/second")
            end
            request = function()
                request = second
                return wrk.format("GET", "/first")
            end
        "#,
    );
    assert_eq!(path(&mut script), "/second");
    assert_eq!(path(&mut script), "/third");
    assert_eq!(path(&mut script), "/index.html?a=b");
}

fn start(source: &str, target: &Target, defaults: &Defaults, seed: u64) -> Result<Script, Fault> {
    let path = std::path::Path::new("scripts/mine.lua");
    let program = Program::parse(path, source.into(), vec![]).unwrap();
    Script::new(&program, target, defaults, seed)
}

fn hundred(source: &str, seed: u64) -> Vec<String> {
    let mut script = start(source, &target(), &Defaults::default(), seed).unwrap();
    (0..100).map(|_| text(&mut script)).collect()
}

fn check(source: &str, expected: Golden) {
    check_script(script(source), expected);
}

/// Checks twice, since the second request of a script with only one takes another path.
fn check_script(mut script: Script, expected: Golden) {
    expected.assert_eq(&text(&mut script));
    expected.assert_eq(&text(&mut script));
}

fn check_fault(source: &str, expected: Golden) {
    let Fault(what) = Setting::default().script(source).unwrap_err();
    expected.assert_eq(&what);
}

/// Those of wrk itself are in its own documentation.
#[test]
fn every_function_that_we_add_to_wrk_has_its_signature_on_the_page_about_it() {
    const OF_WRK: [&str; 6] = ["lookup", "connect", "resolve", "setup", "init", "format"];
    let page = include_str!("../../../../docs/book/porting-wrk.md");
    let defined = include_str!("../prelude.lua").lines();
    let defined = defined.filter_map(|line| line.strip_prefix("function wrk.")?.split('(').next());
    let added: Vec<&str> = defined.filter(|name| !OF_WRK.contains(name)).collect();
    assert!(added.contains(&"fetch"), "{added:?}");
    for name in added {
        assert!(page.contains(&format!("= wrk.{name}(")), "porting-wrk.md has no `wrk.{name}`");
    }
}
