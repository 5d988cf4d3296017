//! The options of `benchwright load`. Each becomes a typed value as soon as it is read.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context;
use clap::{Args, ValueEnum};
use load::network::Choice;
use load::receiver::{How, Refusal};
use measure::cpus::Pin;
use measure::pace::{Distribution, Portion, Shape, Think};
use measure::quantity::whole_count;
use measure::{Bytes, Nanos, Rate};
use net::Timer;
use results::Slo;

#[cfg(test)]
mod tests;

const EXAMPLES: &str = "\
Examples:
  benchwright load http://127.0.0.1:8080/ --rate 5k/s --duration 30s
  benchwright load http://127.0.0.1:8080/ --closed -c 16

`benchwright load --help` has all: arrivals, traces, events, TLS, series, timers, parts.";

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
    after_help = EXAMPLES,
    after_long_help = "Examples:\n  \
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
pub struct Load {
    /// Only check the options, the script and the other files; send nothing
    #[arg(long, conflicts_with = "self_test")]
    pub(crate) dry_run: bool,
    /// The URL to load; several URLs, 256 at most, share the rate in turn
    ///
    /// Each has its own distributions, which take 4 MB of memory for each thread, and a load has 1024 of them at most.
    ///
    /// With --ycsb, a store: redis://HOST:PORT or kv://HOST:PORT,HOST:PORT,…
    #[arg(value_name = "URL", required_unless_present = "self_test")]
    pub(crate) urls: Vec<String>,
    /// Open loop: the rate at which requests start, for example 5k/s, 30/m
    #[arg(long, value_name = "RATE", help_heading = "How much")]
    pub(crate) rate: Option<Rate>,
    /// Open loop at a rate that changes: '1k/s 30s, ->5k/s 60s'
    ///
    /// Holds, ramps (->), spikes, sines and rests, one after the other: '1k/s 30s, ->5k/s 60s,
    /// spike 20k/s 2s, sine 2k/s..8k/s 1h 24h, rest 8s, 1k/s 30s'
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
    #[arg(conflicts_with_all = ["rate", "shape", "pace", "closed"], help_heading = "How much")]
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
    /// End after this many answered requests, or sessions of a mix that has some
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
    #[arg(long, short = 'c', value_name = "N", default_value_t = 64, help_heading = "Where")]
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
    #[arg(long, short = 'm', value_name = "METHOD", default_value = "GET", help_heading = "What")]
    pub(crate) method: String,
    /// A header field, `Name: value`, for authentication too; may be repeated
    ///
    /// For example 'Authorization: Bearer ${env.TOKEN}'. ${env.NAME} stands for a variable of
    /// the environment: single quotes keep it from the shell, and so a token, a password or a cookie from every
    /// output
    #[arg(long, short = 'H', value_name = "FIELD", help_heading = "What")]
    pub(crate) header: Vec<String>,
    /// Header fields that no output shows, from a file: tokens, passwords, cookies
    ///
    /// Each line is one field; - is standard input
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
    /// Weighted requests and sessions of users, one JSON object a line
    ///
    /// Placeholders in them are for example {{int 1 100}} or {{row.name}}; `benchwright mix check` shows the
    /// requests
    #[arg(long, value_name = "FILE", conflicts_with_all = ["script", "body", "body_file", "check"])]
    #[arg(help_heading = "What")]
    pub(crate) mix: Option<PathBuf>,
    /// A table (CSV with a header line) for the placeholders {{row.COLUMN}} of --mix
    #[arg(long, value_name = "FILE", requires = "mix", help_heading = "What")]
    #[arg(conflicts_with_all = ["script", "body", "body_file", "check"])]
    pub(crate) data: Option<PathBuf>,
    /// Rules that each response must meet: 'status=2xx body~hotel'
    ///
    /// All of them: 'status=2xx body~hotel bytes>=10 header:N=V json:/pointer=V'
    #[arg(long, value_name = "RULES", conflicts_with = "script", help_heading = "What")]
    pub(crate) check: Option<String>,
    /// Operations of a YCSB workload, from its properties file; the URL is that of a store
    ///
    /// Redis: redis://USER:PASSWORD@HOST:PORT/DATABASE. The key-value store: kv://HOST:PORT,HOST:PORT,…, whose servers
    /// share the keys. The records must be there before: `benchwright ycsb load`. Rate, connections and length are those
    /// of the load, not of the properties. The kinds of operations are the labels: READ, UPDATE, INSERT, SCAN,
    /// READ-MODIFY-WRITE and, with dataintegrity, VERIFY
    #[arg(long, value_name = "FILE", help_heading = "What")]
    #[arg(conflicts_with_all = [
        "method", "header", "header_file", "body", "body_file", "check", "mix", "data", "events", "script",
    ])]
    pub(crate) ycsb: Option<PathBuf>,
    /// A property of the YCSB workload, in place of the file's; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "ycsb", help_heading = "What")]
    #[arg(conflicts_with_all = ["script", "mix", "events"])]
    pub(crate) ycsb_property: Vec<String>,
    /// Send CloudEvents 1.0, each with the number of its request as id: binary, with attributes as
    /// header fields, or structured, as JSON documents
    #[arg(long, value_enum, value_name = "binary|structured", help_heading = "What")]
    #[arg(conflicts_with_all = ["script", "mix", "body", "body_file", "check", "closed"])]
    pub(crate) events: Option<EventMode>,
    /// The type of the events
    #[arg(long, value_name = "TYPE", default_value = "benchwright.event", requires = "events")]
    #[arg(conflicts_with_all = ["script", "mix", "closed"], help_heading = "What")]
    pub(crate) event_type: String,
    /// Bytes of the data of each event
    #[arg(long, value_name = "SIZE", default_value = "100B", requires = "events")]
    #[arg(conflicts_with_all = ["script", "mix", "closed"], help_heading = "What")]
    pub(crate) event_size: Bytes,
    /// Receive the events here, as a subscriber of the channel, and report their delivery: delivery
    /// times, and how many were lost, came twice or were overtaken
    #[arg(long, value_name = "ADDRESS:PORT", requires = "events", help_heading = "What")]
    #[arg(conflicts_with_all = ["script", "mix", "closed"])]
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
    #[arg(conflicts_with_all = ["script", "mix", "closed"])]
    pub(crate) notes: Option<PathBuf>,
    /// Compare the clock of a `benchwright receive` on another host with the own one, before and
    /// after the load; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", requires = "notes", help_heading = "What")]
    pub(crate) compare_clock: Vec<String>,
    /// A Lua script with wrk's interface; its arguments follow `--`
    ///
    /// It makes the requests. Each call into it must return within 30 s
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) script: Option<PathBuf>,
    /// Arguments of the script
    #[arg(last = true, value_name = "ARGS", help_heading = "What")]
    pub(crate) script_arguments: Vec<String>,
    /// A request without a response after this time has failed
    ///
    /// The time counts from its sending. While a request waits for a connection, it has not been sent
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Limits")]
    pub(crate) timeout: Nanos,
    /// Longest time to open a connection, for https with the handshake
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Limits")]
    pub(crate) connect_timeout: Nanos,
    /// Requests that may wait for a connection, over all targets (with --per-target: of each); one
    /// more is dropped, and the load ends as overloaded
    #[arg(long, value_name = "N", default_value = "1M", help_heading = "Limits")]
    #[arg(value_parser = count::<usize>)]
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
    #[arg(conflicts_with_all = ["mix", "events", "ycsb"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) script_threads: Option<u32>,
    /// Keep each shard on a CPU of its own: auto (if there are enough), off, or one of a list:
    /// 0,2-3
    #[arg(long, value_name = "auto|off|CPUS", default_value = "auto", help_heading = "How")]
    pub(crate) pin: Pin,
    /// Network interface: epoll, uring (io_uring, Linux 6.1), or auto: the one that measured best
    /// for such a load, of those that the kernel allows
    #[arg(long, value_name = "auto|epoll|uring", default_value = "auto", help_heading = "How")]
    pub(crate) io: Choice,
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
    /// Objectives: 10ms for the p99, or p99<=10ms,failures<=0.1%
    ///
    /// A request that fails or takes longer is over the limit. A missed SLO exits with 1, slower
    /// responses are not goodput, and a tighter SLO allows less lateness of the generator. Without an
    /// objective on failures, a load of which most requests that ended failed exits with 1, unless a
    /// disturbance may have failed them. With a label before it, an objective is of these requests:
    /// login.p99<=10ms
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
    /// Write a row of figures for each interval; the last is the drain, and `length_s` says how long each was
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
    #[arg(long, short = 'k', conflicts_with = "ca")]
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

