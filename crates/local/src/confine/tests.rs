use expect_test::{Expect, expect};

use super::*;

/// A tree of files in place of the kernel's.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = tree.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    /// Every file with its text.
    fn list(&self) -> String {
        fn walk(folder: &Path, lines: &mut Vec<(PathBuf, String)>) {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => walk(&entry.path(), lines),
                    false => lines.push((entry.path(), fs::read_to_string(entry.path()).unwrap())),
                }
            }
        }
        let mut lines = Vec::new();
        walk(self.0.path(), &mut lines);
        lines.sort();
        let name = |path: &Path| path.strip_prefix(self.0.path()).unwrap().display().to_string();
        lines.iter().map(|(path, text)| format!("{} = {text}\n", name(path))).collect()
    }
}

fn check(tree: &Tree, own: &str, expected: Expect) {
    let confinement = Confinement::find(tree.0.path(), own, "benchwright-7-9");
    let cpus = Cpus(vec![0, 2, 3]);
    let limits = Limits { cpu: Some(0.3), memory: Some(64 << 20) };
    let group = confinement.group("hotel", Some(&cpus), limits);
    let group = group.map_or_else(|e| e.to_string(), |g| format!("{} folders", g.folders.len()));
    expected.assert_eq(&format!("{confinement}\n{group}\n{}", tree.list()));
}

