//! The searches of a run with several, by level. Results of different levels, or of different
//! searches, are never mixed.

use std::collections::BTreeMap;

use results::answer::{Answer, Search, Verdict};
use results::journal::Entry;

use super::answering;

#[cfg(test)]
mod tests;

/// The most levels of which a trial is shown in full.
const MOST_SHOWN: usize = 6;

/// One combination of levels with its searches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    /// The name; absent in an experiment without factors.
    pub(crate) name: Option<String>,
    pub(crate) searches: Vec<Repeated>,
}

/// Equal searches in one cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repeated {
    pub(crate) name: Option<String>,
    /// One strand for each repetition, at least one.
    pub(crate) strands: Vec<Search>,
}

/// One of the two quantities that a search can find.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Quantity {
    Maximum,
    Capacity,
}

/// A quantity that one strand found, with the trial from which it comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) per_s: f64,
    pub(crate) trial: u32,
}

/// The values of equal searches, in ascending order; at least one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found(Vec<Value>);

/// A trial that is shown in full, since it represents its level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// `servers=2, capacity`
    pub(crate) name: String,
    pub(crate) trial: u32,
}

/// Groups the searches of a run by level, in the order of the plan; empty if the run has only one.
/// A run whose answer is not known has the searches that its journal names, without results.
pub(crate) fn cells(answer: Option<&Answer>, journal: &[Entry]) -> Vec<Cell> {
    let several = answer.filter(|answer| 1 < answer.searches.len());
    let known = several.into_iter().flat_map(|answer| &answer.searches);
    let mut searches: BTreeMap<u32, Search> =
        known.map(|search| (search.strand, search.clone())).collect();
    for entry in journal {
        let Some(strand) = entry.strand else { continue };
        searches.entry(strand).or_insert_with(|| unknown(strand, entry)).trials += 1;
    }
    let mut cells: Vec<Cell> = Vec::new();
    let mut indices: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for search in searches.into_values() {
        let index = *indices.entry(search.cell.clone()).or_insert_with(|| {
            cells.push(Cell { name: search.cell.clone(), searches: Vec::new() });
            cells.len() - 1
        });
        cells[index].add(search);
    }
    cells
}

/// A strand of which only its trials are known.
fn unknown(strand: u32, entry: &Entry) -> Search {
    Search {
        strand,
        name: entry.search.clone(),
        cell: entry.cell.clone(),
        // `Cell::add` numbers it.
        repetition: 0,
        verdict: Verdict::Open,
        fixed: false,
        maximum_throughput: None,
        capacity: None,
        lower: None,
        upper: None,
        interval: None,
        estimate: None,
        at_usual_speed: None,
        limited_by: None,
        stopped_by: "not ended".to_owned(),
        trials: 0,
    }
}

/// Returns the trial that represents each cell: that of the median capacity of its first search,
/// or, if that found none, of its median maximum throughput. A given load that failed has neither, and
/// is represented by its first trial.
pub(crate) fn representatives(cells: &[Cell], fixed: bool, journal: &[Entry]) -> Vec<Shown> {
    let of_cell = |cell: &Cell| {
        let first = cell.searches.first()?;
        let found = [Quantity::Capacity, Quantity::Maximum]
            .into_iter()
            .find_map(|quantity| Some((quantity, first.found(quantity)?.middle().trial)));
        let (quantity, trial) = match found {
            Some((quantity, trial)) => ((!fixed).then(|| quantity.name()), trial),
            None if fixed => (None, first.trial(journal)?),
            None => return None,
        };
        let parts = cell.name.as_deref().into_iter().chain(quantity);
        let name = parts.collect::<Vec<_>>().join(", ");
        Some(Shown { name, trial })
    };
    cells.iter().filter_map(of_cell).collect()
}

/// Returns the representatives whose trials are shown in full: at most six, from the first level to
/// the last.
pub(crate) fn shown(representatives: &[Shown]) -> Vec<Shown> {
    spaced(representatives.len(), MOST_SHOWN)
        .into_iter()
        .map(|index| representatives[index].clone())
        .collect()
}

/// Returns at most `most` of the indices below `count`, evenly spaced from the first to the last.
pub(crate) fn spaced(count: usize, most: usize) -> Vec<usize> {
    match count <= most {
        true => (0..count).collect(),
        false => (0..most).map(|i| i * (count - 1) / (most - 1).max(1)).collect(),
    }
}

impl Cell {
    fn add(&mut self, mut search: Search) {
        let equal = self.searches.iter_mut().find(|repeated| repeated.name == search.name);
        let before = equal.as_ref().map_or(0, |repeated| repeated.strands.len());
        if search.repetition == 0 {
            search.repetition = before as u32 + 1;
        }
        match equal {
            Some(repeated) => repeated.strands.push(search),
            None => {
                let name = search.name.clone();
                self.searches.push(Repeated { name, strands: vec![search] });
            }
        }
    }

    /// Returns the name, or a dash without factors.
    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("–")
    }
}

impl Repeated {
    /// Returns the first trial of the strands that is evidence about the system.
    fn trial(&self, journal: &[Entry]) -> Option<u32> {
        let is_ours = |entry: &Entry| self.strands.iter().any(|s| Some(s.strand) == entry.strand);
        answering(journal).find(|(entry, _)| is_ours(entry)).map(|(entry, _)| entry.trial)
    }

    /// Returns what the strands found; `None` if none found it.
    pub(crate) fn found(&self, quantity: Quantity) -> Option<Found> {
        let mut values: Vec<Value> =
            self.strands.iter().filter_map(|search| quantity.of(search)).collect();
        values.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
        (!values.is_empty()).then_some(Found(values))
    }

    /// Returns the name, or a dash if the searches of the experiment have none.
    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("–")
    }
}

impl Quantity {
    pub(crate) const ALL: [Quantity; 2] = [Quantity::Maximum, Quantity::Capacity];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::Maximum => "maximum throughput",
            Quantity::Capacity => "capacity",
        }
    }

    /// Returns what one strand found.
    pub(crate) fn of(self, search: &Search) -> Option<Value> {
        match self {
            Quantity::Maximum => search
                .maximum_throughput
                .as_ref()
                .map(|maximum| Value { per_s: maximum.rate_per_s, trial: maximum.trial }),
            Quantity::Capacity => search
                .capacity
                .as_ref()
                .map(|capacity| Value { per_s: capacity.rate_per_s, trial: capacity.trial }),
        }
    }
}

impl Found {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn least(&self) -> Value {
        self.0[0]
    }

    pub(crate) fn most(&self) -> Value {
        self.0[self.0.len() - 1]
    }

    /// Returns the value in the middle; of an even number the lower of the two.
    pub(crate) fn middle(&self) -> Value {
        self.0[(self.0.len() - 1) / 2]
    }

    /// Returns the median, with its trial unless it lies between those of two trials.
    pub(crate) fn median(&self) -> (f64, Option<u32>) {
        let values: Vec<f64> = self.0.iter().map(|value| value.per_s).collect();
        let median = measure::estimate::median(&values).expect("there is at least one value");
        let middle = self.middle();
        (median, (middle.per_s == median).then_some(middle.trial))
    }
}
