//! The figures of one load while it is made: offered against completed, the operations that requests
//! carry, response times, lateness and errors.

use std::collections::{BTreeMap, VecDeque};

use measure::Nanos;
use measure::quantity::grouped;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Sparkline;
use results::Tick;
use results::failing;
use results::said::{Labelled, Phase, Quantiles};

use super::look::{Common, SPANS, Scale, Tone};

/// The width of a figure with its name, to the left of its chart.
const NAMED: u16 = 24;
/// The widths of the columns of the figures by label.
const LABEL: usize = 14;
const RATE: usize = 11;
const MEAN: usize = 9;
/// The rows that are too few for a chart beside the figures by label.
const FEW: usize = 3;
/// The highest bar of a chart.
const TOP: f64 = 1000.0;

/// The figures of a load so far.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The planned length of the measurement.
    pub measure: Nanos,
    /// The time that each tick covers.
    interval: Nanos,
    /// The past, for the charts: as much as the longest of them covers.
    samples: VecDeque<Sample>,
    last: Option<Tick>,
    failed: u64,
    errors: BTreeMap<String, u64>,
    /// The failed requests so far by label.
    failed_by_label: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    offered: Option<f64>,
    completed: Option<f64>,
    operations: Option<f64>,
    p99: Option<f64>,
}

/// The value of a chart in an interval; absent if the interval has none.
type Of = fn(&Sample) -> Option<f64>;

impl Figures {
    pub fn new(measure: Nanos, interval: Nanos) -> Figures {
        Figures { measure, interval, ..Figures::default() }
    }

    pub fn add(&mut self, tick: Tick) {
        self.failed += tick.failed;
        for (class, count) in &tick.errors {
            *self.errors.entry(class.clone()).or_default() += count;
        }
        for of in tick.labels.iter().filter(|of| 0 < of.failed) {
            *self.failed_by_label.entry(of.label.clone()).or_default() += of.failed;
        }
        self.samples.push_back(Sample {
            offered: tick.offered_per_s.or(tick.asked_per_s),
            completed: tick.completed_per_s,
            operations: tick.operations_per_s,
            p99: tick.last.p99_ns.map(|ns| ns as f64),
        });
        let kept = self.intervals(SPANS[SPANS.len() - 1]);
        while kept < self.samples.len() {
            self.samples.pop_front();
        }
        self.last = Some(tick);
    }

    /// Returns the state of the load in words: `measuring 3 of 5 s`.
    pub fn phase(&self) -> String {
        let Some(tick) = &self.last else { return "opening connections".to_owned() };
        let doing = tick.phase.in_words();
        match tick.phase {
            Phase::WarmUp | Phase::Drain => doing.to_owned(),
            Phase::Measurement => {
                format!("{doing} {:.0} s of {}", tick.elapsed_s, self.measure.in_words())
            }
        }
    }

