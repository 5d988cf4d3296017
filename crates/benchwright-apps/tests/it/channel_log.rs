//! The log of the event channel: restarts, kills, and files that are torn at any place.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::channel::{LONG, channel, event, metric, send};
use crate::instance::{Instance, sleep};
use crate::services::wait_for;
use crate::sink::{Sink, status, taken};

/// The senders of one test, so that several events share a write.
const SENDERS: usize = 8;

/// Sends events one after the other until the channel dies; returns the acknowledged ones.
pub(crate) fn send_until_it_dies(
    channel: &Instance,
    sender: usize,
    has_begun: &AtomicBool,
) -> Vec<String> {
    let mut stream = channel.connect();
    let mut buffer = [0; 1024];
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let id = format!("{sender}-{number}");
        let is_sent = stream.write_all(event(&id).as_bytes()).is_ok();
        match stream.read(&mut buffer) {
            Ok(length) if is_sent && buffer[..length].starts_with(b"HTTP/1.1 202") => {
                acknowledged.push(id);
                has_begun.store(true, Ordering::Relaxed);
            }
            _ => break,
        }
    }
    acknowledged
}

/// The kills of one test: few by default, and as many as this variable says.
pub(crate) fn kills() -> usize {
    let chosen = std::env::var("BENCHWRIGHT_KILLS").ok();
    chosen.map_or(4, |text| text.parse().expect("BENCHWRIGHT_KILLS is a number"))
}

/// Kills a channel under load at many moments, and tears its log there: part of a record is behind
/// its end, as if the kernel had died in the middle of a write.
#[test]
#[expect(clippy::print_stdout, reason = "the counts of many kills are a figure to keep")]
fn no_acknowledged_event_is_lost_when_a_durable_channel_is_killed() {
    // Every third delivery fails, so that some are always on their way.
    let sink = Sink::start(|number, _| if number % 3 == 0 { status(503) } else { taken() });
    let (mut acknowledged, mut recovered, mut again, mut torn) = (0, 0, 0, 0);
    let kills = kills();
    for kill in 0..kills {
        let folder = TempDir::new().unwrap();
        let data = folder.path().to_str().unwrap();
        let arguments = ["--acknowledge", "durable", "--data", data, "--retry", "50"];
        let rules = ["--backoff-delay", "5ms", "--backoff", "linear"];
        let arguments = [&arguments[..], &rules].concat();
        let running = channel(&sink, &arguments);
        let has_begun = AtomicBool::new(false);
        let of_kill: Vec<String> = thread::scope(|scope| {
            let (running, begun) = (&running, &has_begun);
            let send = |sender| scope.spawn(move || send_until_it_dies(running, sender, begun));
            let senders: Vec<_> = (0..SENDERS).map(send).collect();
            wait_for("an event is acknowledged", LONG, || begun.load(Ordering::Relaxed));
            // Each kill comes at another moment.
            sleep(Duration::from_millis(37 * kill as u64 % 150));
            let id = running.id().to_string();
            std::process::Command::new("kill").args(["-9", &id]).status().unwrap();
            senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
        });
        running.kill();
        let (mut last, whole) = (last_file(folder.path()), kill % 40);
        last.1.extend_from_slice(&[0, 0, 0, 99, 1, 2, 3, 4].repeat(5)[..whole]);
        std::fs::write(&last.0, &last.1).unwrap();
        // Those that were not acknowledged may be delivered, too.
        let after = channel(&sink, &arguments);
        wait_for("all are delivered", LONG, || metric(&after, "channel_pending") == 0);
        recovered += metric(&after, "channel_recovered_events_total");
        torn += metric(&after, "channel_torn_bytes_total");
        after.kill();
        // Refused arrivals count as well: each is repeated until it is taken.
        let ids: Vec<String> = sink.take().iter().map(|got| got.id().to_owned()).collect();
        let delivered: BTreeSet<&String> = ids.iter().collect();
        let lost: Vec<&String> = of_kill.iter().filter(|id| !delivered.contains(id)).collect();
        assert!(lost.is_empty(), "acknowledged and lost in kill {kill}: {lost:?}");
        acknowledged += of_kill.len();
        again += ids.len() - delivered.len();
    }
    assert!(0 < recovered, "some events were not delivered before their kill");
    println!(
        "{kills} kills: {acknowledged} acknowledged, 0 lost, {recovered} recovered, {again} arrivals \
         after the first, {torn} torn bytes cut off"
    );
}

