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

/// The figures that every reader looks for; [`further`] has the others.
pub(crate) fn table<'a>(run: &Run, trials: impl IntoIterator<Item = &'a Trial>) -> Table {
    let place = InPlan::of(run);
    let mut table = Table::new(CAPTION, columns(&place));
    trials.into_iter().for_each(|trial| table.push(row(run, trial, &place)));
    table
}

/// The figures that explain those of [`table`], of all trials.
pub(crate) fn further(run: &Run) -> Table {
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
    let mut observed = run.trials.iter().filter_map(|trial| trial.entry.observed.as_ref());
    let further = Further {
        services,
        others: !others.is_empty(),
        operations: observed.any(|observed| observed.operations_per_s.is_some()),
    };
    let mut table = Table::new(FURTHER, further.columns(&cpus)).grouped(further.groups(cpus.len()));
    run.trials.iter().for_each(|trial| table.push(further.row(run, trial)));
    table
}

/// The columns that tell where in a plan of several searches a trial is.
struct InPlan {
    places: Places,
    block: bool,
    /// The repetition of each search, by the number of its strand.
    repetitions: BTreeMap<u32, u32>,
}

impl InPlan {
    fn of(run: &Run) -> InPlan {
        let searches = run.cells.iter().flat_map(|cell| &cell.searches).flat_map(|s| &s.strands);
        InPlan {
            places: Places::of(run),
            block: run.trials.iter().any(|trial| trial.entry.block.is_some()),
            repetitions: searches.map(|search| (search.strand, search.repetition)).collect(),
        }
    }

    fn cells(&self, trial: &Trial) -> Vec<Cell> {
        let entry = &trial.entry;
        let repetition = self.repetitions.get(&trial.strand()).copied().unwrap_or(1);
        let search = self.places.search(entry.search.as_deref(), repetition);
        self.places.cells(entry.cell.as_deref().unwrap_or("–"), &search)
    }
}

const CAPTION: &str = "Every attempt, in order. Rates are sums over the targets, per second. Response times count from \
    the intended start. A quantile in grey has fewer than ten samples beyond it and is unreliable.";

const FURTHER: &str = "“Asked” is the rate asked of each target. “Machine” is the speed of the system’s CPUs in the \
    trial, relative to the median of the run. “|L − λW|” is the residual of Little’s law, as a share of L: near zero \
    if the response times account for all requests in progress.";

/// The columns of the table. What a reader looks for first is also on the screen of a phone.
fn columns(place: &InPlan) -> Vec<&'static str> {
    ["trial", "status"]
        .into_iter()
        .chain(place.places.names())
        .chain(["offered", "p99", "completed", "failures", "p50", "p90", "p99.9", "max"])
        .chain(place.block.then_some("block"))
        .collect()
}

fn row(run: &Run, trial: &Trial, place: &InPlan) -> Row {
    let entry = &trial.entry;
    let observed = entry.observed.as_ref();
    let rate = |of: fn(&Observed) -> f64| Cell::maybe(observed.map(|o| grouped(of(o))));
    let samples = trial.samples();
    let quantile =
        |of: fn(&Observed) -> Option<u64>, level| quantile(observed.and_then(of), samples, level);
    let mut cells = vec![Cell::number(entry.trial.to_string()), Cell::words(status(trial))];
    cells.extend(place.cells(trial));
    cells.extend([
        rate(|o| o.offered_per_s),
        quantile(|o| o.p99_ns, Quantile::P99),
        rate(|o| o.completed_per_s),
        Cell::maybe(observed.map(|o| text::integer(o.failures))),
        quantile(|o| o.p50_ns, Quantile::P50),
        quantile(|o| o.p90_ns, Quantile::P90),
        quantile(|o| o.p999_ns, Quantile::P999),
        Cell::maybe(observed.and_then(|o| o.max_ns).map(text::time)),
    ]);
    if place.block {
        cells.push(Cell::maybe(entry.block.map(|block| block.to_string())));
    }
    Row::new(cells).class(class(run, trial)).notes(notes(run, trial))
}

/// The other figures of a trial. Only some runs have operations that their requests carry.
struct Further<'a> {
    services: Vec<&'a str>,
    others: bool,
    operations: bool,
}

