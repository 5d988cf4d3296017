//! The doctor of one machine, on the files of a recorded one: nothing of this machine is changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::stat::Mode;

use crate::support::{Scratch, benchwright, machine, run, run_while, signal, soon, until};

const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// A machine with a governor and huge pages that can be changed.
const FILES: [(&str, &str); 7] = [
    (GOVERNOR, "powersave\n"),
    ("proc/stat", "cpu0 100 0 100 99700 50 0 50 0 0 0\n"),
    ("proc/sys/kernel/random/boot_id", "b-1\n"),
    ("proc/uptime", "1000.00 900.00\n"),
    ("proc/vmstat", "pswpin 0\n"),
    ("sys/devices/system/cpu/online", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
];

fn record(root: &Path) {
    for (path, text) in FILES {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn content(root: &Path) -> BTreeMap<&'static str, String> {
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap().trim().to_owned();
    FILES.iter().map(|(path, _)| (*path, text(path))).collect()
}

#[test]
fn recorded_files_are_judged_and_an_error_is_a_no() {
    let scratch = Scratch::new();
    let root = scratch.path().to_str().unwrap();
    record(scratch.path());
    let ran = run(&["doctor", "--root", root, "--json"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let checks = ran.json()["checks"].as_array().unwrap().clone();
    assert_eq!(checks.len(), 32);
    let of = |id: &str| checks.iter().find(|check| check["id"] == id).unwrap().clone();
    assert_eq!(of("local.governor")["state"], "bad");
    assert_eq!(of("local.governor")["severity"], "warning");
    assert_eq!(of("local.swap")["state"], "ok");
    assert_eq!(of("local.clock")["state"], "unknown");

    fs::write(scratch.path().join("proc/vmstat"), "pswpin 9\n").unwrap();
    let ran = run(&["doctor", "--root", root]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let line = ran.stdout.lines().find(|line| line.starts_with("BAD")).unwrap();
    assert!(line.contains("11 swap") && line.contains("· remedy: free memory"), "{line}");
    assert!(ran.stdout.contains("Not fit for `doctor: strict`."), "{}", ran.stdout);
}

/// Returns `doctor` on a recorded machine, in silence.
fn doctor(root: &Path, rest: &[&str]) -> Command {
    let mut command = Command::new(benchwright());
    command.args(["doctor", "--root", root.to_str().unwrap()]).args(rest);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_fix_lasts_until_the_end_of_its_command_or_a_restore_after_a_kill() {
    let scratch = Scratch::new();
    let root = scratch.path();
    record(root);
    let found = content(root);
    let of = |rest: &[&str]| doctor(root, rest);
    // The command sees the changed settings, and its exit code is ours.
    let script = format!("grep performance {} && exit 1", root.join(GOVERNOR).display());
    let status = of(&["--fix", "--", "sh", "-c", &script]).status().unwrap();
    assert_eq!((status.code(), content(root)), (Some(1), found.clone()));

    let pid = root.join("pid");
    let script = format!("echo $$ > {0}.part; mv {0}.part {0}; exec sleep 60", pid.display());
    let mut doctor = of(&["--fix", "--", "sh", "-c", &script]).spawn().unwrap();
    until("the command runs", || pid.exists());
    assert_eq!(content(root)[GOVERNOR], "performance");
    doctor.kill().unwrap();
    doctor.wait().unwrap();
    let sleeping = fs::read_to_string(&pid).unwrap();
    Command::new("kill").arg(sleeping.trim()).status().unwrap();
    assert_eq!(content(root)[GOVERNOR], "performance", "a kill leaves it");
    assert_eq!(of(&["--restore"]).status().unwrap().code(), Some(0));
    assert_eq!(content(root), found);
    assert!(!root.join("run/benchwright").exists());
}

#[test]
fn a_fix_is_put_back_at_a_signal_and_its_command_ends() {
    let scratch = Scratch::new();
    let root = scratch.path();
    record(root);
    let found = content(root);
    let begun = root.join("begun");
    let script = format!("touch {}; exec sleep 600", begun.display());
    let mut doctor = doctor(root, &["--fix", "--", "sh", "-c", &script]).spawn().unwrap();
    until("the command runs", || begun.exists());
    signal(doctor.id(), "TERM");
    assert_eq!(doctor.wait().unwrap().code(), Some(130));
    assert_eq!(content(root), found);
}

#[test]
fn recorded_files_that_are_pipes_are_not_waited_for() {
    let scratch = Scratch::new();
    let root = scratch.path();
    record(root);
    let stat = root.join("proc/stat");
    fs::remove_file(&stat).unwrap();
    nix::unistd::mkfifo(&stat, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let ran = run(&["doctor", "--root", root.to_str().unwrap()]);
    assert!([0, 1].contains(&ran.code), "{ran:#?}");
}

/// Holds a lease on a file until it is killed.
const LEASE: &str = "import fcntl, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open(sys.argv[1])
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
print('held', flush=True)
time.sleep(60)";

#[test]
fn a_fix_that_is_killed_between_its_settings_is_put_right_by_a_restore() {
    const BLOCKED: &str = "sys/kernel/mm/ksm/run";
    const AFTER_IT: &str = "proc/sys/net/core/somaxconn";
    let scratch = Scratch::new();
    let root = scratch.path();
    record(root);
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(AFTER_IT, "128\n");
    let found = content(root);
    // This setting can be read; who opens it to write waits for the holder of a lease, up to 45 s.
    put(BLOCKED, "1\n");
    let mut lease = Command::new("python3");
    lease.args(["-c", LEASE]).arg(root.join(BLOCKED)).stdout(Stdio::piped());
    let mut lease = lease.spawn().unwrap();
    let mut held = String::new();
    BufReader::new(lease.stdout.take().unwrap()).read_line(&mut held).unwrap();
    let of = |argument: &str| {
        let mut command = Command::new(benchwright());
        command.args(["doctor", "--root", root.to_str().unwrap(), argument]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut doctor = of("--fix").spawn().unwrap();
    let state = root.join("run/benchwright/doctor.json");
    let is_blocked = || fs::read_to_string(&state).is_ok_and(|text| text.contains(BLOCKED));
    until("it changes the setting", is_blocked);
    doctor.kill().unwrap();
    doctor.wait().unwrap();
    lease.kill().unwrap();
    lease.wait().unwrap();
    assert_eq!(content(root)[GOVERNOR], "performance");
    assert_eq!(
        fs::read_to_string(root.join(AFTER_IT)).unwrap(),
        "128\n",
        "it did not come to this"
    );
    assert_eq!(fs::read_to_string(root.join(BLOCKED)).unwrap(), "1\n");
    assert_eq!(of("--restore").status().unwrap().code(), Some(0));
    assert_eq!(content(root), found);
    assert_eq!(fs::read_to_string(root.join(BLOCKED)).unwrap(), "1\n");
    assert!(!root.join("run/benchwright").exists());
}

#[test]
fn this_machine_is_judged_within_three_seconds_and_the_second_of_its_spins() {
    let _machine = machine();
    let spins = Duration::from_secs(1);
    soon(Duration::from_secs(3) + spins, || {
        let ran = run(&["doctor", "--json"]);
        // An error that a check finds is an answer.
        assert!([0, 1].contains(&ran.code), "{ran:#?}");
        assert_eq!(ran.json()["checks"].as_array().unwrap().len(), 32);
        ran.took
    });
}

#[test]
fn wrong_arguments_of_the_doctor_are_refused() {
    let scratch = Scratch::new();
    let link = scratch.path().join("link");
    symlink("nowhere", &link).unwrap();
    let link = link.display().to_string();
    for (arguments, hint) in [
        (&["doctor", "--root", "missing"][..], "there is no folder missing"),
        (&["doctor", "--storage", "missing"], "missing: there is no such folder"),
        (&["doctor", "--storage", "Cargo.toml"], "Cargo.toml: it is not a folder"),
        (&["doctor", "--storage", &link], "link: it is a link that leads nowhere"),
        (&["doctor", "--fix", "--restore"], "cannot be used with"),
        (&["doctor", "--", "true"], "--fix"),
        (&["doctor", "missing.yaml"], "missing.yaml"),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:#?}");
        assert!(ran.stderr.contains(hint), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn the_place_of_the_lock_and_the_notes_is_said_and_so_is_why_it_cannot_be_used() {
    let _machine = machine();
    let scratch = Scratch::new();
    let place = scratch.path().join("runtime");
    let said = || {
        let ran = run_while(scratch.benchwright().arg("doctor"), |_| {});
        assert!([0, 1].contains(&ran.code), "{ran:#?}");
        ran.stdout
    };
    let named = format!("\nthe lock and the notes of your runs are in {}\n", place.display());
    let text = said();
    assert!(text.ends_with(&named), "{text}");
    assert!(!place.exists(), "a look makes nothing");
    // Every run would be refused.
    symlink("nowhere", &place).unwrap();
    let text = said();
    assert!(text.contains("runtime cannot be used for the lock and the notes"), "{text}");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    let text = said();
    let refused = format!(
        "\nthe folder {} cannot be used for the lock and the notes of runs: others may change it; set \
         BENCHWRIGHT_RUNTIME to a folder of your own\n",
        place.display()
    );
    assert!(text.ends_with(&refused), "{text}");
}
