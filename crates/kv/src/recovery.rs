//! Recovery: from the files of a storage to the newest whole checkpoint.
//!
//! A manifest says where the log begins and ends. Each of its blocks is read once, in order, and
//! checked; the last record of each chain becomes its entry in the index. What lies behind the end was
//! never durable, and is cut off. A manifest that is not whole is passed over for the one before, but
//! a bad block within the log of a whole one is never: then nothing is opened.

use std::collections::VecDeque;
use std::io;

use net::{FileId, Operation};

use crate::address::{Address, end_of_page};
use crate::checkpoint::Start;
use crate::checkpoint::manifest::{
    HEAD, Manifest, Unreadable, is_like_a_manifest, is_new, name, version_of,
};
use crate::hash::Hash;
use crate::index::{Added, Growth, Room};
use crate::log::BLOCK;
use crate::log::stored::{Corrupt, first_run, records};
use crate::options::{OpenError, Options};
use crate::segment::Segment;
use crate::shared::Shared;
use crate::storage::Storage;

#[cfg(all(test, not(shuttle)))]
mod tests;

/// The parts of the log that are read at the same time.
const MOST_AT_ONCE: usize = 4;

/// More than the 65,536 sessions of a store can have, each with the most operations that wait.
const MOST_OF_A_MANIFEST: u64 = 4 << 30;

/// The state that a store has recovered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Recovered {
    /// The version of the checkpoint.
    pub version: u64,
    /// Newer checkpoints that were passed over, since they are not whole: the names of their files.
    pub not_whole: Vec<String>,
    /// The records of the log, also those that newer ones have replaced.
    pub records: u64,
    pub sessions: u64,
}

/// The files of a storage.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The versions of the manifests, the newest first.
    versions: Vec<u64>,
    /// The numbers of the segments, and their lengths.
    segments: Vec<(u64, u64)>,
    new: Vec<String>,
    /// Files that look like manifests, and have not the name of any.
    like_manifests: Vec<String>,
}

/// Finds the newest whole checkpoint, and changes nothing.
pub(crate) fn find(
    options: &Options,
    storage: &mut dyn Storage,
) -> Result<(Start, Recovered, Files), OpenError> {
    let files = Files::of(storage).map_err(OpenError::Storage)?;
    let mut not_whole = Vec::new();
    let mut newest = None;
    let mut kept = Vec::new();
    for &version in &files.versions {
        match read_manifest(version, storage)? {
            Some(manifest) => {
                kept.insert(0, (version, manifest.begin));
                newest.get_or_insert(manifest);
            }
            None if newest.is_none() => not_whole.push(name(version)),
            // One that is older, and is not needed.
            None => {}
        }
    }
    let Some(newest) = newest else {
        if !not_whole.is_empty() {
            return Err(OpenError::NoneIsWhole(not_whole));
        }
        files.expect_no_checkpoint()?;
        return Ok((Start::default(), Recovered::default(), files));
    };
    fits(&newest, options)?;
    let recovered = Recovered {
        version: newest.version,
        not_whole: not_whole.clone(),
        records: 0,
        sessions: newest.sessions.len() as u64,
    };
    let next = files.versions.iter().max().copied().unwrap_or(0) + 1;
    let first_segment = files.first_segment();
    let start = Start { next, newest, kept, first_segment, unwanted: not_whole };
    Ok((start, recovered, files))
}

impl Files {
    fn of(storage: &mut dyn Storage) -> io::Result<Files> {
        let mut files = Files::default();
        for file in storage.list()? {
            if let Some(version) = version_of(&file.name) {
                files.versions.push(version);
            } else if let Some(number) = Segment::number_of(&file.name) {
                files.segments.push((number, file.length));
            } else if is_new(&file.name) {
                files.new.push(file.name);
            } else if is_like_a_manifest(&file.name) {
                files.like_manifests.push(file.name);
            }
        }
        files.versions.sort_unstable_by(|one, other| other.cmp(one));
        Ok(files)
    }

    fn first_segment(&self) -> u64 {
        self.segments.iter().map(|(number, _)| *number).min().unwrap_or(0)
    }

