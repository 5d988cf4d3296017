//! The files that DeathStarBench's fork writes besides its result, by a separate thread.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use wrk::arguments::Command;

use console::output::{self, Destination};

/// The number of lines in a batch.
const IN_BATCH: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub(super) enum Line {
    /// `-P`: each latency of a script thread.
    Latency { target: u32, thread: u32, us: u64 },
    /// `-p`: the 99th percentile of a stretch of the first thread's answers.
    Stretch { target: u32, us: u64 },
}

pub(super) struct Writer {
    sender: Sender<Vec<Line>>,
    thread: JoinHandle<io::Result<()>>,
}

/// The lines of one shard.
pub(super) struct Lines {
    sender: Sender<Vec<Line>>,
    batch: Vec<Line>,
}

impl Writer {
    /// `None` if no file was asked for.
    pub(super) fn begin(command: &Command) -> io::Result<Option<Writer>> {
        if !command.each_latency && !command.stretches {
            return Ok(None);
        }
        let mut files = BTreeMap::new();
        for target in 0..command.urls.len() as u64 {
            if command.each_latency {
                for thread in 0..command.threads {
                    let number = target * command.threads + thread;
                    let key = (Kind::Latency, target as u32, thread as u32);
                    files.insert(key, create(&format!("{number}.txt"))?);
                }
            }
            if command.stretches {
                let key = (Kind::Stretch, target as u32, 0);
                files.insert(key, create(&format!("url{target}thread0.txt"))?);
            }
        }
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || write(files, &receiver));
        Ok(Some(Writer { sender, thread }))
    }

    pub(super) fn lines(&self) -> Lines {
        Lines { sender: self.sender.clone(), batch: Vec::with_capacity(IN_BATCH) }
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.sender);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn create(name: &str) -> io::Result<BufWriter<Destination>> {
    let file = output::create(Path::new(name));
    file.map(BufWriter::new).map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}")))
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Kind {
    Latency,
    Stretch,
}

type Files = BTreeMap<(Kind, u32, u32), BufWriter<Destination>>;

fn write(mut files: Files, batches: &Receiver<Vec<Line>>) -> io::Result<()> {
    for line in batches.iter().flatten() {
        let (key, us) = match line {
            Line::Latency { target, thread, us } => ((Kind::Latency, target, thread), us),
            Line::Stretch { target, us } => ((Kind::Stretch, target, 0), us),
        };
        let file = files.get_mut(&key).expect("there is a file for everything that was asked for");
        writeln!(file, "{us}")?;
    }
    files.values_mut().try_for_each(Write::flush)
}

impl Lines {
    pub(super) fn push(&mut self, line: Line) {
        self.batch.push(line);
        if self.batch.len() == IN_BATCH {
            self.hand_over();
        }
    }

    /// Sends the lines to the writer. The channel is unbounded, so that no line is lost: a line for
    /// each response needs memory.
    pub(super) fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(IN_BATCH));
        // If the receiver is gone, the writer has failed; `finish` reports that.
        let _ = self.sender.send(batch);
    }
}
