use super::*;

#[test]
fn a_machine_is_read_from_its_files() {
    let root = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("proc/sys/kernel/hostname", "worker-1\n");
    file("proc/sys/kernel/osrelease", "6.1.0\n");
    file("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian 12\"\n");
    file(
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu hypervisor\nprocessor\t: 1\n",
    );
    file("proc/meminfo", "MemTotal:       1024 kB\n");
    file("proc/self/limits", "Max open files            1024                 20000    files\n");
    for cpu in ["cpu0", "cpu1"] {
        let path = format!("sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor");
        file(&path, "performance\n");
    }

    let found = Node::read(root.path());
    assert_eq!(found.name.as_deref(), Some("worker-1"));
    assert_eq!(found.kernel.as_deref(), Some("6.1.0"));
    assert_eq!(found.distribution.as_deref(), Some("Debian 12"));
    assert_eq!(found.cpu_model.as_deref(), Some("A CPU"));
    assert_eq!((found.cpus, found.hypervisor), (2, true));
    assert_eq!(found.memory_bytes, Some(1 << 20));
    assert_eq!(found.open_files_limit, Some(20_000));
    assert_eq!(found.governor.as_deref(), Some("performance"));
}

#[test]
fn unknown_properties_of_a_machine_are_absent() {
    let root = tempfile::tempdir().unwrap();
    let found = Node::read(root.path());
    assert_eq!((found.kernel, found.governor, found.memory_bytes), (None, None, None));
}
