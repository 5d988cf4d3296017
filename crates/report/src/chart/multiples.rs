//! Small multiples: a panel for each level, all with the same axes, so that they compare. A panel
//! shows the trials and the results of its own searches only.

use std::collections::{BTreeMap, BTreeSet};

use measure::quantity::grouped;
use results::answer::Search;
use results::at_load::Configuration;
use results::found::Spread;
use results::journal::Observed;

use super::{Figure, Key, Layout, Panel, Point, measured};
use crate::plot::{Dash, Mark, Plot, Style};
use crate::run::Run;
use crate::run::levels::{Cell as Level, Quantity, Repeated, spaced};
use crate::table::places::Places;
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{count, integer, rate};

/// The most panels that are drawn.
const MOST_PANELS: usize = 24;

/// The most trials that all panels of a figure draw together, and the fewest that each can draw.
const MOST_DOTS: usize = 1_440;

/// The most lines that show the same quantity, found by equal searches, in one panel.
const MOST_RULES: usize = 5;

/// The keys of fixed loads in the legend begin here.
const FIXED: usize = 10;

pub(crate) struct Multiples<'a> {
    /// All panels with all their trials, in the order of the plan.
    parts: Vec<Part<'a>>,
    /// The indices of those that are drawn.
    drawn: Vec<usize>,
    places: Places,
    fixed: Vec<Key>,
}

/// The trials of one panel.
pub(crate) struct Part<'a> {
    /// The level, and the search if several of a level vary their load; may be empty.
    pub(crate) title: String,
    /// The search that varies its load, if there is one.
    pub(crate) search: Option<&'a Repeated>,
    pub(crate) strands: Vec<Dots<'a>>,
    /// The fixed loads that were measured beside it.
    pub(crate) fixed: Vec<Dots<'a>>,
}

/// The trials of one strand, in ascending offered load.
pub(crate) struct Dots<'a> {
    /// The look of a fixed load; absent if the load varies.
    pub(crate) style: Option<Style>,
    pub(crate) points: Vec<Point<'a>>,
    level: &'a str,
    /// `capacity · 2`
    search: String,
}

impl<'a> Multiples<'a> {
    /// Returns the panels with the trials that have this figure; `None` if no trial has it.
    pub(crate) fn of(run: &'a Run, has: impl Fn(&Observed) -> bool) -> Option<Multiples<'a>> {
        let mut trials: BTreeMap<u32, Vec<Point<'a>>> = BTreeMap::new();
        for point in measured(run).filter(|point| has(point.observed)) {
            trials.entry(point.trial.strand()).or_default().push(point);
        }
        for points in trials.values_mut() {
            points.sort_by(|a, b| a.observed.offered_per_s.total_cmp(&b.observed.offered_per_s));
        }
        let fixed = fixed(run, &trials);
        let places = Places::of(run);
        let mut parts = Vec::new();
        for cell in &run.cells {
            parts.extend(parts_of(cell, &mut trials, &fixed, places));
        }
        parts.retain(|part| part.points().next().is_some());
        parts.first()?;
        let drawn = spaced(parts.len(), MOST_PANELS);
        // A panel needs no title if it is the only one.
        if let [only] = parts.as_mut_slice() {
            only.title.clear();
        }
        let fixed = fixed
            .into_iter()
            .map(|(name, style)| (style, name.unwrap_or("fixed load").to_owned()))
            .collect();
        Some(Multiples { parts, drawn, places, fixed })
    }

    /// Returns all trials, drawn or not.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point<'a>> {
        self.parts.iter().flat_map(Part::points)
    }

