//! `benchwright run`, `plan`, `resume`, `rerun` and `clean`: experiments.

use std::path::{Path, PathBuf};

use clap::Args;

use ::report::Written;
use k8s::Kubernetes;
use lab::backend::simulated::Simulated;
use lab::backend::{Backend, Backends};
use lab::experiment::Ended;
use lab::progress::Progress;
use lab::spec::{BackendKind, Resolved};
use lab::{Error, Host, experiment, spec};
use local::Local;
use results::answer::Verdict;
use results::directory::Readers;
use results::{Answer, shell};

use super::unread;
use crate::progress::{Watched, Watcher};
use console::output::{self, Exit, Failure};

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) spec: Plan,
    #[command(flatten)]
    pub(crate) out: Out,
    #[command(flatten)]
    pub(crate) watched: Watched,
}

/// The results of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Out {
    /// The results directory [default: results/NAME-DATE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Let others read the results [default: only you, as they may hold what the service answered]
    #[arg(long)]
    pub(crate) shared: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// The experiment, as a YAML file
    pub(crate) spec: PathBuf,
    /// Apply one of the spec's own profiles; several are applied in order
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Vec<String>,
    /// Change one value of the spec, recorded in the results: --set phases.measure.time=2s
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 nothing is left, 3 something that is named could not be removed."
)]
pub(crate) struct Clean {
    /// Clean a cluster, not this machine; runs that are alive keep what is theirs
    #[arg(long)]
    pub(crate) cluster: bool,
    /// The cluster's configuration [default: KUBECONFIG, ~/.kube/config, or the pod's own]
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in it [default: the current one]
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub(crate) context: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// The results directory of the run
    pub(crate) directory: PathBuf,
    /// Change the budget of the run, and nothing else: --set budget.trials=60
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) watched: Watched,
}

#[derive(Args, Debug)]
pub(crate) struct Rerun {
    /// A results directory: its spec, with its profile and settings, is run with the programs of now
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) out: Out,
    #[command(flatten)]
    pub(crate) watched: Watched,
}

pub(crate) fn run(arguments: &Run) -> Result<Exit, Failure> {
    let resolved = resolve(&arguments.spec)?;
    let out = out(&arguments.out);
    let ended = watched(&arguments.watched, |host, backends, progress| {
        experiment::run(&resolved, out, host, backends, progress)
    })?;
    conclude(ended, arguments.watched.json)
}

pub(crate) fn plan(arguments: &Plan) -> Result<Exit, Failure> {
    let resolved = resolve(arguments)?;
    let mut text = experiment::plan(&resolved).map_err(Failure::question)?;
    check_stores(&resolved)?;
    if resolved.spec.where_.backend == BackendKind::Kubernetes {
        let objects = k8s::plan::objects_of(&resolved, &console::signals::interrupted());
        let objects = objects.map_err(|stop| failed(stop.into()))?;
        text += &format!("the objects, as YAML:\n{objects}");
    }
    output::result(&text)?;
    Ok(Exit::Answered)
}

/// Has the generator read the properties of YCSB's operations: what a run would refuse has no plan. Without its
/// secrets a load cannot be checked.
fn check_stores(resolved: &spec::Resolved) -> Result<(), Failure> {
    let host = host()?;
    let loads = experiment::of_stores(resolved).map_err(Failure::question)?;
    let mut complete = loads.iter().filter(|load| load.check_secrets().is_ok());
    complete.try_for_each(|load| local::check(load, &host)).map_err(|stop| failed(stop.into()))
}

pub(crate) fn resume(arguments: &Resume) -> Result<Exit, Failure> {
    let ended = watched(&arguments.watched, |host, backends, progress| {
        experiment::resume(&arguments.directory, &arguments.set, host, backends, progress)
    })?;
    conclude(ended, arguments.watched.json)
}

pub(crate) fn rerun(arguments: &Rerun) -> Result<Exit, Failure> {
    let (earlier, out) = (&arguments.directory, out(&arguments.out));
    let ended = watched(&arguments.watched, |host, backends, progress| {
        experiment::rerun(earlier, out, host, backends, progress)
    })?;
    if let Ok(Ended { directory, .. }) = &ended {
        let (a, b) = (shown(earlier), shown(directory.path()));
        let line = shell::line(&["benchwright", "compare", &a, &b]);
        output::error(&format!("compare  {line}"));
    }
    conclude(ended, arguments.watched.json)
}

pub(super) fn out(arguments: &Out) -> experiment::Out {
    let readers = if arguments.shared { Readers::Shared } else { Readers::Owner };
    experiment::Out { path: arguments.out.clone(), readers }
}

