//! The checks of what disturbs: 9 and 12 to 15.

use std::collections::BTreeMap;

use measure::Nanos;
use measure::bounds::{LOSS_ALLOWED, OTHERS_UNNOTICED};
use results::doctor::Severity::{Error, Warning};

use super::found::Found;
use super::seen::{Seen, percent};
use super::{Look, Moment, SUT};

/// A second of interrupts beyond this takes half a percent of a CPU: each about 5 µs.
const INTERRUPTS_PER_S: f64 = 1000.0;
/// In percent, as the kernel writes it.
const PRESSURE: f64 = 5.0;
/// The most processes that are named.
const MOST_NAMED: usize = 3;
/// A time that is counted in ticks may be one off at each end.
const UNSURE: Nanos = Nanos(2 * Nanos::TICK.0);
const GAP: Nanos = Nanos::from_millis(5);
/// The mark of a thread of the kernel among the flags of a process.
const OF_KERNEL: u64 = 0x0020_0000;

/// Check 9: devices do not interrupt the CPUs of the system.
pub(super) fn interrupts(seen: &Seen<'_>) -> Found {
    let file = "proc/interrupts";
    let mut found =
        Found::new("≤ 1,000/s from devices on each CPU of the system", format!("/{file}"));
    let Some((text, elapsed)) = seen.grown(&mut found, file) else { return found };
    let cpus = match seen.wanted.roles.get(SUT) {
        Some(cpus) => cpus.0.clone(),
        None if seen.wanted.roles.is_empty() => seen.cpus(),
        None => return found.with("the system has no CPUs of its own here"),
    };
    let header = text.lines().next().unwrap_or_default();
    let mut most: f64 = 0.0;
    for cpu in cpus {
        let Some(column) =
            header.split_ascii_whitespace().position(|name| name == format!("CPU{cpu}"))
        else {
            continue;
        };
        let sum = |look: &Look| Some(of_devices(look.files.text(file)?, column));
        let per_s = seen.growth(sum).unwrap_or_default() as f64 / elapsed.as_secs_f64();
        most = most.max(per_s);
        if INTERRUPTS_PER_S < per_s {
            let text = format!("{per_s:.0}/s on {}", seen.cpu(cpu));
            let remedy = "`benchwright doctor SPEC --fix` moves them to CPUs without a role";
            found.bad(None, Warning, text, remedy);
        }
    }
    found.with(format!("at most {most:.0}/s {}", seen.period()))
}

/// Returns the interrupts of devices on one CPU: those with a number.
fn of_devices(text: &str, column: usize) -> u64 {
    let of_line = |line: &str| {
        let (number, counts) = line.trim_start().split_once(':')?;
        number.parse::<u32>().ok()?;
        counts.split_ascii_whitespace().nth(column)?.parse::<u64>().ok()
    };
    text.lines().filter_map(of_line).sum()
}

/// The times of a CPU since the machine began, in ticks.
#[derive(Clone, Copy, Debug)]
struct Times {
    all: u64,
    idle: u64,
    stolen: u64,
}

fn times(look: &Look, cpu: u32) -> Option<Times> {
    let (_, ticks) = ticks(look.files.text("proc/stat")?).find(|(number, _)| *number == cpu)?;
    let [_, _, _, idle, waiting, _, _, stolen] = ticks;
    Some(Times { all: ticks.iter().sum(), idle: idle + waiting, stolen })
}

/// Returns the ticks of each CPU in `/proc/stat`: in user mode, nice, in the kernel, idle, idle while
/// something waits for a disk, in interrupts, in soft ones, and stolen. Those of guests are in the first
/// two already.
pub fn ticks(stat: &str) -> impl Iterator<Item = (u32, [u64; 8])> {
    stat.lines().filter_map(|line| {
        let (cpu, figures) = line.strip_prefix("cpu")?.split_once(' ')?;
        let mut words = figures.split_ascii_whitespace();
        let mut ticks = [0; 8];
        for tick in &mut ticks {
            *tick = words.next()?.parse().ok()?;
        }
        Some((cpu.parse().ok()?, ticks))
    })
}

