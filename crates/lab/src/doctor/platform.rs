//! The checks of the platform: 16, 17 and 23 to 27.

use measure::Nanos;
use results::doctor::Severity::{Error, Info, Warning};

use super::found::Found;
use super::memory::chosen;
use super::seen::Seen;

/// The longest time of a reading of the clock without a system call.
const CLOCK_READ: Nanos = Nanos(200);
/// Older faults in the kernel's log have passed.
const RECENT: Nanos = Nanos::from_secs(600);
/// The sources of time that every CPU reads by itself.
const FAST: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "tod", "timebase"];

/// Check 16: reading the clock is cheap.
pub(super) fn clock(seen: &Seen<'_>) -> Found {
    let file = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut found = Found::new("tsc or another fast one, ≤ 200 ns", format!("/{file}"));
    let Some(source) = seen.text(file) else {
        seen.unread(&mut found, file);
        return found;
    };
    found.record("clock source", source);
    let remedy = "boot with clocksource=tsc, or see in the kernel's log why it is not used";
    if !FAST.contains(&source) {
        found.bad(None, Warning, format!("{source} is slow to read"), remedy);
    }
    let cost = match seen.now.clock_read {
        None => String::new(),
        Some(cost) => {
            if CLOCK_READ < cost {
                found.bad(None, Warning, format!("reading {source} takes {cost}"), remedy);
            }
            format!(", {cost} per reading")
        }
    };
    found.with(format!("{source}{cost}"))
}

/// Check 17: a virtual machine shares its CPUs with others.
pub(super) fn virtualized(seen: &Seen<'_>) -> Found {
    let (cpuinfo, hypervisor) = ("proc/cpuinfo", "sys/hypervisor/type");
    let product = "sys/class/dmi/id/product_name";
    let mut found = Found::new("no", format!("/{cpuinfo}: flags, /{hypervisor}, /{product}"));
    let Some(text) = seen.text(cpuinfo) else {
        seen.unread(&mut found, cpuinfo);
        return found;
    };
    let flags = text.lines().find(|line| line.starts_with("flags"));
    let is_guest = flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
        || seen.text(hypervisor).is_some();
    let kind = seen.text(hypervisor).or(seen.text(product));
    found.record("virtual machine", kind.unwrap_or(if is_guest { "yes" } else { "no" }));
    if is_guest {
        let kind = kind.map(|kind| format!(" ({kind})")).unwrap_or_default();
        let text = format!("a virtual machine{kind}: steal is watched in every trial");
        found.bad(None, Warning, text, "use a machine of its own for tails beyond p99");
    }
    found.with("no")
}

/// Check 23: the settings of the kernel that cost time on every CPU.
pub(super) fn noise(seen: &Seen<'_>) -> Found {
    const SETTINGS: [&str; 5] = [
        "proc/sys/kernel/nmi_watchdog",
        "proc/sys/kernel/timer_migration",
        "proc/sys/kernel/sched_rt_runtime_us",
        "proc/sys/vm/swappiness",
        "proc/sys/vm/stat_interval",
    ];
    let tracer = "sys/kernel/tracing/current_tracer";
    let mut found = Found::new(
        "no NMI watchdog, no tracer; swappiness ≤ 10 if there is swap",
        format!("/{}, /{tracer}", SETTINGS.join(", /")),
    );
    let mut known = 0;
    for path in SETTINGS {
        if let Some(value) = seen.text(path) {
            known += 1;
            found.record(path.trim_start_matches("proc/sys/").replace('/', "."), value);
        }
    }
    if known == 0 {
        seen.unread(&mut found, SETTINGS[0]);
    }
    let remedy = "`benchwright doctor --fix`";
    if seen.number(SETTINGS[0]).is_some_and(|value| value != 0) {
        found.bad(None, Info, "the NMI watchdog interrupts every CPU", remedy);
    }
    if has_swap(&seen.now.files)
        && let Some(swappiness) = seen.number(SETTINGS[3]).filter(|value| 10 < *value)
    {
        let text = format!("the kernel swaps early: swappiness {swappiness}");
        found.bad(None, Info, text, remedy);
    }
    if let Some(tracer) = seen.text(tracer).map(chosen).filter(|tracer| *tracer != "nop") {
        let text = format!("the kernel traces functions: {tracer}");
        found.bad(None, Warning, text, "`echo nop > /sys/kernel/tracing/current_tracer`");
    }
    found.with(format!("{known} settings recorded"))
}