/// Lets an experiment run while its events are shown.
pub(super) fn watched(
    shown: &Watched,
    work: impl FnOnce(&Host, Backends<'_>, &mut dyn Progress) -> Result<Ended, Error>,
) -> Result<Result<Ended, Error>, Failure> {
    let host = host()?;
    let mut watcher = Watcher::begin(shown, &host)?;
    let tell = watcher.teller();
    let backends = |spec: &Resolved| backend(spec, &host, &tell);
    let ended = work(&host, &backends, &mut watcher);
    watcher.end();
    Ok(ended)
}

pub(crate) fn clean(arguments: &Clean) -> Result<Exit, Failure> {
    let (removed, staying) = match arguments.cluster {
        true => {
            let (kubeconfig, context) = (&arguments.kubeconfig, &arguments.context);
            let interrupted = console::signals::interrupted();
            let removed = Kubernetes::clean(kubeconfig.as_deref(), context.as_deref(), interrupted);
            (removed.map_err(|stop| failed(stop.into()))?, Vec::new())
        }
        false => {
            let mut local = Local::new(host()?);
            local.lock().map_err(|stop| failed(stop.into()))?;
            (local.clean_up(), local.staying())
        }
    };
    let text: String = removed.iter().map(|removed| format!("{removed}\n")).collect();
    output::result(match text.is_empty() && staying.is_empty() {
        true => "nothing was left behind\n",
        false => &text,
    })?;
    Ok(tell_staying(&staying, Exit::Answered))
}

/// Names what could not be removed, and returns the exit code: a command that leaves something behind has not done
/// what it was to do.
fn tell_staying(staying: &[String], exit: Exit) -> Exit {
    staying.iter().for_each(|stays| output::error(&format!("! {stays}")));
    match exit {
        Exit::Answered if !staying.is_empty() => Exit::NoAnswer,
        exit => exit,
    }
}

/// Returns the backend of a spec: the one place that knows them all. It tells what is not an event of
/// the run.
pub(super) fn backend(
    spec: &Resolved,
    host: &Host,
    tell: &(impl Fn(&str) + Clone + 'static),
) -> Box<dyn Backend> {
    match spec.spec.where_.backend {
        BackendKind::Simulated => Box::new(Simulated::new(spec).heeding(host.clone())),
        BackendKind::Local | BackendKind::External => Box::new(Local::new(host.clone())),
        BackendKind::Kubernetes => Box::new(Kubernetes::new(host.clone(), tell.clone())),
    }
}

pub(super) fn host() -> Result<Host, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::no_answer(format!("finding the own executable: {error}")))?;
    let interrupted = console::signals::interrupted();
    Ok(Host { interrupted, ..Host::new(own, env!("CARGO_PKG_VERSION")) })
}

pub(super) fn resolve(arguments: &Plan) -> Result<spec::Resolved, Failure> {
    let profiles = (!arguments.profile.is_empty()).then(|| arguments.profile.join("+"));
    spec::load(&arguments.spec, profiles.as_deref(), &arguments.set).map_err(Failure::question)
}

/// Writes the report, then the answer with the report's path in it, and last prints on stderr why a
/// run has no answer.
pub(super) fn conclude(ended: Result<Ended, lab::Error>, json: bool) -> Result<Exit, Failure> {
    let mut ended = ended.map_err(failed)?;
    output::clear();
    ended.answer.report = Some(report(&ended).map_err(Failure::no_answer)?);
    let answer = &ended.answer;
    output::result(&match json {
        true => output::json(answer),
        false => lab::answer::table(answer),
    })?;
    // An answer that is only a bound may go on, too.
    let go_on = answer.go_on(&shown(ended.directory.path()));
    let tell = || go_on.iter().for_each(|command| output::error(&format!("go on    {command}")));
    let exit = match answer.verdict {
        Verdict::Answered => {
            tell();
            Exit::Answered
        }
        Verdict::No => Exit::No,
        Verdict::NoAnswer => {
            output::error(&format!("error: {}", answer.summary));
            tell();
            Exit::NoAnswer
        }
        Verdict::Interrupted => {
            output::error(&ended.interrupted_in_words());
            Exit::Interrupted
        }
        Verdict::Open => unreachable!("a run that ended is not open"),
    };
    Ok(tell_staying(&ended.staying, exit))
}

/// Writes the report and returns its path. The answer in the directory names the report by its path
/// within the directory: the content of a directory must not depend on where it is, or the same run
/// would differ.
fn report(ended: &Ended) -> Result<String, results::directory::Error> {
    // Through the folder that the run has open: another one may have its name.
    let results = &ended.directory;
    let Written { path, unread, problems, .. } =
        ::report::write(results, None, Some(ended.answer.clone()))?;
    unread::lines(&shown(results.path()), &unread).iter().for_each(|line| output::error(line));
    problems.iter().for_each(|problem| output::error(&format!("! not shown: {problem}")));
    let name = path.strip_prefix(results.path()).unwrap_or(&path);
    results.write_answer(&Answer { report: Some(shown(name)), ..ended.answer.clone() })?;
    Ok(shown(&path))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

pub(super) fn failed(error: lab::Error) -> Failure {
    output::clear();
    match error {
        lab::Error::Question(error) => Failure { exit: Exit::Question, error },
        lab::Error::NoAnswer(error) => Failure { exit: Exit::NoAnswer, error },
        interrupted @ lab::Error::Interrupted => {
            Failure { exit: Exit::Interrupted, error: interrupted.into() }
        }
    }
}
