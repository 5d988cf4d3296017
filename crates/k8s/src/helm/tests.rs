use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use lab::host;
use lab::spec::Via;
use serde_json::json;

use super::*;

/// Returns a chart with these values.
fn chart(set: BTreeMap<String, Value>) -> Chart {
    Chart {
        folder: "deploy/charts/hotel".into(),
        release: "test".to_owned(),
        namespace: None,
        set,
        service: "frontend-test-hotelres".to_owned(),
        deployment: None,
        via: Via::NodePort,
    }
}

#[test]
fn values_are_given_as_on_a_command_line() {
    let set = BTreeMap::from([
        ("replicaCount".to_owned(), json!(6)),
        ("image.tag".to_owned(), json!("1")),
        ("global.spread".to_owned(), json!("a, b\\c")),
        ("review.enabled".to_owned(), json!(false)),
    ]);
    let chart = chart(set);
    let within = Nanos::from_millis(90_500);
    let words = arguments(&chart, "hotel-res1", within, &json!({})).join(" ");
    assert_eq!(
        words,
        "upgrade --install test deploy/charts/hotel --namespace hotel-res1 --wait --timeout=91s \
         --set-json=affinity={} --set-string global.spread=a\\, b\\\\c --set-string image.tag=1 --set replicaCount=6 \
         --set review.enabled=false"
    );
}

#[test]
fn an_error_of_helm_is_shown_without_the_warnings_before_it() {
    let link = "walk.go:75: found symbolic link in path: hotel/charts/common resolves to common";
    let error = "UPGRADE FAILED: Error: the server refused it";
    assert_eq!(reason(&format!("{link}\nError: {error}")), error);
    assert_eq!(reason("flag needs an argument"), "flag needs an argument");
}

#[test]
fn a_value_with_a_secret_is_a_file_without_a_name_that_only_we_can_read() {
    use std::os::unix::fs::MetadataExt;
    let mut secrets = Secrets::default();
    secrets.find("${env.PASSWORD}", &|_| Some("canary, 1".to_owned()));
    let set = BTreeMap::from([
        ("db.password".to_owned(), json!("${env.PASSWORD}")),
        ("image.tag".to_owned(), json!("1")),
    ]);
    let (shown, files) = hidden(&chart(set), &secrets).unwrap();
    assert_eq!(shown.values(), ["--set-string", "image.tag=1"]);
    let [(path, file)] = &files[..] else { panic!("one value has a secret") };
    assert_eq!(path, "db.password");
    // By a process that we start, as helm is.
    let read = Command::new("cat").arg(file.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&read.stdout), "canary, 1");
    let found = fs::metadata(file.path()).unwrap();
    assert_eq!((found.mode() & 0o777, found.nlink()), (0o600, 0));
}

/// Returns a helm that is a script of the shell in this folder. Another process writes it: what we have open for
/// writing, a child that another test starts may have open for a moment, too, and then the kernel does not start it.
fn scripted(folder: &Path, script: &str) -> Helm {
    let program = folder.join("helm");
    let write = r#"printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod 755 "$1""#;
    let mut writer = Command::new("sh");
    let written = writer.args(["-c", write, "sh"]).arg(&program).arg(script).status().unwrap();
    assert!(written.success());
    Helm { program, ..Helm::new(None, None, Arc::default()) }
}

/// Interrupts the run once there is a line in a file.
fn interrupt_after(helm: &Helm, file: &Path) {
    let (flag, file) = (Arc::clone(&helm.interrupted), file.to_owned());
    thread::spawn(move || {
        while !fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')) {
            host::rest(Duration::from_millis(10));
        }
        flag.store(true, Ordering::Relaxed);
    });
}

fn install(helm: &Helm) -> Result<(), Stop> {
    let within = Nanos::from_secs(600);
    helm.install(&chart(BTreeMap::new()), "demo", within, &json!({}), &Secrets::default())
}

