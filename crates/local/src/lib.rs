//! Processes on this machine: each component has its own control group and process group, and so
//! does the generator. A service that runs elsewhere (`external`) is this backend without
//! components.
//!
//! Nothing is ever left running: every exit path ends in `stop`, the kernel kills the processes of
//! a killed runner, and the next run removes the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Context, anyhow};
use lab::backend::{
    Address, Backend, Drive, Driven, Executed, Foreign, Limits, Reply, Service, Stop, Ticking,
};
use lab::calm::Calm;
use lab::doctor::Wanted;
use lab::host::{self, RunId};
use lab::spec::generator::{self, Arguments};
use lab::spec::{self, Cpus, Exchange, Literal, Port, Resolved, Run, Written};
use lab::{Host, trust};
use measure::{Instant, Nanos};
use nix::sys::signal::Signal;
use results::environment::Node;
use results::{Doctor, Environment, Secrets, regular};
use wire::url::{self, Place, Server};

use confine::{Confinement, Group};
use lock::Lock;
use notes::Note;
use output::Output;
use process::Process;
use ready::Waiting;
use watch::Source;

mod calm;
mod confine;
mod digests;
pub mod doctor;
mod drive;
mod events;
mod execute;
mod foreign_generator;
mod lock;
mod machine;
mod notes;
mod output;
mod ports;
mod process;
mod ready;
mod remains;
mod sockets;
mod speed;
mod versions;
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
    /// The generator's arguments that it accepted.
    checked: BTreeSet<Arguments>,
    /// Held until the end of the run.
    lock: Option<Lock>,
    /// Created at the first start.
    confinement: Option<Confinement>,
    folder: RunFolder,
    roles: BTreeMap<&'static str, Cpus>,
    running: Vec<Running>,
    outputs: BTreeMap<String, Output>,
    /// The folder where the components' outputs are kept, if anywhere.
    logs: Option<PathBuf>,
    /// The folder in which relative paths of the spec begin, and in which its programs run.
    folder_of_spec: PathBuf,
    /// The machine as it was last looked at.
    machine: doctor::Machine,
    /// The values of the references to secrets in all texts.
    secrets: Secrets,
}

/// One process of a service.
#[derive(Clone)]
struct Replica {
    name: String,
    /// Its number among the replicas, from 1.
    number: u32,
    service: Service,
    /// Present if it ran before: what it keeps.
    kept: Option<Kept>,
}

/// The part of its past that a restarted replica keeps, beside its folder.
#[derive(Clone, Copy)]
struct Kept {
    port: Option<u16>,
}

/// One started process.
struct Running {
    replica: Replica,
    process: Process,
    group: Group,
    output: Output,
    /// Its URL; empty until it is ready.
    url: String,
    /// The data that a watch needs about it.
    source: Source,
    /// One for each stream that is copied; each ends with its stream.
    pumps: Vec<Receiver<()>>,
}

impl Local {
    pub fn new(host: Host) -> Local {
        let run = RunId::next();
        Local {
            folder: RunFolder::new(&host, &run),
            host,
            run,
            checked: BTreeSet::new(),
            lock: None,
            confinement: None,
            roles: BTreeMap::new(),
            running: Vec::new(),
            outputs: BTreeMap::new(),
            logs: None,
            folder_of_spec: PathBuf::from("."),
            machine: doctor::Machine::new(Path::new("/")),
            secrets: Secrets::default(),
        }
    }

    fn confinement(&mut self) -> &Confinement {
        // Noted before there is anything to remove. An error is that of the first start, too.
        let _ = self.folder.make();
        let name = format!("{}{}", remains::GROUP, self.run);
        let root = &self.host.cgroups;
        // Where `stop` could remove only a part of it, it is made again.
        self.confinement = self.confinement.take().filter(Confinement::is_whole);
        self.confinement.get_or_insert_with(|| {
            let found = Confinement::find(root, &confine::own(), &name);
            if let Confinement::Affinity { .. } = found {
                process::adopt_orphans();
            }
            found
        })
    }

