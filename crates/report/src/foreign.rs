//! Files of load generators as one page: their figures beside each other, the curves of their times, and
//! what they support.

use std::collections::BTreeSet;
use std::fmt::Write;

use measure::estimate::FEWEST_BEYOND;
use measure::{Nanos, Quantile};
use results::Foreign;
use results::foreign::{Code, Distribution, Facts, Loop, OfLabel};
use results::printed::Since;

use crate::chart::percentiles::shape;
use crate::chart::{Figure, Layout, Panel};
use crate::page;
use crate::plot::{Axis, Dash, Plot, Scale, Style, distinct, percent};
use crate::table::{Cell, MOST_ROWS, Row, Table, trials};
use crate::text::{count, escape, integer, rate, share, tick_time, time};

#[cfg(test)]
mod tests;

/// With more curves none can be followed.
const MOST_CURVES: usize = 8;

/// The contents of the page, for those who give it away.
const CONTENTS: &str = "the names of the files, their labels and their figures";

const LEVELS: [Quantile; 5] =
    [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999, Quantile::P9999];

/// Renders the page of one or more files.
pub fn render(files: &[Foreign]) -> String {
    let mut body = String::new();
    write(files, &mut body).expect("writing to a string does not fail");
    page::document(&title(files), CONTENTS, &body)
}

fn title(files: &[Foreign]) -> String {
    match files {
        [only] => only.file.clone(),
        several => count(several.len(), "file"),
    }
}

fn write(files: &[Foreign], out: &mut String) -> std::fmt::Result {
    let mut tools: Vec<String> = files.iter().map(|file| file.tool.clone()).collect();
    tools.dedup();
    tools.truncate(MOST_CURVES);
    let about = "Figures that other tools measured, with what they support.";
    page::titled(&title(files), Some(about), &tools, out)?;
    let (class, heading) = match files.iter().any(|file| file.facts.is_failing()) {
        true => ("bad", "✗ Requests failed, as far as the files say"),
        false => ("open", "? As far as the files say"),
    };
    writeln!(out, "<main>\n<section class=\"verdict {class}\">\n<h2>{heading}</h2>")?;
    let statements = statements(files);
    let of_all = statements.iter().filter(|statement| statement.files.len() == files.len());
    out.push_str(&list_of(of_all));
    if 1 < files.len() {
        for (number, file) in files.iter().enumerate().take(MOST_ROWS) {
            of_file(&statements, number, files.len(), file, out);
        }
    }
    writeln!(out, "</section>\n<section><h2>Figures</h2>{}", figures(files).html())?;
    match curves(files) {
        Some(figure) => writeln!(out, "<div class=\"charts\">\n{}</div>", figure.html())?,
        None => out.push_str("<p>No file has times to draw.</p>\n"),
    }
    out.push_str("</section>\n");
    if let Some(table) = labels(files) {
        writeln!(out, "<section><h2>Labels</h2>{}</section>", table.html())?;
    }
    out.push_str("<section class=\"narrow\"><h2>Outcomes</h2>");
    writeln!(out, "{}</section>\n</main>", outcomes(files).html())
}

/// A statement on what files support, or do not.
struct Statement<'a> {
    mark: &'static str,
    text: &'a str,
    /// The indices of the files.
    files: Vec<usize>,
}

/// Returns what files support and what not, each once.
fn statements(files: &[Foreign]) -> Vec<Statement<'_>> {
    let mut found: Vec<Statement<'_>> = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let supported = file.supports.iter().map(|text| ("✓", text));
        let limits = file.limits.iter().map(|limit| match limit.code {
            Code::Failing => ("✗", &limit.text),
            _ => ("!", &limit.text),
        });
        for (mark, text) in supported.chain(limits) {
            match found.iter_mut().find(|known| known.mark == mark && known.text == text) {
                Some(known) => known.files.push(number),
                None => found.push(Statement { mark, text, files: vec![number] }),
            }
        }
    }
    // Failures come first; then what is supported, and what is not.
    found.sort_by_key(|it| ["✗", "✓", "!"].iter().position(|known| *known == it.mark));
    found
}

fn list_of<'a>(statements: impl Iterator<Item = &'a Statement<'a>>) -> String {
    let item = |one: &Statement<'_>| format!("<li>{} {}</li>\n", one.mark, escape(one.text));
    let items: String = statements.map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"statements\">\n{items}</ul>\n") }
}