/// Check 12: the host does not give our CPUs to others.
pub(super) fn steal(seen: &Seen<'_>) -> Found {
    let file = "proc/stat";
    let mut found = Found::new("≤ 1 % of each CPU", format!("/{file}"));
    let mut most: f64 = 0.0;
    let cpus = seen.cpus();
    if cpus.is_empty() || cpus.iter().any(|&cpu| times(seen.now, cpu).is_none()) {
        seen.unread(&mut found, file);
        return found;
    }
    for cpu in cpus {
        let stolen = seen.growth(|look| Some(times(look, cpu)?.stolen));
        let all = seen.growth(|look| Some(times(look, cpu)?.all));
        let Some((stolen, all)) = stolen.zip(all) else {
            seen.single(&mut found);
            continue;
        };
        let share = stolen as f64 / all.max(1) as f64;
        // One tick of few is no share.
        let is_sure = 2 < stolen;
        most = most.max(share);
        if LOSS_ALLOWED < share && is_sure {
            let text =
                format!("{} of {} was stolen {}", percent(share), seen.cpu(cpu), seen.period());
            found.bad(None, Error, text, "wait, or use a machine with CPUs of its own");
        }
    }
    found.with(format!("at most {} {}", percent(most), seen.period()))
}

/// Check 13: nothing waits for a CPU before a load.
pub(super) fn pressure(seen: &Seen<'_>) -> Found {
    let file = "proc/pressure/cpu";
    let mut found = Found::new("some ≤ 5 % in ten seconds", format!("/{file}"));
    if seen.moment == Moment::After {
        found.untimely("a load has just used the CPUs");
        return found;
    }
    let some = seen.text(file).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
        line.split(' ').find_map(|word| word.strip_prefix("avg10="))?.parse::<f64>().ok()
    });
    match some {
        None => seen.unread(&mut found, file),
        Some(some) => {
            if PRESSURE < some {
                let text = format!("something waited for a CPU for {some} % of ten seconds");
                found.bad(None, Error, text, "wait, or stop what runs: `top`");
            }
            found = found.with(format!("{some} %"));
        }
    }
    found
}

/// A process, from its line in `/proc/PID/stat`.
#[derive(Clone, Copy, Debug)]
struct Process<'a> {
    name: &'a str,
    parent: u32,
    is_of_kernel: bool,
    ticks: u64,
    threads: u64,
    cpu: u32,
}

fn process(stat: &str) -> Option<Process<'_>> {
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Behind the name begins the third field.
    let field = |number: usize| words.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        name,
        parent: field(4)? as u32,
        is_of_kernel: field(9)? & OF_KERNEL != 0,
        ticks: field(14)? + field(15)?,
        threads: field(20)?,
        cpu: field(39)? as u32,
    })
}

/// Returns all processes of a look.
fn processes(look: &Look) -> BTreeMap<u32, Process<'_>> {
    let stats = look.files.between("proc/", "/stat");
    stats.filter_map(|(pid, stat)| Some((pid.parse().ok()?, process(stat)?))).collect()
}

