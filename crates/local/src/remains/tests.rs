use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;

use super::*;
use crate::notes::Note;

/// Returns a run whose process is gone.
fn dead() -> RunId {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    RunId::parse(&format!("{}-12", child.id()), "").unwrap()
}

fn host(folder: &Path, cgroups: &str) -> Host {
    Host {
        runtime: folder.join("runtime"),
        temporary: folder.to_owned(),
        cgroups: folder.join(cgroups),
        ..Host::new("x".into(), "0")
    }
}

/// Makes the folder of a run, with its note; the process that leads a group is noted.
fn folder_of(run: &RunId, host: &Host, leader: Option<u32>) -> PathBuf {
    let folder = host.temporary.join(format!("{FOLDER}{run}"));
    let mut note = Note::begin(&host.runtime, run, &folder).unwrap();
    leader.into_iter().for_each(|leader| note.add(leader));
    note.add_members();
    fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn leftovers_of_a_dead_runner_are_removed_and_those_of_a_living_one_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().canonicalize().unwrap();
    let host = host(&temporary, "cgroups");
    let cgroups = &host.cgroups;
    for controller in ["cpu", "cpuacct", "cpuset"] {
        fs::create_dir_all(cgroups.join(controller)).unwrap();
        fs::write(cgroups.join(controller).join("cgroup.procs"), "").unwrap();
    }
    let run = dead();
    let pid = run.pid;
    let left = folder_of(&run, &host, None);
    fs::create_dir(left.join("data")).unwrap();
    fs::create_dir_all(cgroups.join(format!("cpu/{GROUP}{run}/hotel"))).unwrap();
    let mut process =
        Command::new("sleep").arg("60").env("TMPDIR", &left).stdout(Stdio::null()).spawn().unwrap();
    // A spawned process exists before the kernel shows its environment.
    let environment = format!("/proc/{}/environ", process.id());
    while fs::read(&environment).unwrap().is_empty() {
        thread::yield_now();
    }
    // Held by another process, which may be in a namespace where it has another number.
    let held = dead();
    let kept = folder_of(&held, &host, None);
    let mut holder = Command::new("flock");
    let note = host.runtime.join(format!("run-{held}"));
    let mut holder = process::stranger(holder.arg(&note).args(["sleep", "60"]));
    let is_held = || {
        let file = fs::File::open(&note).unwrap();
        nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusiveNonblock).is_err()
    };
    while !is_held() {
        thread::yield_now();
    }

    let Remains { removed, staying } = remove(&host);
    assert_eq!(staying, [""; 0]);
    let groups = vec![cgroups.join(format!("cpu/{GROUP}{run}"))];
    let (group, killed) = (groups[0].display().to_string(), process.id() as i32);
    let expected =
        Removed { pid, processes: vec![killed], cgroups: 2, groups, folder: Some(left.clone()) };
    assert_eq!(removed, [expected]);
    let text = format!(
        "a run (pid {pid}) ended without cleaning up: removed 1 process ({killed}) and 2 cgroups ({group}) and 1 \
         temporary folder ({})",
        left.display()
    );
    assert_eq!(removed[0].to_string(), text);
    assert!(!process.wait().unwrap().success());
    assert!(!left.exists() && kept.exists());
    assert_eq!(remove(&host), Remains::default());
    nix::sys::signal::killpg(
        nix::unistd::Pid::from_raw(holder.id() as i32),
        nix::sys::signal::SIGKILL,
    )
    .unwrap();
    holder.wait().unwrap();
}

/// As nginx's workers are, once the kernel killed nginx with its runner.
#[test]
fn a_child_that_hides_its_environment_is_found_by_its_process_group() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().canonicalize().unwrap();
    let host = host(&temporary, "none");
    let run = dead();
    let mut command = Command::new("sh");
    command.args(["-c", "env -i sleep 60 & echo $!; wait"]);
    let mut leader = process::stranger(command.stdout(Stdio::piped()));
    let mut child = String::new();
    BufReader::new(leader.stdout.take().unwrap()).read_line(&mut child).unwrap();
    folder_of(&run, &host, Some(leader.id()));
    leader.kill().unwrap();
    leader.wait().unwrap();

    let Remains { removed, staying } = remove(&host);
    assert_eq!(staying, [""; 0]);
    let [Removed { processes, cgroups: 0, folder: Some(_), .. }] = &removed[..] else {
        panic!("{removed:?}");
    };
    assert_eq!(processes.len(), 1);
    let stat = || fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    while !stat().is_empty() && !stat().contains(") Z ") {
        thread::yield_now();
    }
}

