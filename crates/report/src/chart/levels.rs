//! All levels in one plot: a dot for what each search found, a line through the medians that are known, and a
//! bar for the interval of a capacity over equal searches.

use measure::quantity::grouped;
use results::Found;
use results::answer::Search;

use super::labels::{self, Labels};
use super::{Figure, Key, Layout, Panel};
use crate::plot::{Axis, Plot, Scale, Style, distinct};
use crate::run::Run;
use crate::run::levels::{Cell as Level, Quantity, Repeated, spaced};
use crate::table::places::Places;
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{integer, rate, tick_number};

/// The most searches whose results are dots.
const MOST_DOTS: usize = 1_000;

/// The most searches that the summary contains.
const MOST_SUMMED_UP: usize = 3;

/// The part of a level's width on the x axis that its searches share.
const WIDTH: f64 = 0.7;

/// The results of a name's searches, with their look and their place beside those of other names.
struct Series {
    style: Style,
    quantity: Quantity,
    name: Option<String>,
    /// The position among the searches of a level.
    position: usize,
}

/// Draws every level in the order of the plan; `None` if there is only one search, or no result.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    if run.fixed {
        return None;
    }
    let names = names(run);
    let series: Vec<Series> = series(run, &names);
    series.first()?;
    let labels = Labels::of(run.cells.iter().map(Level::title));
    let places = Places::of(run);
    let summary = summary(run, &series, labels);
    let plot = draw(run, &series, names.len(), labels, &summary);
    let keys: Vec<Key> = series.iter().map(|series| (series.style, series.title())).collect();
    Some(Figure {
        id: "levels".into(),
        title: match 1 < run.cells.len() {
            true => "Maximum throughput and capacity by level".into(),
            false => "Maximum throughput and capacity of each search".into(),
        },
        table: table(run, &names, labels, places, &plot),
        panels: vec![Panel { svg: plot.svg(), keys, ..Panel::default() }],
        keys: Vec::new(),
        summary,
        layout: Layout::Whole,
    })
}

/// The names of the searches, each once, in the order of the plan.
fn names(run: &Run) -> Vec<Option<String>> {
    let mut names: Vec<Option<String>> = Vec::new();
    for search in run.cells.iter().flat_map(|cell| &cell.searches) {
        if !names.contains(&search.name) {
            names.push(search.name.clone());
        }
    }
    names
}

/// Every quantity of every search that was found at some level.
fn series(run: &Run, names: &[Option<String>]) -> Vec<Series> {
    let each = names.iter().enumerate().flat_map(|(position, name)| {
        Quantity::ALL.into_iter().zip(2 * position..).map(move |(quantity, number)| Series {
            style: distinct(number, number),
            quantity,
            name: name.clone(),
            position,
        })
    });
    each.filter(|series| run.cells.iter().any(|cell| series.found(cell).is_some())).collect()
}

impl Series {
    fn title(&self) -> String {
        let name = self.name.iter().map(String::as_str);
        let parts: Vec<&str> = name.chain([self.quantity.name()]).collect();
        parts.join(": ")
    }

    fn of<'a>(&self, cell: &'a Level) -> Option<&'a Repeated> {
        cell.searches.iter().find(|search| search.name == self.name)
    }

    /// Returns the median of a level, which may be a bound.
    fn found(&self, cell: &Level) -> Option<Found> {
        Some(self.of(cell)?.spread(self.quantity)?.median)
    }

    fn median(&self, cell: &Level) -> Option<f64> {
        self.found(cell)?.exact()
    }

    /// Returns the interval of the capacity of a level: of all its equal searches.
    fn interval(&self, cell: &Level) -> Option<(f64, f64)> {
        let equal = self.of(cell).filter(|_| self.quantity == Quantity::Capacity)?;
        equal.strands.first()?.interval
    }
}

