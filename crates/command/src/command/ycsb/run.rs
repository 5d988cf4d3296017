//! `benchwright ycsb load` and `run`: the phases of a YCSB workload.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use console::output::{self as printed, Exit, Failure, Stream as Standard};
use generator::ycsb::client::Done;
use lab::host;
use measure::Instant;
use net::clock;
use results::regular;
use ycsb::basic::{self, Basic};
use ycsb::drive::{Clock, Ran, drive};
use ycsb::kv;
use ycsb::measurements::Form;
use ycsb::properties::{Known, Properties};
use ycsb::redis;
use ycsb::settings::{Phase, Settings};
use ycsb::status::{self, State};
use ycsb::stream::{Shared, Stream};
use ycsb::workload::{Part, Workload};

use super::ending::Ending;
use super::given::Given;
use super::output::{Document, Output};
use super::servers;

#[cfg(test)]
mod tests;

pub(super) const HELP: &str = "\
The words and files are those of the Java client of YCSB:

  benchwright ycsb load basic -P experiments/ycsb/workloada
  benchwright ycsb run basic -P experiments/ycsb/workloada -p operationcount=1000 -threads 4 -target 500
  benchwright ycsb load redis -P experiments/ycsb/workloada -p redis.host=127.0.0.1 -threads 16
  benchwright ycsb run kv -P experiments/ycsb/workloadc -p kv.servers=127.0.0.1:7720 -threads 64

Long options have one dash or two. The form of the original's main class works as well: \
`benchwright ycsb -load -db site.ycsb.BasicDB -P FILE`.

With a target, `[Intended-READ]` has the times from the intended start of each operation, which a client that \
waits for slow answers hides; `[READ]` has those from its sending. Without one they are the same.

The result is on stdout or in the file of the property exportfile, everything else on stderr. Exit codes: 0 done, \
1 operations failed or had no answer, 2 wrong arguments or properties, 3 no server answers or the target is too high, \
130 interrupted.";

#[derive(Args, Debug)]
pub(super) struct Run {
    /// The store that gets the operations; basic prints them
    #[arg(value_name = "BINDING")]
    binding: Option<Binding>,
    #[command(flatten)]
    given: Given,
    /// Be one of several clients, such as 0/2 and 1/2, which divide the records of a load and the numbers of inserts
    #[arg(long, value_name = "I/N", value_parser = part)]
    client: Option<Part>,
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// The threads of this process [default: the CPUs that it may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) shards: Option<u32>,
    /// Print one document instead
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Binding {
    /// Prints the operations
    Basic,
    /// The key-value store of `benchwright kv serve`
    Kv,
    /// Redis
    Redis,
}

impl Binding {
    fn name(self) -> &'static str {
        match self {
            Binding::Basic => "basic",
            Binding::Kv => "kv",
            Binding::Redis => "redis",
        }
    }

    /// The properties of the binding.
    fn properties(self) -> &'static [Known] {
        match self {
            Binding::Basic => basic::PROPERTIES,
            Binding::Kv => kv::PROPERTIES,
            Binding::Redis => redis::PROPERTIES,
        }
    }

    /// Returns the binding that a class of the original is, or a name of ours.
    fn of_class(class: &str) -> Option<Binding> {
        let packages = ["site.ycsb.", "com.yahoo.ycsb."];
        let class =
            packages.iter().find_map(|package| class.strip_prefix(package)).unwrap_or(class);
        match class {
            "BasicDB" | "basic" => Some(Binding::Basic),
            "db.RedisClient" | "redis" => Some(Binding::Redis),
            "kv" => Some(Binding::Kv),
            _ => None,
        }
    }
}

/// Reads one of several clients.
pub(super) fn part(text: &str) -> Result<Part, String> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((number, of)) if number < of => Ok(Part { number, of }),
        _ => Err(format!("`{text}` is not one of several clients; write 0/2 and 1/2")),
    }
}

/// A phase that is ready to start.
pub(super) struct Prepared<'a> {
    pub(super) arguments: &'a Run,
    pub(super) properties: &'a Properties,
    pub(super) workload: Arc<Workload>,
    pub(super) settings: Settings,
}

/// The largest file with the lengths of fields.
const MOST_BYTES: u64 = 16 << 20;

