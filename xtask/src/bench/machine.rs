//! The machine under a bench: its CPUs, its time, and the processes that a bench starts.
//!
//! Every process that is started here is ended here, at the latest when its handle is dropped.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use measure::Nanos;
use serde_json::Value;

use crate::processes::{self, signal};
use crate::programs::Build;
use crate::{repository, tools};

#[cfg(test)]
mod tests;

/// The CPUs of the two sides of a measurement, and the program.
pub(crate) struct Machine {
    pub(crate) benchwright: PathBuf,
    /// The CPU of the measured side.
    server: Option<u32>,
    /// The CPU of the measuring side.
    client: Option<u32>,
}

#[derive(Clone, Copy)]
pub(crate) enum Side {
    Server,
    Client,
    /// Both CPUs, for what is measured together with its client.
    Both,
}

impl Machine {
    /// Builds the programs, and takes the first two CPUs that this process may use.
    pub(crate) fn prepare(build: Build) -> Result<Machine, String> {
        if !build.make() {
            return Err("the build failed".to_owned());
        }
        let benchwright = build.program("benchwright")?;
        let allowed = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = allowed_cpus(&allowed);
        let pinned = match allowed[..] {
            _ if !tools::has_program("taskset") => Err("taskset is missing (package util-linux)"),
            [server, client, ..] => Ok((server, client)),
            _ => Err("there is only one CPU"),
        };
        let (server, client) = match pinned {
            Ok((server, client)) => {
                println!("server on CPU {server}, client on CPU {client}");
                (Some(server), Some(client))
            }
            Err(why) => {
                println!("not pinned, so the two sides disturb each other: {why}");
                (None, None)
            }
        };
        Ok(Machine { benchwright, server, client })
    }

    /// Returns the same CPUs with the programs of an older build, which are in this folder.
    pub(crate) fn with_older(&self, folder: &Path) -> Result<Machine, String> {
        let benchwright = folder.join("benchwright");
        match benchwright.is_file() {
            true => Ok(Machine { benchwright, server: self.server, client: self.client }),
            false => Err(format!("{} is not there: build it first", benchwright.display())),
        }
    }

    /// Returns the path of another program of the same build.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.benchwright.with_file_name(name)
    }

    /// Returns a command that runs on the CPU of its side.
    pub(crate) fn command(&self, side: Side, program: impl AsRef<Path>) -> Command {
        let program = program.as_ref();
        let Some((server, client)) = self.server.zip(self.client) else {
            return Command::new(program);
        };
        let cpus = match side {
            Side::Server => server.to_string(),
            Side::Client => client.to_string(),
            Side::Both => format!("{server},{client}"),
        };
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cpus]).arg(program);
        command
    }
}

/// Returns a folder for files that a bench needs only during a run.
pub(crate) fn scratch() -> PathBuf {
    let folder = repository::target().join("bench");
    // If this fails, writing into the folder reports it.
    let _ = fs::create_dir_all(&folder);
    folder
}

/// Returns the CPUs in `Cpus_allowed_list` of a process's status.
fn allowed_cpus(status: &str) -> Vec<u32> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus = list.unwrap_or_default().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    });
    cpus.flatten().collect()
}

/// Runs a program to its end, and returns what it has printed on stdout.
pub(super) fn printed(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("starting {program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => {
            let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
            Err(format!("{command:?} ({}): {stdout}{stderr}", output.status))
        }
    }
}