/// Check 14: nobody else uses the CPUs of the roles.
pub(super) fn foreign(seen: &Seen<'_>) -> Found {
    let mut found = Found::new("≤ 2 % of each CPU", "/proc/*/stat, /proc/stat");
    let now = processes(seen.now);
    if now.is_empty() {
        seen.unread(&mut found, "proc/1/stat");
        return found;
    }
    let Some((before, elapsed)) = seen.before.zip(seen.elapsed()) else {
        seen.single(&mut found);
        return found;
    };
    let was = processes(before);
    let cpus = seen.cpus();
    // Busy, less what may be an error of counting in ticks.
    let share = |ticks: u64| {
        let busy = Nanos(ticks * Nanos::TICK.0).saturating_sub(UNSURE);
        busy.as_secs_f64() / elapsed.as_secs_f64()
    };
    let online = seen.now.files.online().0.len().max(1) as f64;
    let mut users = Vec::new();
    for (&pid, process) in &now {
        let earlier = was.get(&pid).map_or(0, |was| was.ticks);
        let used = share(process.ticks.saturating_sub(earlier));
        // The threads of a process may be on any CPU: on average it takes a part of each.
        let (on_each, place) = match process.threads {
            0 | 1 if cpus.contains(&process.cpu) => (used, seen.cpu(process.cpu)),
            0 | 1 => continue,
            _ => (used / online, "a CPU, with several threads".to_owned()),
        };
        if OTHERS_UNNOTICED < on_each && !process.is_of_kernel && !is_own(seen, pid, &now) {
            users.push((
                used,
                format!("pid {pid} {} used {} of {place}", process.name, percent(used)),
            ));
        }
    }
    users.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let remedy = "wait, or stop it";
    for (_, text) in users.iter().take(MOST_NAMED) {
        found.bad(None, Error, text, remedy);
    }
    let further = users.len().saturating_sub(MOST_NAMED);
    if 0 < further {
        found.bad(None, Error, format!("{further} further processes"), remedy);
    }
    // Before a load the CPUs are idle: many processes end too soon to be seen, and show only so.
    if users.is_empty() && seen.moment == Moment::Before && !before.is_begin {
        for cpu in cpus {
            let busy = |look: &Look| {
                let times = times(look, cpu)?;
                Some(times.all - times.idle - times.stolen)
            };
            let busy = share(seen.growth(busy).unwrap_or_default());
            if OTHERS_UNNOTICED < busy {
                let text = format!("others used {} of {}", percent(busy), seen.cpu(cpu));
                found.bad(None, Error, text, "see who by `top`, and wait, or stop it");
            }
        }
    }
    found.with(format!("none {}", seen.period()))
}

/// Returns true for our process, those that it descends from, and those of the experiment.
fn is_own(seen: &Seen<'_>, pid: u32, all: &BTreeMap<u32, Process<'_>>) -> bool {
    let ours = seen.text("proc/self/stat").and_then(|stat| stat.split(' ').next()?.parse().ok());
    let mut above = pid;
    // A chain of parents ends at process 1; a look at changing processes may have none.
    for _ in 0..all.len() {
        if Some(above) == ours || seen.wanted.own.contains(&above) {
            return true;
        }
        match all.get(&above) {
            Some(process) if 1 < process.parent => above = process.parent,
            _ => return false,
        }
    }
    false
}

/// Check 15: a thread that spins on a CPU of a role is not held up.
pub(super) fn spin(seen: &Seen<'_>) -> Found {
    let source = "a thread on each CPU of the roles that only reads the clock";
    let mut found = Found::new("≤ 1 % lost or stolen, no gap above 5 ms", source);
    if seen.now.spins.is_empty() {
        match seen.moment {
            Moment::After => found.untimely("no spins are made between loads"),
            Moment::Before => {
                found.untimely("no spins were made: the files of a folder cannot show it");
            }
        }
        return found;
    }
    let mut values = Vec::new();
    for spin in &seen.now.spins {
        let length = (spin.ended - spin.begun).as_secs_f64().max(f64::MIN_POSITIVE);
        let lost = spin.lost.as_secs_f64() / length;
        let stolen = spin.stolen.as_secs_f64() / length;
        let text = format!(
            "{} lost {}, longest gap {}",
            seen.cpu(spin.cpu),
            percent(lost.max(stolen)),
            spin.longest_gap
        );
        if LOSS_ALLOWED < lost.max(stolen) || GAP < spin.longest_gap {
            let remedy = "wait, stop what runs there, or use a machine with CPUs of its own";
            found.bad(None, Error, &*text, remedy);
        }
        values.push(text);
    }
    found.with(values.join("; "))
}
