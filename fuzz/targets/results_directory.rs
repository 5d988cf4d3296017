//! Results directories of an experiment that ran, with changes at any place of their files: every command that
//! reads one refuses it with a reason, or says something, and a page has no element that a file wrote.
//!
//! The bytes are instructions: a file, a place in it, and what stands there instead; or the notes of both sides of a
//! channel, whose join is what the trials say of their events. What the bytes do not change is valid, so that the
//! changes come far.
#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use lab::backend::Backend;
use lab::backend::simulated::Simulated;
use lab::past::Past;
use lab::progress::Silent;
use lab::spec::{self, Resolved};
use lab::{Host, advice, comparison, experiment, explanation};
use libfuzzer_sys::fuzz_target;
use measure::Instant;
use results::directory::Files;
use results::events::Sent;
use results::joined::{self, Notes};
use results::notes::{self, Arrivals, End, Header, Sender, Side};
use results::{Components, Directory, Doctor, Events, digest};
use serde_json::{Value, json};

const SPEC: &str = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open}
phases: {warm_up: {fixed: 10ms}, measure: {time: 100ms}, drain: 10ms}
factors: {time: {path: simulated.service_time, levels: [1ms, 2ms]}}
slo: [{metric: p99, max: 20ms}, {metric: failures, max: 0.1%}]
search: {range: [200/s, 600/s], precision: 50%}
repeat: {searches: 2}
compare: {}
reproducibility: {target: {metric: capacity, rsd: 5%}}
";

/// The values that are put in the place of others.
const OTHERS: [&str; 18] = [
    "null",
    "true",
    "0",
    "-1",
    "1",
    "4294967296",
    "18446744073709551615",
    "1e308",
    "-1e308",
    "1e-308",
    "[]",
    "{}",
    "\"\"",
    "\"<script>alert(1)</script>\"",
    "\"\\u001b]0;x\\u0007\\u202e\"",
    "\"../../../etc/passwd\"",
    "\"=cmd|' /C calc'!A0\"",
    "[[[[[[[[]]]]]]]]",
];

/// Files that a simulated run does not have, or has with little in them.
const COMPONENTS: &str = include_str!("../fixtures/components.json");
const DOCTOR: &str = include_str!("../fixtures/doctor.json");

/// The files that are changed, in the directory and in the folder of a trial.
const OF_DIRECTORY: [&str; 6] = [
    "manifest.json",
    "journal.jsonl",
    "answer.json",
    "spec.yaml",
    "environment.json",
    "doctor.json",
];
const OF_TRIAL: [&str; 4] = ["load.json", "components.json", "doctor.json", "response_time.hlog"];

/// The level whose trials have events.
const WITH_EVENTS: &str = "time=2ms";

fuzz_target!(|bytes: &[u8]| {
    let work = work();
    let mut bytes = bytes.iter().copied();
    let mut changed: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    while let Some(file) = bytes.next() {
        let mut next = || bytes.next().map_or(0, usize::from);
        match usize::from(file) % 12 {
            file @ 0..6 => {
                let name = OF_DIRECTORY[file].to_owned();
                let content =
                    changed.entry(name.clone()).or_insert_with(|| work.files[&name].clone());
                change(content, &mut next);
            }
            file @ 6..10 => {
                // Of one trial, or of all that have no digests.
                let trial = next() % (work.trials + 1);
                let names: Vec<String> = match trial {
                    0 => {
                        (1..work.trials).map(|trial| of_trial(trial, OF_TRIAL[file - 6])).collect()
                    }
                    trial => vec![of_trial(trial, OF_TRIAL[file - 6])],
                };
                let content = changed.get(&names[0]).or_else(|| work.files.get(&names[0]));
                let mut content = content.cloned().unwrap_or_default();
                change(&mut content, &mut next);
                changed.extend(names.into_iter().map(|name| (name, content.clone())));
            }
            _ => {
                let Some(events) = noted(&mut next) else { continue };
                for name in &work.with_events {
                    let content =
                        changed.entry(name.clone()).or_insert_with(|| work.files[name].clone());
                    put_events(content, &events);
                }
            }
        }
    }
    write(&work.changed, &changed);
    read(&work.changed, &work.kept);
    for name in changed.keys() {
        fs::write(work.changed.join(name), &work.files[name]).expect("a file can be written");
    }
});

fn of_trial(trial: usize, name: &str) -> String {
    format!("trials/{trial}/{name}")
}

fn write(folder: &Path, files: &Files) {
    for (name, content) in files {
        fs::write(folder.join(name), content).expect("a file can be written");
    }
}

/// The folders of this process.
struct Work {
    kept: PathBuf,
    changed: PathBuf,
    /// The files that are changed, by their names in the folder.
    files: Files,
    trials: usize,
    /// The documents of trials with events.
    with_events: Vec<String>,
}

