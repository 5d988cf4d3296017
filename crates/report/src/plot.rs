//! SVG without a library: two axes, and lines, marks, bars and labels between them.
//!
//! Everything is drawn here once: the script only shows and hides. Colours and dashes are classes,
//! so that the page's style sheet defines the look in light, dark and print.

use std::fmt::Write;

use crate::text::escape;

pub(crate) use scale::{Scale, percent};

mod scale;

#[cfg(test)]
mod tests;

/// The looks of pages and of the plots in them.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The width of all plots: equal, so that equal times and equal loads are aligned.
pub(crate) const WIDTH: f64 = 560.0;
pub(crate) const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 44.0;

/// A letter's width where texts are largest: an estimate, since no font is read.
const LETTER: f64 = 8.5;

/// The number of colours of a heat map.
pub(crate) const HEAT_LEVELS: usize = 6;

/// The largest distance of a drawn line from its points: invisible on screens and in print.
const TOLERANCE: f64 = 0.2;

pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) label: &'static str,
    pub(crate) tick: fn(f64) -> String,
}

/// The look of a series: distinguished by dash and mark as well as by colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The key of the figure's legend that shows and hides it.
    pub(crate) series: usize,
    /// One of the eight classes `c0` … `c7` of the style sheet.
    pub(crate) colour: usize,
    pub(crate) dash: Dash,
    pub(crate) mark: Mark,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dash {
    None,
    Solid,
    Dashed,
    Dotted,
    Mixed,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mark {
    None,
    Disc,
    Ring,
    Diamond,
    Cross,
    Square,
    /// A cell of a heat map, with its level from 1 to [`HEAT_LEVELS`].
    Cell(usize),
    /// A shaded part of the plot: between two lines, of the x axis, or above the plot.
    Area,
    Band,
    Strip,
}

/// Looks that can be distinguished without colour, in turn.
pub(crate) fn look(series: usize, i: usize) -> Style {
    let looks = [
        (1, Dash::Solid, Mark::Disc),
        (3, Dash::Dashed, Mark::Diamond),
        (2, Dash::Dotted, Mark::Cross),
        (5, Dash::Mixed, Mark::Square),
        (4, Dash::Solid, Mark::Ring),
        (0, Dash::Dashed, Mark::None),
    ];
    let (colour, dash, mark) = looks[i % looks.len()];
    Style { series, colour, dash, mark }
}

/// Looks of many series, each with a mark, but none with the cross of trials that are not valid:
/// the first 48 differ, the first 16 even without colour.
pub(crate) fn distinct(series: usize, i: usize) -> Style {
    let colours = [1, 3, 5, 4, 2, 0];
    let dashes = [Dash::Solid, Dash::Dashed, Dash::Mixed, Dash::Dotted];
    let marks = [Mark::Disc, Mark::Diamond, Mark::Square, Mark::Ring];
    Style {
        series,
        colour: colours[i % colours.len()],
        dash: dashes[i % dashes.len()],
        mark: marks[(i + i / dashes.len()) % marks.len()],
    }
}

/// The direction in which a text extends from its point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The position of the name along a vertical line, so that two names do not overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NamePosition {
    Head,
    BelowHead,
    Foot,
}

pub(crate) struct Plot {
    summary: String,
    height: f64,
    x: Axis,
    y: Axis,
    marks: String,
}

impl Plot {
    /// An empty plot. The summary is the description for screen readers.
    pub(crate) fn new(summary: &str, height: f64, x: Axis, y: Axis) -> Plot {
        Plot { summary: summary.to_owned(), height, x, y, marks: String::new() }
    }

    /// The position of a value of the x axis, in the units of the drawing.
    pub(crate) fn x(&self, value: f64) -> f64 {
        LEFT + self.x.scale.position(value) * (WIDTH - LEFT - RIGHT)
    }

    pub(crate) fn y(&self, value: f64) -> f64 {
        let height = self.height - TOP - BOTTOM;
        TOP + (1.0 - self.y.scale.position(value)) * height
    }