    /// Starts a replica's process and copies its output.
    fn launch(&mut self, replica: &Replica) -> anyhow::Result<(Running, Waiting)> {
        let own = self.own(replica)?;
        let Replica { name, service, .. } = replica;
        let (program, arguments) =
            service.command.split_first().expect("the spec was checked for a program");
        let program = program_of(program, &self.host, &self.folder_of_spec)?;
        let folder = self.folder.make()?;
        let mut command = Command::new(program);
        command.args(arguments.iter().map(|argument| own.replaced(argument)));
        if service.takes_listen() {
            command.args(["--listen", &own.listen]);
        }
        let statistics = is_app(service).then(|| statistics(&folder, name));
        if let Some(statistics) = &statistics {
            // The events of a process that had this name before are not its own.
            let _ = fs::remove_file(events::beside(statistics));
            command.arg("--statistics").arg(statistics);
        }
        let environment = service.environment.iter();
        command.envs(environment.map(|(name, value)| (name, own.replaced(value))));
        self.in_folder_of_spec(&mut command);
        let cpus = self.roles.get(service.role).cloned();
        let confinement = self.confinement();
        // A limit that cannot be enforced was reported as a caveat.
        let limits = Limits {
            cpu: service.limits.cpu.filter(|_| confinement.can_limit()),
            memory: service.limits.memory.filter(|_| confinement.can_limit_memory()),
        };
        let group = confinement
            .group(name, cpus.as_ref(), limits)
            .with_context(|| format!("making the control group of `{name}`"))?;
        let mut process = self.spawn(command, &group, cpus.as_ref(), Stdio::null())?;
        let output = self.output(name);
        output.begin();
        let (waiting, [for_stdout, for_stderr]) = Waiting::new(own.port, service);
        let (stdout, stderr) = process.take_output();
        let of_stdout = output.clone();
        let of_stderr = output.of_stderr();
        let pumps = vec![
            in_background(move || output::pump(stdout, &of_stdout, for_stdout.as_ref())),
            in_background(move || output::pump(stderr, &of_stderr, for_stderr.as_ref())),
        ];
        let source = Source {
            name: name.clone(),
            step: service.component.clone(),
            role: service.role,
            of_role: cpus.map_or_else(cpus_here, |cpus| cpus.0.len() as f64),
            cpu_limit: limits.cpu,
            pid: process.id(),
            group: group.clone(),
            port: own.port,
            statistics,
        };
        let (replica, url) = (replica.clone(), String::new());
        let running = Running { replica, process, group, output, url, source, pumps };
        Ok((running, waiting))
    }

    /// Chooses the port of a replica, and makes its folder and the files in it.
    fn own(&mut self, replica: &Replica) -> anyhow::Result<Own> {
        let Replica { name, service, kept, .. } = replica;
        let Service { command, environment, files, foreign, .. } = service;
        let kept_port = kept.and_then(|kept| kept.port);
        let port = match (foreign, kept_port) {
            (None, _) => None,
            (Some(_), Some(port)) => Some(port),
            (Some(foreign), None) => Some(port_for(name, foreign)?),
        };
        let mut texts = command.iter().chain(environment.values());
        let folder = match files.is_empty() && !texts.any(|text| text.contains(spec::FOLDER)) {
            true => None,
            false => Some(self.folder.make_inner(name, kept.is_some())?),
        };
        // Without a port of its own it chooses one itself, unless it ran before.
        let listen = format!("127.0.0.1:{}", port.or(kept_port).unwrap_or(0));
        let own = Own { port, listen, folder, secrets: self.secrets.clone() };
        if let Some(folder) = &own.folder {
            for (name, content) in &files.0 {
                let path = folder.join(name);
                let made = path.parent().map_or(Ok(()), fs::create_dir_all);
                made.and_then(|()| fs::write(&path, own.replaced(content)))
                    .with_context(|| format!("writing {}", path.display()))?;
            }
        }
        Ok(own)
    }

