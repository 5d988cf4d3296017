//! `benchwright receive`: a receiver of events as a program of its own. One thread receives, and this
//! one writes the notes to the file, so that a slow disk never delays an arrival.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Blocked, RecvTimeoutError, sync_channel};

use load::receiver::Receiver;
use measure::Nanos;
use measure::quantity::{counted, grouped};
use net::{clock, process};
use results::notes::{self, Blocks, End, Ended, Header, Reception, Side};

use self::notebook::{Counts, Notebook};
use super::load::events::{clock_name, spawn};
use crate::cli::Receive;
use crate::output::{self, Exit, Failure};

mod notebook;

/// The most blocks that wait to be written: 16 MiB.
const MOST_BLOCKS: usize = 256;

/// The interval at which the end is decided.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(20);

/// The interval of the live line.
const BETWEEN_LINES: Nanos = Nanos::from_millis(500);

pub(crate) fn receive(arguments: &Receive) -> Result<Exit, Failure> {
    let stop = crate::interrupted();
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
    file: File,
}

impl Notes<'_> {
    fn create(path: &Path) -> Result<Notes<'_>, Failure> {
        let file = output::create(path)
            .map_err(|error| Failure::question(format!("--notes {}: {error}", path.display())))?;
        Ok(Notes { path, file })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| {
            Failure::no_answer(format!(
                "writing --notes {}: {error}\n  what was written before can be read",
                self.path.display()
            ))
        })
    }
}
