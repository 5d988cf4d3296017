//! The path of a search for a capacity: the load of each trial in order, and the bounds of the
//! capacity that close around the answer.
//!
//! The bounds are those that the search wrote beside each trial, and its answer: nothing is
//! concluded here.

use std::collections::BTreeMap;

use measure::quantity::grouped;
use results::answer::Search;
use results::at_load::Conclusion;
use results::found::Spread;
use results::journal::{Bounds, Why};
use results::{Found, Metric};

use super::{Figure, Key, Layout, Panel, labels};
use crate::plot::{Axis, Dash, Mark, Plot, Scale, Style};
use crate::run::levels::{Quantity, spaced};
use crate::run::{Run, Trial};
use crate::table::places::Places;
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{count, integer, mark, name, rate, tick_number};

const LOWER: Style = Style { series: 0, colour: 1, dash: Dash::Solid, mark: Mark::None };
const UPPER: Style = Style { series: 6, colour: 1, dash: Dash::Dashed, mark: Mark::None };
const BETWEEN: Style = Style { series: 7, colour: 1, dash: Dash::None, mark: Mark::Area };
const MET: Style = Style { series: 1, colour: 3, dash: Dash::None, mark: Mark::Disc };
const MISSED: Style = Style { series: 2, colour: 2, dash: Dash::None, mark: Mark::Ring };
const UNDECIDED: Style = Style { series: 3, colour: 4, dash: Dash::None, mark: Mark::Diamond };
const INVALID: Style = Style { series: 4, colour: 0, dash: Dash::None, mark: Mark::Cross };
const FOUND: Style = Style { series: 5, colour: 1, dash: Dash::None, mark: Mark::Square };

/// The most panels, and the most equal searches in one panel.
const MOST_PANELS: usize = 24;
const MOST_STRANDS: usize = 10;

/// The most trials that all panels draw together.
const MOST_DOTS: usize = 1_440;

/// The part around the bounds of the answer that the second plot shows, as a factor.
const NEAR: f64 = 1.1;

/// The width of the answer beside the trials.
const ANSWER: usize = 2;

/// The equal searches of one panel.
struct Part<'a> {
    title: String,
    level: &'a str,
    strands: Vec<Strand<'a>>,
}

/// The trials of one search, in their order.
struct Strand<'a> {
    /// `capacity · 2`
    name: String,
    trials: Vec<&'a Trial>,
    /// The answer of the search, or what it has so far; absent if nothing is known of it.
    search: Option<&'a Search>,
}

/// The result of one trial for its search.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Evidence(Conclusion),
    NotValid,
}

impl Outcome {
    const ALL: [Outcome; 4] = [
        Outcome::Evidence(Conclusion::Met),
        Outcome::Evidence(Conclusion::Missed),
        Outcome::Evidence(Conclusion::Open),
        Outcome::NotValid,
    ];

    fn of(trial: &Trial) -> Outcome {
        match trial.answers() {
            true => Outcome::Evidence(trial.conclusion.unwrap_or(Conclusion::Open)),
            false => Outcome::NotValid,
        }
    }

    fn style(self) -> Style {
        match self {
            Outcome::Evidence(Conclusion::Met) => MET,
            Outcome::Evidence(Conclusion::Missed) => MISSED,
            Outcome::Evidence(Conclusion::Open) => UNDECIDED,
            Outcome::NotValid => INVALID,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Outcome::Evidence(conclusion) => name(conclusion),
            Outcome::NotValid => "not valid",
        }
    }

    fn in_table(self) -> &'static str {
        match self {
            Outcome::Evidence(conclusion) => mark(conclusion),
            Outcome::NotValid => "not valid",
        }
    }
}

