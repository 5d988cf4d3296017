//! One running instance and a client that writes and reads raw bytes, so that no library corrects
//! them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) struct Instance {
    child: Child,
    /// Its temporary folder, if it has one.
    folder: Option<PathBuf>,
    pub(crate) address: SocketAddr,
    is_over: bool,
}

impl Instance {
    /// Starts the hotel application and waits until it prints that it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(&std::env::temp_dir(), arguments)
    }

    /// Does the same with a temporary directory that no other instance cleans up.
    pub(crate) fn start_in(temporary: &Path, arguments: &[&str]) -> Self {
        Self::spawn(temporary, command(arguments))
    }

    /// Starts one service of the hotel application.
    pub(crate) fn service(name: &str, arguments: &[&str]) -> Self {
        Self::of("hotel", &[&[name], arguments].concat())
    }

    /// Starts an application.
    pub(crate) fn of(application: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
        command.arg(application).args(arguments);
        Self::spawn(&std::env::temp_dir(), command)
    }

    fn spawn(temporary: &Path, mut command: Command) -> Self {
        command.env("TMPDIR", temporary).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("ready http://").and_then(|rest| rest.strip_suffix('\n'));
        let address = address.expect("the first line names the address").parse().unwrap();
        let folder = folder_of(child.id());
        Instance { child, folder, address, is_over: false }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the most bytes that were ever resident in its memory.
    pub(crate) fn most_resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: u64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        1024 * kib
    }

    pub(crate) fn temporary_folder(&self) -> PathBuf {
        self.folder.clone().expect("it has a temporary folder")
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes and reads until the other side closes.
    pub(crate) fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        // It may refuse and close before it has read everything.
        let _ = stream.write_all(bytes.as_ref());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Returns the status and the body of the response to a request on a new connection.
    pub(crate) fn ask(&self, method: &str, target: &str) -> (u16, String) {
        let host = self.address;
        let request =
            format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = self.exchange(request);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    pub(crate) fn get(&self, target: &str) -> (u16, String) {
        self.ask("GET", target)
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.is_over = true;
    }

    /// Ends it as an operator would, and returns its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let id = self.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.is_over = true;
        self.child.wait().unwrap().code()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.folder.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
        }
    }
}

/// Returns the temporary folder of a process, which has it open for its lock.
fn folder_of(id: u32) -> Option<PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap();
    let mut paths = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let is_named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("benchwright-"))
    };
    paths.find(|path| path.is_dir() && is_named(path))
}

/// Runs the hotel application to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    command.args(["hotel", "all-in-one"]).args(arguments);
    command
}

#[expect(clippy::disallowed_methods, reason = "tests of processes take real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "tests of processes take real time")]
pub(crate) fn sleep(length: Duration) {
    thread::sleep(length);
}