    /// Returns the trials of the searches that vary their load.
    pub(crate) fn of_curves(&self) -> impl Iterator<Item = &Point<'a>> {
        self.parts.iter().flat_map(|part| &part.strands).flat_map(|dots| &dots.points)
    }

    pub(crate) fn parts(&self) -> &[Part<'a>] {
        &self.parts
    }

    /// Returns the keys of the fixed loads.
    pub(crate) fn fixed(&self) -> &[Key] {
        &self.fixed
    }

    /// Returns true if a search varied its load.
    pub(crate) fn has_curves(&self) -> bool {
        self.parts.iter().any(|part| part.search.is_some())
    }

    /// Returns what the panels show, and how much of it they do not show.
    fn in_words(&self) -> String {
        let mut text = match self.parts.len() {
            1 => "Each dot is a trial.".to_owned(),
            _ => "All panels have the same axes. Each dot is a trial.".to_owned(),
        };
        if self.has_curves() {
            text += " A line connects the medians of one search, and dotted lines are what each search \
                     found.";
        }
        let (panels, all) = (self.drawn.len(), self.parts.len());
        if panels < all {
            text += &format!(
                " {panels} of {} are drawn, evenly spaced; {} are not.",
                count(all, "panel"),
                integer((all - panels) as u64)
            );
        }
        let here = || self.drawn.iter().map(|&index| &self.parts[index]);
        let all: usize = here().map(|part| part.points().count()).sum();
        let shown: usize = here().map(|part| self.thinned(part).points().count()).sum();
        if shown < all {
            text += &format!(
                " {} of {} in these panels are drawn.",
                integer(shown as u64),
                count(all, "trial")
            );
        }
        text
    }

    /// Returns the figure of the drawn panels, each in one or two drawings, with all their trials
    /// in the table. `x` is the value of the x axis.
    pub(crate) fn figure(
        &self,
        keys: Vec<Key>,
        draw: impl Fn(&Part) -> (Plot, Option<Plot>),
        row: (&[&'static str], impl Fn(&Point) -> Vec<Cell>),
        x: fn(&Observed) -> f64,
    ) -> Figure {
        let plots: Vec<(Plot, Option<Plot>)> =
            self.drawn.iter().map(|&index| draw(&self.thinned(&self.parts[index]))).collect();
        let table = self.table(row, |observed| plots[0].0.x(x(observed)));
        let titles = self.drawn.iter().map(|&index| self.parts[index].title.clone());
        let panel = |(title, (plot, linear)): (String, (Plot, Option<Plot>))| Panel {
            title,
            svg: plot.svg(),
            linear: linear.map(|plot| plot.svg()),
            keys: Vec::new(),
        };
        let layout = if self.drawn.len() == 1 { Layout::Column } else { Layout::Many };
        Figure {
            id: String::new(),
            title: String::new(),
            summary: self.in_words(),
            panels: titles.zip(plots).map(panel).collect(),
            keys,
            table,
            layout,
        }
    }

    /// Returns every trial of all panels, or if there are too many some of each drawn panel.
    fn table(
        &self,
        (columns, cells): (&[&'static str], impl Fn(&Point) -> Vec<Cell>),
        x: impl Fn(&Observed) -> f64,
    ) -> Table {
        let all = self.points().count();
        let is_whole = all <= MOST_ROWS;
        let caption = match is_whole {
            true => String::new(),
            false => format!("Some of {}; the table of trials has all.", count(all, "trial")),
        };
        let mut table = Table::new(&caption, self.places.names().chain(columns.iter().copied()));
        for (index, part) in self.parts.iter().enumerate() {
            let panel = self.drawn.iter().position(|&drawn| drawn == index);
            let rows: Vec<(&Dots, &Point)> =
                part.dots().flat_map(|dots| dots.points.iter().map(move |p| (dots, p))).collect();
            let most = match (is_whole, panel) {
                (true, _) => rows.len(),
                (false, Some(_)) => MOST_ROWS / self.drawn.len(),
                (false, None) => 0,
            };
            for (dots, point) in spaced(rows.len(), most).into_iter().map(|index| rows[index]) {
                let names = self.places.cells(dots.level, &dots.search);
                let row = Row::new(names.into_iter().chain(cells(point)).collect());
                table.push(match panel {
                    Some(panel) => row.at(x(point.observed)).in_panel(panel),
                    None => row,
                });
            }
        }
        table
    }

    /// Returns the panel with every n-th of its trials, if it has more than it can draw.
    fn thinned(&self, part: &Part<'a>) -> Part<'a> {
        let most = (MOST_DOTS / self.drawn.len()).min(MOST_ROWS);
        let every = part.points().count().div_ceil(most).max(1);
        let mut index = 0;
        let mut thinned = |dots: &Dots<'a>| {
            let mut points = dots.points.clone();
            points.retain(|_| {
                index += 1;
                (index - 1) % every == 0
            });
            Dots { points, search: dots.search.clone(), ..*dots }
        };
        Part {
            title: part.title.clone(),
            search: part.search,
            strands: part.strands.iter().map(&mut thinned).collect(),
            fixed: part.fixed.iter().map(&mut thinned).collect(),
        }
    }
}

impl<'a> Part<'a> {
    /// Returns all trials: those of the search first.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point<'a>> {
        self.dots().flat_map(|dots| &dots.points)
    }

    pub(crate) fn dots(&self) -> impl Iterator<Item = &Dots<'a>> {
        self.strands.iter().chain(&self.fixed)
    }

    /// Returns a result of each strand of its search, if it has one.
    pub(crate) fn results(&self, of: impl Fn(&Search) -> Option<f64>) -> Vec<f64> {
        let strands = self.search.into_iter().flat_map(|search| &search.strands);
        strands.filter_map(of).collect()
    }

    /// Returns `capacity 1,820/s`, or `capacity 1,820 … 1,840/s` of equal searches; `None` if nothing is known
    /// of it.
    pub(crate) fn found(&self, quantity: Quantity) -> Option<String> {
        let Spread { least, most, .. } = self.search?.spread(quantity)?;
        let (name, to) = (quantity.name(), most.in_words(rate));
        Some(match least.in_words(rate) == to {
            true => format!("{name} {to}"),
            false => format!("{name} {} … {to}", least.in_words(grouped)),
        })
    }

    /// Returns the panel in words, for screen readers: its number of trials, and its results.
    pub(crate) fn in_words<'s>(&self, results: impl Iterator<Item = &'s String>) -> String {
        let title = (!self.title.is_empty()).then(|| self.title.clone());
        let trials = count(self.points().count(), "trial");
        let parts = title.into_iter().chain([trials]).chain(results.cloned());
        parts.collect::<Vec<_>>().join("; ")
    }
}

