//! `benchwright reference`: the server with known delays.

use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use load::reference::{Delay, Log, Manner, Record, Reference as Server};
use measure::Rate;
use net::{cores, process};

use crate::plan::{congestion_control, kernel_timestamps};
use console::output::{self, Destination, Exit, Failure};

#[derive(Args, Debug)]
#[command(after_help = "Its log goes to stdout when it ends: one line of JSON with the number of \
                        requests, their order, and how long it really took to answer.")]
pub struct Reference {
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

pub fn reference(arguments: &Reference) -> Result<Exit, Failure> {
    let Reference { listen, delay, status, body, seed, .. } = *arguments;
    let stop = console::signals::interrupted();
    process::raise_open_files();
    if let Some(cpu) = arguments.cpu {
        let pinned = cores::pin(cpu);
        pinned.map_err(|error| Failure::question(format!("--cpu {cpu}: {error}")))?;
    }
    // Created now: at the end it would be too late to refuse the path.
    let file = arguments.log.as_deref().map(create).transpose()?;
    let kernel_timestamps = kernel_timestamps(arguments.kernel_timestamps)?;
    let congestion_control = congestion_control(arguments.congestion_control.as_deref())?;
    let manner = Manner { delay, status, body, seed, kernel_timestamps, congestion_control };
    let server = Server::listen(listen, manner)
        .map_err(|error| Failure::question(format!("listening on {listen}: {error}")))?;
    let server = match arguments.numbered_rate {
        Some(rate) => server.expecting(rate),
        None => server,
    };
    let server = match file {
        Some(_) => server.recording(Record::new(arguments.log_bytes)),
        None => server,
    };
    output::result(&format!("ready http://{}\n", server.address()))?;
    if arguments.while_stdin {
        end_with_stdin(stop.clone());
    }
    let mut log = server.serve(&stop);
    let written = file.map_or(Ok(()), |file| write(&mut log, file));
    // A file that cannot be written does not lose the summary.
    output::result(&format!("{log}\n"))?;
    match (written, &arguments.log) {
        (Err(error), Some(path)) => Err(output::cut_off("--log", path, &error)),
        _ => Ok(Exit::Answered),
    }
}

fn create(path: &Path) -> Result<Destination, Failure> {
    let created = output::create(path);
    created.map_err(|error| {
        Failure::question(format!("--log {}: {error}", results::regular::shown(path)))
    })
}

fn write(log: &mut Log, file: Destination) -> io::Result<()> {
    let record = log.record.as_mut().expect("the server records if --log is given");
    record.write(&mut BufWriter::new(file))
}

/// Sets `stop` once standard input ends.
fn end_with_stdin(stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        // An error counts as the end.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        stop.store(true, Ordering::Relaxed);
    });
}
