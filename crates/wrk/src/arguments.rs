//! The originals' command lines: a command line for wrk, wrk2 or DeathStarBench's fork works here.
//!
//! Options and URLs mix, short options can be combined, long ones can be shortened while they are
//! unique: `getopt_long` reads them like this. What is refused here, the originals refuse or
//! misread silently.

use measure::{Nanos, Rate};

mod amount;
mod options;
mod url;
mod usage;

#[cfg(test)]
mod tests;

use options::{Event, Flag, Scanned};

/// The program whose behaviour is expected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compatibility {
    Wrk,
    Wrk2,
    /// DeathStarBench's fork of wrk2, which is installed as `wrk`, too.
    Dsb,
}

impl Compatibility {
    pub const ALL: [Compatibility; 3] =
        [Compatibility::Wrk, Compatibility::Wrk2, Compatibility::Dsb];

    pub fn name(self) -> &'static str {
        match self {
            Compatibility::Wrk => "wrk",
            Compatibility::Wrk2 => "wrk2",
            Compatibility::Dsb => "dsb",
        }
    }

    fn named(name: &str) -> Option<Compatibility> {
        Compatibility::ALL.into_iter().find(|compatibility| compatibility.name() == name)
    }
}

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub compatibility: Compatibility,
    /// The script threads of each target; at least one.
    pub threads: u64,
    /// The connections of each target; at least as many as threads.
    pub connections: u64,
    /// The duration of the load; more than zero.
    pub duration: Nanos,
    pub script: Option<String>,
    /// The header fields: names and values, in order.
    pub headers: Vec<(String, String)>,
    /// `-L`, which `-U` implies.
    pub latency: bool,
    pub timeout: Nanos,
    /// The requests/s: in wrk2 of all threads, in dsb of each target. wrk has none, the others
    /// always one.
    pub rate: Option<Rate>,
    /// `-U`.
    pub uncorrected: bool,
    /// `-B`: a pipelined batch is one sample.
    pub batch: bool,
    /// `-D`.
    pub distribution: Distribution,
    /// `-S`; always set with a single target.
    pub separate: bool,
    /// `-r`.
    pub sent: bool,
    /// `-P`.
    pub each_latency: bool,
    /// `-p`.
    pub stretches: bool,
    /// The URLs as given: one, with dsb one or more.
    pub urls: Vec<String>,
    /// The script's arguments after its first URL: with dsb the other URLs, unless `--` was given.
    pub arguments: Vec<String>,
    pub native: Native,
}

/// The distribution of the gaps between requests, by DeathStarBench's names.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Distribution {
    #[default]
    Fixed,
    Exp,
    Norm,
    Zipf,
}

/// Our own flags, unknown to the originals: unparsed, since the native command parses them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Native {
    pub json: Option<Destination>,
    pub csv: Option<String>,
    pub hlog: Option<String>,
    pub samples: Option<String>,
    pub report: Option<String>,
    pub seed: Option<String>,
    pub strict: bool,
    pub timer: Option<String>,
    pub io: Option<String>,
    pub shards: Option<String>,
    pub pin: Option<String>,
}

/// The destination of `--json` and `--json=F`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Destination {
    Stdout,
    File(String),
}

/// The reason why nothing is measured.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Refusal {
    Help(Compatibility),
    Version(Compatibility),
    /// An error, as a sentence that begins with the program's name.
    Wrong(Compatibility, String),
}

impl Refusal {
    pub fn code(&self) -> u8 {
        match self {
            Refusal::Help(_) | Refusal::Version(_) => 0,
            Refusal::Wrong(..) => 1,
        }
    }

    /// The text for stdout; `version` and `io`, the event loop that would run, are for `-v`.
    pub fn stdout(&self, version: &str, io: &str) -> String {
        match self {
            Refusal::Help(compatibility) | Refusal::Wrong(compatibility, _) => {
                usage::text(*compatibility)
            }
            Refusal::Version(compatibility) => {
                format!("wrk {version} [{io}] Benchwright as {}\n", compatibility.name())
            }
        }
    }

