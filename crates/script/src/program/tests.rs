use std::path::Path;

use expect_test::{Expect, expect};

use super::{Program, line_of, shorten};

#[test]
fn a_syntax_error_names_file_and_line() {
    check(
        "local a = 1\nlocal b = = 2\n",
        expect!["scripts/mine.lua:2: unexpected symbol near '='"],
    );
    check(
        "request = function()\n",
        expect!["scripts/mine.lua:2: 'end' expected (to close 'function' at line 1) near '<eof>'"],
    );
}

#[test]
fn bytes_that_are_not_text_are_not_a_script() {
    check("\u{7f}ELF\0\u{1}", expect![[r"scripts/mine.lua:1: unexpected symbol near 'char(127)'"]]);
    let bytecode = "\u{1b}LJ\u{2}";
    check(bytecode, expect!["scripts/mine.lua: attempt to load a binary chunk (mode is 't')"]);
}

#[test]
fn a_syntax_error_names_the_whole_path_though_lua_shortens_it() {
    let path = format!("{}/mine.lua", "long/".repeat(30));
    let error = Program::parse(Path::new(&path), b"=".to_vec(), vec![]).unwrap_err();
    assert_eq!(error.to_string(), format!("{path}:1: unexpected symbol near '='"));
}

#[test]
fn an_empty_file_and_one_that_starts_with_a_shebang_are_scripts() {
    for source in ["", "#!/usr/bin/env lua\nlocal a = 1\n"] {
        Program::parse(Path::new("mine.lua"), source.into(), vec![]).unwrap();
    }
}

#[test]
fn nothing_runs_while_a_script_is_loaded() {
    Program::parse(Path::new("mine.lua"), b"error('ran')".to_vec(), vec![]).unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let error = Program::load(Path::new("nowhere/mine.lua"), vec![]).unwrap_err();
    expect!["nowhere/mine.lua: the script cannot be read: No such file or directory (os error 2)"]
        .assert_eq(&error.to_string());
}

#[test]
fn a_folder_is_not_a_script() {
    let error = Program::load(Path::new("."), vec![]).unwrap_err();
    expect![".: the script cannot be read: Is a directory (os error 21)"]
        .assert_eq(&error.to_string());
}

#[test]
fn a_name_is_shortened_as_lua_does() {
    let just_fits = "a".repeat(59);
    assert_eq!(shorten(&just_fits), just_fits);
    assert_eq!(shorten(&"a".repeat(60)), format!("...{}", "a".repeat(56)));
}

#[test]
fn the_innermost_line_of_the_script_is_found_in_a_traceback() {
    let traceback = "\n\t[C]: in function 'error'\n\tmine.lua:7: in function 'f'\n\tmine.lua:9: in";
    assert_eq!(line_of("mine.lua", traceback), Some(7));
    assert_eq!(line_of("other.lua", traceback), None);
}

fn check(source: &str, expected: Expect) {
    let path = Path::new("scripts/mine.lua");
    let error = Program::parse(path, source.into(), vec![]).unwrap_err();
    expected.assert_eq(&error.to_string());
}
