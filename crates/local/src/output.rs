//! The output of a component, kept in a file of bounded size: its beginning and its end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use results::{Secrets, regular};

#[cfg(test)]
mod tests;

/// The longest time for reading the output of ended processes: a grandchild may hold it open.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(500);
/// The number of bytes that are kept of the beginning, and as many of the end.
const HALF: usize = 512 * 1024;
/// The number of last lines that are shown when a component fails.
const LAST_LINES: usize = 10;
/// The number of characters that are shown of each.
const LONGEST_LINE: usize = 300;
/// The number of bytes of a line that are kept while `pump` waits for its end.
const LONGEST_FIRST_LINE: usize = 4096;

/// The longest line in which secrets are looked for as a whole.
const LONGEST_WITH_SECRETS: usize = 64 * 1024;

/// A component's output over all its starts, with references in place of secrets: its stdout, or its stderr,
/// which is kept in the same file.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    kept: Arc<Mutex<Kept>>,
    /// The stream, of two.
    stream: usize,
}

#[derive(Debug)]
struct Kept {
    /// Holds the beginning; the end is added when the component ends. `None` if nothing is kept.
    file: Option<File>,
    begun: usize,
    end: VecDeque<u8>,
    /// Bytes between the beginning and the end that were dropped.
    forgotten: u64,
    /// Bytes before the component's last start.
    earlier: u64,
    secrets: Secrets,
    /// The beginning of a line that may end in a secret, of each stream.
    unfinished: [Vec<u8>; 2],
}

impl Output {
    pub(crate) fn new(path: Option<&Path>, secrets: Secrets) -> Output {
        let file = path.and_then(|path| regular::create(path).ok());
        let (end, unfinished) = (VecDeque::new(), Default::default());
        let kept = Kept { file, begun: 0, end, forgotten: 0, earlier: 0, secrets, unfinished };
        Output { kept: Arc::new(Mutex::new(kept)), stream: 0 }
    }

    /// Returns the same output for the bytes of the stderr.
    pub(crate) fn of_stderr(&self) -> Output {
        Output { kept: Arc::clone(&self.kept), stream: 1 }
    }

    /// Marks a start of the component: its last lines are those from now on.
    pub(crate) fn begin(&self) {
        let mut kept = self.kept();
        kept.finish_lines();
        kept.earlier = kept.forgotten + kept.end.len() as u64;
    }

    pub(crate) fn add(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        if kept.secrets.is_empty() {
            return kept.add(bytes);
        }
        let unfinished = &mut kept.unfinished[self.stream];
        unfinished.extend_from_slice(bytes);
        let end = unfinished.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let is_long = LONGEST_WITH_SECRETS < unfinished.len() - end;
        kept.finish_line(self.stream, if is_long { None } else { Some(end) });
    }

    /// Returns the last lines, for messages.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let mut kept = self.kept();
        kept.finish_lines();
        let since_start = kept.forgotten + kept.end.len() as u64 - kept.earlier;
        let most = usize::try_from(since_start).unwrap_or(HALF).min(LAST_LINES * LONGEST_LINE);
        let recent: Vec<u8> = kept.end.iter().rev().take(most).rev().copied().collect();
        last_lines(&String::from_utf8_lossy(&recent))
    }

    /// Writes the end behind the beginning, except the part that the beginning already holds.
    pub(crate) fn finish(&self) {
        let mut kept = self.kept();
        kept.finish_lines();
        let total = kept.forgotten + kept.end.len() as u64;
        let missing = (total - kept.begun as u64).min(kept.end.len() as u64);
        let gap = total - kept.begun as u64 - missing;
        let from = kept.end.len() - missing as usize;
        let end: Vec<u8> = kept.end.iter().skip(from).copied().collect();
        let Some(file) = &mut kept.file else { return };
        if 0 < gap {
            let _ = write!(file, "\n[{gap} bytes are left out here]\n");
        }
        let _ = file.write_all(&end);
        kept.file = None;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn finish_lines(&mut self) {
        (0..self.unfinished.len()).for_each(|stream| self.finish_line(stream, None));
    }

    /// Adds the part of a stream's unfinished lines before `end`, or all of it, without its secrets.
    fn finish_line(&mut self, stream: usize, end: Option<usize>) {
        let unfinished = &mut self.unfinished[stream];
        let end = end.unwrap_or(unfinished.len());
        let lines: Vec<u8> = unfinished.drain(..end).collect();
        let text = self.secrets.hide(&String::from_utf8_lossy(&lines));
        self.add(text.as_bytes());
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = HALF.saturating_sub(self.begun).min(bytes.len());
        let (head, _) = bytes.split_at(room);
        self.begun += head.len();
        if let Some(file) = &mut self.file {
            // A full disk costs the log, not the experiment.
            let _ = file.write_all(head);
        }
        self.end.extend(bytes);
        let excess = self.end.len().saturating_sub(HALF);
        self.end.drain(..excess);
        self.forgotten += excess as u64;
    }
}

/// Returns the last lines of a text that are not empty, without control characters.
pub(crate) fn last_lines(text: &str) -> Vec<String> {
    let shown = |line: &str| -> String {
        line.chars().filter(|c| !c.is_control()).take(LONGEST_LINE).collect()
    };
    let lines: Vec<String> = text.lines().map(shown).filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].to_vec()
}

/// Copies what `from` yields until it ends, and returns its first bytes, at most `most`.
pub(crate) fn capture(mut from: impl Read, output: &Output, most: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return kept,
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return kept,
        };
        output.add(&buffer[..n]);
        let room = most.saturating_sub(kept.len()).min(n);
        kept.extend_from_slice(&buffer[..room]);
    }
}

/// Takes lines of an output.
pub(crate) struct Lines {
    /// While it is full, further lines are left out.
    pub(crate) sender: SyncSender<String>,
    pub(crate) is_wanted: Box<dyn Fn(&str) -> bool + Send>,
}

/// Copies what `from` yields until it ends; sends each wanted line to `lines` as well, until the receiver
/// is gone.
pub(crate) fn pump(mut from: impl Read, output: &Output, lines: Option<&Lines>) {
    let mut listening = lines;
    let mut line = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        output.add(&buffer[..n]);
        let Some(Lines { sender, is_wanted }) = listening else { continue };
        for &byte in &buffer[..n] {
            match byte {
                b'\n' => {
                    let text = String::from_utf8_lossy(&line).trim().to_owned();
                    line.clear();
                    let sent = if is_wanted(&text) { sender.try_send(text) } else { Ok(()) };
                    if matches!(sent, Err(TrySendError::Disconnected(_))) {
                        listening = None;
                        break;
                    }
                }
                _ if line.len() < LONGEST_FIRST_LINE => line.push(byte),
                _ => {}
            }
        }
    }
}

/// Runs `work` on its own thread; the receiver gets a message at its end.
pub(crate) fn in_background(work: impl FnOnce() + Send + 'static) -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        work();
        let _ = sender.send(());
    });
    receiver
}
