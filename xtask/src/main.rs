//! The project's own chores, as `cargo xtask CHORE`: what continuous integration runs is what
//! anybody runs.
//!
//! Nothing here is part of the product, and no chore needs more than cargo and the distribution, but
//! for `peers`, which installs the generators that ours is laid beside.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore tells what it does")]

mod bench;
mod book;
mod ci;
mod fuzz;
mod peers;
mod repository;
mod skips;
mod tidy;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask CHORE

  ci      everything a change has to pass, with the time of each step
  tidy    layers against manifests, shipped specs, documents, sources
  bench   measurements against what is promised; `cargo xtask bench` tells which
  peers   installs the load generators that `bench load` lays beside ours (needs Go)
  fuzz    looks for input that breaks a parser: `build`, or `run --seconds N [TARGET]`
  book    the figures and numbers of docs/book, measured again and written in place
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["ci"] => ended(ci::run()),
        ["tidy"] => ended(tidy::run()),
        ["bench", ref what @ ..] => bench::run(what).map_or_else(
            || {
                eprint!("{}", bench::USAGE);
                ExitCode::from(2)
            },
            ended,
        ),
        ["peers"] => ended(peers::install()),
        ["fuzz", ref what @ ..] => fuzz::run(what).map_or_else(
            || {
                eprint!("{}", fuzz::USAGE);
                ExitCode::from(2)
            },
            ended,
        ),
        ["book"] => ended(book::run(&book::Chapter::ALL)),
        ["book", name] if book::Chapter::named(name).is_some() => {
            ended(book::run(book::Chapter::named(name).as_slice()))
        }
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn ended(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