/// Draws the searches for a capacity; `None` if there is none.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let all = parts(run);
    all.first()?;
    let drawn: Vec<&Part> =
        spaced(all.len(), MOST_PANELS).into_iter().map(|index| &all[index]).collect();
    let most = MOST_DOTS / drawn.len();
    // Several panels have axes of their own: bounds that are close to each other must be visible.
    let near = |part: &&Part| part.near().unwrap_or_else(|| part.far());
    let is_only = drawn.len() == 1;
    let plots: Vec<Plot> = drawn.iter().map(|part| draw(part, near(part), is_only, most)).collect();
    let panel = |(part, plot): (&&Part, &Plot)| Panel {
        title: part.titled(),
        svg: plot.svg(),
        ..Panel::default()
    };
    let mut panels: Vec<Panel> = drawn.iter().zip(&plots).map(panel).collect();
    let mut layout = Layout::Many;
    if let ([part], [panel]) = (&drawn[..], &mut panels[..]) {
        layout = Layout::Column;
        panel.title.clear();
        if part.near().is_some() {
            layout = Layout::Wide;
            panel.title = "near the answer".into();
            // The name of the capacity would cover trials.
            let svg = draw(part, part.far(), false, most).svg();
            panels.insert(0, Panel { title: "all loads".into(), svg, ..Panel::default() });
        }
    }
    Some(Figure {
        id: "path".into(),
        title: "Path of the search".into(),
        summary: summary(&all, &drawn, most),
        keys: keys(&drawn),
        table: table(&all, &drawn, Places::of(run), &plots),
        layout,
        panels,
    })
}

/// Returns the searches for a capacity, equal ones together, in the order of the plan.
fn parts(run: &Run) -> Vec<Part<'_>> {
    let mut trials: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    for trial in run.trials.iter().filter(|trial| trial.entry.why.is_some()) {
        trials.entry(trial.strand()).or_default().push(trial);
    }
    if !run.has_several() {
        let search = run.answer.as_ref().and_then(|answer| answer.searches.first());
        let strand = |(_, trials)| Strand { name: String::new(), trials, search };
        let strands: Vec<Strand> = trials.into_iter().map(strand).collect();
        let part = Part { title: String::new(), level: "", strands };
        return if part.strands.is_empty() { Vec::new() } else { vec![part] };
    }
    let places = Places::of(run);
    let mut parts = Vec::new();
    for cell in &run.cells {
        for equal in &cell.searches {
            let searches = equal.strands.iter();
            let strands: Vec<Strand> =
                searches.filter_map(|search| strand_of(search, &mut trials, places)).collect();
            if !strands.is_empty() {
                let names = cell.name.as_deref().into_iter().chain(equal.name.as_deref());
                let title = names.collect::<Vec<_>>().join(" · ");
                parts.push(Part { title, level: cell.title(), strands });
            }
        }
    }
    parts
}

fn strand_of<'a>(
    search: &'a Search,
    trials: &mut BTreeMap<u32, Vec<&'a Trial>>,
    places: Places,
) -> Option<Strand<'a>> {
    let trials = trials.remove(&search.strand)?;
    let name = places.search(search.name.as_deref(), search.repetition);
    Some(Strand { name, trials, search: Some(search) })
}

