//! The results of all searches by level: each value with the trial from which it comes.

use std::collections::BTreeSet;

use measure::quantity::grouped;
use results::Found;
use results::answer::{Search, Verdict};
use results::found::Spread;
use results::sessions::Arrivals;

use super::{Cell, MOST_ROWS, Row, Table};
use crate::run::Run;
use crate::run::levels::{Cell as Level, Quantity, Repeated};
use crate::text::{count, integer, list, rate};

/// The most different texts about equal searches.
const MOST_TEXTS: usize = 3;

const DEFINITION: &str = "Maximum throughput: the highest completed rate, but at most the offered \
    one, with any response time. Capacity: the highest offered load at which more than half of the \
    trials meet every SLO";

/// A text about a search.
type Text = fn(&Search) -> Option<&str>;

/// The columns that the searches of this run need.
#[derive(Clone, Copy)]
struct Columns {
    level: bool,
    search: bool,
    /// True if equal searches have a spread.
    spread: bool,
    /// True if the searches have different objectives, so that each names its own.
    slo: bool,
}

/// Returns the meaning of the figures in the table.
pub(crate) fn definition(run: &Run) -> String {
    let mut text = if run.unfinished() { "So far. ".to_owned() } else { String::new() };
    text += DEFINITION;
    let slos = slos(run);
    if let (Some(slo), 1) = (slos.first(), slos.len()) {
        text += &format!(": {slo}");
    }
    text += ". Rates are per second; below each is its trial.";
    if searches(run).any(|search| search.strands.iter().any(is_censored)) {
        text += " “At least” and “at most”: a search found only a bound.";
    }
    let all = searches(run).count();
    if MOST_ROWS < all {
        text += &format!(" The first {MOST_ROWS} of {}; answer.json has all.", count(all, "row"));
    }
    text
}

pub(crate) fn table(run: &Run) -> Table {
    let columns = Columns {
        level: run.cells.iter().any(|cell| cell.name.is_some()),
        search: searches(run).any(|search| search.name.is_some()),
        spread: searches(run).any(|search| 1 < search.strands.len()),
        slo: 1 < slos(run).len(),
    };
    let mut table = Table::new("", columns.names()).grouped(columns.groups());
    let rows = run.cells.iter().flat_map(|cell| cell.searches.iter().map(move |s| (cell, s)));
    for (cell, search) in rows.take(MOST_ROWS) {
        table.push(row(cell, search, columns));
    }
    table
}

impl Columns {
    /// The columns before the quantities.
    fn first(self) -> impl Iterator<Item = &'static str> {
        let columns = [(self.level, "level"), (self.search, "search"), (true, "")];
        columns.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, name)| name)
    }

    fn of_quantity(self) -> &'static [&'static str] {
        if self.spread { &["median", "least", "most", "of"] } else { &["/s"] }
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        self.first().chain(Quantity::ALL.into_iter().flat_map(move |_| self.of_quantity()).copied())
    }

    fn groups(self) -> Vec<(String, usize)> {
        let quantities = Quantity::ALL.map(|q| (q.name().to_owned(), self.of_quantity().len()));
        [(String::new(), self.first().count())].into_iter().chain(quantities).collect()
    }
}

