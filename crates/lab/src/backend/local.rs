//! Processes on this machine: each component has its own control group and process group, and so
//! does the generator. A service that runs elsewhere (`external`) is this backend without
//! components.
//!
//! Nothing is ever left running: every exit path ends in `stop`, the kernel kills the processes of
//! a killed runner, and the next run removes the rest.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use measure::{Instant, Nanos};
use nix::sys::signal::Signal;
use results::Environment;
use results::environment::Node;

use super::{Backend, Component, Drive, Driven, Reply, Stop, Tick};
use crate::calm::Calm;
use crate::host::{self, RunId};
use crate::spec::{Cpus, Exchange, Literal, Resolved, Step, Written};
use crate::{Host, generator, http, remains};
use confine::{Confinement, Group, Limits};
use output::Output;
use process::Process;
use watch::Source;

mod calm;
pub(crate) mod confine;
mod drive;
mod output;
pub(crate) mod process;
mod sockets;
mod watch;

#[cfg(test)]
mod tests;

/// The interval at which a waiting runner checks its processes.
const POLL_EVERY: Duration = Duration::from_millis(20);
/// The longest time that a component may take to end by itself.
const GENTLE: Nanos = Nanos::from_secs(2);
/// The longest time for reading the output of ended processes: a grandchild may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The processes of one run.
pub struct Local {
    host: Host,
    run: RunId,
    /// Created at the first start.
    confinement: Option<Confinement>,
    folder: RunFolder,
    roles: BTreeMap<&'static str, Cpus>,
    running: Vec<Running>,
    outputs: BTreeMap<String, Output>,
    /// The folder where the components' outputs are kept, if anywhere.
    logs: Option<PathBuf>,
    script_folder: PathBuf,
}

/// One started process.
struct Running {
    name: String,
    /// The service of which it is a replica.
    service: String,
    process: Process,
    group: Group,
    output: Output,
    /// The data that a watch needs about it.
    source: Source,
    ready_within: Nanos,
    /// One for each stream that is copied; each ends with its stream.
    pumps: Vec<Receiver<()>>,
}

impl Local {
    pub fn new(host: Host) -> Local {
        let run = RunId::new();
        let folder = RunFolder::new(host.temporary.join(format!("{}{run}", remains::FOLDER)));
        Local {
            host,
            run,
            confinement: None,
            folder,
            roles: BTreeMap::new(),
            running: Vec::new(),
            outputs: BTreeMap::new(),
            logs: None,
            script_folder: PathBuf::from("."),
        }
    }

    fn confinement(&mut self) -> &Confinement {
        let name = format!("{}{}", remains::GROUP, self.run);
        let root = &self.host.cgroups;
        self.confinement.get_or_insert_with(|| Confinement::find(root, &confine::own(), &name))
    }

    fn interrupted(&self) -> Result<(), Stop> {
        if self.host.is_interrupted() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// Starts a component's process and copies its output; the receiver gets the lines of stdout.
    fn launch(&mut self, component: &Component) -> anyhow::Result<(Running, Receiver<String>)> {
        let (program, mut arguments) = command(component, &self.host, &self.script_folder)?;
        let folder = self.folder.make()?;
        let statistics = is_app(component).then(|| statistics(&folder, &component.name));
        if let Some(statistics) = &statistics {
            arguments.extend(["--statistics".to_owned(), statistics.display().to_string()]);
        }
        let cpus = self.roles.get(component.role).cloned();
        let confinement = self.confinement();
        // A limit that cannot be enforced was reported as a caveat.
        let limit = component.cpu_limit.filter(|_| confinement.can_limit());
        let memory = component.memory_limit.filter(|_| confinement.can_limit_memory());
        let group = confinement
            .group(&component.name, cpus.as_ref(), Limits { cpu: limit, memory })
            .with_context(|| format!("making the control group of `{}`", component.name))?;
        let mut command = Command::new(program);
        command.args(arguments).envs(&component.environment).env("TMPDIR", folder);
        let mut process = start(command, &group, cpus.as_ref())?;
        let output = self.output(&component.name);
        output.begin();
        let (sender, lines) = mpsc::channel();
        let (stdout, stderr) = process.take_output();
        let of_stdout = output.clone();
        let of_stderr = output.clone();
        let pumps = vec![
            in_background(move || output::pump(stdout, &of_stdout, Some(&sender))),
            in_background(move || output::pump(stderr, &of_stderr, None)),
        ];
        let of_role = cpus.map_or_else(cpus_here, |cpus| cpus.0.len() as f64);
        let Component { name, step, service, ready_within, role, .. } = component.clone();
        let source = Source {
            name: name.clone(),
            step,
            role,
            of_role,
            cpu_limit: limit,
            pid: process.id(),
            group: group.clone(),
            port: None,
            statistics,
        };
        Ok((Running { name, service, process, group, output, source, ready_within, pumps }, lines))
    }

    fn output(&mut self, name: &str) -> Output {
        let logs = self.logs.clone();
        let new = || {
            let folder = logs?;
            fs::create_dir_all(&folder).ok()?;
            Some(folder.join(format!("{name}.log")))
        };
        let output = self.outputs.entry(name.to_owned());
        output.or_insert_with(|| Output::new(new().as_deref())).clone()
    }
}

impl Backend for Local {
    fn now(&mut self) -> Instant {
        host::now()
    }

    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        let end = host::now() + length;
        loop {
            self.interrupted()?;
            let left = Duration::from(end.saturating_since(host::now()));
            if left.is_zero() {
                return Ok(());
            }
            rest(left.min(POLL_EVERY));
        }
    }

