use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::doctor::read::Reader;

/// A machine with everything to change.
const FILES: [(&str, &str); 18] = [
    ("proc/irq/24/smp_affinity_list", "0-3\n"),
    ("proc/irq/25/smp_affinity_list", "3\n"),
    ("proc/swaps", "Filename\tType\n/dev/sda2 partition\n"),
    ("proc/sys/kernel/nmi_watchdog", "1\n"),
    ("proc/sys/kernel/numa_balancing", "1\n"),
    ("proc/sys/kernel/random/boot_id", "b-1\n"),
    ("proc/sys/net/core/somaxconn", "128\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("run/other", "of somebody else"),
    ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "balance_performance\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/node/node0/cpulist", "0-1\n"),
    ("sys/devices/system/node/node1/cpulist", "2-3\n"),
    ("sys/kernel/mm/ksm/run", "1\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
];

fn machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Returns all files, with the values that the kernel would show; a chosen word alone is a choice.
fn content(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let text = fs::read_to_string(&path).unwrap();
                    found.insert(path, chosen(text.trim()).to_owned());
                }
            }
        }
    }
    found
}

fn wanted() -> Demands {
    let roles = [("sut", vec![0, 1]), ("load", vec![2])];
    let roles = roles.map(|(role, cpus)| (role.to_owned(), Cpus(cpus)));
    let mut wanted = Demands { roles: roles.into(), ..Demands::default() };
    wanted.terms.required.insert("local.turbo".to_owned());
    wanted
}

fn changes_of(root: &Path) -> Vec<Setting> {
    changes(&Reader::new(root).settings(crate::host::now), &wanted())
}

/// A disk whose user is killed before one of its steps. A write has two: it empties the file first.
struct Killed {
    steps_left: usize,
}

impl Killed {
    /// Nothing runs after a kill, so the caller is unwound.
    fn step(&mut self) {
        match self.steps_left.checked_sub(1) {
            Some(left) => self.steps_left = left,
            None => std::panic::resume_unwind(Box::new("killed")),
        }
    }

    fn put(&mut self, path: &Path, text: &str) -> io::Result<()> {
        self.step();
        fs::write(path, "")?;
        self.step();
        fs::write(path, text)
    }
}

impl Disk for Killed {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        self.put(path, text)
    }

    fn store(&mut self, path: &Path, text: &str) -> io::Result<()> {
        self.put(path, text)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.step();
        fs::rename(from, to)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.step();
        fs::remove_file(path)
    }
}

/// Returns true if the work came to its end before the kill.
fn until_killed(steps: usize, work: impl FnOnce(&mut Killed)) -> bool {
    let mut disk = Killed { steps_left: steps };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&mut disk))).is_ok()
}

#[test]
fn everything_that_disturbs_is_changed_and_put_back() {
    let folder = machine();
    let root = folder.path();
    let found = content(root);
    let all = changes_of(root);
    let listed: Vec<String> =
        all.iter().map(|one| format!("{}: {} → {}", one.path, one.before, one.after)).collect();
    expect_test::expect![[r#"
        sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference: balance_performance → performance
        sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: powersave → performance
        sys/devices/system/cpu/intel_pstate/no_turbo: 0 → 1
        sys/kernel/mm/transparent_hugepage/enabled: always → madvise
        sys/kernel/mm/ksm/run: 1 → 0
        proc/sys/kernel/numa_balancing: 1 → 0
        proc/sys/kernel/nmi_watchdog: 1 → 0
        proc/sys/vm/swappiness: 60 → 1
        proc/sys/net/core/somaxconn: 128 → 4096
        proc/irq/24/smp_affinity_list: 0-3 → 3"#]]
    .assert_eq(&listed.join("\n"));
    let Applied { done, refused } = apply(Place::fixed(root), &all, &mut Real).unwrap();
    assert_eq!((done, refused), (all, Vec::new()));
    assert_eq!(changes_of(root), [], "nothing is left to change");
    assert_eq!(restore(Place::fixed(root), &mut Real).unwrap().len(), 10);
    assert_eq!(content(root), found);
    assert_eq!(
        restore(Place::fixed(root), &mut Real).unwrap(),
        [],
        "a second time there is nothing to do"
    );
}

#[test]
fn a_kill_before_any_step_of_a_fix_is_put_right_by_a_restore() {
    let mut steps = 0;
    loop {
        let folder = machine();
        let root = folder.path();
        let found = content(root);
        let all = changes_of(root);
        let ended =
            until_killed(steps, |disk| drop(apply(Place::fixed(root), &all, disk).unwrap()));
        restore(Place::fixed(root), &mut Real).unwrap();
        assert_eq!(content(root), found, "killed before step {steps}");
        if ended {
            break;
        }
        steps += 1;
    }
    assert_eq!(steps, 10 * 5, "five steps for each of ten settings");
}

#[test]
fn a_kill_before_any_step_of_a_restore_is_put_right_by_the_next() {
    for steps in 0..=20 {
        let folder = machine();
        let root = folder.path();
        let found = content(root);
        apply(Place::fixed(root), &changes_of(root), &mut Real).unwrap();
        until_killed(steps, |disk| drop(restore(Place::fixed(root), disk).unwrap()));
        restore(Place::fixed(root), &mut Real).unwrap();
        assert_eq!(content(root), found, "killed before step {steps}");
    }
}

#[test]
fn a_fix_after_a_killed_one_keeps_the_first_values() {
    let folder = machine();
    let root = folder.path();
    let found = content(root);
    let all = changes_of(root);
    assert!(!until_killed(23, |disk| drop(apply(Place::fixed(root), &all, disk).unwrap())));
    apply(Place::fixed(root), &changes_of(root), &mut Real).unwrap();
    restore(Place::fixed(root), &mut Real).unwrap();
    assert_eq!(content(root), found);
}

#[test]
fn a_state_file_of_an_earlier_boot_is_not_put_back() {
    let folder = machine();
    let root = folder.path();
    apply(Place::fixed(root), &changes_of(root), &mut Real).unwrap();
    fs::write(root.join("proc/sys/kernel/random/boot_id"), "b-2\n").unwrap();
    let found = content(root);
    assert_eq!(restore(Place::fixed(root), &mut Real).unwrap(), []);
    assert!(!Place::fixed(root).state_file().exists());
    assert_eq!(content(root).len() + 1, found.len(), "only the state file is gone");
}

#[test]
fn a_refused_setting_is_reported_and_the_others_are_changed() {
    struct Refusing;
    impl Disk for Refusing {
        fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
            match path.ends_with("smp_affinity_list") {
                true => Err(io::ErrorKind::InvalidInput.into()),
                false => Real.write(path, text),
            }
        }
        fn store(&mut self, path: &Path, text: &str) -> io::Result<()> {
            Real.store(path, text)
        }
        fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
            Real.rename(from, to)
        }
        fn remove(&mut self, path: &Path) -> io::Result<()> {
            Real.remove(path)
        }
    }
    let folder = machine();
    let root = folder.path();
    let found = content(root);
    let Applied { done, refused } =
        apply(Place::fixed(root), &changes_of(root), &mut Refusing).unwrap();
    assert_eq!((done.len(), refused.len()), (9, 1));
    // What was refused stands as it was: nothing is written to it.
    restore(Place::fixed(root), &mut Refusing).unwrap();
    assert_eq!(content(root), found);
}

