use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::*;
use crate::manifest::State;

fn manifest() -> Manifest {
    Manifest {
        schema: "benchwright.results".into(),
        version: VERSION,
        tool: "benchwright 0.0.0".into(),
        experiment: "test".into(),
        about: None,
        slo: Vec::new(),
        profile: None,
        set: Vec::new(),
        backend: "simulated".into(),
        seed: 1,
        key: "k".into(),
        spec_folder: ".".into(),
        started_unix_s: None,
        state: State::Open,
        resumed_after: Vec::new(),
        binaries: BTreeMap::new(),
    }
}

fn files() -> Files {
    Files::from([("a.txt".to_owned(), b"hello".to_vec())])
}

fn create(path: &Path) -> Result<Directory, Error> {
    Directory::create(path, &manifest(), "name: x\n", &Environment::default())
}

fn fresh() -> (tempfile::TempDir, Directory) {
    let folder = tempfile::tempdir().unwrap();
    let directory = create(&folder.path().join("run")).unwrap();
    (folder, directory)
}

/// Appends as a run does that has just opened the journal.
fn append(directory: &Directory, entry: Entry, files: &Files) -> Result<Entry, Error> {
    directory.write_journal().unwrap().1.append(entry, files)
}

/// Runs `work` on a thread on which the kernel fails every `fsync`, as a broken disk does;
/// `fdatasync`, which an append calls, still works.
fn without_fsync<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let calls = [(libc::SYS_fsync, Vec::new())].into_iter().collect();
    let fails = SeccompAction::Errno(libc::EIO as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, fails, arch).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    thread::scope(|scope| {
        let work = scope.spawn(|| {
            seccompiler::apply_filter(&filter).unwrap();
            work()
        });
        work.join().unwrap()
    })
}

#[test]
fn what_was_appended_is_read_again() {
    let (_folder, directory) = fresh();
    let kept = [1, 2].map(|trial| append(&directory, Entry::aborted(trial), &files()).unwrap());
    let opened = Directory::open(directory.path()).unwrap();
    assert_eq!(opened.journal().unwrap(), kept);
    assert_eq!(kept[0].files["a.txt"], digest(b"hello"));
    assert_eq!(fs::read(opened.trial_path(2).join("a.txt")).unwrap(), b"hello");
}

#[test]
fn a_torn_last_line_never_counted_and_is_replaced() {
    let (_folder, directory) = fresh();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    let journal = directory.path().join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    for cut in 1..whole.len() {
        fs::write(&journal, [&whole[..], &whole[..cut]].concat()).unwrap();
        assert_eq!(directory.journal().unwrap().len(), 1, "cut at {cut}");
    }
    append(&directory, Entry::aborted(2), &files()).unwrap();
    assert_eq!(directory.journal().unwrap().len(), 2);
}

/// Checks that the cost of an append does not depend on the length of the journal.
#[test]
fn an_append_does_not_read_the_journal() {
    let (_folder, directory) = fresh();
    let (_, mut writer) = directory.write_journal().unwrap();
    writer.append(Entry::aborted(1), &files()).unwrap();
    let journal = directory.path().join("journal.jsonl");
    let first = fs::read(&journal).unwrap();
    let unreadable = vec![b'x'; first.len()];
    fs::write(&journal, &unreadable).unwrap();
    writer.append(Entry::aborted(2), &files()).unwrap();
    assert_eq!(fs::read(&journal).unwrap()[..first.len()], unreadable);
    fs::write(&journal, [&first[..], &fs::read(&journal).unwrap()[first.len()..]].concat())
        .unwrap();
    assert_eq!(directory.journal().unwrap().len(), 2);
}

/// Checks that a power cut after the first append cannot remove the journal's name.
#[test]
fn a_journal_is_not_begun_where_its_folder_cannot_be_synced() {
    let (_folder, directory) = fresh();
    let refused = without_fsync(|| directory.write_journal().map(drop)).unwrap_err().to_string();
    assert!(refused.ends_with("journal.jsonl: Input/output error (os error 5)"), "{refused}");
    directory.write_journal().unwrap();
}

#[test]
fn a_folder_is_synced_before_anything_is_made_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/run");
    without_fsync(|| create(&path)).unwrap_err();
    assert!(folder.path().join("a").is_dir() && !folder.path().join("a/b").exists());
    create(&path).unwrap();
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error_with_its_place() {
    let (_folder, directory) = fresh();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    let journal = directory.path().join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    fs::write(&journal, [b"{\n", &whole[..]].concat()).unwrap();
    let error = directory.journal().unwrap_err().to_string();
    assert!(error.contains("journal.jsonl: line 1 cannot be read"), "{error}");
}

#[test]
fn files_without_an_entry_are_replaced() {
    let (_folder, directory) = fresh();
    fs::create_dir_all(directory.trial_path(1)).unwrap();
    fs::write(directory.trial_path(1).join("left.txt"), "from a killed run").unwrap();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    assert!(!directory.trial_path(1).join("left.txt").exists());
}

#[test]
fn a_folder_in_use_is_not_overwritten() {
    let (_folder, directory) = fresh();
    let error = create(directory.path()).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("spec.yaml"), "somebody's own").unwrap();
    let error = create(folder.path()).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
}

