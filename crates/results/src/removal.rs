//! Removal of a folder in which somebody else's program may have written: what it mounted there belongs to others,
//! and is never emptied. Links are removed, and never what they lead to.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::regular;

#[cfg(test)]
mod tests;

/// Removes a folder with all that is in it, unless something is mounted at it or below it: then nothing is removed.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    // The kernel names mounts by their places, whatever links led us here.
    let place = fs::canonicalize(regular::folder_of(path))?.join(name);
    fs::symlink_metadata(&place)?;
    let mounts = fs::read("/proc/self/mountinfo").map_err(|error| {
        let why = regular::plain(&error);
        io::Error::other(format!("what is mounted in it is not known: /proc/self/mountinfo: {why}"))
    })?;
    match mounted_in(&mounts, &place) {
        Some(mount) => {
            let mount = mount.display();
            Err(io::Error::other(format!(
                "{mount} is a mount point: unmount it (`umount {mount}`)"
            )))
        }
        None => fs::remove_dir_all(path),
    }
}

/// Returns the first mount at a folder or below it, from the text of `mountinfo`.
fn mounted_in(mounts: &[u8], folder: &Path) -> Option<PathBuf> {
    let mut lines = mounts.split(|&byte| byte == b'\n');
    lines.find_map(|line| {
        let place = line.split(|&byte| byte == b' ').nth(4)?;
        let place = PathBuf::from(OsString::from_vec(unescaped(place)));
        place.starts_with(folder).then_some(place)
    })
}

/// Returns a field of `mountinfo` without its escapes: a blank is written `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok();
        match after.get(..3).filter(|_| first == b'\\').and_then(octal) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}