    /// The text for stderr.
    pub fn stderr(&self) -> String {
        match self {
            Refusal::Help(_) | Refusal::Version(_) => String::new(),
            Refusal::Wrong(_, sentence) => format!("{sentence}\n"),
        }
    }
}

/// Parses the arguments after the name of the program: a path that ends in `wrk` or `wrk2`.
pub fn parse(name: &str, arguments: &[String]) -> Result<Command, Refusal> {
    let scanned = options::scan(arguments);
    let compatibility = compatibility(name, &scanned);
    read(compatibility, scanned).map_err(|refused| match refused {
        Refused::Help => Refusal::Help(compatibility),
        Refused::Version => Refusal::Version(compatibility),
        Refused::Wrong(what) => Refusal::Wrong(compatibility, format!("{name}: {what}")),
    })
}

enum Refused {
    Help,
    Version,
    Wrong(String),
}

impl From<String> for Refused {
    fn from(what: String) -> Refused {
        Refused::Wrong(what)
    }
}

/// Detects the program that is meant: all three install a `wrk`, so for that name the arguments
/// decide.
fn compatibility(name: &str, scanned: &Scanned) -> Compatibility {
    let flags = || scanned.events.iter().filter_map(Event::option);
    let is_only = |flag: Flag, of: &[Compatibility]| flag.modes() == of;
    let several = 1 < scanned.free.len() && scanned.free.iter().all(|free| url::is_url(free));
    if let Some(compatibility) = flags().rev().find_map(|(flag, value)| match flag {
        Flag::Compatibility => Compatibility::named(value),
        _ => None,
    }) {
        compatibility
    } else if several || flags().any(|(flag, _)| is_only(flag, &[Compatibility::Dsb])) {
        Compatibility::Dsb
    } else if name.ends_with("wrk2")
        || flags().any(|(flag, _)| !flag.modes().contains(&Compatibility::Wrk))
    {
        Compatibility::Wrk2
    } else {
        Compatibility::Wrk
    }
}

fn read(compatibility: Compatibility, scanned: Scanned) -> Result<Command, Refused> {
    let mut command = Command::new(compatibility);
    for event in scanned.events {
        match event {
            Event::Wrong(what) => return Err(Refused::Wrong(what)),
            Event::Option { flag, written, .. } if !flag.modes().contains(&compatibility) => {
                return Err(options::unknown(&written).into());
            }
            Event::Option { flag: Flag::Help, .. } => return Err(Refused::Help),
            Event::Option { flag: Flag::Version, .. } => return Err(Refused::Version),
            Event::Option { flag, written, value } => {
                command.take(flag, value).map_err(|what| format!("{written}: {what}"))?;
            }
        }
    }
    command.take_free(scanned.free, scanned.after)?;
    command.check()?;
    Ok(command)
}

impl Command {
    fn new(compatibility: Compatibility) -> Command {
        Command {
            compatibility,
            threads: 2,
            connections: 10,
            duration: Nanos::from_secs(10),
            script: None,
            headers: Vec::new(),
            latency: false,
            timeout: Nanos::from_secs(2),
            rate: None,
            uncorrected: false,
            batch: false,
            distribution: Distribution::default(),
            separate: false,
            sent: false,
            each_latency: false,
            stretches: false,
            urls: Vec::new(),
            arguments: Vec::new(),
            native: Native::default(),
        }
    }