    /// Starts replicas together and waits until all are ready; returns their URLs.
    fn start_together(&mut self, replicas: &[Replica]) -> Result<Vec<String>, Stop> {
        let first = self.running.len();
        let mut waiting = Vec::new();
        for replica in replicas {
            self.host.check_interrupt()?;
            let launched = self.launch(replica).map_err(Stop::NoAnswer)?;
            self.running.push(launched.0);
            waiting.push(launched.1);
        }
        let servers = self.all_ready(replicas, waiting)?;
        for (running, server) in self.running[first..].iter_mut().zip(&servers) {
            running.source.port = server.port;
            running.url.clone_from(&server.url);
        }
        Ok(servers.into_iter().map(|server| server.url).collect())
    }

    /// Takes out the replicas of a service that hold, in the order of their numbers.
    fn take(&mut self, service: &str, holds: impl Fn(&Replica) -> bool) -> Vec<Running> {
        let all = std::mem::take(&mut self.running);
        let (mut taken, others): (Vec<Running>, Vec<Running>) = all
            .into_iter()
            .partition(|one| one.replica.service.name == service && holds(&one.replica));
        self.running = others;
        taken.sort_by_key(|running| running.replica.number);
        taken
    }

    /// Returns the replicas of a service, in the order of their numbers.
    fn replicas_of(&self, service: &str) -> Vec<&Running> {
        let of_service = |running: &&Running| running.replica.service.name == service;
        let mut replicas: Vec<&Running> = self.running.iter().filter(of_service).collect();
        replicas.sort_by_key(|running| running.replica.number);
        replicas
    }

    /// Starts a process in its group, with the run's folder for its temporary files; removes the group
    /// if the process cannot be started.
    fn spawn(
        &mut self,
        mut command: Command,
        group: &Group,
        cpus: Option<&Cpus>,
        input: Stdio,
    ) -> anyhow::Result<Process> {
        let program = PathBuf::from(command.get_program());
        command.stdin(input);
        let folder = self.folder.make().inspect_err(|_| group.remove())?;
        command.env("TMPDIR", &folder);
        let process = group.spawn(command, cpus).map_err(|error| {
            group.remove();
            process::not_started(&program, &error)
        })?;
        self.folder.note(process.id());
        Ok(process)
    }

    /// Starts a program where the relative paths of the spec begin. A resumed run may have lost this
    /// folder.
    fn in_folder_of_spec(&self, command: &mut Command) {
        if self.folder_of_spec.is_dir() {
            command.current_dir(&self.folder_of_spec);
        }
    }

    /// Waits until all replicas that were started together are ready; returns their servers.
    fn all_ready(
        &mut self,
        wave: &[Replica],
        mut waiting: Vec<Waiting>,
    ) -> Result<Vec<Server>, Stop> {
        let first = self.running.len() - wave.len();
        let begun = host::now();
        let mut restarted = vec![false; wave.len()];
        let mut servers = Vec::new();
        while servers.len() < wave.len() {
            let index = servers.len();
            if let Some(url) = waiting[index].poll() {
                let Replica { name, service, .. } = &wave[index];
                let server = ready::check(&url, service).map_err(|why| {
                    Stop::no_answer(format!("`{name}` printed `ready {url}`: {why}"))
                })?;
                servers.push(server);
                continue;
            }
            self.host.check_interrupt()?;
            let dead = (first..).zip(0..wave.len()).find_map(|(running, index)| {
                died(&self.running[running]).map(|stop| (running, index, stop))
            });
            if let Some((running, index, stop)) = dead {
                let lines = self.running[running].output.last_lines();
                let Replica { service, kept, .. } = &wave[index];
                let port = service.foreign.as_ref().map(|foreign| foreign.port);
                let is_auto = port == Some(Port::Auto) && kept.is_none();
                let is_ready = index < servers.len();
                if !is_auto || is_ready || restarted[index] || !ports::was_taken(&lines) {
                    return Err(if is_ready { stop } else { ready::told(stop, service) });
                }
                // Its port was taken between the choice and its start: once more, with another.
                restarted[index] = true;
                end(vec![self.running.remove(running)]);
                let again = self.launch(&wave[index]).map_err(Stop::NoAnswer)?;
                self.running.insert(running, again.0);
                waiting[index] = again.1;
                continue;
            }
            let running = &self.running[first + index];
            if begun + running.replica.service.ready_within < host::now() {
                return Err(unready(running, &waiting[index]));
            }
        }
        Ok(servers)
    }

