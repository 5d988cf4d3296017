//! Brokers, each a server of its own with its data in a folder, ended by its process id.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::tools::{free_port, freeze, program, signal, skip, wait_until_it_listens};

pub(crate) struct Broker {
    kind: Kind,
    programs: PathBuf,
    child: Child,
    port: u16,
    folder: TempDir,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Redis,
    Nats,
    Kafka,
}

impl Broker {
    /// Starts it. If it is not installed, notes that the test was skipped.
    pub(crate) fn start(kind: Kind, test: &str) -> Option<Self> {
        // Beside the scratch folder of cargo in the target folder.
        let brokers = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("brokers");
        let programs = match kind {
            Kind::Redis => program(test, "redis-server")?,
            Kind::Nats => brokers.join("nats-server"),
            Kind::Kafka => brokers.join("kafka"),
        };
        if !programs.exists() {
            skip(test, "the brokers that `cargo xtask brokers` installs into the target folder");
            return None;
        }
        let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
        if let Kind::Kafka = kind {
            program(test, "java")?;
            fs::write(folder.path().join("server.properties"), properties(port, folder.path()))
                .unwrap();
            let mut format = java(&programs);
            format.args(["kafka.tools.StorageTool", "format", "--standalone"]);
            format.args(["-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c"]);
            let format = format.arg(folder.path().join("server.properties"));
            let format = format.stdout(Stdio::null()).stderr(Stdio::null());
            assert!(format.status().unwrap().success());
        }
        let child = spawn(kind, &programs, port, folder.path());
        Some(Broker { kind, programs, child, port, folder })
    }

    /// Returns its address with the name of a stream.
    pub(crate) fn url(&self, stream: &str) -> String {
        let scheme = format!("{:?}", self.kind).to_lowercase();
        format!("{scheme}://127.0.0.1:{}/{stream}", self.port)
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns what the client of the distribution says to a command of Redis.
    pub(crate) fn tell_redis(&self, words: &[&str]) -> String {
        let mut client = Command::new("redis-cli");
        let output = client.args(["-p", &self.port.to_string()]).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Stops it with SIGSTOP: its connections stay open, and it does not respond.
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
        self.child = spawn(self.kind, &self.programs, self.port, self.folder.path());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // A frozen process is killed as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(kind: Kind, programs: &Path, port: u16, folder: &Path) -> Child {
    let mut command = match kind {
        Kind::Redis => {
            let mut redis = leaving(programs);
            redis.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(folder);
            redis.args(["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]);
            redis
        }
        Kind::Nats => {
            let mut nats = leaving(programs);
            nats.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"]).arg(folder);
            nats
        }
        Kind::Kafka => {
            let mut kafka = java(programs);
            kafka.arg("kafka.Kafka").arg(folder.join("server.properties"));
            kafka
        }
    };
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until_it_listens(port);
    child
}

/// A command that ends with the thread that started it.
fn leaving(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

fn java(jars: &Path) -> Command {
    let mut java = leaving(Path::new("java"));
    // What is not shown to be hot need not be compiled well.
    java.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    java.arg(jars.join("*"));
    java
}

/// The configuration of a Kafka that is its own controller.
fn properties(port: u16, folder: &Path) -> String {
    let (data, controller) = (folder.join("data"), free_port());
    format!(
        "process.roles=broker,controller\nnode.id=1\n\
         controller.quorum.bootstrap.servers=127.0.0.1:{controller}\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         controller.listener.names=CONTROLLER\noffsets.topic.replication.factor=1\n\
         log.dirs={}\n",
        data.display()
    )
}
