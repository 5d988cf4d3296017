//! One load by generators in the cluster: a pod on each node of the role, started together, and one
//! document of all of them.
//!
//! The runner is attached to every generator's standard input. It asks for their clocks, tells them
//! to start, and then only reads their logs; a log that breaks off is read again from its beginning.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};
use lab::backend::{Drive, Limits, Stop, Ticking};
use lab::spec::generator::{Arguments, in_fields};
use lab::spec::{self, Resolved};
use measure::offset::Reading;
use measure::{Instant, Nanos, Offset};
use results::frames::Frames;
use results::merge::merge;
use results::regular::{self, MOST_OF_SHORT};
use results::said::Said;
use results::{Load, Tick, names};
use serde_json::Value;

use crate::api::{self, Api, Attached, LAST_LINES};
use crate::nodes;
use crate::objects::{self, Generators, Run};
use crate::pods::{self, State};

#[cfg(test)]
mod tests;

/// The least time from the line that starts the generators to the beginning of the load, and the
/// most.
const AHEAD: (Nanos, Nanos) = (Nanos::from_millis(100), Nanos::from_secs(2));
/// The number of times that a clock is asked for; the quickest answer counts.
const CLOCK_READINGS: usize = 5;
/// The longest time for one answer of a generator.
const ANSWER: Duration = Duration::from_secs(10);
/// The longest time until the generators' pods run, with their image.
const SCHEDULING: Nanos = Nanos::from_secs(120);
/// The interval at which the generators' pods are looked at while they load: they are quiet in
/// between.
const LOOK_EVERY: Nanos = Nanos::from_secs(5);
const POLL_EVERY: Duration = Duration::from_millis(100);
/// The largest share of the measurement by which the starts may differ.
const MOST_SPREAD: f64 = 0.01;

/// The time that generators may take beyond their phases: to start, and to write their documents.
const GRACE: Nanos = Nanos::from_secs(180);

/// The fields whose files are the identity of a client. A key without a file of its own is in that of the certificate.
const IDENTITY: [&str; 2] = ["load.tls.cert", "load.tls.key"];

/// The files of loads, by the path that their arguments name.
pub(crate) type Files = BTreeMap<PathBuf, File>;

/// A file of a load.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct File {
    text: String,
    /// True if only generators may read it: it is in the Secret of the run, and in no ConfigMap.
    is_secret: bool,
}

/// Returns the files of an experiment's loads.
pub(crate) fn read_files(resolved: &Resolved) -> anyhow::Result<Files> {
    if let Some(file) = resolved.private_file() {
        bail!(
            "{file} is not given to the pods of generators: everybody who may read the run's objects could read \
             it\n  leave kv.tokenfile out in the profile of the cluster, whose servers then have no token"
        );
    }
    let mut files = Files::new();
    for file in resolved.files() {
        let text = regular::read_text_again(&file.path, MOST_OF_SHORT)
            .map_err(|error| anyhow!("{}: {error}", file.path.display()))?;
        let is_secret = IDENTITY.contains(&file.field);
        add(&mut files, Files::from([(file.path, File { text, is_secret })]));
    }
    let size: usize = files.values().map(|file| file.text.len()).sum();
    ensure!(
        size <= objects::MOST_FILES,
        "the files of the load have {size} bytes, over the limit of {} for pods\n  use smaller \
         files, or build an image that contains them",
        objects::MOST_FILES
    );
    Ok(files)
}

/// Adds files to those of other fields and questions. One that is a secret for any of them is one for all.
pub(crate) fn add(files: &mut Files, more: Files) {
    for (path, file) in more {
        let was_secret = files.get(&path).is_some_and(|earlier| earlier.is_secret);
        let is_secret = was_secret || file.is_secret;
        files.insert(path, File { is_secret, ..file });
    }
}

/// Returns the files for a plan: a secret has its path in place of its text.
pub(crate) fn without_secrets(files: Files) -> Files {
    let shown = |(path, File { text, is_secret }): (PathBuf, File)| {
        let text = if is_secret { format!("(the text of {})", path.display()) } else { text };
        (path, File { text, is_secret })
    };
    files.into_iter().map(shown).collect()
}