pub(super) fn run(phase: Phase, arguments: &Run) -> Result<Exit, Failure> {
    let properties = &arguments.given.properties()?;
    let binding = arguments.binding(properties)?;
    let histogram = |name: &str| {
        let content =
            regular::read_input(Path::new(name), MOST_BYTES).map_err(|e| e.to_string())?;
        String::from_utf8(content).map_err(|_| "it is not text".to_owned())
    };
    let client = arguments.client.unwrap_or(Part::WHOLE);
    let workload = Workload::new(properties, client, histogram).map_err(Failure::question)?;
    let settings = Settings::new(properties, phase, &workload).map_err(Failure::question)?;
    let warnings = [
        arguments.given.warnings(),
        properties.warnings(binding.properties()),
        settings.warnings.clone(),
    ];
    warnings.concat().iter().for_each(|warning| printed::error(&format!("warning: {warning}")));
    let workload = Arc::new(workload);
    let prepared = Prepared { arguments, properties, workload, settings };
    let output = Output::new(&prepared.settings, &arguments.given.files())?;
    let start_ms = host::unix().0 / 1_000_000;
    let stop = console::signals::interrupted();
    let (done, places) = match binding {
        Binding::Basic => (Done::from(basic(&prepared, &stop)?), Vec::new()),
        Binding::Kv => servers::kv(&prepared, &stop)?,
        Binding::Redis => servers::redis(&prepared, &stop)?,
    };
    let ending = Ending { settings: &prepared.settings, done: &done, places: &places };
    ending.messages().iter().for_each(|message| printed::error(message));
    let document = Document { binding: binding.name(), properties, table: binding.properties() };
    output.write(&ending, start_ms, arguments.json.then_some(&document))?;
    Ok(ending.exit())
}

impl Run {
    /// The binding that is named, or that of the class in the properties; without any of both that of the original.
    fn binding(&self, properties: &Properties) -> Result<Binding, Failure> {
        let class = properties.text("db");
        match (self.binding, class.is_empty()) {
            (Some(binding), true) => Ok(binding),
            (None, true) => Ok(Binding::Basic),
            (_, false) => Binding::of_class(&class).ok_or_else(|| {
                let why = format!(
                    "is `{class}`, which is not a binding here; write site.ycsb.BasicDB or \
                                   site.ycsb.db.RedisClient, or name the binding: basic, kv, redis"
                );
                Failure::question(properties.wrong("db", &why))
            }),
        }
    }
}

impl Prepared<'_> {
    /// True if stdout is for one document.
    fn is_for_document(&self) -> bool {
        self.arguments.json && self.settings.output.file.is_none()
    }

    /// Returns the operations of a shard.
    fn stream(&self, shard: Part, shared: &Arc<Shared>) -> Stream {
        let seed = self.arguments.seed;
        match self.settings.phase {
            Phase::Load => Stream::load(&self.workload, shard, seed),
            Phase::Run => Stream::run(&self.workload, shard, seed, shared),
        }
    }
}

/// The machine's clock.
struct Real;

impl Clock for Real {
    fn now(&mut self) -> Instant {
        clock::now()
    }

    fn sleep_until(&mut self, until: Instant) {
        clock::sleep_until(until);
    }
}

/// Returns what prints status lines.
pub(super) fn teller(prepared: &Prepared) -> impl FnMut(State) + Send {
    let Settings { label, output, terms, .. } = &prepared.settings;
    let is_result = terms.form == Form::Series && !prepared.is_for_document();
    let mut before = None;
    move |state: State| {
        let now_ms = host::unix().0 / 1_000_000;
        let line = status::line(label, now_ms, &state, before.as_ref(), output.interval);
        printed::error(&line);
        if is_result {
            // That nobody reads the result is found when it ends.
            let _ = printed::result(&format!("{line}\n"));
        }
        before = Some(state);
    }
}

/// The place of the operations that `basic` prints. That nobody reads them is not a failure.
struct Operations {
    is_left_out: bool,
}

impl Write for Operations {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_left_out {
            return Ok(bytes.len());
        }
        match Standard::Stdout.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints the operations. Their order is that of one shard.
fn basic(prepared: &Prepared, stop: &AtomicBool) -> Result<Ran, Failure> {
    let Prepared { properties, workload, settings, arguments } = prepared;
    if arguments.shards.is_some_and(|shards| 1 < shards) {
        printed::error("warning: the binding basic prints on one shard; --shards has no effect");
    }
    let is_left_out = prepared.is_for_document();
    let prints = |name| properties.is_true_in(basic::PROPERTIES, name);
    if is_left_out && (prints("basicdb.verbose") || prints("basicdb.count")) {
        printed::error(
            "warning: the operations are not printed beside a document; name a file for it with -p exportfile=FILE",
        );
    }
    let out = BufWriter::with_capacity(1 << 16, Operations { is_left_out });
    let mut basic = Basic::new(properties, arguments.seed, out).map_err(Failure::question)?;
    let mut stream = prepared.stream(Part::WHOLE, &Arc::new(Shared::new(workload)));
    let mut tell = teller(prepared);
    let ran = drive(&mut stream, settings, &mut basic, &mut Real, stop, &mut tell);
    let ran = ran.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            let error = anyhow::anyhow!("interrupted while nobody read the operations");
            Failure { exit: Exit::Interrupted, error }
        }
        _ => Failure::no_answer(format!(
            "writing the operations: {error}\n  with -p basicdb.verbose=false none are written"
        )),
    })?;
    match stream.is_stuck() {
        true => Err(Failure::no_answer("too many inserts are unanswered; use fewer threads")),
        false => Ok(ran),
    }
}
