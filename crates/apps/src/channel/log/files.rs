//! The files of a log: what is appended to them, and what is read from them at the start.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::bail;
use bytes::{Buf, BufMut, Bytes};

use super::{Contents, Entry, Recovered, Settings};
use crate::channel::event::Event;
use crate::channel::pending::Pending;

pub(super) const MAGIC: &[u8; 8] = b"BWEVENT2";
const ACCEPTED: u8 = 1;
const DONE: u8 = 2;

/// The bytes of a record before its body.
const HEAD: usize = 8;

/// The most bytes of a body: an event has at most 1 MiB of data, and its attributes.
const LARGEST_BODY: usize = 2 << 20;

/// The files of a log, in the order of their numbers.
pub(super) struct Files {
    folder: PathBuf,
    settings: Settings,
    /// The last one.
    file: File,
    written: u64,
    list: VecDeque<Part>,
    buffer: Vec<u8>,
}

struct Part {
    number: u64,
    /// The deliveries of its events that are not done.
    left: usize,
}

impl Files {
    /// Reads the files of a folder, and begins another one.
    pub(super) fn open(folder: &Path, settings: Settings) -> anyhow::Result<(Self, Contents)> {
        let (contents, mut list) = read(folder, &settings.subscribers)?;
        let number = list.back().map_or(0, |last| last.number + 1);
        let file = create(folder, number, settings.syncs)?;
        list.push_back(Part { number, left: 0 });
        let folder = folder.to_owned();
        let mut files = Files { folder, settings, file, written: 0, list, buffer: vec![] };
        files.remove_done()?;
        Ok((files, contents))
    }

    /// Appends a group of entries: in one piece, unless a file ends between them.
    pub(super) fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut has_events = false;
        for entry in entries {
            match entry {
                Entry::Accepted(pending) => {
                    has_events = true;
                    let last = self.list.back_mut().expect("there is always a last file");
                    last.left += self.settings.subscribers.len();
                    pending.file.store(last.number, Ordering::Relaxed);
                    let subscribers = &self.settings.subscribers;
                    record(&mut self.buffer, |out| accepted(out, pending, subscribers));
                }
                Entry::Done(pending, subscriber) => {
                    let number = pending.file.load(Ordering::Relaxed);
                    let part = self.list.iter_mut().find(|part| part.number == number);
                    part.expect("a file stays until its events are delivered").left -= 1;
                    record(&mut self.buffer, |out| {
                        out.put_u8(DONE);
                        out.put_u64(pending.number);
                        out.put_u32(*subscriber);
                    });
                }
            }
            if self.settings.file_bytes <= self.written + self.buffer.len() as u64 {
                self.write(has_events)?;
                has_events = false;
                let number = self.list.back().map_or(0, |last| last.number + 1);
                self.file = create(&self.folder, number, self.settings.syncs)?;
                self.list.push_back(Part { number, left: 0 });
                self.written = 0;
                self.remove_done()?;
            }
        }
        self.write(has_events)
    }

    /// Writes the records that are in the buffer.
    fn write(&mut self, has_events: bool) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        if has_events && self.settings.syncs {
            self.file.sync_data()?;
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        // One large batch must not keep its memory.
        self.buffer.shrink_to(1 << 20);
        Ok(())
    }

    /// Removes the oldest files of which everything is delivered.
    fn remove_done(&mut self) -> io::Result<()> {
        while 1 < self.list.len() && self.list[0].left == 0 {
            let part = self.list.pop_front().expect("there are two");
            fs::remove_file(path(&self.folder, part.number))?;
        }
        Ok(())
    }
}

pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:012}.log"))
}