    pub(crate) fn log_bytes(&self) -> u64 {
        self.segments.iter().map(|(_, length)| length).sum()
    }

    /// Refuses a log whose checkpoints are missing: a crash before the first one leaves a log from its
    /// beginning on.
    fn expect_no_checkpoint(&self) -> Result<(), OpenError> {
        if !self.like_manifests.is_empty() {
            return Err(OpenError::NoneIsWhole(self.like_manifests.clone()));
        }
        match self.first_segment() {
            0 => Ok(()),
            first => Err(OpenError::NoCheckpoint(Segment::new(first).as_str().to_owned())),
        }
    }

    /// Removes what was never durable: the log behind its end, and manifests that were not completed.
    pub(crate) fn cut(&self, tail: u64, segment: u64, storage: &mut dyn Storage) -> io::Result<()> {
        for file in &self.new {
            remove(file, storage)?;
        }
        for &(number, length) in &self.segments {
            let file = Segment::new(number);
            let end = tail.saturating_sub(number.saturating_mul(segment));
            if end == 0 {
                remove(file.as_str(), storage)?;
            } else if end < length {
                let file = storage.file(file.as_str())?;
                wait_for(file, Operation::Truncate { length: end }, storage)?;
            }
        }
        Ok(())
    }
}

/// Reads a manifest; `None` if it is not whole.
fn read_manifest(version: u64, storage: &mut dyn Storage) -> Result<Option<Manifest>, OpenError> {
    let file = name(version);
    let Some(bytes) = read_file(&file, storage).map_err(OpenError::Storage)? else {
        return Ok(None);
    };
    match Manifest::decode(&bytes) {
        Ok(manifest) if manifest.version == version => Ok(Some(manifest)),
        Ok(_) | Err(Unreadable::Corrupt) => Ok(None),
        Err(Unreadable::Newer(format)) => Err(OpenError::Newer { file, format }),
    }
}

/// Checks that the options are those that the store was made with.
fn fits(manifest: &Manifest, options: &Options) -> Result<(), OpenError> {
    let Manifest { seed, page, segment, buckets, .. } = *manifest;
    let sizes = [
        ("seed", seed, options.seed, seed == options.seed),
        ("page", page, options.page, page == options.page),
        ("segment", segment, options.segment, segment == options.segment),
        // With fewer, chains that have grown apart would have to be joined.
        ("buckets", buckets, options.buckets, buckets <= options.buckets),
    ];
    match sizes.into_iter().find(|(.., fits)| !fits) {
        Some((name, stored, given, _)) => Err(OpenError::Differs { name, stored, given }),
        None => Ok(()),
    }
}

/// Reads the file of a manifest; `None` if it has not the length that its head tells.
fn read_file(name: &str, storage: &mut dyn Storage) -> io::Result<Option<Vec<u8>>> {
    let length = storage.list()?.into_iter().find(|file| file.name == name);
    let length = length.map_or(0, |file| file.length);
    let file = storage.file(name)?;
    let mut read = |buffer| -> io::Result<Vec<u8>> {
        let (read, mut buffer) = wait_for(file, Operation::Read { at: 0, buffer }, storage)?;
        buffer.truncate(read);
        Ok(buffer)
    };
    // First the head: a sparse file may be longer than the memory.
    let head = read(vec![0; HEAD])?;
    if Manifest::length(&head) != Some(length) || MOST_OF_A_MANIFEST < length {
        return Ok(None);
    }
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    buffer.resize(length, 0);
    read(buffer).map(Some)
}

/// Does an operation while no other is in progress.
fn wait_for(
    file: FileId,
    operation: Operation,
    storage: &mut dyn Storage,
) -> io::Result<(usize, Vec<u8>)> {
    storage.begin(file, operation, 0);
    let completion = completed(storage);
    Ok((completion.result?, completion.buffer))
}

fn remove(name: &str, storage: &mut dyn Storage) -> io::Result<()> {
    storage.remove(name, 0);
    completed(storage).result.map(|_| ())
}

