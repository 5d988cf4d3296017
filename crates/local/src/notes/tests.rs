use std::process::{Child, Command, Stdio};

use super::*;

/// Starts a shell that leads a group and has a child without our environment.
fn group() -> (Child, i32) {
    let mut command = Command::new("sh");
    command.args(["-c", "env -i sleep 60 & echo $!; wait"]);
    let mut leader = crate::process::stranger(command.stdout(Stdio::piped()));
    let mut line = String::new();
    let stdout = leader.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    (leader, line.trim().parse().unwrap())
}

/// Returns the leader that a dead run noted, with the members of its group if those were noted, too.
fn noted(pid: u32, members: bool) -> Leader {
    let folder = tempfile::tempdir().unwrap();
    let mut note = Note::begin(folder.path(), &RunId::next(), Path::new("/none")).unwrap();
    note.add(pid);
    if members {
        note.add_members();
        // Each once.
        note.add_members();
        assert_eq!(note.members.len(), 1);
    }
    drop(note);
    left(folder.path()).left.remove(0).leaders.remove(0)
}

fn pids(leader: &Leader) -> Vec<i32> {
    let mut pids: Vec<i32> = leader.processes().iter().map(Member::pid).collect();
    pids.sort_unstable();
    pids
}

fn kill(pid: i32) {
    crate::process::kill_if(pid, || true);
    while host::start_of(pid as u32).is_some() {
        std::thread::yield_now();
    }
}

#[test]
fn the_children_of_a_dead_leader_are_found_by_its_group() {
    let (mut leader, child) = group();
    let known = noted(leader.id(), true);
    assert_eq!(pids(&known), [leader.id() as i32, child]);
    leader.kill().unwrap();
    leader.wait().unwrap();
    assert_eq!(pids(&known), [child]);
    kill(child);
    assert_eq!(pids(&known), [0; 0]);
}

/// So is a stranger's group that got the number of ours, and whose leader has ended, too.
#[test]
fn a_group_in_which_nobody_was_seen_is_left_alone() {
    let (mut leader, child) = group();
    let known = noted(leader.id(), false);
    assert_eq!(pids(&known), [leader.id() as i32, child], "its leader lives");
    leader.kill().unwrap();
    leader.wait().unwrap();
    assert_eq!(pids(&known), [0; 0]);
    kill(child);
}

/// The process that has the number of an ended leader now may lead somebody else's group.
#[test]
fn what_is_in_the_group_of_an_ended_leader_is_not_noted() {
    let (mut leader, child) = group();
    let folder = tempfile::tempdir().unwrap();
    let mut note = Note::begin(folder.path(), &RunId::next(), Path::new("/none")).unwrap();
    note.add(leader.id());
    leader.kill().unwrap();
    leader.wait().unwrap();
    note.add_members();
    assert!(note.members.is_empty());
    kill(child);
}

#[test]
fn a_group_of_another_boot_or_with_a_reused_number_is_left_alone() {
    let (mut leader, child) = group();
    let known = noted(leader.id(), true);
    let earlier = known.known.iter().map(|known| Member { start: known.start - 1, ..*known });
    let reused = Leader { known: earlier.collect(), ..known.clone() };
    assert_eq!(pids(&reused), [0; 0]);
    let of_another_boot = Leader { place: "another".to_owned(), ..known.clone() };
    assert_eq!(pids(&of_another_boot), [0; 0]);
    assert_eq!(pids(&known).len(), 2);
    kill(child);
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