/// Creates the file of this number; if it `syncs`, it is there after a loss of power, too.
fn create(folder: &Path, number: u64, syncs: bool) -> io::Result<File> {
    let path = path(folder, number);
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(MAGIC)?;
    if syncs {
        file.sync_all()?;
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// Appends a record with the body that `write` makes.
fn record(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.put_bytes(0, HEAD);
    write(out);
    let (head, body) = out[start..].split_at_mut(HEAD);
    let length: u32 = body.len().try_into().expect("an event is shorter");
    head[..4].copy_from_slice(&length.to_be_bytes());
    head[4..].copy_from_slice(&crc32fast::hash(body).to_be_bytes());
}

fn accepted(out: &mut Vec<u8>, pending: &Pending, subscribers: &[u32]) {
    out.put_u8(ACCEPTED);
    out.put_u64(pending.number);
    out.put_u8(subscribers.len().try_into().expect("the command line has a bound"));
    subscribers.iter().for_each(|subscriber| out.put_u32(*subscriber));
    pending.event.encode(out);
}

/// Reads a log. Subscribers that are not there any more get nothing.
fn read(folder: &Path, subscribers: &[u32]) -> anyhow::Result<(Contents, VecDeque<Part>)> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".log")?.parse().ok());
        numbers.extend::<Option<u64>>(number);
    }
    numbers.sort_unstable();
    let mut events = BTreeMap::new();
    let mut contents = Contents::default();
    for number in &numbers {
        let path = path(folder, *number);
        let bytes = Bytes::from(fs::read(&path)?);
        if MAGIC.len() <= bytes.len() && !bytes.starts_with(MAGIC) {
            bail!(
                "{} is not a file of this version's log; move the folder away to begin without its \
                 events",
                path.display()
            );
        }
        let good = read_file(&bytes, *number, subscribers, &mut events, &mut contents.next);
        if good == bytes.len() {
            continue;
        }
        if numbers.last() != Some(number) {
            bail!(
                "{} is damaged at byte {good}, and it is not the end of the log; restore the \
                 folder, or move it away to begin without its events",
                path.display()
            );
        }
        contents.torn = bytes.len() - good;
        let mut file = OpenOptions::new().write(true).open(&path)?;
        file.set_len(good as u64)?;
        if good == 0 {
            file.write_all(MAGIC)?;
        }
        file.sync_all()?;
    }
    let mut list: VecDeque<_> =
        numbers.iter().map(|number| Part { number: *number, left: 0 }).collect();
    for event in events.values() {
        let event: &Recovered = event;
        let part = list.iter_mut().find(|part| part.number == event.file);
        part.expect("its file was read").left += event.left.len();
    }
    contents.recovered = events.into_values().filter(|event| !event.left.is_empty()).collect();
    Ok((contents, list))
}

/// Reads the records of a file, and returns the length of its good beginning.
fn read_file(
    bytes: &Bytes,
    file: u64,
    subscribers: &[u32],
    events: &mut BTreeMap<u64, Recovered>,
    next: &mut u64,
) -> usize {
    if !bytes.starts_with(MAGIC) {
        return 0;
    }
    let mut rest = bytes.slice(MAGIC.len()..);
    loop {
        let good = bytes.len() - rest.len();
        let Some(body) = body(&mut rest) else { return good };
        match entry(body, file) {
            Some(Read::Accepted(mut event)) => {
                *next = (*next).max(event.number + 1);
                event.left.retain(|one| subscribers.contains(one));
                events.insert(event.number, event);
            }
            // Its event may have been in a file that was removed.
            Some(Read::Done(number, subscriber)) => {
                if let Some(event) = events.get_mut(&number) {
                    event.left.retain(|one| *one != subscriber);
                }
            }
            None => return good,
        }
    }
}

/// Takes the body of the next record, if it is whole.
fn body(rest: &mut Bytes) -> Option<Bytes> {
    let mut head = rest.get(..HEAD)?;
    let (length, sum) = (head.get_u32() as usize, head.get_u32());
    if LARGEST_BODY < length || rest.len() < HEAD + length {
        return None;
    }
    let body = rest.slice(HEAD..HEAD + length);
    (crc32fast::hash(&body) == sum).then(|| {
        rest.advance(HEAD + length);
        body
    })
}

enum Read {
    Accepted(Recovered),
    Done(u64, u32),
}

fn entry(mut body: Bytes, file: u64) -> Option<Read> {
    match body.try_get_u8().ok()? {
        ACCEPTED => {
            let number = body.try_get_u64().ok()?;
            let count = body.try_get_u8().ok()?;
            let left = (0..count).map(|_| body.try_get_u32().ok()).collect::<Option<_>>()?;
            Some(Read::Accepted(Recovered { number, event: Event::decode(body)?, left, file }))
        }
        DONE => Some(Read::Done(body.try_get_u64().ok()?, body.try_get_u32().ok()?)),
        _ => None,
    }
}
