//! One running instance with as many replicas of each service as a test needs, the events that
//! happen to processes, and callers that send requests continuously.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::instance::{now, sleep};
use crate::tools::free_port;

pub(crate) const SEARCH: &str =
    "/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095";
/// A part of the response to that.
pub(crate) const FOUND: &str = r#""id":"42""#;

const ASK_STORE: [&str; 6] = ["geo", "rate", "profile", "recommendation", "user", "reservation"];

/// One process of the application.
pub(crate) struct Process {
    arguments: Vec<String>,
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts it and waits until it prints that it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Process {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        let (child, address) = started(&arguments, &format!("127.0.0.1:{}", free_port()));
        Process { arguments, child, address }
    }

    /// Starts it once more, with the same address.
    pub(crate) fn start_again(&mut self) {
        let (child, address) = started(&self.arguments, &self.address.to_string());
        assert_eq!(address, self.address);
        self.child = child;
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Ends it with SIGTERM and returns its exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.end_by("-TERM")
    }

    /// Ends it with a signal and returns its exit code.
    pub(crate) fn end_by(&mut self, name: &str) -> Option<i32> {
        self.signal(name);
        self.child.wait().unwrap().code()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Returns the bytes of its resident memory.
    pub(crate) fn resident(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let pages = std::fs::read_to_string(path).unwrap();
        4096 * pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    }

    pub(crate) fn get(&self, target: &str) -> (u16, String) {
        Caller::new(self.address).ask("GET", target).unwrap()
    }

    /// Returns the number of calls that it answered with this code.
    pub(crate) fn answered(&self, code: &str) -> u64 {
        let (_, metrics) = self.get("/metrics");
        let label = format!("code=\"{code}\"");
        let calls = |line: &&str| line.starts_with("hotel_calls_answered_total{");
        let mut lines = metrics.lines().filter(calls).filter(|line| line.contains(&label));
        lines.next().map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn started(arguments: &[String], listen: &str) -> (Child, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    command.arg("hotel").args(arguments).args(["--listen", listen]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("ready http://").expect("the first line names the address");
    (child, address.trim_end().parse().unwrap())
}

/// The plan of an instance; by default one replica of each service without options.
#[derive(Default)]
pub(crate) struct Plan {
    replicas: BTreeMap<&'static str, usize>,
    options: BTreeMap<&'static str, Vec<&'static str>>,
    in_files: bool,
}

impl Plan {
    pub(crate) fn replicas(mut self, service: &'static str, count: usize) -> Self {
        self.replicas.insert(service, count);
        self
    }

    pub(crate) fn options(mut self, service: &'static str, options: &[&'static str]) -> Self {
        self.options.insert(service, options.to_vec());
        self
    }

    /// Makes callers read the addresses from files, which the test may replace.
    pub(crate) fn in_files(mut self) -> Self {
        self.in_files = true;
        self
    }

    pub(crate) fn start(self) -> Services {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut services = Services { plan: self, folder, processes: BTreeMap::new() };
        services.start("store", &["--data", data.to_str().unwrap()]);
        let store = services.list("store");
        thread::scope(|scope| {
            let services = &services;
            let started = ASK_STORE
                .map(|one| (one, scope.spawn(|| services.replicas_of(one, &["--store", &store]))));
            started.map(|(one, process)| (one, process.join().unwrap()))
        })
        .into_iter()
        .for_each(|(one, processes)| drop(services.processes.insert(one, processes)));
        services.start_above("search", &["geo", "rate"]);
        services.start_above(
            "frontend",
            &["search", "profile", "recommendation", "user", "reservation", "store"],
        );
        services
    }
}

pub(crate) struct Services {
    plan: Plan,
    folder: TempDir,
    processes: BTreeMap<&'static str, Vec<Process>>,
}

impl Services {
    pub(crate) fn of(&mut self, service: &str) -> &mut Vec<Process> {
        self.processes.get_mut(service).unwrap()
    }

    pub(crate) fn frontend(&self) -> SocketAddr {
        self.processes["frontend"][0].address
    }

    /// Adds one more replica, which no caller knows yet.
    pub(crate) fn add(&mut self, service: &'static str) {
        let store = self.list("store");
        let more = self.replicas_of(service, &["--store", &store]).remove(0);
        self.of(service).push(more);
    }

    /// Sets the replicas, by number, that callers with address files shall call from now on.
    pub(crate) fn announce(&self, service: &str, replicas: &[usize]) {
        let addresses: Vec<String> =
            replicas.iter().map(|at| self.processes[service][*at].address.to_string()).collect();
        let written = self.folder.path().join("new");
        std::fs::write(&written, addresses.join("\n")).unwrap();
        std::fs::rename(written, self.file(service)).unwrap();
    }

    fn start_above(&mut self, service: &'static str, below: &[&str]) {
        let arguments: Vec<String> =
            below.iter().flat_map(|one| [format!("--{one}"), self.list(one)]).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.start(service, &arguments);
    }

    fn start(&mut self, service: &'static str, arguments: &[&str]) {
        let processes = self.replicas_of(service, arguments);
        self.processes.insert(service, processes);
    }

    fn replicas_of(&self, service: &'static str, arguments: &[&str]) -> Vec<Process> {
        let options = self.plan.options.get(service).map_or(&[][..], Vec::as_slice);
        let arguments = [&[service], arguments, options].concat();
        let count = self.plan.replicas.get(service).copied().unwrap_or(1);
        (0..count).map(|_| Process::start(&arguments)).collect()
    }

    fn list(&self, service: &str) -> String {
        if self.plan.in_files {
            self.announce(service, &(0..self.processes[service].len()).collect::<Vec<_>>());
            return format!("@{}", self.file(service).display());
        }
        let addresses = self.processes[service].iter().map(|one| one.address.to_string());
        addresses.collect::<Vec<_>>().join(",")
    }

    fn file(&self, service: &str) -> PathBuf {
        self.folder.path().join(service)
    }
}

/// A caller with one connection, which is opened again when the other side closes it.
pub(crate) struct Caller {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Caller {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Caller { address, stream: None }
    }

    /// Returns the status and the body of the response.
    pub(crate) fn ask(&mut self, method: &str, target: &str) -> std::io::Result<(u16, String)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => BufReader::new(connect(self.address)?),
        };
        let request = format!("{method} {target} HTTP/1.1\r\nHost: hotel\r\n\r\n");
        stream.get_mut().write_all(request.as_bytes())?;
        let mut status = 0;
        let mut length = 0;
        let mut is_last = false;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end().split_once(' ') {
                None => break,
                Some(("HTTP/1.1", rest)) => status = rest[..3].parse().unwrap(),
                Some(("Content-Length:", rest)) => length = rest.parse().unwrap(),
                Some(("Connection:", rest)) => is_last = rest == "close",
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        if !is_last {
            self.stream = Some(stream);
        }
        Ok((status, String::from_utf8(body).unwrap()))
    }
}

pub(crate) fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

/// One request of a load.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) began: Instant,
    pub(crate) took: Duration,
    /// The response, if it was not the expected one.
    pub(crate) wrong: Option<String>,
}

/// Callers that repeat the same request until they are stopped.
pub(crate) struct Load {
    end: Arc<AtomicBool>,
    callers: Vec<JoinHandle<Vec<Sample>>>,
}

/// The think time of a caller.
const PAUSE: Duration = Duration::from_millis(2);

impl Load {
    pub(crate) fn start(address: SocketAddr, callers: usize) -> Load {
        let end = Arc::new(AtomicBool::new(false));
        let caller = || {
            let end = Arc::clone(&end);
            thread::spawn(move || ask_until(&end, address))
        };
        let callers = (0..callers).map(|_| caller()).collect();
        Load { end, callers }
    }