/// Returns the last file of a log, and its bytes.
fn last_file(folder: &Path) -> (PathBuf, Vec<u8>) {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let logs = files.filter(|path| path.extension().is_some_and(|end| end == "log"));
    let last = logs.max().expect("there is a file");
    let bytes = std::fs::read(&last).unwrap();
    (last, bytes)
}

/// Returns the ends of the records of a file.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 8;
    while let Some(length) = bytes.get(at..at + 4) {
        at += 8 + u32::from_be_bytes(length.try_into().unwrap()) as usize;
        ends.push(at);
    }
    ends
}

#[test]
fn of_a_log_that_is_cut_or_damaged_exactly_the_whole_beginning_is_delivered() {
    let count = 30;
    let folder = TempDir::new().unwrap();
    let data = folder.path().to_str().unwrap();
    let (sink, switch) = Sink::refusing();
    let keeping = ["--data", data, "--retry", "100", "--backoff-delay", "10s"];
    let first = channel(&sink, &[&keeping[..], &["--acknowledge", "durable"]].concat());
    for id in 0..count {
        assert_eq!(send(&first, &id.to_string()), 202);
    }
    sink.wait(count);
    first.kill();
    sink.take();
    switch.turn_on();
    let (file, whole) = last_file(folder.path());
    let ends = ends(&whole);
    assert_eq!((ends.len(), ends.last()), (count, Some(&whole.len())));
    // Each multiple of a prime is another place in the records.
    for place in (0..kills()).map(|number| 8 + number * 7919 % (whole.len() - 8)) {
        let before = ends.iter().filter(|end| **end <= place).count();
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        for bytes in [&whole[..place], &damaged] {
            let torn = TempDir::new().unwrap();
            std::fs::write(torn.path().join(file.file_name().unwrap()), bytes).unwrap();
            let data = torn.path().to_str().unwrap();
            let second = channel(&sink, &["--data", data, "--ordered"]);
            wait_for("all are delivered", LONG, || metric(&second, "channel_pending") == 0);
            let ids: Vec<usize> = sink.take().iter().map(|got| got.id().parse().unwrap()).collect();
            assert_eq!(ids, (0..before).collect::<Vec<_>>(), "at byte {place}");
            assert_eq!(metric(&second, "channel_recovered_events_total"), before as u64);
        }
    }
}

#[test]
fn a_channel_continues_with_the_events_of_its_log_once() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().to_str().unwrap();
    let (sink, switch) = Sink::refusing();
    let arguments =
        ["--data", data, "--retry", "100", "--backoff-delay", "20ms", "--backoff", "linear"];
    let first = channel(&sink, &arguments);
    for id in 0..20 {
        assert_eq!(send(&first, &id.to_string()), 202);
    }
    let other = ["channel", "--data", data];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    let refused = command.args(other).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is used by another process"));
    assert_eq!(first.terminate(), Some(0));
    switch.turn_on();
    let before = sink.got().len();
    let second = channel(&sink, &arguments);
    assert_eq!(metric(&second, "channel_recovered_events_total"), 20);
    wait_for("all are delivered", LONG, || metric(&second, "channel_pending") == 0);
    let mut counts = BTreeMap::<String, usize>::new();
    for id in &sink.ids()[before..] {
        *counts.entry(id.clone()).or_default() += 1;
    }
    assert!(counts.len() == 20 && counts.values().all(|count| *count == 1), "{counts:?}");
    assert_eq!(second.terminate(), Some(0));
    let third = channel(&sink, &arguments);
    assert_eq!(metric(&third, "channel_recovered_events_total"), 0);
}
