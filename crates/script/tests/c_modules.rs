//! C modules for Lua 5.1 find Lua's functions in the program, as they do in wrk.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use load::Fault;
use measure::pace::Portion;
use script::{Compatibility, Defaults, Nowhere, Program, ScriptSet, Seed, Stage, Target};

/// The source of a C module. It declares the functions itself, since Lua's headers may be missing.
const MODULE: &str = r#"
    #include <stddef.h>
    typedef struct lua_State lua_State;
    typedef int (*lua_CFunction)(lua_State *);
    typedef struct { const char *name; lua_CFunction function; } luaL_Reg;
    extern ptrdiff_t luaL_checkinteger(lua_State *, int);
    extern void lua_pushinteger(lua_State *, ptrdiff_t);
    extern void luaL_register(lua_State *, const char *, const luaL_Reg *);
    extern int luaL_error(lua_State *, const char *, ...);

    static int twice(lua_State *lua) {
        ptrdiff_t number = luaL_checkinteger(lua, 1);
        if (number < 0) return luaL_error(lua, "%d is negative", (int) number);
        lua_pushinteger(lua, 2 * number);
        return 1;
    }

    static const luaL_Reg functions[] = { { "twice", twice }, { NULL, NULL } };

    int luaopen_twice(lua_State *lua) {
        luaL_register(lua, "twice", functions);
        return 1;
    }
"#;

#[test]
fn a_c_module_for_lua_5_1_loads() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("twice.c");
    fs::write(&source, MODULE).unwrap();
    let library = folder.path().join("twice.so");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(built.expect("a C compiler builds LuaJIT, too").success());

    let open = format!("package.cpath = '{}/?.so'\n", folder.path().display());
    run(&format!("{open}assert(require('twice').twice(21) == 42)")).unwrap();
    let Fault(what) = run(&format!("{open}require('twice').twice(-1)")).unwrap_err();
    assert_eq!(what, "mine.lua:2: -1 is negative");
}

#[test]
fn a_c_module_of_the_distribution_is_found_where_its_package_puts_it() {
    if !Path::new("/usr/share/lua/5.1/cjson/util.lua").exists() {
        let test = "a_c_module_of_the_distribution_is_found_where_its_package_puts_it";
        return skip(&format!("skipped: {test}: needs lua-cjson\n"));
    }
    let decodes = r#"
        assert(require("cjson").decode('{"a": [1, 2]}').a[2] == 2)
        assert(type(require("cjson.util").serialise_value) == "function")
    "#;
    run(decodes).unwrap();
}

#[expect(clippy::print_stderr, reason = "a skipped test must not pass in silence")]
fn skip(line: &str) {
    eprint!("{line}");
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

fn run(source: &str) -> Result<(), Fault> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.lua");
    fs::write(&path, source).unwrap();
    let program = Program::load(&path, Vec::new()).unwrap();
    let target = Target {
        url: "http://localhost".to_owned(),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: None,
        path: "/".to_owned(),
    };
    let stage = Stage {
        compatibility: Compatibility::Wrk,
        targets: &[target],
        threads: 1,
        part: Portion::WHOLE,
        defaults: &Defaults::default(),
        seed: Seed::Initial(1),
        network: Arc::new(Nowhere),
    };
    let shown = format!("{}/", folder.path().display());
    ScriptSet::assemble(&program, &stage)
        .map(drop)
        .map_err(|fault| Fault(fault.0.replace(&shown, "")))
}