/// Returns the path of each secret file, its name in the Secret of the run, and its text. No secret of the environment
/// has a name that begins with a number.
pub(crate) fn secret_files(files: &Files) -> impl Iterator<Item = (&Path, String, &str)> {
    let secret = files.iter().filter(|(_, file)| file.is_secret);
    secret.zip(1..).map(|((path, file), number)| {
        (path.as_path(), format!("{number}-{}", key_of(path)), file.text.as_str())
    })
}

/// Returns the port at which the generator receives events, if it does.
pub(crate) fn receiver(resolved: &Resolved) -> anyhow::Result<Option<u16>> {
    let events = resolved.spec.workload.events();
    let Some(address) = events.and_then(|events| events.receive.as_ref()) else {
        return Ok(None);
    };
    let address = resolved.text(address, 1);
    let (host, port) = address.rsplit_once(':').unwrap_or_default();
    ensure!(
        !host.starts_with("127."),
        "the generator would receive events at {address}, where no other pod reaches it\n  write \
         0.0.0.0:{port}, and give the channel the subscriber http://{}.NAMESPACE.svc:{port}/",
        objects::RECEIVER
    );
    port.parse().map(Some).map_err(|_| anyhow!("`{address}` has no port; write 0.0.0.0:18080"))
}

/// The surroundings that a load needs.
pub(crate) struct Surroundings<'a> {
    pub(crate) api: &'a Api,
    pub(crate) run: &'a Run,
    pub(crate) now: fn() -> Nanos,
    /// Fails if the user wants the load to end.
    pub(crate) check: &'a dyn Fn() -> Result<(), Stop>,
    /// True if generators have accepted a load of this run: if one refuses another, for example
    /// because a name cannot be resolved any more, the cluster has changed, not the question.
    pub(crate) has_loaded: &'a Cell<bool>,
    /// The boot of the runner's machine, whose clock all times are converted to.
    pub(crate) boot: Option<String>,
}

/// A generator that runs.
struct Generator {
    pod: String,
    node: String,
    log: Receiver<String>,
    frames: Frames,
    document: Option<Load>,
    /// The lines that are neither progress nor parts of the document.
    messages: Vec<String>,
    tick: Tick,
    clock: Offset,
}

/// A load that was made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) load: Load,
    /// The documents of the generators by their nodes, if there were several.
    pub(crate) parts: Vec<(String, Load)>,
}

/// The start of the generators of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Started {
    /// The time between the first and the last start.
    pub spread: Nanos,
    /// The largest error of a clock.
    pub error: Nanos,
}

/// Makes a load, and removes its objects.
pub(crate) fn make(
    around: &Surroundings<'_>,
    generators: &Generators,
    measure: Nanos,
    tick: &mut Ticking<'_>,
) -> Result<Made, Stop> {
    for object in objects::generators(around.run, generators) {
        around.api.apply(&object).map_err(Stop::no_answer)?;
    }
    let made = Running { around, generators }.run(measure, tick);
    remove(around, &generators.name);
    made
}

/// Removes the objects of a load. If that fails, the end of the run removes them.
fn remove(around: &Surroundings<'_>, name: &str) {
    for kind in ["Job", "ConfigMap"] {
        let _ = around.api.delete(&api::one(kind, &around.run.namespace, name));
    }
}

struct Running<'a> {
    around: &'a Surroundings<'a>,
    generators: &'a Generators,
}