#[test]
fn version_2_makes_a_group_for_each_component() {
    let tree = Tree::new(&[
        ("cgroup.controllers", "cpuset cpu io memory"),
        ("cgroup.subtree_control", "memory"),
    ]);
    check(
        &tree,
        "0::/\n",
        expect![[r#"
            cgroup v2 (cpu, cpuset), quota period 10 ms
            1 folders
            benchwright-7-9/cgroup.subtree_control = +cpu +cpuset +memory
            benchwright-7-9/hotel/cpu.max = 3000 10000
            benchwright-7-9/hotel/cpu.weight = 30
            benchwright-7-9/hotel/cpuset.cpus = 0,2-3
            benchwright-7-9/hotel/memory.max = 67108864
            cgroup.controllers = cpuset cpu io memory
            cgroup.subtree_control = +cpu +cpuset
        "#]],
    );
}

/// The controllers that systemd gives to the sessions of users.
#[test]
fn version_2_without_cpuset_keeps_limits_and_leaves_pinning_to_affinity() {
    let tree = Tree::new(&[
        ("cgroup.controllers", "cpu memory pids"),
        ("cgroup.subtree_control", "cpu memory pids"),
    ]);
    check(
        &tree,
        "0::/\n",
        expect![[r#"
            cgroup v2 (cpu) and affinity, quota period 10 ms
            1 folders
            benchwright-7-9/cgroup.subtree_control = +cpu +memory
            benchwright-7-9/hotel/cpu.max = 3000 10000
            benchwright-7-9/hotel/cpu.weight = 30
            benchwright-7-9/hotel/memory.max = 67108864
            cgroup.controllers = cpu memory pids
            cgroup.subtree_control = cpu memory pids
        "#]],
    );
    let confinement = Confinement::find(tree.0.path(), "0::/\n", "benchwright-7-9");
    assert!(!confinement.group("hotel", None, Limits::default()).unwrap().pins);
}

/// A group that cannot enable controllers (here: has none) is skipped for the one above it.
#[test]
fn version_2_takes_the_nearest_group_that_is_delegated() {
    let tree = Tree::new(&[
        ("cgroup.controllers", "cpuset cpu"),
        ("cgroup.subtree_control", "cpuset cpu"),
        ("user/cgroup.controllers", "cpuset cpu"),
        ("user/cgroup.subtree_control", "cpuset cpu"),
        ("user/shell/cgroup.controllers", ""),
    ]);
    check(
        &tree,
        "0::/user/shell\n",
        expect![[r#"
            cgroup v2 (cpu, cpuset), quota period 10 ms
            1 folders
            cgroup.controllers = cpuset cpu
            cgroup.subtree_control = cpuset cpu
            user/benchwright-7-9/cgroup.subtree_control = +cpu +cpuset
            user/benchwright-7-9/hotel/cpu.max = 3000 10000
            user/benchwright-7-9/hotel/cpu.weight = 30
            user/benchwright-7-9/hotel/cpuset.cpus = 0,2-3
            user/cgroup.controllers = cpuset cpu
            user/cgroup.subtree_control = cpuset cpu
            user/shell/cgroup.controllers = 
        "#]],
    );
}

/// A group above ours would let a run use more than our group may.
#[test]
fn version_2_does_not_climb_out_of_a_limit() {
    for (file, limit) in
        [("cpu.max", "50000 100000"), ("memory.max", "1000000"), ("cpuset.cpus", "0-1")]
    {
        let file = format!("user/shell/{file}");
        let tree = Tree::new(&[
            ("cgroup.controllers", "cpuset cpu"),
            ("user/cgroup.controllers", "cpuset cpu"),
            ("user/shell/cgroup.controllers", ""),
            (&file, limit),
            ("user/shell/pids.max", "4915"),
        ]);
        let found = Confinement::find(tree.0.path(), "0::/user/shell\n", "benchwright-7-9");
        let Confinement::Affinity { why } = found else { panic!("{found}") };
        let expected =
            format!("user/shell would not be bound by its limit ({} {limit})", &file[11..]);
        assert!(why.contains(&expected), "{why}");
        assert!(!tree.list().contains("subtree_control"), "{}", tree.list());
    }
}

#[test]
fn version_2_climbs_where_nothing_is_limited() {
    let tree = Tree::new(&[
        ("cgroup.controllers", "cpu"),
        ("user/cgroup.controllers", ""),
        ("user/cpu.max", "max 100000"),
        ("user/memory.max", "max"),
        ("user/cpuset.cpus", "\n"),
        ("user/pids.max", "4915"),
    ]);
    let found = Confinement::find(tree.0.path(), "0::/user\n", "benchwright-7-9");
    assert_eq!(found.to_string(), "cgroup v2 (cpu) and affinity, quota period 10 ms");
}

/// Removes the files in a folder: the kernel removes its own with the folder, but these are real.
fn remove_files(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => remove_files(&entry.path()),
            false => fs::remove_file(entry.path()).unwrap(),
        }
    }
}

#[test]
fn version_2_disables_what_was_enabled_for_the_run_alone() {
    for (before, after) in [("memory", "-cpu -cpuset"), ("cpu cpuset memory", "cpu cpuset memory")]
    {
        let tree = Tree::new(&[
            ("cgroup.controllers", "cpuset cpu io memory"),
            ("cgroup.subtree_control", before),
        ]);
        let run = tree.0.path().join("benchwright-7-9");
        let confinement = Confinement::find(tree.0.path(), "0::/\n", "benchwright-7-9");
        confinement.group("hotel", None, Limits::default()).unwrap();
        remove_files(&run);
        confinement.remove();
        let left = tree.list();
        assert_eq!(left.lines().last(), Some(&*format!("cgroup.subtree_control = {after}")));
        assert!(!run.exists());
    }
}

/// The next run knows what a killed runner had enabled.
#[test]
fn version_2_disables_it_after_a_crash() {
    let tree = Tree::new(&[("cgroup.controllers", "cpu"), ("cgroup.subtree_control", "")]);
    let run = tree.0.path().join("benchwright-7-9");
    drop(Confinement::find(tree.0.path(), "0::/\n", "benchwright-7-9"));
    remove_files(&run);
    remove_run(&run);
    assert!(tree.list().ends_with("cgroup.subtree_control = -cpu\n"), "{}", tree.list());
}

#[test]
fn version_1_makes_a_group_in_each_of_its_hierarchies() {
    let tree = Tree::new(&[
        ("cpu/cgroup.procs", ""),
        ("cpuacct/cgroup.procs", ""),
        ("cpuset/cgroup.procs", ""),
        ("cpuset/cpuset.cpus", "0-3\n"),
        ("cpuset/cpuset.mems", "0\n"),
        ("memory/cgroup.procs", ""),
        ("cpu/shell/cgroup.procs", ""),
        ("unified/cgroup.controllers", ""),
    ]);
    check(
        &tree,
        "3:cpuset:/\n1:cpu:/shell\n0::/\n",
        expect![[r#"
            cgroup v1 (cpu, cpuacct, cpuset), quota period 10 ms
            4 folders
            cpu/cgroup.procs = 
            cpu/shell/benchwright-7-9/hotel/cpu.cfs_period_us = 10000
            cpu/shell/benchwright-7-9/hotel/cpu.cfs_quota_us = 3000
            cpu/shell/benchwright-7-9/hotel/cpu.shares = 307
            cpu/shell/cgroup.procs = 
            cpuacct/cgroup.procs = 
            cpuset/benchwright-7-9/cpuset.cpus = 0-3
            cpuset/benchwright-7-9/cpuset.mems = 0
            cpuset/benchwright-7-9/hotel/cpuset.cpus = 0,2-3
            cpuset/benchwright-7-9/hotel/cpuset.mems = 0
            cpuset/cgroup.procs = 
            cpuset/cpuset.cpus = 0-3

            cpuset/cpuset.mems = 0

            memory/benchwright-7-9/hotel/memory.limit_in_bytes = 67108864
            memory/cgroup.procs = 
            unified/cgroup.controllers = 
        "#]],
    );
}

/// A half of it would keep the run's own group from being removed.
#[test]
fn a_group_that_cannot_be_made_leaves_nothing_and_one_that_is_left_is_known() {
    let tree = Tree::new(&[
        ("cpu/cgroup.procs", ""),
        ("cpuacct/cgroup.procs", ""),
        ("cpuset/cgroup.procs", ""),
        ("cpuset/cpuset.cpus", "0-3\n"),
        ("cpuset/cpuset.mems", "0\n"),
    ]);
    let confinement = Confinement::find(tree.0.path(), "", "benchwright-7-9");
    fs::remove_file(tree.0.path().join("cpuset/benchwright-7-9/cpuset.mems")).unwrap();
    confinement.group("hotel", None, Limits::default()).unwrap_err();
    for hierarchy in ["cpuacct", "cpuset"] {
        assert!(!tree.0.path().join(hierarchy).join("benchwright-7-9/hotel").exists());
    }
    // The kernel's own files do not keep a group from being removed; these do.
    assert!(confinement.is_whole() && !confinement.remove());
    assert!(!confinement.is_whole());
    remove_files(tree.0.path());
    assert!(confinement.remove());
}

#[test]
fn without_control_groups_affinity_is_used_and_reported() {
    check(
        &Tree::new(&[]),
        "",
        expect![[r#"
            affinity only: cgroup v2: the controller cpu is not available; cgroup v1: the controller cpu is not mounted
            0 folders
        "#]],
    );
}

#[test]
fn usage_is_read_in_nanoseconds() {
    let tree =
        Tree::new(&[("cpu.stat", "usage_usec 1500\nuser_usec 1\n"), ("cpuacct.usage", "77\n")]);
    let group = |usage| Group { folders: Vec::new(), usage, pins: false };
    let path = |name: &str| tree.0.path().join(name);
    assert_eq!(group(Usage::Stat(path("cpu.stat"))).usage_ns(0), Some(1_500_000));
    assert_eq!(group(Usage::Nanos(path("cpuacct.usage"))).usage_ns(0), Some(77));
    assert!(group(Usage::Process).usage_ns(std::process::id()).is_some());
}

#[test]
fn a_quota_has_a_short_period_and_is_never_below_a_millisecond() {
    assert_eq!(quota(0.3), (3_000, 10_000));
    assert_eq!(quota(2.0), (20_000, 10_000));
    assert_eq!(quota(0.05), (1_000, 20_000));
    assert_eq!(quota(0.01), (1_000, 100_000));
}

#[test]
fn a_weight_grows_with_the_limit_and_one_cpu_has_the_usual_one() {
    assert_eq!(
        [0.001, 0.3, 1.0, 500.0].map(|limit| weight(limit, WEIGHT)),
        ["2", "30", "100", "10000"]
    );
    assert_eq!(
        [0.001, 0.3, 1.0, 500.0].map(|limit| weight(limit, SHARES)),
        ["2", "307", "1024", "10000"]
    );
}

/// To the kernel 0 and negative numbers are groups of processes, ours among them.
#[test]
fn what_is_no_number_of_a_process_is_neither_listed_nor_killed() {
    let tree = Tree::new(&[
        ("run/cgroup.procs", "0\n-7\n12\nx\n"),
        ("run/inner/cgroup.procs", "0\n-1\n13\n"),
        ("hidden/cgroup.procs", "0\n0\n-1\n"),
    ]);
    assert_eq!(processes_in(&tree.0.path().join("run")), [12, 13]);
    assert_eq!(kill_all_in(&tree.0.path().join("hidden")), [0; 0]);
    for number in [0, -1, -7, i32::MIN] {
        kill_if(number, || unreachable!("{number} is a group"));
    }
}
