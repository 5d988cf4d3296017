//! Helpers of the tests: they start processes, end them by pid and read their results.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) fn benchwright() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_benchwright"))
}

pub(crate) fn apps() -> PathBuf {
    let path = benchwright().with_file_name("benchwright-apps");
    assert!(
        path.exists(),
        "{} is missing; build it with `cargo build -p benchwright-apps`",
        path.display()
    );
    path
}

/// The folder of the shipped experiments.
pub(crate) fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").canonicalize().unwrap()
}

/// Locks the machine: two tests that measure at the same time would disturb each other.
pub(crate) fn machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

thread_local! {
    /// The processes that `run_while` started for the test of this thread.
    static STARTED: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) };
}

/// Starts the command, runs `meanwhile` with its pid, and waits for its end.
pub(crate) fn run_while(command: &mut Command, meanwhile: impl FnOnce(u32)) -> Ran {
    let begun = now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        text
    });
    STARTED.with_borrow_mut(|started| started.insert(child.id()));
    meanwhile(child.id());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: reader.join().unwrap(),
        took: now() - begun,
    }
}

pub(crate) fn run(arguments: &[&str]) -> Ran {
    run_while(Command::new(benchwright()).args(arguments), |_| {})
}

/// Returns the command of a program on CPU 0: generators take the last ones, and a server that the
/// kernel wakes on the CPU of its generator makes it late.
fn on_first_cpu(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]).arg(program);
    command
}

/// A server that was started by a test; it ends with the test.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let url = line.strip_prefix("ready ").unwrap_or_else(|| panic!("{command:?}: {line:?}"));
        Server { child, url: url.trim().to_owned(), stdout }
    }

    pub(crate) fn reference(arguments: &[&str]) -> Server {
        Server::start(on_first_cpu(&benchwright()).arg("reference").args(arguments))
    }

    pub(crate) fn hotel() -> Server {
        Server::start(on_first_cpu(&apps()).args(["hotel", "all-in-one"]))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server, and returns what it printed last.
    pub(crate) fn end(mut self) -> String {
        signal(self.child.id(), "TERM");
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        text
    }

    /// Waits until the server ends by itself; returns its exit code and what it printed last.
    pub(crate) fn ended(mut self) -> (i32, String) {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), text)
    }

    /// Returns the value of one series at `/metrics`, or 0.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        let page = get(&self.url, "/metrics");
        let line = page.lines().find_map(|line| line.strip_prefix(series));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }
}

impl Drop for Server {
    /// Ends the server with SIGTERM, so that it removes its own folder, unless `end` has done so.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            signal(self.child.id(), "TERM");
            let _ = self.child.wait();
        }
    }
}

/// Returns the body of a server's response.
pub(crate) fn get(url: &str, target: &str) -> String {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap_or_default().1.to_owned()
}

pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(status.unwrap().success(), "kill -{name} {pid}");
}

/// Waits until the process handles Ctrl-C, before which Ctrl-C would just kill it, or has ended.
pub(crate) fn until_it_listens_to_ctrl_c(pid: u32) {
    let listens = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let mask = line("SigCgt:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // Signal 2 is the second bit.
        let has_ended = line("State:").is_none_or(|state| state.trim().starts_with('Z'));
        has_ended || mask.is_some_and(|mask| mask & 2 != 0)
    };
    until("a handler of signals", listens);
}

pub(crate) fn sleep(length: Duration) {
    #[expect(clippy::disallowed_methods, reason = "real processes take real time")]
    std::thread::sleep(length);
}

pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "real processes take real time")]
    Instant::now()
}

/// The rests after the attempts of a test that prefers a calm machine, in seconds.
const RESTS: [u64; 6] = [0, 0, 1, 2, 5, 10];

/// Repeats an attempt as long as the machine disturbs it (`Err`), and returns the last one.
pub(crate) fn when_calm<T>(mut attempt: impl FnMut() -> Result<T, T>) -> T {
    for rest in RESTS {
        match attempt() {
            Ok(calm) => return calm,
            Err(_) => sleep(Duration::from_secs(rest)),
        }
    }
    attempt().unwrap_or_else(|disturbed| disturbed)
}

/// The settings for a shared machine: a trial that others disturb is repeated, but not for long.
pub(crate) const PATIENT: [&str; 4] =
    ["--set", "budget.invalid_attempts=20", "--set", "budget.disturbance=120s"];