impl Running<'_> {
    fn run(&self, measure: Nanos, tick: &mut Ticking<'_>) -> Result<Made, Stop> {
        let mut generators = self.until_ready()?;
        self.around.has_loaded.set(true);
        let started = self.start(&mut generators)?;
        let mut generators: Vec<Generator> =
            generators.into_iter().map(|(generator, _)| generator).collect();
        if MOST_SPREAD * measure.as_secs_f64() < started.spread.as_secs_f64() {
            let cause = format!("the generators started {} apart", started.spread);
            return Err(Stop::Disturbed { cause });
        }
        self.until_they_end(&mut generators, tick)?;
        let boot = self.around.boot.clone();
        let parts: Vec<(String, Load)> = generators
            .into_iter()
            .map(|generator| {
                let load = generator.document.expect("it has ended with a document");
                (generator.node, on_clock(load, generator.clock, boot.clone()))
            })
            .collect();
        if let [(_, load)] = parts.as_slice() {
            return Ok(Made { load: load.clone(), parts: Vec::new() });
        }
        let mut load = merge(&parts).map_err(Stop::no_answer)?;
        load.findings.push(format!(
            "{} generators began within {} (their clocks are known to {})",
            parts.len(),
            started.spread,
            started.error
        ));
        Ok(Made { load, parts })
    }

    fn pods(&self) -> Result<Vec<Value>, Stop> {
        let path = api::all("Pod", Some(&self.around.run.namespace));
        let labels = format!(
            "{}={},{}={}",
            objects::RUN,
            self.around.run.id,
            objects::SERVICE,
            self.generators.name
        );
        self.around.api.list(&path, &labels).map_err(Stop::no_answer)
    }

    /// Waits until a generator on each node has opened its connections: then it answers. A container
    /// can be attached to as soon as it runs; the API says that it does up to two seconds later.
    fn until_ready(&self) -> Result<Vec<(Generator, Attached)>, Stop> {
        let begun = (self.around.now)();
        let mut waiting: BTreeMap<String, Attached> = BTreeMap::new();
        let mut ready: BTreeMap<String, (Generator, Attached)> = BTreeMap::new();
        loop {
            (self.around.check)()?;
            let pods = self.pods()?;
            for pod in &pods {
                let name = pods::name(pod);
                if ready.contains_key(name) {
                    continue;
                }
                if let State::Succeeded | State::Died(_) = pods::state(pod) {
                    return Err(self.ended_early(&self.generator(pod)));
                }
                let Some(attached) = waiting.remove(name).or_else(|| self.asked(pod)) else {
                    continue;
                };
                match attached.lines.try_recv() {
                    Ok(line) if matches!(Said::read(&line), Some(Said::Clock { .. })) => {
                        ready.insert(name.to_owned(), (self.generator(pod), attached));
                    }
                    Ok(_) | Err(TryRecvError::Empty) => {
                        waiting.insert(name.to_owned(), attached);
                    }
                    // It did not run yet.
                    Err(TryRecvError::Disconnected) => {}
                }
            }
            if ready.len() == self.generators.nodes.len() {
                return Ok(ready.into_values().collect());
            }
            self.check_wait(begun, &pods)?;
            lab::host::rest(POLL_EVERY);
        }
    }

    /// Attaches to a generator whose pod has a node, and asks for its clock.
    fn asked(&self, pod: &Value) -> Option<Attached> {
        if pods::node(pod).is_empty() {
            return None;
        }
        let attached = self.around.api.attach(&self.around.run.namespace, pods::name(pod)).ok()?;
        attached.tell("clock");
        Some(attached)
    }

    /// Fails if the generators have been waited for too long.
    fn check_wait(&self, begun: Nanos, pods: &[Value]) -> Result<(), Stop> {
        let waited = (self.around.now)().saturating_sub(begun);
        let waits = pods.iter().filter_map(|pod| match pods::state(pod) {
            State::Waiting(why) => Some(format!("\n  {}: {why}", pods::name(pod))),
            _ => None,
        });
        let waits: String = waits.collect();
        let do_not_run = !waits.is_empty() || pods.len() < self.generators.nodes.len();
        match do_not_run {
            true if SCHEDULING < waited => {
                Err(Stop::no_answer(format!("the generators do not run after {SCHEDULING}{waits}")))
            }
            false if self.generators.longest < waited => Err(Stop::Disturbed {
                cause: format!("the generators did not get ready in {}", self.generators.longest),
            }),
            _ => Ok(()),
        }
    }

    fn generator(&self, pod: &Value) -> Generator {
        let name = pods::name(pod).to_owned();
        Generator {
            log: self.around.api.follow(&self.around.run.namespace, &name),
            pod: name,
            node: pods::node(pod).to_owned(),
            frames: Frames::default(),
            document: None,
            messages: Vec::new(),
            tick: Tick::default(),
            clock: Offset::NONE,
        }
    }

    /// Learns the clocks, and starts all generators with one line each.
    fn start(&self, generators: &mut [(Generator, Attached)]) -> Result<Started, Stop> {
        let lost = |generator: &Generator| Stop::Disturbed {
            cause: format!("the generator on {} does not answer", generator.node),
        };
        let mut longest = Nanos::ZERO;
        for (generator, attached) in &mut *generators {
            let mut readings = Vec::new();
            for _ in 0..CLOCK_READINGS {
                let sent = (self.around.now)();
                attached.tell("clock");
                let is_clock = |said| match said {
                    Said::Clock { now_ns } => Some(now_ns),
                    _ => None,
                };
                let its = said(attached, is_clock).ok_or_else(|| lost(generator))?;
                let received = (self.around.now)();
                let [asked, its, answered] = [sent.0, its, received.0].map(Instant);
                readings.push(Reading { asked, its, answered });
                longest = longest.max(received.saturating_sub(sent));
            }
            generator.clock = Offset::by(&readings).expect("there are several readings");
        }
        let line = format!("start in {}ms", ahead(longest).0 / 1_000_000);
        generators.iter().for_each(|(_, attached)| attached.tell(&line));
        let mut starts = Vec::new();
        for (generator, attached) in &*generators {
            let is_start = |said| match said {
                Said::Start { start_ns, .. } => Some(start_ns),
                _ => None,
            };
            let start = said(attached, is_start).ok_or_else(|| lost(generator))?;
            starts.push(generator.clock.own_time(Instant(start)).0);
        }
        let (first, last) = (starts.iter().min(), starts.iter().max());
        let spread = last.zip(first).map_or(0, |(last, first)| last - first);
        let error = generators.iter().map(|(generator, _)| generator.clock.error).max();
        Ok(Started { spread: Nanos(spread), error: error.unwrap_or_default() })
    }

    /// Reads the generators' logs until each has given its document.
    fn until_they_end(
        &self,
        generators: &mut [Generator],
        tick: &mut Ticking<'_>,
    ) -> Result<(), Stop> {
        let deadline = (self.around.now)() + self.generators.longest;
        let mut next_look = (self.around.now)() + LOOK_EVERY;
        while generators.iter().any(|generator| generator.document.is_none()) {
            (self.around.check)()?;
            let mut has_ticked = false;
            for (index, generator) in generators.iter_mut().enumerate() {
                has_ticked |= self.read(generator)? && index == 0;
            }
            if has_ticked {
                // The whole load is made: its generators are not told to end early.
                let _ = tick(Tick::together(generators.iter().map(|generator| &generator.tick)));
            }
            if next_look < (self.around.now)() {
                next_look = (self.around.now)() + LOOK_EVERY;
                self.look(generators)?;
            }
            if deadline < (self.around.now)() {
                let cause = format!("the generators did not end in {}", self.generators.longest);
                return Err(Stop::Disturbed { cause });
            }
            lab::host::rest(POLL_EVERY);
        }
        Ok(())
    }

    /// Reads what a generator has printed; returns true if there was progress.
    fn read(&self, generator: &mut Generator) -> Result<bool, Stop> {
        let mut has_ticked = false;
        while generator.document.is_none() {
            match generator.log.try_recv() {
                Ok(line) => has_ticked |= take(generator, line)?,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    // The log ends with the generator, or with a connection of ours.
                    let pods = self.pods()?;
                    let pod = pods.iter().find(|pod| pods::name(pod) == generator.pod);
                    match pod.map(pods::state) {
                        Some(State::Ready | State::Waiting(_)) => {
                            let namespace = &self.around.run.namespace;
                            generator.log = self.around.api.follow(namespace, &generator.pod);
                            break;
                        }
                        Some(State::Succeeded | State::Died(_)) if self.read_all(generator)? => {}
                        _ => return Err(self.ended_early(generator)),
                    }
                }
            }
        }
        Ok(has_ticked)
    }

    /// Reads the log of a generator that has ended once more; returns true if it has a document.
    fn read_all(&self, generator: &mut Generator) -> Result<bool, Stop> {
        let log = self.around.api.follow(&self.around.run.namespace, &generator.pod);
        generator.messages.clear();
        while let Ok(line) = log.recv_timeout(ANSWER) {
            take(generator, line)?;
        }
        Ok(generator.document.is_some())
    }

    /// Checks that the generators' pods and nodes are still there.
    fn look(&self, generators: &[Generator]) -> Result<(), Stop> {
        let pods = self.pods()?;
        for generator in generators.iter().filter(|generator| generator.document.is_none()) {
            let pod = pods.iter().find(|pod| pods::name(pod) == generator.pod);
            let why = match pod.map(pods::state) {
                Some(State::Ready | State::Succeeded | State::Died(_)) => continue,
                // The API says what was true seconds ago: whether the node lives, it says itself.
                Some(State::Waiting(why)) => {
                    match nodes::answers(self.around.api, &generator.node)? {
                        Ok(()) if !pod.is_some_and(pods::is_ending) => continue,
                        Ok(()) => why,
                        Err(silent) => format!("its node {silent}"),
                    }
                }
                None => "its pod is gone".to_owned(),
            };
            let cause = format!("the generator on {} was lost: {why}", generator.node);
            return Err(Stop::Disturbed { cause });
        }
        Ok(())
    }

    /// Returns the end of a generator, as soon as the API tells it.
    fn end_of(&self, generator: &Generator) -> Option<State> {
        let deadline = (self.around.now)() + Nanos(ANSWER.as_nanos() as u64);
        loop {
            let pods = self.pods().unwrap_or_default();
            let pod = pods.iter().find(|pod| pods::name(pod) == generator.pod);
            match pod.map(pods::state) {
                Some(State::Ready | State::Waiting(_)) if (self.around.now)() < deadline => {
                    lab::host::rest(POLL_EVERY);
                }
                state => return state,
            }
        }
    }

    /// Explains a generator that ended without a document.
    fn ended_early(&self, generator: &Generator) -> Stop {
        let namespace = &self.around.run.namespace;
        let messages = match generator.messages.as_slice() {
            [] => self
                .around
                .api
                .last_lines(namespace, &generator.pod, LAST_LINES)
                .unwrap_or_default(),
            messages => messages.to_vec(),
        };
        let is_of_user = |line: &&String| Said::read(line).is_none();
        let messages: Vec<String> = messages.iter().filter(is_of_user).cloned().collect();
        let messages = self.around.run.secrets.redact(&messages.join("\n  "));
        let messages = &in_fields(messages.trim_start_matches("error: "));
        let node = &generator.node;
        // A name server may not know a service that was made a moment ago, and a node that started
        // again may not be reached for a while although its pods are ready: both pass.
        let may_be_wrong = !self.around.has_loaded.get() && !messages.contains(UNRESOLVED);
        match self.end_of(generator) {
            Some(State::Died(why)) if why == "ended with exit code 2" && may_be_wrong => {
                Stop::Question(anyhow!("the generator refuses: {messages}"))
            }
            Some(State::Died(why)) => {
                Stop::Disturbed { cause: format!("the generator on {node} {why}: {messages}") }
            }
            _ => Stop::Disturbed { cause: format!("the generator on {node} was lost") },
        }
    }
}

