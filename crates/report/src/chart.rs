//! Figures: a title, a summary in words, plots, a legend, and all numbers as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use measure::estimate::median;
use results::at_load::Configuration;
use results::journal::Observed;

use crate::plot::{Style, swatch};
use crate::run::{Run, Trial};
use crate::table::{MOST_ROWS, Table};
use crate::text::{count, escape, integer};

pub(crate) mod by_label;
pub(crate) mod comparison;
pub(crate) mod completed;
pub(crate) mod heat;
mod labels;
pub(crate) mod levels;
pub(crate) mod monitors;
pub(crate) mod multiples;
pub(crate) mod p99;
pub(crate) mod path;
pub(crate) mod percentiles;
pub(crate) mod scaling;
pub(crate) mod seconds;
pub(crate) mod spread;
pub(crate) mod trials;

pub(crate) struct Figure {
    /// The id, unique in the page: the state in the URL names figures by it.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) panels: Vec<Panel>,
    /// The legend of all panels together, if they have none of their own.
    pub(crate) keys: Vec<Key>,
    pub(crate) table: Table,
    pub(crate) layout: Layout,
}

/// A look in a legend, with its name.
pub(crate) type Key = (Style, String);

/// One plot, in one or two drawings: a button shows the second one, on a linear axis.
#[derive(Default)]
pub(crate) struct Panel {
    /// The name of what distinguishes the panel from the others of its figure.
    pub(crate) title: String,
    pub(crate) svg: String,
    pub(crate) linear: Option<String>,
    pub(crate) keys: Vec<Key>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Layout {
    /// One column; the table is folded.
    Column,
    /// The whole width, with the table beside the plot.
    Whole,
    /// The whole width, with two panels side by side.
    Wide,
    /// The whole width, with small multiples: each panel has rows of its own in the table.
    Many,
}

/// All figures for which the run has trials, in the order of the page.
pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let found = [comparison::figure(run), levels::figure(run), path::figure(run)];
    let found = found.into_iter().flatten().chain(scaling::figures(run));
    let curves = [completed::figure(run), p99::figure(run), percentiles::figure(run)];
    let curves = curves.into_iter().chain([by_label::figure(run)]);
    let repeated = [
        trials::figure(run),
        heat::of_trials::figure(run),
        spread::figure(run),
        monitors::figure(run),
    ];
    let figures = found.chain(curves.chain(repeated).flatten());
    figures.chain(seconds::figures(run)).collect()
}

impl Figure {
    pub(crate) fn html(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string does not fail");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let whole = self.layout == Layout::Whole;
        let class = match self.layout {
            Layout::Column => "",
            Layout::Whole => " class=\"whole\"",
            Layout::Wide => " class=\"wide\"",
            Layout::Many => " class=\"many\"",
        };
        write!(
            out,
            "<figure id=\"{}\"{class}>\n<figcaption><h3>{}</h3>",
            self.id,
            escape(&self.title)
        )?;
        if self.panels.iter().any(|panel| panel.linear.is_some()) {
            out.push_str("<button type=\"button\" class=\"scale\" hidden>linear</button>");
        }
        write!(out, "</figcaption>\n<p>{}</p>\n<div class=\"plots\">", escape(&self.summary))?;
        for (number, panel) in self.panels.iter().enumerate() {
            panel.write((self.layout == Layout::Many).then_some(number), out)?;
        }
        let open = if whole { " open" } else { "" };
        write!(
            out,
            "</div>\n{}<details{open}><summary>Numbers</summary>{}</details>\n",
            if self.keys.is_empty() { String::new() } else { legend(&self.keys) + "\n" },
            self.table.html()
        )?;
        out.push_str("</figure>\n");
        Ok(())
    }
}

impl Panel {
    /// Writes the panel. Its number, if it has one, connects it with its rows of the table.
    fn write(&self, number: Option<usize>, out: &mut String) -> std::fmt::Result {
        out.push_str("<div class=\"panel\"");
        if let Some(number) = number {
            write!(out, " data-p=\"{number}\"")?;
        }
        out.push('>');
        if !self.title.is_empty() {
            write!(out, "<h4>{}</h4>", escape(&self.title))?;
        }
        out.push_str(&self.svg);
        if let Some(linear) = &self.linear {
            let hidden = linear.replacen("<svg ", "<svg hidden ", 1);
            out.push_str(&hidden);
        }
        if !self.keys.is_empty() {
            out.push_str(&legend(&self.keys));
        }
        out.push_str("</div>\n");
        Ok(())
    }
}

fn legend(keys: &[Key]) -> String {
    let item = |(style, name): &Key| {
        let (series, swatch, name) = (style.series, swatch(*style), escape(name));
        format!("<li><span data-s=\"{series}\">{swatch}{name}</span></li>")
    };
    format!("<ul class=\"legend\">{}</ul>", keys.iter().map(item).collect::<String>())
}

/// A trial that a curve can show.
#[derive(Clone, Copy)]
pub(crate) struct Point<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) observed: &'a Observed,
}

/// All measured trials, valid or not, in ascending offered load. If there are more than a figure
/// can show, every n-th is taken, and the marked ones always.
pub(crate) fn points(run: &Run) -> Vec<Point<'_>> {
    let mut points: Vec<Point> = measured(run).collect();
    points.sort_by(|a, b| a.observed.offered_per_s.total_cmp(&b.observed.offered_per_s));
    let every = points.len().div_ceil(MOST_ROWS).max(1);
    let marked = |point: &Point| run.is_maximum(point.trial) || run.is_capacity(point.trial);
    let mut index = 0;
    points.retain(|point| {
        index += 1;
        (index - 1) % every == 0 || marked(point)
    });
    points
}

/// The valid points' medians by requested rate, which a line may connect.
pub(crate) fn curve(
    points: &[Point<'_>],
    x: impl Fn(&Observed) -> f64,
    y: impl Fn(&Observed) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let mut groups: BTreeMap<Configuration<'_>, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for point in points.iter().filter(|point| point.trial.valid()) {
        let Some(value) = y(point.observed) else { continue };
        let (xs, ys) = groups.entry(point.trial.entry.configuration()).or_default();
        xs.push(x(point.observed));
        ys.push(value);
    }
    groups.into_values().filter_map(|(xs, ys)| Some((median(&xs)?, median(&ys)?))).collect()
}

/// All measured trials of the run, valid or not, but no probes.
fn measured(run: &Run) -> impl Iterator<Item = Point<'_>> {
    let trials = run.trials.iter().filter(|trial| !trial.probe());
    trials.filter_map(|trial| Some(Point { trial, observed: trial.entry.observed.as_ref()? }))
}

/// A sentence about the trials that a thinned figure omits.
pub(crate) fn thinning(run: &Run, shown: usize) -> String {
    let all = run.trials.iter().filter(|t| !t.probe() && t.entry.observed.is_some()).count();
    match shown < all {
        true => format!(" {} of {} are drawn.", integer(shown as u64), count(all, "trial")),
        false => String::new(),
    }
}
