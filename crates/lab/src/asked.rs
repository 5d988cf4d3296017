//! The experiment behind a question about a service: what it can do under these objectives. It is written as a file,
//! and read by the one reader of specs, so that nothing runs that a file could not say. What the file has only as a
//! guess, it calls one.
//!
//! Secrets of the question leave it here: the file has references to variables of the environment.

use std::path::{Path, PathBuf};

use measure::{Nanos, Rate, Share};
use results::Slo;
use results::secrets::ENV;

use crate::experiment;
use crate::spec::{self, Resolved, SpecError};

use choice::{Choice, Usual, choose};
use kept::Kept;
use parts::Parts;
use words::Words;

mod choice;
mod kept;
mod parts;
mod written;

pub mod guess;
pub mod words;

#[cfg(test)]
mod tests;

/// A question about a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub service: Service,
    pub slo: Vec<Slo>,
    pub headers: Vec<Field>,
    pub requests: Requests,
    /// The think times of one session, the longest of a mix; zero without sessions.
    pub session: Nanos,
    pub connections: u32,
    pub timeout: Nanos,
    /// A file with the issuers to trust.
    pub ca: Option<PathBuf>,
    /// True if any certificate is accepted.
    pub insecure: bool,
    /// The loads between which the capacity is looked for; without them a short closed loop finds the first one.
    pub range: Option<Range>,
    /// The most by which the bounds of the capacity may differ; without it, what the time allows.
    pub precision: Option<Share>,
    /// The length of a measurement; without it, what the time allows.
    pub measure: Option<Nanos>,
    /// The longest time of the whole run.
    pub time: Option<Nanos>,
    /// The variables of the environment that the files of the question need, each with what it is the value of.
    pub needs: Vec<(String, String)>,
    pub words: Words,
}

/// The service of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// It runs already, at this URL.
    At(String),
    /// It is started for the experiment.
    Started(Started),
}

/// A program that serves at a port of its command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    pub name: String,
    /// Program and arguments, with `${port}` where its port belongs.
    pub command: Vec<String>,
    /// The path that is requested.
    pub path: String,
    /// The CPUs of the program and of the load, if each has its own.
    pub cpus: Option<(String, String)>,
}

/// A header field of every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub value: String,
    /// True if its whole value is a secret, whatever its name.
    pub is_secret: bool,
}

/// The requests of a question; paths of files are relative to the working directory.
#[derive(Clone, Debug, PartialEq)]
pub enum Requests {
    /// One that is repeated.
    One {
        method: Option<String>,
        body: Option<String>,
        body_file: Option<PathBuf>,
        check: Option<String>,
    },
    Script {
        file: PathBuf,
        arguments: Vec<String>,
        method: Option<String>,
        body: Option<String>,
        body_file: Option<PathBuf>,
    },
    Mix {
        file: PathBuf,
        data: Option<PathBuf>,
    },
}

/// The lowest and the highest load: `500/s..5k/s`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range(pub Rate, pub Rate);

impl std::str::FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Range, String> {
        let wrong =
            || format!("`{text}` is not a valid range of rates; write for example 500/s..5k/s");
        let (low, high) = text.split_once("..").ok_or_else(wrong)?;
        let rate = |text: &str| text.trim().parse::<Rate>().map_err(|_| wrong());
        let (low, high) = (rate(low)?, rate(high)?);
        match low.as_per_second() < high.as_per_second() {
            true => Ok(Range(low, high)),
            false => {
                Err(format!("the range from {low} to {high} is empty; write the lower rate first"))
            }
        }
    }
}

/// The experiment of a question.
#[derive(Debug)]
pub struct Experiment {
    /// The file.
    pub yaml: String,
    pub resolved: Resolved,
    /// The variables of the environment that stand for the secrets of the question, each with the part that it
    /// is the value of. A run that is resumed, and one of the file, needs them.
    pub variables: Vec<(String, String)>,
    /// A sentence on the time that it takes, and how sure the answer is then.
    pub outlook: String,
}

/// Returns the experiment of a question; `name` is that of its file, for messages, and `folder` the one in which it
/// will be. `environment` returns a variable's value.
pub fn experiment(asked: &Asked, name: &str, folder: &Path) -> Result<Experiment, anyhow::Error> {
    let mut kept = Kept::beside(&asked.needs);
    let parts = Parts::of(asked, folder, &mut kept)?;
    let resolved = |choice: &Choice, budget: bool| -> Result<(String, Resolved), SpecError> {
        let yaml = written::written(asked, &parts, &kept, choice, budget);
        let mut resolved = spec::from_bytes(name, yaml.as_bytes(), folder, None, &[])?;
        for (variable, (_, value)) in &kept.values {
            resolved.secrets.set(&format!("{ENV}{variable}"), value);
        }
        Ok((yaml, resolved))
    };
    let usual = |choice: &Choice| -> Result<Usual, anyhow::Error> {
        let (_, resolved) = resolved(choice, false)?;
        let (trials, time) = experiment::usually(&resolved)?.unwrap_or_default();
        Ok(Usual { trials, time })
    };
    let (choice, outlook) = choose(asked, usual)?;
    let (yaml, resolved) = resolved(&choice, true)?;
    choice::long_enough(asked, experiment::least(&resolved)?)?;
    let variables = kept.values.into_iter().map(|(name, (of, _))| (name, of)).collect();
    Ok(Experiment { yaml, resolved, variables, outlook })
}