fn draw(run: &Run, all: &[Series], names: usize, labels: Labels, summary: &str) -> Plot {
    let levels = run.cells.len();
    let values = strands(run).flat_map(|s| Quantity::ALL.map(|q| q.of(s.search()))).flatten();
    let intervals = all.iter().flat_map(|s| run.cells.iter().filter_map(|cell| s.interval(cell)));
    let label = if levels == 1 { "" } else { "level" };
    let x = Axis { scale: Scale::Places { count: levels }, label, tick: tick_number };
    let y = Axis {
        scale: Scale::from_zero(
            values.map(|value| value.per_s).chain(intervals.map(|(_, high)| high)),
        ),
        label: "per second",
        tick: tick_number,
    };
    let mut plot = Plot::new(summary, 340.0, x, y);
    for (place, text) in places(run, labels) {
        plot.place(place as f64, &text);
    }
    let dots = shown(run, MOST_DOTS);
    for series in all {
        let among = (series.position, names);
        draw_medians(&mut plot, run, series, among);
        for (level, cell) in run.cells.iter().enumerate() {
            if let Some((low, high)) = series.interval(cell) {
                plot.bar(series.style, place(level, among, 0.5), low, high);
            }
        }
        for strand in dots.iter().filter(|strand| strand.equal.name == series.name) {
            let Some(value) = series.quantity.of(strand.search()) else { continue };
            let (cell, found) = (strand.cell.title(), value.in_words());
            let title = format!("{cell}: {} {found} (trial {})", series.title(), value.trial);
            plot.mark(series.style, strand.x(among), value.per_s, &title);
        }
    }
    plot
}

/// Draws a line through the medians of neighbouring levels; a median without a neighbour is a line
/// as wide as its dots.
fn draw_medians(plot: &mut Plot, run: &Run, series: &Series, among: (usize, usize)) {
    let medians: Vec<(usize, Option<f64>)> =
        run.cells.iter().map(|cell| series.median(cell)).enumerate().collect();
    for neighbours in medians.split(|(_, median)| median.is_none()) {
        let known = neighbours.iter().filter_map(|&(level, median)| Some((level, median?)));
        let line: Vec<(f64, f64)> = match neighbours {
            [_] => known.flat_map(|(l, m)| [0.0, 1.0].map(|x| (place(l, among, x), m))).collect(),
            _ => known.map(|(level, median)| (place(level, among, 0.5), median)).collect(),
        };
        plot.line(series.style, &line);
    }
}

/// The labels below the axis with their places.
fn places(run: &Run, labels: Labels) -> Vec<(usize, String)> {
    let names = run.cells.iter().enumerate();
    match labels {
        Labels::Names => names.filter_map(|(i, cell)| Some((i, cell.name.clone()?))).collect(),
        Labels::Numbers => {
            labels::numbers(run.cells.len()).map(|n| (n - 1, n.to_string())).collect()
        }
    }
}

/// The place on the x axis of a share of the width that a search has among the others of its level.
fn place(level: usize, (position, of): (usize, usize), share: f64) -> f64 {
    level as f64 + WIDTH * ((position as f64 + share) / of as f64 - 0.5)
}

/// One strand with its place in the plan.
struct Strand<'a> {
    level: usize,
    cell: &'a Level,
    /// The searches that are equal to it, and its index among them.
    equal: &'a Repeated,
    index: usize,
}

impl<'a> Strand<'a> {
    fn search(&self) -> &'a Search {
        &self.equal.strands[self.index]
    }

    fn x(&self, among: (usize, usize)) -> f64 {
        let share = (self.index as f64 + 0.5) / self.equal.strands.len() as f64;
        place(self.level, among, share)
    }
}

/// All strands, in the order of the plan.
fn strands(run: &Run) -> impl Iterator<Item = Strand<'_>> {
    run.cells.iter().enumerate().flat_map(|(level, cell)| {
        cell.searches.iter().flat_map(move |equal| {
            (0..equal.strands.len()).map(move |index| Strand { level, cell, equal, index })
        })
    })
}

/// At most so many strands: all of as many levels as possible.
fn shown(run: &Run, most: usize) -> Vec<Strand<'_>> {
    let all: Vec<Strand> = strands(run).collect();
    if all.len() <= most {
        return all;
    }
    let of_level = all.len().div_ceil(run.cells.len());
    let levels = spaced(run.cells.len(), (most / of_level).max(1));
    let mut shown: Vec<Strand> =
        all.into_iter().filter(|strand| levels.binary_search(&strand.level).is_ok()).collect();
    let kept = spaced(shown.len(), most);
    let mut index = 0;
    shown.retain(|_| {
        index += 1;
        kept.binary_search(&(index - 1)).is_ok()
    });
    shown
}