impl Part<'_> {
    /// Returns all loads and bounds.
    fn loads(&self) -> Vec<f64> {
        let trials = self.strands.iter().flat_map(|strand| &strand.trials);
        let asked = trials.filter_map(|trial| trial.entry.asked_per_s);
        let bounds = self.strands.iter().filter_map(Strand::found);
        asked.chain(bounds.flat_map(|found| [found.lower, found.upper]).flatten()).collect()
    }

    /// Returns a scale for all loads.
    fn far(&self) -> Scale {
        Scale::log_around(self.loads())
    }

    /// Returns a scale for the loads near the bounds of all answers; `None` if those are not known, or
    /// if all loads are near.
    fn near(&self) -> Option<Scale> {
        let found: Vec<Bounds> = self.strands.iter().filter_map(Strand::found).collect();
        let lower = found.iter().filter_map(|found| found.lower).reduce(f64::min)?;
        let upper = found.iter().filter_map(|found| found.upper).reduce(f64::max)?;
        let (from, to) = (lower / NEAR, upper * NEAR);
        let loads = self.loads();
        let is_far = loads.iter().any(|load| !(from..=to).contains(load));
        is_far.then_some(Scale::Linear { from, to })
    }

    fn axis(&self) -> &'static str {
        match &self.strands[..] {
            [_] => "trial",
            _ => "place in each search, from 1",
        }
    }

    /// Returns the number below a place: that of its trial, or its own if several searches share it.
    fn place(&self, index: usize) -> u32 {
        match &self.strands[..] {
            [only] => only.trials[index].entry.trial,
            _ => index as u32 + 1,
        }
    }

    fn longest(&self) -> usize {
        self.strands.iter().map(|strand| strand.trials.len()).max().unwrap_or(0)
    }

    /// Returns what equal searches know of the capacity together: their median.
    fn capacity(&self) -> Option<Found> {
        let searches = self.strands.iter().filter_map(|strand| strand.search);
        let found = searches.map(|search| search.found(Metric::Capacity));
        Some(Spread::of(&found.collect::<Vec<Found>>())?.median)
    }

    /// Returns the capacity with its name: `median capacity 1,559/s`, `capacity at least 300/s`.
    fn named_capacity(&self) -> Option<String> {
        let name = if self.strands.len() == 1 { "capacity" } else { "median capacity" };
        Some(format!("{name} {}", self.capacity()?.in_words(|found| self.load(found))))
    }

    /// Returns a load with its unit.
    fn load(&self, per_s: f64) -> String {
        let search = self.strands.iter().find_map(|strand| strand.search);
        search.map_or_else(|| rate(per_s), |search| search.arrivals().load_in_words(per_s))
    }

    /// Returns the 95 % interval over equal searches, or that of the estimate of a single one.
    fn interval(&self) -> Option<(f64, f64)> {
        match &self.strands[..] {
            [only] => Some(only.search?.estimate?.interval),
            several => several.iter().find_map(|strand| strand.search?.interval),
        }
    }

    /// Returns the title with the answer: `servers=2 · median capacity 1,559/s`.
    fn titled(&self) -> String {
        let capacity = self.named_capacity();
        [self.title.clone()].into_iter().chain(capacity).collect::<Vec<_>>().join(" · ")
    }

    /// Returns the answer in words: `capacity 3,589 … 3,628/s`.
    fn in_words(&self) -> String {
        let trials: usize = self.strands.iter().map(|strand| strand.trials.len()).sum();
        let trials = count(trials, "trial");
        let (said, capacity) = match &self.strands[..] {
            [only] => (trials, only.found().map(in_words)),
            several => {
                let said = format!("{trials} in {} equal searches", several.len());
                (said, self.named_capacity())
            }
        };
        let estimate = match &self.strands[..] {
            [only] => only.search.and_then(|search| search.estimate),
            _ => None,
        };
        let estimate = estimate.map(|found| format!("estimate {}", self.load(found.rate_per_s)));
        let interval = self
            .interval()
            .map(|(low, high)| format!("95 % interval {} … {}", grouped(low), self.load(high)));
        let title = (!self.title.is_empty()).then(|| self.title.clone());
        let parts = title.into_iter().chain([said]).chain(capacity).chain(estimate).chain(interval);
        parts.collect::<Vec<_>>().join("; ")
    }
}

impl Strand<'_> {
    /// Returns the bounds at the end; `None` if the search has no capacity.
    fn found(&self) -> Option<Bounds> {
        let search = self.search?;
        search.lower.or(search.upper)?;
        Some(Bounds { lower: search.lower, upper: search.upper })
    }

    /// Returns the bounds before each trial, and those at the end, with the place of each.
    fn bounds(&self, end: f64) -> Vec<(f64, f64, Bounds)> {
        let none = Bounds { lower: None, upper: None };
        let trials = self.trials.iter().enumerate().map(|(index, trial)| {
            let x = index as f64;
            (x - 0.5, x + 0.5, trial.entry.bounds.unwrap_or(none))
        });
        let last = (self.trials.len() as f64 - 0.5, end, self.found().unwrap_or(none));
        trials.chain([last]).collect()
    }
}

/// Returns `capacity from 3,589 to 3,628/s`, as far as both bounds are known.
fn in_words(found: Bounds) -> String {
    match (found.lower, found.upper) {
        (Some(lower), Some(upper)) => {
            format!("the capacity lies between {} and {}", grouped(lower), rate(upper))
        }
        (Some(lower), None) => format!("the capacity is at least {}", rate(lower)),
        (None, Some(upper)) => format!("the capacity lies below {}", rate(upper)),
        (None, None) => "the capacity is not known".to_owned(),
    }
}