    fn output(&mut self, name: &str) -> Output {
        let logs = self.logs.clone();
        let new = || {
            let folder = logs?;
            regular::make_folder(&folder).ok()?;
            Some(folder.join(format!("{name}.log")))
        };
        let output = self.outputs.entry(name.to_owned());
        let secrets = &self.secrets;
        output.or_insert_with(|| Output::new(new().as_deref(), secrets.clone())).clone()
    }

    /// Sends one request; an error does not contain a secret.
    fn request(&self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        let target = self.secrets.reveal_in_url(&exchange.target);
        let revealed = exchange.with_texts(&|text| self.secrets.reveal(text));
        let reply =
            self.host.ask(&self.secrets.reveal_in_url(url), &Exchange { target, ..revealed });
        reply.map_err(|why| self.secrets.redact(&why))
    }
}

impl Backend for Local {
    fn now(&mut self) -> Instant {
        host::now()
    }

    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        self.host.pause(length)
    }

    fn accept(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        roles(resolved)?;
        resolved.check_secrets()?;
        self.secrets = resolved.secrets.clone();
        if resolved.spec.workload.foreign().is_some() {
            // Nobody else's generator checks a load without making it; its program must be there.
            return digests::files(resolved, &self.host).map(drop).map_err(Stop::Question);
        }
        // Most questions of an experiment make the same load, except for its rate.
        let arguments = generator::check(resolved);
        if self.checked.contains(&arguments) {
            return Ok(());
        }
        check_load(&arguments, resolved, &self.host)?;
        self.checked.insert(arguments);
        Ok(())
    }

    fn checks(&self) -> Vec<&'static str> {
        lab::doctor::words()
    }

    fn diagnose(
        &mut self,
        resolved: &Resolved,
        since: Option<u64>,
    ) -> Result<Option<Doctor>, Stop> {
        let programs = digests::files(resolved, &self.host).map_err(Stop::Question)?;
        let own = self.running.iter().flat_map(|running| {
            let processes = running.group.processes(running.process.id());
            processes.into_iter().map(|pid| pid as u32)
        });
        // A service that runs elsewhere may be on this machine: it is the system, and no stranger.
        let urls = resolved.spec.sut.endpoint.0.iter();
        let ports = urls.filter_map(|url| loopback_port(&resolved.text(url, 1)));
        let own = own.chain(sockets::listeners(&ports.collect())).collect();
        let wanted = Wanted { own, ..doctor::wanted(resolved)? };
        let machine = &mut self.machine;
        Ok(Some(match since {
            None => machine.before(&wanted, programs, doctor::SPIN_BEFORE_RUN, &self.host)?,
            Some(_) => machine.after(&wanted, programs),
        }))
    }

    fn enter(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        self.roles = roles(resolved)?;
        Ok(())
    }

    fn prepare(&mut self, resolved: &Resolved) -> Result<Environment, Stop> {
        self.folder_of_spec = resolved.folder.clone();
        self.secrets = resolved.secrets.clone();
        self.roles = roles(resolved)?;
        let roles = self.roles.iter().map(|(role, cpus)| ((*role).to_owned(), cpus.to_string()));
        Ok(Environment {
            nodes: vec![Node::read(Path::new("/"))],
            roles: roles.collect(),
            versions: versions::versions(resolved, &self.host),
            confinement: Some(self.confinement().to_string()),
            placement: BTreeMap::new(),
        })
    }

    fn date(&mut self) -> Option<Nanos> {
        Some(host::unix())
    }

    fn lock(&mut self) -> Result<(), Stop> {
        self.lock = Some(Lock::take(&self.host.runtime).map_err(Stop::NoAnswer)?);
        Ok(())
    }

    fn clean_up(&mut self) -> Vec<String> {
        remains::remove(&self.host).iter().map(ToString::to_string).collect()
    }

    fn digests(&mut self, resolved: &Resolved) -> Result<BTreeMap<String, String>, Stop> {
        digests::binaries(resolved, &self.host).map_err(Stop::Question)
    }

    fn caveats(&mut self, resolved: &Resolved) -> Vec<String> {
        let confinement = self.confinement();
        let unenforced = |component: &spec::Component, what: &str, limit: String| {
            format!(
                "`{}` runs without its {what} limit of {limit}: {confinement}; run as root or in a \
                 delegated control group to enforce it",
                component.name(),
            )
        };
        let of_component = |one: &spec::Component| {
            let cpu = one.cpu_limit().filter(|_| !confinement.can_limit());
            let memory = one.memory_limit().filter(|_| !confinement.can_limit_memory());
            let cpu = cpu.map(|limit| unenforced(one, "CPU", limit.0.to_string()));
            cpu.into_iter().chain(memory.map(|limit| unenforced(one, "memory", limit.write())))
        };
        resolved.spec.sut.components().flat_map(of_component).collect()
    }

    fn collect(&mut self, folder: &Path) {
        self.logs = Some(folder.to_owned());
    }

    /// Both an application and a process are given `--listen 127.0.0.1:0` and print their URL, unless they
    /// have a port; one that names `${listen}` has the address there.
    fn start(&mut self, wave: &[Service]) -> Result<Vec<Vec<Address>>, Stop> {
        let new = |service: &Service| -> Vec<Replica> {
            let named = (1..).zip(service.replicas());
            let replica =
                |(number, name)| Replica { name, number, service: service.clone(), kept: None };
            named.map(replica).collect()
        };
        let urls = self.start_together(&wave.iter().flat_map(new).collect::<Vec<_>>())?;
        let mut urls = urls.iter();
        let of_service = |service: &Service| {
            urls.by_ref().take(service.replicas as usize).map(|url| Address::of_all(url)).collect()
        };
        Ok(wave.iter().map(of_service).collect())
    }

    fn restart(&mut self, services: &[String]) -> Result<(), Stop> {
        for service in services {
            let running = self.take(service, |_| true);
            let restarted = |running: &Running| {
                let kept = Some(Kept { port: running.source.port });
                Replica { kept, ..running.replica.clone() }
            };
            let replicas: Vec<Replica> = running.iter().map(restarted).collect();
            end(running);
            self.start_together(&replicas)?;
        }
        Ok(())
    }

    fn scale(&mut self, service: &str, replicas: u32) -> Result<Vec<Address>, Stop> {
        end(self.take(service, |replica| replicas < replica.number));
        let present = self.replicas_of(service);
        let first = present.first().expect("a service that was started has a first replica");
        let service_of_all = Service { replicas, ..first.replica.service.clone() };
        let new =
            |(number, name)| Replica { name, number, service: service_of_all.clone(), kept: None };
        let all = (1..).zip(service_of_all.replicas());
        let new: Vec<Replica> = all.skip(present.len()).map(new).collect();
        self.start_together(&new)?;
        let all = self.replicas_of(service);
        Ok(all.iter().map(|running| Address::of_all(&running.url)).collect())
    }

    fn execute(&mut self, run: &Run) -> Result<Executed, String> {
        execute::execute(self, run)
    }

    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop> {
        let living = self.running.iter().filter(|running| lives(running));
        let placed = living.map(|running| {
            let processes = running.group.processes(running.process.id());
            (running.replica.name.clone(), allowed_cpus(&processes))
        });
        Ok(placed.collect())
    }

    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        self.request(url, exchange)
    }

    fn consult(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        self.request(url, exchange)
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        let used =
            self.running.iter().map(|running| running.source.group.usage_ns(running.source.pid));
        // A service of somebody else is not ours to count.
        let used: Option<Vec<u64>> = used.collect();
        used.filter(|used| !used.is_empty()).map(|used| Nanos(used.iter().sum()))
    }

    fn check(&mut self) -> Result<(), Stop> {
        self.host.check_interrupt()?;
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

    fn drive(&mut self, drive: &Drive, tick: &mut Ticking<'_>) -> Result<Driven, Stop> {
        drive::drive(self, drive, tick)
    }

    fn stop(&mut self) {
        end(std::mem::take(&mut self.running));
        if let Some(Confinement::Affinity { .. }) = self.confinement {
            // Without a control group, a process that left its group is found by its folder, or since
            // it is ours.
            self.folder.path().map(remains::kill_marked);
            process::end_orphans();
        }
        // What cannot be removed now stays noted, and the next run removes it: see `remains`.
        if self.confinement.as_ref().is_none_or(Confinement::remove) {
            self.confinement = None;
            self.folder.remove();
        }
    }
}

