//! `benchwright init`: a first experiment from a running service, a program, or what describes a service. It writes
//! the file that a user would, and marks what it guesses.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use console::output::{self, Exit, Failure};
use described::{Described, Kind, Mix, Wanted, one_line};
use generator::load::probe::{self, Probe, Probed, probe};
use generator::{fields, mix_check};
use lab::asked::guess;
use lab::asked::words::{Guessed, Words};
use lab::asked::{self, Asked, Experiment, Field, Range, Requests, Service};
use measure::Nanos;
use results::{Slo, regular, shell};

mod facts;
mod program;

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    about = "Write a first experiment from a URL, an OpenAPI document, a HAR, an access log or a command",
    long_about = "Write a first experiment from a URL, an OpenAPI document, a HAR, an access log or a command.\n\n\
        A URL is asked ten times, one request after the other: the answers give the first loads. Of an OpenAPI \
        document (2.0, 3.0, 3.1), a HAR of a browser or an access log (combined, or JSON as nginx, Caddy and Traefik \
        write it) the requests become a mix in a file beside the experiment; nothing is sent. A command is started, \
        asked and ended.\n\n\
        What it guesses is marked with `# guess:` in both files. Requests that may change data are written as \
        comments. Secrets of the source (tokens, cookies, passwords) go nowhere: references to variables of the \
        environment, ${env.NAME}, stand in their places.",
    after_help = "Examples:\n  \
        benchwright init http://127.0.0.1:8080/\n  \
        benchwright init openapi.yaml --base http://127.0.0.1:8080\n  \
        benchwright init access.log --base http://127.0.0.1:8080 --out production.yaml\n  \
        benchwright init -- ./service --port {port}\n  \
        benchwright init recorded.har --journey -- ./service --port {port}"
)]
pub(crate) struct Init {
    /// The URL of a service or of its OpenAPI document, or a file: an OpenAPI document, a HAR, an access log
    #[arg(value_name = "SOURCE", required_unless_present = "command")]
    pub(crate) source: Option<String>,
    /// A program to start, with {port} where its port belongs
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// The kind of the source [default: by its contents]
    #[arg(
        long = "as",
        value_name = "openapi|har|log",
        requires = "source",
        help_heading = "The source"
    )]
    pub(crate) kind: Option<Kind>,
    /// The URL of the service, if the source does not name it, or names another one. Of a HAR with several origins,
    /// the one whose requests are taken
    #[arg(long, value_name = "URL", requires = "source", conflicts_with = "command")]
    #[arg(help_heading = "The source")]
    pub(crate) base: Option<String>,
    /// Send requests that may change data, too: POST, PUT, PATCH, DELETE
    #[arg(long, requires = "source", help_heading = "The source")]
    pub(crate) writes: bool,
    /// Send those for the files of a page, too: images, fonts, styles, scripts
    #[arg(long, requires = "source", help_heading = "The source")]
    pub(crate) files: bool,
    /// Make a session of a HAR: its requests in their order, with the times between them
    #[arg(long, requires = "source", help_heading = "The source")]
    pub(crate) journey: bool,
    /// The path that is requested of a command [default: /]
    #[arg(long, value_name = "PATH", requires = "command", conflicts_with = "source")]
    #[arg(help_heading = "The source")]
    pub(crate) path: Option<String>,
    /// Objectives that a load must meet: 50ms for the p99, or p99<=50ms,failures<=0.1% [default: a guess]
    #[arg(long, value_name = "OBJECTIVES", value_delimiter = ',', help_heading = "The experiment")]
    pub(crate) slo: Vec<Slo>,
    /// Look only between these loads, for example 500/s..5k/s [default: a guess]
    #[arg(long, value_name = "LOW..HIGH", help_heading = "The experiment")]
    pub(crate) range: Option<Range>,
    /// A header field of every request, `Name: value`, such as a cookie or a token for authentication; may be repeated.
    /// ${env.NAME} in it stands for a variable of the environment
    #[arg(long, short = 'H', value_name = "FIELD", help_heading = "The experiment")]
    pub(crate) header: Vec<String>,
    /// A file with a header field on each line, which no output shows: for passwords, tokens and cookies
    #[arg(long, value_name = "FILE", help_heading = "The experiment")]
    pub(crate) header_file: Option<PathBuf>,
    /// Trust the issuers in this PEM file instead of the machine's
    #[arg(long, value_name = "FILE", help_heading = "The experiment")]
    pub(crate) ca: Option<PathBuf>,
    /// Accept any certificate: nothing is verified
    #[arg(long, short = 'k', conflicts_with = "ca", help_heading = "The experiment")]
    pub(crate) insecure: bool,
    /// The file to write; a mix is written beside it, with the ending .jsonl
    #[arg(
        long,
        value_name = "FILE.yaml",
        default_value = "experiment.yaml",
        help_heading = "Results"
    )]
    pub(crate) out: PathBuf,
    /// Replace files that are there
    #[arg(long, help_heading = "Results")]
    pub(crate) force: bool,
}

