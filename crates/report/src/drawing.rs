//! A plot as a separate SVG file, for other documents: it contains its colours, light and dark, and
//! its legend.

use measure::Histogram;

use crate::chart::percentiles;
use crate::plot::{self, Dash, Mark, Plot, STYLE, Scale, Style, WIDTH, look};
use crate::text::{escape, tick_number, tick_time};

#[cfg(test)]
mod tests;

const HEIGHT: f64 = 340.0;
const LINE: f64 = 20.0;
/// A letter's width in the legend: an estimate, since no font is read.
const LETTER: f64 = 7.0;
/// Space for half of the last tick's label.
const MARGIN: f64 = 10.0;

pub struct Drawing {
    /// The description for screen readers.
    pub summary: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

pub struct Axis {
    pub label: &'static str,
    pub quantity: Quantity,
}

/// The quantity on an axis, with its scale.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quantity {
    /// A number from zero, linear.
    Number,
    /// A count, logarithmic.
    Count,
    /// Nanoseconds, logarithmic.
    Time,
    /// Levels of quantiles from 0 to below 1, by their nines.
    Level,
}

pub struct Series {
    pub name: String,
    /// The points, in ascending x.
    pub points: Vec<(f64, f64)>,
    pub shape: Shape,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    Line,
    Marks,
}

impl Drawing {
    pub fn svg(&self) -> String {
        let mut plot = Plot::new(&self.summary, HEIGHT, self.axis(&self.x, |p| p.0), {
            self.axis(&self.y, |p| p.1)
        });
        for (i, series) in self.series.iter().enumerate() {
            let style = series.style(i);
            match series.shape {
                Shape::Line => plot.line(style, &series.points),
                Shape::Marks => {
                    series.points.iter().for_each(|&(x, y)| plot.mark(style, x, y, ""));
                }
            }
        }
        let (legend, height) = self.legend();
        let (width, height) = (WIDTH + MARGIN, HEIGHT + height);
        let summary = escape(&self.summary);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{summary}\">\n\
             <desc>{summary}</desc>\n<style>\n{}</style>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{}\n{legend}</svg>\n",
            style(),
            plot.content(),
        )
    }

    fn axis(&self, axis: &Axis, of: fn(&(f64, f64)) -> f64) -> plot::Axis {
        let values = self.series.iter().flat_map(|series| series.points.iter().map(of));
        let (scale, tick): (Scale, fn(f64) -> String) = match axis.quantity {
            Quantity::Number => (Scale::from_zero(values), tick_number),
            Quantity::Count => (Scale::log_around(values), tick_number),
            Quantity::Time => (Scale::log_around(values), tick_time),
            Quantity::Level => {
                let most = values.filter(|level| *level < 1.0).fold(0.9, f64::max);
                (Scale::Nines { samples: 1.0 / (1.0 - most) }, plot::percent)
            }
        };
        plot::Axis { scale, label: axis.label, tick }
    }

    /// The names below the plot, and the height that they take.
    fn legend(&self) -> (String, f64) {
        let (mut x, mut y) = (plot::LEFT, HEIGHT + 4.0);
        let mut out = String::new();
        for (i, series) in self.series.iter().enumerate() {
            let width = 36.0 + LETTER * series.name.chars().count() as f64;
            if plot::LEFT < x && WIDTH < x + width {
                (x, y) = (plot::LEFT, y + LINE);
            }
            out += &format!(
                "<g transform=\"translate({x:.0} {y:.0})\">{}\
                 <text x=\"34\" y=\"11\">{}</text></g>\n",
                plot::sample(series.style(i)),
                escape(&series.name)
            );
            x += width + 16.0;
        }
        (out, y + LINE - HEIGHT)
    }
}

impl Series {
    /// A line of times by the level of their quantile, up to the longest.
    pub fn distribution(name: &str, histogram: &Histogram) -> Series {
        let (sound, weak) = percentiles::shape(histogram);
        let points = [sound, weak].concat();
        Series { name: name.to_owned(), points, shape: Shape::Line }
    }

    fn style(&self, i: usize) -> Style {
        match self.shape {
            Shape::Line => Style { mark: Mark::None, ..look(i, i) },
            Shape::Marks => Style { dash: Dash::None, ..look(i, i) },
        }
    }
}

/// The page's colours, written out for programs without variables and `light-dark`: light by
/// default, dark for viewers that prefer it.
fn style() -> String {
    let light: String = rules(|(light, _)| light);
    let dark: String = rules(|(_, dark)| dark);
    format!(
        "text {{ font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }}\n\
         .mid {{ text-anchor: middle; }}\n.end {{ text-anchor: end; }}\n\
         .grid, .axis, .line, .bar, .cross {{ fill: none; }}\n\
         .line {{ stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }}\n\
         .ring, .cross {{ stroke-width: 1.6; }}\n\
         .d1 {{ stroke-dasharray: 6 4; }}\n.d2 {{ stroke-dasharray: 1 4; }}\n\
         .d3 {{ stroke-dasharray: 8 4 1 4; }}\n{light}\
         @media (prefers-color-scheme: dark) {{\n{dark}}}\n"
    )
}

fn rules(side: fn((&'static str, &'static str)) -> &'static str) -> String {
    let colour = |name: &str| side(colour(name));
    let (paper, quiet) = (colour("paper"), colour("quiet"));
    let mut rules = format!(
        ".paper {{ fill: {paper}; }}\ntext {{ fill: {quiet}; }}\n\
         .grid {{ stroke: {}; }}\n.axis {{ stroke: {}; }}\n\
         .disc {{ stroke: {paper}; }}\n.ring {{ fill: {paper}; }}\n",
        colour("grid"),
        colour("line"),
    );
    for i in 0..=5 {
        let c = colour(&format!("c{i}"));
        rules += &format!(
            ".line.c{i}, .bar.c{i}, .cross.c{i}, .ring.c{i} {{ stroke: {c}; }}\n\
             .disc.c{i} {{ fill: {c}; }}\n"
        );
    }
    rules
}

/// A colour of the style sheet, light and dark.
fn colour(name: &str) -> (&'static str, &'static str) {
    let start = format!("--{name}: light-dark(");
    let value = STYLE.lines().find_map(|line| line.trim().strip_prefix(&start));
    let value = value.and_then(|rest| rest.strip_suffix(");")?.split_once(", "));
    value.expect("the style sheet names each colour of a plot, light and dark")
}