/// A process that is killed and waited for when dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Process, String> {
        let program = command.get_program().display().to_string();
        command.spawn().map(Process).map_err(|error| format!("starting {program}: {error}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The congestion control of both sides of a bench that measures microseconds: others may spread
/// what is sent over time.
pub(super) const SENT_AT_ONCE: [&str; 2] = ["--congestion-control", "reno"];

/// `benchwright reference`, ready.
pub(crate) struct Server {
    process: Process,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(machine: &Machine, arguments: &[&str]) -> Result<Server, String> {
        let mut command = machine.command(Side::Server, &machine.benchwright);
        command.arg("reference").args(arguments).stdout(Stdio::piped());
        let mut process = Process::start(&mut command)?;
        let (lines, url) =
            ready(&mut process).ok_or("the reference server did not become ready")?;
        Ok(Server { process, lines, url })
    }

    /// Stops the server for this long: its clients see a stall.
    pub(crate) fn pause(&self, length: Nanos) {
        self.signal("STOP");
        sleep(length);
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        signal(name, &[self.process.0.id()]);
    }

    /// Ends the server with SIGTERM and returns its log.
    pub(super) fn end(mut self) -> Result<Value, String> {
        self.signal("TERM");
        let log = self.lines.next().and_then(Result::ok).unwrap_or_default();
        serde_json::from_str(&log).map_err(|_| format!("the reference server's log is `{log}`"))
    }
}

/// Returns the result of `run`, and the CPU time of the children that it waited for, in steps of 10
/// ms.
pub(super) fn with_cpu_of_children<T, E>(
    run: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Nanos), E> {
    let of_children = || own_ticks()[2..].iter().copied().sum::<Nanos>();
    let before = of_children();
    let given = run()?;
    Ok((given, of_children().saturating_sub(before)))
}

/// The CPU use of other processes during a bench.
///
/// The generator's gates show disturbances of the generator; this shows those of both sides, and
/// their cause.
pub(super) struct Others {
    begun: std::time::Instant,
    all: Nanos,
    own: Nanos,
}

impl Others {
    pub(super) fn watch() -> Others {
        Others { begun: now(), all: cpu_of_all(), own: own_cpu() }
    }

    /// Returns the time since the watch began.
    pub(super) fn seconds(&self) -> f64 {
        since(self.begun).as_secs_f64()
    }

    /// Returns the share of one CPU that they used since then. Processes that the bench started
    /// since must have ended.
    pub(super) fn share(&self) -> f64 {
        let all = cpu_of_all().saturating_sub(self.all);
        let own = own_cpu().saturating_sub(self.own);
        all.saturating_sub(own).as_secs_f64() / since(self.begun).as_secs_f64()
    }
}

/// The most CPU that others may use in a valid measurement: 2 % of the CPU of each of the two
/// sides.
pub(super) const MOST_OF_OTHERS: f64 = 0.04;

/// CPU time of a process so far, and of all that it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cpu {
    /// Exact, from the scheduler.
    pub(super) all: Nanos,
    /// From clock ticks of 10 ms: precise enough for shares.
    pub(super) user: Nanos,
    pub(super) kernel: Nanos,
}

impl Cpu {
    pub(super) fn add(&mut self, other: Cpu) {
        self.all += other.all;
        self.user += other.user;
        self.kernel += other.kernel;
    }

    /// Returns the CPU time since an earlier moment.
    pub(super) fn since(self, before: Cpu) -> Cpu {
        Cpu {
            all: self.all.saturating_sub(before.all),
            user: self.user.saturating_sub(before.user),
            kernel: self.kernel.saturating_sub(before.kernel),
        }
    }

    /// Returns the CPU time of a process and of all that it started, including ended ones.
    pub(super) fn of(pid: u32) -> Option<Cpu> {
        let process = Path::new("/proc").join(pid.to_string());
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        let [user, kernel, user_of_ended, kernel_of_ended] = ticks(&stat)?;
        let ended = user_of_ended + kernel_of_ended;
        let mut exact = ended;
        for thread in fs::read_dir(process.join("task")).ok()?.flatten() {
            let times = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let first = || times.split_whitespace().next()?.parse().ok().map(Nanos);
            exact += first().unwrap_or_default();
        }
        let mut cpu =
            Cpu { all: exact, user: user + user_of_ended, kernel: kernel + kernel_of_ended };
        processes::children(pid).into_iter().filter_map(Cpu::of).for_each(|child| cpu.add(child));
        Some(cpu)
    }
}

/// Reads the CPU time of a process in user mode and in the kernel, and of its children that were
/// waited for: the 14th to 17th field of its stat, in hundredths of a second, after its name.
fn ticks(stat: &str) -> Option<[Nanos; 4]> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let fields = behind_name.split_whitespace().skip(11).take(4);
    let ticks = fields.map_while(|field| Some(Nanos::from_millis(10 * field.parse::<u64>().ok()?)));
    ticks.collect::<Vec<Nanos>>().try_into().ok()
}

/// Reads the first line of a process, `ready <url>`; returns the reader of the other lines.
pub(super) fn ready(process: &mut Process) -> Option<(Lines<BufReader<ChildStdout>>, String)> {
    let mut lines = BufReader::new(process.0.stdout.take().expect("it was piped")).lines();
    let first = lines.next()?.ok()?;
    let url = first.strip_prefix("ready ")?.to_owned();
    Some((lines, url))
}

/// The longest time that a server may take to start.
const LONGEST_START: Nanos = Nanos::from_secs(20);

/// Returns a port on which nobody listens, below the ports that the kernel gives to connections.
pub(super) fn free_port() -> u16 {
    let first = 20_000 + (std::process::id() % 12_000) as u16;
    let mut ports = (first..32_000).chain(20_000..first);
    ports.find(|port| !listens(*port)).expect("nobody has 12,000 servers")
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

pub(super) fn wait_until_it_listens(port: u16, name: &str) -> Result<(), String> {
    wait_until(|| listens(port), &format!("{name} does not listen on port {port}"))
}

/// Waits for a server that starts; the error is `otherwise`, with the time.
pub(super) fn wait_until(mut holds: impl FnMut() -> bool, otherwise: &str) -> Result<(), String> {
    let begun = now();
    while !holds() {
        if LONGEST_START < since(begun) {
            return Err(format!("{otherwise} within {LONGEST_START}"));
        }
        sleep(Nanos::from_millis(10));
    }
    Ok(())
}

fn own_ticks() -> [Nanos; 4] {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has the stat of this process");
    ticks(&stat).expect("the kernel writes numbers")
}

fn own_cpu() -> Nanos {
    own_ticks().into_iter().sum()
}

/// Returns the CPU time of all processes; an ended process counts for the one that waited for it.
fn cpu_of_all() -> Nanos {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        fs::read_to_string(entry.path().join("stat")).ok()
    });
    stats.filter_map(|stat| ticks(&stat)).flatten().sum()
}

#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

pub(crate) fn since(begun: std::time::Instant) -> Nanos {
    Nanos::from_secs_f64((now() - begun).as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "a bench waits for real processes")]
pub(crate) fn sleep(length: Nanos) {
    std::thread::sleep(length.into());
}
