use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::*;
use crate::manifest::State;

mod figures;
mod places;
mod unread;

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
    Directory::create(path, Readers::Owner, &manifest(), "name: x\n", &Environment::default())
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
    assert_eq!(kept[0].files["a.txt"], digest::sha256(b"hello"));
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
    let (folder, directory) = fresh();
    drop(directory);
    let directory = Directory::open(&folder.path().join("run")).unwrap();
    let refused = without_fsync(|| directory.write_journal().map(drop)).unwrap_err().to_string();
    assert!(refused.ends_with("journal.jsonl: Input/output error"), "{refused}");
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
    let left = [MARKER, "journal.jsonl", ".new-1", "spec.yaml", "environment.json"];
    for count in 0..=left.len() {
        let folder = tempfile::tempdir().unwrap();
        for name in &left[..count] {
            // The journal has no line before there is a manifest.
            let text = if *name == "journal.jsonl" { "" } else { "half" };
            fs::write(folder.path().join(name), text).unwrap();
        }
        let made = create(folder.path()).unwrap();
        assert_eq!(names.map(|name| fs::read(made.path().join(name)).unwrap()), expected);
        let mut entries: Vec<_> = fs::read_dir(made.path()).unwrap().flatten().collect();
        entries
            .retain(|entry| entry.file_name() != "trials" && entry.file_name() != "journal.jsonl");
        assert_eq!(entries.len(), names.len(), "{entries:?}");
        Directory::open(made.path()).unwrap();
    }
}

/// Somebody else may have begun it.
#[test]
fn a_link_in_a_begun_directory_is_replaced_and_not_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let (run, precious) = (folder.path().join("run"), folder.path().join("precious"));
    fs::write(&precious, "kept").unwrap();
    fs::create_dir(&run).unwrap();
    for name in [MARKER, "spec.yaml", "environment.json"] {
        std::os::unix::fs::symlink(&precious, run.join(name)).unwrap();
    }
    create(&run).unwrap();
    assert_eq!(fs::read(&precious).unwrap(), b"kept");
    assert!(!run.join(MARKER).is_symlink() && !run.join("spec.yaml").is_symlink());
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
    let file = directory.path().join("spec.yaml");
    let error = Directory::open(&file).unwrap_err().to_string();
    assert!(error.contains("not a results directory"), "{error}");
    // A manifest is there, and is none that is read.
    let place = empty.path().join("manifest.json");
    std::os::unix::fs::symlink("nowhere", place).unwrap();
    let error = Directory::open(empty.path()).unwrap_err().to_string();
    assert!(error.contains("manifest.json: a link, not a regular file"), "{error}");
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

/// Results may come from somebody else: what they link to is neither read nor replaced nor removed.
#[test]
fn links_and_devices_in_results_are_refused_by_name() {
    let (folder, directory) = fresh();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    drop(directory);
    let (run, outside) = (folder.path().join("run"), folder.path().join("outside"));
    fs::create_dir_all(outside.join("2")).unwrap();
    fs::write(outside.join("precious"), "kept").unwrap();
    let link = |name: &str, to: &Path| {
        let path = run.join(name);
        let kept = folder.path().join("kept");
        let _ = fs::rename(&path, &kept);
        std::os::unix::fs::symlink(to, &path).unwrap();
        move || {
            fs::remove_file(&path).unwrap();
            let _ = fs::rename(&kept, &path);
        }
    };
    for name in ["manifest.json", "spec.yaml", "environment.json", "journal.jsonl"] {
        let restore = link(name, &outside.join("precious"));
        let opened = Directory::open(&run).and_then(|directory| {
            directory.spec()?;
            directory.environment()?;
            directory.journal()
        });
        let why = opened.unwrap_err().to_string();
        assert!(why.ends_with(&format!("{name}: a link, not a regular file")), "{why}");
        restore();
    }
    let restore = link("journal.jsonl", &outside.join("precious"));
    Directory::resume(&run).unwrap_err();
    restore();
    let restore = link("trials", &outside);
    let why = Directory::resume(&run).unwrap_err().to_string();
    assert!(why.ends_with("trials is a link or a file, not a folder"), "{why}");
    let why = append(&Directory::open(&run).unwrap(), Entry::aborted(2), &files()).unwrap_err();
    assert!(why.to_string().contains("trials is a link or a file, not a folder"), "{why}");
    restore();
    // These are written: the link goes, its target stays.
    for name in ["report.html", "report.html.partial", ".new-1"] {
        let _restore = link(name, &outside.join("precious"));
    }
    let directory = Directory::resume(&run).unwrap();
    directory.write("report.html", b"page").unwrap();
    assert!(!run.join("report.html").is_symlink() && !run.join(".new-1").is_symlink());
    append(&directory, Entry::aborted(2), &files()).unwrap();
    assert!(outside.join("2").exists());
    assert_eq!(fs::read(outside.join("precious")).unwrap(), b"kept");
}