/// The folder of a run's temporary files, for us alone, and the note of it.
struct RunFolder {
    runtime: PathBuf,
    temporary: PathBuf,
    run: RunId,
    made: Option<(PathBuf, Note)>,
}

impl RunFolder {
    fn new(host: &Host, run: &RunId) -> RunFolder {
        let (runtime, temporary) = (host.runtime.clone(), host.temporary.clone());
        RunFolder { runtime, temporary, run: run.clone(), made: None }
    }

    /// Returns it if it was made.
    fn path(&self) -> Option<&Path> {
        self.made.as_ref().map(|(path, _)| path.as_path())
    }

    /// Makes it if it does not exist yet.
    fn make(&mut self) -> anyhow::Result<PathBuf> {
        if let Some(path) = self.path() {
            return Ok(path.to_owned());
        }
        let refused = |error: io::Error| {
            anyhow!(
                "cannot make a folder for temporary files in {}: {}; set TMPDIR to a folder that you may \
                 write to",
                self.temporary.display(),
                spec::plain(&error)
            )
        };
        trust::check_place(&self.temporary).map_err(refused)?;
        // In a folder that everybody can write to, nobody can have guessed its name.
        let random = getrandom::u64().context("asking the kernel for a random number")?;
        let name = format!("{}{}-{random:016x}", remains::FOLDER, self.run);
        let path = self.temporary.join(name);
        // First, so that it is removed whenever we are killed.
        let note = Note::begin(&self.runtime, &self.run, &path)?;
        if let Err(error) = DirBuilder::new().mode(0o700).create(&path) {
            note.end();
            return Err(refused(error));
        }
        self.made = Some((path.clone(), note));
        Ok(path)
    }

