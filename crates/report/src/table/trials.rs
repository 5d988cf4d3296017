//! The table of all attempted trials, with which a reader can check the verdict.

use std::collections::BTreeMap;

use measure::estimate::{Support, beyond, support};
use measure::quantity::grouped;
use measure::{Nanos, Quantile};
use results::at_load::Conclusion;
use results::journal::{Observed, Status};

use super::places::Places;
use super::{Cell, Row, Table};
use crate::run::services::titled;
use crate::run::{Run, Trial, cpu_by_service, services};
use crate::text;

/// The most services with their own column; the others are summed in one.
const MOST_SERVICES: usize = 2;

pub(crate) fn table(run: &Run) -> Table {
    let mut services = services(run);
    let others = services.split_off(services.len().min(MOST_SERVICES));
    // The number of replicas may differ between levels.
    let replicas = |name: &str| match run.has_several() {
        true => 1,
        false => run.services.values().filter(|service| *service == name).count(),
    };
    let mut cpus: Vec<String> =
        services.iter().map(|name| titled(name, replicas(name).max(1))).collect();
    if !others.is_empty() {
        cpus.push(text::count(others.len(), "other"));
    }
    let further = Further::of(run);
    let mut table =
        Table::new(CAPTION, columns(&further, &cpus)).grouped(groups(&further, cpus.len()));
    for trial in &run.trials {
        table.push(row(run, trial, &further, &services, !others.is_empty()));
    }
    table
}

/// The columns that only some runs have: a trial's place in a plan of several searches, and the operations that its
/// requests carried.
struct Further {
    places: Places,
    block: bool,
    /// The repetition of each search, by the number of its strand.
    repetitions: BTreeMap<u32, u32>,
    operations: bool,
}

impl Further {
    fn of(run: &Run) -> Further {
        let searches = run.cells.iter().flat_map(|cell| &cell.searches).flat_map(|s| &s.strands);
        let mut observed = run.trials.iter().filter_map(|trial| trial.entry.observed.as_ref());
        Further {
            places: Places::of(run),
            block: run.trials.iter().any(|trial| trial.entry.block.is_some()),
            repetitions: searches.map(|search| (search.strand, search.repetition)).collect(),
            operations: observed.any(|observed| observed.operations_per_s.is_some()),
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.places.names().chain(self.block.then_some("block"))
    }

    fn cells(&self, trial: &Trial) -> Vec<Cell> {
        let entry = &trial.entry;
        let repetition = self.repetitions.get(&trial.strand()).copied().unwrap_or(1);
        let search = self.places.search(entry.search.as_deref(), repetition);
        let level = entry.cell.as_deref().unwrap_or("–");
        let block = self.block.then(|| Cell::maybe(entry.block.map(|block| block.to_string())));
        self.places.cells(level, &search).into_iter().chain(block).collect()
    }
}

const CAPTION: &str = "Every attempt, in order. “Asked” is the rate asked of each target; all other \
    rates are sums over the targets, per second. Response times count from the intended start. A \
    quantile in grey has fewer than ten samples beyond it and is unreliable. “Machine” is the \
    speed of the system’s CPUs in the trial, relative to the median of the run. “|L − λW|” is the residual \
    of Little’s law, as a share of L: near zero if the response times account for all requests in progress.";

fn columns(further: &Further, cpus: &[String]) -> Vec<String> {
    let operations = |name| further.operations.then_some(name);
    let times = ["p50", "p90", "p99", "p99.9", "max", "|L − λW|", "lateness p99", "hiccup p99"];
    ["trial"]
        .into_iter()
        .chain(further.names())
        .chain(["asked", "offered", "completed"])
        .chain(operations("operations"))
        .chain(["goodput", "failures"])
        .chain(times)
        .map(str::to_owned)
        .chain(cpus.iter().cloned())
        .chain(["machine", "bytes per answer"].map(str::to_owned))
        .chain(operations("bytes per operation").map(str::to_owned))
        .chain(["status".to_owned()])
        .collect()
}

fn groups(further: &Further, cpus: usize) -> Vec<(String, usize)> {
    let first = 1 + further.names().count();
    let more = usize::from(further.operations);
    [("", first), ("rate per second", 4 + more), ("", 1), ("response time", 6), ("generator", 2)]
        .into_iter()
        .chain((0 < cpus).then_some(("CPUs used", cpus)))
        .chain([("", 3 + more)])
        .map(|(name, width)| (name.to_owned(), width))
        .collect()
}

fn row(run: &Run, trial: &Trial, further: &Further, services: &[&str], others: bool) -> Row {
    let entry = &trial.entry;
    let observed = entry.observed.as_ref();
    let rate = |of: fn(&Observed) -> f64| Cell::maybe(observed.map(|o| grouped(of(o))));
    let maybe = |of: fn(&Observed) -> Option<f64>| observed.and_then(of);
    let mut cells = vec![Cell::number(entry.trial.to_string())];
    cells.extend(further.cells(trial));
    cells.extend([
        Cell::maybe(entry.asked_per_target_per_s.map(grouped)),
        rate(|o| o.offered_per_s),
        rate(|o| o.completed_per_s),
    ]);
    if further.operations {
        cells.push(Cell::maybe(maybe(|o| o.operations_per_s).map(grouped)));
    }
    cells.extend([
        rate(|o| o.goodput_per_s),
        Cell::maybe(observed.map(|o| text::integer(o.failures))),
    ]);
    let samples = trial.samples();
    cells.extend([
        quantile(observed.and_then(|o| o.p50_ns), samples, Quantile::P50),
        quantile(observed.and_then(|o| o.p90_ns), samples, Quantile::P90),
        quantile(observed.and_then(|o| o.p99_ns), samples, Quantile::P99),
        quantile(observed.and_then(|o| o.p999_ns), samples, Quantile::P999),
    ]);
    let time =
        |of: fn(&Observed) -> Option<u64>| Cell::maybe(observed.and_then(of).map(text::time));
    let residual =
        observed.and_then(|o| o.little).map(|little| text::share(little.residual(), 1.0));
    cells.extend([time(|o| o.max_ns), Cell::maybe(residual)]);
    cells.extend([time(|o| o.lateness_p99_ns), time(|o| o.hiccup_p99_ns)]);
    let cpu = observed.map(|observed| cpu_by_service(run, observed)).unwrap_or_default();
    let in_words = |cpu: f64| format!("{cpu:.2}");
    cells.extend(services.iter().map(|name| Cell::maybe(cpu.get(name).copied().map(in_words))));
    if others {
        let rest = cpu.iter().filter(|(name, _)| !services.contains(name)).map(|(_, cpu)| cpu);
        cells.push(Cell::maybe(observed.map(|_| in_words(rest.sum()))));
    }
    cells.push(Cell::maybe(run.usual.speed_in(entry).map(|speed| format!("{speed:.2}"))));
    let bytes = |of: fn(&Observed) -> Option<f64>| {
        Cell::maybe(maybe(of).map(|bytes| format!("{bytes:.1}")))
    };
    cells.push(bytes(|o| o.bytes_per_answer));
    if further.operations {
        cells.push(bytes(|o| o.bytes_per_operation));
    }
    cells.push(Cell::words(status(trial)));
    Row::new(cells).class(class(run, trial)).notes(notes(run, trial))
}

/// A quantile, in grey with the number of samples if fewer than ten are beyond it.
pub(crate) fn quantile(ns: Option<u64>, samples: u64, level: Quantile) -> Cell {
    let Some(ns) = ns else { return Cell::maybe(None) };
    let weak = support(samples, level) == Support::Unsupported;
    let why = weak.then(|| format!("{} beyond", beyond(samples, level)));
    Cell::number(Nanos(ns).to_string()).value(ns as f64).weak(why)
}

fn status(trial: &Trial) -> &'static str {
    let is_failing = trial.entry.observed.as_ref().is_some_and(Observed::is_failing);
    match (trial.probe(), trial.entry.status) {
        (_, Status::Valid) if is_failing => "✗ failing, valid",
        (_, Status::Bounded) if is_failing => "✗ failing, slowed",
        (_, Status::Invalid) if is_failing => "✗ failing, invalid",
        (true, Status::Valid) => "○ probe",
        (_, Status::Valid) if trial.entry.is_valid_but_disturbed() => "! valid, but disturbed",
        (_, Status::Valid) => "✓ valid",
        (_, Status::Bounded) => "≈ slowed, answered",
        (_, Status::Invalid) => "✗ invalid",
        (_, Status::Aborted) => "■ aborted",
    }
}

