//! Looks at a machine: reads the files that the checks judge. Nothing here judges.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use measure::Instant;
use nix::fcntl::OFlag;
use nix::sys::stat::{major, minor};

use super::look::{Disk, Files, Look, Missing};
use super::nic;
use crate::spec::Cpus;

/// The most of a file that is read; none of those below is longer on a usual machine.
const MOST_BYTES: u64 = 4 << 20;
/// The most processes, and the most lines of the kernel's log, that are kept.
const MOST_PROCESSES: usize = 20_000;
const MOST_LINES: usize = 10_000;
/// The most queues or interrupts of a network interface that are read.
const MOST_QUEUES: usize = 1024;

const KERNEL_LOG: &str = "dev/kmsg";

/// Files that are read as they are.
const PLAIN: [&str; 42] = [
    "proc/cpuinfo",
    "proc/diskstats",
    "proc/interrupts",
    "proc/meminfo",
    nic::ROUTES_OF_V6,
    "proc/net/netstat",
    nic::ROUTES,
    "proc/net/snmp",
    "proc/pressure/cpu",
    "proc/self/cgroup",
    "proc/self/limits",
    "proc/self/stat",
    "proc/softirqs",
    "proc/swaps",
    "proc/sys/kernel/nmi_watchdog",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/random/boot_id",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/timer_migration",
    "proc/sys/net/core/somaxconn",
    "proc/sys/net/ipv4/ip_local_port_range",
    "proc/sys/net/netfilter/nf_conntrack_count",
    "proc/sys/net/netfilter/nf_conntrack_max",
    "proc/sys/vm/stat_interval",
    "proc/sys/vm/swappiness",
    "proc/uptime",
    "proc/vmstat",
    "run/systemd/timesync",
    "run/systemd/timesync/synchronized",
    "sys/class/dmi/id/product_name",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/online",
    "sys/fs/cgroup",
    "sys/hypervisor/type",
    "sys/kernel/mm/ksm/run",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/tracing/current_tracer",
];

/// Files of each CPU.
const OF_CPU: [&str; 6] = [
    "cpufreq/energy_performance_preference",
    "cpufreq/scaling_cur_freq",
    "cpufreq/scaling_governor",
    "thermal_throttle/core_throttle_count",
    "thermal_throttle/package_throttle_count",
    "topology/thread_siblings_list",
];

/// Files of each entry of a folder.
const OF_ENTRIES: [(&str, &[&str]); 3] = [
    ("sys/devices/system/node", &["cpulist"]),
    ("sys/class/power_supply", &["type", "status"]),
    ("sys/devices/system/cpu/vulnerabilities", &[""]),
];

const OF_GROUP: [&str; 8] = [
    "cpu.max",
    "cpu.stat",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpuset.cpus",
    "cpuset.cpus.effective",
    "memory.max",
    "memory.limit_in_bytes",
];

/// Reads one machine again and again.
#[derive(Debug)]
pub struct Reader {
    root: PathBuf,
    /// The kernel's log, open behind the lines that were read.
    log: Option<File>,
}

impl Reader {
    /// Returns a reader of the machine below `root`, which is `/` or a folder with recorded files.
    pub fn new(root: &Path) -> Reader {
        Reader { root: root.to_owned(), log: None }
    }

    /// Looks at the machine. `cpus` are those that matter; all if there are none. The counters of
    /// the CPUs are read last, so that the reading itself is not between two looks.
    pub fn look(&mut self, cpus: &[u32], now: impl Fn() -> Instant) -> Look {
        let mut files = Files::default();
        for path in PLAIN {
            self.add(&mut files, path);
        }
        let cpus = if cpus.is_empty() { files.online() } else { Cpus(cpus.to_vec()) };
        for cpu in cpus.0 {
            for file in OF_CPU {
                self.add(&mut files, &format!("sys/devices/system/cpu/cpu{cpu}/{file}"));
            }
        }
        for (folder, names) in OF_ENTRIES {
            for entry in self.entries(folder) {
                for name in names {
                    let path = format!("{folder}/{entry}/{name}");
                    self.add(&mut files, path.trim_end_matches('/'));
                }
            }
        }
        self.add_interfaces(&mut files);
        let own = files.text("proc/self/cgroup").unwrap_or_default().to_owned();
        for group in groups(&own) {
            for file in OF_GROUP {
                self.add(&mut files, &format!("{group}/{file}"));
            }
        }
        let log = self.log(&mut files);
        let numbered = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let processes = self.entries("proc").into_iter().filter(numbered);
        for pid in processes.take(MOST_PROCESSES) {
            self.add(&mut files, &format!("proc/{pid}/stat"));
        }
        self.add(&mut files, "proc/stat");
        let is_replaced = fs::read_link(self.root.join("proc/self/exe"))
            .is_ok_and(|path| path.to_string_lossy().ends_with(" (deleted)"));
        Look { files, at: now(), log, is_replaced, ..Look::default() }
    }