    /// Notes a process that leads a group.
    fn note(&mut self, pid: u32) {
        if let Some((_, note)) = &mut self.made {
            note.add(pid);
        }
    }

    /// Creates a new folder in it, empty, unless one that is there shall be kept.
    fn make_inner(&mut self, name: &str, keep: bool) -> anyhow::Result<PathBuf> {
        let path = self.make()?.join(name);
        if keep && path.is_dir() {
            return Ok(path);
        }
        // It is there if the component was started before.
        let _ = fs::remove_dir_all(&path);
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("making {}", path.display()))?;
        Ok(path)
    }

    fn remove(&mut self) {
        let Some((path, _)) = &self.made else { return };
        if fs::remove_dir_all(path).is_ok() || !path.exists() {
            let (_, note) = self.made.take().expect("it was made");
            note.end();
        }
    }
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
    let end = process::end_in_words(status);
    let why = match (running.group.killed_for_memory(), status.signal()) {
        (0, _) => end,
        (_, Some(nix::libc::SIGKILL)) => {
            "was killed by the kernel at its `memory_limit`".to_owned()
        }
        _ => format!("{end}, as the kernel had killed a process of it at its `memory_limit`,"),
    };
    Some(Stop::Died {
        component: running.replica.name.clone(),
        why,
        last_lines: running.output.last_lines(),
    })
}

