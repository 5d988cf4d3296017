//! The file of an embedded, durable database.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, bail};
use redb::{Database, StorageBackend};

/// The failure that acknowledged data survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process: it is in the file, though perhaps not yet on the disk.
    Kill,
    /// The death of the machine as well: the disk has confirmed it.
    PowerLoss,
}

/// Opens the database `name` in a folder, creates both if they are missing, and makes a store over it.
/// At most `cache_bytes` of it are kept in memory.
pub fn opened<T>(
    folder: &Path,
    name: &str,
    durability: Durability,
    cache_bytes: usize,
    over: impl FnOnce(Database) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let path = folder.join(name);
    let place = || format!("opening the store {}", path.display());
    let file = StoreFile::open(&path, durability).with_context(place)?;
    let mut builder = Database::builder();
    let database = builder.set_cache_size(cache_bytes).create_with_backend(file);
    let database = database.map_err(anyhow::Error::new).with_context(place)?;
    over(database).with_context(place)
}

/// The database's file. Written data is in the kernel, and so survives this process; only
/// [`Durability::PowerLoss`] waits for the disk.
#[derive(Debug)]
pub struct StoreFile {
    file: File,
    durability: Durability,
}

impl StoreFile {
    /// Opens the file, and creates it if it is missing. No other process can open it meanwhile.
    pub fn open(path: &Path, durability: Durability) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        if file.try_lock().is_err() {
            bail!("another process has it open");
        }
        Ok(StoreFile { file, durability })
    }
}

impl StorageBackend for StoreFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.durability {
            Durability::Kill => Ok(()),
            Durability::PowerLoss => self.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
}