    /// Applies an option. If it is given twice the last one counts, but headers add up.
    fn take(&mut self, flag: Flag, value: Option<String>) -> Result<(), String> {
        let native = &mut self.native;
        let (is_given, text) = (value.is_some(), value.unwrap_or_default());
        match flag {
            Flag::Threads => self.threads = amount::whole(&text)?,
            Flag::Connections => self.connections = amount::whole(&text)?,
            Flag::Duration => self.duration = amount::time(&text)?,
            Flag::Script => self.script = Some(text),
            Flag::Header => self.headers.push(header(&text)?),
            Flag::Latency => self.latency = true,
            Flag::Timeout => self.timeout = amount::time(&text)?,
            Flag::Rate => self.rate = Rate::per_second(amount::number(&text)?),
            Flag::Uncorrected => (self.latency, self.uncorrected) = (true, true),
            Flag::Batch => self.batch = true,
            Flag::Distribution => self.distribution = distribution(&text)?,
            Flag::Separate => self.separate = true,
            Flag::Sent => self.sent = true,
            Flag::EachLatency => self.each_latency = true,
            Flag::Stretches => self.stretches = true,
            Flag::Compatibility if Compatibility::named(&text).is_none() => {
                return Err(format!("`{text}` is not a valid mode; there are wrk, wrk2 and dsb"));
            }
            Flag::Json if is_given => native.json = Some(Destination::File(text)),
            Flag::Json => native.json = Some(Destination::Stdout),
            Flag::Csv => native.csv = Some(text),
            Flag::Hlog => native.hlog = Some(text),
            Flag::Samples => native.samples = Some(text),
            Flag::Report => native.report = Some(text),
            Flag::Seed => native.seed = Some(text),
            Flag::Strict => native.strict = true,
            Flag::Timer => native.timer = Some(text),
            Flag::Io => native.io = Some(text),
            Flag::Shards => native.shards = Some(text),
            Flag::Pin => native.pin = Some(text),
            Flag::Compatibility | Flag::Help | Flag::Version => {}
        }
        Ok(())
    }

    /// Takes the free arguments, and those after `--`. Without free ones, those after `--`
    /// are free, as with `getopt`.
    fn take_free(&mut self, free: Vec<String>, after: Vec<String>) -> Result<(), String> {
        let (mut free, after) = if free.is_empty() { (after, free) } else { (free, after) };
        if free.is_empty() {
            return Err("the URL is missing; write for example http://127.0.0.1:8080/".to_owned());
        }
        self.arguments = match self.compatibility {
            Compatibility::Wrk | Compatibility::Wrk2 => free.split_off(1),
            Compatibility::Dsb if after.is_empty() => free[1..].to_vec(),
            Compatibility::Dsb => Vec::new(),
        };
        self.arguments.extend(after);
        self.urls = free;
        match self.urls.iter().find(|url| !url::is_url(url)) {
            Some(url) => Err(format!("invalid URL: {url}")),
            None => Ok(()),
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let Command { threads, connections, .. } = *self;
        self.separate |= self.urls.len() == 1;
        if threads == 0 {
            return Err("-t: at least 1 thread is needed".to_owned());
        }
        if self.duration == Nanos::ZERO {
            return Err("-d: the duration must be above 0".to_owned());
        }
        if connections < threads {
            return Err(format!(
                "-c: {connections} connections are too few for {threads} threads, each of which \
                 needs one; raise -c or lower -t"
            ));
        }
        if self.rate.is_none() && self.compatibility != Compatibility::Wrk {
            return Err("-R: the rate is required; write for example -R 1000".to_owned());
        }
        Ok(())
    }
}

/// Parses `Name: value`, also without the space; without it the originals ignore the header
/// silently.
fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.is_empty() => {
            Ok((name.to_owned(), value.trim_start_matches([' ', '\t']).to_owned()))
        }
        _ => Err(format!("`{text}` is not a valid header; write for example 'Accept: text/html'")),
    }
}

fn distribution(name: &str) -> Result<Distribution, String> {
    match name {
        "fixed" => Ok(Distribution::Fixed),
        "exp" => Ok(Distribution::Exp),
        "norm" => Ok(Distribution::Norm),
        "zipf" => Ok(Distribution::Zipf),
        _ => Err(format!(
            "`{name}` is not a valid distribution; there are fixed, exp, norm and zipf"
        )),
    }
}