fn draw(part: &Part, scale: Scale, is_named: bool, most: usize) -> Plot {
    let longest = part.longest();
    let x = Axis {
        scale: Scale::Places { count: longest + ANSWER },
        label: part.axis(),
        tick: tick_number,
    };
    let y = Axis { scale, label: "offered per second", tick: tick_number };
    let mut plot = Plot::new(&part.in_words(), 340.0, x, y);
    // The last numbers would touch the name of the answer.
    let last = longest - longest / 12;
    for number in labels::numbers(longest).filter(|number| *number < last.max(2)) {
        plot.place(number as f64 - 1.0, &part.place(number - 1).to_string());
    }
    let answer = longest as f64 + (ANSWER as f64 - 1.0) / 2.0;
    plot.place(answer, "answer");
    let end = longest as f64 + ANSWER as f64 - 0.5;
    let strands: Vec<&Strand> = part.drawn().collect();
    for strand in &strands {
        draw_bounds(&mut plot, &strand.bounds(end), strands.len() == 1);
    }
    // Of a bound the line is the highest load that met the SLO.
    let place = part.capacity().map(|found| found.ends().0).filter(|low| 0.0 < *low);
    match place.zip(part.named_capacity()) {
        Some((place, name)) if is_named => plot.named_rule_y(place, &name),
        Some((place, _)) => plot.rule_y(place),
        None => {}
    }
    for (index, strand) in strands.iter().enumerate() {
        for at in spaced(strand.trials.len(), most / strands.len()) {
            draw_trial(&mut plot, at, strand.trials[at], scale);
        }
        let capacity = strand.search.and_then(|search| Quantity::Capacity.of(search));
        if let (Some(found), true) = (capacity, 1 < strands.len()) {
            let share = (index as f64 + 1.0) / (strands.len() as f64 + 1.0) - 0.5;
            let title = format!("{}: capacity {}", strand.name, found.in_words());
            plot.mark(FOUND, answer + share * (ANSWER as f64 - 0.5), found.per_s, &title);
        }
    }
    if let Some((low, high)) = part.interval() {
        plot.bar(FOUND, end - 0.25, low, high);
    }
    plot
}

/// Shades what lies between two bounds, and draws the bounds of a single search as steps.
fn draw_bounds(plot: &mut Plot, bounds: &[(f64, f64, Bounds)], is_single: bool) {
    for known in bounds.split(|(_, _, b)| b.lower.is_none() || b.upper.is_none()) {
        let corner = |&(from, to, b): &(f64, f64, Bounds)| {
            let both = b.lower.zip(b.upper);
            both.into_iter().flat_map(move |(lower, upper)| [from, to].map(|x| (x, lower, upper)))
        };
        plot.area(BETWEEN, &known.iter().flat_map(corner).collect::<Vec<_>>());
    }
    if !is_single {
        return;
    }
    let steps = |of: fn(&Bounds) -> Option<f64>| -> Vec<(f64, Option<f64>)> {
        bounds.iter().flat_map(|(from, to, b)| [(*from, of(b)), (*to, of(b))]).collect()
    };
    plot.series(LOWER, &steps(|bounds| bounds.lower));
    plot.series(UPPER, &steps(|bounds| bounds.upper));
}

/// Draws a trial, unless its load lies outside the scale.
fn draw_trial(plot: &mut Plot, at: usize, trial: &Trial, scale: Scale) {
    let Some(asked) = trial.entry.asked_per_s.filter(|asked| scale.contains(*asked)) else {
        return;
    };
    let outcome = Outcome::of(trial);
    let title = format!("trial {}: {} asked, {}", trial.entry.trial, rate(asked), outcome.name());
    plot.mark(outcome.style(), at as f64, asked, &title);
}

fn keys(parts: &[&Part]) -> Vec<Key> {
    let strands = || parts.iter().flat_map(|part| &part.strands);
    let outcomes: Vec<Outcome> =
        strands().flat_map(|strand| &strand.trials).map(|trial| Outcome::of(trial)).collect();
    let mut keys = Vec::new();
    if parts.iter().any(|part| part.strands.len() == 1) {
        keys.push((LOWER, "highest load that met the SLO"));
        keys.push((UPPER, "lowest that missed it"));
    }
    keys.push((BETWEEN, "between the bounds that were known before a trial"));
    let seen = Outcome::ALL.into_iter().filter(|outcome| outcomes.contains(outcome));
    keys.extend(seen.map(|outcome| (outcome.style(), outcome.name())));
    if parts.iter().any(|part| 1 < part.strands.len()) {
        let interval = parts.iter().any(|part| part.interval().is_some());
        let name = if interval { "capacity of each search, 95 % interval" } else { "capacity" };
        keys.push((FOUND, name));
    }
    keys.into_iter().map(|(style, name)| (style, name.to_owned())).collect()
}

