use std::fs;

use expect_test::expect;

use super::*;

/// A machine of four CPUs, with an interface of two interrupts.
const FILES: [(&str, &str); 7] = [
    ("proc/interrupts", "     CPU0\n"),
    ("proc/irq/40/smp_affinity_list", "0-3"),
    ("proc/irq/41/smp_affinity_list", "1"),
    ("proc/net/route", "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n"),
    ("proc/sys/kernel/random/boot_id", "b-1\n"),
    ("sys/class/net/eth0/device/msi_irqs/40", "msix\n"),
    ("sys/class/net/eth0/device/msi_irqs/41", "msix\n"),
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

fn pinned(root: &Path, wanted: u16) -> (Pinning, Option<Cpus>) {
    pin_at(root, wanted, &["10.0.0.30".parse().unwrap()], &[0, 1, 2, 3]).unwrap()
}

fn affinities(root: &Path) -> [String; 2] {
    [40, 41].map(|irq| {
        fs::read_to_string(root.join(format!("proc/irq/{irq}/smp_affinity_list"))).unwrap()
    })
}

#[test]
fn interrupts_are_served_by_the_highest_cpus_until_the_end() {
    let folder = machine();
    let root = folder.path();
    let (pinning, left) = pinned(root, 2);
    assert_eq!(left, Some(Cpus(vec![0, 1])));
    assert_eq!(affinities(root), ["2", "3"]);
    expect!["CPU 2-3 serves 2 interrupts of eth0, and no threads"].assert_eq(&pinning.told());
    expect![[r#"{"wanted":2,"pinned":true,"cpus":"2-3","interfaces":["eth0"],"interrupts":[40,41],"refused":[]}"#]]
        .assert_eq(&pinning.document().to_string());
    drop(pinning);
    assert_eq!(affinities(root), ["0-3", "1"]);
    assert!(!root.join("run/benchwright").exists());
}

#[test]
fn only_one_process_pins_at_a_time() {
    let folder = machine();
    let root = folder.path();
    let (first, _) = pinned(root, 1);
    let (second, left) = pinned(root, 2);
    assert_eq!(left, None);
    expect![
        "warning: --pin-irq 2 has no effect: another process has pinned interrupts; end it first"
    ]
    .assert_eq(&second.told());
    drop(second);
    assert_eq!(restore(root).unwrap(), [], "they belong to the first one");
    assert_eq!(affinities(root), ["3", "3"]);
    drop(first);
    assert_eq!(affinities(root), ["0-3", "1"]);
}

#[test]
fn what_a_killed_process_has_pinned_is_put_back_by_the_next_one() {
    let folder = machine();
    let root = folder.path();
    let killed = |wanted| {
        let (mut pinning, _) = pinned(root, wanted);
        // Its lock is free, and nothing runs at its end.
        pinning.lock = None;
    };
    killed(1);
    assert_eq!(affinities(root), ["3", "3"]);
    drop(pinned(root, 2));
    assert_eq!(affinities(root), ["0-3", "1"]);
    killed(2);
    assert_eq!(restore(root).unwrap().len(), 2);
    assert_eq!(affinities(root), ["0-3", "1"]);
}

#[test]
fn on_loopback_nothing_is_changed_and_too_many_cpus_are_refused() {
    let folder = machine();
    let root = folder.path();
    let loopback = ["127.0.0.1".parse().unwrap()];
    let (pinning, left) = pin_at(root, 8, &loopback, &[0]).unwrap();
    assert_eq!(left, None);
    expect!["warning: --pin-irq 8 has no effect: loopback has no interrupts"]
        .assert_eq(&pinning.told());
    expect![[r#"{"wanted":8,"pinned":false,"why":"loopback has no interrupts"}"#]]
        .assert_eq(&pinning.document().to_string());
    let remote = ["10.0.0.30".parse().unwrap()];
    let refusal = |wanted, allowed: &[u32]| {
        pin_at(root, wanted, &remote, allowed).unwrap_err().error.to_string()
    };
    expect![
        "--pin-irq 8 leaves no CPU for threads: this process may use 4; write at most --pin-irq 3"
    ]
    .assert_eq(&refusal(8, &[0, 1, 2, 3]));
    expect!["--pin-irq 1 leaves no CPU for threads: this process may use 1; leave it out"]
        .assert_eq(&refusal(1, &[3]));
    assert_eq!(affinities(root), ["0-3", "1"]);
}

#[test]
fn an_interrupt_that_the_kernel_keeps_is_told() {
    let folder = machine();
    let root = folder.path();
    // Nobody can write a folder, not even root.
    let kept = root.join("proc/irq/41/smp_affinity_list");
    fs::remove_file(&kept).unwrap();
    fs::create_dir(&kept).unwrap();
    let (pinning, _) = pinned(root, 1);
    assert!(pinning.told().contains("CPU 3 serves 1 interrupts of eth0"), "{}", pinning.told());
    assert!(
        pinning.told().contains("not changed: /proc/irq/41/smp_affinity_list: "),
        "{}",
        pinning.told()
    );
}
