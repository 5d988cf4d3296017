use super::*;
use crate::journal::{Purpose, Status};
use crate::manifest::State;

fn manifest() -> Manifest {
    Manifest {
        schema: "benchwright.results".into(),
        version: VERSION,
        tool: "benchwright 0.0.0".into(),
        experiment: "test".into(),
        profile: None,
        set: Vec::new(),
        backend: "simulated".into(),
        seed: 1,
        key: "k".into(),
        spec_folder: ".".into(),
        started_unix_s: None,
        state: State::Open,
        binaries: BTreeMap::new(),
    }
}

fn entry(trial: u32) -> Entry {
    Entry {
        trial,
        key: "k".into(),
        purpose: Purpose::Trial,
        asked_per_s: Some(100.0),
        repetition: 1,
        attempt: 1,
        seed: 1,
        status: Status::Aborted,
        reasons: Vec::new(),
        observed: None,
        findings: Vec::new(),
        warnings: Vec::new(),
        files: BTreeMap::new(),
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

#[test]
fn what_was_appended_is_read_again() {
    let (_folder, directory) = fresh();
    let kept = [1, 2].map(|trial| directory.append(entry(trial), &files()).unwrap());
    let opened = Directory::open(directory.path()).unwrap();
    assert_eq!(opened.journal().unwrap(), kept);
    assert_eq!(kept[0].files["a.txt"], digest(b"hello"));
    assert_eq!(fs::read(opened.trial_path(2).join("a.txt")).unwrap(), b"hello");
}

#[test]
fn a_torn_last_line_never_counted_and_is_replaced() {
    let (_folder, directory) = fresh();
    directory.append(entry(1), &files()).unwrap();
    let journal = directory.path().join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    for cut in 1..whole.len() {
        fs::write(&journal, [&whole[..], &whole[..cut]].concat()).unwrap();
        assert_eq!(directory.journal().unwrap().len(), 1, "cut at {cut}");
    }
    directory.append(entry(2), &files()).unwrap();
    assert_eq!(directory.journal().unwrap().len(), 2);
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error_with_its_place() {
    let (_folder, directory) = fresh();
    directory.append(entry(1), &files()).unwrap();
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
    directory.append(entry(1), &files()).unwrap();
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

/// Until there is a manifest nothing can be resumed, so what was asked can be asked again.
#[test]
fn what_was_killed_while_it_was_made_is_made_again() {
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
    assert!(error.contains("no results directory"), "{error}");
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
        outstanding: vec![Some(4), None],
        components: BTreeMap::from([("hotel".into(), hotel)]),
    };
    let text = serde_json::to_string(&components).unwrap();
    let file = |text: &str| Files::from([(components::FILE.to_owned(), text.as_bytes().to_vec())]);
    let kept = directory.append(entry(1), &file(&text)).unwrap();
    assert_eq!(directory.components(&kept).unwrap(), Some(components));
    let kept = directory.append(entry(2), &file(&text.replace("/1", "/2"))).unwrap();
    let refused = directory.components(&kept).unwrap_err().to_string();
    assert!(refused.ends_with("this tool reads benchwright.components/1"), "{refused}");
    let kept = directory.append(entry(3), &files()).unwrap();
    assert_eq!(directory.components(&kept).unwrap(), None);
}
