use std::path::PathBuf;
use std::sync::atomic::Ordering;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tempfile::TempDir;

use super::files::{MAGIC, path};
use super::*;
use crate::channel::pending::Room;

const ANN: u32 = 7;
const BOB: u32 = 9;

fn event(id: u64) -> Event {
    let id = id.to_string();
    let mut headers = HeaderMap::new();
    for (name, value) in [("specversion", "1.0"), ("type", "t"), ("source", "s"), ("id", &*id)] {
        let name = HeaderName::try_from(format!("ce-{name}")).unwrap();
        headers.insert(name, HeaderValue::try_from(value).unwrap());
    }
    Event::read(&headers, format!("data of {id}").into()).unwrap()
}

fn open_with(folder: &TempDir, subscribers: &[u32], syncs: bool) -> (Log, Contents, Written) {
    let subscribers = subscribers.to_vec();
    Log::open(folder.path(), Settings { subscribers, syncs, file_bytes: 1000 }).unwrap()
}

fn open(folder: &TempDir, subscribers: &[u32]) -> (Log, Contents) {
    let (log, contents, _) = open_with(folder, subscribers, false);
    (log, contents)
}

/// Returns the reason why a log cannot be opened.
fn refused(folder: &TempDir) -> String {
    let settings = Settings { subscribers: vec![ANN], syncs: false, file_bytes: 1000 };
    format!("{:#}", Log::open(folder.path(), settings).err().unwrap())
}

fn pending(number: u64) -> Arc<Pending> {
    Arc::new(Arc::new(Room::new(1000)).take(number, event(number), 2))
}

/// Writes events 0 to `count`.
fn write(log: &Log, count: u64) -> Vec<Arc<Pending>> {
    let written: Vec<_> = (0..count).map(pending).collect();
    written.iter().for_each(|one| log.accepted(Arc::clone(one)));
    written
}

fn numbers(contents: &Contents) -> Vec<u64> {
    contents.recovered.iter().map(|event| event.number).collect()
}

fn files(folder: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    files.sort();
    files
}

#[test]
fn an_event_stays_until_every_subscriber_has_it() {
    let folder = TempDir::new().unwrap();
    let (log, empty) = open(&folder, &[ANN, BOB]);
    assert_eq!((numbers(&empty), empty.next), (vec![], 0));
    let written = write(&log, 3);
    log.done(Arc::clone(&written[0]), ANN);
    log.done(Arc::clone(&written[0]), BOB);
    log.done(Arc::clone(&written[1]), ANN);
    drop((log, written));
    let (log, contents) = open(&folder, &[ANN, BOB]);
    assert_eq!((numbers(&contents), contents.next, contents.torn), (vec![1, 2], 3, 0));
    assert_eq!(contents.recovered[0].left, [BOB]);
    assert_eq!(contents.recovered[1].left, [ANN, BOB]);
    assert_eq!(contents.recovered[1].event, event(2));
    drop(log);
    // Bob has left, and Cid gets only what is accepted from now on.
    let (_log, contents) = open(&folder, &[ANN, 11]);
    assert_eq!((numbers(&contents), &contents.recovered[0].left), (vec![2], &vec![ANN]));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the log's thread writes in real time")]
fn files_are_removed_once_their_events_are_delivered() {
    let folder = TempDir::new().unwrap();
    let (log, _) = open(&folder, &[ANN]);
    let written = write(&log, 100);
    // They are written by the thread of the log.
    for _ in 0..10_000 {
        if 8 < files(&folder).len() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let before = files(&folder).len();
    assert!(before > 8, "{before}");
    // All but one of the middle.
    for one in written.iter().filter(|one| one.number != 50) {
        log.done(Arc::clone(one), ANN);
    }
    drop((log, written));
    let (log, contents) = open(&folder, &[ANN]);
    assert_eq!((numbers(&contents), contents.next), (vec![50], 100));
    let after = files(&folder);
    let first = contents.recovered[0].file;
    assert_eq!(after[0], path(folder.path(), first), "the files before it are gone");
    // Those after it stay, as their ends of deliveries are not known to be needed any more.
    let last = Arc::new(Arc::new(Room::new(9)).take(50, event(50), 1));
    last.file.store(first, Ordering::Relaxed);
    log.done(last, ANN);
    drop(log);
    let (_log, contents) = open(&folder, &[ANN]);
    assert_eq!((numbers(&contents), contents.next), (vec![], 100));
    assert_eq!(files(&folder).len(), 1);
}

#[test]
fn a_torn_end_is_cut_off_at_any_byte() {
    let folder = TempDir::new().unwrap();
    let (log, _) = open(&folder, &[ANN]);
    write(&log, 4);
    drop(log);
    let path = files(&folder).remove(0);
    let whole = fs::read(&path).unwrap();
    let record = (whole.len() - MAGIC.len()) / 4;
    for length in 0..whole.len() {
        let torn = TempDir::new().unwrap();
        fs::write(torn.path().join(path.file_name().unwrap()), &whole[..length]).unwrap();
        let (log, contents) = open(&torn, &[ANN]);
        let expected = length.saturating_sub(MAGIC.len()) / record;
        assert_eq!(contents.recovered.len(), expected, "at byte {length}");
        drop(log);
        // What was cut off stays away, and the rest stays there.
        let (_log, contents) = open(&torn, &[ANN]);
        assert_eq!((contents.recovered.len(), contents.torn), (expected, 0), "at byte {length}");
    }
}

#[test]
fn damage_is_cut_off_at_the_end_and_an_error_elsewhere() {
    let folder = TempDir::new().unwrap();
    let (log, _) = open(&folder, &[ANN]);
    write(&log, 20);
    drop(log);
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        bytes[200] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let all = files(&folder);
    let last = all.iter().rev().find(|path| 300 < fs::metadata(path).unwrap().len()).unwrap();
    for later in all.iter().filter(|path| *path > last) {
        fs::remove_file(later).unwrap();
    }
    flip(last);
    let (log, contents) = open(&folder, &[ANN]);
    assert!(0 < contents.torn && contents.recovered.len() < 20);
    drop(log);
    flip(&all[0]);
    let error = refused(&folder);
    assert!(
        error.contains("is damaged at byte 1") && error.contains("restore the folder"),
        "{error}"
    );
}

#[test]
fn a_folder_has_one_log() {
    let folder = TempDir::new().unwrap();
    let _log = open(&folder, &[]);
    let error = refused(&folder);
    assert!(error.contains("is used by another process; give each channel its own"), "{error}");
}

#[test]
fn a_file_of_another_version_is_an_error() {
    let folder = TempDir::new().unwrap();
    fs::write(path(folder.path(), 0), b"BWEVENT1 and events").unwrap();
    let error = refused(&folder);
    assert!(error.contains("is not a file of this version's log; move the folder away"), "{error}");
}

#[tokio::test]
async fn a_durable_log_hands_over_what_is_written_in_its_order() {
    let folder = TempDir::new().unwrap();
    let (log, _, mut handed) = open_with(&folder, &[ANN], true);
    let written = write(&log, 50);
    let mut numbers = Vec::new();
    while numbers.len() < written.len() {
        numbers.extend(handed.recv().await.unwrap().iter().map(|pending| pending.number));
    }
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    drop(log);
    assert!(handed.recv().await.is_none());
}