/// Returns `300 of 1,200 searches`, if these are not all.
fn part_in_words(run: &Run, shown: usize) -> Option<String> {
    let all = strands(run).count();
    let number = |n: usize| integer(n as u64);
    (shown < all).then(|| format!("{} of {} searches", number(shown), number(all)))
}

fn summary(run: &Run, series: &[Series], labels: Labels) -> String {
    let mut parts: Vec<String> =
        series.iter().take(2 * MOST_SUMMED_UP).filter_map(|series| in_words(run, series)).collect();
    parts.push("Each dot is one search; a line connects the medians.".to_owned());
    if series.iter().any(|series| run.cells.iter().any(|cell| series.interval(cell).is_some())) {
        parts.push("A bar is the 95 % interval of a capacity.".to_owned());
    }
    if labels == Labels::Numbers {
        parts.push("Levels are numbered in the order of the plan; the table names them.".into());
    }
    let part = part_in_words(run, shown(run, MOST_DOTS).len());
    parts.extend(part.map(|part| format!("{part} have a dot.")));
    parts.join(" ")
}

/// Returns the lowest and the highest median with their levels.
fn in_words(run: &Run, series: &Series) -> Option<String> {
    let medians = || run.cells.iter().filter_map(|cell| Some((cell, series.found(cell)?)));
    let by_ends = |a: &(&Level, Found), b: &(&Level, Found)| {
        let ((low, high), (other_low, other_high)) = (a.1.ends(), b.1.ends());
        low.total_cmp(&other_low).then(high.total_cmp(&other_high))
    };
    let (lowest, least) = medians().min_by(by_ends)?;
    let (highest, most) = medians().max_by(by_ends)?;
    let title = series.title();
    let (from, to) = (least.in_words(grouped), most.in_words(rate));
    Some(match medians().count() {
        1 => format!("{title} {to}."),
        _ => format!("{title} from {from} ({}) to {to} ({}).", lowest.title(), highest.title()),
    })
}

/// Every strand with its results.
fn table(
    run: &Run,
    names: &[Option<String>],
    labels: Labels,
    places: Places,
    plot: &Plot,
) -> Table {
    let shown = shown(run, MOST_ROWS);
    let caption = part_in_words(run, shown.len()).unwrap_or_default();
    let of_maximum = ["maximum throughput /s", "at /s", "trial"];
    let of_capacity = ["capacity /s", "trial"];
    let has_interval = shown.iter().any(|strand| strand.search().interval.is_some());
    let interval = has_interval.then_some(["95 % from", "to"]).into_iter().flatten();
    let results = of_maximum.into_iter().chain(of_capacity).chain(interval).chain(["stopped by"]);
    let mut table = Table::new(&caption, places.names().chain(results));
    for strand in &shown {
        let search = strand.search();
        let name = places.search(search.name.as_deref(), search.repetition);
        let level = labels.in_table(strand.level, strand.cell.title());
        let (maximum, capacity) = (&search.maximum_throughput, &search.capacity);
        let mut cells = places.cells(&level, &name);
        let number = |value: Option<f64>| Cell::maybe(value.map(grouped));
        let found = |quantity: Quantity| {
            let found = Some(search.found(quantity.metric())).filter(|found| !found.is_unknown());
            Cell::maybe(found.map(|found| found.in_words(grouped)))
        };
        let trial = |trial: Option<u32>| Cell::maybe(trial.map(|number| number.to_string()));
        cells.extend([
            found(Quantity::Maximum),
            number(maximum.as_ref().map(|maximum| maximum.offered_per_s)),
            trial(maximum.as_ref().map(|maximum| maximum.trial)),
            found(Quantity::Capacity),
            trial(capacity.as_ref().map(|capacity| capacity.trial)),
        ]);
        if has_interval {
            let (low, high) = search.interval.unzip();
            cells.extend([number(low), number(high)]);
        }
        cells.push(Cell::words(search.stopped_by.lines().next().unwrap_or_default()));
        let position = names.iter().position(|name| *name == search.name).unwrap_or(0);
        table.push(Row::new(cells).at(plot.x(strand.x((position, names.len())))));
    }
    table
}