/// Writes the statements about one of several files that are not about all of them, folded below their numbers.
fn of_file(
    statements: &[Statement<'_>],
    number: usize,
    all: usize,
    file: &Foreign,
    out: &mut String,
) {
    let own =
        || statements.iter().filter(|one| one.files.len() < all && one.files.contains(&number));
    let with = |mark: &str| own().filter(|one| one.mark == mark).count();
    let (failures, supported, limits) = (with("✗"), with("✓"), with("!"));
    if 0 < failures + supported + limits {
        let failures = if failures == 0 { "" } else { "✗ requests failed, " };
        let title = format!("{}: {failures}✓ {supported} supported, ! {limits} not", file.file);
        page::fold(out, &title, &list_of(own()));
    }
}

fn figures(files: &[Foreign]) -> Table {
    let levels = LEVELS.iter().map(|level| level.name());
    let columns = ["file", "completed"].map(str::to_owned).into_iter().chain(levels);
    let further = ["max", "requests", "failed", "tool", "loop", "times from"];
    let columns = columns.chain(further.map(str::to_owned));
    let caption = match files.len() <= MOST_ROWS {
        true => String::new(),
        false => format!("The first {MOST_ROWS} of {} files.", files.len()),
    };
    let mut table = Table::new(&caption, columns);
    for file in files.iter().take(MOST_ROWS) {
        let facts = &file.facts;
        let mut cells =
            vec![Cell::words(file.file.clone()), Cell::maybe(facts.completed_per_s.map(rate))];
        let quantile = |level: &Quantile| {
            let value = facts.quantile_ns(*level);
            match facts.count() {
                Some(count) => trials::quantile(value, count, *level),
                None => Cell::maybe(value.map(time)),
            }
        };
        cells.extend(LEVELS.iter().map(quantile));
        cells.extend([
            Cell::maybe(facts.max().map(|max| time(max.0))),
            Cell::maybe(facts.requests.map(integer)),
            Cell::maybe(facts.failed.map(integer)),
            Cell::words(file.tool.clone()),
            Cell::words(facts.pacing.map_or("unknown", Loop::word)),
            Cell::words(moment(facts)),
        ]);
        table.push(Row::new(cells));
    }
    table
}

/// Returns a row for each label of each file, those of one label below each other; `None` unless a file has several.
fn labels(files: &[Foreign]) -> Option<Table> {
    files.iter().find(|file| 1 < file.facts.labels.len())?;
    let names: BTreeSet<&String> = files.iter().flat_map(|file| file.facts.labels.keys()).collect();
    let each = names.iter().flat_map(|name| files.iter().map(move |file| (*name, file)));
    let rows: Vec<(&String, &Foreign, &OfLabel)> =
        each.filter_map(|(name, file)| Some((name, file, file.facts.labels.get(name)?))).collect();
    let caption = match rows.len() <= MOST_ROWS {
        true => String::new(),
        false => format!("The first {MOST_ROWS} of {}.", count(rows.len(), "row")),
    };
    let levels = || [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99].into_iter();
    let columns =
        ["label", "file"].map(str::to_owned).into_iter().chain(levels().map(|it| it.name()));
    let columns = columns.chain(["requests", "failed"].map(str::to_owned));
    let mut table = Table::new(&caption, columns);
    for (name, file, of) in rows.into_iter().take(MOST_ROWS) {
        let mut cells = vec![Cell::words(name.clone()), Cell::words(file.file.clone())];
        let times = of.times.as_ref();
        cells.extend(levels().map(|level| {
            let value = times.and_then(|times| times.quantile_ns(level));
            match times.and_then(Distribution::count) {
                Some(count) => trials::quantile(value, count, level),
                None => Cell::maybe(value.map(time)),
            }
        }));
        cells.push(Cell::maybe(of.requests.map(integer)));
        cells.push(Cell::maybe(of.failed.map(integer)));
        table.push(Row::new(cells));
    }
    Some(table)
}

fn moment(facts: &Facts) -> &'static str {
    match facts.since {
        Some(Since::Intended) => "intended start",
        Some(Since::Sent) => "sending",
        None => "unknown",
    }
}

fn outcomes(files: &[Foreign]) -> Table {
    let mut table = Table::new("", ["file", "outcome", "requests", "of all"]);
    let mut rows = 0;
    for file in files {
        let facts = &file.facts;
        let of_all = facts.requests;
        let named = |name: &str, count: Option<u64>| Some((name.to_owned(), count?, of_all));
        let parts = [
            named("failed", facts.failed),
            named("unfinished", facts.unfinished),
            named("without an answer", facts.given_up()),
            named("not begun", facts.not_sent),
            facts
                .checks
                .map(|it| ("failed checks, of all checks".to_owned(), it.failed, Some(it.made))),
        ];
        let of_status =
            |(status, count): (&String, &u64)| (format!("status {status}"), *count, of_all);
        let statuses = facts.statuses.iter().map(of_status);
        for (name, number, of_all) in parts.into_iter().flatten().chain(statuses) {
            rows += 1;
            if MOST_ROWS < rows {
                return table;
            }
            let of_all = of_all.filter(|all| 0 < *all);
            table.push(Row::new(vec![
                Cell::words(file.file.clone()),
                Cell::words(name),
                Cell::number(integer(number)),
                Cell::maybe(of_all.map(|all| share(number as f64, all as f64))),
            ]));
        }
    }
    table
}