    fn accept(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        self.roles = roles(resolved)?;
        check_script(resolved, &self.host)
    }

    fn prepare(&mut self, resolved: &Resolved) -> Result<Environment, Stop> {
        self.script_folder = resolved.folder.clone();
        let roles = self.roles.iter().map(|(role, cpus)| ((*role).to_owned(), cpus.to_string()));
        Ok(Environment {
            nodes: vec![Node::read(Path::new("/"))],
            roles: roles.collect(),
            versions: host::versions(resolved, &self.host),
            confinement: Some(self.confinement().to_string()),
            placement: BTreeMap::new(),
        })
    }

    fn caveats(&mut self, resolved: &Resolved) -> Vec<String> {
        let confinement = self.confinement();
        let unenforced = |step: &Step, what: &str, limit: String| {
            format!(
                "`{}` runs without its {what} limit of {limit}: {confinement}; run as root or in a \
                 delegated control group to enforce it",
                step.name(),
            )
        };
        let of_step = |step: &Step| {
            let cpu = step.cpu_limit().filter(|_| !confinement.can_limit());
            let memory = step.memory_limit().filter(|_| !confinement.can_limit_memory());
            let cpu = cpu.map(|limit| unenforced(step, "CPU", limit.0.to_string()));
            cpu.into_iter().chain(memory.map(|limit| unenforced(step, "memory", limit.write())))
        };
        resolved.spec.sut.deploy.iter().flat_map(of_step).collect()
    }

    fn keep_output(&mut self, folder: &Path) {
        self.logs = Some(folder.to_owned());
    }

