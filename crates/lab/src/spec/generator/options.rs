//! The one list of the generator's options, each with what sets it in an experiment. The arguments
//! of a load are made from it, and a test compares it with the command line of `benchwright load`.

use results::slo;

use super::AskedLoad;
use super::arguments::Value;
use crate::spec::workload::{self, Given};
use crate::spec::{Literal, Load, Model, Resolved, Tls};

/// An option of `benchwright load`; an argument without a name is named by its value: `URL`.
#[derive(Clone, Copy)]
pub struct Known {
    pub name: &'static str,
    pub origin: Origin,
}

/// The source of an option in an experiment.
#[derive(Clone, Copy)]
pub enum Origin {
    /// A field of the spec, by its path.
    Spec { field: &'static str, words: Make },
    /// A field of the workload, which its kind knows.
    Workload { field: &'static str },
    /// The runner itself.
    Runner { from: &'static str, words: Make },
    /// Nothing: it is not for an experiment.
    Nothing { because: &'static str },
}

/// Makes the occurrences of an option for one load.
type Make = fn(&Asked<'_>) -> Vec<Value>;

/// One load to make, with all that decides its arguments.
pub struct Asked<'a> {
    pub(super) resolved: &'a Resolved,
    pub(super) targets: &'a [String],
    /// The addresses of each target's replicas, if there are several.
    pub(super) addresses: &'a [String],
    pub(super) wanted: &'a AskedLoad,
    /// True if nothing is sent.
    pub(super) only_checked: bool,
}

/// The option that ends a load once its SLO is missed; it needs the whole load.
pub const UNTIL_MISSED: &str = "--until-missed";

/// The option that names the file with the values of secrets.
pub const SECRETS: &str = "--secrets";

/// The options by which a backend divides a load between its generators, starts them together, and reads a document
/// where logs have other lines.
pub const PART: &str = "--part";
pub const START: &str = "--start";
pub const FRAMED: &str = "--framed";

/// Returns all options, in the order of the command line: the arguments of a script are the last.
pub fn options() -> impl Iterator<Item = Known> {
    let of_workload = workload::options().into_iter();
    let of_workload =
        of_workload.map(|(name, field)| Known { name, origin: Origin::Workload { field } });
    OF_LOAD.iter().copied().chain(of_workload).chain(UNUSED.iter().copied())
}

/// Those of the load, and of the runner.
const OF_LOAD: &[Known] = &[
    runner("--dry-run", "the check before anything is deployed", |asked| flag(asked.only_checked)),
    runner("URL", "the endpoint of each instance, with the workload's path", |asked| {
        texts(asked.targets)
    }),
    spec("--address", "load.address", |asked| match (asked.addresses, &asked.load().address) {
        ([], Some(address)) => value(Some(address.0.join(","))),
        (replicas, _) => texts(replicas),
    }),
    spec("--rate", "load.rate", |asked| {
        value(asked.wanted.rate.map(|rate| format!("{}/s", rate.as_per_second())))
    }),
    spec("--shape", "load.shape", |asked| value(asked.load().shape().map(|shape| &shape.text))),
    spec("--trace", "load.trace", |asked| asked.file(asked.load().trace())),
    spec("--speed", "load.speed", |asked| match asked.load().model {
        Model::Trace { speed, .. } => value(speed),
        _ => Vec::new(),
    }),
    spec("--arrivals", "load.arrivals", |asked| {
        let is_drawn = asked.wanted.rate.is_some() || asked.load().shape().is_some();
        value(is_drawn.then(|| asked.load().arrivals()))
    }),
    // A load without a rate is a closed loop, too: it is the probe of an open one.
    spec("--closed", "load.model", |asked| {
        flag(asked.wanted.rate.is_none() && asked.load().schedule().is_none())
    }),
    spec("--think", "load.think", |asked| match asked.load().model {
        Model::Closed { think } => value(think),
        _ => Vec::new(),
    }),
    spec("--connections", "load.connections", |asked| {
        value(Some(asked.load().connections_at(asked.wanted.rate)))
    }),
    spec("--warm-up", "phases.warm_up.fixed", |asked| value(Some(asked.wanted.warm_up.written()))),
    spec("--duration", "phases.measure.time", |asked| value(Some(asked.wanted.measure.written()))),
    spec("--drain", "phases.drain", |asked| value(Some(asked.wanted.drain.written()))),
    spec("--timeout", "load.timeout", |asked| value(Some(asked.load().timeout.written()))),
    runner("--seed", "the seed of the trial, from `seed`", |asked| value(Some(asked.wanted.seed))),
    // The tightest limit decides how punctual the generator has to be, and which responses are
    // good.
    spec("--slo", "slo", |asked| {
        let slos = asked.resolved.slos();
        value((!slos.is_empty()).then(|| slo::written(&slos)))
    }),
    runner(UNTIL_MISSED, "a search asks only for the verdict: `search.strategy`", |asked| {
        let is_measured = asked.wanted.interval.is_none();
        let asks = asked.resolved.asks_only_for_verdicts();
        flag(is_measured && asks && asked.wanted.rate.is_some())
    }),
    runner("--interval", "short intervals show when a system is steady", |asked| {
        value(asked.wanted.interval.map(|interval| interval.written()))
    }),
    runner("--progress", "the runner shows the progress", |asked| {
        value((!asked.only_checked).then_some("lines"))
    }),
    runner("--json", "the runner reads the document", |asked| flag(!asked.only_checked)),
    runner("--per-target", "each instance gets the whole load", |asked| {
        flag(1 < asked.targets.len())
    }),
    spec("--connect-timeout", "load.connect_timeout", |asked| {
        value(asked.load().connect_timeout.map(|timeout| timeout.written()))
    }),
    spec("--backlog", "load.backlog", |asked| value(asked.load().backlog.map(|most| most.0.0))),
    spec("--max-body", "load.max_body", |asked| {
        value(asked.load().max_body.map(|most| format!("{}B", most.0.0)))
    }),
    spec("--keep-alive", "load.keep_alive", |asked| value(asked.load().keep_alive.map(|n| n.0))),
    spec("--pipeline", "load.pipeline", |asked| value(asked.load().pipeline.map(|n| n.0))),
    spec("--open-rate", "load.open_rate", |asked| {
        value(asked.load().open_rate.map(|rate| format!("{}/s", rate.as_per_second())))
    }),
    spec("--source", "load.source", |asked| {
        let sources: Vec<String> = asked.load().source.iter().map(|ip| ip.0.to_string()).collect();
        value((!sources.is_empty()).then(|| sources.join(",")))
    }),
    spec("--ca", "load.tls.ca", |asked| asked.file(asked.tls().and_then(|tls| tls.ca.as_ref()))),
    spec("--cert", "load.tls.cert", |asked| {
        asked.file(asked.tls().and_then(|tls| tls.cert.as_ref()))
    }),
    spec("--key", "load.tls.key", |asked| asked.file(asked.tls().and_then(|tls| tls.key.as_ref()))),
    spec("--sni", "load.tls.sni", |asked| asked.text(asked.tls().and_then(|tls| tls.sni.as_ref()))),
    spec("--insecure", "load.tls.insecure", |asked| {
        flag(asked.tls().is_some_and(|tls| tls.insecure))
    }),
    spec("--tls", "load.tls.version", |asked| {
        value(asked.tls().and_then(|tls| tls.version).map(|version| version.name()))
    }),
    spec("--no-resume", "load.tls.resume", |asked| {
        flag(asked.tls().is_some_and(|tls| !tls.resume))
    }),
    spec("--shards", "load.shards", |asked| value(asked.load().shards.map(|n| n.0))),
    spec("--pin", "load.pin", |asked| value(asked.load().pin.as_ref().map(|pin| pin.0.write()))),
    spec("--io", "load.io", |asked| value(asked.load().io)),
    spec("--timer", "load.timer", |asked| value(asked.load().timer)),
    spec("--congestion-control", "load.congestion_control", |asked| {
        value(asked.load().congestion_control.as_ref())
    }),
    spec("--kernel-timestamps", "load.kernel_timestamps", |asked| {
        flag(asked.load().kernel_timestamps)
    }),
    runner(SECRETS, "the values of ${env.NAME} come by a pipe", |asked| {
        value((!asked.resolved.secrets_of_load().is_empty()).then_some("-"))
    }),
    spec("--script-threads", "load.script_threads", |asked| {
        let has_threads = asked.resolved.spec.workload.has_threads();
        let threads = asked.load().script_threads.filter(|_| has_threads);
        value(threads.map(|threads| threads.0))
    }),
];

/// Those that an experiment does not use.
const UNUSED: &[Known] = &[
    nothing("--header-file", "workload.headers has ${env.NAME} for secrets"),
    nothing("--no-tui", "the generator of an experiment has no terminal"),
    nothing(PART, "the backend divides a load between its generators"),
    nothing(FRAMED, "the backend reads the document where logs have other lines"),
    nothing(START, "the backend starts the generators of a load together"),
    nothing(
        "--requests",
        "a trial measures for a time, phases.measure.time: the budget is planned in time, and the \
         use of resources is compared over it",
    ),
    nothing(
        "--connect-to",
        "the runner's own requests (ready, smoke, reset) go to sut.endpoint too, so it is the \
         place; another name is said by workload.headers (Host) and load.tls.sni",
    ),
    nothing("--pace", "load.shape says the same, with its rests"),
    nothing(
        "--notes",
        "workload.events.receive joins the notes of both sides in each trial; files for \
         `benchwright join` are of programs that a person starts",
    ),
    nothing("--compare-clock", "it is part of --notes"),
    nothing("--csv", "load.json of each trial has the same series"),
    nothing("--hlog", "each trial keeps its histograms: response_time.hlog, service_time.hlog"),
    nothing(
        "--samples",
        "a row for each request has no bound, and a results directory keeps all its trials",
    ),
    nothing("--report", "the run has a report of all its trials"),
    nothing("--self-test", "it calibrates the generator, and loads a server of its own"),
    nothing("--attempts", "it is part of the self-test"),
];

const fn spec(name: &'static str, field: &'static str, words: Make) -> Known {
    Known { name, origin: Origin::Spec { field, words } }
}

const fn runner(name: &'static str, from: &'static str, words: Make) -> Known {
    Known { name, origin: Origin::Runner { from, words } }
}

const fn nothing(name: &'static str, because: &'static str) -> Known {
    Known { name, origin: Origin::Nothing { because } }
}

impl Known {
    /// Returns the occurrences of the option in one load.
    pub(super) fn values(&self, asked: &Asked<'_>) -> Vec<Value> {
        match self.origin {
            Origin::Spec { words, .. } | Origin::Runner { words, .. } => words(asked),
            Origin::Workload { .. } => asked.of_workload(self.name),
            Origin::Nothing { .. } => Vec::new(),
        }
    }
}

impl<'a> Asked<'a> {
    fn load(&self) -> &'a Load {
        &self.resolved.spec.load
    }

    fn of_workload(&self, option: &str) -> Vec<Value> {
        let set = self.resolved.spec.workload.set().into_iter().filter(|set| set.option == option);
        let value = |given| match given {
            Given::Text(text) | Given::Name(text) => Value::Text(self.resolved.text(text, 1)),
            Given::Field(name, text) => {
                Value::Text(format!("{name}: {}", self.resolved.text(text, 1)))
            }
            Given::Property(name, text) => {
                Value::Text(format!("{name}={}", self.resolved.text(text, 1)))
            }
            Given::Private(name, path) => {
                Value::Text(format!("{name}={}", self.resolved.path(path).display()))
            }
            Given::File(path) => Value::File(self.resolved.path(path)),
            Given::Plain(text) => Value::Text(text),
        };
        set.flat_map(|set| set.given).map(value).collect()
    }

    fn tls(&self) -> Option<&'a Tls> {
        self.load().tls.as_ref()
    }

    fn text(&self, written: Option<&String>) -> Vec<Value> {
        value(written.map(|written| self.resolved.text(written, 1)))
    }

    fn file(&self, written: Option<&String>) -> Vec<Value> {
        written.map(|written| Value::File(self.resolved.path(written))).into_iter().collect()
    }
}

fn flag(is_set: bool) -> Vec<Value> {
    is_set.then_some(Value::Flag).into_iter().collect()
}

fn value(value: Option<impl ToString>) -> Vec<Value> {
    value.map(|value| Value::Text(value.to_string())).into_iter().collect()
}

fn texts(values: &[String]) -> Vec<Value> {
    values.iter().cloned().map(Value::Text).collect()
}
