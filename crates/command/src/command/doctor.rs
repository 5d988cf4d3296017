//! `benchwright doctor`: checks whether this machine, or the place of an experiment, is fit to
//! measure, and changes the settings of this machine for a time.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use clap::Args;
use k8s::Kubernetes;
use lab::backend::Backend;
use lab::doctor::fix::{self, Applied, Place, Real, Setting};
use lab::doctor::read::Reader;
use lab::doctor::{Demands, found::Terms};
use lab::spec::{BackendKind, Cpus, Resolved, Written};
use lab::{Host, host};
use local::doctor::{Machine, SPIN};
use local::helper;
use measure::Nanos;
use results::Doctor;
use results::doctor::{Check, State};

use super::{interrupts, run};
use console::output::{self, Exit, Failure};

#[derive(Args, Debug)]
#[command(
    after_help = "Without SPEC this machine is checked; with SPEC what it runs on: this machine for the \
                        CPUs of its roles, or a cluster.\n\n\
                        --fix sets the governor and the energy preference to performance, huge pages to \
                        madvise, and KSM, the NMI watchdog, NUMA balancing and early swapping off; it raises \
                        net.core.somaxconn, moves interrupts from the CPUs of the role sut to those without a \
                        role, and turns turbo off if SPEC requires local.turbo. What stood there is first in \
                        /run/benchwright/doctor.json, so --restore puts it back after a crash too.\n\n  \
                        sudo benchwright doctor --fix -- benchwright run experiments/hello.yaml\n\n\
                        Exits with 1 if a strict experiment would be refused: by an error that the spec \
                        does not allow, or by a check that it requires and that is not known to be \
                        good. Checks that need a file or a right which is missing are unknown, and name it."
)]
pub(crate) struct Options {
    /// The experiment, as a YAML file [default: none, this machine is checked]
    pub(crate) spec: Option<PathBuf>,
    /// Apply one of the spec's own profiles; several are applied in order
    #[arg(long, value_name = "NAME", requires = "spec")]
    pub(crate) profile: Vec<String>,
    /// Change one value of the spec
    #[arg(long, value_name = "PATH=VALUE", requires = "spec")]
    pub(crate) set: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the files of a machine below this folder, where proc and sys were recorded
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Also measure random reads of 4 KiB in this folder, as a key-value store makes them for records that are
    /// not in its memory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["root", "restore"])]
    pub(crate) storage: Option<PathBuf>,
    /// First change what can be changed safely, until --restore or the end of COMMAND
    #[arg(long, conflicts_with = "restore")]
    pub(crate) fix: bool,
    /// Put back what --fix has changed, also after a crash; nothing is checked
    #[arg(long, conflicts_with = "json")]
    pub(crate) restore: bool,
    /// With --fix: a command to run with the changed settings, which are put back at its end
    #[arg(last = true, value_name = "COMMAND", requires = "fix", conflicts_with = "json")]
    pub(crate) command: Vec<String>,
}

pub(crate) fn doctor(arguments: &Options) -> Result<Exit, Failure> {
    if !arguments.root.is_dir() {
        let root = results::regular::shown(&arguments.root);
        return Err(Failure::question(format!("there is no folder {root}; --root names one")));
    }
    if let Some(folder) = arguments.storage.as_ref().filter(|folder| !folder.is_dir()) {
        let is = match std::fs::metadata(folder) {
            Ok(_) => "it is not a folder".to_owned(),
            Err(error) if error.kind() != NotFound => results::regular::plain(&error),
            Err(_) if results::regular::is_there(folder) => {
                "it is a link that leads nowhere".to_owned()
            }
            Err(_) => "there is no such folder".to_owned(),
        };
        let text = format!(
            "--storage {}: {is}; name the folder of the store",
            results::regular::shown(folder)
        );
        return Err(Failure::question(text));
    }
    if arguments.restore {
        return restore(&arguments.root);
    }
    let resolved = arguments.spec.as_ref().map(|spec| {
        let (spec, profile, set) = (spec.clone(), arguments.profile.clone(), arguments.set.clone());
        run::resolve(&run::Plan { spec, profile, set })
    });
    let resolved = resolved.transpose()?;
    match resolved.as_ref().map(|resolved| resolved.spec.where_.backend) {
        Some(BackendKind::Simulated) => {
            Err(Failure::question("a simulation runs on no machine; leave the spec out"))
        }
        Some(BackendKind::Kubernetes)
            if arguments.fix || arguments.root != Path::new("/") || arguments.storage.is_some() =>
        {
            let refusal = "--fix, --root and --storage are for one machine, not for a cluster";
            Err(Failure::question(refusal))
        }
        Some(BackendKind::Kubernetes) => {
            let resolved = resolved.expect("it has a backend");
            let mut cluster = Kubernetes::new(run::host()?, output::error);
            check_names(&cluster.checks(), &resolved)?;
            let begun = host::now();
            let doctor = cluster.diagnose(&resolved, None);
            let doctor = doctor.map_err(|stop| run::failed(stop.into()))?;
            show(&doctor.expect("a cluster has checks"), host::now() - begun, arguments.json)
        }
        Some(BackendKind::Local | BackendKind::External) | None => {
            one_machine(resolved.as_ref(), arguments)
        }
    }
}

fn check_names(known: &[&str], resolved: &Resolved) -> Result<(), Failure> {
    let checked = resolved.spec.doctor.check(known, resolved);
    checked.map_err(|error| Failure::question(error.to_string()))
}

