//! `benchwright capacity`: the capacity of what answers at a URL. It writes the experiment that a user would, and
//! runs it as `run` does.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use console::output::{self, Exit, Failure};
use generator::{fields, mix_check};
use lab::asked::words::Words;
use lab::asked::{self, Asked, Experiment, Field, Range, Requests, Service};
use lab::experiment;
use measure::{Nanos, Share};
use results::{Slo, regular};

use super::run::{Out, conclude, out, watched};
use crate::progress::Watched;

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    about = "Find the highest load that a service at a URL carries under an SLO",
    long_about = "Find the highest load that a service at a URL carries under an SLO.\n\n\
        It writes an experiment and runs it: an open loop, whose requests start by the clock, at loads that close \
        in on the capacity from both sides. The answer, the journal, `resume`, `explain` and the report are those \
        of `benchwright run`. The service must be one that you may load: it is driven beyond its limit, several \
        times.",
    after_help = "Examples:\n  \
        benchwright capacity http://127.0.0.1:8080/ --slo 'p99<=50ms,failures<=0.1%'\n  \
        benchwright capacity http://127.0.0.1:8080/ --slo 50ms --time 5m --save mine.yaml\n  \
        benchwright capacity https://staging.example/ --slo 'p99<=200ms' --header-file token.txt",
    after_long_help = "Examples:\n  \
        benchwright capacity http://127.0.0.1:8080/ --slo 'p99<=50ms,failures<=0.1%'\n  \
        benchwright capacity http://127.0.0.1:8080/ --slo 50ms --time 5m --save mine.yaml\n  \
        benchwright capacity https://staging.example/ --slo 'p99<=200ms' --header-file token.txt\n\n\
        Secrets: the values of Authorization, of cookies, of fields such as X-Api-Key, of everything in \
        --header-file, the password before the host of the URL, and its parameters such as token=…, \
        password=… and key=… are sent, and written nowhere. In the experiment stand variables of \
        the environment, ${env.HEADER_AUTHORIZATION}, which `resume` and `run` need.\n\n\
        Exit codes: 0 found, 1 no load met the SLO, 2 wrong arguments, 3 only a bound or no trustworthy answer, \
        130 interrupted."
)]
pub(crate) struct Capacity {
    /// The URL to load: http, https or http+unix
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Objectives that a load must meet: 50ms for the p99, or p99<=50ms,failures<=0.1%
    #[arg(long, value_name = "OBJECTIVES", value_delimiter = ',', required = true)]
    #[arg(help_heading = "The question")]
    pub(crate) slo: Vec<Slo>,
    /// Look only between these loads, for example 500/s..5k/s [default: from what a short closed loop completes]
    #[arg(long, value_name = "LOW..HIGH", help_heading = "The question")]
    pub(crate) range: Option<Range>,
    /// End when the bounds of the capacity differ by this share [default: 2%, or what --time allows]
    #[arg(long, value_name = "SHARE", help_heading = "The question")]
    pub(crate) precision: Option<Share>,
    /// End within about this time, for example 5m; the first lines say how sure the answer is by then
    #[arg(long, value_name = "TIME", help_heading = "The question")]
    pub(crate) time: Option<Nanos>,
    /// Measure each load for this time [default: 5s, or what --time allows; ten times the limit of the SLO and three
    /// sessions of --mix, or more]
    #[arg(long, value_name = "TIME", help_heading = "The question")]
    pub(crate) duration: Option<Nanos>,
    /// Connections to the service. If all of them are busy, the answer is a bound and says so
    #[arg(long, short = 'c', value_name = "N", default_value_t = 64, help_heading = "Where")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: u32,
    /// A request without a response after this time has failed
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Where")]
    pub(crate) timeout: Nanos,
    /// Trust the issuers in this PEM file instead of the machine's
    #[arg(long, value_name = "FILE", help_heading = "Where")]
    pub(crate) ca: Option<PathBuf>,
    /// Accept any certificate: nothing is verified
    #[arg(long, short = 'k', conflicts_with = "ca", help_heading = "Where")]
    pub(crate) insecure: bool,
    /// The method of every request [default: GET]
    #[arg(long, short = 'm', value_name = "METHOD", help_heading = "What")]
    pub(crate) method: Option<String>,
    /// A header field, `Name: value`, such as a cookie or a token for authentication; may be repeated.
    /// ${env.NAME} in it stands for a variable of the environment
    #[arg(long, short = 'H', value_name = "FIELD", help_heading = "What")]
    pub(crate) header: Vec<String>,
    /// A file with a header field on each line, which no output shows: for passwords, tokens and cookies; - is
    /// standard input
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) header_file: Option<PathBuf>,
    /// The body of every request
    #[arg(long, value_name = "TEXT", help_heading = "What")]
    pub(crate) body: Option<String>,
    /// The body of every request, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "body", help_heading = "What")]
    pub(crate) body_file: Option<PathBuf>,
    /// Weighted requests, one JSON object a line; placeholders such as {{int 1 100}} or {{row.name}}
    #[arg(long, value_name = "FILE", help_heading = "What")]
    #[arg(conflicts_with_all = ["script", "method", "body", "body_file", "check"])]
    pub(crate) mix: Option<PathBuf>,
    /// A table (CSV with a header line) for the placeholders {{row.COLUMN}} of --mix
    #[arg(long, value_name = "FILE", requires = "mix", help_heading = "What")]
    pub(crate) data: Option<PathBuf>,
    /// Rules that each response must meet: 'status=2xx body~hotel bytes>=10 header:N=V json:/pointer=V'
    #[arg(long, value_name = "RULES", conflicts_with = "script", help_heading = "What")]
    pub(crate) check: Option<String>,
    /// A Lua script that makes the requests, with wrk's interface; its arguments follow `--`
    #[arg(long, value_name = "FILE", help_heading = "What")]
    pub(crate) script: Option<PathBuf>,
    /// Arguments of the script
    #[arg(last = true, value_name = "ARGS", requires = "script")]
    pub(crate) script_arguments: Vec<String>,
    /// Write the experiment to a file, with comments: change it, `plan` it, `run` it again. A file that holds
    /// another experiment is kept, and nothing is loaded
    #[arg(long, value_name = "FILE.yaml", help_heading = "Results")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Results")]
    pub(crate) out: Out,
    #[command(flatten, next_help_heading = "Results")]
    pub(crate) watched: Watched,
}

