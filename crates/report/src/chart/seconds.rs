//! A trial second by second: rates of requests and of the operations that they carry, response times,
//! the services' CPU and queued requests, the disturbance of the machine, and the generator's own
//! punctuality.

use measure::quantity::grouped;
use results::Components;
use results::components::{Event, Series};
use results::load::{Interval, Load};

use super::{Figure, Layout, Panel, heat};
use crate::plot::{Axis, Dash, Mark, NamePosition, Plot, Scale, Style, look};
use crate::run::services::{self, Service};
use crate::run::{Run, Trial, machine, speed};
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{integer, rate, tick_number, tick_time, time};

#[cfg(test)]
mod tests;

/// The most services that can be distinguished in one plot.
const MOST_SERVICES: usize = 5;

/// The most events that are named in the summary.
const MOST_EVENTS: usize = 3;

/// The most segments whose beginnings are drawn.
const MOST_SEGMENTS: usize = 12;

/// The least end of an axis of shares: below it, what is drawn is chance.
const LEAST_SHARE: f64 = 0.1;

/// A line's value in an interval, if it was measured.
type Value = dyn Fn(&Interval) -> Option<f64>;

/// Values at the middles of their intervals.
type Points = Vec<(f64, Option<f64>)>;

/// The cause of an event, with its look. Events of one cause never shade a second twice, and all causes together
/// leave the lines visible.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Cause {
    Place,
    Slow,
    Disturbed,
    Throttled,
}

/// The events of one cause, each without another one in its time.
type Bands = (Cause, Vec<Event>);

impl Cause {
    fn style(self) -> Style {
        let (series, colour) = match self {
            Cause::Place => (40, 0),
            Cause::Slow => (41, 5),
            Cause::Disturbed => (42, 2),
            Cause::Throttled => (43, 4),
        };
        Style { series, colour, dash: Dash::None, mark: Mark::Band }
    }

    fn name(self) -> &'static str {
        match self {
            Cause::Place => "event",
            Cause::Slow => "slow machine",
            Cause::Disturbed => "CPUs taken by others",
            Cause::Throttled => "stopped by a CPU limit",
        }
    }
}

/// One line of a panel: its name and its value in each interval.
struct Line {
    name: String,
    of: Box<Value>,
}

/// A trial that is shown in full, with an id and its role.
type Chosen<'a> = (String, &'a str, &'a Trial);

/// The trials of the maximum and of the capacity, or that of a given load, or if there are several
/// searches those that show the levels: side by side, or the only one over both columns.
pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let chosen = match run.has_several() {
        false => of_one_search(run),
        true => {
            let number = |(number, (name, trial)): (u32, _)| (number.to_string(), name, trial);
            (1..).zip(run.shown()).map(number).collect()
        }
    };
    // The figures of a trial are above each other.
    let of_pair = |pair: &[Chosen]| {
        let heat = pair.iter().filter_map(|(id, role, trial)| heat::figure(id, role, trial));
        let seconds = pair.iter().filter_map(|(id, role, trial)| figure(run, id, role, trial));
        heat.chain(seconds).collect::<Vec<Figure>>()
    };
    let mut figures: Vec<Figure> = chosen.chunks(2).flat_map(of_pair).collect();
    if chosen.len() == 1 {
        for figure in &mut figures {
            figure.layout = if figure.panels.len() == 1 { Layout::Whole } else { Layout::Wide };
        }
    }
    figures
}

fn of_one_search(run: &Run) -> Vec<Chosen<'_>> {
    if run.fixed {
        let chosen = run.chosen().into_iter();
        return chosen.map(|(id, trial)| (id, "Given load", trial)).collect();
    }
    let maximum = run.maximum.as_ref().and_then(|maximum| run.trial(maximum.trial));
    let capacity = run.capacity.as_ref().and_then(|capacity| run.trial(capacity.trial));
    let same = maximum.map(|t| t.entry.trial) == capacity.map(|t| t.entry.trial);
    let chosen = match same {
        true => vec![("maximum", "Maximum and capacity", maximum)],
        false => vec![("maximum", "Maximum", maximum), ("capacity", "Capacity", capacity)],
    };
    let known = chosen.into_iter().filter_map(|(id, role, trial)| Some((id, role, trial?)));
    known.map(|(id, role, trial)| (id.to_owned(), role, trial)).collect()
}

