//! `benchwright receive`: a receiver of events as a program of its own. One thread receives, and this
//! one writes the notes to the file, so that a slow disk never delays an arrival.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Blocked, RecvTimeoutError, sync_channel};

use clap::Args;
use load::receiver::Receiver;
use measure::Nanos;
use measure::quantity::{counted, grouped};
use net::{clock, process};
use results::notes::{self, Blocks, End, Ended, Header, Reception, Side};

use self::notebook::{Counts, Notebook};
use crate::events::{clock_name, spawn};
use crate::options::count;
use console::output::{self, Destination, Exit, Failure};

mod notebook;

/// The most blocks that wait to be written: 16 MiB.
const MOST_BLOCKS: usize = 256;

/// The interval at which the end is decided.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(20);

/// The interval of the live line.
const BETWEEN_LINES: Nanos = Nanos::from_millis(500);

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
pub struct Receive {
    /// The address to receive at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Note each arrival in this file: source, id, time and order. Without it arrivals are counted
    #[arg(long, value_name = "FILE")]
    pub(crate) notes: Option<PathBuf>,
    /// The most arrivals in the file, of about 18 bytes each; further ones are counted
    #[arg(long, value_name = "N", default_value = "100M", value_parser = count::<u64>)]
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

pub fn receive(arguments: &Receive) -> Result<Exit, Failure> {
    let stop = console::signals::interrupted();
    process::raise_open_files();
    let clock = clock_name();
    let mut file = arguments.notes.as_deref().map(Notes::create).transpose()?;
    if let Some(file) = &mut file {
        file.append(&Header::new(clock.clone(), Side::Receiver).line())?;
    }
    let receiver = Receiver::listen(arguments.listen, clock.as_deref(), None).map_err(|error| {
        Failure::question(format!(
            "--listen {}: {error}\n  give an address of this machine, with a free port",
            arguments.listen
        ))
    })?;
    let address = receiver.address();
    let (to_file, blocks) = sync_channel(MOST_BLOCKS);
    let counts = Arc::new(Counts::default());
    let to_file = file.is_some().then_some(to_file);
    let notebook = Notebook::new(to_file, arguments.max_notes, Arc::clone(&counts));
    let ended = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&ended);
    output::result(&format!("ready http://{address}\n"))?;
    let thread = spawn(move || receiver.serve(notebook, &end))?;
    let why = follow(arguments, &stop, &counts, &blocks, &mut file);
    let until_ns = Some(clock::now().0);
    ended.store(true, Ordering::Relaxed);
    let notebook = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    output::clear();
    let why = why?;
    let (rest, totals) = notebook.finish();
    if let Some(file) = &mut file {
        for written in blocks.try_iter().chain([rest]) {
            file.append(&written.bytes)?;
        }
        file.append(&notes::end(End { noted: totals.noted, unnoted: totals.unnoted, until_ns }))?;
    }
    let reception = Reception {
        schema: notes::SCHEMA_OF_RECEPTION.to_owned(),
        address: address.to_string(),
        clock,
        notes: arguments.notes.as_ref().map(|path| path.display().to_string()),
        ended: why,
        cpu_ns: clock::process_cpu().0,
        ..totals
    };
    output::result(&match arguments.json {
        // One line: the line `ready` is before it.
        true => serde_json::to_string(&reception).expect("results are plain data") + "\n",
        false => text(&reception),
    })?;
    let is_short = arguments.expect.is_some_and(|expected| reception.arrivals < expected);
    Ok(match why {
        Ended::Interrupted if is_short => Exit::Interrupted,
        _ if is_short => Exit::No,
        _ => Exit::Answered,
    })
}

/// Writes blocks until the end, and returns its reason.
fn follow(
    arguments: &Receive,
    stop: &AtomicBool,
    counts: &Counts,
    blocks: &Blocked<Blocks>,
    file: &mut Option<Notes<'_>>,
) -> Result<Ended, Failure> {
    let begun = clock::now();
    let mut line = begun;
    loop {
        match blocks.recv_timeout(BETWEEN_LOOKS.into()) {
            Ok(blocks) => {
                if let Some(file) = file {
                    file.append(&blocks.bytes)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // There is no file.
            Err(RecvTimeoutError::Disconnected) => {
                clock::sleep_until(clock::now() + BETWEEN_LOOKS);
            }
        }
        let now = clock::now();
        let (arrivals, last) = counts.read();
        if stop.load(Ordering::Relaxed) {
            return Ok(Ended::Interrupted);
        }
        if arguments.expect.is_some_and(|expected| expected <= arrivals) {
            return Ok(Ended::Expected);
        }
        let is_quiet = |quiet| 0 < arrivals && quiet <= now.saturating_since(last);
        if arguments.until_quiet.is_some_and(is_quiet) {
            return Ok(Ended::Quiet);
        }
        if line + BETWEEN_LINES <= now {
            line = now;
            show(now.saturating_since(begun), arrivals);
        }
    }
}

fn show(since: Nanos, arrivals: u64) {
    if output::is_terminal() {
        output::transient(&format!(
            "{:.0} s · {} arrivals",
            since.as_secs_f64(),
            counted(arrivals)
        ));
    }
}

/// Describes a reception: `received 30,000 events in 60.0 s, 500/s`.
fn text(reception: &Reception) -> String {
    let Reception { arrivals, wrong, unnoted, .. } = *reception;
    let length = reception.first_ns.zip(reception.last_ns).map(|(first, last)| last - first);
    let seconds = Nanos(length.unwrap_or_default()).as_secs_f64();
    let rate = match 0.0 < seconds {
        true => format!(" in {seconds:.1} s, {}/s", grouped(arrivals as f64 / seconds)),
        false => String::new(),
    };
    let mut text = format!("received {} events{rate}\n", counted(arrivals));
    if 0 < wrong {
        text += &format!("refused {} requests that are not events\n", counted(wrong));
    }
    if 0 < unnoted {
        text += &format!(
            "warning: {} arrivals are not in the notes: there were too many (--max-notes), the disk was \
             too slow, or their sources or ids are too long\n",
            counted(unnoted)
        );
    }
    if let Some(path) = &reception.notes {
        text += &format!("notes: {path}\n");
    }
    text
}

/// The file of the notes.
struct Notes<'a> {
    path: &'a Path,
    file: Destination,
}

impl Notes<'_> {
    fn create(path: &Path) -> Result<Notes<'_>, Failure> {
        let file = output::create(path).map_err(|error| {
            Failure::question(format!("--notes {}: {error}", results::regular::shown(path)))
        })?;
        Ok(Notes { path, file })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| output::cut_off("--notes", self.path, &error))
    }
}