/// Returns the searches with one fixed load in each strand, with their looks. A search that varies
/// its load at one level does so at all of them, even if it has only begun.
fn fixed<'a>(run: &'a Run, trials: &BTreeMap<u32, Vec<Point>>) -> Vec<(Option<&'a str>, Style)> {
    let searches = || run.cells.iter().flat_map(|cell| &cell.searches);
    let loads = |strand: u32| -> BTreeSet<Configuration<'_>> {
        let points = trials.get(&strand).into_iter().flatten();
        points.map(|point| point.trial.entry.configuration()).collect()
    };
    let varies = |search: &&Repeated| search.strands.iter().any(|s| 1 < loads(s.strand).len());
    let varied: BTreeSet<Option<&str>> =
        searches().filter(varies).map(|search| search.name.as_deref()).collect();
    let mut fixed: Vec<Option<&str>> = Vec::new();
    let mut known = varied;
    for name in searches().map(|search| search.name.as_deref()) {
        if known.insert(name) {
            fixed.push(name);
        }
    }
    (0..).zip(fixed).map(|(i, name)| (name, look(i))).collect()
}

/// The look of the i-th fixed load: none of those that the figures use for a search.
fn look(i: usize) -> Style {
    let (colours, marks) = ([5, 4, 0], [Mark::Square, Mark::Diamond, Mark::Ring, Mark::Disc]);
    let (colour, mark) = (colours[i % colours.len()], marks[i % marks.len()]);
    Style { series: FIXED + i, colour, dash: Dash::None, mark }
}

/// Returns a panel for each search of a cell that varies its load. The fixed loads are in the first
/// one, or without any in a panel of their own.
fn parts_of<'a>(
    cell: &'a Level,
    trials: &mut BTreeMap<u32, Vec<Point<'a>>>,
    fixed: &[(Option<&str>, Style)],
    places: Places,
) -> Vec<Part<'a>> {
    let mut dots = |search: &'a Repeated, style: Option<Style>| -> Vec<Dots<'a>> {
        let strands = search.strands.iter();
        strands
            .map(|strand| Dots {
                style,
                points: trials.remove(&strand.strand).unwrap_or_default(),
                level: cell.title(),
                search: places.search(search.name.as_deref(), strand.repetition),
            })
            .collect()
    };
    let mut parts = Vec::new();
    let mut beside = Vec::new();
    for search in &cell.searches {
        match fixed.iter().find(|(name, _)| *name == search.name.as_deref()) {
            Some((_, style)) => beside.extend(dots(search, Some(*style))),
            None => parts.push((Some(search), dots(search, None))),
        }
    }
    let several = 1 < parts.len();
    if parts.is_empty() {
        parts.push((None, Vec::new()));
    }
    let title = |search: Option<&Repeated>| {
        let name = search.filter(|_| several).and_then(|search| search.name.as_deref());
        cell.name.as_deref().into_iter().chain(name).collect::<Vec<_>>().join(" · ")
    };
    let mut parts: Vec<Part<'a>> = parts
        .into_iter()
        .map(|(search, strands)| Part { title: title(search), search, strands, fixed: Vec::new() })
        .collect();
    parts[0].fixed = beside;
    parts
}

/// The results of equal searches as lines: all in ascending order, or if they are too many the
/// least, the middle one and the most.
pub(crate) fn rules(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    match values.len() {
        n if n <= MOST_RULES => values,
        n => vec![values[0], values[(n - 1) / 2], values[n - 1]],
    }
}