fn work() -> &'static Work {
    static WORK: OnceLock<Work> = OnceLock::new();
    WORK.get_or_init(|| {
        let folder = PathBuf::from(format!("/dev/shm/benchwright-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder in memory");
        let (kept, changed) = (folder.join("kept"), folder.join("changed"));
        for out in [&kept, &changed] {
            run(out);
        }
        let (files, with_events) = enriched(&changed);
        let trials = files["journal.jsonl"].iter().filter(|byte| **byte == b'\n').count();
        write(&changed, &files);
        let directory = Directory::open(&changed).expect("it is a results directory");
        let journal = directory.journal().expect("the journal is valid");
        let answer = directory.answer().expect("the answer is valid").expect("the run has ended");
        assert_eq!(answer.unlike(&journal).in_words(), [""; 0]);
        for entry in &journal {
            assert!(entry.unread.is_empty(), "{:?}", entry.unread);
            directory.load(entry).expect("the load is valid");
        }
        Work { kept, changed, files, trials, with_events }
    })
}

/// Returns the files of a run with more in them, and the names of those with events. Only the last trial keeps the
/// digests of its files: of the others a change is read, and not just found.
fn enriched(folder: &Path) -> (Files, Vec<String>) {
    assert!(
        serde_json::from_str::<Components>(COMPONENTS).is_ok_and(|read| !read.monitors.is_empty())
    );
    assert!(serde_json::from_str::<Doctor>(DOCTOR).is_ok_and(|read| !read.checks.is_empty()));
    let (mut files, mut with_events) = (Files::new(), Vec::new());
    let read = |name: &str| fs::read(folder.join(name)).expect("the run has written it");
    for name in OF_DIRECTORY.iter().filter(|name| **name != "doctor.json") {
        files.insert((*name).to_owned(), read(name));
    }
    files.insert("doctor.json".to_owned(), DOCTOR.into());
    let mut answer: Value = serde_json::from_slice(&files["answer.json"]).expect("it is JSON");
    let journal = String::from_utf8(read("journal.jsonl")).expect("it is text");
    let mut entries: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let last = entries.len();
    for (trial, entry) in (1..).zip(&mut entries) {
        let [load, components, doctor, times] = OF_TRIAL.map(|name| of_trial(trial, name));
        let mut document = read(&load);
        if entry["cell"] == WITH_EVENTS {
            put_events(&mut document, &usual_events());
            with_events.push(load.clone());
        }
        let contents = [document, COMPONENTS.into(), DOCTOR.into(), read(&times)];
        entry["files"] = match trial == last {
            true => OF_TRIAL
                .iter()
                .zip(&contents)
                .map(|(name, content)| (*name, digest::sha256(content)))
                .collect(),
            false => json!({}),
        };
        answer["trials"][trial - 1]["files"] = entry["files"].clone();
        files.extend([load, components, doctor, times].into_iter().zip(contents));
    }
    let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    files.insert("journal.jsonl".to_owned(), lines.into_bytes());
    files.insert("answer.json".to_owned(), answer.to_string().into_bytes());
    (files, with_events)
}

/// The notes of a sender and a receiver: an event each 5 ms that arrives after 2 ms, of which one is lost, one
/// refused, and one arrives twice.
fn usual_events() -> Events {
    let at = |ms: u64| Instant(ms * 1_000_000);
    let sent = |number: u64| {
        let (sent, accepted) = (at(5 * number), at(5 * number + 1));
        Sent::new(number, u8::from(number == 7), (sent, sent, accepted))
    };
    let arrived = [0, 1, 2, 4, 5, 5, 6, 8, 9].map(|number| (number, at(5 * number + 2)));
    join((0..10).map(sent).collect(), &arrived, (at(0), at(60))).expect("the notes are valid")
}

/// Returns the events by the notes that the next instructions make.
fn noted(next: &mut impl FnMut() -> usize) -> Option<Events> {
    let number = next() % 16;
    let mut moment = || Instant((next() as u64) << (next() % 56));
    let times = (moment(), moment());
    let sent = |number: usize| {
        let times = [(); 3].map(|()| moment());
        Sent::new(number as u64, u8::from(times[2].0 % 4 == 3), times.into())
    };
    let sent = (0..number).map(sent).collect();
    let arrivals: Vec<(u64, Instant)> = (0..number).map(|_| (moment().0 % 20, moment())).collect();
    join(sent, &arrivals, times)
}

/// Writes the notes of both sides, reads them, and joins them. The times are the begin of the measurement, and
/// until when the receiver waited.
fn join(
    sent: Vec<Sent>,
    arrivals: &[(u64, Instant)],
    (from, until): (Instant, Instant),
) -> Option<Events> {
    let clock = || Some("a".to_owned());
    let of = Sender {
        sources: vec!["/a".to_owned()],
        outcomes: vec!["accepted".to_owned(), "timeout".to_owned()],
        from_ns: from.0,
        to_ns: until.0,
        compared: Vec::new(),
    };
    let mut of_sender = Vec::new();
    let header = Header::new(clock(), Side::Sender(of));
    notes::write_sent(&header, &[sent], 0, &mut of_sender).expect("memory can be written");
    let mut of_receiver = Header::new(clock(), Side::Receiver).line();
    let mut noted = Arrivals::default();
    for (number, at) in arrivals {
        assert!(noted.note(b"/a", number.to_string().as_bytes(), *at), "there is room");
    }
    of_receiver.extend(noted.close().bytes);
    let end = End { noted: arrivals.len() as u64, unnoted: 0, until_ns: Some(until.0) };
    of_receiver.extend(notes::end(end));
    let read = |file: &[u8]| Notes::read("notes", &mut &file[..], file.len() as u64);
    match (read(&of_sender).ok()?, read(&of_receiver).ok()?) {
        (Notes::Sender(sender), Notes::Receiver(receiver)) => {
            joined::join(vec![sender], vec![receiver]).ok().map(|joined| joined.events)
        }
        _ => unreachable!("the first notes are a sender's, the second a receiver's"),
    }
}