fn figure(run: &Run, id: &str, role: &str, trial: &Trial) -> Option<Figure> {
    let load = trial.load.as_ref()?;
    let (services, shares) = (Services::of(trial), Shares::of(trial));
    let events = trial.components.as_ref().map(|c| events(run, c)).unwrap_or_default();
    let bands: Vec<Bands> = events.iter().map(|(cause, events)| (*cause, apart(events))).collect();
    let panel = |series, label, kind, lines| panel(load, &bands, series, label, kind, lines);
    let panels = vec![
        panel(0, "per second", Kind::Rate, rates()),
        panel(32, "operations per second", Kind::Rate, operations()),
        panel(4, "response time", Kind::Time, times()),
        panel(8, "CPUs used", Kind::Number, services.lines(|service| &service.cpu)),
        panel(16, "requests queued", Kind::Number, services.lines(|service| &service.held)),
        panel(28, "share of the time", Kind::Share, shares.lines()),
        panel(24, "generator", Kind::Time, generator()),
    ];
    let mut summary = rates_in_words(load);
    let limit = trial.entry.observed.as_ref().and_then(|observed| observed.limited_by.as_ref());
    if let Some(limit) = limit {
        summary += &format!("; limited by {limit}");
    }
    summary += &events_in_words(events.into_iter().flat_map(|(_, events)| events).collect());
    let mut figure = drawn(load, &services, &shares, panels, summary + ".")?;
    figure.id = format!("seconds-{id}");
    figure.title = format!("{role}: trial {} by the second", trial.entry.trial);
    figure.keys = bands.iter().map(|(cause, _)| (cause.style(), cause.name().to_owned())).collect();
    Some(figure)
}

/// The events of the place, and the times in which the machine was slow or disturbed, or a limit
/// stopped a service; only the causes that have some.
fn events(run: &Run, components: &Components) -> Vec<Bands> {
    let all = [
        (Cause::Place, components.events.clone()),
        (Cause::Slow, speed::slow(components, &run.usual)),
        (Cause::Disturbed, machine::disturbed(components)),
        (Cause::Throttled, machine::throttled(components)),
    ];
    all.into_iter().filter(|(_, events)| !events.is_empty()).collect()
}

/// Joins events that share a time to one.
fn apart(events: &[Event]) -> Vec<Event> {
    let mut sorted = events.to_vec();
    sorted.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    let mut apart: Vec<Event> = Vec::new();
    for event in sorted {
        match apart.last_mut().filter(|last| event.from_s < last.to_s) {
            Some(last) => {
                last.to_s = last.to_s.max(event.to_s);
                last.text = format!("{}; {}", last.text, event.text);
            }
            None => apart.push(event),
        }
    }
    apart
}

/// One load on the whole width, including the generator's own delays.
pub(crate) fn of_load(load: &Load) -> Option<Figure> {
    // The drain is not a part of the measurement, and its short interval would make rates of a few requests.
    let load = &Load { series: load.measured().cloned().collect(), ..load.clone() };
    let panel = |series, label, kind, lines| panel(load, &[], series, label, kind, lines);
    let panels = vec![
        panel(0, "per second", Kind::Rate, rates()),
        panel(32, "operations per second", Kind::Rate, operations()),
        panel(4, "response time", Kind::Time, times()),
        panel(8, "waiting in the generator", Kind::Number, waiting()),
        panel(16, "share of a shard’s time", Kind::Number, shares()),
        panel(24, "generator’s own delay", Kind::Time, generator()),
    ];
    let figure =
        drawn(load, &Services::none(), &Shares::none(), panels, rates_in_words(load) + ".")?;
    Some(Figure { layout: Layout::Wide, ..figure })
}

