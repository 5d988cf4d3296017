//! Results directories of an experiment that ran, with changes at any place of their files: every command that
//! reads one refuses it with a reason, or says something, and a page has no element that a file wrote.
//!
//! The bytes are instructions: a file, a place in it, and what stands there instead. What they do not change is
//! valid, so that the changes come far.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use lab::backend::simulated::Simulated;
use lab::backend::Backend;
use lab::past::Past;
use lab::progress::Silent;
use lab::spec::{self, Resolved};
use lab::{Host, advice, comparison, experiment, explanation};
use libfuzzer_sys::fuzz_target;
use results::Directory;
use serde_json::Value;

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
    "null", "true", "0", "-1", "1", "4294967296", "18446744073709551615", "1e308", "-1e308", "1e-308", "[]", "{}",
    "\"\"", "\"<script>alert(1)</script>\"", "\"\\u001b]0;x\\u0007\\u202e\"", "\"../../../etc/passwd\"",
    "\"=cmd|' /C calc'!A0\"", "[[[[[[[[]]]]]]]]",
];

fuzz_target!(|bytes: &[u8]| {
    let work = work();
    let mut bytes = bytes.iter().copied();
    let mut files = work.files.clone();
    while let Some(file) = bytes.next() {
        let number = usize::from(file) % files.len();
        let (_, content) = &mut files[number];
        change(content, &mut bytes);
    }
    for (name, content) in &files {
        fs::write(work.changed.join(name), content).expect("a file can be written");
    }
    read(&work.changed, &work.kept);
});

/// The folders of this process.
struct Work {
    kept: PathBuf,
    changed: PathBuf,
    /// The files that are changed, by their names in the folder.
    files: Vec<(String, Vec<u8>)>,
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
        let first = "trials/1/load.json";
        let names = ["manifest.json", "journal.jsonl", "answer.json", "spec.yaml", "environment.json", first];
        let read = |name: &str| Some((name.to_owned(), fs::read(changed.join(name)).ok()?));
        let files: Vec<_> = names.into_iter().filter_map(read).collect();
        assert!(4 < files.len(), "{files:?}");
        Work { kept, changed, files }
    })
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
fn change(content: &mut Vec<u8>, bytes: &mut impl Iterator<Item = u8>) {
    let mut next = || bytes.next().map_or(0, usize::from);
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
            replace(&mut value, other, how / 4, &mut next);
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