/// Puts events into the document of a load, if it is one.
fn put_events(document: &mut Vec<u8>, events: &Events) {
    let Ok(Value::Object(mut load)) = serde_json::from_slice(document) else { return };
    load.insert("events".to_owned(), serde_json::to_value(events).expect("events are plain data"));
    *document = Value::Object(load).to_string().into_bytes();
}

fn run(out: &Path) {
    let resolved = spec::from_bytes("queue.yaml", SPEC.as_bytes(), Path::new("."), None, &[]);
    let resolved = resolved.expect("the spec is valid");
    let host = Host::new("/nonexistent/benchwright".into(), "0.0.0");
    let backends = |spec: &Resolved| -> Box<dyn Backend> { Box::new(Simulated::new(spec)) };
    let ran = experiment::run(&resolved, Some(out.to_owned()), &host, &backends, &mut Silent);
    ran.expect("a simulated experiment runs");
}

/// Changes a line of a file by the next instructions: a value of its JSON, or its bytes.
fn change(content: &mut Vec<u8>, next: &mut impl FnMut() -> usize) {
    let is_lines = content.first() == Some(&b'{') && content.windows(2).any(|pair| pair == b"\n{");
    let mut lines: Vec<Vec<u8>> = match is_lines {
        true => content.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect(),
        false => vec![std::mem::take(content)],
    };
    let number = next() % lines.len();
    let (how, line) = (next(), &mut lines[number]);
    match (how % 4, serde_json::from_slice::<Value>(line)) {
        (0..3, Ok(mut value)) => {
            let other = serde_json::from_str(OTHERS[next() % OTHERS.len()]).expect("it is JSON");
            replace(&mut value, other, how / 4, next);
            *line = value.to_string().into_bytes();
        }
        (_, _) if line.is_empty() => {}
        (_, _) => {
            let at = (next() << 8 | next()) % line.len();
            let until = (at + next()).min(line.len());
            let inserted: Vec<u8> = (0..next() % 8).map(|_| next() as u8).collect();
            line.splice(at..until, inserted);
        }
    }
    if how / 128 == 1 {
        // Twice the same trial, for example.
        let again = lines[number].clone();
        lines.push(again);
    }
    *content = lines.join(&b'\n');
}

/// Puts a value, or nothing, into the place to which the instructions lead.
fn replace(value: &mut Value, other: Value, how: usize, next: &mut impl FnMut() -> usize) {
    let depth = next() % 6;
    let at = next();
    let removes = how % 4 == 0;
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let name = fields.keys().nth(at % fields.len()).expect("it is there").clone();
            match (depth, removes) {
                (0, true) => drop(fields.remove(&name)),
                (0, false) => drop(fields.insert(name, other)),
                _ => replace(&mut fields[&name], other, how, next),
            }
        }
        Value::Array(all) if !all.is_empty() => {
            let at = at % all.len();
            match (depth, removes) {
                (0, true) => drop(all.remove(at)),
                (0, false) => all[at] = other,
                _ => replace(&mut all[at], other, how, next),
            }
        }
        _ => *value = other,
    }
}

/// Does what each command does with a directory.
fn read(changed: &Path, kept: &Path) {
    let Ok(directory) = Directory::open(changed) else { return };
    let so_far = match directory.answer() {
        Err(_) => return,
        Ok(Some(_)) => None,
        Ok(None) => Past::read(changed).ok().map(|past| past.answer()),
    };
    if let Ok(written) = report::write(&directory, None, so_far) {
        let page = fs::read_to_string(written.path).expect("the page is text");
        assert!(!page.contains("<script>alert"), "a file wrote an element");
    }
    let Ok(past) = Past::read(changed) else { return };
    let answer = past.answer();
    let mut said = lab::answer::table(&answer);
    for sentence in explanation::of_run(&answer) {
        said += &sentence.text;
    }
    for entry in answer.trials.iter().take(4) {
        let _ = explanation::of_trial(&answer, entry.trial);
    }
    let _ = advice::of(&past, &answer);
    let mut compared = vec![past.compared(&[], None)];
    if let Ok(kept) = Past::read(kept) {
        compared.push(past.compared_with(&kept, &[], 0.03));
        compared.push(kept.compared_with(&past, &[], 0.03));
    }
    for found in compared.into_iter().flatten() {
        found.metrics.iter().for_each(|metric| said += &comparison::in_words(metric));
    }
    assert!(!said.is_empty());
}