impl Further<'_> {
    fn columns(&self, cpus: &[String]) -> Vec<String> {
        let operations = |name| self.operations.then_some(name);
        ["trial", "asked"]
            .into_iter()
            .chain(operations("operations"))
            .chain(["goodput", "|L − λW|", "lateness p99", "hiccup p99"])
            .map(str::to_owned)
            .chain(cpus.iter().cloned())
            .chain(["machine", "bytes per response"].map(str::to_owned))
            .chain(operations("bytes per operation").map(str::to_owned))
            .collect()
    }

    fn groups(&self, cpus: usize) -> Vec<(String, usize)> {
        let more = usize::from(self.operations);
        [("", 1), ("rate per second", 2 + more), ("", 1), ("generator", 2)]
            .into_iter()
            .chain((0 < cpus).then_some(("CPUs used", cpus)))
            .chain([("", 2 + more)])
            .map(|(name, width)| (name.to_owned(), width))
            .collect()
    }

    fn row(&self, run: &Run, trial: &Trial) -> Row {
        let entry = &trial.entry;
        let observed = entry.observed.as_ref();
        let maybe = |of: fn(&Observed) -> Option<f64>| observed.and_then(of);
        let mut cells = vec![
            Cell::number(entry.trial.to_string()),
            Cell::maybe(entry.asked_per_target_per_s.map(grouped)),
        ];
        if self.operations {
            cells.push(Cell::maybe(maybe(|o| o.operations_per_s).map(grouped)));
        }
        let residual =
            observed.and_then(|o| o.little).map(|little| text::share(little.residual(), 1.0));
        let time =
            |of: fn(&Observed) -> Option<u64>| Cell::maybe(observed.and_then(of).map(text::time));
        cells.push(Cell::maybe(observed.map(|o| grouped(o.goodput_per_s))));
        cells.push(Cell::maybe(residual));
        cells.extend([time(|o| o.lateness_p99_ns), time(|o| o.hiccup_p99_ns)]);
        cells.extend(self.cpus(run, observed));
        cells.push(Cell::maybe(run.usual.speed_in(entry).map(|speed| format!("{speed:.2}"))));
        let bytes = |of: fn(&Observed) -> Option<f64>| {
            Cell::maybe(maybe(of).map(|bytes| format!("{bytes:.1}")))
        };
        cells.push(bytes(|o| o.bytes_per_answer));
        if self.operations {
            cells.push(bytes(|o| o.bytes_per_operation));
        }
        Row::new(cells).notes(further_notes(trial))
    }

    fn cpus(&self, run: &Run, observed: Option<&Observed>) -> Vec<Cell> {
        let cpu = observed.map(|observed| cpu_by_service(run, observed)).unwrap_or_default();
        let in_words = |cpu: f64| format!("{cpu:.2}");
        let services = self.services.iter();
        let mut cells: Vec<Cell> =
            services.map(|name| Cell::maybe(cpu.get(name).copied().map(in_words))).collect();
        if self.others {
            let rest = cpu.iter().filter(|(name, _)| !self.services.contains(name));
            cells.push(Cell::maybe(observed.map(|_| in_words(rest.map(|(_, cpu)| cpu).sum()))));
        }
        cells
    }
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
        (_, Status::Valid) if trial.entry.is_valid_but_slow() => "! valid, but in a slow machine",
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

/// Returns statements of one kind.
fn named(name: &str, texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| format!("{name}: {text}")).collect()
}

/// The failures, the role of the trial in the search, and why it is not valid.
fn notes(run: &Run, trial: &Trial) -> Vec<String> {
    let entry = &trial.entry;
    let failures = entry.observed.as_ref().and_then(Observed::failures_in_words);
    let mostly = entry.observed.as_ref().filter(|o| o.is_mostly_failing());
    let mostly = mostly.map(|_| "mostly times of failures".to_owned());
    let marks = marks(run, trial).join(" · ");
    [
        named("failed", failures.as_slice()),
        named("response times", mostly.as_slice()),
        if marks.is_empty() { Vec::new() } else { vec![marks] },
        named("why", &entry.reasons),
    ]
    .concat()
}

/// The other statements about a trial.
fn further_notes(trial: &Trial) -> Vec<String> {
    let entry = &trial.entry;
    let limit = entry.observed.as_ref().and_then(|o| o.limited_by.clone());
    [
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
