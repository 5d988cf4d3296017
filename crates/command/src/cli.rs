//! The arguments of the command line. Each becomes a typed value as soon as it is read.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use load::network::Wanted;
use load::reference::Delay;
use measure::pace::{Distribution, Portion, Shape, Think};
use measure::{Bytes, Nanos, Rate, Share};
use net::Timer;
use results::{Metric, Slo};

use crate::command::load::events::FirstArrivals;
use crate::pin::Pin;

pub(crate) use self::events::{Join, Receive};

mod events;
#[cfg(test)]
mod tests;

pub(crate) const FIRST_STEPS: &str = "\
benchwright measures networked services, reproducibly.

  benchwright run experiments/hello.yaml      an experiment: deploy, load, judge, report
  benchwright load http://127.0.0.1:8080/ --rate 1k/s
  benchwright receive                         the events of a channel; `join` compares both sides
  benchwright doctor                          is this machine fit to measure?
  benchwright app hotel all-in-one            a reference application to measure

`benchwright help COMMAND` explains a command.
Rates are written 5k/s, lengths of time 10ms, sizes 64KiB.";

/// Measures networked services, reproducibly.
#[derive(Debug, Parser)]
#[command(name = "benchwright", version, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 yes, 1 no (for example, an SLO was missed), 2 wrong \
                        arguments or spec, 3 no trustworthy answer, 130 interrupted.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment: deploy, load, judge, report
    Run(Run),
    /// Print what `run` would do, and how long it would take
    Plan(Plan),
    /// Continue a run that was interrupted, killed, or ended without an answer
    Resume(Resume),
    /// Run the experiment of a results directory once more, into a new one
    Rerun(Rerun),
    /// Write the report of a results directory again
    Report(Report),
    /// Run a single load, without an experiment file
    Load(Box<Load>),
    /// Merge the documents of several loads into one, with the quantiles of all requests
    Merge(Merge),
    /// Receive events as a subscriber of a channel, and note each arrival
    Receive(Receive),
    /// Join the notes of senders and receivers of events: delivery times, losses, duplicates
    Join(Join),
    /// Say why a run, or one of its trials, has its verdict
    Explain(Explain),
    /// Say what to change in an experiment so that it decides sooner or more surely
    Advise(Advise),
    /// Compare two versions: two results directories, or the two arms of one experiment
    Compare(Compare),
    /// Show how far equal trials lie apart
    Reproducibility(Reproducibility),
    /// Analyse a table of trials: spreads, trends and differences with what they do not support
    Analyse(Analyse),
    /// Run as wrk, with its arguments and its output (also if started as `wrk`)
    #[command(disable_help_flag = true)]
    Wrk(Original),
    /// Run as wrk2, or as DeathStarBench's fork of it (also if started as `wrk2`)
    #[command(disable_help_flag = true)]
    Wrk2(Original),
    /// Serve HTTP with known delays, to calibrate a generator
    Reference(Reference),
    /// Start a reference application (executes benchwright-apps from the same folder)
    App(App),
    /// Check whether this machine, or the cluster of an experiment, is fit to measure
    Doctor(Doctor),
    /// Remove what a killed run left behind: processes, control groups, temporary folders; on a
    /// cluster all that runs made there
    Clean(Clean),
    /// Print the JSON Schema of experiment files, by which editors complete and check them
    #[command(after_help = OF_SCHEMA)]
    Schema,
    /// Print a script by which a shell completes this command line
    #[command(after_help = OF_COMPLETIONS)]
    Completions(Completions),
    /// Write a manual page for each command
    #[command(after_help = OF_MAN)]
    Man(Man),
}

const OF_SCHEMA: &str = "\
Editors with the YAML language server (VS Code with the YAML extension, Neovim, Emacs, Helix and
others) read the path of a schema, relative to the file, in its first line:

  benchwright schema > experiment.schema.json
  # yaml-language-server: $schema=experiment.schema.json

The schema knows the fields and the form of their values. Rules between fields are checked by
`benchwright plan`.";