/// The time at which a load begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Start {
    Now,
    Stdin,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Live {
    /// A view with keys, on a terminal; with --no-tui or --start stdin one line that overwrites itself
    Auto,
    /// A line of JSON each interval
    Lines,
    Never,
}

/// Reads `1000`, `100k`, `1M`.
pub(crate) fn count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = whole_count(text).and_then(|number| number.try_into().ok());
    number.ok_or_else(|| format!("`{text}` is not a valid count; write 1000, 100k or 1M"))
}

/// Splits `Name: value`.
pub(crate) fn header_field(field: &str) -> anyhow::Result<(String, String)> {
    // What follows the name may be a secret, and a field without a name may be one as a whole.
    let begin = field.split_once(' ').map(|(begin, _)| format!("{begin} …"));
    let begin = begin.unwrap_or_else(|| "…".to_owned());
    let (name, value) = field
        .split_once(':')
        .with_context(|| format!("`{begin}` is not a valid header field; write `Name: value`"))?;
    Ok((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

/// The treatment of the first arrivals of each event, as written: `503:2`, `close:1`, `hang:1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FirstArrivals(pub(crate) Refusal);

impl FromStr for FirstArrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<FirstArrivals, String> {
        let wrong = || {
            format!(
                "`{text}` is not a treatment of first arrivals; write 503:2 (a status, and how many \
                 arrivals of each event get it), close:1 or hang:1"
            )
        };
        let (how, times) = text.split_once(':').ok_or_else(wrong)?;
        let times =
            times.parse().ok().filter(|times| (1..=250).contains(times)).ok_or_else(wrong)?;
        let how = match how {
            "close" => How::Close,
            "hang" => How::Hang,
            status => {
                let status = status.parse().ok().filter(|status| (200..600).contains(status));
                How::Status(status.ok_or_else(wrong)?)
            }
        };
        Ok(FirstArrivals(Refusal { how, times }))
    }
}