    /// Reads the settings that a fix may change: of all CPUs, and of interrupts too.
    pub fn settings(&mut self, now: impl Fn() -> Instant) -> Files {
        let mut files = self.look(&[], now).files;
        for irq in self.entries("proc/irq") {
            self.add(&mut files, &format!("proc/irq/{irq}/smp_affinity_list"));
        }
        files
    }

    /// Adds the network interfaces: their devices, queues and interrupts.
    fn add_interfaces(&self, files: &mut Files) {
        for name in self.entries(nic::FOLDER) {
            let interface = format!("{}{name}", nic::FOLDER);
            let lower = self.entries(&interface).into_iter();
            let lower = lower.filter(|name| name.starts_with(nic::LOWER));
            for part in lower.chain(nic::OF_INTERFACE.map(str::to_owned)) {
                self.add(files, &format!("{interface}/{part}"));
            }
            let folders = nic::INTERRUPTS.iter().chain(&[nic::QUEUES]);
            for folder in folders.map(|folder| format!("{interface}/{folder}")) {
                for entry in self.entries(&folder).into_iter().take(MOST_QUEUES) {
                    self.add(files, &format!("{folder}/{entry}"));
                    self.add(files, &format!("{folder}/{entry}/{}", nic::STEERED));
                }
            }
        }
        for irq in nic::real(files)
            .iter()
            .flat_map(|name| nic::interrupts(files, name))
            .collect::<Vec<_>>()
        {
            self.add(files, &nic::affinity(irq));
        }
    }

    /// Reads the kind of the disk that has a folder, or will have it. Recorded files do not say which it is.
    pub fn disk(&self, folder: &Path) -> Disk {
        let is_live = self.root == Path::new("/");
        let existing = folder.ancestors().find_map(|path| fs::metadata(path).ok());
        let turns = existing.filter(|_| is_live).and_then(|metadata| {
            let device = metadata.dev();
            let block = format!("/sys/dev/block/{}:{}", major(device), minor(device));
            // A partition has no queue of its own: that of its disk is beside it.
            let files = ["queue/rotational", "../queue/rotational"].into_iter();
            files.map(|file| Path::new(&block).join(file)).find_map(|p| fs::read_to_string(p).ok())
        });
        Disk { turns: turns.map(|text| text.trim() == "1"), reads_per_s: None }
    }

    /// Adds a file, or the reason why it is missing. A folder is a file without a text.
    fn add(&self, files: &mut Files, path: &str) {
        let full = self.root.join(path);
        let read = || {
            if full.is_dir() {
                return Ok(String::new());
            }
            // Recorded files may be anything: a FIFO would wait for its other end.
            let flags = OFlag::O_NONBLOCK.bits();
            let file = OpenOptions::new().read(true).custom_flags(flags).open(&full)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            let mut bytes = Vec::new();
            file.take(MOST_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text: io::Result<String> = read();
        let text = match text {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(Missing::Forbidden)
            }
            Err(_) => return,
        };
        files.0.insert(path.to_owned(), text);
    }

    fn entries(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Reads the new lines of the kernel's log: each reading of the device gives one.
    fn log(&mut self, files: &mut Files) -> Vec<String> {
        if self.log.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
            self.log = match options.open(self.root.join(KERNEL_LOG)) {
                Ok(log) => Some(log),
                Err(error) => {
                    if error.kind() == io::ErrorKind::PermissionDenied {
                        files.0.insert(KERNEL_LOG.to_owned(), Err(Missing::Forbidden));
                    }
                    return Vec::new();
                }
            };
        }
        files.0.insert(KERNEL_LOG.to_owned(), Ok(String::new()));
        let log = self.log.as_mut().expect("it was opened above");
        let mut text = String::new();
        let mut line = [0; 8192];
        for _ in 0..MOST_LINES {
            match log.read(&mut line) {
                Ok(0) => break,
                Ok(length) => text += &String::from_utf8_lossy(&line[..length]),
                // A line was overwritten before it was read.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Err(_) => break,
            }
        }
        // Lines that begin with a blank continue a record.
        text.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect()
    }
}

/// Returns our own group of each controller and all groups above it, in both versions.
fn groups(own: &str) -> Vec<String> {
    const MOUNT: &str = "sys/fs/cgroup";
    let mut found = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mounts = match controllers {
            "" => vec![MOUNT.to_owned(), format!("{MOUNT}/unified")],
            list => {
                let wanted = |name: &&str| ["cpu", "cpuset", "memory"].contains(name);
                list.split(',').filter(wanted).map(|name| format!("{MOUNT}/{name}")).collect()
            }
        };
        for mount in mounts {
            for group in Path::new(path).ancestors() {
                let group = group.to_string_lossy();
                found.push(format!("{mount}{}", group.trim_end_matches('/')));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}