/// The words of Rust's standard library for a name without an address.
const UNRESOLVED: &str = "failed to lookup address information";

/// Returns the time from the line that starts the generators to the beginning of the load: the line
/// must reach all of them before.
fn ahead(longest_round_trip: Nanos) -> Nanos {
    (AHEAD.0 + longest_round_trip * 4).min(AHEAD.1)
}

/// Handles a line of a generator's log; returns true if it is progress.
fn take(generator: &mut Generator, line: String) -> Result<bool, Stop> {
    match generator.frames.take(&line) {
        Ok(Some(document)) => {
            let load = Load::read(document.as_bytes());
            let load = load.map_err(|why| Stop::no_answer(format!("the generator: {why}")))?;
            generator.document = Some(load);
            return Ok(false);
        }
        Ok(None) => {}
        Err(why) => {
            let cause = format!("the log of the generator on {}: {why}", generator.node);
            return Err(Stop::Disturbed { cause });
        }
    }
    match Said::read(&line) {
        Some(Said::Tick(tick)) => {
            generator.tick = tick;
            return Ok(true);
        }
        Some(_) => {}
        None if line.is_empty() || Frames::is_frame(&line) => {}
        None => generator.messages.push(line),
    }
    Ok(false)
}

/// Waits for a line of this kind, and returns its number.
fn said(attached: &Attached, number: impl Fn(Said) -> Option<u64>) -> Option<u64> {
    loop {
        let line = attached.lines.recv_timeout(ANSWER).ok()?;
        if let Some(number) = Said::read(&line).and_then(&number) {
            return Some(number);
        }
    }
}

