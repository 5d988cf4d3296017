//! The reference page of the command line, made from the help of each command.

use clap::CommandFactory;
use expect_test::expect_file;

use crate::cli::Cli;

const HEAD: &str = "\
# Reference: the command line

The help of each command, as `benchwright help COMMAND` prints it; a test keeps it current.
`benchwright man FOLDER` writes the same as manual pages, and `benchwright completions SHELL` prints a
script by which a shell completes commands and options.
";

#[test]
fn the_reference_page_is_current() {
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut page = HEAD.to_owned();
    for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let help = command.clone().term_width(100).render_long_help().to_string();
        let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let name = command.get_name();
        page += &format!("\n## benchwright {name}\n\n```text\n{}\n```\n", help.join("\n"));
    }
    expect_file!["../../../../../docs/book/reference-command-line.md"].assert_eq(&page);
}