/// The experiment before anything is written.
struct Draft {
    asked: Asked,
    mix: Option<Mix>,
    /// The sentences for the user, each with its first word.
    said: Vec<String>,
}

/// Returns the place of the mix that belongs to an experiment.
pub(crate) fn mix_beside(experiment: &Path) -> PathBuf {
    experiment.with_extension("jsonl")
}

pub(crate) fn init(arguments: &Init) -> Result<Exit, Failure> {
    let mix = mix_beside(&arguments.out);
    if arguments.header_file.as_deref() == Some(Path::new("-")) {
        return Err(Failure::question(
            "--header-file -: it is read several times here; name a file",
        ));
    }
    check_places(arguments, &mix)?;
    let draft = draft(arguments, &mix)?;
    draft.said.iter().for_each(|line| output::error(line));
    let experiment = write(arguments, &mix, &draft)?;
    tell(arguments, &mix, &draft, &experiment)?;
    Ok(Exit::Answered)
}

/// Fails before anything is sent if nothing may be written.
fn check_places(arguments: &Init, mix: &Path) -> Result<(), Failure> {
    for path in [arguments.out.as_path(), mix] {
        let shown = regular::shown(path);
        if path.symlink_metadata().is_ok() && !arguments.force {
            return Err(Failure::question(format!(
                "{shown}: there is such a file; name another one with --out, or replace it with --force"
            )));
        }
        output::check_place("--out", path)
            .map_err(|error| Failure::question(format!("{error:#}")))?;
    }
    match arguments.out == mix {
        true => {
            Err(Failure::question("--out: the ending .jsonl is that of the mix; write FILE.yaml"))
        }
        false => Ok(()),
    }
}

fn draft(arguments: &Init, mix: &Path) -> Result<Draft, Failure> {
    match &arguments.source {
        Some(source) if source.contains("://") => of_url(arguments, source, mix),
        Some(source) => {
            let path = Path::new(source);
            let (kind, described) = read_file(arguments, path)?;
            of_described(arguments, kind, &described, source, mix)
        }
        None => program::draft(arguments, None, None),
    }
}

/// Asks a URL; what it serves may be an OpenAPI document.
fn of_url(arguments: &Init, url: &str, mix: &Path) -> Result<Draft, Failure> {
    let is_document = arguments.kind.is_some();
    let seen = ask(arguments, url, if is_document { 1 } else { probe::REQUESTS })?;
    must_succeed(&seen)?;
    let found = described::detect(&seen.body).ok().filter(|kind| *kind == Kind::OpenApi);
    match arguments.kind.or(found) {
        Some(kind) => {
            let mut body = &seen.body[..];
            let wanted = Wanted { from: Some(url.to_owned()), ..wanted(arguments) };
            let described = described::read(kind, &mut body, &wanted)
                .map_err(|why| Failure::question(format!("{}: {why}", one_line(url))))?;
            of_described(arguments, kind, &described, url, mix)
        }
        None if !arguments.command.is_empty() => Err(Failure::question(
            "a URL is that of a service that runs already, and a command starts one; name one of them",
        )),
        None => {
            let Init { base, writes, files, journey, .. } = arguments;
            if base.is_some() || *writes || *files || *journey {
                return Err(Failure::question(format!(
                    "{}: it is not an OpenAPI document, which --base, --writes, --files and --journey are for; leave \
                     them out, or add --as openapi",
                    one_line(url)
                )));
            }
            let mut draft = experiment(arguments, Service::At(url.to_owned()), Some(&seen))?;
            let head = &mut draft.asked.words.head;
            head.insert(0, format!("Written by `benchwright init` for {}.", one_line(url)));
            Ok(draft)
        }
    }
}

/// Asks a service; fails if no request has a response.
fn ask(arguments: &Init, url: &str, requests: u64) -> Result<Probed, Failure> {
    let seen = probe(&Probe {
        url,
        header: &arguments.header,
        header_file: arguments.header_file.as_deref(),
        ca: arguments.ca.as_deref().filter(|_| url.starts_with("https:")),
        insecure: arguments.insecure && url.starts_with("https:"),
        requests,
    })?;
    match seen.responses() {
        0 => Err(Failure::no_answer(facts::no_success(&seen))),
        _ => Ok(seen),
    }
}

/// Fails if each response was a failure: an experiment of these requests would measure nothing else.
fn must_succeed(seen: &Probed) -> Result<(), Failure> {
    match seen.has_success() {
        true => Ok(()),
        false => Err(Failure::no_answer(facts::no_success(seen))),
    }
}

