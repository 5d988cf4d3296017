//! The rate of random reads of a disk, as a store makes them for records that are not in memory.
//!
//! The file is removed as soon as it is open, so that not even a kill leaves it behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;

use lab::host;
use measure::{Nanos, Random};
use nix::fcntl::OFlag;

#[cfg(test)]
mod tests;

const BLOCK: usize = 4096;
const FILE_BYTES: u64 = 64 << 20;
const CHUNK: usize = 1 << 20;
/// The reads that are under way together: about those of a server's shard under load.
const DEPTH: u64 = 32;
const TIME: Nanos = Nanos::from_millis(300);

/// Measures the random reads of 4 KiB per second in a folder, past the kernel's cache.
pub(crate) fn per_second(folder: &Path) -> Result<f64, String> {
    measured(folder).map_err(|error| match error.raw_os_error() {
        Some(nix::libc::EINVAL) => {
            "the file system has no direct reads, as one in memory".to_owned()
        }
        _ => format!("{error}"),
    })
}

fn measured(folder: &Path) -> io::Result<f64> {
    let file = written(&folder.join(format!(".benchwright-reads-{}", std::process::id())))?;
    let file = &file;
    let begun = host::now();
    let reads = thread::scope(|scope| {
        let readers: Vec<_> =
            (0..DEPTH).map(|reader| scope.spawn(move || read_until_over(file, reader))).collect();
        let reads =
            readers.into_iter().map(|reader| reader.join().expect("a reader does not panic"));
        reads.sum::<io::Result<u64>>()
    })?;
    Ok(reads as f64 / (host::now() - begun).as_secs_f64())
}

/// Writes the file, and opens it for reads past the kernel's cache.
fn written(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let direct = OpenOptions::new().read(true).custom_flags(OFlag::O_DIRECT.bits()).open(path);
    fs::remove_file(path)?;
    let direct = direct?;
    // No compression makes it small.
    let mut random = Random::new(FILE_BYTES);
    let chunk: Vec<u8> = (0..CHUNK / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    for _ in 0..FILE_BYTES / CHUNK as u64 {
        file.write_all(&chunk)?;
    }
    file.sync_all()?;
    Ok(direct)
}

/// Reads blocks until the time is over, and returns their number.
fn read_until_over(file: &File, reader: u64) -> io::Result<u64> {
    // Reads past the cache need memory that is aligned like a block.
    let mut memory = vec![0; 2 * BLOCK];
    let begin = memory.as_ptr().align_offset(BLOCK);
    let block = &mut memory[begin..begin + BLOCK];
    let mut random = Random::part(FILE_BYTES, reader);
    let end = host::now() + TIME;
    let mut reads = 0;
    while host::now() < end {
        let place = random.below(FILE_BYTES / BLOCK as u64) * BLOCK as u64;
        file.read_exact_at(block, place)?;
        reads += 1;
    }
    Ok(reads)
}