pub(crate) fn capacity(arguments: &Capacity) -> Result<Exit, Failure> {
    let failed = |error: anyhow::Error| Failure { exit: Exit::Question, error };
    let asked = asked(arguments).map_err(failed)?;
    let (name, folder) = match &arguments.save {
        Some(path) => (regular::shown(path), regular::folder_of(path)),
        None => ("the experiment of `benchwright capacity`".to_owned(), Path::new(".")),
    };
    let Experiment { yaml, resolved, variables, outlook } =
        asked::experiment(&asked, &name, folder).map_err(failed)?;
    if let Some(path) = &arguments.save {
        // A file that is in the way is said before anybody waits.
        is_saved(path, &yaml).map_err(failed)?;
    }
    output::error(&format!("time     {outlook}"));
    for (variable, of) in &variables {
        output::error(&format!(
            "secret   {of} is not kept: `resume` needs it again, as `export {variable}=…`"
        ));
    }
    let mut saved = None;
    let mut saving = || {
        let Some(path) = &arguments.save else { return Ok(()) };
        let as_it_was = if save(path, &yaml)? { " (as it was)" } else { "" };
        saved = Some(format!("saved    {}{as_it_was}", regular::shown(path)));
        Ok(())
    };
    let ended = watched(&arguments.watched, |host, backends, progress| {
        let out = out(&arguments.out);
        experiment::run_that_begins_with(&mut saving, &resolved, out, host, backends, progress)
    });
    // Not while the view has the terminal.
    saved.iter().for_each(|line| output::error(line));
    conclude(ended?, arguments.watched.json)
}