fn wanted(arguments: &Init) -> Wanted {
    // The requests of a program go to it, whatever server its description names.
    let of_command = (!arguments.command.is_empty()).then(|| "http://127.0.0.1".to_owned());
    Wanted {
        writes: arguments.writes,
        files: arguments.files,
        journey: arguments.journey,
        base: arguments.base.clone().or(of_command),
        from: None,
    }
}

fn read_file(arguments: &Init, path: &Path) -> Result<(Kind, Described), Failure> {
    let wrong = |why: String| Failure::question(format!("{}: {why}", regular::shown(path)));
    let file = regular::open_input(path).map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::NotFound => "; name a file, or a URL with http:// or https://",
            _ => "",
        };
        wrong(format!("{}{remedy}", regular::plain(&error)))
    })?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(wrong("it is a folder; name a file in it".to_owned()));
    }
    let mut input = BufReader::with_capacity(64 << 10, file);
    let head = input.fill_buf().map_err(|error| wrong(regular::plain(&error)))?;
    let kind = match arguments.kind {
        Some(kind) => kind,
        None => described::detect(head).map_err(wrong)?,
    };
    let described = described::read(kind, &mut input, &wanted(arguments)).map_err(wrong)?;
    Ok((kind, described))
}

/// Makes the experiment of what describes a service.
fn of_described(
    arguments: &Init,
    kind: Kind,
    described: &Described,
    source: &str,
    path: &Path,
) -> Result<Draft, Failure> {
    let name = source.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(source);
    let name = one_line(name.split('?').next().unwrap_or(name));
    let from = format!("{name}, {kind}");
    let mix = described::mix(described, &from);
    let mut draft = match arguments.command.is_empty() {
        false => program::draft(arguments, Some(path), Some(described))?,
        true => {
            let url = arguments.base.as_deref().map_or(described.endpoint.as_str(), origin);
            experiment(arguments, Service::At(url.to_owned()), None)?
        }
    };
    draft.asked.requests = Requests::Mix { file: path.to_owned(), data: None };
    draft.asked.needs = mix.variables.clone().into_iter().collect();
    let words = &mut draft.asked.words;
    if let Some(why) = described.endpoint_guess.as_ref().filter(|_| arguments.command.is_empty()) {
        words.guesses.insert(Guessed::Service, why.clone());
    }
    if let (None, Some(rates)) = (arguments.range, described.rates) {
        let (range, why) = guess::of_rates(rates.median_per_s, rates.peak_per_s, rates.minutes);
        draft.asked.range = Some(range);
        words.guesses.insert(Guessed::Search, why);
    }
    let title =
        described.title.as_ref().map_or(String::new(), |title| format!(" ({})", one_line(title)));
    let mut head = vec![format!("Written by `benchwright init` from {from}{title}.")];
    head.extend(described.said.iter().map(|said| format!("{said}.")));
    head.append(&mut words.head);
    words.head = head;
    let mut said = vec![format!("read     {} as {kind}", one_line(source))];
    if let Service::At(url) = &draft.asked.service {
        let why = described
            .endpoint_guess
            .as_ref()
            .map_or(String::new(), |why| format!(" (guess: {why})"));
        said.push(format!("service  {}{why}", one_line(url)));
    }
    said.extend(described.said.iter().map(|line| format!("note     {}", one_line_of(line))));
    said.append(&mut draft.said);
    Ok(Draft { mix: Some(mix), said, ..draft })
}

/// Returns a sentence of ours, which may be longer than a text of a source.
fn one_line_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Returns a URL without its path.
fn origin(url: &str) -> &str {
    let begin = url.find("://").map_or(0, |at| at + "://".len());
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    &url[..end]
}

