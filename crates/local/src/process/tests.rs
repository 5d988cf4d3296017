use lab::Host;
use lab::backend::Backend;
use lab::host::rest;

use super::*;
use crate::processes::Local;

fn start(script: &str) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    spawn(command, Vec::new(), None).unwrap()
}

fn end_of(process: &Process) -> ExitStatus {
    loop {
        if let Some(status) = process.ended().unwrap() {
            return status;
        }
        rest(std::time::Duration::from_millis(1));
    }
}

/// Returns the state of a process; `Z` is one that has ended and whose number is not reused.
fn state(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1[..1].to_owned())
}

/// No signal to its group can reach another group while it keeps its number.
#[test]
fn a_process_that_ended_keeps_its_number_until_it_is_reaped() {
    let process = start("exit 3");
    assert_eq!(end_in_words(end_of(&process)), "ended with exit code 3");
    assert_eq!(state(process.id()).as_deref(), Some("Z"));
    // Its end can be read again, and its group can be signalled.
    assert_eq!(end_of(&process).code(), Some(3));
    process.signal(Signal::SIGKILL);
    let pid = process.id();
    process.reap();
    assert_ne!(state(pid).as_deref(), Some("Z"));
}

/// A runner in the background of a script ignores Ctrl-C; its load can be interrupted all the same.
#[test]
fn a_process_can_be_interrupted_though_we_ignore_it() {
    // SAFETY: no handler of ours is called.
    let before = unsafe { signal(Signal::SIGINT, SigHandler::SigIgn) }.unwrap();
    let mut process = start("trap 'exit 7' INT; echo trapped; while :; do sleep 0.01; done");
    // SAFETY: as above; the tests have no handler.
    unsafe { signal(Signal::SIGINT, before) }.unwrap();
    let (stdout, _) = process.take_output();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut String::new()).unwrap();
    process.signal(Signal::SIGINT);
    process.await_end(std::time::Duration::from_secs(20));
    let ended = process.ended().unwrap();
    process.signal(Signal::SIGKILL);
    assert_eq!(ended.and_then(|status| status.code()), Some(7));
    process.reap();
}

#[test]
fn what_a_dead_process_left_in_its_group_can_be_signalled() {
    let mut process = start("sleep 60 & echo $!; exit 0");
    let (stdout, _) = process.take_output();
    assert!(end_of(&process).success());
    let mut pid = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut pid).unwrap();
    let pid = pid.trim().parse().unwrap();
    assert!(state(pid).is_some_and(|state| state != "Z"));
    process.signal(Signal::SIGKILL);
    while state(pid).is_some_and(|state| state != "Z") {
        rest(std::time::Duration::from_millis(1));
    }
    process.reap();
}

/// Waiting for an end does not sleep past it.
#[test]
fn an_end_is_noticed_when_it_comes() {
    let process = start("sleep 0.1");
    let begun = lab::host::now();
    let long = std::time::Duration::from_secs(60);
    while process.ended().unwrap().is_none() {
        process.await_end(long);
    }
    assert!(lab::host::now() - begun < measure::Nanos::from_secs(30));
    process.await_end(long);
    process.reap();
    let living = start("exec sleep 60");
    living.await_end(std::time::Duration::from_millis(1));
    assert_eq!(living.ended().unwrap(), None);
    living.signal(Signal::SIGKILL);
    living.reap();
}

#[test]
fn ends_are_described_as_they_were() {
    let killed = start("exec sleep 60");
    killed.signal(Signal::SIGTERM);
    assert_eq!(end_in_words(end_of(&killed)), "was killed by SIGTERM");
    killed.reap();
    let running = start("exec sleep 60");
    assert_eq!(running.ended().unwrap(), None);
    running.signal(Signal::SIGKILL);
    assert_eq!(end_in_words(end_of(&running)), "was killed by SIGKILL");
    running.reap();
}

#[test]
fn only_the_process_that_is_meant_is_killed() {
    let process = start("exec sleep 60");
    let pid = process.id() as i32;
    kill_if(pid, || false);
    assert_eq!(process.ended().unwrap(), None);
    kill_if(pid, || true);
    assert_eq!(end_in_words(end_of(&process)), "was killed by SIGKILL");
    process.reap();
    kill_if(pid, || unreachable!("a process that is gone is not asked about"));
}

/// Returns true in a process that runs only the test of this name: orphans are those of the whole process.
fn is_alone(name: &str) -> bool {
    const ALONE: &str = "BENCHWRIGHT_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("process::tests::{name}")]).env(ALONE, "1");
    let ran = command.output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// As daemons, which fork twice, in a session of their own and without our environment; and as jobs of a shell, which
/// are in a group of their own.
#[test]
fn nothing_that_leaves_the_group_of_its_component_survives_a_run() {
    if !is_alone("nothing_that_leaves_the_group_of_its_component_survives_a_run") {
        return;
    }
    for cgroups in ["/sys/fs/cgroup", "/nowhere"] {
        let folder = tempfile::tempdir().unwrap();
        let left = |how: &str, then: &str| {
            let file = folder.path().join(how.split(' ').next().unwrap()).display().to_string();
            let script = format!("echo $$ >{file}.new; mv {file}.new {file}; {then}");
            (file, format!("(env -i {how} sh -c '{script}' &);"))
        };
        let daemon = left("setsid", "exec sleep 60");
        let job = left("timeout 60", "exec sleep 61");
        let ended = left("nice -n 1 setsid", ":");
        let all = [daemon, job, ended];
        let commands = all.each_ref().map(|(_, command)| command.as_str()).concat();
        let host = Host {
            temporary: folder.path().to_owned(),
            runtime: folder.path().join("runtime"),
            cgroups: cgroups.into(),
            ..Host::new("/bin/true".into(), "0.0.0")
        };
        let mut local = Local::new(host);
        local.start(&[crate::tests::server(&format!("{commands} exec sleep 60"))]).unwrap();
        let [daemon, job, ended] = all.map(|(file, _)| {
            loop {
                if let Ok(text) = fs::read_to_string(&file) {
                    break text.trim().parse::<u32>().unwrap();
                }
                rest(Duration::from_millis(1));
            }
        });
        while state(ended).is_some() {
            reap_orphans();
            rest(Duration::from_millis(1));
        }
        assert!([daemon, job].map(state).iter().all(Option::is_some));
        local.stop();
        assert_eq!([daemon, job].map(state), [None, None], "{cgroups}");
    }
}