    /// Draws a line through the points, which are given in ascending x.
    pub(crate) fn line(&mut self, style: Style, points: &[(f64, f64)]) {
        let drawn: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (self.x(x), self.y(y))).collect();
        let mut path = String::new();
        for (i, (x, y)) in straightened(&thinned(&drawn)).into_iter().enumerate() {
            let verb = if i == 0 { 'M' } else { 'L' };
            write!(path, "{verb}{x:.1} {y:.1}").expect("writing to a string does not fail");
        }
        if 1 < points.len() && style.dash != Dash::None {
            let class = format!("line c{} {}", style.colour, dash_class(style.dash));
            self.element(style.series, &format!("<path class=\"{class}\" d=\"{path}\"/>"));
        }
    }

    /// Shades the area between two values of y, given in ascending x.
    pub(crate) fn area(&mut self, style: Style, points: &[(f64, f64, f64)]) {
        if let Some(area) = self.shaded(style, points) {
            self.element(style.series, &area);
        }
    }

    /// Shades the area of a series that can also be hidden with all areas of the plot, by a key of their own.
    pub(crate) fn area_among(&mut self, style: Style, all: Style, points: &[(f64, f64, f64)]) {
        if let Some(area) = self.shaded(style, points) {
            let all = all.series;
            self.element(style.series, &format!("<g data-s=\"{all}\">{area}</g>"));
        }
    }

    fn shaded(&self, style: Style, points: &[(f64, f64, f64)]) -> Option<String> {
        let side = |of: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
            let drawn: Vec<(f64, f64)> =
                points.iter().map(|point| (self.x(point.0), self.y(of(point)))).collect();
            straightened(&thinned(&drawn))
        };
        let (lower, mut upper) = (side(|point| point.1), side(|point| point.2));
        upper.reverse();
        let mut path = String::new();
        for (i, (x, y)) in lower.into_iter().chain(upper).enumerate() {
            let verb = if i == 0 { 'M' } else { 'L' };
            write!(path, "{verb}{x:.1} {y:.1}").expect("writing to a string does not fail");
        }
        let colour = style.colour;
        (!path.is_empty()).then(|| format!("<path class=\"area c{colour}\" d=\"{path}z\"/>"))
    }

    /// Draws a line with a mark at each point; absent points interrupt it.
    pub(crate) fn series(&mut self, style: Style, points: &[(f64, Option<f64>)]) {
        for run in points.split(|(_, y)| y.is_none()) {
            let run: Vec<(f64, f64)> = run.iter().filter_map(|&(x, y)| Some((x, y?))).collect();
            self.line(style, &run);
            let few = points.len() <= 40;
            for &(x, y) in run.iter().filter(|_| few || run.len() == 1) {
                self.mark(style, x, y, "");
            }
        }
    }

    /// Draws a mark; its title is visible without any script.
    pub(crate) fn mark(&mut self, style: Style, x: f64, y: f64, title: &str) {
        let (x, y) = (self.x(x), self.y(y));
        let class = format!("c{}", style.colour);
        let title = match title {
            "" => String::new(),
            _ => format!("<title>{}</title>", escape(title)),
        };
        self.element(style.series, &shape(style.mark, &class, x, y, &title));
    }

    /// Draws an interval around a point, with its ends marked.
    pub(crate) fn bar(&mut self, style: Style, x: f64, from: f64, to: f64) {
        let (x, from, to) = (self.x(x), self.y(from), self.y(to));
        let (l, r) = (x - 3.0, x + 3.0);
        let path =
            format!("M{l:.1} {from:.1}H{r:.1}M{x:.1} {from:.1}V{to:.1}M{l:.1} {to:.1}H{r:.1}");
        let class = format!("bar c{}", style.colour);
        self.element(style.series, &format!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// Draws a thin horizontal line at a value of y.
    pub(crate) fn rule_y(&mut self, value: f64) {
        let (y, right) = (self.y(value), WIDTH - RIGHT);
        self.raw(&format!("<path class=\"rule\" d=\"M{LEFT:.1} {y:.1}H{right:.1}\"/>"));
    }

    /// Draws a thin horizontal line with its name above its left end.
    pub(crate) fn named_rule_y(&mut self, value: f64, name: &str) {
        self.rule_y(value);
        let y = self.y(value) - 5.0;
        self.text(LEFT + 6.0, y, Anchor::Start, "note", name);
    }

    /// Draws thin horizontal lines at ascending values of y, with one name for all of them above the
    /// highest.
    pub(crate) fn rules_y(&mut self, values: &[f64], name: &str) {
        let Some((highest, others)) = values.split_last() else { return };
        others.iter().for_each(|value| self.rule_y(*value));
        self.named_rule_y(*highest, name);
    }

    /// Draws thin vertical lines at ascending values of x, with one name for all of them: on the
    /// left, or if there is no room on the right.
    pub(crate) fn rules_x(&mut self, values: &[f64], place: NamePosition, name: &str) {
        let (Some(least), Some(most)) = (values.first(), values.last()) else { return };
        values.iter().for_each(|value| self.rule_x(*value, place, ""));
        let width = LETTER * name.chars().count() as f64;
        let (x, anchor) = match LEFT + width < self.x(*least) - 5.0 {
            true => (self.x(*least) - 5.0, Anchor::End),
            false => (self.x(*most) + 5.0, Anchor::Start),
        };
        let y = self.named_at(place);
        self.text(x, y, anchor, "note", name);
    }

    /// Writes the name of a place below the x axis.
    pub(crate) fn place(&mut self, x: f64, name: &str) {
        let (x, y) = (self.x(x), self.height - BOTTOM + 16.0);
        self.text(x, y, Anchor::Middle, "place", name);
    }

    /// The width of the plot between its axes, in letters of a text.
    pub(crate) fn letters() -> f64 {
        (WIDTH - LEFT - RIGHT) / LETTER
    }

    /// Draws a thin vertical line at a value of x, with its name, if it has one, on the left.
    pub(crate) fn rule_x(&mut self, value: f64, place: NamePosition, name: &str) {
        let x = self.x(value);
        let bottom = self.height - BOTTOM;
        self.raw(&format!("<path class=\"rule\" d=\"M{x:.1} {TOP:.1}V{bottom:.1}\"/>"));
        if !name.is_empty() {
            let y = self.named_at(place);
            self.text(x - 5.0, y, Anchor::End, "note", name);
        }
    }

    /// Shades a part of the x axis; its title is visible without any script. A moment is as wide as a
    /// line.
    pub(crate) fn band(&mut self, style: Style, from: f64, to: f64, title: &str) {
        let (left, right) = (self.x(from), self.x(to));
        let (width, height) = ((right - left).max(2.0), self.height - TOP - BOTTOM);
        let (colour, title) = (style.colour, escape(title));
        let band = format!(
            "<rect class=\"band c{colour}\" x=\"{left:.1}\" y=\"{TOP:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"><title>{title}</title></rect>"
        );
        self.element(style.series, &band);
    }

    /// Marks a part of the x axis above the plot, where it covers nothing; its title is visible without
    /// any script.
    pub(crate) fn strip(&mut self, style: Style, from: f64, to: f64, title: &str) {
        let (left, right) = (self.x(from), self.x(to));
        let (width, y, title) = ((right - left).max(2.0), TOP - 9.0, escape(title));
        let colour = style.colour;
        let strip = format!(
            "<rect class=\"strip c{colour}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"6\"><title>{title}</title></rect>"
        );
        self.element(style.series, &strip);
    }

    /// Draws cells of one level of a heat map, each from the lower left to the upper right corner.
    pub(crate) fn cells(&mut self, level: usize, cells: &[[(f64, f64); 2]]) {
        let mut path = String::new();
        for [(left, bottom), (right, top)] in cells {
            let (left, right) = (self.x(*left), self.x(*right));
            let (bottom, top) = (self.y(*bottom), self.y(*top));
            write!(path, "M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}z")
                .expect("writing to a string does not fail");
        }
        if !path.is_empty() {
            self.element(level, &format!("<path class=\"heat h{level}\" d=\"{path}\"/>"));
        }
    }

    /// The height at which a vertical line has its name.
    fn named_at(&self, place: NamePosition) -> f64 {
        match place {
            NamePosition::Head => TOP + 12.0,
            NamePosition::BelowHead => TOP + 28.0,
            NamePosition::Foot => self.height - BOTTOM - 8.0,
        }
    }

    /// Draws a text at a point, moved by some units of the drawing.
    pub(crate) fn label(
        &mut self,
        (x, y): (f64, f64),
        (dx, dy): (f64, f64),
        at: Anchor,
        text: &str,
    ) {
        let (x, y) = (self.x(x) + dx, self.y(y) + dy);
        self.text(x, y, at, "note", text);
    }

    /// Draws numbers at points, moved by some units of the drawing. One that would cover an earlier one is left out.
    pub(crate) fn numbers(
        &mut self,
        numbers: impl IntoIterator<Item = ((f64, f64), u32)>,
        by: (f64, f64),
        at: Anchor,
    ) {
        let mut drawn: Vec<(f64, f64)> = Vec::new();
        for ((x, y), number) in numbers {
            let place = (self.x(x), self.y(y));
            let covers = |(x, y): &(f64, f64)| {
                (place.0 - x).abs() < 2.5 * LETTER && (place.1 - y).abs() < 1.5 * LETTER
            };
            if !drawn.iter().any(covers) {
                drawn.push(place);
                self.label((x, y), by, at, &number.to_string());
            }
        }
    }

    pub(crate) fn svg(&self) -> String {
        let summary = escape(&self.summary);
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{summary}\">\
             <desc>{summary}</desc>{}</svg>",
            self.height,
            self.content()
        )
    }

    /// The drawing without the element around it.
    pub(crate) fn content(&self) -> String {
        let mut out = String::new();
        self.draw_axes(&mut out);
        out + &self.marks
    }

    fn draw_axes(&self, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, self.height - BOTTOM);
        let mut grid = String::new();
        let mut texts = String::new();
        for tick in self.x.scale.ticks(8) {
            let (x, y, label) = (self.x(tick), bottom + 16.0, (self.x.tick)(tick));
            write!(grid, "M{x:.1} {TOP:.1}V{bottom:.1}")
                .expect("writing to a string does not fail");
            write!(
                texts,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"mid\">{}</text>",
                escape(&label)
            )
            .expect("writing to a string does not fail");
        }
        for tick in self.y.scale.ticks(if self.height < 200.0 { 5 } else { 8 }) {
            let (x, y, label) = (LEFT - 7.0, self.y(tick), (self.y.tick)(tick));
            write!(grid, "M{LEFT:.1} {y:.1}H{right:.1}")
                .expect("writing to a string does not fail");
            let y = y + 4.0;
            write!(
                texts,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"end\">{}</text>",
                escape(&label)
            )
            .expect("writing to a string does not fail");
        }
        write!(
            out,
            "<path class=\"grid\" d=\"{grid}\"/>\
             <path class=\"axis\" d=\"M{LEFT:.1} {TOP:.1}V{bottom:.1}H{right:.1}\"/>{texts}\
             <text class=\"name end\" x=\"{right:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"name\" x=\"4\" y=\"14\">{}</text>",
            self.height - 8.0,
            escape(self.x.label),
            // Above the plot, where it can be read horizontally.
            escape(self.y.label),
        )
        .expect("writing to a string does not fail");
    }

    fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " mid",
            Anchor::End => " end",
        };
        let text = escape(text);
        self.raw(&format!(
            "<text class=\"{class}{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    fn element(&mut self, series: usize, svg: &str) {
        let open = format!("<g data-s=\"{series}\">");
        // Neighbours of one series share a group, so that a thousand points cost only their
        // coordinates.
        match self.marks.strip_suffix("</g>") {
            Some(before)
                if before.rfind("<g ").is_some_and(|at| before[at..].starts_with(&open)) =>
            {
                self.marks.truncate(self.marks.len() - "</g>".len());
                self.raw(&format!("{svg}</g>"));
            }
            _ => self.raw(&format!("{open}{svg}</g>")),
        }
    }

    fn raw(&mut self, svg: &str) {
        self.marks += svg;
    }
}

