//! The processes of a run: how they are started together in their groups, and awaited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use lab::Host;
use lab::backend::{Limits, Reply, Service, Stop};
use lab::host::{self, RunId};
use lab::spec::generator::Arguments;
use lab::spec::{Cpus, Exchange, FOLDER, Port};
use results::{Secrets, regular};
use wire::url::Server;

use crate::confine::{self, Confinement, Group};
use crate::cpus::{Roles, cpus_here};
use crate::digests::program_of;
use crate::lock::Lock;
use crate::output::{self, Output, in_background};
use crate::process::{self, Process};
use crate::ready::{self, Waiting};
use crate::replica::{Own, Replica, Running, died, end, is_app, port_for, statistics, unready};
use crate::run_folder::RunFolder;
use crate::watch::Source;
use crate::{doctor, events, ports, remains};

/// The processes of one run.
pub struct Local {
    pub(crate) host: Host,
    pub(crate) run: RunId,
    /// The generator's arguments that it accepted.
    pub(crate) checked: BTreeSet<Arguments>,
    /// Held until the end of the run.
    pub(crate) lock: Option<Lock>,
    /// Created at the first start.
    pub(crate) confinement: Option<Confinement>,
    pub(crate) folder: RunFolder,
    pub(crate) roles: Roles,
    pub(crate) running: Vec<Running>,
    pub(crate) outputs: BTreeMap<String, Output>,
    /// The folders that could not be removed the last time, in words.
    pub(crate) staying: Vec<String>,
    /// The folder where the components' outputs are kept, if anywhere.
    pub(crate) logs: Option<PathBuf>,
    /// The folder in which relative paths of the spec begin, and in which its programs run.
    pub(crate) folder_of_spec: PathBuf,
    /// The machine as it was last looked at.
    pub(crate) machine: doctor::Machine,
    /// The values of the references to secrets in all texts.
    pub(crate) secrets: Secrets,
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
            staying: Vec::new(),
            logs: None,
            folder_of_spec: PathBuf::from("."),
            machine: doctor::Machine::new(Path::new("/")),
            secrets: Secrets::default(),
        }
    }

    pub(crate) fn confinement(&mut self) -> &Confinement {
        // Noted before there is anything to remove. An error is that of the first start, too.
        let _ = self.folder.make();
        let name = format!("{}{}", remains::GROUP, self.run);
        let root = &self.host.cgroups;
        // Where `stop` could remove only a part of it, it is made again.
        self.confinement = self.confinement.take().filter(Confinement::is_whole);
        self.confinement.get_or_insert_with(|| {
            // Even a process that leaves its control group is then found.
            process::adopt_orphans();
            Confinement::find(root, &confine::own(), &name)
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
        let folder = match files.is_empty() && !texts.any(|text| text.contains(FOLDER)) {
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
    pub(crate) fn start_together(&mut self, replicas: &[Replica]) -> Result<Vec<String>, Stop> {
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
    pub(crate) fn take(&mut self, service: &str, holds: impl Fn(&Replica) -> bool) -> Vec<Running> {
        let all = std::mem::take(&mut self.running);
        let (mut taken, others): (Vec<Running>, Vec<Running>) = all
            .into_iter()
            .partition(|one| one.replica.service.name == service && holds(&one.replica));
        self.running = others;
        taken.sort_by_key(|running| running.replica.number);
        taken
    }

    /// Returns the replicas of a service, in the order of their numbers.
    pub(crate) fn replicas_of(&self, service: &str) -> Vec<&Running> {
        let of_service = |running: &&Running| running.replica.service.name == service;
        let mut replicas: Vec<&Running> = self.running.iter().filter(of_service).collect();
        replicas.sort_by_key(|running| running.replica.number);
        replicas
    }

    /// Starts a process in its group, with the run's folder for its temporary files; removes the group
    /// if the process cannot be started.
    pub(crate) fn spawn(
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
    pub(crate) fn in_folder_of_spec(&self, command: &mut Command) {
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
        self.note_members();
        Ok(servers)
    }

    /// Notes what is in the groups of our processes now, where only these find it if we are killed.
    pub(crate) fn note_members(&mut self) {
        if let Some(Confinement::Affinity { .. }) = self.confinement {
            self.folder.note_members();
        }
    }

    pub(crate) fn output(&mut self, name: &str) -> Output {
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
    pub(crate) fn request(&self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        let target = self.secrets.reveal_in_url(&exchange.target);
        let revealed = exchange.with_texts(&|text| self.secrets.reveal(text));
        let reply =
            self.host.ask(&self.secrets.reveal_in_url(url), &Exchange { target, ..revealed });
        reply.map_err(|why| self.secrets.redact(&why))
    }
}