/// Root does what it says, so nobody else can have written it.
#[test]
fn a_state_file_that_others_could_have_made_is_neither_believed_nor_waited_for() {
    let folder = machine();
    let root = folder.path();
    let all = changes_of(root);
    apply(Place::fixed(root), &all, &mut Real).unwrap();
    let changed = content(root);
    let (place, state) = (Place::fixed(root).folder(), Place::fixed(root).state_file());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&state)), (0o700, 0o600));
    let set =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let text = fs::read_to_string(&state).unwrap();
    let refused = || {
        let restored = restore(Place::fixed(root), &mut Real).unwrap_err();
        let applied = apply(Place::fixed(root), &all, &mut Real).unwrap_err();
        assert_eq!(format!("{restored:#}"), format!("{applied:#}"));
        format!("{restored:#}").replace(&state.display().to_string(), "FILE")
    };

    set(&state, 0o666);
    expect_test::expect![[r#"FILE cannot be trusted; run it as root, or put its values back by hand and remove it: others may change it"#]]
        .assert_eq(&refused());
    set(&state, 0o600);
    for open in [place.clone(), root.join(PLACE)] {
        let usual = mode(&open);
        set(&open, 0o777);
        assert!(refused().contains(": others may change it"));
        set(&open, usual);
    }
    let elsewhere = root.join("elsewhere");
    fs::rename(&state, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &state).unwrap();
    assert!(refused().ends_with(": a link, not a regular file"));
    fs::remove_file(&state).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&state).status().unwrap();
    assert!(made.success() && refused().ends_with(": not a regular file"));
    fs::remove_file(&state).unwrap();

    // One of ours is damaged.
    let irq = "proc/irq/24/smp_affinity_list";
    for path in
        ["../x", "/etc/x", "etc/x", "sys/../etc/x", "proc/self/root/etc/x", "proc/1/mem", "./sys/x"]
    {
        assert!(text.contains(irq));
        fs::write(&state, text.replace(irq, path)).unwrap();
        set(&state, 0o600);
        let why = refused();
        assert!(
            why.contains(&format!("FILE cannot be read; put its values back by hand: `{path}`")),
            "{why}"
        );
    }
    fs::rename(&elsewhere, &state).unwrap();
    assert_eq!(content(root), changed, "nothing was written meanwhile");
    assert_eq!(restore(Place::fixed(root), &mut Real).unwrap().len(), all.len());
}

#[test]
fn what_waits_under_the_name_of_the_state_file_is_not_written_through() {
    let folder = machine();
    let root = folder.path();
    make_folder(Place::fixed(root)).unwrap();
    let precious = root.join("precious");
    fs::write(&precious, "kept").unwrap();
    std::os::unix::fs::symlink(&precious, Place::fixed(root).part()).unwrap();
    apply(Place::fixed(root), &changes_of(root), &mut Real).unwrap();
    restore(Place::fixed(root), &mut Real).unwrap();
    assert_eq!(fs::read_to_string(precious).unwrap(), "kept");
}