fn class(run: &Run, trial: &Trial) -> &'static str {
    match trial.entry.status {
        _ if run.is_maximum(trial) || run.is_capacity(trial) => "found",
        Status::Valid | Status::Bounded if trial.probe() => "probe",
        Status::Valid | Status::Bounded => "",
        Status::Invalid | Status::Aborted => "bad",
    }
}

/// The role of the trial in the search, then the statements about it.
fn notes(run: &Run, trial: &Trial) -> Vec<String> {
    let entry = &trial.entry;
    let named = |name: &'static str, texts: &[String]| {
        texts.iter().map(|text| format!("{name}: {text}")).collect::<Vec<_>>()
    };
    let limit = entry.observed.as_ref().and_then(|o| o.limited_by.clone());
    let failures = entry.observed.as_ref().and_then(Observed::failures_in_words);
    let mostly = entry.observed.as_ref().filter(|o| o.is_mostly_failing());
    let mostly = mostly.map(|_| "mostly times of failures".to_owned());
    let marks = marks(run, trial).join(" · ");
    [
        named("failed", failures.as_slice()),
        named("response times", mostly.as_slice()),
        if marks.is_empty() { Vec::new() } else { vec![marks] },
        named("why", &entry.reasons),
        named("disturbed", &entry.disturbed),
        named("finding", &entry.findings),
        named("SLO", &entry.slo.iter().map(|judged| judged.text.clone()).collect::<Vec<_>>()),
        named("limited by", limit.as_slice()),
        named("warning", &entry.warnings),
    ]
    .concat()
}

fn marks(run: &Run, trial: &Trial) -> Vec<String> {
    let entry = &trial.entry;
    let observed = entry.observed.as_ref().filter(|_| !trial.probe());
    let mut marks = Vec::new();
    let mut say = |yes: bool, what: &str| marks.extend(yes.then(|| what.to_owned()));
    say(run.is_maximum(trial), "maximum");
    say(run.is_capacity(trial), "capacity");
    say(trial.conclusion == Some(Conclusion::Missed), "SLO missed");
    say(observed.is_some_and(Observed::shows_saturation), "saturated");
    say(1 < entry.attempt, &format!("attempt {}", entry.attempt));
    say(1 < entry.repetition, &format!("repetition {}", entry.repetition));
    marks
}
