use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lab::spec;

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

fn host() -> Host {
    Host::new("/nowhere/benchwright".into(), "0.0.0")
}

#[test]
fn a_program_is_told_by_its_end_and_the_last_that_it_printed() {
    let script = "head -c 10000000 /dev/zero; echo last; echo error >&2; exit 3";
    let answer = ask(shell(script), Nanos::from_secs(60), &host()).unwrap();
    assert_eq!(answer.status.code(), Some(3));
    assert_eq!((answer.stdout.len(), &*answer.stderr), (MOST, &b"error\n"[..]));
    assert!(answer.stdout.ends_with(b"last\n"));
    let missing = ask(Command::new("/nowhere/at/all"), Nanos::SECOND, &host()).unwrap_err();
    assert!(matches!(missing, Unanswered::NotStarted(_)), "{missing:?}");
}

/// Raises the flag after a while.
fn interrupt(host: &Host) {
    let flag = host.interrupted.clone();
    thread::spawn(move || {
        host::rest(Duration::from_millis(300));
        flag.store(true, Ordering::Relaxed);
    });
}

/// Neither the program nor its child, which holds the streams, goes on.
#[test]
fn a_program_that_does_not_end_is_ended_in_its_time_and_at_an_interruption() {
    let begun = host::now();
    for script in ["sleep 600 & while :; do echo more; done", "sleep 600 & wait"] {
        let late = ask(shell(script), Nanos::from_millis(300), &host()).unwrap_err();
        assert!(matches!(late, Unanswered::Late), "{late:?}");
        let host = host();
        interrupt(&host);
        let ended = ask(shell(script), Nanos::from_secs(600), &host).unwrap_err();
        assert!(matches!(ended, Unanswered::Interrupted), "{ended:?}");
    }
    assert!(host::now() - begun < Nanos::from_secs(60));
}

#[test]
fn a_program_of_the_user_ends_by_itself_or_at_an_interruption() {
    let host = host();
    assert_eq!(accompany(shell("exit 7"), &host.interrupted).unwrap().code(), Some(7));
    assert!(accompany(Command::new("/nowhere/at/all"), &host.interrupted).is_err());
    interrupt(&host);
    let begun = host::now();
    let status = accompany(shell("exec sleep 600"), &host.interrupted).unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
    assert!(host::now() - begun < Nanos::from_secs(60));
}

#[test]
fn the_check_of_a_load_is_ended_at_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let generator = folder.path().join("benchwright");
    fs::write(&generator, "#!/bin/sh\nsleep 600\n").unwrap();
    fs::set_permissions(&generator, fs::Permissions::from_mode(0o755)).unwrap();
    let text = "name: x\nwhere: {backend: external}\nsut: {endpoint: \"http://127.0.0.1:1/\"}\n\
                workload: {get: /}\nload: {model: open, rate: 10/s}\nphases: {measure: {time: 1s}}\n";
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), folder.path(), None, &[]).unwrap();
    let host = Host::new(generator, "0.0.0");
    interrupt(&host);
    let begun = host::now();
    let stop = crate::check(&resolved, &host).unwrap_err();
    assert!(matches!(stop, Stop::Interrupted), "{stop:?}");
    assert!(host::now() - begun < Nanos::from_secs(60));
}
