use clap::{CommandFactory, Parser};

use super::*;
use crate::cli::Cli;
use crate::program::{file_behind_json, foreign_option, negative_value};

#[test]
fn an_option_that_differs_elsewhere_is_named_with_all_its_meanings_and_ours() {
    let told = |arguments: &[&str]| {
        let words = std::iter::once("benchwright").chain(arguments.iter().copied());
        let error = Cli::try_parse_from(words).unwrap_err();
        foreign_option(&error, arguments[0])
    };
    assert_eq!(
        told(&["load", "http://h/", "--rate", "1/s", "-d", "30s"]).unwrap(),
        "`-d` is the duration in wrk, and the body of the requests in oha, hey and curl; here write `--duration 30s` \
         or `--body TEXT`"
    );
    assert!(told(&["load", "-t4", "http://h/"]).unwrap().contains("threads in wrk"));
    assert!(told(&["capacity", "http://h/", "--slo", "5ms", "-t4"]).unwrap().contains("--timeout"));
    assert_eq!(told(&["capacity", "http://h/", "--slo", "5ms", "-n", "9"]), None);
    assert_eq!(told(&["load", "http://h/", "--nonsense"]), None);
    assert_eq!(told(&["doctor", "-d"]), None);
}

#[test]
fn a_file_behind_json_is_told_how_to_be_written() {
    let told = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let all = std::iter::once("benchwright").chain(line.split(' '));
        file_behind_json(&Cli::try_parse_from(all).unwrap_err(), &words)
    };
    let remedy = "`o.json` is not a value of `--json`; to write the document to it, write ";
    let capacity = told("capacity http://h/ --slo 5ms --json o.json").unwrap();
    assert_eq!(capacity, format!("{remedy}`--json > o.json`"));
    assert_eq!(told("run --json o.json a.yaml").unwrap(), capacity);
    assert_eq!(told("run a.yaml b.yaml"), None);
    assert_eq!(told("run --json a.yaml --nonsense"), None);
}

#[test]
fn no_habit_is_an_option_of_ours() {
    let mut cli = Cli::command();
    cli.build();
    for name in ["load", "capacity"] {
        let command = cli.find_subcommand(name).unwrap();
        let ours: Vec<char> = command.get_arguments().filter_map(clap::Arg::get_short).collect();
        let both = HABITS.iter().filter(|habit| ours.contains(&habit.letter));
        assert_eq!(both.map(|habit| habit.letter).collect::<String>(), "", "{name}");
    }
}

#[test]
fn each_option_that_is_advised_exists() {
    let mut cli = Cli::command();
    cli.build();
    for habit in HABITS {
        for (name, advised) in [("load", habit.load), ("capacity", habit.capacity)] {
            let command = cli.find_subcommand(name).unwrap();
            let mut words = advised.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            let known = |option: &str| {
                let mut all = command.get_arguments();
                all.any(|argument| argument.get_long() == Some(option))
            };
            let missing =
                words.find(|word| word.strip_prefix("--").is_some_and(|name| !known(name)));
            assert_eq!(missing, None, "{name}: {advised}");
        }
    }
}

#[test]
fn a_negative_number_is_refused_as_a_value_and_not_as_an_option() {
    let told = |words: &[&str]| {
        let all = [&["benchwright"], words].concat();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        negative_value(&Cli::try_parse_from(all).unwrap_err(), &words)
    };
    for value in ["-5", "-5/s", "-0.5k/s"] {
        let why = format!("`{value}` is not a valid rate: no value of `--rate` is negative");
        assert_eq!(told(&["load", "http://h/", "--rate", value]), Some(why));
    }
    assert_eq!(told(&["load", "http://h/", "--rate", "5/s", "-5"]), None);
    assert_eq!(told(&["load", "http://h/", "--no-such"]), None);
}
