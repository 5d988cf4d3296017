//! The measured side of a row: its stores and services, and the CPU time of each.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Lines};
use std::path::PathBuf;
use std::process::{ChildStdout, Stdio};

use super::postgres::Postgres;
use super::rows::Row;
use crate::bench::machine::{self, Cpu, Machine, Process, Side};
use crate::bench::places::{Places, filled};
use crate::bench::scratch::Scratch;
use crate::{repository, tools};

/// A foreign store: it listens on a free loopback port, prints nothing, and is ended by its process id.
pub(super) struct Store {
    /// The name of its part.
    pub(super) part: &'static str,
    pub(super) program: &'static str,
    /// The origin of the program.
    pub(super) package: &'static str,
    pub(super) arguments: &'static str,
    /// The place of its address in the arguments of services, and the address.
    pub(super) place: &'static str,
    pub(super) address: &'static str,
}

/// The connections of a closed loop to each replica of a front.
const CONNECTIONS: usize = 32;

/// A running system. Its services end before the stores that they use.
pub(super) struct System {
    /// Those that started last end first.
    processes: Vec<(&'static str, Process)>,
    postgres: Option<Postgres>,
    /// The addresses of the last service, by instance: they get the load.
    fronts: Vec<Vec<String>>,
    /// The further lines of the last process.
    lines: Option<Lines<BufReader<ChildStdout>>>,
    /// The places in the arguments of programs.
    pub(super) places: Places,
    /// Removed after the processes have ended.
    folder: Scratch,
}

impl Drop for System {
    fn drop(&mut self) {
        while self.processes.pop().is_some() {}
    }
}

impl System {
    /// Starts the programs of a row: the stores, then the services, each after those that it calls.
    pub(super) fn start(machine: &Machine, command: &str, row: &Row) -> Result<System, String> {
        let folder = Scratch::make()?;
        let places = [
            ("root", repository::root().display().to_string()),
            ("scratch", folder.path("").display().to_string()),
            ("connections", (CONNECTIONS * row.replicas).to_string()),
            ("none", String::new()),
        ];
        let places = places.map(|(name, text)| (name.to_owned(), text)).into();
        let (processes, fronts) = (Vec::new(), Vec::new());
        let mut system = System { processes, postgres: None, fronts, lines: None, places, folder };
        for store in row.stores {
            system.start_store(machine, row.side, store)?;
        }
        if row.has_postgres {
            let postgres = Postgres::start(machine, row.instances)?;
            system.places.insert("store".to_owned(), postgres.url());
            system.postgres = Some(postgres);
        }
        for instance in 1..=row.instances {
            system.start_instance(machine, command, row, instance)?;
        }
        system.places.insert("front".to_owned(), system.fronts[0][0].clone());
        Ok(system)
    }

    fn start_store(&mut self, machine: &Machine, side: Side, store: &Store) -> Result<(), String> {
        let Store { part, program, package, arguments, place, address } = store;
        let path =
            store.path().ok_or_else(|| format!("{program} is missing; install {package}"))?;
        let number = machine::free_port();
        let port = number.to_string();
        let data = self.folder.path(&port);
        fs::create_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))?;
        self.places.insert("data".to_owned(), data.display().to_string());
        self.places.insert("port".to_owned(), port.clone());
        let mut command = machine.command(side, path);
        command.args(filled(arguments, &self.places)).stdout(Stdio::null()).stderr(Stdio::null());
        self.processes.push((part, Process::start(&mut command)?));
        machine::wait_until_it_listens(number, part)?;
        let address = address.replace("{port}", &port);
        let all = match self.places.get(*place) {
            Some(others) => format!("{others},{address}"),
            None => address,
        };
        self.places.insert((*place).to_owned(), all);
        self.places.insert(format!("{place}-port"), port);
        Ok(())
    }

    fn start_instance(
        &mut self,
        machine: &Machine,
        command: &str,
        row: &Row,
        instance: usize,
    ) -> Result<(), String> {
        let mut places = self.places.clone();
        let number = instance.to_string();
        places.values_mut().for_each(|text| *text = text.replace("{instance}", &number));
        let mut started = Vec::new();
        for service in row.services {
            let name = service.split(' ').next().unwrap_or_default();
            // A foreign store is there instead.
            if places.contains_key(name) {
                continue;
            }
            let words = filled(&format!("{command} {service}"), &places);
            let replicas = if name == "store" { 1 } else { row.replicas };
            let each = (0..replicas).map(|_| self.start_service(machine, row.side, name, &words));
            started = each.collect::<Result<Vec<_>, _>>()?;
            places.insert(name.to_owned(), started.join(","));
            if name == "store" && !places.contains_key("redis") {
                places.insert("timelines".to_owned(), started.join(","));
            }
        }
        self.fronts.push(started);
        Ok(())
    }

    /// Starts a service, whose program is the first of the words; returns its address.
    fn start_service(
        &mut self,
        machine: &Machine,
        side: Side,
        name: &'static str,
        words: &[String],
    ) -> Result<String, String> {
        let mut command = machine.command(side, machine.program(&words[0]));
        let mut process = Process::start(command.args(&words[1..]).stdout(Stdio::piped()))?;
        let ready = machine::ready(&mut process);
        let (lines, url) = ready.ok_or_else(|| format!("{name} did not become ready"))?;
        self.processes.push((name, process));
        self.lines = Some(lines);
        Ok(url.trim_start_matches("http://").trim_end_matches('/').to_owned())
    }

    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Gives the next load half of the rate of this one, for each instance.
    pub(super) fn take_half(&mut self, per_s: f64) {
        let half = per_s / 2.0 / self.fronts.len() as f64;
        self.places.insert("half".to_owned(), format!("{half:.0}/s"));
        self.places.insert("tenth".to_owned(), format!("{:.0}", (half / 10.0).ceil()));
    }

    /// Returns the generator's words for this path of all instances.
    pub(super) fn targets(&self, path: &str) -> Vec<String> {
        let mut words = Vec::new();
        for front in &self.fronts {
            words.push(format!("http://{}{path}", front[0]));
            if 1 < front.len() {
                words.extend(["--address".to_owned(), front.join(",")]);
            }
        }
        if 1 < self.fronts.len() {
            words.push("--per-target".to_owned());
        }
        words
    }

    /// Returns the next line that the last process prints, or nothing if it has ended.
    pub(super) fn next_line(&mut self) -> String {
        let line = self.lines.as_mut().and_then(Iterator::next);
        line.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns the CPU time of each part with all its replicas.
    pub(super) fn cpu(&self) -> Result<BTreeMap<&'static str, Cpu>, String> {
        let postgres = self.postgres.as_ref().map(|it| ("postgresql", &it.process));
        let all = self.processes.iter().map(|(name, process)| (*name, process)).chain(postgres);
        let mut cpu: BTreeMap<&str, Cpu> = BTreeMap::new();
        for (name, process) in all {
            let used = Cpu::of(process.0.id()).ok_or_else(|| format!("{name} has died"))?;
            cpu.entry(name).or_default().add(used);
        }
        Ok(cpu)
    }
}

impl Store {
    /// Returns its program, built by `cargo xtask brokers` or in a folder of `PATH`.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let built = repository::target().join("brokers").join(self.program);
        match built.is_file() {
            true => Some(built),
            false => tools::has_program(self.program).then(|| self.program.into()),
        }
    }
}