/// Checks that a run can be started again until there is a manifest; before, it cannot be resumed.
#[test]
fn a_directory_killed_during_creation_is_created_again() {
    let (_folder, whole) = fresh();
    let names = ["manifest.json", "spec.yaml", "environment.json"];
    let expected = names.map(|name| fs::read(whole.path().join(name)).unwrap());
    let left =
        ["manifest.json.partial", "spec.yaml.partial", "spec.yaml", "environment.json.partial"];
    for count in 0..=left.len() {
        let folder = tempfile::tempdir().unwrap();
        left[..count].iter().for_each(|name| fs::write(folder.path().join(name), "half").unwrap());
        let made = create(folder.path()).unwrap();
        assert_eq!(names.map(|name| fs::read(made.path().join(name)).unwrap()), expected);
        let mut entries: Vec<_> = fs::read_dir(made.path()).unwrap().flatten().collect();
        entries.retain(|entry| entry.file_name() != "trials");
        assert_eq!(entries.len(), names.len(), "{entries:?}");
        Directory::open(made.path()).unwrap();
    }
}

#[test]
fn a_newer_or_foreign_directory_is_refused_with_the_remedy() {
    let (_folder, directory) = fresh();
    directory.write_manifest(&Manifest { version: VERSION + 1, ..manifest() }).unwrap();
    let error = Directory::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("update benchwright"), "{error}");

    fs::write(directory.path().join("manifest.json"), "{}").unwrap();
    assert!(
        Directory::open(directory.path()).unwrap_err().to_string().contains("not the manifest")
    );
    fs::write(directory.path().join("manifest.json"), [0u8, 255]).unwrap();
    assert!(Directory::open(directory.path()).unwrap_err().to_string().contains("cannot be read"));
    let empty = tempfile::tempdir().unwrap();
    let error = Directory::open(empty.path()).unwrap_err().to_string();
    assert!(error.contains("not a results directory"), "{error}");
}

#[test]
fn components_are_read_as_written_and_of_another_schema_refused() {
    let (_folder, directory) = fresh();
    let hotel = components::Component {
        step: "hotel".into(),
        role: "sut".into(),
        cpus: 1.0,
        cpu: vec![Some(0.5), None],
        in_service: vec![Some(3.0), Some(2.0)],
        in_others: vec![Some(1.0), None],
        ..Default::default()
    };
    assert_eq!((hotel.held(0), hotel.held(1), hotel.held(2)), (Some(2.0), None, None));
    let components = Components {
        schema: components::SCHEMA.into(),
        interval_s: 1.0,
        roles: BTreeMap::from([("sut".into(), 1.0)]),
        outstanding: vec![Some(3.5), None],
        components: BTreeMap::from([("hotel".into(), hotel)]),
        speed: BTreeMap::new(),
        machine: None,
        events: Vec::new(),
        monitors: Vec::new(),
    };
    let text = serde_json::to_string(&components).unwrap();
    let file = |text: &str| Files::from([(components::FILE.to_owned(), text.as_bytes().to_vec())]);
    let kept = append(&directory, Entry::aborted(1), &file(&text)).unwrap();
    assert_eq!(directory.components(&kept).unwrap(), Some(components));
    let other = file(&text.replace("components/2", "components/3"));
    let kept = append(&directory, Entry::aborted(2), &other).unwrap();
    let refused = directory.components(&kept).unwrap_err().to_string();
    assert!(refused.ends_with("this tool reads benchwright.components/2"), "{refused}");
    let kept = append(&directory, Entry::aborted(3), &files()).unwrap();
    assert_eq!(directory.components(&kept).unwrap(), None);
}

/// Checks that requests without a response are no failures of a directory whose tool counted them as such.
#[test]
fn a_directory_of_version_2_is_read() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/version2/overload"));
    let directory = Directory::open(path).unwrap();
    assert_eq!(directory.manifest().unwrap().version, 2);
    let journal = directory.journal().unwrap();
    let observed = journal[0].observed.as_ref().unwrap();
    // The journal of version 2 does not have them apart.
    assert_eq!((observed.requests, observed.failures, observed.unfinished), (420, 272, None));
    assert_eq!(observed.succeeded_per_s, None);
    let counts = directory.load(&journal[0]).unwrap().total.counts;
    assert_eq!((counts.ok, counts.failed, counts.unfinished), (148, 0, 272));
    assert_eq!(directory.answer().unwrap().unwrap().trials, journal);
}

/// Checks that results of version 1 are read as if they were of the current version.
#[test]
fn a_directory_of_version_1_is_read() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/version1/hello"));
    let directory = Directory::open(path).unwrap();
    let manifest = directory.manifest().unwrap();
    assert_eq!((manifest.version, manifest.about, manifest.slo), (1, None, Vec::new()));
    let journal = directory.journal().unwrap();
    let asked: Vec<_> =
        journal.iter().map(|entry| (entry.asked_per_s, entry.asked_per_target_per_s)).collect();
    assert_eq!(asked, [(None, Some(500.0)), (None, Some(1_000.0))]);
    // It completed more than was offered, but did not sustain more.
    let observed = journal[1].observed.as_ref().unwrap();
    assert_eq!((observed.completed_per_s, observed.sustained_per_s), (995.5, 994.5));
    let answer = directory.answer().unwrap().unwrap();
    assert_eq!(answer.trials, journal);
    assert_eq!(answer.capacity.unwrap().missed_below_per_s, None);
    for entry in &journal {
        let load = directory.load(entry).unwrap();
        assert_eq!((load.saturated, load.total.failed_response_time), (None, None));
        assert!(load.slo.unwrap().objectives.is_empty());
        assert!(directory.components(entry).unwrap().is_some());
    }
}