    /// Draws the figures; where there is no room for all, the last ones are left out.
    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect, common: &Common) {
        let Some(tick) = &self.last else { return };
        let chart = self.samples.iter().rev().take(self.intervals(common.span()));
        let samples: Vec<Sample> = chart.rev().copied().collect();
        let rows = (area.y..area.bottom()).map(|y| Rect { y, height: 1, ..area });
        let mut rows = rows.collect::<VecDeque<Rect>>();

        let rate =
            |rate: Option<f64>| rate.map_or("–".to_owned(), |r| format!("{}/s", grouped(r)));
        let requests = highest(&samples, |s| s.offered)
            .max(highest(&samples, |s| s.completed))
            .max(tick.asked_per_s.unwrap_or_default());
        // The tick of an interval in which none was answered has no rate of operations.
        let operations = highest(&samples, |s| s.operations);
        let operations_now = (0.0 < operations).then(|| tick.operations_per_s.unwrap_or_default());
        if let Some(asked) = tick.asked_per_s
            && let Some(row) = rows.pop_front()
        {
            frame.render_widget(named("asked", &rate(Some(asked))), row);
        }
        for (name, now, top, of) in [
            ("offered", tick.offered_per_s, requests, (|s: &Sample| s.offered) as Of),
            ("completed", tick.completed_per_s, requests, |s: &Sample| s.completed),
            ("operations", operations_now, operations, |s: &Sample| s.operations),
        ] {
            if now.is_none() {
                continue;
            }
            let Some(row) = rows.pop_front() else { return };
            let [left, right] = beside(row);
            frame.render_widget(named(name, &rate(now)), left);
            let values: Vec<Option<f64>> = samples.iter().map(of).collect();
            bars(frame, right, &values, &|value| value / top, common);
        }
        let Quantiles { p50_ns, p99_ns, p999_ns } = tick.last;
        let whole = tick.whole;
        let interval = format!("last {}", self.interval.in_words());
        let table = [
            ("", interval, "whole".to_owned()),
            ("p50", time(p50_ns), time(whole.p50_ns)),
            ("p99", time(p99_ns), time(whole.p99_ns)),
            ("p99.9", time(p999_ns), time(whole.p999_ns)),
        ];
        for (name, last, whole) in table {
            let Some(row) = rows.pop_front() else { return };
            frame.render_widget(Line::from(format!("{name:<11}{last:<12}{whole}")), row);
        }
        let in_flight = tick.in_flight.map(|n| format!("{} in flight", count(n)));
        let late = tick.lateness_p99_ns.map(|ns| format!("p99 {}", Nanos(ns)));
        let failed = self.failures();
        let tone = if 0 < self.failed { Tone::Bad } else { Tone::Plain };
        for (name, value, tone) in [
            ("failed", Some(failed), tone),
            ("requests", in_flight, Tone::Plain),
            ("late", late, Tone::Plain),
        ] {
            let Some(value) = value else { continue };
            let Some(row) = rows.pop_front() else { return };
            frame.render_widget(named(name, &value).style(common.style(tone)), row);
        }
        self.labels(frame, &mut rows, tick, common);
        self.chart(frame, rows, &samples, common);
    }

    /// Draws the figures of the last interval by label, those with the most requests first, in half of the rows that
    /// are left; in the few of a small terminal instead of a chart.
    fn labels(
        &self,
        frame: &mut Frame<'_>,
        rows: &mut VecDeque<Rect>,
        tick: &Tick,
        common: &Common,
    ) {
        let mut labels: Vec<&Labelled> = tick.labels.iter().collect();
        let room = (rows.len() / 2).max(rows.len().min(FEW)).saturating_sub(1);
        if labels.is_empty() || room == 0 {
            return;
        }
        labels.sort_by(|a, b| b.completed_per_s.total_cmp(&a.completed_per_s));
        let is_all = labels.len() <= room;
        let shown = if is_all { labels.len() } else { room - 1 };
        let heading = format!("{:LABEL$}{:>RATE$}{:>MEAN$}", "label", "completed", "mean");
        let mut lines = vec![Line::from(common.span_of(heading, Tone::Faint))];
        for of in &labels[..shown] {
            let name: String = of.label.chars().take(LABEL - 1).collect();
            let rate = format!("{}/s", grouped(of.completed_per_s));
            let mut line =
                Line::from(format!("{name:LABEL$}{rate:>RATE$}{:>MEAN$}", time(of.mean_ns)));
            if let Some(failed) = self.failed_by_label.get(&of.label) {
                line.push_span(common.span_of(format!("  {} failed", count(*failed)), Tone::Bad));
            }
            lines.push(line);
        }
        if !is_all {
            let further = format!("and {} more labels", labels.len() - shown);
            lines.push(Line::from(common.span_of(further, Tone::Faint)));
        }
        for line in lines {
            let Some(row) = rows.pop_front() else { return };
            frame.render_widget(line, row);
        }
    }

    /// Draws the p99 over time in the rows that are left.
    fn chart(
        &self,
        frame: &mut Frame<'_>,
        mut rows: VecDeque<Rect>,
        samples: &[Sample],
        common: &Common,
    ) {
        let values: Vec<Option<f64>> = samples.iter().map(|sample| sample.p99).collect();
        let known = || values.iter().flatten().copied();
        let (top, bottom) = (known().fold(0.0, f64::max), known().fold(f64::INFINITY, f64::min));
        let (Some(title), Some(&first)) = (rows.pop_front(), rows.front()) else { return };
        if top == 0.0 {
            return;
        }
        let area = Rect { height: rows.len() as u16, ..first };
        let (scale, from) = match common.scale {
            Scale::Linear => ("linear", 0),
            Scale::Logarithmic => ("logarithmic", bottom as u64),
        };
        let to = Nanos(top as u64);
        let text = format!(
            "p99 of the last {}: {} to {to}, {scale}",
            common.span().in_words(),
            Nanos(from)
        );
        frame.render_widget(Line::from(common.span_of(text, Tone::Faint)), title);
        let height = |value: f64| match common.scale {
            Scale::Linear => value / top,
            // The lowest bar is not empty.
            Scale::Logarithmic if top <= bottom => 1.0,
            Scale::Logarithmic => 0.1 + 0.9 * (value / bottom).ln() / (top / bottom).ln(),
        };
        bars(frame, area, &values, &height, common);
    }

    /// Returns the failures by their outcome: `3: timeout 2, cut off 1`.
    fn failures(&self) -> String {
        let class = |(outcome, n): (&String, &u64)| {
            format!("{} {}", failing::outcome_in_words(outcome), count(*n))
        };
        let classes: Vec<String> = self.errors.iter().map(class).collect();
        let all = count(self.failed);
        if classes.is_empty() { all } else { format!("{all}: {}", classes.join(", ")) }
    }

    fn intervals(&self, span: Nanos) -> usize {
        span.0.div_ceil(self.interval.0.max(1)).min(SPANS[SPANS.len() - 1].0 / Nanos::SECOND.0)
            as usize
    }
}

/// Returns the highest value of a chart, or 0 without any.
fn highest(samples: &[Sample], of: Of) -> f64 {
    samples.iter().filter_map(of).fold(0.0, f64::max)
}

fn named(name: &str, value: &str) -> Line<'static> {
    Line::from(format!("{name:<11}{value}"))
}

/// Returns a whole number; `grouped` is for rates and adds digits to small ones.
fn count(number: u64) -> String {
    if number < 100 { number.to_string() } else { grouped(number as f64) }
}

fn time(ns: Option<u64>) -> String {
    ns.map_or("–".to_owned(), |ns| Nanos(ns).to_string())
}

fn beside(row: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Length(NAMED), Constraint::Min(0)]).areas(row)
}

/// Draws a bar for each value, or for the highest of several if there are more than columns.
fn bars(
    frame: &mut Frame<'_>,
    area: Rect,
    values: &[Option<f64>],
    height: &dyn Fn(f64) -> f64,
    common: &Common,
) {
    let each = values.len().div_ceil(usize::from(area.width).max(1)).max(1);
    let highest = |group: &[Option<f64>]| group.iter().flatten().copied().reduce(f64::max);
    let bar = |value: f64| (TOP * height(value)).round() as u64;
    let bars: Vec<Option<u64>> = values.chunks(each).map(|group| highest(group).map(bar)).collect();
    let style = common.style(Tone::Busy);
    frame.render_widget(Sparkline::default().data(bars).max(TOP as u64).style(style), area);
}
