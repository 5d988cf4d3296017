use std::path::Path;

use expect_test::expect;
use measure::{Instant, Nanos};
use results::doctor::{Check, State, differences};

use super::look::{Disk, Missing};
use super::read::Reader;
use super::store::Store;
use super::*;
use crate::calm::Spin;
use crate::spec::Literal;

/// A good machine of four CPUs without hyper-threads, after a thousand seconds and at rest.
const CLEAN: [(&str, &str); 47] = [
    (
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Some CPU\nmicrocode\t: 0x1\nflags\t\t: fpu tsc\n",
    ),
    ("proc/diskstats", "   8       0 sda 1 0 8 1 1 0 8 1 0 2000 3 0 0 0 0 0 0\n"),
    (
        "proc/interrupts",
        "     CPU0  CPU1  CPU2  CPU3\n 24:  9 9 9 9  IO-APIC ttyS0\nLOC: 8 8 8 8 Local\n",
    ),
    ("proc/irq/40/smp_affinity_list", "0\n"),
    ("proc/irq/41/smp_affinity_list", "3\n"),
    ("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\n"),
    ("proc/net/netstat", "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 0 0\n"),
    ("proc/net/snmp", "Tcp: InSegs OutSegs RetransSegs\nTcp: 90000 90000 3\n"),
    ("proc/pressure/cpu", "some avg10=0.10 avg60=1.00 avg300=1.00 total=99\n"),
    ("proc/self/cgroup", "3:cpuset:/\n1:cpu:/\n0::/user.slice\n"),
    (
        "proc/self/limits",
        "Max open files            1024                 524288               files\n",
    ),
    (
        "proc/self/stat",
        "900 (benchwright) R 1 900 900 0 -1 0 0 0 0 0 9 9 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0\n",
    ),
    (
        "proc/812/stat",
        "812 (sshd) S 1 812 812 0 -1 0 0 0 0 0 40 40 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0\n",
    ),
    (
        "proc/softirqs",
        "     CPU0  CPU1  CPU2  CPU3\nNET_TX: 7 7 7 7\nNET_RX: 8 8 8 8\nRCU: 9 9 9 9\n",
    ),
    ("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n"),
    ("proc/sys/kernel/nmi_watchdog", "0\n"),
    ("proc/sys/kernel/numa_balancing", "0\n"),
    ("proc/sys/kernel/osrelease", "6.12.1\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/uptime", "1000.00 3900.00\n"),
    ("proc/vmstat", "pswpin 0\npswpout 0\n"),
    ("run/systemd/timesync/synchronized", ""),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("sys/devices/system/cpu/isolated", "\n"),
    ("sys/devices/system/cpu/nohz_full", "\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
    ("sys/devices/system/node/node0/cpulist", "0-3\n"),
    ("sys/class/net/eth0/device", ""),
    ("sys/class/net/eth0/device/msi_irqs/40", "msix\n"),
    ("sys/class/net/eth0/device/msi_irqs/41", "msix\n"),
    ("sys/class/net/eth0/operstate", "up\n"),
    ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n"),
    ("sys/class/net/eth0/queues/rx-1/rps_cpus", "0\n"),
    ("sys/class/net/lo/operstate", "unknown\n"),
    ("sys/class/power_supply/AC/type", "Mains\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
    ("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
    ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-3\n"),
    ("sys/kernel/mm/ksm/run", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/kernel/tracing/current_tracer", "nop\n"),
    ("dev/kmsg", "5,0,0,-;Linux version 6.12.1\n"),
];

/// The times of an idle CPU.
const IDLE: &str = "100 0 100 99700 50 0 50 0 0 0";

/// A fixture: a machine at two moments, one second apart.
struct Machine {
    before: Look,
    now: Look,
    wanted: Demands,
}

impl Machine {
    fn clean() -> Machine {
        let mut files = Files::default();
        for (path, text) in CLEAN {
            files.0.insert(path.to_owned(), Ok(text.to_owned()));
        }
        let mut stat = "cpu  400 0 400 398800 200 0 200 0 0 0\n".to_owned();
        for cpu in 0..4 {
            stat += &format!("cpu{cpu} {IDLE}\n");
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            for (file, text) in [
                ("cpufreq/energy_performance_preference", "performance"),
                ("cpufreq/scaling_cur_freq", "3000000"),
                ("cpufreq/scaling_governor", "performance"),
                ("thermal_throttle/core_throttle_count", "0"),
                ("topology/thread_siblings_list", &cpu.to_string()),
            ] {
                files.0.insert(format!("{folder}/{file}"), Ok(format!("{text}\n")));
            }
        }
        files.0.insert("proc/stat".to_owned(), Ok(stat));
        let spin = |cpu| Spin {
            cpu,
            begun: Instant(0),
            ended: Instant(1_000_000_000),
            lost: Nanos::ZERO,
            longest_gap: Nanos::from_micros(20),
            stolen: Nanos::ZERO,
        };
        let look = |at| Look {
            files: files.clone(),
            at: Instant(at),
            spins: (0..4).map(spin).collect(),
            clock_read: Some(Nanos(25)),
            binaries: BTreeMap::from([("benchwright".to_owned(), "a1b2c3".repeat(10))]),
            ..Look::default()
        };
        let roles = [("sut", "0,1"), ("load", "2")];
        let roles = roles.map(|(role, cpus)| (role.to_owned(), Cpus::read(cpus).unwrap()));
        let folder = PathBuf::from("/data");
        let disk = Disk { turns: Some(false), reads_per_s: Some(Ok(90_000.0)) };
        let store = Store {
            name: "kv".to_owned(),
            copies: 2,
            log: Some(4 << 30),
            buckets: None,
            folder: Some(folder.clone()),
            limit: None,
        };
        let wanted = Demands { roles: roles.into(), stores: vec![store], ..Demands::default() };
        let look = |at| Look { disks: [(folder.clone(), disk.clone())].into(), ..look(at) };
        Machine { before: look(1_000_000_000), now: look(2_000_000_000), wanted }
    }

    /// Changes a part of a file at the second moment.
    fn change(&mut self, path: &str, from: &str, to: &str) {
        let file = self.now.files.0.get_mut(path).unwrap_or_else(|| panic!("no {path}"));
        let text = file.as_mut().unwrap();
        assert!(text.contains(from), "{path} has no {from}: {text}");
        *text = text.replacen(from, to, 1);
    }

    fn set(&mut self, path: &str, text: &str) {
        self.now.files.0.insert(path.to_owned(), Ok(text.to_owned()));
    }

    /// Removes all files with this beginning.
    fn remove(&mut self, beginning: &str) {
        for look in [&mut self.before, &mut self.now] {
            look.files.0.retain(|path, _| !path.starts_with(beginning));
        }
    }

    fn disk(&mut self) -> &mut Disk {
        self.now.disks.values_mut().next().unwrap()
    }

    fn diagnose(&self, moment: Moment) -> Doctor {
        diagnose(Some(&self.before), &self.now, moment, &self.wanted)
    }
}

/// A check, a change that makes it bad with a part of the text, and the files without which it is
/// unknown.
struct Case {
    id: &'static str,
    bad: fn(&mut Machine),
    text: &'static str,
    missing: &'static [&'static str],
}

const fn case(
    id: &'static str,
    text: &'static str,
    missing: &'static [&'static str],
    bad: fn(&mut Machine),
) -> Case {
    Case { id, bad, text, missing }
}

const CPU0: &str = "sys/devices/system/cpu/cpu0";

/// Every check of the table, in its order; 15, 26 and 32 judge no file, and have tests of their own for
/// what is missing.
const CASES: [Case; 32] = [
    case("local.cpu", "differ in their microcode: 0x1, 0x2", &["proc/cpuinfo"], |machine| {
        machine.change("proc/cpuinfo", "flags", "microcode\t: 0x2\nflags");
    }),
    case("local.governor", "powersave on CPU 0 (role sut)", &[CPU0], |machine| {
        machine.set(&format!("{CPU0}/cpufreq/scaling_governor"), "powersave\n");
    }),
    case("local.turbo", "on: the frequency", &["sys/devices/system/cpu/intel_pstate"], |machine| {
        machine.set("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    }),
    case(
        "local.frequency",
        "1200 to 3000 MHz on the CPUs of sut",
        &["sys/devices/system/cpu/cpu"],
        |machine| machine.set(&format!("{CPU0}/cpufreq/scaling_cur_freq"), "1200000\n"),
    ),
    case(
        "local.thermal",
        "CPU 0 (role sut) was throttled 3 times in 1.0 s",
        &["sys/devices/system/cpu/cpu"],
        |machine| machine.set(&format!("{CPU0}/thermal_throttle/core_throttle_count"), "3\n"),
    ),
    case("local.smt", "CPU 2 of load and CPU 0 of sut", &[CPU0], |machine| {
        machine.set("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n");
    }),
    case(
        "local.isolation",
        "2 CPUs of sut are isolated",
        &["sys/devices/system/cpu/isolated"],
        |machine| machine.set("sys/devices/system/cpu/isolated", "0-1\n"),
    ),
    case("local.numa", "on the nodes 0, 1", &["sys/devices/system/node"], |machine| {
        machine.set("sys/devices/system/node/node0/cpulist", "0,2\n");
        machine.set("sys/devices/system/node/node1/cpulist", "1,3\n");
    }),
    case("local.interrupts", "5000/s on CPU 1 (role sut)", &["proc/interrupts"], |machine| {
        machine.change("proc/interrupts", "9 9 9 9", "9 5009 9 9");
    }),
    case(
        "local.huge_pages",
        "huge pages always",
        &["sys/kernel/mm/transparent_hugepage"],
        |machine| {
            machine.set("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
        },
    ),
    case("local.swap", "7 pages were swapped in", &["proc/vmstat"], |machine| {
        machine.change("proc/vmstat", "pswpin 0", "pswpin 7");
    }),
    case("local.steal", "20.0 % of CPU 0 (role sut) was stolen", &["proc/stat"], |machine| {
        machine.change(
            "proc/stat",
            "cpu0 100 0 100 99700 50 0 50 0",
            "cpu0 100 0 100 99780 50 0 50 20",
        );
    }),
    case("local.pressure", "for 12.5 % of ten seconds", &["proc/pressure"], |machine| {
        machine.change("proc/pressure/cpu", "avg10=0.10", "avg10=12.5");
    }),
    case(
        "local.foreign",
        "pid 812 sshd used 60.0 % of CPU 1 (role sut)",
        &["proc/812", "proc/stat"],
        |machine| machine.change("proc/812/stat", " 40 40 ", " 71 71 "),
    ),
    case("local.spin", "lost 3.0 %", &[], |machine| {
        machine.now.spins[1].lost = Nanos::from_millis(30);
    }),
    case("local.clock", "hpet is slow to read", &["sys/devices/system/clocksource"], |machine| {
        let file = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        machine.set(file, "hpet\n");
    }),
    case("local.virtual", "a virtual machine: steal", &["proc/cpuinfo"], |machine| {
        machine.change("proc/cpuinfo", "fpu tsc", "fpu tsc hypervisor");
    }),
    case(
        "local.cgroup",
        "the group /user.slice has the CPU quota 50000 100000",
        &["proc/self/cgroup"],
        |machine| machine.set("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n"),
    ),
    case(
        "local.throttling",
        "the group /cpu was throttled in 4 periods",
        &["sys/fs/cgroup", "proc/self/cgroup"],
        |machine| machine.change("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 0", "nr_throttled 4"),
    ),
    case("local.limits", "a process may open 1024 files", &["proc/self/limits"], |machine| {
        machine.change("proc/self/limits", "524288", "1024");
    }),
    case("local.network", "6 new connections overflowed", &["proc/net"], |machine| {
        machine.change("proc/net/netstat", "TcpExt: 0 0", "TcpExt: 0 6");
    }),
    case("local.disk", "sda was busy for 50.0 %", &["proc/diskstats"], |machine| {
        machine.change("proc/diskstats", " 2000 ", " 2500 ");
    }),
    case("local.noise", "the NMI watchdog interrupts", &["proc/sys"], |machine| {
        machine.set("proc/sys/kernel/nmi_watchdog", "1\n");
    }),
    case("local.battery", "BAT0 is discharging", &["sys/class/power_supply"], |machine| {
        machine.set("sys/class/power_supply/BAT0/type", "Battery\n");
        machine.set("sys/class/power_supply/BAT0/status", "Discharging\n");
    }),
    case("local.kernel_log", "mce: [Hardware Error]: CPU 2", &["dev/kmsg"], |machine| {
        machine.now.log.push("0,9,999000000,-;mce: [Hardware Error]: CPU 2".to_owned());
    }),
    case("local.binaries", "the file of this program was replaced", &[], |machine| {
        machine.now.is_replaced = true;
    }),
    case("local.ntp", "not set by a time server yet", &["run/systemd"], |machine| {
        machine.remove("run/systemd/timesync/synchronized");
        machine.set("run/systemd/timesync", "");
    }),
    case("local.softirqs", "4000/s on CPU 1 (role sut)", &["proc/softirqs"], |machine| {
        machine.change("proc/softirqs", "8 8 8 8", "8 4008 8 8");
    }),
    case("local.queues", "eth0 has one receive queue for 4 CPUs", &["sys/class/net"], |machine| {
        machine.now.files.0.remove("sys/class/net/eth0/queues/rx-1/rps_cpus");
    }),
    case(
        "local.store_memory",
        "kv takes at least 5.37 GB of the 4.29 GB",
        &["proc/meminfo"],
        |machine| {
            machine.wanted.stores[0].limit = Some(4 << 30);
        },
    ),
    case(
        "local.store_pages",
        "a store's index is in small pages",
        &["sys/kernel/mm/transparent_hugepage"],
        |machine| {
            machine.set("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
        },
    ),
    case("local.store_disk", "/data: 900 random reads of 4 KiB per second", &[], |machine| {
        machine.disk().reads_per_s = Some(Ok(900.0));
    }),
];

fn find<'a>(doctor: &'a Doctor, id: &str) -> &'a Check {
    doctor.checks.iter().find(|check| check.id == id).unwrap()
}

#[test]
fn a_good_machine_is_good() {
    let doctor = Machine::clean().diagnose(Moment::Before);
    for check in &doctor.checks {
        assert_eq!((check.state, &check.remedy), (State::Ok, &None), "{}", check.sentence());
    }
    let ids: Vec<&str> = doctor.checks.iter().map(|check| &*check.id).collect();
    assert_eq!(ids, CASES.map(|case| case.id));
}

#[test]
fn every_fault_is_found_by_its_check_and_by_no_other() {
    for case in &CASES {
        let mut machine = Machine::clean();
        (case.bad)(&mut machine);
        let doctor = machine.diagnose(Moment::Before);
        let check = find(&doctor, case.id);
        assert_eq!(check.state, State::Bad, "{}", check.sentence());
        assert!(check.value.contains(case.text), "{}", check.sentence());
        assert!(check.remedy.is_some(), "{}", check.sentence());
        let bad = doctor.checks.iter().filter(|check| check.state != State::Ok).count();
        assert_eq!(bad, 1, "{}: {:?}", case.id, doctor.checks);
    }
}

#[test]
fn a_missing_file_makes_a_check_unknown_and_never_good() {
    for case in CASES.iter().filter(|case| !case.missing.is_empty()) {
        let mut machine = Machine::clean();
        case.missing.iter().for_each(|path| machine.remove(path));
        let doctor = machine.diagnose(Moment::Before);
        let check = find(&doctor, case.id);
        assert_eq!(check.state, State::Unknown, "{}", check.sentence());
        assert!(check.value.contains("there is no"), "{}", check.sentence());
    }
}

#[test]
fn a_machine_without_files_is_unknown_in_all_and_refuses_nothing() {
    let stores = Machine::clean().wanted.stores;
    let disks = [(PathBuf::from("/data"), Disk::default())].into();
    let wanted = Demands { stores, ..Demands::default() };
    let doctor = diagnose(None, &Look { disks, ..Look::default() }, Moment::Before, &wanted);
    for check in &doctor.checks {
        assert_eq!((check.state, check.refuses()), (State::Unknown, false), "{}", check.sentence());
    }
    assert!(doctor.fingerprint.values.is_empty(), "{:?}", doctor.fingerprint);
}

#[test]
fn a_file_that_may_not_be_read_asks_for_root() {
    let mut machine = Machine::clean();
    machine.now.files.0.insert("dev/kmsg".to_owned(), Err(Missing::Forbidden));
    let doctor = machine.diagnose(Moment::Before);
    expect!["local.kernel_log: unknown: /dev/kmsg may not be read by this user (wanted: no fault in ten minutes); run it as root"]
        .assert_eq(&find(&doctor, "local.kernel_log").sentence());
}

#[test]
fn after_a_load_nothing_that_the_load_itself_did_is_bad() {
    let mut machine = Machine::clean();
    machine.now.spins.clear();
    machine.change("proc/pressure/cpu", "avg10=0.10", "avg10=92.0");
    machine.change("proc/diskstats", " 2000 ", " 2900 ");
    machine.change("proc/stat", "cpu0 100 ", "cpu0 190 ");
    // A component, by its control group, and a child of the runner.
    machine.change("proc/812/stat", " 40 40 ", " 71 71 ");
    machine.wanted.own.insert(812);
    let child = "901 (store) S 900 9 9 0 -1 0 0 0 0 0 90 9 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0";
    machine.set("proc/901/stat", child);
    machine.set("proc/900/stat", "900 (benchwright) R 1 9 9 0 -1 0 0 0 0 0 90 9 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0");
    let doctor = machine.diagnose(Moment::After);
    let not_ok: Vec<&str> = doctor
        .checks
        .iter()
        .filter(|check| check.state != State::Ok)
        .map(|check| &*check.id)
        .collect();
    assert_eq!(not_ok, ["local.pressure", "local.spin", "local.disk", "local.softirqs"]);
    let verdict = results::doctor::verdict(results::doctor::Level::Warn, &doctor.checks, &[]);
    assert_eq!(verdict, results::doctor::Verdict::default());
}

#[test]
fn an_old_fault_in_the_log_and_a_group_at_its_limit_are_not_faults() {
    let mut machine = Machine::clean();
    machine.now.log = vec![
        "0,9,1000000,-;mce: [Hardware Error]: CPU 2".to_owned(),
        "3,9,999000000,-;Memory cgroup out of memory: Killed process 12".to_owned(),
    ];
    let doctor = machine.diagnose(Moment::Before);
    assert_eq!(find(&doctor, "local.kernel_log").state, State::Ok);
}

#[test]
fn a_changed_governor_binary_or_role_is_a_difference_of_fingerprints() {
    let clean = Machine::clean().diagnose(Moment::Before).fingerprint;
    let mut machine = Machine::clean();
    machine.set(&format!("{CPU0}/cpufreq/scaling_governor"), "powersave\n");
    machine.now.binaries.insert("benchwright".to_owned(), "d4e5f6".repeat(10));
    machine.wanted.roles.insert("load".to_owned(), Cpus(vec![3]));
    let changed = machine.diagnose(Moment::Before).fingerprint;
    assert_ne!(clean.hash, changed.hash);
    let expected = expect![[r#"
        CPUs of role load was 2 before and is 3 after
        binary benchwright was a1b2c3a1b2c3 before and is d4e5f6d4e5f6 after
        governor was performance before and is performance, powersave after"#]];
    expected.assert_eq(&differences(&clean, &changed).join("\n"));
}

#[test]
fn a_waived_fault_refuses_nothing_and_is_still_shown() {
    let mut machine = Machine::clean();
    machine.change("proc/vmstat", "pswpin 0", "pswpin 7");
    machine.wanted.terms.allowed.insert("local.swap".to_owned());
    let doctor = machine.diagnose(Moment::Before);
    let check = find(&doctor, "local.swap");
    assert_eq!((check.word(), check.refuses()), ("allowed", false));
    let verdict = results::doctor::verdict(results::doctor::Level::Strict, &doctor.checks, &[]);
    assert!(verdict.warnings[0].starts_with("allowed by the spec: local.swap"), "{verdict:?}");
}

/// Writes the files of a look into a folder.
fn record(files: &Files, root: &Path) {
    let is_folder = |path: &str| files.0.keys().any(|other| other.starts_with(&format!("{path}/")));
    for (path, text) in files.0.iter().filter(|(path, _)| !is_folder(path)) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.as_ref().unwrap()).unwrap();
    }
}

#[test]
fn recorded_files_are_read_as_they_were_written_and_judged_since_the_machine_began() {
    let machine = Machine::clean();
    let folder = tempfile::tempdir().unwrap();
    record(&machine.now.files, folder.path());
    let look = || Reader::new(folder.path()).look(&[], || Instant(0));
    let judged = |look: &Look| {
        let begin = Look::begin_of(&Look { at: Instant(1_000_000_000_000), ..look.clone() });
        let now = Look { at: Instant(1_000_000_000_000), ..look.clone() };
        diagnose(begin.as_ref(), &now, Moment::Before, &machine.wanted)
    };
    let doctor = judged(&look());
    let not_ok = doctor.checks.iter().filter(|check| check.state != State::Ok);
    let ids: Vec<&str> = not_ok.map(|check| &*check.id).collect();
    // Nothing can spin on recorded files, and they are not the programs.
    assert_eq!(ids, ["local.spin", "local.binaries"]);

    std::fs::write(folder.path().join("proc/vmstat"), "pswpin 7\n").unwrap();
    let fault = "0,9,1000000,-;mce: [Hardware Error]: CPU 2\n";
    std::fs::write(folder.path().join("dev/kmsg"), fault).unwrap();
    let doctor = judged(&look());
    let swap = find(&doctor, "local.swap");
    assert!(swap.value.contains("since the machine began"), "{}", swap.sentence());
    assert_eq!((swap.state, find(&doctor, "local.kernel_log").state), (State::Bad, State::Bad));
}

#[test]
fn queues_that_one_cpu_serves_are_noted() {
    let mut machine = Machine::clean();
    machine.set("proc/irq/41/smp_affinity_list", "0\n");
    let doctor = machine.diagnose(Moment::After);
    let expected = expect![
        "local.softirqs: bad: the 2 queues of eth0 are all served by CPU 0; a load has just used the network (wanted: ≤ 1,000/s of the network on each CPU of the system; several CPUs for several queues); start `irqbalance`, or give them CPUs: `benchwright kv serve --pin-irq N`"
    ];
    expected.assert_eq(&find(&doctor, "local.softirqs").sentence());
    // An interface with one queue, whose packets the kernel divides.
    machine.now.files.0.remove("sys/class/net/eth0/queues/rx-1/rps_cpus");
    machine.set("sys/class/net/eth0/queues/rx-0/rps_cpus", "0000,0000000e\n");
    let doctor = machine.diagnose(Moment::Before);
    let ids = ["local.softirqs", "local.queues"];
    assert_eq!(ids.map(|id| find(&doctor, id).state), [State::Ok; 2]);
}

#[test]
fn the_memory_of_all_stores_is_summed() {
    let memory = |change: fn(&mut Machine)| {
        let mut machine = Machine::clean();
        change(&mut machine);
        find(&machine.diagnose(Moment::Before), "local.store_memory").sentence()
    };
    // A log of 4 GiB has an index of 1 GiB.
    expect!["local.store_memory: at least 10.7 GB of 16.4 GB (wanted: the stores take at most 90 % of what they may use)"].assert_eq(&memory(|_| {}));
    let together = memory(|machine| machine.wanted.stores[0].copies = 3);
    assert!(
        together.contains("all stores together take at least 16.1 GB of 16.4 GB"),
        "{together}"
    );
    let chosen = memory(|machine| {
        machine.wanted.stores[0].copies = 3;
        machine.wanted.stores[0].log = None;
    });
    // Each of them would take 4 GiB of the machine for its log: a power of two within 40 %.
    assert!(chosen.contains("all stores together take at least 16.1 GB"), "{chosen}");
    let group =
        memory(|machine| machine.set("sys/fs/cgroup/user.slice/memory.max", "8000000000\n"));
    assert!(group.contains("all stores together take at least 10.7 GB of 8.00 GB"), "{group}");
    let used = memory(|machine| machine.change("proc/meminfo", "15000000", "9000000"));
    assert!(used.contains("at least 10.7 GB, and 9.22 GB are free"), "{used}");
}

#[test]
fn a_disk_of_unknown_speed_is_to_be_measured() {
    let told = |turns, reads_per_s| {
        let mut machine = Machine::clean();
        *machine.disk() = Disk { turns, reads_per_s };
        let doctor = machine.diagnose(Moment::Before);
        let disk = find(&doctor, "local.store_disk");
        (disk.state, disk.value.clone())
    };
    let unknown = |text: &str| (State::Unknown, text.to_owned());
    let turns = "/data is on a disk that turns, or on a virtual one";
    assert_eq!(told(Some(true), None), unknown(turns));
    assert_eq!(told(None, None), unknown("the disk of /data is not known"));
    assert_eq!(told(Some(false), Some(Err("no room".to_owned()))), unknown("/data: no room"));
    let ok = |text: &str| (State::Ok, text.to_owned());
    assert_eq!(told(Some(false), None), ok("/data is on a solid-state disk"));
    assert_eq!(told(Some(true), Some(Ok(20_000.0))), ok("/data: 20000 random reads/s"));
}
