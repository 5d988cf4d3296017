use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::*;
use crate::cli::Cli;

fn commands() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn each_shell_completes_every_command_and_option() {
    for shell in Shell::value_variants() {
        let script = script(&Completions { shell: *shell }, Cli::command());
        for word in commands().iter().map(String::as_str).chain(["connections", "max-body"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn an_option_of_words_offers_these_and_no_files() {
    let script = script(&Completions { shell: Shell::Bash }, Cli::command());
    let offered = |option: &str| {
        let mut lines = script.lines().skip_while(|line| line.trim() != format!("{option})"));
        lines.nth(1).unwrap().trim().to_owned()
    };
    for (option, expected) in [
        ("--io", "COMPREPLY=($(compgen -W \"auto epoll uring\" -- \"${cur}\"))"),
        ("--as", "COMPREPLY=($(compgen -W \"openapi har log\" -- \"${cur}\"))"),
        ("--rate", "COMPREPLY=(\"${cur}\")"),
    ] {
        assert_eq!(offered(option), expected, "{option}");
    }
    assert!(script.contains("compgen -f"), "files are offered where they belong");
}

#[test]
fn each_command_has_a_page_with_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("man1");
    write_pages(&directory, Cli::command()).unwrap();
    for command in commands() {
        let page = fs::read_to_string(directory.join(format!("benchwright-{command}.1"))).unwrap();
        assert!(page.starts_with(".ie") && page.contains(".SH NAME"), "{command}:\n{page}");
    }
    let load = fs::read_to_string(directory.join("benchwright-load.1")).unwrap();
    assert!(load.contains("\\-\\-max\\-body"), "{load}");
}

#[test]
fn pages_in_a_place_that_is_not_a_folder_are_refused_with_the_remedy() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let failure = write_pages(file.path(), Cli::command()).unwrap_err();
    assert_eq!(failure.exit, Exit::Question);
    let message = failure.error.to_string();
    assert!(message.ends_with("name a folder that you may write to"), "{message}");
}
