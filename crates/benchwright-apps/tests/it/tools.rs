//! Servers of the distribution, each started on a free loopback port in its own folder and ended by
//! its process id; and the note that a test makes when it needs a program that is missing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::instance::{now, sleep};

/// Notes that a test did not run because something is missing; see `xtask/src/skips.rs`.
pub(crate) fn skip(test: &str, needs: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs {needs}").unwrap();
    }
}

/// A free port, for a server that cannot print its port, or that must come back to the same one. It
/// is below the range that the kernel gives to connections, so none of the many connections in
/// these tests takes it meanwhile. It is tried with a connection, not with a listener: a process
/// that another test is just starting would hold a copy of the listener for a moment.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Tests in another process begin at another port.
    let first = std::process::id().wrapping_mul(0x9e37_79b1) >> 8;
    let next = || first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    let mut ports = std::iter::repeat_with(|| 20_000 + (next() % 12_000) as u16);
    ports
        .find(|port| TcpStream::connect(("127.0.0.1", *port)).is_err())
        .expect("the iterator never ends")
}

pub(crate) fn wait_until_it_listens(port: u16) {
    let began = now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing listens on port {port}");
        sleep(Duration::from_millis(5));
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// Returns true if no thread of a process runs.
fn is_stopped(id: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    threads.all(|thread| {
        let stat = fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
    })
}

/// A command that ends with the thread that started it. If we are root it runs as `user`: some
/// programs refuse to run as root.
fn unprivileged(program: &Path, user: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if is_root() {
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
    }
    command.arg("--").arg(program).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Returns a program of the distribution. If it is not installed, notes that the test was skipped.
pub(crate) fn program(test: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    let program = found.into_iter().find(|program| program.is_file());
    if program.is_none() {
        skip(test, name);
    }
    program
}

/// A memcached of the distribution.
pub(crate) struct Memcached {
    child: Child,
    port: u16,
}

impl Memcached {
    /// Starts it. If it is not installed, notes that the test was skipped.
    pub(crate) fn start(test: &str) -> Option<Memcached> {
        let program = program(test, "memcached")?;
        let port = free_port();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--"]).arg(program);
        command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-m", "16"]);
        command.args(["-t", "1", "-u", "nobody"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until_it_listens(port);
        Some(Memcached { child, port })
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Stops it with SIGSTOP: its connections stay open, and it does not respond.
    pub(crate) fn freeze(&self) {
        freeze(&self.child);
    }

    pub(crate) fn thaw(&self) {
        signal(&self.child, "-CONT");
    }
}

/// Stops all threads of a process: one that runs on another CPU stops a moment after the signal.
pub(crate) fn freeze(child: &Child) {
    signal(child, "-STOP");
    while !is_stopped(child.id()) {
        sleep(Duration::from_millis(1));
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Redis of the distribution that writes each change to its disk before it acknowledges it.
pub(crate) struct Redis {
    child: Child,
    program: PathBuf,
    port: u16,
    primary: Option<u16>,
    folder: TempDir,
}

impl Redis {
    /// Starts it. If it is not installed, notes that the test was skipped.
    pub(crate) fn start(test: &str) -> Option<Redis> {
        Some(Self::of(program(test, "redis-server")?, None))
    }

    /// Starts a replica of it, which answers nothing while it has no primary.
    pub(crate) fn replica(&self) -> Redis {
        Self::of(self.program.clone(), Some(self.port))
    }

    fn of(program: PathBuf, primary: Option<u16>) -> Redis {
        let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
        let child = Self::spawn(&program, port, primary, folder.path());
        Redis { child, program, port, primary, folder }
    }

    fn spawn(program: &Path, port: u16, primary: Option<u16>, folder: &Path) -> Child {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--"]).arg(program);
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(folder);
        command.args(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
        if let Some(primary) = primary {
            command.args(["--replicaof", &format!("127.0.0.1 {primary}")]);
            command.args(["--replica-serve-stale-data", "no"]);
        } else {
            command.args(["--repl-diskless-sync-delay", "0"]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until_it_listens(port);
        child
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends a command of words without blanks, and returns the first line of its answer.
    pub(crate) fn tell(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn freeze(&self) {
        freeze(&self.child);
    }

    pub(crate) fn thaw(&self) {
        signal(&self.child, "-CONT");
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again after a kill, with its data and at its address.
    pub(crate) fn resume(&mut self) {
        self.child = Self::spawn(&self.program, self.port, self.primary, self.folder.path());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // A frozen process is killed as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A PostgreSQL of the distribution with an empty database.
pub(crate) struct Postgres {
    server: Option<Child>,
    port: u16,
    folder: TempDir,
    programs: PathBuf,
}

const USER: &str = "postgres";

impl Postgres {
    /// Starts it. If it is not installed, notes that the test was skipped.
    pub(crate) fn start(test: &str) -> Option<Postgres> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut programs = versions.map(|version| version.path().join("bin"));
        let Some(programs) = programs.find(|programs| programs.join("postgres").is_file()) else {
            skip(test, "postgresql");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        if is_root() {
            let number = |option| {
                let output = Command::new("id").args([option, USER]).output().unwrap();
                String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
            };
            chown(folder.path(), Some(number("-u")), Some(number("-g"))).unwrap();
        }
        let mut prepare = unprivileged(&programs.join("initdb"), USER);
        prepare.args(["--no-sync", "--auth=trust", "--username=hotel", "--no-locale"]);
        prepare.args(["--encoding=UTF8", "--pgdata"]).arg(folder.path().join("data"));
        assert!(prepare.current_dir(folder.path()).status().unwrap().success(), "initdb");
        let mut postgres = Postgres { server: None, port: free_port(), folder, programs };
        postgres.resume();
        Some(postgres)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://hotel@127.0.0.1:{}/postgres", self.port)
    }

    /// Starts it, for the first time or again. While processes of a killed one still end, it refuses to
    /// start.
    pub(crate) fn resume(&mut self) {
        let folder = self.folder.path();
        let began = now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "PostgreSQL does not start");
            let is_running =
                self.server.as_mut().is_some_and(|one| one.try_wait().unwrap().is_none());
            if !is_running {
                let mut command = unprivileged(&self.programs.join("postgres"), USER);
                command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
                command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-B", "16MB"]);
                self.server = Some(command.current_dir(folder).spawn().unwrap());
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// Runs a statement.
    pub(crate) fn run(&self, statement: &str) {
        let mut command = unprivileged(&self.programs.join("psql"), USER);
        command.arg(self.url()).args(["-v", "ON_ERROR_STOP=1", "-c", statement]);
        assert!(command.status().unwrap().success(), "{statement}");
    }

    /// Ends it without waiting for its clients (a fast shutdown).
    pub(crate) fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            signal(&server, "-INT");
            server.wait().unwrap();
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}
