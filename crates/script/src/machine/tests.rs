use std::fs;

use expect_test::expect;
use load::Fault;

use super::{ends_process, seed_of_luajit};
use crate::bound::is_endless;
use crate::support::{Setting, script};
use crate::{Compatibility, Program};

#[test]
fn every_bit_of_a_seed_counts() {
    for bit in 0..64 {
        assert_ne!(seed_of_luajit(42), seed_of_luajit(42 ^ (1 << bit)), "bit {bit}");
    }
}

#[test]
fn socket_has_the_wall_clock_and_sleep() {
    script(
        r#"
            local socket = require "socket"
            local before = socket.gettime()
            assert(os.time() - 2 < before and before < os.time() + 2)
            socket.sleep(0.01)
            assert(0.009 < socket.gettime() - before)
            socket.sleep(-1)
            local us = wrk.time_us()
            assert(us % 1 == 0 and math.abs(us / 1e6 - socket.gettime()) < 1)
            assert(require("socket") == socket)
        "#,
    );
}

#[test]
fn a_script_cannot_end_the_process() {
    for text in ["\nos.exit(0)", "\nos.exit()", "\nlocal function leave() os.exit(1) end leave()"] {
        let fault = Setting::default().script(text).unwrap_err();
        assert!(ends_process(&fault) && !is_endless(&fault));
        let Fault(what) = fault;
        assert!(what.starts_with("scripts/mine.lua:2: `os.exit` would end the load"), "{what}");
    }
}

#[test]
fn socket_explains_what_it_lacks() {
    let Fault(what) = Setting::default()
        .script("package.path, package.cpath = '', ''\nlocal tcp = require('socket').tcp")
        .unwrap_err();
    expect!["scripts/mine.lua:2: `socket.tcp` is not built in, only `socket.gettime` and `socket.sleep` are, and LuaSocket is not installed where `package.path` and `package.cpath` look"].assert_eq(&what);
}

#[test]
fn other_fields_of_socket_are_those_of_a_luasocket_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let core = "return { tcp = function() return 'tcp' end, gettime = function() return 0 end }";
    fs::write(folder.path().join("socket.lua"), core).unwrap();
    let ours = r#"
        local socket = require("socket")
        assert(socket.tcp() == "tcp" and socket.nothing == nil)
        assert(1e9 < socket.gettime() and require("socket") == socket)
    "#;
    // A LuaSocket of the system would be found first.
    let alone = "package.path, package.cpath = package.path:match('[^;]*$'), ''";
    let path = folder.path().join("mine.lua");
    fs::write(&path, format!("{alone}\n{ours}")).unwrap();
    let program = Program::load(&path, vec![]).unwrap();
    Setting::default().perform(&program).unwrap();
}

#[test]
fn modules_are_looked_for_where_the_distributions_packages_put_them() {
    script(
        r#"
            local function has(path, item) return (";" .. path .. ";"):find(";" .. item .. ";", 1, true) end
            assert(has(package.path, "./?.lua") and has(package.cpath, "./?.so"))
            assert(has(package.path, "/usr/share/lua/5.1/?.lua"))
            assert(has(package.path, "/usr/share/lua/5.1/?/init.lua"))
            local triplet = jit.arch == "x64" and "x86_64-linux-gnu" or "aarch64-linux-gnu"
            assert(has(package.cpath, "/usr/lib/" .. triplet .. "/lua/5.1/?.so"), package.cpath)
            assert(has(package.cpath, "/usr/local/lib/lua/5.1/loadall.so"))
        "#,
    );
}

#[test]
fn the_global_url_is_there_where_the_original_has_it() {
    for (compatibility, has) in [
        (Compatibility::Native, true),
        (Compatibility::Wrk, false),
        (Compatibility::Wrk2, false),
        (Compatibility::Dsb, true),
    ] {
        let source = format!("assert((url == 'http://localhost:5000') == {has})");
        Setting::of(compatibility).script(&source).unwrap();
    }
}

#[test]
fn a_script_writes_to_standard_error_only_where_the_result_has_standard_output() {
    script("assert(io.output() == io.stderr)");
    for compatibility in [Compatibility::Wrk, Compatibility::Wrk2, Compatibility::Dsb] {
        Setting::of(compatibility).script("assert(io.output() == io.stdout)").unwrap();
    }
}
