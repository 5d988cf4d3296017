//! The searches of a run with several, by level. Results of different levels, or of different
//! searches, are never mixed.

use std::collections::BTreeMap;

use results::answer::{self, Answer, Search};
use results::at_load;
use results::found::Spread;
use results::journal::Entry;
use results::sessions::Arrivals;
use results::{Found, Metric};

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

/// A quantity that one strand found, or a lower bound of it, with the trial from which it comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) per_s: f64,
    arrivals: Arrivals,
    /// True if it is a load, which arrives; else it is a rate of requests.
    is_load: bool,
    pub(crate) at_least: bool,
    pub(crate) trial: u32,
}

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
        name: entry.search.clone(),
        cell: entry.cell.clone(),
        // `Cell::add` numbers it.
        repetition: 0,
        ..Search::of_strand(strand)
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
            .find_map(|quantity| Some((quantity, first.middle(quantity)?)));
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
        at_load::evidence(journal).find(|(entry, _)| is_ours(entry)).map(|(entry, _)| entry.trial)
    }

    /// Returns what the strands know of a quantity; `None` if nothing is known of it.
    pub(crate) fn spread(&self, quantity: Quantity) -> Option<Spread> {
        let equal: Vec<&Search> = self.strands.iter().collect();
        let repeated = answer::Repeated::of(&equal)?;
        match quantity {
            Quantity::Maximum => repeated.maximum_throughput_per_s,
            Quantity::Capacity => repeated.capacity_per_s,
        }
    }

    /// Returns the trials that showed this result; none if it lies between the results of two.
    pub(crate) fn trials_of(&self, quantity: Quantity, found: Found) -> Vec<u32> {
        let metric = quantity.metric();
        let own = self.strands.iter().filter(|search| search.found(metric) == found);
        own.filter_map(|search| search.trial_of(metric)).collect()
    }

    /// Returns the trial of the middle one of the values that trials showed; of an even number the lower of
    /// the two.
    pub(crate) fn middle(&self, quantity: Quantity) -> Option<u32> {
        let values = self.strands.iter().filter_map(|search| quantity.of(search));
        let mut values: Vec<Value> = values.collect();
        values.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
        Some(values.get(values.len().checked_sub(1)? / 2)?.trial)
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

    pub(crate) fn metric(self) -> Metric {
        match self {
            Quantity::Maximum => Metric::MaximumThroughput,
            Quantity::Capacity => Metric::Capacity,
        }
    }

    /// Returns the place of what a strand found on an axis of requests; a load of sessions has none.
    pub(crate) fn in_requests(self, search: &Search) -> Option<f64> {
        let value = self.of(search)?;
        (!value.is_load || value.arrivals == Arrivals::Requests).then_some(value.per_s)
    }

    /// Returns what a trial of one strand showed.
    pub(crate) fn of(self, search: &Search) -> Option<Value> {
        match self {
            Quantity::Maximum => search.maximum_throughput.as_ref().map(|maximum| Value {
                per_s: maximum.rate_per_s,
                arrivals: maximum.arrivals(),
                is_load: false,
                at_least: maximum.at_least,
                trial: maximum.trial,
            }),
            Quantity::Capacity => search.capacity.as_ref().map(|capacity| Value {
                per_s: capacity.rate_per_s,
                arrivals: capacity.arrivals(),
                is_load: true,
                at_least: capacity.at_least,
                trial: capacity.trial,
            }),
        }
    }
}

impl Value {
    pub(crate) fn in_words(self) -> String {
        let words = match self.is_load {
            true => self.arrivals.load_in_words(self.per_s),
            false => self.arrivals.requests_in_words(self.per_s),
        };
        if self.at_least { format!("at least {words}") } else { words }
    }
}
