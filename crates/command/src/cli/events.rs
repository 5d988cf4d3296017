//! The arguments of `receive` and `join`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use measure::Nanos;

#[derive(Args, Debug)]
#[command(after_help = "A sender, a receiver and a join, as three programs:\n\n  \
                        benchwright receive --listen 127.0.0.1:18080 --notes r.notes --until-quiet 5s &\n  \
                        benchwright app channel --listen 127.0.0.1:8080 --subscriber http://127.0.0.1:18080 &\n  \
                        benchwright load http://127.0.0.1:8080/ --events binary --rate 500/s --notes s.notes\n  \
                        wait %1; benchwright join s.notes r.notes\n\n\
                        It takes CloudEvents by POST at any path, in binary and structured mode, and answers 202, or \
                        400 if it is not an event. GET /clock tells its clock, for `load --compare-clock`.\n\n\
                        The first line on stdout is `ready` with the URL, the rest what was received. It ends \
                        with Ctrl-C or SIGTERM, with --expect and with --until-quiet. Exit codes: 0 done, 1 quiet with \
                        fewer arrivals than expected, 130 interrupted with fewer than expected.\n\n\
                        Notes are written in blocks at least every 500 ms, so a killed receiver leaves readable ones. Memory \
                        is bounded: 16 MiB of notes that wait for the disk, 64 MiB of structured events that are \
                        arriving, 4,096 sources, 16,384 connections with a head of 64 KiB each. What finds no room is counted (`unnoted`, `wrong`).")]
pub(crate) struct Receive {
    /// The address to receive at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Note each arrival in this file: source, id, time and order. Without it arrivals are counted
    #[arg(long, value_name = "FILE")]
    pub(crate) notes: Option<PathBuf>,
    /// The most arrivals in the file, of about 18 bytes each; further ones are counted
    #[arg(long, value_name = "N", default_value = "100M", value_parser = super::count_u64)]
    pub(crate) max_notes: u64,
    /// End after so many arrivals, duplicates included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) expect: Option<u64>,
    /// End once nothing has arrived for this time, but not before the first event
    #[arg(long, value_name = "TIME")]
    pub(crate) until_quiet: Option<Nanos>,
    /// Print one line of JSON instead of sentences
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "The files are those of `load --events … --notes` and of `receive --notes`, in any order and number. \
                        Events count if they were intended in the measurement of their sender. An event that arrives at \
                        two receivers has arrived twice: join the notes of several subscribers one by one.\n\n\
                        Notes of one host are by one clock, and their delivery times are exact. Those of several hosts \
                        need `load --compare-clock`: a delivery time is then shown if the clocks are apart by at \
                        most 5 % of it.\n\n\
                        Arrivals whose id or source is none of the senders' are counted as unknown. Memory: 56 bytes \
                        an event. Exit codes: 0 joined, 2 the files cannot be read or joined, 3 notes are missing, so \
                        the counts are wrong."
)]
pub(crate) struct Join {
    /// The files of notes: at least one of a sender and one of a receiver
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
