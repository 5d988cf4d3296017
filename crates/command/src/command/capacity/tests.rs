use std::collections::BTreeMap;
use std::fs;

use clap::{Arg, CommandFactory, Parser};

use super::*;
use crate::cli::{Cli, Command};

fn read(arguments: &[&str]) -> Capacity {
    let first = ["benchwright", "capacity", "http://127.0.0.1:8080/"];
    let cli = Cli::try_parse_from(first.iter().chain(arguments)).unwrap_or_else(|e| panic!("{e}"));
    match cli.command {
        Command::Capacity(capacity) => *capacity,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_load_has_too_is_spelled_as_there() {
    let cli = Cli::command();
    let spelled = |name: &str| -> BTreeMap<String, (Option<char>, Option<String>)> {
        let command = cli.find_subcommand(name).unwrap();
        let one = |argument: &Arg| {
            let value = argument.get_value_names().map(|names| names[0].to_string());
            Some((argument.get_long()?.to_owned(), (argument.get_short(), value)))
        };
        command.get_arguments().filter_map(one).collect()
    };
    let (load, capacity) = (spelled("load"), spelled("capacity"));
    let both: Vec<&String> = capacity.keys().filter(|name| load.contains_key(*name)).collect();
    assert!(15 < both.len(), "{both:?}");
    // Of an experiment, `--json` is a flag, as it is of `run`.
    for name in both.into_iter().filter(|name| *name != "json") {
        assert_eq!(capacity[name], load[name], "--{name}");
    }
}

#[test]
fn without_an_slo_there_is_no_question() {
    let error = Cli::try_parse_from(["benchwright", "capacity", "http://h/"]).unwrap_err();
    assert!(error.to_string().contains("--slo <OBJECTIVES>"), "{error}");
}

#[test]
fn the_header_file_is_secret_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fields");
    fs::write(&file, "X-Team: seven\n").unwrap();
    let file = file.display().to_string();
    let arguments = read(&["--slo", "50ms", "-H", "Accept: a", "--header-file", &file]);
    let headers = asked(&arguments).unwrap().headers;
    let secret: Vec<(&str, bool)> =
        headers.iter().map(|field| (&*field.name, field.is_secret)).collect();
    assert_eq!(secret, [("Accept", false), ("X-Team", true)]);
}

#[test]
fn the_sessions_of_a_mix_make_the_phases_longer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.jsonl");
    let steps = r#"{"session":"s","steps":["a","think exp:3s","a","think 900ms","a"]}"#;
    fs::write(&file, format!("{{\"label\":\"a\",\"target\":\"/a\"}}\n{steps}\n")).unwrap();
    let name = file.display().to_string();
    let of = |words: &[&str]| {
        let words = [&["--slo", "50ms"][..], words].concat();
        asked(&read(&words)).map(|asked| asked.session)
    };
    assert_eq!(of(&["--mix", &name]).unwrap(), Nanos::from_millis(3_900));
    assert_eq!(of(&[]).unwrap(), Nanos::ZERO);
    // The check of the experiment says that it is not there.
    assert_eq!(of(&["--mix", "/nowhere/m.jsonl"]).unwrap(), Nanos::ZERO);
    fs::write(&file, "{}").unwrap();
    let wrong = of(&["--mix", &name]).unwrap_err();
    assert!(format!("{wrong:#}").contains("m.jsonl:1:"), "{wrong:#}");
}

#[test]
fn a_file_with_another_experiment_is_kept_and_one_with_the_same_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    let yaml = |slo: &str| {
        let asked = asked(&read(&["--slo", slo])).unwrap();
        lab::asked::experiment(&asked, "a.yaml", folder.path()).unwrap().yaml
    };
    let (one, other) = (yaml("50ms"), yaml("60ms"));
    assert!(!is_saved(&file, &one).unwrap() && !file.exists(), "a question writes nothing");
    assert!(!save(&file, &one).unwrap());
    assert!(save(&file, &one).unwrap(), "the second try of a command");
    let refused = |path: &Path| save(path, &other).unwrap_err().to_string();
    let why = refused(&file);
    assert!(why.contains("nothing was loaded; name a new file, remove this one"), "{why}");
    assert_eq!(fs::read_to_string(&file).unwrap(), one);

    // What is not an experiment is not called one, and `run` would not help.
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "buy milk\n").unwrap();
    let why = refused(&notes);
    assert!(
        why.ends_with("which is not an experiment, and nothing was loaded; name another"),
        "{why}"
    );
    let why = refused(folder.path());
    assert!(why.contains("it is a folder, and nothing was loaded; name a file in it"), "{why}");
}
