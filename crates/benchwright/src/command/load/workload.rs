//! What is asked, of every target.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use load::Fault;
use load::driver::http1::{Http1, HttpWorkload, Static};
use load::measurement::Plan;
use measure::Random;
use mix::{Checked, Checks, Data, Mix, Mixed};
use script::{Defaults, Program, Script};

use super::target::Target;
use crate::output::Failure;

/// One form for all: only what makes requests differs.
pub(crate) type Driver = Http1<Box<dyn HttpWorkload + Send>>;

/// What was asked for on a command line.
pub(crate) struct Requested<'a> {
    pub(crate) method: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    /// A script and its arguments.
    pub(crate) script: Option<(&'a Path, &'a [String])>,
    /// A mix and its table of data.
    pub(crate) mix: Option<(&'a Path, Option<&'a Path>)>,
    pub(crate) check: Option<&'a str>,
    pub(crate) seed: u64,
}

pub(crate) enum Workload {
    Static { defaults: Defaults, checks: Option<Arc<Checks>> },
    Script { program: Program, seed: u64, defaults: Defaults },
    Mix { file: MixFile, seed: u64, headers: Vec<(String, String)> },
}

/// A mix as it was read; what it says of `Host` differs from target to target.
pub(crate) struct MixFile {
    path: PathBuf,
    text: String,
    data: Option<Arc<Data>>,
    labels: Vec<String>,
}

impl Workload {
    pub(crate) fn new(requested: Requested<'_>) -> Result<Workload, Failure> {
        let Requested { method, headers, body, script, mix, check, seed } = requested;
        if let Some((path, data)) = mix {
            let file = MixFile::read(path, data).map_err(super::question)?;
            return Ok(Workload::Mix { file, seed, headers });
        }
        let defaults = Defaults { method: method.to_owned(), headers, body };
        let Some((path, arguments)) = script else {
            let checks = check.map(Checks::parse).transpose();
            let checks = checks.map_err(|e| Failure::question(format!("--check: {e}")))?;
            return Ok(Workload::Static { defaults, checks: checks.map(Arc::new) });
        };
        let program = Program::load(path, arguments.to_vec()).map_err(Failure::question)?;
        Ok(Workload::Script { program, seed, defaults })
    }

    /// The names of the labels that requests have.
    pub(crate) fn labels(&self) -> Vec<String> {
        match self {
            Workload::Mix { file, .. } => file.labels.clone(),
            Workload::Static { .. } | Workload::Script { .. } => Vec::new(),
        }
    }

    /// The driver of each lane. A script that does not load is a wrong question.
    pub(crate) fn drivers(&self, plan: &Plan, targets: &[Target]) -> Result<Vec<Driver>, Failure> {
        let of_each = plan.lanes_of_each() as usize;
        let mixes = self.mixes(targets)?;
        let mut before = 0;
        let lanes = plan.lanes.iter().enumerate();
        let drivers = lanes.map(|(lane, planned)| {
            let target = lane / of_each;
            let connections_before = before;
            before += planned.connections as u32;
            let workload = match (self, mixes.get(target)) {
                (Workload::Mix { seed, .. }, Some(mix)) => {
                    let (seed, target) = (*seed, target as u32);
                    let lane = mix::Lane { seed, target, connections_before };
                    Box::new(Mixed::new(mix, lane, milliseconds))
                }
                _ => self.make(&targets[target], lane as u64)?,
            };
            Ok(Http1::new(planned.connections, workload))
        });
        drivers.collect::<Result<_, Fault>>().map_err(Failure::question)
    }

    /// The mix of each target, if there is one.
    fn mixes(&self, targets: &[Target]) -> Result<Vec<Arc<Mix>>, Failure> {
        let Workload::Mix { file, headers, .. } = self else { return Ok(Vec::new()) };
        let of_target = |target: &Target| {
            let fields = with_host(headers, target);
            file.mix(&fields).map(Arc::new).map_err(Failure::question)
        };
        targets.iter().map(of_target).collect()
    }

    fn make(&self, target: &Target, lane: u64) -> Result<Box<dyn HttpWorkload + Send>, Fault> {
        match self {
            Workload::Static { defaults: Defaults { method, headers, body }, checks } => {
                let fields = with_host(headers, target);
                let fields: Vec<(&str, &str)> =
                    fields.iter().map(|(name, value)| (&**name, &**value)).collect();
                let body = body.as_deref().unwrap_or_default();
                let request = Static::new(method, &target.path, &fields, body);
                Ok(match checks {
                    Some(checks) => Box::new(Checked::new(request, Arc::clone(checks))),
                    None => Box::new(request),
                })
            }
            Workload::Script { program, seed, defaults } => {
                let seed = Random::part(*seed, lane).next_u64();
                Ok(Box::new(Script::new(program, &target.for_script(), defaults, seed)?))
            }
            Workload::Mix { .. } => unreachable!("a target has its mix already"),
        }
    }
}

impl MixFile {
    fn read(path: &Path, data: Option<&Path>) -> anyhow::Result<MixFile> {
        let read = |path: &Path| {
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
        };
        let data = data.map(|path| {
            let data = Data::read(&path.display().to_string(), &read(path)?);
            Ok::<_, anyhow::Error>(Arc::new(data.map_err(anyhow::Error::msg)?))
        });
        let (path, text, data) = (path.to_owned(), read(path)?, data.transpose()?);
        let file = MixFile { path, text, data, labels: Vec::new() };
        let labels = file.mix(&[]).map_err(anyhow::Error::msg)?;
        let labels = labels.labels().map(str::to_owned).collect();
        Ok(MixFile { labels, ..file })
    }

    fn mix(&self, fields: &[(String, String)]) -> Result<Mix, mix::Error> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        Mix::read(&mix::Source {
            file: &self.path.display().to_string(),
            text: &self.text,
            data: self.data.clone(),
            fields,
            body_file: &|name| fs::read(folder.join(name)),
        })
    }
}

/// The header fields of each request, with the target's `Host` unless one was given.
fn with_host(headers: &[(String, String)], target: &Target) -> Vec<(String, String)> {
    let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = (!has_host).then(|| ("Host".to_owned(), target.authority.clone()));
    host.into_iter().chain(headers.iter().cloned()).collect()
}

/// Since 1970, for requests that say when they were made.
fn milliseconds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the mix asks for the wall clock itself")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

pub(super) fn header(field: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = field
        .split_once(':')
        .with_context(|| format!("`{field}` is no header field; write `Name: value`"))?;
    let bad = |c: char| c.is_control() || c == ' ';
    anyhow::ensure!(
        !name.is_empty() && !name.contains(bad) && !value.contains(['\r', '\n']),
        "`{field}` is no header field; write `Name: value`"
    );
    Ok((name.to_owned(), value.trim().to_owned()))
}
