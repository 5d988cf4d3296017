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

#[test]
fn a_page_in_place_of_a_link_leaves_what_it_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, target) = (folder.path().join("man1"), folder.path().join("precious"));
    fs::create_dir(&directory).unwrap();
    fs::write(&target, "kept").unwrap();
    let place = directory.join("benchwright-load.1");
    std::os::unix::fs::symlink(&target, &place).unwrap();
    write_pages(&directory, Cli::command()).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    assert!(!place.is_symlink() && fs::read_to_string(&place).unwrap().contains(".SH NAME"));
    // Its own pages are replaced.
    write_pages(&directory, Cli::command()).unwrap();
}

#[test]
fn a_file_that_is_not_a_page_stays_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("benchwright.1");
    fs::write(&place, "somebody's own").unwrap();
    let failure = write_pages(folder.path(), Cli::command()).unwrap_err();
    assert_eq!(failure.exit, Exit::Question);
    let message = failure.error.to_string();
    assert!(message.contains("is not a manual page of benchwright"), "{message}");
    assert_eq!(fs::read_to_string(&place).unwrap(), "somebody's own");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_others_can_change_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let message = write_pages(folder.path(), Cli::command()).unwrap_err().error.to_string();
    assert!(message.ends_with("name a folder that nobody else can change"), "{message}");
}