#[test]
fn one_process_at_a_time_writes_a_journal() {
    let (_folder, directory) = fresh();
    let refused = |path: &Path| Directory::resume(path).unwrap_err().to_string();
    let why = refused(directory.path());
    assert!(why.ends_with(
        "journal.jsonl: another run is writing to these results; wait for it, or stop it"
    ));
    let path = directory.path().to_owned();
    let writer = directory.write_journal().unwrap().1;
    drop(directory);
    assert_eq!(refused(&path), why);
    // Reading goes on.
    Directory::open(&path).unwrap().journal().unwrap();
    // A run that is killed while it starts a process leaves a child that has the lock for a moment.
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| Directory::resume(&path));
        #[expect(clippy::disallowed_methods, reason = "another thread waits in real time")]
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(writer);
        waits.join().unwrap().unwrap();
    });
}

/// Two processes that start at the same time both find the folder empty, and the second may get the lock only when
/// the first has ended.
#[test]
fn the_second_of_two_that_claim_a_new_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    fs::create_dir(&path).unwrap();
    let mut late = Directory::at(&path, VERSION).unwrap();
    check_empty(&path, &late.inside()).unwrap();
    let first = create(&path).unwrap();
    append(&first, Entry::aborted(1), &files()).unwrap();
    let why = late.claim().unwrap_err().to_string();
    assert!(why.contains("another run is writing to these results"), "{why}");
    drop(first);
    let why = late.claim().unwrap_err().to_string();
    assert!(why.contains("this folder is not empty"), "{why}");
    drop(late);
    assert!(!path.join(MARKER).exists());
    assert_eq!(Directory::resume(&path).unwrap().journal().unwrap().len(), 1);
}

#[test]
fn of_several_that_create_one_directory_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let made: Vec<Result<Directory, Error>> = thread::scope(|scope| {
        let all = [(); 4].map(|()| scope.spawn(|| create(&path)));
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|one| one.is_ok()).count(), 1, "{made:#?}");
    assert!(path.join("manifest.json").exists());
}

#[test]
fn a_journal_with_a_number_that_no_load_counts_is_refused() {
    let (_folder, directory) = fresh();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    let journal = directory.path().join("journal.jsonl");
    let line = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, line.replacen('{', r#"{"count":18446744073709551615,"#, 1)).unwrap();
    let why = directory.journal().unwrap_err().to_string();
    let expected = "line 1 cannot be read: 18446744073709551615 is not a valid number of a load";
    assert!(why.ends_with(expected), "{why}");
}

#[test]
fn results_are_for_their_owner_unless_they_are_shared() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // As the umask of the tests allows.
    fs::create_dir(folder.path().join("usual")).unwrap();
    let usual = mode(folder.path().join("usual"));
    for (readers, of_folder, of_file) in
        [(Readers::Owner, 0o700, 0o600), (Readers::Shared, usual, usual & 0o666)]
    {
        let path = folder.path().join(format!("{readers:?}"));
        let environment = Environment::default();
        let directory =
            Directory::create(&path, readers, &manifest(), "name: x\n", &environment).unwrap();
        drop(directory);
        // Continued as it was begun.
        let directory = Directory::resume(&path).unwrap();
        append(&directory, Entry::aborted(1), &files()).unwrap();
        directory.write("report.html", b"page").unwrap();
        for name in [".", "trials", "trials/1"] {
            assert_eq!(mode(path.join(name)), of_folder, "{readers:?} {name}");
        }
        for name in ["spec.yaml", "manifest.json", "journal.jsonl", "report.html", "trials/1/a.txt"]
        {
            assert_eq!(mode(path.join(name)), of_file, "{readers:?} {name}");
        }
    }
}

#[test]
fn a_place_where_nothing_can_be_made_is_an_error() {
    let why = create(Path::new("/proc/x/y")).unwrap_err().to_string();
    assert_eq!(
        why,
        "/proc/x: nothing can be made here; name another place for the results with --out"
    );
}