fn row(cell: &Level, search: &Repeated, columns: Columns) -> Row {
    let mut cells = Vec::new();
    cells.extend(columns.level.then(|| Cell::words(cell.title())));
    cells.extend(columns.search.then(|| Cell::words(search.title())));
    cells.push(Cell::words(verdict(search)));
    for quantity in Quantity::ALL {
        let spread = search.spread(quantity);
        let middle = search.middle(quantity);
        let cell = |of: fn(Spread) -> Found, pick: &dyn Fn(&[u32]) -> Option<u32>| {
            let Some(found) = spread.map(of) else { return Cell::maybe(None) };
            let trial = pick(&search.trials_of(quantity, found));
            Cell::number(found.in_words(grouped))
                .detail(trial.map(|number| format!("trial {number}")))
        };
        // Of equal results the first, the last and the middle one of all.
        let first = |trials: &[u32]| trials.first().copied();
        let last = |trials: &[u32]| trials.last().copied();
        let of_median =
            |trials: &[u32]| middle.filter(|middle| trials.contains(middle)).or(first(trials));
        cells.push(cell(|spread| spread.median, &of_median));
        if columns.spread {
            cells.push(cell(|spread| spread.least, &first));
            cells.push(cell(|spread| spread.most, &last));
            cells.push(Cell::number(integer(spread.map_or(0, |spread| spread.count).into())));
        }
    }
    let mut notes = Vec::new();
    if columns.slo {
        notes.extend(texts("SLO", search, slo));
    }
    let interval = search.strands.iter().find_map(|strand| strand.interval);
    notes.extend(interval.map(|(low, high)| {
        format!("95 % interval of the capacity: {} … {}", grouped(low), rate(high))
    }));
    let estimate = match &search.strands[..] {
        [only] => only.estimate,
        _ => None,
    };
    notes.extend(estimate.map(|found| {
        let (low, high) = found.interval;
        let arrivals = search.strands.first().map_or(Arrivals::Requests, |of| of.arrivals());
        let (low, high) = (grouped(low), arrivals.load_in_words(high));
        let estimate = arrivals.load_in_words(found.rate_per_s);
        format!("estimated from all trials: {estimate} (95 % interval {low} … {high})")
    }));
    notes.extend(texts("limited by", search, |search| search.limited_by.as_deref()));
    notes.extend(texts("stopped by", search, |search| match search.verdict {
        Verdict::Open | Verdict::Interrupted => None,
        Verdict::Answered | Verdict::No | Verdict::NoAnswer => Some(&search.stopped_by),
    }));
    notes.extend(texts("in doubt", search, |search| {
        let capacity = search.capacity.as_ref()?;
        capacity.missed_below_per_s.map(|_| "a load below the capacity missed the SLO too")
    }));
    Row::new(cells).notes(notes)
}

fn is_censored(search: &Search) -> bool {
    let is_bound = |quantity: Quantity| {
        let found = search.found(quantity.metric());
        found.exact().is_none() && !found.is_unknown()
    };
    Quantity::ALL.into_iter().any(is_bound)
}

fn searches(run: &Run) -> impl Iterator<Item = &Repeated> {
    run.cells.iter().flat_map(|cell| &cell.searches)
}

fn slos(run: &Run) -> BTreeSet<&str> {
    searches(run).flat_map(|search| &search.strands).filter_map(slo).collect()
}

fn slo(search: &Search) -> Option<&str> {
    Some(&search.capacity.as_ref()?.slo)
}

/// Returns `✓ answered`, or how many of the searches ended in each way.
fn verdict(search: &Repeated) -> String {
    let kinds = [
        (Verdict::Answered, "✓ answered"),
        (Verdict::No, "✗ no"),
        (Verdict::NoAnswer, "! no answer"),
        (Verdict::Interrupted, "‖ interrupted"),
        (Verdict::Open, "… unfinished"),
    ];
    let count = |kind: Verdict| search.strands.iter().filter(|s| s.verdict == kind).count();
    let seen: Vec<(usize, &str)> = kinds
        .into_iter()
        .map(|(kind, word)| (count(kind), word))
        .filter(|(count, _)| 0 < *count)
        .collect();
    match seen.as_slice() {
        [(_, word)] => (*word).to_owned(),
        several => {
            let parts: Vec<String> =
                several.iter().map(|(n, word)| format!("{word} {n}")).collect();
            parts.join(", ")
        }
    }
}

/// Returns the different texts about equal searches, each with the repetitions to which it applies
/// if these are not all.
fn texts(name: &str, search: &Repeated, of: Text) -> Vec<String> {
    let mut texts: Vec<(&str, Vec<String>)> = Vec::new();
    for strand in &search.strands {
        let Some(text) = of(strand) else { continue };
        let repetition = strand.repetition.to_string();
        match texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, repetitions)) => repetitions.push(repetition),
            None => texts.push((text, vec![repetition])),
        }
    }
    let all = search.strands.len();
    let more = texts.len().saturating_sub(MOST_TEXTS);
    let line = |(text, repetitions): (&str, Vec<String>)| match repetitions.len() {
        n if n == all => format!("{name}: {text}"),
        n if n <= MOST_TEXTS => {
            let noun = if n == 1 { "repetition" } else { "repetitions" };
            format!("{name} ({noun} {}): {text}", list(&repetitions))
        }
        n => format!("{name} ({n} of {all}): {text}"),
    };
    let mut lines: Vec<String> = texts.into_iter().take(MOST_TEXTS).map(line).collect();
    if 0 < more {
        lines.push(format!("{name}: {more} more in answer.json"));
    }
    lines
}