/// Returns a document whose times are those of the runner's clock.
fn on_clock(load: Load, clock: Offset, boot: Option<String>) -> Load {
    let own_time = |its| clock.own_time(Instant(its)).0;
    let converted = load.clock.map(|its| results::load::Clock {
        boot,
        start_ns: own_time(its.start_ns),
        measurement_start_ns: own_time(its.measurement_start_ns),
        measurement_end_ns: own_time(its.measurement_end_ns),
        end_ns: own_time(its.end_ns),
    });
    Load { clock: converted, ..load }
}

/// Returns the generators of the load with this number.
pub(crate) fn generators(
    run: &Run,
    number: u32,
    drive: &Drive,
    files: &Files,
    nodes: Vec<String>,
    generator: &spec::Generator,
) -> Generators {
    let (arguments, placed) = with_files(&drive.arguments, files);
    let phases = [drive.opening, drive.warm_up, drive.measure, drive.drain];
    Generators {
        name: format!("load-{}-{number}", run.id),
        nodes,
        arguments,
        files: placed.files,
        secret_files: placed.secret_files,
        longest: phases.into_iter().sum::<Nanos>() + GRACE,
        limits: Limits {
            cpu: Some(generator.cpu_limit.0),
            memory: Some(generator.memory_limit.0.0),
        },
    }
}

