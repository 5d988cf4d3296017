//! The sizes of a store, and what is wrong with them.

use std::fmt;

use crate::log::paging::LEAST_PAGES;

/// The sizes of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The seed of the hash of keys.
    pub seed: u64,
    /// The number of hash buckets, of 64 bytes each; rounded up to a power of two, at least 4096.
    pub buckets: u64,
    /// A number that only this store has, such as a random one: blocks of another are not believed.
    pub id: u64,
    /// The bytes of the log that are kept in memory; rounded down to whole pages, at least two, and
    /// four with a storage.
    pub memory: u64,
    /// The part of the memory in which records are updated in place, above 0 and at most 0.95.
    pub mutable_fraction: f64,
    /// The bytes of a page: a power of two, from 16 KiB on. A value that does not fit in
    /// one is refused.
    pub page: u64,
    /// The bytes of a file of the log: a power of two, at least those of a page.
    pub segment: u64,
    /// The most bytes of the log, with a storage a quarter more than the memory; then operations that
    /// need more of it answer `Full`. Deletions do not: a part of it is theirs.
    pub log_limit: Option<u64>,
    /// The state that survives the end of the process; needs a storage unless it is `None`.
    pub durability: Durability,
    /// The most sessions that are open at the same time, at most 65,536.
    pub sessions: u32,
}

/// The state that survives the end of the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Durability {
    /// Nothing: a store begins empty.
    None,
    /// That of the newest checkpoint: see [`Store::checkpoint`](crate::Store::checkpoint).
    Checkpoint,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            id: 0,
            buckets: 1 << 20,
            memory: 1 << 30,
            mutable_fraction: 0.9,
            page: 4 << 20,
            segment: 1 << 30,
            log_limit: None,
            durability: Durability::None,
            sessions: 4096,
        }
    }
}

impl Options {
    /// Checks each size.
    pub(crate) fn check(&self, is_stored: bool) -> Result<(), OpenError> {
        let least = if is_stored { LEAST_PAGES } else { 2 };
        let checks = [
            (
                "page",
                self.page.to_string(),
                self.page.is_power_of_two() && (16 << 10..=1 << 30).contains(&self.page),
                "a power of two from 16 KiB to 1 GiB".to_owned(),
            ),
            (
                "memory",
                size(self.memory),
                self.memory / self.page.max(1) >= least && self.memory < 1 << 47,
                format!("{} or more, below 128 TiB", size(least.saturating_mul(self.page))),
            ),
            (
                "segment",
                self.segment.to_string(),
                self.segment.is_power_of_two() && self.segment >= self.page,
                "a power of two, not below the page".to_owned(),
            ),
            (
                "log_limit",
                size(self.log_limit.unwrap_or(0)),
                // What is in memory cannot be compacted.
                !is_stored || self.log_limit.is_none_or(|limit| limit / 5 * 4 >= self.memory),
                format!(
                    "{} or more, a quarter more than the memory",
                    size(self.memory.div_ceil(4).saturating_mul(5))
                ),
            ),
            (
                "buckets",
                self.buckets.to_string(),
                self.buckets <= 1 << 36,
                "at most 2^36".to_owned(),
            ),
            (
                "mutable_fraction",
                self.mutable_fraction.to_string(),
                self.mutable_fraction > 0.0 && self.mutable_fraction <= 0.95,
                "a number above 0 and at most 0.95".to_owned(),
            ),
            (
                "sessions",
                self.sessions.to_string(),
                (1..=1 << 16).contains(&self.sessions),
                "1 to 65,536".to_owned(),
            ),
        ];
        let wrong = checks.into_iter().find(|(.., is_valid, _)| !is_valid);
        wrong.map_or(Ok(()), |(name, value, _, valid)| Err(OpenError::Size { name, value, valid }))
    }
}

/// Prints a size in the largest unit of which it is a multiple.
fn size(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| 0 < bytes && bytes.is_multiple_of(*unit));
    unit.map_or(bytes.to_string(), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// The reason why a store could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// A size is not valid: its name, the value, and the values that are.
    Size {
        name: &'static str,
        value: String,
        valid: String,
    },
    /// The operating system has not given the memory.
    Memory {
        bytes: u64,
        error: std::io::Error,
    },
    Storage(std::io::Error),
    /// The storage has this file already, which a new store would overwrite.
    NotEmpty(String),
    /// The store was made with another value of this size.
    Differs {
        name: &'static str,
        stored: u64,
        given: u64,
    },
    /// A checkpoint was written by a later version of this library, in this format.
    Newer {
        file: String,
        format: u32,
    },
    /// None of these checkpoints is whole.
    NoneIsWhole(Vec<String>),
    /// The log begins with this file, so that there were checkpoints, and there are none.
    NoCheckpoint(String),
    /// A block of the log that a checkpoint needs is not what was written there.
    Corrupt {
        file: String,
        at: u64,
    },
    /// The index has no room for the keys.
    IndexIsFull,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Size { name, value, valid } => {
                write!(f, "`{name}` of a store is not valid: {value}; choose {valid}")
            }
            OpenError::Memory { bytes, error } => {
                write!(
                    f,
                    "cannot reserve {bytes} bytes of memory: {error}; choose less memory or fewer buckets"
                )
            }
            OpenError::Storage(error) => {
                write!(f, "cannot use the storage of the store: {error}")
            }
            OpenError::NotEmpty(file) => write!(
                f,
                "the storage has the file `{file}`, which a store without durability would overwrite: \
                 choose an empty folder, or durability by checkpoints"
            ),
            OpenError::Differs { name, stored, given } => write!(
                f,
                "the store was made with `{name}` {stored}, which is not {given}: choose {stored}"
            ),
            OpenError::Newer { file, format } => write!(
                f,
                "`{file}` has the format {format}, which this version does not know: use the version \
                 that has written it"
            ),
            OpenError::NoneIsWhole(files) => write!(
                f,
                "no checkpoint in the storage is whole: {}; restore the files from a copy, or choose \
                 an empty folder",
                files.join(", ")
            ),
            OpenError::NoCheckpoint(first) => write!(
                f,
                "the log begins with `{first}`, and the checkpoints that say what is whole are missing; restore \
                 them from a copy, or choose an empty folder"
            ),
            OpenError::Corrupt { file, at } => write!(
                f,
                "`{file}` is corrupt at byte {at}, which the checkpoint needs; restore the file from a \
                 copy, or choose an empty folder"
            ),
            OpenError::IndexIsFull => f.write_str(
                "the index has no room for the keys of the storage: choose more buckets",
            ),
        }
    }
}

impl std::error::Error for OpenError {}
