//! Files that are gone, or that are something else than the files of a trial.

use std::process::Command;

use super::*;
use crate::journal::{self, Status};

/// Puts something else in the place of a file.
fn replaced(path: &Path, by: &str) {
    fs::remove_file(path).unwrap();
    // Another program does not have the open folder through which this path leads.
    let path = &fs::canonicalize(path.parent().unwrap()).unwrap().join(path.file_name().unwrap());
    match by {
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "device" => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        "folder" => fs::create_dir(path).unwrap(),
        "gone" => {}
        other => fs::write(path, other).unwrap(),
    }
}

#[test]
fn a_trial_of_which_a_file_cannot_be_read_is_named_and_not_valid() {
    for (by, why) in [
        ("fifo", "load.json cannot be read: not a regular file"),
        ("device", "load.json cannot be read: a link, not a regular file"),
        ("folder", "load.json cannot be read: not a regular file"),
        ("gone", "load.json cannot be read: No such file or directory"),
        ("", "load.json changed since it was measured (its digest differs)"),
    ] {
        let (_folder, directory) = fresh();
        let files = ["a.txt", "load.json"].map(|name| (name.to_owned(), b"hello".to_vec()));
        for (trial, status) in [(1, Status::Valid), (2, Status::Bounded), (3, Status::Aborted)] {
            let entry = Entry { status, ..Entry::aborted(trial) };
            append(&directory, entry, &Files::from(files.clone())).unwrap();
            replaced(&directory.trial_path(trial).join("load.json"), by);
        }
        let kept = append(&directory, Entry::aborted(4), &Files::from(files)).unwrap();
        let journal = directory.journal().unwrap();
        let statuses: Vec<Status> = journal.iter().map(|entry| entry.status).collect();
        let invalid = Status::Invalid;
        assert_eq!(statuses, [invalid, invalid, Status::Aborted, Status::Aborted], "{by}");
        assert_eq!(journal[3], kept);
        for entry in &journal[..3] {
            assert_eq!(
                (&entry.unread, &entry.reasons),
                (&vec![why.to_owned()], &vec![why.to_owned()])
            );
        }
        let named = journal::unread(&journal);
        assert_eq!(named, [1, 2, 3].map(|trial| format!("trial {trial}: {why}")));
        // Whoever goes on knows it, too; the journal itself stays as it was written.
        let (again, mut writer) = directory.write_journal().unwrap();
        assert_eq!(again, journal);
        writer.append(Entry::aborted(5), &self::files()).unwrap();
        let text = fs::read_to_string(directory.path().join("journal.jsonl")).unwrap();
        assert!(!text.contains("unread") && text.contains("\"valid\""), "{text}");
    }
}

#[test]
fn many_files_that_cannot_be_read_are_named_up_to_a_bound() {
    let (_folder, directory) = fresh();
    let names = ["a", "b", "c", "d", "e", "load.json"];
    let files = Files::from(names.map(|name| (name.to_owned(), b"x".to_vec())));
    for trial in 1..=12 {
        append(&directory, Entry::aborted(trial), &files).unwrap();
    }
    fs::remove_dir_all(directory.path().join("trials")).unwrap();
    let named = journal::unread(&directory.journal().unwrap());
    let gone = "cannot be read: No such file or directory";
    let expected =
        format!("trial 1: load.json {gone}; a {gone}; b {gone}; and 3 more of its files");
    assert_eq!(named[0], expected);
    assert_eq!((named.len(), &*named[10]), (11, "2 further trials have files that cannot be read"));
}

/// Somebody else may have written the journal.
#[test]
fn a_journal_promises_only_files_in_the_folder_of_the_trial() {
    let (folder, directory) = fresh();
    fs::write(folder.path().join("private"), "private").unwrap();
    let digest = digest::sha256(b"private");
    for name in ["../../../private", "/etc/passwd", "..", ".", "", "a/b"] {
        let entry = Entry {
            files: BTreeMap::from([(name.to_owned(), digest.clone())]),
            ..Entry::aborted(1)
        };
        let line = serde_json::to_string(&entry).unwrap() + "\n";
        fs::write(directory.path().join("journal.jsonl"), line).unwrap();
        let unread = &directory.journal().unwrap()[0].unread;
        assert_eq!(unread[..], [format!("{name} is not a name of a file in the trial's folder")]);
    }
}

#[test]
fn a_journal_that_is_gone_is_named_and_not_begun_again() {
    let (_folder, directory) = fresh();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    let path = directory.path().to_owned();
    drop(directory);
    fs::remove_file(path.join("journal.jsonl")).unwrap();
    let read = Directory::open(&path).unwrap().journal().unwrap_err().to_string();
    assert!(read.contains("journal.jsonl: it is gone"), "{read}");
    assert_eq!(Directory::resume(&path).unwrap_err().to_string(), read);
    assert!(!path.join("journal.jsonl").exists() && path.join("trials/1").is_dir());
}

#[test]
fn a_document_that_is_a_link_to_nowhere_is_not_taken_for_a_missing_one() {
    let (_folder, directory) = fresh();
    assert_eq!((directory.doctor().unwrap(), directory.answer().unwrap()), (None, None));
    for name in ["doctor.json", "answer.json"] {
        std::os::unix::fs::symlink("/nonexistent", directory.path().join(name)).unwrap();
    }
    for error in [directory.doctor().unwrap_err(), directory.answer().unwrap_err()] {
        assert!(error.to_string().ends_with(": a link, not a regular file"), "{error}");
    }
}