/// Returns true if memory can be swapped out: the list of swaps has more than its title.
pub(super) fn has_swap(files: &super::Files) -> bool {
    files.text("proc/swaps").is_some_and(|swaps| 1 < swaps.lines().count())
}

/// Check 24: the machine does not run on its battery.
pub(super) fn battery(seen: &Seen<'_>) -> Found {
    let folder = "sys/class/power_supply/";
    let mut found = Found::new("not discharging", format!("/{folder}*/status"));
    let supplies: Vec<(&str, &str)> = seen.now.files.between(folder, "/type").collect();
    if supplies.is_empty() {
        let remedy = "see that a portable machine is plugged in";
        found.unknown(None, format!("there is nothing in /{folder}"), remedy);
        return found;
    }
    for (name, kind) in supplies {
        let status = seen.text(&format!("{folder}{name}/status"));
        if kind == "Battery" && status == Some("Discharging") {
            let text = format!("{name} is discharging: the machine saves power");
            found.bad(None, Error, text, "plug it in");
        }
    }
    found.with("mains")
}

/// Check 25: the kernel reports no fault.
pub(super) fn kernel_log(seen: &Seen<'_>) -> Found {
    const FAULTS: [&str; 11] = [
        "hardware error",
        "machine check",
        "temperature above threshold",
        "clock throttled",
        "soft lockup",
        "hard lockup",
        "detected stall",
        "out of memory",
        "i/o error",
        "transmit queue",
        "marked unstable",
    ];
    let file = "dev/kmsg";
    let mut found = Found::new("no fault in ten minutes", format!("/{file}"));
    if seen.now.files.0.get(file).is_none_or(Result::is_err) {
        seen.unread(&mut found, file);
        return found;
    }
    let uptime = seen.now.files.uptime().filter(|_| {
        // A recorded log is judged as a whole.
        seen.before.is_none_or(|before| !before.is_begin)
    });
    for line in &seen.now.log {
        // `6,817,96012345,-;text`: priority, number, microseconds, and behind the semicolon the text.
        let (head, text) = line.split_once(';').unwrap_or(("", line.as_str()));
        let at = head.split(',').nth(2).and_then(|us| us.parse::<u64>().ok());
        let is_old = uptime.zip(at).is_some_and(|(uptime, us)| Nanos(us * 1000) + RECENT < uptime);
        let lower = text.to_lowercase();
        // A group that reaches its own limit is not a fault of the machine.
        if is_old || lower.contains("memory cgroup") {
            continue;
        }
        if FAULTS.iter().any(|fault| lower.contains(fault)) {
            let short: String = text.chars().take(160).collect();
            let remedy = "look at the kernel's log by `dmesg`, and cure the cause";
            found.bad(None, Error, short, remedy);
        }
    }
    found.with("none")
}

/// Check 26: the programs, which are recorded.
pub(super) fn binaries(seen: &Seen<'_>) -> Found {
    let mut found =
        Found::new("the same during a run", "/proc/self/exe and the programs of the spec");
    if seen.now.binaries.is_empty() {
        found.unknown(None, "no program was read", "give a spec: `benchwright doctor SPEC`");
    }
    for (name, digest) in &seen.now.binaries {
        found.record(format!("binary {name}"), digest.chars().take(12).collect::<String>());
    }
    if seen.now.is_replaced {
        let text = "the file of this program was replaced: generators would be another one";
        found.bad(None, Warning, text, "start it again");
    }
    found.with(format!("{} recorded", seen.now.binaries.len()))
}

/// Check 27: the time of day, which only one-way latency between machines depends on.
pub(super) fn ntp(seen: &Seen<'_>) -> Found {
    let (folder, file) = ("run/systemd/timesync", "run/systemd/timesync/synchronized");
    let mut found = Found::new("set by a time server", format!("/{file}"));
    match (seen.now.files.0.contains_key(file), seen.now.files.0.contains_key(folder)) {
        (true, _) => {}
        (false, true) => {
            let text = "not set by a time server yet; no figure of one machine depends on it";
            found.bad(None, Info, text, "`timedatectl set-ntp true`, and wait");
        }
        (false, false) => seen.unread(&mut found, file),
    }
    found.with("set by a time server")
}
