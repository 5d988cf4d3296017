use std::fs;
use std::sync::atomic::Ordering;

use lab::spec;

use super::*;

#[test]
fn every_file_that_the_load_needs_is_digested() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["benchwright", "requests.jsonl", "rows.csv", "starts.txt", "ca.pem"] {
        fs::write(folder.path().join(file), file).unwrap();
    }
    let mix =
        "# two requests\n{\"target\":\"/\",\"body_file\":\"large.bin\"}\n{\"target\":\"/b\"}\n";
    fs::write(folder.path().join("requests.jsonl"), mix).unwrap();
    fs::write(folder.path().join("large.bin"), "large").unwrap();
    let text = "name: x\nwhere: {backend: external}\nsut: {endpoint: \"https://a/\"}\n\
                workload: {mix: requests.jsonl, data: rows.csv}\n\
                load: {model: open, trace: starts.txt, tls: {ca: ca.pem}}\n";
    let read = || spec::from_bytes("my.yaml", text.as_bytes(), folder.path(), None, &[]).unwrap();
    let host = Host::new(folder.path().join("benchwright"), "0.0.0");
    let digests = binaries(&read(), &host).unwrap();
    let names: Vec<&str> = digests.keys().map(String::as_str).collect();
    let expected = [
        "benchwright",
        "load.tls.ca",
        "load.trace",
        "workload.data",
        "workload.mix",
        "workload.mix large.bin",
    ];
    assert_eq!(names, expected);
    // A run is not continued with other requests.
    for file in ["requests.jsonl", "rows.csv", "starts.txt", "ca.pem", "large.bin"] {
        let before = fs::read(folder.path().join(file)).unwrap();
        fs::write(folder.path().join(file), [&before[..], b"\n"].concat()).unwrap();
        let changed = binaries(&read(), &host).unwrap();
        let differ = digests.iter().filter(|(name, digest)| changed[*name] != **digest).count();
        assert_eq!(differ, 1, "{file}");
        fs::write(folder.path().join(file), before).unwrap();
    }
    fs::remove_file(folder.path().join("large.bin")).unwrap();
    let resolved = read();
    let refused = || match binaries(&resolved, &host).unwrap_err() {
        Stop::Question(error) => error.to_string(),
        stop => panic!("{stop:?}"),
    };
    let error = refused();
    assert!(error.starts_with("cannot read workload.mix large.bin, "), "{error}");

    // Nobody is at the other end of a pipe.
    assert!(check_files(&resolved).is_ok());
    for file in ["large.bin", "requests.jsonl"] {
        let path = folder.path().join(file);
        drop(fs::remove_file(&path));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = refused();
        assert!(
            error.ends_with("it is a pipe, and an experiment reads it more than once"),
            "{error}"
        );
    }
    let Stop::Question(error) = check_files(&resolved).unwrap_err() else { panic!() };
    let error = error.to_string();
    assert!(error.starts_with("workload.mix: ") && error.ends_with("; name a file"), "{error}");

    host.interrupted.store(true, Ordering::Relaxed);
    assert!(matches!(binaries(&resolved, &host).unwrap_err(), Stop::Interrupted));
}