const OF_COMPLETIONS: &str = "\
A shell reads the script where it expects scripts of its users:

  bash        benchwright completions bash > ~/.local/share/bash-completion/completions/benchwright
  zsh         benchwright completions zsh > FOLDER/_benchwright, a folder of $fpath
  fish        benchwright completions fish > ~/.config/fish/completions/benchwright.fish
  elvish      benchwright completions elvish >> ~/.config/elvish/rc.elv
  powershell  benchwright completions powershell >> $PROFILE";

const OF_MAN: &str = "\
`man` finds the pages in a folder that it searches:

  benchwright man ~/.local/share/man/man1
  man benchwright-load";

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder of the pages, which is made if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) spec: Plan,
    #[command(flatten)]
    pub(crate) out: Out,
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) watched: Watched,
}

/// The results of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Out {
    /// The results directory [default: results/NAME-DATE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Let others read the results [default: only you, as they may hold what the service answered]
    #[arg(long)]
    pub(crate) shared: bool,
}

/// The ways to watch a run.
#[derive(Args, Debug)]
pub(crate) struct Watched {
    /// Lines only, without the view that takes the terminal
    #[arg(long)]
    pub(crate) no_tui: bool,
    /// Show the live figures to a Prometheus at http://ADDRESS:PORT/metrics while the run lasts;
    /// port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// The experiment, as a YAML file
    pub(crate) spec: PathBuf,
    /// Apply one of the spec's own profiles; several are applied in order
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Vec<String>,
    /// Change one value of the spec, recorded in the results: --set phases.measure.time=2s
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Without SPEC this machine is checked; with SPEC what it runs on: this machine for the \
                        CPUs of its roles, or a cluster.\n\n\
                        --fix sets the governor and the energy preference to performance, huge pages to \
                        madvise, and KSM, the NMI watchdog, NUMA balancing and early swapping off; it raises \
                        net.core.somaxconn, moves interrupts from the CPUs of the role sut to those without a \
                        role, and turns turbo off if SPEC requires local.turbo. What stood there is first in \
                        /run/benchwright/doctor.json, so --restore puts it back after a crash too.\n\n  \
                        sudo benchwright doctor --fix -- benchwright run experiments/hello.yaml\n\n\
                        Exits with 1 if a strict experiment would be refused: by an error that the spec \
                        does not allow, or by a check that it requires and that is not known to be \
                        good. Checks that need a file or a right which is missing are unknown, and name it."
)]
pub(crate) struct Doctor {
    /// The experiment, as a YAML file [default: none, this machine is checked]
    pub(crate) spec: Option<PathBuf>,
    /// Apply one of the spec's own profiles; several are applied in order
    #[arg(long, value_name = "NAME", requires = "spec")]
    pub(crate) profile: Vec<String>,
    /// Change one value of the spec
    #[arg(long, value_name = "PATH=VALUE", requires = "spec")]
    pub(crate) set: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the files of a machine below this folder, where proc and sys were recorded
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// First change what can be changed safely, until --restore or the end of COMMAND
    #[arg(long, conflicts_with = "restore")]
    pub(crate) fix: bool,
    /// Put back what --fix has changed, also after a crash; nothing is checked
    #[arg(long, conflicts_with = "json")]
    pub(crate) restore: bool,
    /// With --fix: a command to run with the changed settings, which are put back at its end
    #[arg(last = true, value_name = "COMMAND", requires = "fix", conflicts_with = "json")]
    pub(crate) command: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Clean {
    /// Clean a cluster, not this machine; runs that are alive keep what is theirs
    #[arg(long)]
    pub(crate) cluster: bool,
    /// The cluster's configuration [default: KUBECONFIG, ~/.kube/config, or the pod's own]
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in it [default: the current one]
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub(crate) context: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// The results directory of the run
    pub(crate) directory: PathBuf,
    /// Change the budget of the run, and nothing else: --set budget.trials=60
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) watched: Watched,
}