/// Runs an experiment to its end. It must be answered, unless others took the machine (`Err`): then
/// it must say so.
pub(crate) fn run_patiently(command: &mut Command, folder: &Path) -> Result<Ran, Ran> {
    let steal = Steal::read();
    let ran = run_while(command, |_| {});
    let answer = check_answer(&ran);
    if ran.code == 3 {
        let summary = answer["summary"].as_str().unwrap();
        let used_up = ["a trial was not valid 21 times", "disturbances used up the"];
        assert!(used_up.iter().any(|why| summary.contains(why)), "{ran:#?}");
        assert_eq!(journal(folder).last().unwrap()["status"], "invalid", "{ran:#?}");
        steal.assert_was_much(summary);
        return Err(ran);
    }
    assert_eq!((ran.code, &answer["verdict"]), (0, &Value::from("answered")), "{ran:#?}");
    Ok(ran)
}

/// Returns the answer of a run.
pub(crate) fn check_answer(ran: &Ran) -> Value {
    let answer = ran.json();
    assert_eq!(answer["schema"], "benchwright.run/3", "{ran:#?}");
    answer
}

/// Returns the entries of a results directory's journal.
pub(crate) fn journal(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The time that others took from this machine: that stolen by the kernel's own count, and the pauses of a thread
/// that does little but wake up. It is the evidence that a test needs where it accepts that a disturbed
/// machine gives no answer.
pub(crate) struct Steal {
    stolen: u64,
    all: u64,
    pauses: Arc<Pauses>,
}

#[derive(Default)]
struct Pauses {
    wakes: AtomicU64,
    late: AtomicU64,
    has_ended: AtomicBool,
}

impl Steal {
    /// The share of the time from which on a trial of a run is refused.
    const BOUND: f64 = 0.01;

    /// The share of late turns from which on one trial of a second after the other may have a hundredth of
    /// late requests: bursts come in bunches.
    const LATE_BOUND: f64 = 0.0025;

    /// The lateness that is no longer that of a timer: some trials are refused for as little.
    const LATE: Duration = Duration::from_micros(300);

    /// The sleep of the watching thread in each turn.
    const TURN: Duration = Duration::from_millis(1);

    /// The work of the watching thread in each turn.
    const BUSY: Duration = Duration::from_micros(50);

    /// Reads the ticks of all CPUs since the machine was started.
    pub(crate) fn read() -> Steal {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let of_all_cpus = text.lines().next().unwrap().split_whitespace().skip(1);
        let ticks: Vec<u64> = of_all_cpus.map(|ticks| ticks.parse().unwrap()).collect();
        let pauses = Arc::new(Pauses::default());
        let watched = Arc::clone(&pauses);
        std::thread::spawn(move || {
            while !watched.has_ended.load(Ordering::Relaxed) {
                let wanted = now() + Steal::TURN;
                sleep(Steal::TURN);
                watched.wakes.fetch_add(1, Ordering::Relaxed);
                let is_late = wanted + Steal::LATE < now();
                watched.late.fetch_add(u64::from(is_late), Ordering::Relaxed);
                // As a generator does: who only sleeps is woken before all others.
                let busy_until = now() + Steal::BUSY;
                while now() < busy_until {}
            }
        });
        // The last two, for guests, are part of the first two.
        Steal { stolen: ticks[7], all: ticks[..8].iter().sum(), pauses }
    }

    /// Asserts that others took more of the machine since then than a run allows.
    pub(crate) fn assert_was_much(&self, what: &str) {
        let now = Steal::read();
        let share = (now.stolen - self.stolen) as f64 / (now.all - self.all) as f64;
        let count = |counted: &AtomicU64| counted.load(Ordering::Relaxed) as f64;
        let late = count(&self.pauses.late) / count(&self.pauses.wakes);
        assert!(
            Steal::BOUND < share || Steal::LATE_BOUND < late,
            "{what}, although steal took {:.1} % and a watching thread was late {:.2} % of the times",
            share * 100.0,
            late * 100.0,
        );
    }
}

impl Drop for Steal {
    fn drop(&mut self) {
        self.pauses.has_ended.store(true, Ordering::Relaxed);
    }
}

/// Makes up to three attempts until one takes at most the longest time: others use this machine,
/// too.
pub(crate) fn soon(longest: Duration, mut attempt: impl FnMut() -> Duration) {
    let mut took = Vec::new();
    while took.len() < 3 {
        took.push(attempt());
        if took.last().is_some_and(|last| *last <= longest) {
            return;
        }
    }
    panic!("it should take {longest:?}, and took {took:?}");
}

/// Waits until something holds, at most a minute.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let end = now() + Duration::from_secs(60);
    while !holds() {
        assert!(now() < end, "{what}: not in a minute");
        sleep(Duration::from_millis(10));
    }
}

