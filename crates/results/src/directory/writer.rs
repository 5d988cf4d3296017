//! Appending to the journal: the same cost for the ten-thousandth trial as for the first.

use std::io::Write;
use std::sync::Arc;

use super::{Directory, Error, Files};
use crate::digest;
use crate::journal::Entry;
use crate::regular::Locked;

/// A journal that is open for appending. Only one process may have one at a time.
#[derive(Debug)]
pub struct Writer {
    directory: Directory,
    file: Arc<Locked>,
    /// The end of the last complete line.
    end: u64,
}

impl Directory {
    /// Opens the journal for appending, and returns every entry that was completely written. The
    /// journal is read only here.
    pub fn write_journal(&self) -> Result<(Vec<Entry>, Writer), Error> {
        let mut directory = self.clone();
        if directory.journal.is_none() {
            directory.lock()?;
        }
        let (entries, end) = directory.read_journal()?;
        let file = directory.journal.clone().expect("it was locked above");
        Ok((entries, Writer { directory, file, end }))
    }
}

impl Writer {
    /// Keeps the files of a trial and appends its entry: after this returns the trial is safe.
    ///
    /// The files get their final name first, so that every entry has its files. A crash between the
    /// two leaves files without an entry, which are replaced.
    pub fn append(&mut self, entry: Entry, files: &Files) -> Result<Entry, Error> {
        let Writer { directory, file, end } = self;
        let digests =
            files.iter().map(|(name, bytes)| (name.clone(), digest::sha256(bytes))).collect();
        let entry = Entry { files: digests, ..entry };
        let name = format!("trials/{}", entry.trial);
        directory.keep_files(&name, files).map_err(|e| directory.failed(&name, &e))?;

        let mut line = serde_json::to_vec(&entry).expect("an entry is plain data");
        line.push(b'\n');
        // Cuts off an incomplete line of a killed process or of a failed append.
        file.set_len(*end)
            .and_then(|()| (&***file).write_all(&line))
            .and_then(|()| file.sync_data())
            .map_err(|e| directory.failed("journal.jsonl", &e))?;
        *end += line.len() as u64;
        Ok(entry)
    }
}