/// Neither helm nor what it has started goes on, whether it waits or prints.
#[test]
fn an_interruption_ends_helm_with_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let child = folder.path().join("child");
    let begun = host::now();
    for waits in ["wait", "while :; do echo more; echo more >&2; done"] {
        let script = format!("sleep 600 &\necho $! >{}\n{waits}", child.display());
        let helm = scripted(folder.path(), &script);
        interrupt_after(&helm, &child);
        let stop = install(&helm).unwrap_err();
        assert!(matches!(stop, Stop::Interrupted), "{stop:?}");
        let pid: u32 = fs::read_to_string(&child).unwrap().trim().parse().unwrap();
        while host::start_of(pid).is_some() {
            assert!(host::now() - begun < Nanos::from_secs(60), "its child {pid} goes on");
            host::rest(Duration::from_millis(10));
        }
        fs::remove_file(&child).unwrap();
    }
    let helm = scripted(folder.path(), "sleep 600");
    helm.interrupted.store(true, Ordering::Relaxed);
    assert_eq!(helm.version(), Err(Error::Interrupted));
    assert!(host::now() - begun < Nanos::from_secs(60));
}

#[test]
fn a_helm_that_does_not_end_is_ended_in_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let helm = scripted(folder.path(), "sleep 600");
    let bounds = short(Nanos::from_millis(300));
    let late = helm.ask(&["version".to_owned()], bounds, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(late, Error::Helm("it did not end in 300 ms".to_owned()));
}

/// Otherwise an interrupted run would leave its releases on the cluster.
#[test]
fn a_run_that_was_interrupted_removes_its_releases_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let removed = folder.path().join("removed");
    let script = format!("sleep 0.3\necho \"$@\" >{}", removed.display());
    let helm = scripted(folder.path(), &script);
    helm.interrupted.store(true, Ordering::Relaxed);
    assert_eq!(helm.uninstall("test", "demo", Interruption::Waits), Ok(()));
    assert_eq!(
        fs::read_to_string(&removed).unwrap(),
        "uninstall test --namespace demo --ignore-not-found --wait --timeout=300s\n"
    );
    // That of a killed run is made again by whoever comes next.
    let helm = scripted(folder.path(), "sleep 600");
    helm.interrupted.store(true, Ordering::Relaxed);
    let ended = helm.uninstall("test", "demo", Interruption::Ends);
    assert_eq!(ended, Err(Error::Interrupted));
}

#[test]
fn only_the_last_that_helm_prints_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    // The notes of a chart may be long.
    let notes = scripted(folder.path(), "head -c 1000000 /dev/zero");
    install(&notes).unwrap();
    let failing =
        "head -c 1000000 /dev/zero >&2\necho >&2\necho 'Error: the server refused it' >&2\nexit 1";
    let failing = scripted(folder.path(), failing);
    let Stop::NoAnswer(why) = install(&failing).unwrap_err() else { panic!("no answer") };
    assert_eq!(why.to_string(), "helm could not install `test`: the server refused it");
    // A part of the objects would be taken for all of them.
    let objects = scripted(folder.path(), "head -c 20000000 /dev/zero");
    let why = objects.rendered(&chart(BTreeMap::new()), "demo").unwrap_err();
    assert_eq!(why, "its objects have 16 MiB or more");
    let few = scripted(folder.path(), "echo 'kind: Service'");
    assert_eq!(few.rendered(&chart(BTreeMap::new()), "demo").unwrap(), "kind: Service");
}

#[test]
fn a_failure_without_words_and_a_helm_that_is_missing_have_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let silent = scripted(folder.path(), "exit 3");
    assert_eq!(silent.version(), Err(Error::Helm("it failed (exit status: 3)".to_owned())));
    let missing = Helm { program: folder.path().join("none"), ..silent };
    let why = missing.version().unwrap_err().to_string();
    assert_eq!(why, "helm: the program `helm` is missing; install Helm 3 and put it into PATH");
}