#[test]
fn impossible_results_are_named() {
    let (_folder, directory) = fresh();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    let journal = directory.path().join("journal.jsonl");
    let line = fs::read(&journal).unwrap();
    fs::write(&journal, [&line[..], &line[..]].concat()).unwrap();
    let why = directory.journal().unwrap_err().to_string();
    assert!(why.ends_with("journal.jsonl: line 2 repeats trial 1"), "{why}");
    let manifest = directory.path().join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    for version in ["0", "-1", "99", "\"1\""] {
        let written = format!("\"version\": {VERSION}");
        fs::write(&manifest, text.replace(&written, &format!("\"version\": {version}"))).unwrap();
        let why = Directory::open(directory.path()).unwrap_err().to_string();
        assert!(why.contains(&format!("results of version {version}; this tool reads")), "{why}");
    }
}

#[test]
fn a_full_disk_says_that_what_is_finished_is_safe_and_how_to_go_on() {
    let (_folder, directory) = fresh();
    let full = || directory.failed("journal.jsonl", &io::ErrorKind::StorageFull.into()).to_string();
    assert!(full().ends_with("no trial was finished: make room, and run it again"), "{}", full());
    append(&directory, Entry::aborted(1), &files()).unwrap();
    let why = full();
    let expected = format!(
        "the finished trials are safe: make room, and go on with `benchwright resume {}`",
        directory.path().display()
    );
    assert!(why.ends_with(&expected), "{why}");
}

/// Only root can give something to another user.
#[test]
fn results_are_not_written_where_somebody_else_prepared_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("of_another"), folder.path().join("link"));
    fs::create_dir(&path).unwrap();
    if !geteuid().is_root() || std::os::unix::fs::chown(&path, Some(65_534), None).is_err() {
        return;
    }
    let why = create(&path).unwrap_err().to_string();
    assert!(
        why.ends_with("it belongs to another user; name a folder of your own by --out"),
        "{why}"
    );
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::symlink(&own, &link).unwrap();
    create(&link).unwrap();
    fs::remove_dir_all(&own).unwrap();
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
    for path in [link.clone(), link.join("inner")] {
        create(&path).unwrap_err();
    }
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
}

/// Whoever may change the folder above it cannot redirect what is written.
#[test]
fn what_is_written_stays_in_the_directory_that_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = (folder.path().join("results"), folder.path().join("old"));
    let directory = create(&path).unwrap();
    let private = folder.path().join("private");
    fs::create_dir_all(private.join("trials")).unwrap();
    fs::write(private.join("report.html"), "private").unwrap();
    fs::rename(&path, &old).unwrap();
    std::os::unix::fs::symlink(&private, &path).unwrap();
    directory.write("report.html", b"page").unwrap();
    append(&directory, Entry::aborted(1), &files()).unwrap();
    assert_eq!(fs::read(old.join("report.html")).unwrap(), b"page");
    assert_eq!(fs::read(private.join("report.html")).unwrap(), b"private");
    assert_eq!(fs::read_dir(private.join("trials")).unwrap().count(), 0);
    assert!(old.join("trials/1").is_dir());
    assert_eq!(directory.path(), path);
}

#[test]
fn an_error_is_one_line_whatever_somebody_named_or_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("H\n  all is well");
    create(&path).unwrap();
    fs::write(
        path.join("manifest.json"),
        r#"{"schema": "benchwright.results", "version": 3,
        "state": "x\nall is well"}"#,
    )
    .unwrap();
    let shown = Directory::open(&path).unwrap_err().to_string();
    assert!(shown.contains("H\\u000a  all is well/manifest.json: "), "{shown}");
    assert!(!shown.contains('\n'), "{shown}");
}

#[test]
fn a_directory_knows_where_it_is_and_that_it_was_removed() {
    let (folder, directory) = fresh();
    let (_, mut writer) = directory.write_journal().unwrap();
    let place = folder.path().canonicalize().unwrap();
    assert_eq!(directory.at_its_place().unwrap().path(), directory.path());
    fs::rename(directory.path(), place.join("moved")).unwrap();
    create(directory.path()).unwrap();
    assert_eq!(directory.at_its_place().unwrap().path(), place.join("moved"));
    fs::remove_dir_all(place.join("moved")).unwrap();
    let expected = format!(
        "{}: this folder was removed, and all that was measured into it is lost; run it again, and leave the \
         folder alone until the run has ended",
        directory.path().display()
    );
    assert_eq!(directory.at_its_place().unwrap_err().to_string(), expected);
    assert_eq!(directory.write("answer.json", b"{}").unwrap_err().to_string(), expected);
    let lost = writer.append(Entry::aborted(1), &files());
    assert_eq!(lost.unwrap_err().to_string(), expected);
}