/// Makes an experiment with guesses for all that is not known, some of them by what was seen of the service.
fn experiment(arguments: &Init, service: Service, seen: Option<&Probed>) -> Result<Draft, Failure> {
    let mut guesses = guess::usual();
    let alone = seen.and_then(|seen| seen.alone);
    let slo = match arguments.slo.is_empty() {
        false => arguments.slo.clone(),
        true => {
            let (slo, why) = guess::slo(alone);
            guesses.insert(Guessed::Slo, why);
            slo
        }
    };
    let range = match (arguments.range, alone) {
        (Some(range), _) => {
            guesses.insert(Guessed::Search, "the precision; a finer one takes longer".to_owned());
            Some(range)
        }
        (None, Some(alone)) => {
            let (range, why) = guess::of_one_connection(alone);
            guesses.insert(Guessed::Search, why);
            Some(range)
        }
        (None, None) => {
            let why =
                "nothing says how much it carries, so a closed loop of all connections finds out";
            guesses.insert(Guessed::Search, why.to_owned());
            None
        }
    };
    let facts = seen.map(facts::of).unwrap_or_default();
    let said = facts.iter().map(|fact| format!("seen     {fact}")).collect();
    let mut head = vec![
        "What is marked `guess:` is not known: read it, and correct it. `benchwright plan` says what a run would do."
            .to_owned(),
        "Load only a service that you may load: a run drives it beyond its limit, several times.".to_owned(),
    ];
    head.extend(facts.iter().map(|fact| format!("Seen: {fact}.")));
    let fields = fields::of_options(&arguments.header, arguments.header_file.as_deref())
        .map_err(|error| Failure { exit: Exit::Question, error })?;
    let field =
        |fields::Field { name, value, is_of_file }| Field { name, value, is_secret: is_of_file };
    let is_secured = matches!(&service, Service::At(url) if url.starts_with("https:"));
    let asked = Asked {
        service,
        slo,
        headers: fields.into_iter().map(field).collect(),
        requests: Requests::One { method: None, body: None, body_file: None, check: None },
        session: Nanos::ZERO,
        connections: guess::CONNECTIONS,
        timeout: guess::TIMEOUT,
        ca: arguments.ca.clone().filter(|_| is_secured),
        insecure: arguments.insecure && is_secured,
        range,
        precision: None,
        measure: None,
        time: None,
        needs: Vec::new(),
        words: Words { head, prefix: String::new(), guesses },
    };
    Ok(Draft { asked, mix: None, said })
}

/// Writes the mix and the experiment, which `plan` has read before.
fn write(arguments: &Init, mix_path: &Path, draft: &Draft) -> Result<Experiment, Failure> {
    let Draft { asked, mix, .. } = draft;
    let (out, force) = (&arguments.out, arguments.force);
    let made = || {
        let asked = match mix {
            Some(_) => with_sessions(asked, mix_check::longest_session(mix_path, None)?),
            None => asked.clone(),
        };
        asked::experiment(&asked, &out.display().to_string(), regular::folder_of(out))
            .map_err(|error| Failure { exit: Exit::Question, error })
    };
    if let Some(mix) = mix {
        put(mix_path, &mix.text, force)?;
    }
    let experiment = made().inspect_err(|_| {
        // Nothing needs the mix then; one that was there before stays replaced.
        if mix.is_some() && !force {
            let _ = std::fs::remove_file(mix_path);
        }
    })?;
    put(out, &experiment.yaml, force)?;
    Ok(experiment)
}

/// Returns a question with the think times of the longest session of its mix, on which the phases depend.
fn with_sessions(asked: &Asked, longest: Nanos) -> Asked {
    let mut asked = Asked { session: longest, ..asked.clone() };
    if Nanos::ZERO < longest {
        asked.words.guesses.insert(Guessed::Phases, guess::phases_of_sessions(longest));
    }
    asked
}

/// Prints what was written, and what to do next.
fn tell(
    arguments: &Init,
    mix_path: &Path,
    draft: &Draft,
    experiment: &Experiment,
) -> Result<(), Failure> {
    let Draft { asked, mix, .. } = draft;
    let name = arguments.out.display().to_string();
    let guesses = |text: &str| text.matches("# guess:").count();
    let all = guesses(&experiment.yaml) + mix.as_ref().map_or(0, |mix| guesses(&mix.text));
    let of_mix =
        mix.as_ref().map_or(String::new(), |_| format!(" and {}", regular::shown(mix_path)));
    output::error(&format!("wrote    {}{of_mix}", regular::shown(&arguments.out)));
    output::error(&format!(
        "guessed  {all} values, marked `# guess:` there: read them before a run"
    ));
    output::error(&format!("time     {}", experiment.outlook));
    for (variable, of) in asked.needs.iter().chain(&experiment.variables) {
        output::error(&format!(
            "secret   {} is not kept: `run` needs `export {variable}=…`",
            one_line(of)
        ));
    }
    let mut next = vec![shell::line(&["benchwright", "plan", &name])];
    if mix.is_some() {
        next.push(shell::line(&["benchwright", "mix", "check", &mix_path.display().to_string()]));
    }
    next.push(shell::line(&["benchwright", "run", &name]));
    output::result(&next.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// Writes a file: a new one, unless one that is there may be replaced.
fn put(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let written = match force {
        true => output::replace(path, text.as_bytes()),
        false => {
            let new = OpenOptions::new().write(true).create_new(true).open(path);
            new.and_then(|mut file| file.write_all(text.as_bytes()))
        }
    };
    written.map_err(|error| {
        Failure::no_answer(format!(
            "writing {}: {}",
            regular::shown(path),
            regular::in_words(&error)
        ))
    })
}