/// A figure of the panels that have lines; `None` if not even the rates are known.
fn drawn(
    load: &Load,
    services: &Services,
    shares: &Shares,
    panels: Vec<Option<(Plot, Panel)>>,
    summary: String,
) -> Option<Figure> {
    let panels: Vec<(Plot, Panel)> = panels.into_iter().flatten().collect();
    let table = table(load, services, shares, &panels.first()?.0);
    Some(Figure {
        id: "seconds".to_owned(),
        title: "By the second".to_owned(),
        summary,
        panels: panels.into_iter().map(|(_, panel)| panel).collect(),
        keys: Vec::new(),
        table,
        layout: Layout::Column,
    })
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    Rate,
    Time,
    Number,
    Share,
}

/// Draws the lines that have values; `None` without any values.
fn panel(
    load: &Load,
    bands: &[Bands],
    series: usize,
    label: &'static str,
    kind: Kind,
    lines: Vec<Line>,
) -> Option<(Plot, Panel)> {
    // A line keeps its look if others have no values.
    let drawn: Vec<(usize, String, Points)> = (0..)
        .zip(lines)
        .map(|(i, line)| (i, line.name, values(load, &line.of)))
        .filter(|(_, _, values)| values.iter().any(|(_, value)| value.is_some()))
        .collect();
    let all = || drawn.iter().flat_map(|(_, _, values)| values.iter().filter_map(|(_, v)| *v));
    all().next()?;
    let scale = match kind {
        Kind::Time => Scale::log_around(all()),
        Kind::Rate | Kind::Number => Scale::from_zero(all()),
        Kind::Share => Scale::from_zero(all().chain([LEAST_SHARE])),
    };
    let tick = if kind == Kind::Time { tick_time } else { tick_number };
    let names: Vec<String> = drawn.iter().map(|(_, name, _)| name.clone()).collect();
    let summary = format!("{} by the second", crate::text::list(&names));
    let end = load.series.last().map_or(0.0, |last| last.t_s + last.length_s).max(1e-3);
    let x =
        Axis { scale: Scale::Linear { from: 0.0, to: end }, label: "seconds", tick: tick_number };
    let mut plot = Plot::new(&summary, 190.0, x, Axis { scale, label, tick });
    if load.segments.len() <= MOST_SEGMENTS {
        load.segments.iter().skip(1).for_each(|s| plot.rule_x(s.begin_s, NamePosition::Head, ""));
    }
    for (cause, events) in bands {
        let style = cause.style();
        events.iter().for_each(|event| plot.band(style, event.from_s, event.to_s, &event.text));
    }
    let mut keys = Vec::new();
    for (i, name, values) in drawn {
        let style = look(series + i, i);
        plot.series(style, &values);
        keys.push((style, name));
    }
    let svg = plot.svg();
    Some((plot, Panel { svg, keys, ..Panel::default() }))
}

/// Each interval's value, placed at the middle of the interval.
fn values(load: &Load, of: &Value) -> Points {
    load.series.iter().map(|interval| (middle(interval), of(interval))).collect()
}

fn middle(interval: &Interval) -> f64 {
    interval.t_s + interval.length_s / 2.0
}

fn rates() -> Vec<Line> {
    vec![
        line("offered", |i| per_s(i, i.offered)),
        line("completed", |i| per_s(i, i.completed)),
        line("failed", |i| per_s(i, i.failed)),
    ]
}

/// The operations of the completed requests. They have a panel of their own: a request may carry thousands.
fn operations() -> Vec<Line> {
    vec![line("operations", |i| per_s(i, i.operations?))]
}

fn per_s(interval: &Interval, count: u64) -> Option<f64> {
    (0.0 < interval.length_s).then(|| count as f64 / interval.length_s)
}

fn times() -> Vec<Line> {
    vec![
        line("p50", |i| i.p50_ns.map(|ns| ns as f64)),
        line("p99", |i| i.p99_ns.map(|ns| ns as f64)),
        line("max", |i| i.max_ns.map(|ns| ns as f64)),
    ]
}