fn asked(arguments: &Capacity) -> anyhow::Result<Asked> {
    let Capacity { method, body, body_file, mix, data, check, script, script_arguments, .. } =
        arguments;
    let (method, body, body_file) = (method.clone(), body.clone(), body_file.clone());
    let requests = match (script, mix) {
        (Some(file), _) => Requests::Script {
            file: file.clone(),
            arguments: script_arguments.clone(),
            method,
            body,
            body_file,
        },
        (None, Some(file)) => Requests::Mix { file: file.clone(), data: data.clone() },
        (None, None) => Requests::One { method, body, body_file, check: check.clone() },
    };
    let session = longest_session(&requests)?;
    let fields = fields::of_options(&arguments.header, arguments.header_file.as_deref())?;
    let field =
        |fields::Field { name, value, is_of_file }| Field { name, value, is_secret: is_of_file };
    Ok(Asked {
        service: Service::At(arguments.url.clone()),
        slo: arguments.slo.clone(),
        headers: fields.into_iter().map(field).collect(),
        requests,
        session,
        connections: arguments.connections,
        timeout: arguments.timeout,
        ca: arguments.ca.clone(),
        insecure: arguments.insecure,
        range: arguments.range,
        precision: arguments.precision,
        measure: arguments.duration,
        time: arguments.time,
        needs: Vec::new(),
        words: Words::of_capacity(),
    })
}

/// Returns the think times of the longest session of a mix. A file that cannot be read again is left to the check of
/// the experiment, which refuses it.
fn longest_session(requests: &Requests) -> anyhow::Result<Nanos> {
    match requests {
        Requests::Mix { file, data } if file.is_file() && data.iter().all(|of| of.is_file()) => {
            mix_check::longest_session(file, data.as_deref()).map_err(|failure| failure.error)
        }
        _ => Ok(Nanos::ZERO),
    }
}

/// Writes the experiment into a new file: one that is there may have been changed by hand. One with the same
/// experiment is left as it is, so a command can be given twice. Returns true if the file was there.
fn save(path: &Path, yaml: &str) -> anyhow::Result<bool> {
    if is_saved(path, yaml)? {
        return Ok(true);
    }
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    let written = written.and_then(|mut file| file.write_all(yaml.as_bytes()));
    let in_words =
        |error| anyhow::anyhow!("--save {}: {}", regular::shown(path), regular::plain(&error));
    written.map(|()| false).map_err(in_words)
}

/// Returns true if the file is there with the same experiment, and false if there is none. Fails for anything else.
fn is_saved(path: &Path, yaml: &str) -> anyhow::Result<bool> {
    if !regular::is_there(path) {
        return Ok(false);
    }
    let shown = regular::shown(path);
    let kept = match regular::read(path, MOST_SAVED) {
        Ok(there) if there == yaml.as_bytes() => return Ok(true),
        Ok(there) => there,
        Err(_) if path.is_dir() => anyhow::bail!(
            "--save {shown}: it is a folder, and nothing was loaded; name a file in it: {}",
            path.join("experiment.yaml").display()
        ),
        Err(error) => anyhow::bail!(
            "--save {shown}: there is something else, and nothing was loaded: {}; name a new file",
            regular::plain(&error)
        ),
    };
    let folder = regular::folder_of(path);
    match lab::spec::from_bytes(&shown.to_string(), &kept, folder, None, &[]) {
        Ok(_) => anyhow::bail!(
            "--save {shown}: there is such a file, with another experiment, and nothing was loaded; name a new file, \
             remove this one, or ask again what it asks by `benchwright run {shown}`"
        ),
        Err(_) => anyhow::bail!(
            "--save {shown}: there is such a file, which is not an experiment, and nothing was loaded; name another"
        ),
    }
}

/// The longest file of which it is asked if it is an experiment.
const MOST_SAVED: u64 = 1 << 20;