/// A sample of a style for a legend.
pub(crate) fn swatch(style: Style) -> String {
    format!("<svg viewBox=\"0 0 28 14\" aria-hidden=\"true\">{}</svg>", sample(style))
}

/// The sample's contents, 28 units wide and 14 high.
pub(crate) fn sample(style: Style) -> String {
    let class = format!("c{}", style.colour);
    let line = match style.dash {
        Dash::None => String::new(),
        dash => format!("<path class=\"line {class} {}\" d=\"M1 7H27\"/>", dash_class(dash)),
    };
    line + &shape(style.mark, &class, 14.0, 7.0, "")
}

fn dash_class(dash: Dash) -> &'static str {
    match dash {
        Dash::None | Dash::Solid => "d0",
        Dash::Dashed => "d1",
        Dash::Dotted => "d2",
        Dash::Mixed => "d3",
    }
}

fn shape(mark: Mark, class: &str, x: f64, y: f64, title: &str) -> String {
    let path =
        |kind: &str, d: String| format!("<path class=\"{kind} {class}\" d=\"{d}\">{title}</path>");
    match mark {
        Mark::None => String::new(),
        Mark::Disc => {
            format!(
                "<circle class=\"disc {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\">{title}</circle>"
            )
        }
        Mark::Ring => {
            format!(
                "<circle class=\"ring {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\">{title}</circle>"
            )
        }
        Mark::Diamond => path("ring", format!("M{x:.1} {:.1}l4 4l-4 4l-4-4z", y - 4.0)),
        Mark::Cell(level) => {
            let (x, y) = (x - 6.0, y - 6.0);
            format!(
                "<rect class=\"heat h{level}\" x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\"/>"
            )
        }
        Mark::Area | Mark::Band | Mark::Strip => {
            let (kind, height) = match mark {
                Mark::Area => ("area", 12.0),
                Mark::Band => ("band", 12.0),
                _ => ("strip", 6.0),
            };
            let (x, y) = (x - 13.0, y - height / 2.0);
            format!(
                "<rect class=\"{kind} {class}\" x=\"{x}\" y=\"{y}\" width=\"26\" height=\"{height}\"/>"
            )
        }
        Mark::Square => path("disc", format!("M{:.1} {:.1}h6v6h-6z", x - 3.0, y - 3.0)),
        Mark::Cross => path("cross", format!("M{:.1} {:.1}l9 9m0-9l-9 9", x - 4.5, y - 4.5)),
    }
}