#[derive(Args, Debug)]
pub(crate) struct Rerun {
    /// A results directory: its spec, with its profile and settings, is run with the programs of now
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) out: Out,
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) watched: Watched,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// A results directory
    pub(crate) directory: PathBuf,
    /// The number of a trial; without it the verdict of the run is explained
    pub(crate) trial: Option<u32>,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Advise {
    /// A results directory
    pub(crate) directory: PathBuf,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Report {
    /// A results directory; its report.html is written again
    pub(crate) directory: PathBuf,
}

#[derive(Args, Debug)]
#[command(
    after_help = "A process can have at most as many connections as open files. For more, start \
                        several processes at the same time, each with a part of the load:\n\n  \
                        benchwright load URL --rate 10k/s --connections 36k --part 1/2 --json=1.json &\n  \
                        benchwright load URL --rate 10k/s --connections 36k --part 2/2 --json=2.json &\n  \
                        wait; benchwright merge 1.json 2.json\n\n\
                        Parts of one load are exactly that load, whatever their number; loads of \
                        their own may be merged, too. Counts and rates are added up and histograms merged, so nothing is averaged. \
                        The series of loads on one machine share one time axis, which begins with \
                        the first load; the series of loads on several machines each begin with \
                        their own load. \
                        Exits with 3 if one of the loads is not valid."
)]
pub(crate) struct Merge {
    /// The documents that `benchwright load --json` has written, on any machine
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the JSON document, or write it to a file: --json=FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Write one offline HTML page: verdict, curves and tables
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 better or equivalent, 1 worse, 3 undecided.",
    after_long_help = "B is judged by A. A metric is\n  \
        worse or better  if the interval of the ratio excludes 1 and the ratio is beyond the margin,\n  \
        equivalent       if the interval lies within the margin on both sides,\n  \
        undecided        otherwise: about so many more blocks are needed.\n\
        A search that found only a bound (\"at least 300/s\") counts with both ends of what it leaves open.\n\n\
        The best comparison is one experiment with a factor of two levels, whose trials run in random \
        blocks, so that a drift of the machine meets both alike:\n\n  \
        factors: {version: {levels: [{name: old, set: {…}}, {name: new, set: {…}}]}}\n  \
        repeat: {trials: 10, order: {blocks: 4}}\n  \
        compare: {metrics: [p99], margin: 3%}\n\n  \
        benchwright compare results/versions-2026-11-24-1012\n\n\
        Two directories ran one after the other: then what differs between their machines is listed first, and a \
        drift can look like a difference.\n\n\
        Exit codes: 0 better or equivalent, 1 worse, 3 undecided."
)]
pub(crate) struct Compare {
    /// A results directory: of the version to compare with, or of both if its spec has `compare`
    pub(crate) a: PathBuf,
    /// The results directory of the version that is judged
    pub(crate) b: Option<PathBuf>,
    /// The metrics that decide: completed, goodput, p50, p90, p99, p99.9, capacity,
    /// maximum_throughput; of events delivery_p50, delivery_p90, delivery_p99, delivery_p99.9,
    /// delivery_p99.99, lost, duplicated [default: those of the spec, or what its question asks for]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) metrics: Vec<Metric>,
    /// The difference that matters [default: that of the spec, or 3%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) margin: Option<Share>,
    /// Print a JSON document
    #[arg(long, conflicts_with_all = ["markdown", "junit"])]
    pub(crate) json: bool,
    /// Print Markdown, for a pull request
    #[arg(long, conflicts_with = "junit")]
    pub(crate) markdown: bool,
    /// Print JUnit XML, for a CI server
    #[arg(long)]
    pub(crate) junit: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "For at least three valid trials at one load, or three equal searches: the mean, the relative \
                  standard deviation (RSD) with its 95 % interval, Shamos' robust estimate of it, the RSD that \
                  chance alone gives (floor), the test for a trend, and outliers. Nothing is left out.\n\n\
                  Exit codes: 0 a spread was printed, 3 none is known."
)]
pub(crate) struct Reproducibility {
    /// A results directory
    pub(crate) directory: PathBuf,
    /// Only these metrics: completed, goodput, p50, p90, p99, p99.9, capacity, maximum_throughput; of
    /// events delivery_p50, delivery_p90, delivery_p99, delivery_p99.9, delivery_p99.99, lost,
    /// duplicated
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) metrics: Vec<Metric>,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "The table is a CSV file with a line of column names and a line for each trial, in the order \
                        in which they ran, whatever tool measured them:\n\n  \
                        replicas,logins,p99\n  \
                        1,606,13.5\n  \
                        2,1068,15.2\n\n  \
                        benchwright analyse trials.csv --by replicas --metrics logins,p99 --requests 15000\n\n\
                        For each level and metric: the mean, the relative standard deviation (RSD) with its 95 % \
                        interval, Shamos' robust estimate of it, the RSD that chance alone gives (for a \
                        percentile, with --requests and a lower percentile among the metrics), the test for a \
                        trend, and outliers. For each two levels: the ratio with its interval, and the test of \
                        their spreads. Nothing is left out."
)]
pub(crate) struct Analyse {
    /// The table of trials
    #[arg(value_name = "FILE.csv")]
    pub(crate) file: PathBuf,
    /// The column with the level of each trial: a version, a stage, a number of replicas
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: String,
    /// The columns to analyse; percentiles are named p50, p99, p99.9 (or p999, p99_9)
    #[arg(long, value_name = "A,B", required = true, value_delimiter = ',')]
    pub(crate) metrics: Vec<String>,
    /// The number of requests of each trial: it shows which percentiles they support
    #[arg(long, value_name = "N")]
    pub(crate) requests: Option<u64>,
    /// The meaning of a row; asked for where a level has more than 100. Requests are refused, with what to write instead
    #[arg(long, value_name = "WHAT")]
    pub(crate) rows: Option<Rows>,
    /// The difference that matters
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub(crate) margin: Share,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// One of --rate and --closed is required: they answer different questions.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
#[command(
    about = "Run a single load, without an experiment file",
    long_about = "Run a single load, without an experiment file.\n\n\
        --rate is an open loop: requests start by the clock, as those of independent users do. \
        Response time counts from the intended start, so a target that stalls cannot hide it.\n\
        --closed is a closed loop: each connection sends its next request after each response. It \
        finds the highest rate, but slows down with the target.",
    after_help = "Examples:\n  \
        benchwright load http://127.0.0.1:8080/ --rate 5k/s --duration 30s\n  \
        benchwright load http://127.0.0.1:8080/ --closed --connections 16\n  \
        benchwright load http://127.0.0.1:8080/ --rate 1k/s --script mix.lua -- 7\n\n\
        Starting requests on time costs CPU. --timer sleep starts them as late as this machine wakes \
        a thread: about 50 µs, on a virtual machine sometimes milliseconds. --timer spin watches \
        the clock and uses a whole CPU. --timer hybrid (the default) sleeps until shortly before \
        each start and then spins: for at least 60 µs, and longer where the machine has woken it \
        late in the last seconds, up to all the time between two starts. While other threads want \
        the same CPU, it spins for 60 µs. The document states how late it was woken \
        (wake_up_delay) and how much it spun (spin_share)."
)]
pub(crate) struct Load {
    /// Only check the options, the script and the other files; send nothing
    #[arg(long, conflicts_with = "self_test")]
    pub(crate) dry_run: bool,
    /// The URL to load; several URLs, 256 at most, share the rate in turn
    #[arg(value_name = "URL", required_unless_present = "self_test")]
    pub(crate) urls: Vec<String>,
    /// Open loop: the rate at which requests start, for example 5k/s, 30/m
    #[arg(long, value_name = "RATE", help_heading = "How much")]
    pub(crate) rate: Option<Rate>,
    /// Open loop at a rate that changes: holds, ramps (->), spikes, sines and rests, one after the
    /// other: '1k/s 30s, ->5k/s 60s, spike 20k/s 2s, sine 2k/s..8k/s 1h 24h, rest 8s, 1k/s 30s'
    #[arg(long, value_name = "SHAPE", conflicts_with = "rate", help_heading = "How much")]
    pub(crate) shape: Option<Shape>,
    /// Open loop: a list of paces as Knative's performance image has it, requests per second and
    /// seconds: 100,200:20,400:60. Between two paces are 8 s without requests, and a warm-up is at
    /// 100/s with 5 s without requests after it
    #[arg(long, value_name = "LIST", value_parser = Shape::of_paces, help_heading = "How much")]
    #[arg(conflicts_with_all = ["rate", "shape"])]
    pub(crate) pace: Option<Shape>,
    /// Open loop: start requests at the times in a file; a line is seconds, optionally a tab and a
    /// label
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "shape", "pace", "closed"])]
    #[arg(help_heading = "How much")]
    pub(crate) trace: Option<PathBuf>,
    /// Play the trace faster by this factor
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "trace")]
    #[arg(help_heading = "How much")]
    pub(crate) speed: f64,
    /// Closed loop: each connection sends its next request after each response
    #[arg(long, conflicts_with_all = ["rate", "shape", "pace"], help_heading = "How much")]
    pub(crate) closed: bool,
    /// Closed loop: think time between a response and the next request, fixed or with a mean
    /// (exp:10ms)
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = "How much")]
    #[arg(conflicts_with_all = ["rate", "shape", "trace", "pace"])]
    pub(crate) think: Think,
    /// Open loop: the distribution of the gaps: poisson, constant, uniform-gap, lognormal[:cv],
    /// normal[:cv], bursts:n or zipf
    #[arg(long, value_name = "DISTRIBUTION", default_value = "poisson")]
    #[arg(conflicts_with = "closed", help_heading = "How much")]
    pub(crate) arrivals: Distribution,
    /// Make only one of several parts of this load, for example 2/3: start one process for each
    /// part, with the same arguments and seed, on as many machines as the load needs. Each takes its
    /// share of requests and connections; all together are exactly this load
    #[arg(long, value_name = "I/N", default_value = "1/1", help_heading = "How much")]
    pub(crate) part: Portion,
    /// When to begin once the connections are open: now, or stdin: when a line on standard input
    /// says `start in 2s`, so that several parts begin together. Lines on stderr then say when it is
    /// ready and when it begins; `clock` asks for its time
    #[arg(long, value_enum, value_name = "now|stdin", default_value_t = Start::Now)]
    #[arg(help_heading = "How much")]
    pub(crate) start: Start,
    /// Each URL gets the whole rate and all connections
    #[arg(long, help_heading = "How much")]
    pub(crate) per_target: bool,
    /// Time to measure [default: 10s, or until --requests are answered]
    #[arg(long, value_name = "TIME", help_heading = "How much")]
    pub(crate) duration: Option<Nanos>,
    /// End after this many answered requests
    #[arg(long, value_name = "N", help_heading = "How much")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Time to load the target before the measurement; it does not count
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = "How much")]
    pub(crate) warm_up: Nanos,
    /// Longest time to wait for outstanding requests at the end [default: the timeout]
    #[arg(long, value_name = "TIME", help_heading = "How much")]
    pub(crate) drain: Option<Nanos>,
    /// Connections, over all targets (with --per-target: of each)
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Where")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: u32,
    /// Addresses to connect to: `all` or the `first` of those that the URL's name has, or a list;
    /// the connections spread over them. Give it once for all URLs, or once for each URL in order
    #[arg(
        long,
        value_name = "all|first|IP[:PORT],…",
        default_value = "all",
        help_heading = "Where"
    )]
    pub(crate) address: Vec<String>,
    /// Connect to this place instead of the URL's; `Host` stays the URL's
    #[arg(long, value_name = "HOST:PORT", help_heading = "Where")]
    pub(crate) connect_to: Option<String>,
    /// Local addresses to connect from, in turn: each has ports of its own
    #[arg(long, value_name = "IP,…", value_delimiter = ',', help_heading = "Where")]
    pub(crate) source: Vec<IpAddr>,
    /// Rate at which connections are opened before the load begins
    #[arg(long, value_name = "RATE", default_value = "10k/s", help_heading = "Where")]
    pub(crate) open_rate: Rate,
    /// Close a connection after this many requests and open the next one when it is needed. With 1,
    /// each response time includes connecting and, for https, the handshake
    #[arg(long, value_name = "N", help_heading = "Where")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep_alive: Option<u32>,
    /// Requests that may be outstanding on one connection
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Where")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub(crate) pipeline: u32,
    #[command(flatten)]
    pub(crate) tls: Tls,
    /// The method of every request
    #[arg(long, value_name = "METHOD", default_value = "GET", help_heading = "What")]
    pub(crate) method: String,
    /// A header field, `Name: value`; may be repeated. ${env.NAME} in it stands for a variable of the
    /// environment: single quotes keep it from the shell, and so from every output
    #[arg(long, value_name = "FIELD", help_heading = "What")]
    pub(crate) header: Vec<String>,
    /// A file with a header field on each line, which no output shows; - is standard input
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) header_file: Option<PathBuf>,
    /// A JSON object with the values of ${env.NAME}, {"env.NAME": "…"}, in place of the environment;
    /// - is standard input
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) secrets: Option<PathBuf>,
    /// The body of every request
    #[arg(long, value_name = "TEXT", help_heading = "What")]
    pub(crate) body: Option<String>,
    /// The body of every request, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "body", help_heading = "What")]
    pub(crate) body_file: Option<PathBuf>,
    /// Weighted requests, one JSON object a line; placeholders such as {{int 1 100}} or
    /// {{row.name}}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["script", "body", "body_file", "check"])]
    #[arg(help_heading = "What")]
    pub(crate) mix: Option<PathBuf>,
    /// A table (CSV with a header line) for the placeholders {{row.COLUMN}} of --mix
    #[arg(long, value_name = "FILE", requires = "mix", help_heading = "What")]
    pub(crate) data: Option<PathBuf>,
    /// Rules that each response must meet: 'status=2xx body~hotel bytes>=10 header:N=V
    /// json:/pointer=V'
    #[arg(long, value_name = "RULES", conflicts_with = "script", help_heading = "What")]
    pub(crate) check: Option<String>,
    /// Send CloudEvents 1.0, each with the number of its request as id: binary, with attributes as
    /// header fields, or structured, as JSON documents
    #[arg(long, value_enum, value_name = "binary|structured", help_heading = "What")]
    #[arg(conflicts_with_all = ["script", "mix", "body", "body_file", "check", "closed"])]
    pub(crate) events: Option<EventMode>,
    /// The type of the events
    #[arg(long, value_name = "TYPE", default_value = "benchwright.event", requires = "events")]
    #[arg(help_heading = "What")]
    pub(crate) event_type: String,
    /// Bytes of the data of each event
    #[arg(long, value_name = "SIZE", default_value = "100B", requires = "events")]
    #[arg(help_heading = "What")]
    pub(crate) event_size: Bytes,
    /// Receive the events here, as a subscriber of the channel, and report their delivery: delivery
    /// times, and how many were lost, came twice or were overtaken
    #[arg(long, value_name = "ADDRESS:PORT", requires = "events", help_heading = "What")]
    pub(crate) receive: Option<SocketAddr>,
    /// Longest time to wait for events that have not arrived when the load has ended
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "receive")]
    #[arg(help_heading = "What")]
    pub(crate) receive_within: Nanos,
    /// Refuse the first arrivals of each event, to test the channel: 503:2 answers two with 503,
    /// close:1 closes the connection of the first, hang:1 never answers it
    #[arg(long, value_name = "HOW:N", requires = "receive", help_heading = "What")]
    pub(crate) receive_refuse: Option<FirstArrivals>,
    /// Write the notes of each event: its times and its outcome, for `benchwright join`
    #[arg(long, value_name = "FILE", requires = "events", help_heading = "What")]
    pub(crate) notes: Option<PathBuf>,
    /// Compare the clock of a `benchwright receive` on another host with the own one, before and
    /// after the load; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", requires = "notes", help_heading = "What")]
    pub(crate) compare_clock: Vec<String>,
    /// A Lua script that makes the requests, with wrk's interface; its arguments follow `--`. Each call into it
    /// must return within 30 s
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) script: Option<PathBuf>,
    /// Arguments of the script
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) script_arguments: Vec<String>,
    /// A request without a response after this time has failed
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Limits")]
    pub(crate) timeout: Nanos,
    /// Longest time to open a connection, for https with the handshake
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Limits")]
    pub(crate) connect_timeout: Nanos,
    /// Requests that may wait for a connection, over all targets (with --per-target: of each); with
    /// one more, the load ends as overloaded
    #[arg(long, value_name = "N", default_value = "1M", help_heading = "Limits")]
    #[arg(value_parser = count)]
    pub(crate) backlog: usize,
    /// Largest body of a response; one with a larger body is malformed
    #[arg(long, value_name = "SIZE", default_value = "64MiB", help_heading = "Limits")]
    pub(crate) max_body: Bytes,
    /// Threads, each with its own connections [default: as many as the rate needs, at most one
    /// per CPU]
    #[arg(long, value_name = "N", help_heading = "How")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) shards: Option<u32>,
    /// Instances of the script for each target, each with its share of connections and requests
    /// [default: one per thread]
    #[arg(long, value_name = "N", requires = "script", help_heading = "How")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) script_threads: Option<u32>,
    /// Keep each shard on a CPU of its own: auto (if there are enough), off, or one of a list:
    /// 0,2-3
    #[arg(long, value_name = "auto|off|CPUS", default_value = "auto", help_heading = "How")]
    pub(crate) pin: Pin,
    /// Network interface: epoll, uring (io_uring, Linux 6.1), or auto: the one that measured best
    /// for such a load, of those that the kernel allows
    #[arg(long, value_name = "auto|epoll|uring", default_value = "auto", help_heading = "How")]
    pub(crate) io: Wanted,
    /// TCP congestion control, one that the kernel has (reno, cubic, bbr). Some, such as bbr,
    /// spread what is sent over time, which over loopback may take longer than a fast response
    /// [default: the system's; the document names it]
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub(crate) congestion_control: Option<String>,
    /// Timer that waits for the next start: hybrid, sleep or spin
    #[arg(long, value_name = "hybrid|sleep|spin", default_value = "hybrid", help_heading = "How")]
    pub(crate) timer: Timer,
    /// Let the kernel timestamp received data, and report how long responses waited to be read
    /// (`receive_delay` in the document)
    #[arg(long, help_heading = "How")]
    pub(crate) kernel_timestamps: bool,
    /// Random seed: the same seed gives the same intended times and the same choices of a script
    #[arg(long, default_value_t = 1, help_heading = "How")]
    pub(crate) seed: u64,
    /// Objectives: 10ms for the p99, or p99<=10ms,failures<=0.1%. A request that fails or takes
    /// longer is over the limit. A missed SLO exits with 1, slower responses are not goodput, and a
    /// tighter SLO allows less lateness of the generator. Without an objective on failures, a load of
    /// which most requests that ended failed exits with 1, unless a disturbance may have failed them
    #[arg(long, value_name = "OBJECTIVES", value_delimiter = ',', help_heading = "Results")]
    pub(crate) slo: Vec<Slo>,
    /// End the load as soon as so many requests are over a limit that the SLO is missed whatever
    /// follows, but not within the first second of the measurement
    #[arg(long, requires = "slo", conflicts_with = "closed", help_heading = "Results")]
    pub(crate) until_missed: bool,
    /// Time that each entry of the series, row of --csv and live line covers
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Results")]
    pub(crate) interval: Nanos,
    /// Print one JSON document, or write it to a file: --json=FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,
    /// Print the document of --json as short lines with a checksum, for a log with other lines
    #[arg(long, requires = "json", help_heading = "Results")]
    pub(crate) framed: bool,
    /// Write a row of figures for each interval
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) csv: Option<PathBuf>,
    /// Write an HdrHistogram log: response and service times of each interval
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) hlog: Option<PathBuf>,
    /// Write a row for each request
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) samples: Option<PathBuf>,
    /// Write one offline HTML page: verdict, curves and tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) report: Option<PathBuf>,
    /// Load a server of our own with known delays, and report whether the measurement is correct,
    /// how many requests a shard can complete here, and how late it starts them. Each attempt takes
    /// --duration [default: 4s]
    #[arg(long, conflicts_with = "urls", help_heading = "Self-test")]
    pub(crate) self_test: bool,
    /// Attempts of the self-test
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Self-test")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..), requires = "self_test")]
    pub(crate) attempts: u32,
    /// Live figures on stderr: a view on a terminal, or JSON lines
    #[arg(long, value_enum, default_value_t = Live::Auto, help_heading = "Results")]
    pub(crate) progress: Live,
    /// Live figures as one line, without the view that takes the terminal
    #[arg(long, help_heading = "Results")]
    pub(crate) no_tui: bool,
}

