use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::*;

/// Starts a shell that leads a group and has a child without our environment.
fn group() -> (Child, i32) {
    let mut command = Command::new("sh");
    command.args(["-c", "env -i sleep 60 & echo $!; wait"]).process_group(0);
    let mut leader = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = leader.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    (leader, line.trim().parse().unwrap())
}

/// Returns the leader that a dead run noted.
fn noted(pid: u32) -> Leader {
    let folder = tempfile::tempdir().unwrap();
    let mut note = Note::begin(folder.path(), &RunId::next(), Path::new("/none")).unwrap();
    note.add(pid);
    drop(note);
    left(folder.path()).left.remove(0).leaders.remove(0)
}

#[test]
fn the_children_of_a_dead_leader_are_found_by_its_group() {
    let (mut leader, child) = group();
    let known = noted(leader.id());
    let mut both = known.processes();
    both.sort_unstable();
    assert_eq!(both, [leader.id() as i32, child]);
    leader.kill().unwrap();
    leader.wait().unwrap();
    assert_eq!(known.processes(), [child]);
    crate::process::kill_if(child, || known.leads(child));
    while !known.processes().is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn a_group_of_another_boot_or_with_a_reused_number_is_left_alone() {
    let (mut leader, child) = group();
    let known = noted(leader.id());
    let reused = Leader { start: known.start - 1, ..known.clone() };
    assert!(reused.processes().is_empty());
    let of_another_boot = Leader { boot: "another".to_owned(), ..known.clone() };
    assert!(of_another_boot.processes().is_empty());
    crate::process::kill_if(child, || known.leads(child));
    leader.kill().unwrap();
    leader.wait().unwrap();
}

#[test]
fn the_note_of_a_living_run_is_not_taken_and_that_of_a_dead_one_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunId::next();
    let note = Note::begin(folder.path(), &run, Path::new("/a b")).unwrap();
    assert!(left(folder.path()).left.is_empty());
    drop(note);
    let mut found = left(folder.path()).left;
    assert_eq!((found.len(), found[0].folder.as_deref()), (1, Some(Path::new("/a b"))));
    assert!(left(folder.path()).left.is_empty(), "another one removes it");
    found.remove(0).end();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Here a folder has the name of the note; on a full disk the same happens when it is written.
#[test]
fn a_note_that_cannot_be_written_leaves_no_file_and_says_why_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunId::next();
    let in_the_way = folder.path().join(format!("{NOTE}{run}"));
    fs::create_dir(&in_the_way).unwrap();
    let begin = || Note::begin(folder.path(), &run, Path::new("/none")).map(drop);
    let first = format!("{:#}", begin().unwrap_err());
    assert!(first.contains("Is a directory"), "{first}");
    assert_eq!(format!("{:#}", begin().unwrap_err()), first);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::remove_dir(&in_the_way).unwrap();
    begin().unwrap();
}

#[test]
fn a_new_note_is_left_only_by_a_run_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let new = |run: &str| {
        let path = folder.path().join(format!("{NEW}{run}"));
        let mut file = OpenOptions::new();
        file.write(true).create_new(true).mode(0o600).open(&path).unwrap();
        path
    };
    let (of_living, of_dead) =
        (new(&RunId::next().to_string()), new(&format!("{}-12", child.id())));
    left(folder.path()).left.into_iter().for_each(Left::end);
    assert_eq!((of_living.exists(), of_dead.exists()), (true, false));
}