fn completed(storage: &mut dyn Storage) -> net::Completion {
    loop {
        if let Some(completion) = storage.next_completion() {
            return completion;
        }
        storage.wait();
    }
}

/// A part of the log that is being read.
struct Part {
    at: u64,
    bytes: Option<Vec<u8>>,
}

/// Reads the log, and makes the index. Returns the number of records.
pub(crate) fn scan(
    shared: &Shared,
    begin: u64,
    tail: u64,
    storage: &mut dyn Storage,
) -> Result<u64, OpenError> {
    let mut records = 0;
    let mut next = begin & !(BLOCK - 1);
    let mut parts: VecDeque<Part> = VecDeque::new();
    loop {
        while next < tail && parts.len() < MOST_AT_ONCE && storage.room() > 0 {
            let end = end_of_page(next, shared.page).min(tail);
            let (segment, at) = shared.place(next);
            let file = storage.file(segment.as_str()).map_err(OpenError::Storage)?;
            let buffer = vec![0; (end - next) as usize];
            storage.begin(file, Operation::Read { at, buffer }, next);
            parts.push_back(Part { at: next, bytes: None });
            next = end;
        }
        if parts.is_empty() {
            return Ok(records);
        }
        let completion = completed(storage);
        let read = completion.result.map_err(OpenError::Storage)?;
        let mut bytes = completion.buffer;
        bytes.truncate(read);
        let part = parts.iter_mut().find(|part| part.at == completion.token);
        part.expect("only these are read").bytes = Some(bytes);
        while let Some(Part { bytes: Some(_), .. }) = parts.front() {
            let Part { at, bytes } = parts.pop_front().expect("it was looked at");
            let end = end_of_page(at, shared.page).min(tail);
            let bytes = bytes.unwrap_or_default();
            records += index_part(shared, begin, at, end, &bytes)?;
        }
    }
}

/// The records whose buckets are requested before the first of them is changed.
const GROUP: usize = 64;

/// Adds the records of a part of the log to the index, and returns their number.
fn index_part(
    shared: &Shared,
    begin: u64,
    from: u64,
    to: u64,
    bytes: &[u8],
) -> Result<u64, OpenError> {
    let mut count = 0;
    let mut at = from;
    let mut group = Vec::with_capacity(GROUP);
    while at < to {
        let rest = bytes.get((at - from) as usize..).unwrap_or_default();
        let blocks = first_run(rest, at, shared.id).map_err(|Corrupt| {
            let (file, at) = shared.place(at);
            OpenError::Corrupt { file: file.as_str().to_owned(), at }
        })?;
        for (address, record) in records(blocks, at) {
            if address.get() < begin {
                continue;
            }
            let hash = Hash::of(record.key, shared.seed);
            shared.index.prefetch(hash);
            group.push((hash, address));
            count += 1;
            if group.len() == GROUP {
                insert(shared, &mut group)?;
            }
        }
        at += blocks.len() as u64;
    }
    insert(shared, &mut group)?;
    Ok(count)
}

/// Makes each record the newest of its chain, in their order.
fn insert(shared: &Shared, group: &mut Vec<(Hash, Address)>) -> Result<(), OpenError> {
    group.drain(..).try_for_each(|(hash, address)| insert_one(shared, hash, address))
}

/// Makes a record the newest of its chain.
fn insert_one(shared: &Shared, hash: Hash, address: Address) -> Result<(), OpenError> {
    let added = match shared.index.find(hash) {
        Some(slot) => {
            assert!(slot.replace(address), "nobody else uses the index yet");
            return Ok(());
        }
        None => {
            while shared.index.room(hash) == Room::Later {
                grow(shared);
            }
            shared.index.add(hash, address)
        }
    };
    if added != Added::Done {
        return Err(OpenError::IndexIsFull);
    }
    grow(shared);
    Ok(())
}

/// Lets the slices of the index grow that have asked; nobody else uses it.
fn grow(shared: &Shared) {
    while shared.index.should_grow() {
        let Growth::Begun(slices) = shared.index.begin_growth() else { break };
        shared.index.grow(slices).into_iter().for_each(|table| shared.index.clear(table));
    }
}
