//! The files of keys of `benchwright ycsb bench`: eight bytes for each key, the lowest first.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use console::output::Failure;
use measure::quantity::counted;
use ycsb::bench::append_keys;

#[cfg(test)]
mod tests;

/// The files that are there, of the right size.
#[derive(Debug)]
pub(super) struct Files {
    load: Option<List>,
    transactions: Option<List>,
    /// The numbers of keys and operations without files.
    drawn: (u64, u64),
}

/// A file, of which the first keys are used.
#[derive(Debug)]
struct List {
    option: &'static str,
    path: PathBuf,
    file: File,
    keys: u64,
}

/// The keys in files.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) keys: Option<Arc<Vec<u64>>>,
    pub(super) transactions: Option<Arc<Vec<u64>>>,
}

/// The bytes of a key.
const KEY: u64 = 8;
/// The bytes that are read at once: they stay in the processor's cache until they are keys.
const PIECE: usize = 1 << 18;

impl Files {
    /// The number of keys that servers are filled with, unless it is given.
    pub(super) const KEYS: u64 = 10_000_000;
    /// The number of operations that are drawn, unless it is given.
    pub(super) const TRANSACTIONS: u64 = 100_000_000;

    /// Opens the files, and compares their sizes with the numbers of keys that are asked for.
    pub(super) fn find(
        (load, keys): (Option<&Path>, Option<u64>),
        (list, transactions): (Option<&Path>, Option<u64>),
    ) -> Result<Files, Failure> {
        let load = load.map(|path| List::find(["--load-file", "--keys"], path, keys));
        let list = list
            .map(|path| List::find(["--transactions-file", "--transactions"], path, transactions));
        let drawn = (keys.unwrap_or(Files::KEYS), transactions.unwrap_or(Files::TRANSACTIONS));
        Ok(Files { load: load.transpose()?, transactions: list.transpose()?, drawn })
    }

    pub(super) fn keys(&self) -> u64 {
        self.load.as_ref().map_or(self.drawn.0, |list| list.keys)
    }

    pub(super) fn transactions(&self) -> u64 {
        self.transactions.as_ref().map_or(self.drawn.1, |list| list.keys)
    }

    /// The line of the log about where keys come from, in the words of the original.
    pub(super) fn told(&self) -> String {
        let named: Vec<String> = [&self.load, &self.transactions]
            .into_iter()
            .flatten()
            .map(|list| list.path.display().to_string())
            .collect();
        match named.is_empty() {
            true => "Generating workload keys and requests from PRNG".to_owned(),
            false => format!("Loading workload data from {} into memory", named.join(" and ")),
        }
    }

    pub(super) fn read(self) -> Result<Lists, Failure> {
        let read = |list: Option<List>| list.map(List::read).transpose();
        Ok(Lists { keys: read(self.load)?, transactions: read(self.transactions)? })
    }
}

impl List {
    fn find(
        [option, count]: [&'static str; 2],
        path: &Path,
        asked: Option<u64>,
    ) -> Result<List, Failure> {
        const MAKE: &str = "make such a file with `benchwright ycsb convert`";
        let refuse = |why: &str, remedy: &str| {
            Failure::question(format!(
                "{option} {}: {why}\n  {remedy}",
                results::regular::shown(path)
            ))
        };
        let unreadable = |error: std::io::Error| refuse(&error.to_string(), MAKE);
        // Before it is opened: a FIFO would wait for its other end.
        let about = fs::metadata(path).map_err(unreadable)?;
        if !about.is_file() {
            return Err(refuse("is not a file with keys", MAKE));
        }
        let file = File::open(path).map_err(unreadable)?;
        let (keys, rest) = (about.len() / KEY, about.len() % KEY);
        let asked = asked.unwrap_or(keys);
        if rest != 0 {
            let (bytes, keys) = (counted(about.len()), counted(keys));
            let why =
                format!("has {bytes} bytes, which are {keys} keys of 8 bytes and {rest} more");
            return Err(refuse(&why, MAKE));
        }
        if keys == 0 {
            let remedy = "make it with `benchwright ycsb convert` from lines that have keys";
            return Err(refuse("has no key", remedy));
        }
        if keys < asked {
            let (keys, asked) = (counted(keys), counted(asked));
            let remedy =
                format!("leave out {count}, or make a longer file with `benchwright ycsb convert`");
            return Err(refuse(&format!("has {keys} keys, and {count} asks for {asked}"), &remedy));
        }
        Ok(List { option, path: path.to_owned(), file, keys: asked })
    }

    fn read(self) -> Result<Arc<Vec<u64>>, Failure> {
        let List { option, path, mut file, keys: count } = self;
        let failed = |why: &str| {
            Failure::question(format!("{option} {}: {why}", results::regular::shown(&path)))
        };
        let mut keys = Vec::new();
        if keys.try_reserve_exact(count as usize).is_err() {
            return Err(failed("its keys do not fit into memory; ask for fewer"));
        }
        let mut piece = vec![0; PIECE];
        let mut left = count * KEY;
        while 0 < left {
            let part = &mut piece[..left.min(PIECE as u64) as usize];
            file.read_exact(part).map_err(|error| failed(&error.to_string()))?;
            append_keys(part, &mut keys);
            left -= part.len() as u64;
        }
        Ok(Arc::new(keys))
    }
}