/// Returns a free port, for a server that cannot print which one it took. It is below the ports
/// that the kernel assigns, so that no other program gets it meanwhile. It is tested by connecting,
/// not by listening: our listener could stay open in a process that is just being started.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = || std::process::id().wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    let mut ports = std::iter::repeat_with(|| 20_000 + (next() % 12_000) as u16);
    ports
        .find(|port| std::net::TcpStream::connect(("127.0.0.1", *port)).is_err())
        .expect("the iterator never ends")
}

/// Returns the folder of the originals' files; without one, reports the test as skipped.
pub(crate) fn peers(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("BENCHWRIGHT_PEERS").map(PathBuf::from);
    if folder.is_none() {
        skip(test, "BENCHWRIGHT_PEERS, the folder of the originals' scripts");
    }
    folder
}

/// Returns true if a program of the distribution is there; otherwise reports the test as skipped.
pub(crate) fn tool(test: &str, name: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join(name).exists());
    if !found {
        skip(test, name);
    }
    found
}

/// Returns a Python with the libraries that foreign readers need. It is beside cargo's scratch
/// folder in the target folder; if it is missing, reports the test as skipped.
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("python/bin/python");
    if !python.is_file() {
        skip(test, "hdrhistogram in the target folder, where `cargo xtask ci` installs it");
        return None;
    }
    Some(python)
}

pub(crate) fn skip(test: &str, needs: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs {needs}").unwrap();
    }
}

/// An experiment whose search takes longer than a test waits for it: it is ended by a signal.
pub(crate) const LONG_SEARCH: &str = "\
name: long
where: {backend: simulated}
simulated: {service_time: 1ms, servers: 4}
workload: {get: /}
load: {model: open}
phases: {warm_up: {fixed: 1s}, measure: {time: 30s}, drain: 1s}
search: {range: [2000/s, 3000/s], step: 1/s}
budget: {trials: 1000}
";

/// Three trials of a simulated queue: the shortest run that has several.
pub(crate) const QUEUE: &str = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open, rate: 100/s}
phases: {warm_up: {fixed: 100ms}, measure: {time: 500ms}, drain: 100ms}
repeat: {trials: 3}
";

/// A temporary folder of a test; everything that the test starts has its temporary files in it.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns the command, with this folder for its temporary files, and for the lock and the notes of its
    /// runs: the user may have an experiment of their own.
    pub(crate) fn benchwright(&self) -> Command {
        let mut command = Command::new(benchwright());
        command.env("TMPDIR", self.path().join("tmp")).current_dir(self.path());
        command.env("BENCHWRIGHT_RUNTIME", self.path().join("runtime"));
        std::fs::create_dir_all(self.path().join("tmp")).unwrap();
        command
    }

    /// Returns what is left of the runs that used this folder; it must be empty.
    pub(crate) fn remains(&self) -> Vec<String> {
        let mut remains = Vec::new();
        for entry in std::fs::read_dir(self.path().join("tmp")).unwrap().flatten() {
            remains.push(entry.file_name().into_string().unwrap());
        }
        for note in std::fs::read_dir(self.path().join("runtime")).into_iter().flatten().flatten() {
            // All runs share the lock, and none removes it.
            remains.extend(note.file_name().into_string().ok().filter(|name| name != "lock"));
        }
        // Others run experiments on this machine, too, and end when they want.
        let groups = groups(Path::new("/sys/fs/cgroup"), 4).into_iter();
        let left = groups.filter(|group| is_of_this_test(group));
        remains.extend(left.map(|group| group.display().to_string()));
        let temporary = format!("TMPDIR={}", self.path().display());
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if environment.split(|&b| b == 0).any(|word| word.starts_with(temporary.as_bytes())) {
                let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                let command = String::from_utf8_lossy(&command).replace('\0', " ");
                remains.push(format!("process {:?}: {command}", process.file_name()));
            }
        }
        remains
    }
}

/// Returns true if a control group, `benchwright-<pid>-<start>`, is of a run that this test started.
fn is_of_this_test(group: &Path) -> bool {
    let pid = group.file_name().and_then(|name| name.to_str()?.split('-').nth(1)?.parse().ok());
    pid.is_some_and(|pid: u32| STARTED.with_borrow(|started| started.contains(&pid)))
}

/// Returns the control groups of runs, at most `depth` levels below a folder.
fn groups(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.starts_with("benchwright-") {
            found.push(entry.path());
        } else if 0 < depth && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(groups(&entry.path(), depth - 1));
        }
    }
    found
}
