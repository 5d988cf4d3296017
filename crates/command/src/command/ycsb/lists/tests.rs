use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::*;

/// A file with the first of these bytes.
fn file(bytes: usize) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("keys");
    let all: Vec<u8> = (1..=100_000_u64).flat_map(u64::to_le_bytes).take(bytes).collect();
    fs::write(&path, all).unwrap();
    (folder, path)
}

fn refused(bytes: usize, asked: Option<u64>) -> String {
    let (_folder, path) = file(bytes);
    format!("{:#}", Files::find((Some(&path), asked), (None, None)).unwrap_err().error)
}

#[test]
fn the_first_keys_of_a_file_are_read_over_the_edges_of_pieces() {
    let (_folder, path) = file(800_000);
    for (asked, keys) in [(None, 100_000), (Some(99_999), 99_999), (Some(1), 1)] {
        let files = Files::find((Some(&path), asked), (Some(&path), Some(3))).unwrap();
        assert_eq!((files.keys(), files.transactions()), (keys, 3));
        let told = format!("Loading workload data from {0} and {0} into memory", path.display());
        assert_eq!(files.told(), told);
        let lists = files.read().unwrap();
        assert!(lists.keys.unwrap().iter().copied().eq(1..=keys));
        assert_eq!(*lists.transactions.unwrap(), [1, 2, 3]);
    }
}

#[test]
fn a_file_of_the_wrong_size_is_refused_with_both_counts() {
    for (bytes, asked, why) in [
        (17, None, "has 17 bytes, which are 2 keys of 8 bytes and 1 more"),
        (80, Some(11), "has 10 keys, and --keys asks for 11"),
        (80, Some(11), "leave out --keys, or make a longer file"),
        (0, None, "has no key\n  make it with"),
        (0, Some(1), "has no key\n  make it with"),
    ] {
        let refusal = refused(bytes, asked);
        assert!(refusal.contains(why) && refusal.contains("ycsb convert"), "{refusal}");
    }
    let folder = TempDir::new().unwrap();
    let refusal = Files::find((None, None), (Some(folder.path()), None)).unwrap_err();
    assert!(refusal.error.to_string().contains("is not a file with keys"));
    // A FIFO would wait for its other end.
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let refusal = Files::find((Some(&fifo), None), (None, None)).unwrap_err();
    assert!(refusal.error.to_string().contains("is not a file with keys"));
}

#[test]
fn without_files_keys_are_drawn() {
    let files = Files::find((None, Some(5)), (None, None)).unwrap();
    assert_eq!((files.keys(), files.transactions()), (5, Files::TRANSACTIONS));
    assert_eq!(files.told(), "Generating workload keys and requests from PRNG");
    let lists = files.read().unwrap();
    assert!(lists.keys.is_none() && lists.transactions.is_none());
}
