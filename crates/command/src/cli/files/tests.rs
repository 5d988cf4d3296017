use std::ffi::OsString;
use std::fs;

use super::*;
use crate::cli;

fn refused(words: &[&str]) -> Option<String> {
    let words = ["benchwright"].iter().chain(words).map(OsString::from);
    let (_, files) = cli::read_from(words).unwrap();
    console::files::check(&files).err().map(|failure| failure.error.to_string())
}

#[test]
fn each_argument_that_is_written_exists_and_is_a_path() {
    let program = cli::command();
    for (command, written) in WRITTEN {
        let of_ycsb = || program.find_subcommand("ycsb")?.find_subcommand(command);
        let found = program.find_subcommand(command).or_else(of_ycsb).unwrap();
        for (id, _) in written {
            let argument = found.get_arguments().find(|it| it.get_id() == id).unwrap();
            assert!(is_file(command, argument), "{command} {id}");
        }
    }
}

/// A new option that writes a file must be among them: its help begins like those of the others.
#[test]
fn each_option_whose_help_speaks_of_writing_is_among_those_that_write() {
    fn check(command: &Command) {
        for argument in command.get_arguments().filter(|it| is_file(command.get_name(), it)) {
            let help = argument.get_help().map_or(String::new(), |help| help.to_string());
            let writes = ["Write ", "Print ", "Note "].iter().any(|begin| help.starts_with(begin))
                || ["to write", "write it"].iter().any(|part| help.contains(part));
            let (name, id) = (command.get_name(), argument.get_id());
            assert!(
                !writes || super::written(name, argument).is_some(),
                "`{name}` writes {id}: {help}"
            );
        }
        command.get_subcommands().for_each(check);
    }
    check(&cli::command());
}

#[test]
fn no_command_replaces_what_it_reads_or_writes_besides() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, page, yaml, mix) = (path("a"), path("a.html"), path("a.yaml"), path("a.jsonl"));
    fs::write(&a, "").unwrap();
    let url = "http://h/";
    let json = format!("--json={a}");
    let cases: [&[&str]; 13] = [
        &["load", url, "--closed", &json, "--samples", &a],
        &["load", url, "--closed", "--csv", &a, "--hlog", &a],
        &["load", url, "--closed", "--report", &a, "--header-file", &a],
        &["load", url, "--closed", "--report", &a, "--script", &a],
        &["load", url, "--rate", "1/s", "--events", "binary", "--notes", &a, &json],
        &["report", &a, "--out", &a],
        &["report", &a, &page],
        &["merge", &a, &json],
        &["init", &a, "--out", &a, "--force"],
        &["init", &mix, "--as", "log", "--out", &yaml, "--force"],
        &["init", url, "--ca", &a, "--out", &a, "--force"],
        &["capacity", url, "--slo", "p99<=1ms", "--mix", &a, "--save", &a],
        &["capacity", url, "--slo", "p99<=1ms", "--save", &yaml, "--out", &yaml],
    ];
    for words in cases {
        let why = refused(words).unwrap_or_else(|| panic!("{words:?} is accepted"));
        assert!(why.contains("the same file") || why.contains("would replace"), "{why}");
    }
}

#[test]
fn different_files_and_standard_output_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b) = (path("a"), path("b"));
    fs::write(&a, "").unwrap();
    let load = ["load", "http://h/", "--closed"];
    let cases: [&[&str]; 4] = [
        &["--json", "--csv", &a, "--hlog", &b],
        &["--cert", &a, "--key", &a, "--csv", &b],
        &["--csv", "/dev/null", "--hlog", "/dev/null"],
        &["--header-file", "-", "--json"],
    ];
    for words in cases {
        assert_eq!(refused(&[&load[..], words].concat()), None, "{words:?}");
    }
    assert_eq!(refused(&["report", &a]), None);
    assert_eq!(refused(&["init", "http://h/x.jsonl", "--out", "x.yaml"]), None);
}

#[test]
fn no_other_file_of_the_user_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (hey, other) = (path("hey.txt"), path("precious.sh"));
    let page = path("hey.txt.html");
    for file in [&hey, &other, &page] {
        fs::write(file, "echo mine").unwrap();
    }
    let url = "http://h/";
    let json = format!("--json={other}");
    let cases: [&[&str]; 9] = [
        &["report", &hey, "--out", &other],
        &["report", &hey],
        &["load", url, "--closed", "--report", &other],
        &["load", url, "--closed", &json],
        &["load", url, "--closed", "--csv", &other],
        &["load", url, "--closed", "--hlog", &other],
        &["load", url, "--closed", "--samples", &other],
        &["merge", &hey, &json],
        &["ycsb", "convert", &hey, &other],
    ];
    for words in cases {
        let why = refused(words).unwrap_or_else(|| panic!("{words:?} is accepted"));
        assert!(why.ends_with("; remove it, or choose another name"), "{why}");
    }
}