    /// Ends the load and returns all samples, in order.
    pub(crate) fn end(self) -> Vec<Sample> {
        self.end.store(true, Ordering::Relaxed);
        let samples = self.callers.into_iter().flat_map(|caller| caller.join().unwrap());
        let mut samples: Vec<Sample> = samples.collect();
        samples.sort_by_key(|sample| sample.began);
        samples
    }
}

fn ask_until(end: &AtomicBool, address: SocketAddr) -> Vec<Sample> {
    let mut caller = Caller::new(address);
    let mut samples = Vec::new();
    while !end.load(Ordering::Relaxed) {
        let began = now();
        let wrong = match caller.ask("GET", SEARCH) {
            Ok((200, body)) if body.contains(FOUND) => None,
            other => Some(format!("{other:?}")),
        };
        samples.push(Sample { began, took: began.elapsed(), wrong });
        sleep(PAUSE);
    }
    samples
}

/// Returns the failed samples.
pub(crate) fn failures(samples: &[Sample]) -> Vec<&Sample> {
    samples.iter().filter(|sample| sample.wrong.is_some()).collect()
}

/// Waits until a condition holds; returns how long that took.
pub(crate) fn wait_for(what: &str, most: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let began = now();
    while !holds() {
        assert!(began.elapsed() < most, "{what}: not within {most:?}");
        sleep(Duration::from_millis(10));
    }
    began.elapsed()
}