    /// Both an application and a process are given `--listen 127.0.0.1:0` and print their address.
    fn start(&mut self, wave: &[Component]) -> Result<Vec<String>, Stop> {
        let first = self.running.len();
        let mut lines = Vec::new();
        for component in wave {
            self.interrupted()?;
            let launched = self.launch(component).map_err(Stop::NoAnswer)?;
            self.running.push(launched.0);
            lines.push(launched.1);
        }
        let started = &mut self.running[first..];
        let urls = all_ready(started, &lines, &self.host)?;
        for (running, url) in started.iter_mut().zip(&urls) {
            running.source.port = port(url);
        }
        Ok(urls)
    }

    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop> {
        let living = self.running.iter().filter(|running| lives(running));
        let placed = living.map(|running| {
            let processes = running.group.processes(running.process.id());
            (running.name.clone(), allowed_cpus(&processes))
        });
        Ok(placed.collect())
    }

    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        http::ask(url, exchange, host::now, || self.host.is_interrupted())
    }

    fn check(&mut self) -> Result<(), Stop> {
        self.interrupted()?;
        match self.running.iter().find_map(died) {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    fn last_words(&mut self) -> Vec<String> {
        self.running.iter().flat_map(|running| running.output.last_lines()).collect()
    }

    fn await_calm(&mut self, within: Nanos) -> Result<Calm, Stop> {
        calm::wait(self, within)
    }

    fn drive(&mut self, drive: &Drive, tick: &mut dyn FnMut(Tick)) -> Result<Driven, Stop> {
        drive::drive(self, drive, tick)
    }

    fn stop(&mut self) {
        end(std::mem::take(&mut self.running));
        if let Some(confinement) = self.confinement.take() {
            confinement.remove();
        }
        self.folder.remove();
    }
}

/// The folder of a run's temporary files. Its name can be guessed, and everybody may be able to
/// write to the folder above it: so it is created by us with access for us alone, or not used.
struct RunFolder {
    path: PathBuf,
    is_made: bool,
}

impl RunFolder {
    fn new(path: PathBuf) -> RunFolder {
        RunFolder { path, is_made: false }
    }

    /// Creates it if it does not exist yet.
    fn make(&mut self) -> anyhow::Result<PathBuf> {
        if !self.is_made {
            let made = DirBuilder::new().mode(0o700).create(&self.path);
            made.with_context(|| format!("making {}", self.path.display()))?;
            self.is_made = true;
        }
        Ok(self.path.clone())
    }

    fn remove(&mut self) {
        if std::mem::take(&mut self.is_made) {
            // If it cannot be removed now, the next run removes it: see `remains`.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Starts a process in its group; removes the group if the process cannot be started.
fn start(command: Command, group: &Group, cpus: Option<&Cpus>) -> anyhow::Result<Process> {
    let program = PathBuf::from(command.get_program());
    process::spawn(command, group, cpus).map_err(|error| {
        group.remove();
        anyhow!("cannot start {}: {}", program.display(), crate::spec::plain(&error))
    })
}

/// Stops everything on every exit path, a panic included.
impl Drop for Local {
    fn drop(&mut self) {
        self.stop();
        self.outputs.values().for_each(Output::finish);
    }
}

/// Ends processes, all at once: with SIGTERM first, then with SIGKILL.
fn end(ending: Vec<Running>) {
    ending.iter().for_each(|running| running.process.signal(Signal::SIGTERM));
    let deadline = host::now() + GENTLE;
    while let Some(living) = ending.iter().find(|running| lives(running))
        && host::now() < deadline
    {
        living.process.await_end(POLL_EVERY);
    }
    let mut pumps = Vec::new();
    for running in ending {
        running.process.signal(Signal::SIGKILL);
        running.group.remove();
        running.process.reap();
        pumps.extend(running.pumps);
    }
    let deadline = host::now() + Nanos(LAST_WORDS.as_nanos() as u64);
    for pump in pumps {
        let _ = pump.recv_timeout(deadline.saturating_since(host::now()).into());
    }
}

fn lives(running: &Running) -> bool {
    matches!(running.process.ended(), Ok(None))
}

/// Returns `Died` if the process has ended.
fn died(running: &Running) -> Option<Stop> {
    let status = running.process.ended().ok()??;
    for pump in &running.pumps {
        let _ = pump.recv_timeout(LAST_WORDS);
    }
    Some(Stop::Died {
        component: running.name.clone(),
        why: process::end_in_words(status),
        last_lines: running.output.last_lines(),
    })
}

/// Waits until all components that were started together are ready; returns their URLs.
fn all_ready(
    running: &[Running],
    lines: &[Receiver<String>],
    host: &Host,
) -> Result<Vec<String>, Stop> {
    let begun = host::now();
    (0..).zip(lines).map(|(index, lines)| until_ready(running, index, lines, begun, host)).collect()
}

/// Waits for the line `ready <url>` of one component, and for the death of any.
fn until_ready(
    running: &[Running],
    index: usize,
    lines: &Receiver<String>,
    begun: Instant,
    host: &Host,
) -> Result<String, Stop> {
    let Running { ready_within, .. } = running[index];
    loop {
        match lines.recv_timeout(POLL_EVERY) {
            Ok(line) => {
                if let Some(url) = line.strip_prefix("ready ") {
                    return Ok(url.trim().to_owned());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Its stdout is closed, but it may not have ended yet.
            Err(RecvTimeoutError::Disconnected) => rest(POLL_EVERY),
        }
        if host.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        if let Some(stop) = running.iter().find_map(died) {
            return Err(stop);
        }
        if begun + ready_within < host::now() {
            return Err(unready(&running[index]));
        }
    }
}

fn unready(running: &Running) -> Stop {
    let lines = running.output.last_lines();
    let printed = match lines.is_empty() {
        true => "\n  it printed nothing".to_owned(),
        false => format!("\n  its last output:\n    {}", lines.join("\n    ")),
    };
    Stop::no_answer(format!(
        "`{}` did not become ready in {}: it never printed `ready <url>`{printed}",
        running.name,
        running.ready_within.in_words()
    ))
}

/// The program and arguments of a component; `benchwright` is ourselves.
fn command(
    component: &Component,
    host: &Host,
    folder: &Path,
) -> anyhow::Result<(PathBuf, Vec<String>)> {
    let (program, arguments) =
        component.command.split_first().expect("the spec was checked for a program");
    let program = match program.as_str() {
        "benchwright" => host.benchwright.clone(),
        name => {
            host::find_program(name, folder).ok_or_else(|| anyhow!("program `{name}` not found"))?
        }
    };
    let listen = ["--listen", "127.0.0.1:0"].map(str::to_owned);
    Ok((program, arguments.iter().cloned().chain(listen).collect()))
}

/// True for an application of ours, which reports statistics when it is given a file.
fn is_app(component: &Component) -> bool {
    component.command.starts_with(&["benchwright".to_owned(), "app".to_owned()])
}

fn statistics(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.statistics"))
}

/// Returns the port of a URL such as `http://127.0.0.1:40113/`.
fn port(url: &str) -> Option<u16> {
    http::authority(url).rsplit_once(':')?.1.parse().ok()
}

/// Returns the CPUs of each role, after checking that this process may use them.
fn roles(resolved: &Resolved) -> Result<BTreeMap<&'static str, Cpus>, Stop> {
    let roles = &resolved.spec.where_.roles;
    let here = allowed_here();
    let mut found = BTreeMap::new();
    for (name, role) in [("sut", &roles.sut), ("load", &roles.load)] {
        let Some(Written(cpus)) = role.as_ref().map(|role| &role.cpus) else { continue };
        if let Some(absent) = cpus.0.iter().find(|cpu| !here.0.contains(cpu)) {
            let written = &cpus.to_string();
            let place = resolved.source.find(&format!("{name}:"), written);
            let message = format!("role {name} needs CPU {absent}, which is not available here");
            let label = format!("CPUs here: {here}");
            return Err(resolved.source.error(message, place, &label).into());
        }
        found.insert(name, cpus.clone());
    }
    Ok(found)
}

/// Checks the script, so that an error in it is found before anything is deployed.
fn check_script(resolved: &Resolved, host: &Host) -> Result<(), Stop> {
    let Some(script) = resolved.script() else { return Ok(()) };
    let checked = Command::new(&host.benchwright).args(generator::check_script(&script)).output();
    let checked = checked
        .with_context(|| format!("starting {}", host.benchwright.display()))
        .map_err(Stop::NoAnswer)?;
    if checked.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&checked.stderr);
    let message = message.trim().trim_start_matches("error: ").to_owned();
    Err(Stop::Question(anyhow!("the script {} does not load\n  {message}", script.display())))
}

/// Returns the CPUs that this thread may use, and so the processes that it starts.
fn allowed_here() -> Cpus {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let allowed = allowed_list(&status).and_then(|list| Cpus::read(list).ok());
    allowed.unwrap_or(Cpus(vec![0]))
}

fn allowed_list(status: &str) -> Option<&str> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(str::trim)
}

fn cpus_here() -> f64 {
    allowed_here().0.len() as f64
}

/// Returns the CPUs that the kernel allows all threads of these processes; each list once.
fn allowed_cpus(processes: &[i32]) -> String {
    let threads = processes
        .iter()
        .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten());
    let mut lists: Vec<String> = threads
        .filter_map(|thread| {
            let status = fs::read_to_string(thread.path().join("status")).ok()?;
            allowed_list(&status).map(str::to_owned)
        })
        .collect();
    lists.sort();
    lists.dedup();
    lists.join("; ")
}

/// Runs `work` on its own thread; the receiver gets a message at its end.
fn in_background(work: impl FnOnce() + Send + 'static) -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        work();
        let _ = sender.send(());
    });
    receiver
}

/// The one place where the runner waits for time to pass.
#[expect(clippy::disallowed_methods, reason = "this backend is where real time passes")]
pub(crate) fn rest(length: Duration) {
    std::thread::sleep(length);
}