/// Keeps at most four points in a pixel column: its first, lowest, highest and last, since a line
/// cannot show more.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for column in points.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let lowest = (0..column.len()).min_by(|&a, &b| column[a].1.total_cmp(&column[b].1));
        let highest = (0..column.len()).max_by(|&a, &b| column[a].1.total_cmp(&column[b].1));
        let mut indices: Vec<usize> =
            [Some(0), lowest, highest, Some(column.len() - 1)].into_iter().flatten().collect();
        indices.sort_unstable();
        indices.dedup();
        kept.extend(indices.into_iter().map(|index| column[index]));
    }
    kept
}

/// Drops the points that are close to a straight line between others (Ramer, Douglas, Peucker): a
/// smooth curve shrinks to a tenth and looks the same.
fn straightened(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut keep = vec![false; points.len()];
    let mut spans = vec![(0, points.len().saturating_sub(1))];
    while let Some((first, last)) = spans.pop() {
        let Some((a, b)) = points.get(first).zip(points.get(last)) else { break };
        (keep[first], keep[last]) = (true, true);
        let away = |index: &usize| distance(points[*index], *a, *b);
        let farthest = (first + 1..last).max_by(|i, j| away(i).total_cmp(&away(j)));
        if let Some(middle) = farthest.filter(|index| TOLERANCE < away(index)) {
            spans.extend([(first, middle), (middle, last)]);
        }
    }
    points.iter().zip(keep).filter_map(|(point, keep)| keep.then_some(*point)).collect()
}

/// The distance of a point from the line through two others, or from the one if they are the same.
fn distance((x, y): (f64, f64), (ax, ay): (f64, f64), (bx, by): (f64, f64)) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    match dx.hypot(dy) {
        0.0 => (x - ax).hypot(y - ay),
        length => (dx * (y - ay) - dy * (x - ax)).abs() / length,
    }
}