/// In another namespace its processes have no numbers: nobody can tell that they are dead.
#[test]
fn a_group_whose_processes_cannot_be_seen_is_kept_and_named_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().canonicalize().unwrap();
    let host = host(&temporary, "cgroups");
    let run = dead();
    let left = folder_of(&run, &host, None);
    let controller = host.cgroups.join("cpu");
    let group = controller.join(format!("{GROUP}{run}"));
    fs::create_dir_all(&group).unwrap();
    fs::write(controller.join("cgroup.procs"), "").unwrap();
    // Our own group would be killed, if a number were taken as it is.
    fs::write(group.join("cgroup.procs"), "0\n-1\n").unwrap();
    let stays = format!("{} cannot be removed: a process is still in it", group.display());
    for _ in 0..2 {
        let Remains { removed, staying } = remove(&host);
        assert!(staying.len() == 1 && staying[0].starts_with(&stays), "{staying:?}");
        assert!(removed.iter().all(|removed| removed.processes.is_empty() && removed.cgroups == 0));
    }
    assert!(!left.exists() && host.runtime.join(format!("run-{run}")).exists());
    // Its processes are gone.
    fs::remove_file(group.join("cgroup.procs")).unwrap();
    assert_eq!(remove(&host).staying, [""; 0]);
    assert!(!group.exists() && !host.runtime.join(format!("run-{run}")).exists());
}

/// Returns the only note that cannot be read, and why, where nothing is removed.
fn unread(host: &Host) -> String {
    let Remains { removed, staying } = remove(host);
    let [text] = &staying[..] else { panic!("{staying:?}") };
    assert_eq!(removed, []);
    let (note, rest) =
        text.strip_prefix("the note ").unwrap().split_once(" cannot be read ").unwrap();
    format!("{note} {}", rest.split_once(", so what its run left cannot be found").unwrap().0)
}

/// Without its note nothing shows what a run made.
#[test]
fn a_note_that_names_nothing_is_kept_and_named_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().canonicalize().unwrap();
    let host = host(&temporary, "none");
    let run = dead();
    let left = folder_of(&run, &host, None);
    let note = host.runtime.join(format!("run-{run}"));
    let whole = fs::read(&note).unwrap();
    for (text, why) in [
        (&b"\xff\xfe"[..], "stream did not contain valid UTF-8"),
        (b"", "it names no folder"),
        (b"nonsense\n", "it names no folder"),
    ] {
        fs::write(&note, text).unwrap();
        for _ in 0..2 {
            assert_eq!(unread(&host), format!("{} ({why})", note.display()));
        }
        assert!(left.exists());
    }
    fs::write(&note, whole).unwrap();
    assert_eq!(remove(&host).staying, [""; 0]);
    assert!(!left.exists() && !note.exists());
}

/// A list of processes to kill is believed only where nobody else can write one.
#[test]
fn what_others_prepared_is_neither_believed_nor_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().canonicalize().unwrap();
    let host = host(&temporary, "none");
    let run = dead();
    let note = host.runtime.join(format!("run-{run}"));
    let mut victim = process::stranger(Command::new("sleep").arg("60"));
    folder_of(&run, &host, Some(victim.id()));
    let text = fs::read_to_string(&note).unwrap();

    // A note that others could have written.
    fs::set_permissions(&note, PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(unread(&host), format!("{} (others may change it)", note.display()));
    // A link to one.
    let elsewhere = temporary.join("elsewhere");
    fs::rename(&note, &elsewhere).unwrap();
    fs::set_permissions(&elsewhere, PermissionsExt::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &note).unwrap();
    assert_eq!(unread(&host), format!("{} (a link, not a regular file)", note.display()));
    // A FIFO, for which an open would wait.
    fs::remove_file(&note).unwrap();
    nix::unistd::mkfifo(&note, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(unread(&host), format!("{} (not a regular file)", note.display()));
    fs::remove_file(&note).unwrap();
    // A note that has no name yet is held to the same rules.
    let new = host.runtime.join(format!("new-{run}"));
    fs::write(&new, "").unwrap();
    fs::set_permissions(&new, PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(unread(&host), format!("{} (others may change it)", new.display()));
    assert!(new.exists());
    fs::set_permissions(&new, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(remove(&host), Remains::default());
    assert!(!new.exists());
    // A runtime folder that others can write to.
    fs::write(&note, &text).unwrap();
    fs::set_permissions(&note, PermissionsExt::from_mode(0o600)).unwrap();
    fs::set_permissions(&host.runtime, PermissionsExt::from_mode(0o777)).unwrap();
    assert_eq!(remove(&host), Remains::default());
    assert!(victim.try_wait().unwrap().is_none());
    // The folder in a note is removed only if a run made it.
    fs::set_permissions(&host.runtime, PermissionsExt::from_mode(0o700)).unwrap();
    let precious = temporary.join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(&note, format!("folder {}\n", precious.display())).unwrap();
    let Remains { removed, staying } = remove(&host);
    assert_eq!(removed, []);
    let named = format!("{} is not removed: it is not a folder of a run", precious.display());
    assert!(staying[0].starts_with(&named), "{staying:?}");
    assert!(precious.exists() && note.exists());
    victim.kill().unwrap();
    victim.wait().unwrap();
}