fn waiting() -> Vec<Line> {
    vec![
        line("on connections", |i| i.outstanding.map(|n| n as f64)),
        line("for a connection", |i| i.backlog.map(|n| n as f64)),
    ]
}

/// Shares of a shard's time, each of the shard with the highest.
fn shares() -> Vec<Line> {
    vec![
        line("busy", |i| i.busy),
        line("waiting for a CPU", |i| i.run_queue_wait),
        line("stolen", |i| i.steal),
        line("throttled", |i| i.throttled),
    ]
}

fn generator() -> Vec<Line> {
    vec![
        line("lateness p99", |i| i.lateness_p99_ns.map(|ns| ns as f64)),
        line("longest hiccup", |i| i.hiccup_max_ns.map(|ns| ns as f64)),
    ]
}

fn line(name: &str, of: impl Fn(&Interval) -> Option<f64> + 'static) -> Line {
    Line { name: name.to_owned(), of: Box::new(of) }
}

/// The CPU and the queued requests of the largest services in a trial.
struct Services {
    interval_s: f64,
    largest: Vec<Service>,
}

impl Services {
    fn of(trial: &Trial) -> Services {
        let Some(components) = &trial.components else { return Services::none() };
        let largest = services::largest(components, MOST_SERVICES);
        Services { interval_s: components.interval_s.max(1e-3), largest }
    }

    fn none() -> Services {
        Services { interval_s: 1.0, largest: Vec::new() }
    }

    fn at(&self, series: &Series<f64>, interval: &Interval) -> Option<f64> {
        at(series, interval.t_s / self.interval_s)
    }

    fn lines(&self, of: fn(&Service) -> &Series<f64>) -> Vec<Line> {
        let interval_s = self.interval_s;
        let line = |service: &Service| {
            let series = of(service).clone();
            line(&service.name, move |i| at(&series, i.t_s / interval_s))
        };
        self.largest.iter().map(line).collect()
    }

    /// The services with at least one value.
    fn measured(&self, of: fn(&Service) -> &Series<f64>) -> Vec<&Service> {
        let has = |service: &&Service| of(service).iter().any(Option::is_some);
        self.largest.iter().filter(has).collect()
    }
}

/// The worst shares of each second in which the machine or a limit held something up.
struct Shares {
    interval_s: f64,
    worst: machine::Worst,
}

impl Shares {
    fn of(trial: &Trial) -> Shares {
        let Some(components) = &trial.components else { return Shares::none() };
        let worst = machine::Worst::of(components);
        Shares { interval_s: components.interval_s.max(1e-3), worst }
    }

    fn none() -> Shares {
        Shares { interval_s: 1.0, worst: machine::Worst::default() }
    }

    fn lines(&self) -> Vec<Line> {
        let of = |series: &Series<f64>| {
            let (series, interval_s) = (series.clone(), self.interval_s);
            move |i: &Interval| at(&series, i.t_s / interval_s)
        };
        let machine::Worst { stolen, foreign, pressure, throttled } = &self.worst;
        // The generator watches what is taken from itself, wherever it runs.
        let worst = |one: Option<f64>, other: Option<f64>| {
            [one, other].into_iter().flatten().reduce(f64::max)
        };
        let (stolen, throttled) = (of(stolen), of(throttled));
        vec![
            line("stolen", move |i| worst(stolen(i), i.steal)),
            line("used by others", of(foreign)),
            line("something waits for a CPU", of(pressure)),
            line("throttled", move |i| worst(throttled(i), i.throttled)),
        ]
    }
}

/// The lines with at least one value in a load.
fn measured(load: &Load, lines: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let has = |line: &Line| load.series.iter().any(|interval| (line.of)(interval).is_some());
    lines.into_iter().filter(has).collect()
}