/// The options for `https` targets.
#[derive(Args, Debug)]
#[command(next_help_heading = "TLS")]
pub(crate) struct Tls {
    /// Trust the issuers in this PEM file instead of the machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Client certificate for targets that ask for one, with the chain to its issuer (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// Key of the client certificate [default: in the same file]
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Server name to send, and to verify in the certificate [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    pub(crate) sni: Option<String>,
    /// Accept any certificate: nothing is verified
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,
    /// Use only this version [default: the highest that the target supports]
    #[arg(long = "tls", value_name = "VERSION", value_enum)]
    pub(crate) version: Option<TlsVersion>,
    /// Make every handshake a full one instead of resuming sessions of earlier connections
    #[arg(long)]
    pub(crate) no_resume: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum TlsVersion {
    #[value(name = "1.2")]
    V1_2,
    #[value(name = "1.3")]
    V1_3,
}

impl TlsVersion {
    pub(crate) fn of_load(self) -> load::driver::tls::Version {
        match self {
            TlsVersion::V1_2 => load::driver::tls::Version::V1_2,
            TlsVersion::V1_3 => load::driver::tls::Version::V1_3,
        }
    }
}

/// The form of events in HTTP.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum EventMode {
    Binary,
    Structured,
}

/// The meaning of a row of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Rows {
    Trials,
    Requests,
}

