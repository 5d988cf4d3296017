//! The project's own tasks, as `cargo xtask TASK`: continuous integration runs the same tasks as
//! everybody else.
//!
//! Nothing here is part of the product. Every task needs only cargo and the distribution, except
//! `peers`, which installs the generators that ours is compared with.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task prints what it does")]

mod bench;
mod book;
mod brokers;
mod chaos;
mod ci;
mod fuzz;
mod grafana;
mod image;
mod journal;
mod models;
mod package;
mod peers;
mod pictures;
mod processes;
mod programs;
mod proto;
mod repository;
mod sim;
mod skips;
mod speed;
mod testbed;
mod tidy;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask TASK

  ci      all checks that a change has to pass, with the time of each step; with `--cluster` also
          those that need a Kubernetes cluster
  tidy    layers against manifests, shipped specs, documents, sources
  bench   measurements against the promised bounds; `cargo xtask bench` lists them
  peers   installs the load generators that `bench load` compares with ours (needs Go), and the other
          clients of YCSB for `bench ycsb-peers` (needs Go, Maven and Java 17); `peers ycsb` only these
  brokers installs the brokers of experiments/channel.yaml: Redis, NATS (needs Go) and Kafka (needs
          Maven and Java 17)
  proto   generates the code for the calls between services from crates/apps/proto
  chaos   random faults against short experiments, of which nothing may be lost or left
  fuzz    searches for input that breaks a parser: `build`, or `run --seconds N [TARGET]`
  models  the key-value store under a model checker, and in miri
  grafana makes the dashboard in deploy/grafana with Grafana's own SDK (needs Go)
  image   builds the container image of both programs as an archive, without a daemon
  package builds the .deb, the archive of static programs and the image; `package try` installs each
          into a clean folder and runs it
  testbed a real Kubernetes cluster on this machine, and experiments on it
  sim     simulates the error rates of the method: `sim method`; `sim ycsb` tests YCSB's distributions
  speed   the speed of the machine beside the throughput of a saturated server
  book    measures the figures and numbers of docs/book again and writes them there; `book html`
          builds the book as pages with a search (needs mdbook)
  pictures draws the pictures of README again (needs Chromium)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["ci"] => ended(ci::run(ci::Extent::Local)),
        ["ci", "--cluster"] => ended(ci::run(ci::Extent::WithCluster)),
        ["tidy"] => ended(tidy::run().is_empty()),
        ["bench", ref words @ ..] => task(bench::run(words), bench::USAGE),
        ["peers"] => ended(peers::install()),
        ["peers", "ycsb"] => ended(peers::ycsb::install()),
        ["brokers"] => ended(brokers::run()),
        ["grafana"] => ended(grafana::run()),
        ["proto"] => ended(proto::run()),
        ["chaos", ref words @ ..] => task(chaos::run(words), chaos::USAGE),
        ["fuzz", ref words @ ..] => task(fuzz::run(words), fuzz::USAGE),
        ["models", ref words @ ..] => task(models::run(words), models::USAGE),
        ["image", ref words @ ..] => {
            task(image::Options::read(words).map(|options| image::run(&options)), image::USAGE)
        }
        ["testbed", ref words @ ..] => task(testbed::run(words), testbed::USAGE),
        ["sim", ref words @ ..] => task(sim::run(words), sim::USAGE),
        ["speed", ref words @ ..] => task(speed::run(words), speed::USAGE),
        ["book"] => ended(book::run(&book::Chapter::ALL)),
        ["book", "html"] => ended(book::html()),
        ["pictures", ref words @ ..] => {
            task(pictures::read(words).map(pictures::draw), pictures::USAGE)
        }
        ["package", ref words @ ..] => task(package::run(words), package::USAGE),
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

/// Ends a task with words of its own: they are wrong if there is no result.
fn task(passed: Option<bool>, usage: &str) -> ExitCode {
    passed.map_or_else(
        || {
            eprint!("{usage}");
            ExitCode::from(2)
        },
        ended,
    )
}

fn ended(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