fn unready(running: &Running, waiting: &Waiting) -> Stop {
    let lines = running.output.last_lines();
    let printed = match lines.is_empty() {
        true => "\n  it printed nothing".to_owned(),
        false => format!("\n  its last output:\n    {}", lines.join("\n    ")),
    };
    Stop::no_answer(format!(
        "`{}` did not become ready in {}: {}{printed}",
        running.replica.name,
        running.replica.service.ready_within.in_words(),
        waiting.missing(&running.replica.service)
    ))
}

/// The program of a command; `benchwright` is ourselves.
fn program_of(name: &str, host: &Host, folder: &Path) -> anyhow::Result<PathBuf> {
    match name {
        "benchwright" => Ok(host.benchwright.clone()),
        name => {
            digests::find_program(name, folder).ok_or_else(|| anyhow!("program `{name}` not found"))
        }
    }
}

/// The values that only this backend knows of a replica.
struct Own {
    port: Option<u16>,
    /// The address at which it shall listen.
    listen: String,
    folder: Option<PathBuf>,
    secrets: Secrets,
}

impl Own {
    fn replaced(&self, text: &str) -> String {
        let mut text = text.replace(spec::LISTEN, &self.listen);
        if let Some(port) = self.port {
            text = text.replace(spec::PORT, &port.to_string());
        }
        if let Some(folder) = &self.folder {
            text = text.replace(spec::FOLDER, &folder.display().to_string());
        }
        self.secrets.reveal(&text)
    }
}

/// Returns the port of a foreign program. Another program there would be measured in its place.
fn port_for(name: &str, foreign: &Foreign) -> anyhow::Result<u16> {
    match foreign.port {
        Port::Auto => ports::free().context("no port is free on this host"),
        Port::At(port) if ports::is_free(port) => Ok(port),
        Port::At(port) => Err(anyhow!(
            "port {port} of `{name}` is in use on this host: end the program that has it, or write \
             `port: auto`"
        )),
    }
}

/// True for an application of ours, which reports statistics when it is given a file.
fn is_app(service: &Service) -> bool {
    service.command.starts_with(&["benchwright".to_owned(), "app".to_owned()])
}

fn statistics(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.statistics"))
}

/// Returns the CPUs of each role, after checking that this process may use them.
fn roles(resolved: &Resolved) -> Result<BTreeMap<&'static str, Cpus>, Stop> {
    let here = allowed_here();
    let mut found = BTreeMap::new();
    for (name, role) in resolved.spec.where_.roles.named() {
        let Some(Written(cpus)) = role.and_then(|role| role.cpus.as_ref()) else { continue };
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

/// Returns the port of a URL of this machine.
fn loopback_port(url: &str) -> Option<u16> {
    let Server { place, port, .. } = url::server(url).ok()?;
    let Place::Host(host, _) = place else { return None };
    let is_here = host == "localhost"
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    port.filter(|_| is_here)
}

/// Lets the generator check the load, so that an error in a script, a mix or another file is found
/// before anything is deployed.
fn check_load(arguments: &Arguments, resolved: &Resolved, host: &Host) -> Result<(), Stop> {
    let mut command = Command::new(&host.benchwright);
    command.args(arguments.words());
    drive::without_variables(&mut command, &resolved.secrets);
    let input = process::input(&resolved.secrets_of_load())
        .context("making a pipe")
        .map_err(Stop::NoAnswer)?;
    let checked = command.stdin(input).output();
    let checked = checked
        .map_err(|error| process::not_started(&host.benchwright, &error))
        .map_err(Stop::NoAnswer)?;
    if checked.status.success() {
        return Ok(());
    }
    let message = resolved.secrets.redact(&String::from_utf8_lossy(&checked.stderr));
    let message = message.trim().trim_start_matches("error: ").to_owned();
    Err(Stop::Question(anyhow!("the generator refuses this load\n  {message}")))
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