fn summary(all: &[Part], drawn: &[&Part], most: usize) -> String {
    let mut text = "Each mark is a trial, in the order of its search.".to_owned();
    if let [only] = all {
        let mut said = only.in_words();
        said[..1].make_ascii_uppercase();
        text = format!("{said}. {text}");
    }
    if 1 < drawn.len() {
        text += " Each panel has an axis of its own, around its answer.";
    }
    let entries = || drawn.iter().flat_map(|part| &part.strands).flat_map(|s| &s.trials);
    if entries().all(|trial| trial.entry.bounds.is_none()) {
        text += " This journal does not contain the bounds before each trial.";
    }
    if drawn.len() < all.len() {
        text += &format!(" {} of {} are drawn.", drawn.len(), count(all.len(), "panel"));
    }
    let searches: usize = drawn.iter().map(|part| part.strands.len()).sum();
    let shown: usize = drawn.iter().map(|part| part.drawn().count()).sum();
    if shown < searches {
        text += &format!(" {shown} of {} in them are drawn.", count(searches, "search"));
    }
    let trials = entries().count();
    let dots: usize = drawn.iter().map(|part| part.dots(most)).sum();
    if dots < trials {
        let trials = count(trials, "trial");
        text += &format!(" {} of {trials} have a mark.", integer(dots as u64));
    }
    text
}

impl<'a> Part<'a> {
    /// Returns the searches that are drawn.
    fn drawn(&self) -> impl Iterator<Item = &Strand<'a>> {
        spaced(self.strands.len(), MOST_STRANDS).into_iter().map(|index| &self.strands[index])
    }

    /// Returns the number of trials that are drawn.
    fn dots(&self, most: usize) -> usize {
        let most = most / self.drawn().count();
        self.drawn().map(|strand| strand.trials.len().min(most)).sum()
    }
}

/// Every trial of the searches, or if there are too many some of each drawn panel.
fn table(all: &[Part], drawn: &[&Part], places: Places, plots: &[Plot]) -> Table {
    let trials: usize =
        all.iter().flat_map(|part| &part.strands).map(|strand| strand.trials.len()).sum();
    let caption = match trials <= MOST_ROWS {
        true => String::new(),
        false => format!("Some of {}; the table of trials has all.", count(trials, "trial")),
    };
    let columns = ["trial", "asked /s", "reason", "SLO", "lower bound /s", "upper bound /s"];
    let mut table = Table::new(&caption, places.names().chain(columns));
    for (panel, (part, plot)) in drawn.iter().zip(plots).enumerate() {
        let strands = part.strands.iter();
        let rows: Vec<(&Strand, usize)> =
            strands.flat_map(|s| (0..s.trials.len()).map(move |at| (s, at))).collect();
        let most = if trials <= MOST_ROWS { rows.len() } else { MOST_ROWS / drawn.len() };
        for (strand, at) in spaced(rows.len(), most).into_iter().map(|index| rows[index]) {
            let names = places.cells(part.level, &strand.name);
            let row = Row::new(names.into_iter().chain(cells(strand.trials[at])).collect());
            let row = row.at(plot.x(at as f64));
            table.push(if 1 < drawn.len() { row.in_panel(panel) } else { row });
        }
    }
    table
}

fn cells(trial: &Trial) -> [Cell; 6] {
    let entry = &trial.entry;
    let bound = |of: fn(&Bounds) -> Option<f64>| {
        Cell::maybe(entry.bounds.as_ref().and_then(of).map(grouped))
    };
    [
        Cell::number(entry.trial.to_string()),
        Cell::maybe(entry.asked_per_s.map(grouped)),
        Cell::words(entry.why.map_or("", reason)),
        Cell::words(Outcome::of(trial).in_table()),
        bound(|bounds| bounds.lower),
        bound(|bounds| bounds.upper),
    ]
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::Explore => "a new load",
        Why::Extend => "judged with the trial before it",
        Why::Confirm => "not decided yet",
        Why::Validate => "a bound of the answer",
        Why::Edge => "the edge of the range",
    }
}