/// The time at which a load begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Start {
    Now,
    Stdin,
}

fn count_u64(text: &str) -> Result<u64, String> {
    count(text).map(|count| count as u64)
}

/// Reads `1000`, `100k`, `1M`.
fn count(text: &str) -> Result<usize, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    let number = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| format!("`{text}` is not a valid count; write 1000, 100k or 1M"))
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Live {
    /// A view with keys, on a terminal; with --no-tui or --start stdin one line that overwrites itself
    Auto,
    /// A line of JSON each interval
    Lines,
    Never,
}

#[derive(Args, Debug)]
#[command(after_help = "Its log goes to stdout when it ends: one line of JSON with the number of \
                        requests, their order, and how long it really took to answer.")]
pub(crate) struct Reference {
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Delay of each response: 1ms, exponential:1ms, bimodal:1ms,10ms,5%, or stall:1s/10s (no
    /// response for one second in the middle of every ten)
    #[arg(long, value_name = "DELAY", default_value = "0s")]
    pub(crate) delay: Delay,
    /// The status of every response
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u16).range(200..=599))]
    pub(crate) status: u16,
    /// Bytes of each response's body
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) body: usize,
    /// Log how late numbered requests (`/1`, `/2`, …) arrive in a schedule of this constant rate
    #[arg(long, value_name = "RATE")]
    pub(crate) numbered_rate: Option<Rate>,
    /// Write a line for each request at the end, in the order of arrival: nanoseconds of
    /// CLOCK_MONOTONIC, target, connection, separated by tabs. The first million requests (256 MiB)
    /// are kept; the log states how many are not
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Add the bytes of each request to --log, escaped
    #[arg(long, requires = "log")]
    pub(crate) log_bytes: bool,
    /// Log when the kernel received each request, not when it was read, so that the log includes
    /// the time in which this server could not run
    #[arg(long)]
    pub(crate) kernel_timestamps: bool,
    /// TCP congestion control, as for `benchwright load` [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub(crate) congestion_control: Option<String>,
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run only on this CPU
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// End when standard input ends, and so with the process that started this one
    #[arg(long)]
    pub(crate) while_stdin: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Original {
    /// The original's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct App {
    /// The application and its arguments: `hotel all-in-one --listen 127.0.0.1:0`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "NAME …")]
    pub(crate) arguments: Vec<String>,
}
