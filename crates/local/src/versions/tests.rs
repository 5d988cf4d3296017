use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;

use lab::spec;

use super::*;

#[test]
fn only_known_programs_are_started_for_their_version() {
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, script: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("postgres", "[ \"$*\" = --version ] && echo 'postgres (PostgreSQL) 15.5' && echo more");
    program("nginx", "echo; echo 'nginx version: nginx/1.22.1' >&2");
    program("memcached", "echo no such option; exit 1");
    program("server", "touch \"$(dirname \"$0\")/started\"");
    let steps: String = ["postgres", "nginx", "memcached", "server"]
        .map(|name| format!("process: {{name: {name}, command: [./{name}, -p, 5]}}"))
        .join(", ");
    let text = format!(
        "name: x\nsut: {{deploy: [{steps}, process: {{name: r, command: [benchwright, reference]}}]}}\n\
         workload: {{get: /}}\nload: {{model: open, rate: 10/s}}\nphases: {{measure: {{time: 1s}}}}\n"
    );
    let read = spec::from_bytes("my.yaml", text.as_bytes(), folder.path(), None, &[]);
    let host = Host::new("/nowhere/benchwright".into(), "0.0.7");
    let expected = [
        ("benchwright", "0.0.7"),
        ("nginx", "nginx version: nginx/1.22.1"),
        ("postgres", "postgres (PostgreSQL) 15.5"),
    ];
    let expected = expected.map(|(name, version)| (name.to_owned(), version.to_owned()));
    let read = read.unwrap();
    assert_eq!(versions(&read, &host).unwrap(), BTreeMap::from(expected));
    assert!(!folder.path().join("started").exists());

    // One that hangs keeps nobody from ending the run.
    program("nginx", "sleep 600");
    host.interrupted.store(true, Ordering::Relaxed);
    assert!(matches!(versions(&read, &host).unwrap_err(), Stop::Interrupted));
}
