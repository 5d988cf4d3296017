//! The backend of the lab: what an experiment asks for, done by processes on this machine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow};
use lab::Host;
use lab::backend::{Address, Backend, Drive, Driven, Executed, Reply, Service, Stop, Ticking};
use lab::calm::Calm;
use lab::doctor::Demands;
use lab::host;
use lab::spec::generator::{self, Arguments};
use lab::spec::{Component, Exchange, Literal, Resolved, Run};
use measure::{Instant, Nanos};
use results::environment::Node;
use results::{Doctor, Environment};
use wire::url::{self, Destination, Server};

use crate::confine::Confinement;
use crate::lock::Lock;
use crate::output::Output;
use crate::processes::Local;
use crate::remains::Remains;
use crate::replica::{Kept, Replica, Running, died, end, lives};
use crate::{
    calm, cpus, digests, doctor, drive, execute, helper, process, remains, sockets, versions,
};

impl Backend for Local {
    fn now(&mut self) -> Instant {
        host::now()
    }

    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        self.host.pause(length)
    }

    fn accept(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        cpus::roles(resolved)?;
        self.folder.check().map_err(Stop::Question)?;
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
        let wanted = Demands { own, ..doctor::wanted(resolved)? };
        let machine = &mut self.machine;
        Ok(Some(match since {
            None => machine.before(&wanted, programs, doctor::SPIN_BEFORE_RUN, &self.host)?,
            Some(_) => machine.after(&wanted, programs, &self.host)?,
        }))
    }

    fn enter(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        self.roles = cpus::roles(resolved)?;
        Ok(())
    }

    fn prepare(&mut self, resolved: &Resolved) -> Result<Environment, Stop> {
        self.folder_of_spec = resolved.folder.clone();
        self.secrets = resolved.secrets.clone();
        self.roles = cpus::roles(resolved)?;
        let roles = self.roles.iter().map(|(role, cpus)| ((*role).to_owned(), cpus.to_string()));
        Ok(Environment {
            nodes: vec![Node::read(Path::new("/"))],
            roles: roles.collect(),
            versions: versions::versions(resolved, &self.host)?,
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
        let Remains { removed, staying } = remains::remove(&self.host);
        self.staying = staying;
        removed.iter().map(ToString::to_string).collect()
    }

    fn staying(&mut self) -> Vec<String> {
        std::mem::take(&mut self.staying)
    }

    fn digests(&mut self, resolved: &Resolved) -> Result<BTreeMap<String, String>, Stop> {
        digests::binaries(resolved, &self.host)
    }

    fn caveats(&mut self, resolved: &Resolved) -> Vec<String> {
        let confinement = self.confinement();
        let unenforced = |component: &Component, what: &str, limit: String| {
            format!(
                "`{}` runs without its {what} limit of {limit}: {confinement}; run as root or in a \
                 delegated control group to enforce it",
                component.name(),
            )
        };
        let of_component = |one: &Component| {
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
            (running.replica.name.clone(), cpus::allowed_cpus(&processes))
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
        calm::wait(&self.roles, &self.host, within)
    }

    fn drive(&mut self, drive: &Drive, tick: &mut Ticking<'_>) -> Result<Driven, Stop> {
        drive::drive(self, drive, tick)
    }

    fn stop(&mut self) {
        end(std::mem::take(&mut self.running));
        if let Some(Confinement::Affinity { .. }) = self.confinement {
            // Without a control group, a process that left its group is found by its folder.
            self.folder.path().map(remains::kill_marked);
        }
        if self.confinement.is_some() {
            process::end_orphans();
        }
        // What cannot be removed now stays noted, and the next run removes it: see `remains`.
        self.staying = match &self.confinement {
            Some(confinement) if !confinement.remove() => vec![format!(
                "the control groups {}{} cannot be removed yet; `benchwright clean` tries again",
                remains::GROUP,
                self.run
            )],
            _ => {
                self.confinement = None;
                self.folder.remove().into_iter().collect()
            }
        };
    }
}

/// Stops everything on every exit path, a panic included.
impl Drop for Local {
    fn drop(&mut self) {
        self.stop();
        self.outputs.values().for_each(Output::finish);
    }
}

/// Returns the port of a URL of this machine.
fn loopback_port(url: &str) -> Option<u16> {
    let Server { place, port, .. } = url::server(url).ok()?;
    let Destination::Host(host, _) = place else { return None };
    let is_here = host == "localhost"
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    port.filter(|_| is_here)
}

/// Lets the generator check the load of a spec, as a run does before anything is deployed.
///
/// # Errors
///
/// If the generator refuses it.
pub fn check(resolved: &Resolved, host: &Host) -> Result<(), Stop> {
    check_load(&generator::check(resolved), resolved, host)
}

/// The longest time of the generator's check of a load: some calls into a script, each of which has a bound itself.
const LONGEST_CHECK: Nanos = Nanos::from_secs(180);

/// Lets the generator check the load, so that an error in a script, a mix or another file is found
/// before anything is deployed.
fn check_load(arguments: &Arguments, resolved: &Resolved, host: &Host) -> Result<(), Stop> {
    digests::check_files(resolved)?;
    let mut command = Command::new(&host.benchwright);
    command.args(arguments.words());
    drive::without_variables(&mut command, &resolved.secrets);
    let input = process::input(&resolved.secrets_of_load())
        .context("making a pipe")
        .map_err(Stop::NoAnswer)?;
    command.stdin(input);
    let late = || {
        Stop::Question(anyhow!(
            "the generator did not finish its check of this load in {}: a script or a file of the workload has no end",
            LONGEST_CHECK.in_words()
        ))
    };
    let checked = helper::ask(command, LONGEST_CHECK, host).map_err(|why| why.stop(late))?;
    if checked.status.success() {
        return Ok(());
    }
    let message = resolved.secrets.redact(&String::from_utf8_lossy(&checked.stderr));
    let message = generator::in_fields(message.trim().trim_start_matches("error: "));
    Err(Stop::Question(anyhow!("the generator refuses this load\n  {message}")))
}