/// The files of one load in its pods.
#[derive(Debug, Default, PartialEq)]
struct Placed {
    /// Those of the load's ConfigMap, by their names there.
    files: Vec<(String, String)>,
    /// The names of those of the run's Secret.
    secret_files: Vec<String>,
}

/// Returns the arguments of a load with the files that it needs under the paths that they have in a
/// pod, and these files.
fn with_files(arguments: &Arguments, files: &Files) -> (Arguments, Placed) {
    let mut arguments = arguments.clone();
    let secret: BTreeMap<&Path, String> =
        secret_files(files).map(|(path, name, _)| (path, name)).collect();
    let mut places: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let mut placed = Placed::default();
    for path in arguments.files_mut() {
        let file = files.get(path).expect("the files of the spec were read before its loads");
        let place = places.entry(path.clone()).or_insert_with(|| {
            if let Some(name) = secret.get(path.as_path()) {
                placed.secret_files.push(name.clone());
                return Path::new(objects::SECRETS_FOLDER).join(name);
            }
            // Files of two folders may have one name.
            let name = key_of(path);
            let is_free = |name: &str| placed.files.iter().all(|(other, _)| other != name);
            let name = names::free(name.clone(), |number| format!("{number}-{name}"), is_free);
            let place = Path::new(objects::LOAD_FOLDER).join(&name);
            placed.files.push((name, file.text.clone()));
            place
        });
        path.clone_from(place);
    }
    (arguments, placed)
}

/// Returns the name of a file as a key of a ConfigMap or a Secret.
fn key_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect()
}