/// The value at this many intervals' lengths into the measurement.
fn at(series: &Series<f64>, interval: f64) -> Option<f64> {
    series.get((interval + 1e-6) as usize).copied().flatten()
}

fn rates_in_words(load: &Load) -> String {
    let rates = &load.total.rates_per_s;
    let mut text = format!(
        "{} offered and {} completed over {:.1} s",
        rate(rates.offered),
        rate(rates.completed),
        load.measured_s
    );
    if let Some(operations) = &load.total.operations {
        text += &format!(", with {} operations/s", grouped(operations.completed_per_s));
    }
    let p99 = || load.series.iter().filter_map(|interval| interval.p99_ns);
    if let (Some(least), Some(most)) = (p99().min(), p99().max()) {
        text += &format!("; p99 of a second between {} and {}", time(least), time(most));
    }
    text
}

/// Names the first events, each with its second; the others are in the titles of their bands.
fn events_in_words(mut events: Vec<Event>) -> String {
    events.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    let first = events.iter().take(MOST_EVENTS);
    let mut text: String =
        first.map(|event| format!("; at {:.1} s {}", event.from_s, event.text)).collect();
    let more = events.len().saturating_sub(MOST_EVENTS);
    if 0 < more {
        text += &format!("; and {more} more events");
    }
    text
}

fn table(load: &Load, services: &Services, shares: &Shares, plot: &Plot) -> Table {
    let rates = measured(load, rates().into_iter().chain(operations()));
    let shares = measured(load, shares.lines());
    let after = ["lateness p99", "hiccup", "busy", "outstanding", "backlog"];
    let columns = ["second".to_owned()]
        .into_iter()
        .chain(rates.iter().map(|line| format!("{} /s", line.name)))
        .chain(["p50", "p99", "max"].map(str::to_owned))
        .chain(services.measured(|s| &s.cpu).into_iter().map(|s| format!("CPU {}", s.name)))
        .chain(services.measured(|s| &s.held).into_iter().map(|s| format!("queued {}", s.name)))
        .chain(shares.iter().map(|line| line.name.clone()))
        .chain(after.map(str::to_owned));
    let every = load.series.len().div_ceil(MOST_ROWS).max(1);
    let caption = match every {
        1 => String::new(),
        n => format!("Every {n}th of {} intervals.", load.series.len()),
    };
    let mut table = Table::new(&caption, columns);
    for interval in load.series.iter().step_by(every) {
        let cells = cells(interval, &rates, services, &shares);
        table.push(Row::new(cells).at(plot.x(middle(interval))));
    }
    table
}

fn cells(interval: &Interval, rates: &[Line], services: &Services, shares: &[Line]) -> Vec<Cell> {
    let ns = |ns: Option<u64>| Cell::maybe(ns.map(time));
    let mut cells = vec![Cell::number(tick_number(interval.t_s))];
    cells.extend(rates.iter().map(|line| Cell::maybe((line.of)(interval).map(grouped))));
    cells.extend([interval.p50_ns, interval.p99_ns, interval.max_ns].map(ns));
    let value = |series: &Series<f64>| services.at(series, interval);
    let cpu = |s: &&Service| Cell::maybe(value(&s.cpu).map(|cpu| format!("{cpu:.2}")));
    let held = |s: &&Service| Cell::maybe(value(&s.held).map(|n| format!("{n:.1}")));
    cells.extend(services.measured(|service| &service.cpu).iter().map(cpu));
    cells.extend(services.measured(|service| &service.held).iter().map(held));
    let share = |line: &Line| Cell::maybe((line.of)(interval).map(|s| crate::text::share(s, 1.0)));
    cells.extend(shares.iter().map(share));
    cells.push(ns(interval.lateness_p99_ns));
    cells.push(ns(interval.hiccup_max_ns));
    cells.push(Cell::maybe(interval.busy.map(|share| format!("{:.0} %", 100.0 * share))));
    let number = |n: Option<u64>| Cell::maybe(n.map(integer));
    cells.extend([number(interval.outstanding), number(interval.backlog)]);
    cells
}
