//! The reference page of the command line, made from the help of each command.

use clap::CommandFactory;
use expect_test::expect_file;

use crate::cli::{Cli, EXIT_CODES};

const HEAD: &str = "\
# Reference: the command line

The commands, how they end, and the help of each, as `benchwright help COMMAND` prints it; a test keeps
it current. `benchwright man FOLDER` writes the same as manual pages, and `benchwright completions SHELL`
prints a script by which a shell completes commands and options.

| command | |
|---|---|
";

const CODES: &str = "
## Exit codes

Each end of a search [has its row](searching-for-a-capacity.md#a-search-that-found-only-a-bound), with the
code of its kind.

| code | meaning |
|---:|---|
";

#[test]
fn the_reference_page_is_current() {
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut page = HEAD.to_owned();
    for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
        let (name, about) = (command.get_name(), command.get_about().unwrap().to_string());
        page += &format!("| [{name}](#benchwright-{name}) | {about} |\n");
    }
    page += CODES;
    EXIT_CODES.iter().for_each(|(code, meaning)| page += &format!("| {code} | {meaning} |\n"));
    for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let help = command.clone().term_width(100).render_long_help().to_string();
        let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let name = command.get_name();
        page += &format!("\n## benchwright {name}\n\n```text\n{}\n```\n", help.join("\n"));
    }
    expect_file!["../../../../../docs/book/reference-command-line.md"].assert_eq(&page);
}
