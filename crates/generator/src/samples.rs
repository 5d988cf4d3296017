//! A row for each request, written by a separate thread: the generator never waits for the disk.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use anyhow::Context;
use load::observe::{Completion, Observer};
use load::{Label, cell};
use measure::Instant;

use console::output::{self, Destination, Failure};

#[cfg(test)]
mod tests;

const HEADER: &str =
    "intended_ns,sent_ns,first_byte_ns,done_ns,outcome,status,bytes,label,connection,shard\n";
/// The number of rows in a batch.
const IN_BATCH: usize = 1024;
/// The most batches that may wait to be written; beyond that, rows are dropped and counted.
const MOST_WAITING: usize = 256;
/// The most empty batches that a shard keeps for reuse.
const MOST_BLANK: usize = 16;

/// Rows of one shard.
struct Batch {
    shard: usize,
    rows: Vec<Completion>,
    /// Returns the written buffer to the shard, for reuse.
    back: SyncSender<Vec<Completion>>,
}

/// The file and the thread that writes it.
pub(super) struct Sampling {
    path: PathBuf,
    sender: SyncSender<Batch>,
    writer: JoinHandle<io::Result<()>>,
}

impl Sampling {
    /// Opens the file and starts the writer. `labels` are the names of the labels, in their order.
    pub(super) fn begin(path: &Path, labels: Vec<String>) -> anyhow::Result<Sampling> {
        let file = output::create(path)
            .with_context(|| format!("--samples {}", results::regular::shown(path)))?;
        let (sender, receiver) = mpsc::sync_channel(MOST_WAITING);
        let writer = std::thread::spawn(move || write(file, &receiver, &labels));
        Ok(Sampling { path: path.to_owned(), sender, writer })
    }

    /// Returns the observer of one shard.
    pub(super) fn watch(&self, shard: usize) -> Sampler {
        let rows = Vec::with_capacity(IN_BATCH);
        let (back, blank) = mpsc::sync_channel(MOST_BLANK);
        Sampler { sender: self.sender.clone(), shard, rows, back, blank, lost: 0 }
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) -> Result<(), Failure> {
        drop(self.sender);
        let written = self.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map_err(|error| output::cut_off("--samples", &self.path, &error))
    }
}

fn write(file: Destination, batches: &Receiver<Batch>, labels: &[String]) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    file.write_all(HEADER.as_bytes())?;
    for Batch { shard, mut rows, back } in batches {
        for row in rows.drain(..) {
            write_row(&mut file, shard, &row, labels)?;
        }
        let _ = back.try_send(rows);
    }
    file.flush()
}

/// Writes a row; a time without an event is an empty cell. Times are those of CLOCK_MONOTONIC; the
/// JSON document states the start of the measurement by the same clock.
fn write_row(
    file: &mut impl Write,
    shard: usize,
    row: &Completion,
    labels: &[String],
) -> io::Result<()> {
    let &Completion { intended, start, done, outcome, status, bytes, label, .. } = row;
    let time = |at: Option<Instant>| at.map_or(String::new(), |at| at.0.to_string());
    let label = match label {
        Label::NONE => "",
        Label(index) => labels.get(usize::from(index)).map_or("", String::as_str),
    };
    let label = format!("{}{label}", cell::guard(label));
    let quoted = match label.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", label.replace('"', "\"\"")),
        false => label,
    };
    writeln!(
        file,
        "{},{},{},{},{},{status},{bytes},{quoted},{},{shard}",
        intended.0,
        time(start.map(|start| start.sent)),
        time(start.and_then(|start| start.first_byte)),
        done.0,
        outcome.name(),
        start.map_or(String::new(), |start| start.connection.0.to_string()),
    )
}

/// Sends the requests of one shard to be written.
pub(crate) struct Sampler {
    sender: SyncSender<Batch>,
    shard: usize,
    rows: Vec<Completion>,
    back: SyncSender<Vec<Completion>>,
    blank: Receiver<Vec<Completion>>,
    lost: u64,
}

impl Sampler {
    /// Sends the last rows and returns the number of lost ones.
    pub(super) fn finish(mut self) -> u64 {
        self.hand_over();
        self.lost
    }

    fn hand_over(&mut self) {
        let blank = self.blank.try_recv();
        let blank = blank.unwrap_or_else(|_| Vec::with_capacity(IN_BATCH));
        let rows = std::mem::replace(&mut self.rows, blank);
        let batch = Batch { shard: self.shard, rows, back: self.back.clone() };
        if let Err(mpsc::TrySendError::Full(batch) | mpsc::TrySendError::Disconnected(batch)) =
            self.sender.try_send(batch)
        {
            self.lost += batch.rows.len() as u64;
        }
    }
}

impl Observer for Sampler {
    fn completed(&mut self, completion: &Completion) {
        self.rows.push(*completion);
        if self.rows.len() == IN_BATCH {
            self.hand_over();
        }
    }
}