fn one_machine(resolved: Option<&Resolved>, arguments: &Options) -> Result<Exit, Failure> {
    let host = run::host()?;
    let root = &*arguments.root;
    let is_live = root == Path::new("/");
    let mut wanted = match resolved {
        None => Demands::default(),
        Some(resolved) => {
            check_names(&lab::doctor::words(), resolved)?;
            match is_live {
                true => local::doctor::wanted(resolved).map_err(|stop| run::failed(stop.into()))?,
                false => recorded_wanted(resolved),
            }
        }
    };
    let storage = arguments.storage.as_ref().map(std::path::absolute);
    wanted.storage = storage.transpose().map_err(Failure::question)?;
    if arguments.fix {
        fix(root, &wanted)?;
    }
    if let Some((program, rest)) = arguments.command.split_first() {
        let ended = run_command(program, rest, &host);
        restore(root)?;
        return ended;
    }
    let begun = host::now();
    let mut machine = Machine::new(root);
    let doctor = match is_live {
        false => machine.recorded(&wanted),
        true => {
            let programs = local::doctor::programs(resolved, &host).map_err(Failure::question)?;
            let found = machine.before(&wanted, programs, SPIN, &host);
            found.map_err(|stop| run::failed(stop.into()))?
        }
    };
    let shown = show(&doctor, host::now() - begun, arguments.json);
    if is_live && !arguments.json {
        let place =
            format!("the lock and the notes of your runs are in {}", host.runtime.display());
        let text = lab::runtime::problem(&host.runtime).unwrap_or(place);
        output::result(&format!("{text}\n"))?;
    }
    shown
}

/// Returns the demands of a spec on another machine, whose CPUs are not those here.
fn recorded_wanted(resolved: &Resolved) -> Demands {
    let roles = &resolved.spec.where_.roles;
    let of = |(name, role): (&str, &Option<lab::spec::Role>)| -> Option<(String, Cpus)> {
        let Written(cpus) = role.as_ref()?.cpus.as_ref()?;
        Some((name.to_owned(), cpus.clone()))
    };
    let roles = [("sut", &roles.sut), ("load", &roles.load)].into_iter().filter_map(of);
    let terms = Terms::of(&resolved.spec.doctor);
    Demands { roles: roles.collect(), terms, ..Demands::default() }
}

/// Changes settings, and says on stderr which.
fn fix(root: &Path, wanted: &Demands) -> Result<(), Failure> {
    let files = Reader::new(root).settings(host::now);
    let changes = fix::changes(&files, wanted);
    let applied =
        fix::apply(Place::fixed(root), &changes, &mut Real).map_err(Failure::no_answer)?;
    let Applied { done, refused } = applied;
    for Setting { path, before, after } in &done {
        output::error(&format!("changed  /{path}: {before} → {after}"));
    }
    for (Setting { path, after, .. }, why) in &refused {
        output::error(&format!("refused  /{path} to {after}: {why}"));
    }
    match done.is_empty() {
        true => output::error("nothing was changed"),
        false => {
            let file = Place::fixed(root).state_file();
            output::error(&format!(
                "`benchwright doctor --restore` puts it back, from {}",
                file.display()
            ));
        }
    }
    Ok(())
}

fn restore(root: &Path) -> Result<Exit, Failure> {
    let mut restored = fix::restore(Place::fixed(root), &mut Real).map_err(Failure::no_answer)?;
    restored.extend(interrupts::restore(root).map_err(Failure::no_answer)?);
    for Setting { path, before, .. } in &restored {
        output::error(&format!("restored /{path}: {before}"));
    }
    if restored.is_empty() {
        output::error("nothing was changed by --fix");
    }
    Ok(Exit::Answered)
}

/// Runs a command to its end, which an interruption brings, too: the settings are put back after it.
fn run_command(program: &str, arguments: &[String], host: &Host) -> Result<Exit, Failure> {
    let mut command = Command::new(program);
    command.args(arguments);
    let ended = helper::accompany(command, &host.interrupted);
    let status =
        ended.map_err(|error| Failure::question(format!("cannot start {program}: {error}")))?;
    Ok(match status.code() {
        _ if host.interrupted.load(Ordering::Relaxed) => Exit::Interrupted,
        Some(0) => Exit::Answered,
        Some(1) => Exit::No,
        Some(2) => Exit::Question,
        Some(130) => Exit::Interrupted,
        _ => Exit::NoAnswer,
    })
}

fn show(doctor: &Doctor, took: Nanos, json: bool) -> Result<Exit, Failure> {
    output::result(&match json {
        true => output::json(doctor),
        false => text(doctor, took),
    })?;
    Ok(if doctor.checks.iter().any(Check::refuses) { Exit::No } else { Exit::Answered })
}

/// Returns a line for each check, and a sum.
fn text(doctor: &Doctor, took: Nanos) -> String {
    let width = doctor.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (number, check) in (1..).zip(&doctor.checks) {
        let word = match check.word() {
            "error" => "BAD",
            "warning" => "WARN",
            word => word,
        };
        let remedy = check.remedy.as_ref().map(|remedy| format!(" · remedy: {remedy}"));
        text += &format!(
            "{word:<8} {number:>2} {:<width$}  {}{}\n",
            check.name,
            check.value,
            remedy.unwrap_or_default()
        );
    }
    let count = |word: &str| doctor.checks.iter().filter(|check| check.word() == word).count();
    let warnings = match count("warning") {
        1 => "1 warning".to_owned(),
        number => format!("{number} warnings"),
    };
    let unknown = doctor.checks.iter().filter(|check| check.state == State::Unknown).count();
    let fit = match doctor.checks.iter().any(Check::refuses) {
        true => "Not fit",
        false => "Fit",
    };
    text + &format!(
        "{} checks in {:.1} s: {} ok, {} bad, {warnings}, {unknown} unknown. {fit} for `doctor: strict`.\n\
         fingerprint {}\n",
        doctor.checks.len(),
        took.as_secs_f64(),
        count("ok"),
        count("error"),
        doctor.fingerprint.hash
    )
}