/// One drawn file.
struct Curve {
    style: Style,
    name: String,
    /// The part with enough requests beyond it, and the rest.
    sound: Vec<(f64, f64)>,
    weak: Vec<(f64, f64)>,
    /// The number of times, if each of them is known.
    samples: Option<u64>,
}

fn curve(index: usize, file: &Foreign) -> Option<Curve> {
    let (sound, weak) = match file.facts.times.as_ref()? {
        Distribution::Histogram(times) => shape(times.histogram()?),
        Distribution::Quantiles(quantiles) => {
            let points = quantiles.percentiles.iter().map(|one| (one.level, one.time_ns as f64));
            let beyond = |level: f64| quantiles.count.map(|count| (1.0 - level) * count as f64);
            points.partition(|(level, _)| {
                beyond(*level).is_none_or(|beyond| FEWEST_BEYOND as f64 <= beyond + 1e-6)
            })
        }
    };
    let is_drawn = 0 < sound.len() + weak.len();
    let mut style = distinct(index, index);
    if matches!(file.facts.times, Some(Distribution::Quantiles(_))) {
        style.dash = Dash::Dashed;
    }
    let name = file.file.clone();
    let samples = match file.facts.times {
        Some(Distribution::Histogram(_)) => file.facts.count(),
        _ => None,
    };
    is_drawn.then_some(Curve { style, name, sound, weak, samples })
}

/// The curves of the first files that have any.
fn curves(files: &[Foreign]) -> Option<Figure> {
    let drawn = files.iter().enumerate().filter_map(|(index, file)| curve(index, file));
    let curves: Vec<Curve> = drawn.take(MOST_CURVES).collect();
    curves.first()?;
    let points = || curves.iter().flat_map(|curve| curve.sound.iter().chain(&curve.weak));
    let values = || points().map(|(_, value)| *value);
    let mut summary = "Times by percentile, each from the moment that the table names. Dashed: only percentiles \
                       were printed, and the line between them is drawn by eye. Dotted grey: fewer than ten \
                       requests lie beyond."
        .to_owned();
    if curves.len() < files.len() {
        summary += &format!(" {} of {} are drawn.", curves.len(), count(files.len(), "file"));
    }
    // Of printed percentiles the points themselves say how far to draw.
    let of_levels = points().map(|(level, _)| 1.0 / (1.0 - level).max(1e-7)).fold(10.0, f64::max);
    let of_counts =
        curves.iter().filter_map(|curve| curve.samples).max().unwrap_or_default() as f64;
    let samples = of_counts.max(of_levels);
    let log = draw(&curves, samples, &summary, Scale::log_around(values()));
    let linear = draw(&curves, samples, &summary, Scale::from_zero(values()));
    Some(Figure {
        id: "percentiles".into(),
        title: "Times by percentile".to_owned(),
        table: numbers(files, &log),
        summary,
        panels: vec![Panel {
            svg: log.svg(),
            linear: Some(linear.svg()),
            keys: curves.iter().map(|curve| (curve.style, curve.name.clone())).collect(),
            ..Panel::default()
        }],
        keys: Vec::new(),
        layout: Layout::Whole,
    })
}

fn draw(curves: &[Curve], samples: f64, summary: &str, y: Scale) -> Plot {
    let scale = Scale::Nines { samples };
    let x = Axis { scale, label: "percentile of requests, %", tick: percent };
    let y = Axis { scale: y, label: "time", tick: tick_time };
    let mut plot = Plot::new(summary, 380.0, x, y);
    for Curve { style, sound, weak, .. } in curves {
        plot.line(*style, sound);
        plot.line(Style { colour: 0, dash: Dash::Dotted, ..*style }, weak);
        let is_few = sound.len() + weak.len() <= MOST_MARKS;
        for (level, value) in sound.iter().chain(weak).filter(|_| is_few) {
            plot.mark(*style, *level, *value, "");
        }
    }
    plot
}

/// More points need no marks.
const MOST_MARKS: usize = 20;

fn numbers(files: &[Foreign], plot: &Plot) -> Table {
    let shown = || files.iter().filter(|file| file.facts.times.is_some()).take(MOST_CURVES);
    let columns =
        ["percentile".to_owned()].into_iter().chain(shown().map(|file| file.file.clone()));
    let mut table = Table::new("", columns);
    for level in LEVELS {
        let mut cells = vec![Cell::number(level.name())];
        let value = |file: &Foreign| file.facts.quantile_ns(level).map(|ns| Nanos(ns).to_string());
        cells.extend(shown().map(|file| Cell::maybe(value(file))));
        table.push(Row::new(cells).at(plot.x(level.level())));
    }
    table
}
