//! The view of an experiment: the plan with its trials, the live trial, and what happened.

use std::collections::VecDeque;
use std::sync::Arc;

use lab::course::{Ending, Outlined};
use lab::progress::{Event, Mark, Stage};
use lab::wishes::Wishes;
use measure::quantity::grouped;
use measure::{Instant, Nanos, estimate};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};
use results::Entry;
use results::at_load::{self, Conclusion};
use results::journal::Purpose;

use crate::needed::{self, Needed, Strand};
use console::view::View;
use console::view::figures::Figures;
use console::view::look::{Common, Tone, clock};

#[cfg(test)]
mod tests;

/// The most lines that are kept to be printed at the end.
const MOST_LINES: usize = 10_000;
/// The least width at which the plan and the live trial are side by side.
const WIDE: u16 = 76;

const HELP: &str = "\
p  pause after this trial, or continue
s  end the wait for a calm machine
r  end this trial as not valid, and repeat it
w  time that the charts cover
l  logarithmic or linear charts
q  quit: stop everything, and keep the trials
   (benchwright resume goes on)
?  close this help

✓ ok  ≈ ok, slowed  ✗ failing, or slo missed
▲ saturated  ! invalid  † aborted
● running  · still needed";

/// The state of an experiment as its events tell it.
pub(crate) struct Experiment {
    common: Common,
    wishes: Arc<Wishes>,
    begun: Instant,
    name: String,
    seed: u64,
    rows: Vec<Row>,
    /// The stage that is going on, in words, and when it began.
    stage: (String, Instant),
    current: Option<Current>,
    figures: Figures,
    lines: VecDeque<(Nanos, String)>,
    /// The number of lines that are not kept any more.
    dropped: u64,
}

/// One strand with its trials.
struct Row {
    strand: Strand,
    /// As many as the budget allows, at most.
    cells: Vec<Cell>,
    near: Option<String>,
}

/// One trial that ended.
struct Cell {
    number: u32,
    mark: Mark,
    is_probe: bool,
    asked: Option<f64>,
    p99_ns: Option<u64>,
}

/// The trial that is going on.
struct Current {
    number: u32,
    strand: usize,
    asked: Option<f64>,
    is_probe: bool,
    /// True while its load is made: only this can be ended to be repeated.
    is_loaded: bool,
}

impl Experiment {
    pub(crate) fn new(common: Common, wishes: Arc<Wishes>, now: Instant) -> Experiment {
        Experiment {
            common,
            wishes,
            begun: now,
            name: String::new(),
            seed: 0,
            rows: Vec::new(),
            stage: ("preparing".to_owned(), now),
            current: None,
            figures: Figures::default(),
            lines: VecDeque::new(),
            dropped: 0,
        }
    }

    pub(crate) fn fold(&mut self, event: &Event<'_>, now: Instant) {
        if event.is_lasting() {
            self.tell(event.to_string(), now);
        }
        match event {
            Event::Planned { outline, journal } => {
                (self.name, self.seed) = (outline.name.clone(), outline.seed);
                (self.common.sut, self.common.load) = (outline.sut.clone(), outline.load.clone());
                self.rows = outline.strands.iter().cloned().map(Row::new).collect();
                let conclusions = at_load::conclusions(*journal);
                for entry in *journal {
                    self.end(entry, conclusions.get(&entry.trial).copied());
                }
            }
            Event::Begins { trial, strand } => {
                self.current = Some(Current {
                    number: trial.number,
                    strand: *strand,
                    asked: trial.asked.map(|rate| rate.as_per_second()),
                    is_probe: trial.purpose == Purpose::Probe,
                    is_loaded: false,
                });
                self.stage = ("preparing the trial".to_owned(), now);
            }
            Event::Stage(stage) => {
                let words = match stage {
                    Stage::Deploy => "deploying",
                    Stage::Ready => "waiting until the system is ready",
                    Stage::Initialise => "loading data",
                    Stage::Reset => "resetting",
                    Stage::Rest => "resting before the load",
                    Stage::Teardown => "tearing down",
                    Stage::WaitForCalm => "waiting for a calm machine",
                    other => &other.to_string(),
                };
                self.stage = (words.to_owned(), now);
            }
            Event::Measuring { drive, .. } => {
                if let Some(current) = &mut self.current {
                    current.is_loaded = true;
                }
                self.figures = Figures::new(drive.measure, Nanos::SECOND);
                self.stage = (self.figures.phase(), now);
            }
            Event::Tick { tick, .. } => {
                self.figures.add(tick.clone());
                self.stage.0 = self.figures.phase();
            }
            Event::Ended { entry, conclusion, .. } => self.end_current(entry, *conclusion, now),
            Event::Stands { strand, near, ending } => {
                if let Some(row) = self.rows.get_mut(*strand) {
                    (row.near, row.strand.ending) = (near.clone(), ending.clone());
                }
            }
            // A probe ends with it.
            Event::Probed { .. } => {
                self.current = None;
                self.stage = ("between two trials".to_owned(), now);
            }
            Event::Began { .. }
            | Event::Notice(_)
            | Event::Deployed { .. }
            | Event::Scaled { .. }
            | Event::Initialised { .. }
            | Event::Finished { .. } => {}
        }
    }

    /// Adds a line that lasts.
    pub(crate) fn tell(&mut self, line: String, now: Instant) {
        self.lines.push_back((now - self.begun, line));
        if MOST_LINES < self.lines.len() {
            self.lines.pop_front();
            self.dropped += 1;
        }
    }

    /// Takes the lines that last, for the terminal as it was before.
    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        let dropped =
            (0 < self.dropped).then(|| format!("! {} earlier lines are not shown", self.dropped));
        dropped.into_iter().chain(self.lines.drain(..).map(|(_, line)| line)).collect()
    }

    fn end_current(&mut self, entry: &Entry, conclusion: Option<Conclusion>, now: Instant) {
        self.end(entry, conclusion);
        self.current = None;
        self.stage = ("between two trials".to_owned(), now);
    }

    fn end(&mut self, entry: &Entry, conclusion: Option<Conclusion>) {
        let Some(row) = self.rows.get_mut(needed::strand_of(entry)) else { return };
        row.strand.end(entry);
        row.cells.push(Cell {
            number: entry.trial,
            mark: Mark::of(entry, conclusion),
            is_probe: entry.purpose == Purpose::Probe,
            asked: entry.asked_per_target_per_s,
            p99_ns: entry.observed.as_ref().and_then(|observed| observed.p99_ns),
        });
    }

    /// Returns the strand that the view is about: that of the current trial, or of the last one.
    fn strand(&self) -> usize {
        let last = || {
            let ends = self.rows.iter().map(|row| row.cells.last().map(|cell| cell.number));
            let (row, last) = ends.enumerate().max_by_key(|&(_, last)| last)?;
            last.map(|_| row)
        };
        self.current.as_ref().map(|current| current.strand).or_else(last).unwrap_or(0)
    }

    /// Returns the trials that the plan still needs in words: the usual number with its time, and the
    /// most.
    fn needed(&self) -> String {
        let Needed { trials, time, is_usual, most, longest } =
            needed::needed(self.rows.iter().map(|row| &row.strand));
        match (trials, most) {
            (_, 0) => "no trial needed any more".to_owned(),
            (1, 1) => format!("1 trial still needed, {longest}"),
            _ if trials == most => format!("{most} trials still needed, {longest}"),
            _ if is_usual => format!("about {trials} trials still needed, {time}; at most {most}"),
            _ => format!("{trials} to {most} trials still needed, {time} to {longest}"),
        }
    }

    fn header(&self, frame: &mut Frame<'_>, areas: [Rect; 2], now: Instant) {
        let common = &self.common;
        let mut line = Line::from(common.span_of(format!(" {}", self.name), Tone::Strong));
        if !self.rows.is_empty() {
            line.push_span(Span::raw(format!(" · {} · seed {}", self.needed(), self.seed)));
        }
        common.ends(frame, areas[0], line, &format!("{} ", clock(now - self.begun)));
        let (stage, since) = &self.stage;
        let is_paused = stage == "paused";
        let (text, tone) = match () {
            () if common.is_quitting => ("stopping everything".to_owned(), Tone::Middling),
            () if is_paused => ("paused: p continues".to_owned(), Tone::Middling),
            () => (stage.clone(), Tone::Busy),
        };
        let mut line = Line::from(common.span_of(format!(" {text}"), tone));
        if !self.current.as_ref().is_some_and(|current| current.is_loaded) {
            line.push_span(Span::raw(format!(", {}", clock(now.saturating_since(*since)))));
        }
        if self.wishes.is_paused() && !is_paused && !common.is_quitting {
            let when = match &self.current {
                Some(_) => " · pauses after this trial",
                None => " · pauses before the next trial",
            };
            line.push_span(common.span_of(when, Tone::Middling));
        }
        common.ends(frame, areas[1], line, &format!("{} ", common.cost()));
    }

    /// Draws each strand as a line with its trials.
    fn grid(&self, frame: &mut Frame<'_>, area: Rect) {
        let height = usize::from(area.height);
        let current = self.strand();
        // The current strand is always visible.
        let skipped = (current + 1).saturating_sub(height);
        let widest = self.rows.iter().map(|row| row.strand.outlined.label.chars().count()).max();
        let label = widest.unwrap_or(0).min(usize::from(area.width) / 2);
        let cells = usize::from(area.width).saturating_sub(label + 14);
        let rows = self.rows.iter().enumerate().skip(skipped).take(height);
        for ((number, row), y) in rows.zip(area.y..) {
            let common = &self.common;
            let (sign, tone) = match &row.strand.ending {
                _ if number == current && row.strand.ending.is_none() => ("▸", Tone::Strong),
                None => (" ", Tone::Plain),
                Some(Ending::Failing(_) | Ending::NoAnswer(_)) => ("✗", Tone::Bad),
                Some(_) => ("✓", Tone::Good),
            };
            let name: String = row.strand.outlined.label.chars().take(label).collect();
            let mut line = Line::from(common.span_of(format!("{sign} {name:<label$} "), tone));
            let is_running = self.current.as_ref().is_some_and(|c| c.strand == number);
            line.extend(row.trials(cells, is_running, common));
            if let Some(p99) = row.cells.last().and_then(|cell| cell.p99_ns) {
                let used = line.width();
                let p99 = format!("{:>9}", Nanos(p99).to_string());
                let room = usize::from(area.width).saturating_sub(9 + used);
                line.push_span(Span::raw(format!("{}{p99}", " ".repeat(room))));
            }
            frame.render_widget(line, Rect { y, height: 1, ..area });
        }
    }

    /// Draws the trials of the only strand, a line for each.
    fn path(&self, frame: &mut Frame<'_>, area: Rect) {
        let common = &self.common;
        let Some(row) = self.rows.first() else { return };
        let is_running = self.current.is_some();
        let ended = usize::from(area.height).saturating_sub(usize::from(is_running));
        let ended = &row.cells[row.cells.len().saturating_sub(ended)..];
        let mut lines: Vec<Line<'_>> = ended.iter().map(|cell| cell.line(common)).collect();
        if let Some(current) = &self.current {
            let asked = load_of(current.asked, current.is_probe);
            let text = format!("{:>3} {asked:>10}  ● running", current.number);
            lines.push(Line::from(common.span_of(text, Tone::Busy)));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// Returns what the current strand has shown so far.
    fn verdict(&self) -> Option<(String, Tone)> {
        let row = self.rows.get(self.strand())?;
        match (&row.strand.ending, &row.near) {
            (Some(Ending::Answered(why)), _) => Some((format!("ended: {why}"), Tone::Good)),
            (Some(Ending::Failing(why)), _) => {
                Some((format!("the service fails: {why}"), Tone::Bad))
            }
            (Some(Ending::NoAnswer(why)), _) => Some((format!("no answer: {why}"), Tone::Bad)),
            (_, Some(near)) => Some((near.clone(), Tone::Strong)),
            _ => Some((row.spread()?, Tone::Strong)),
        }
    }

    fn plan(&self, frame: &mut Frame<'_>, area: Rect) {
        let block = Block::bordered().title(match &self.rows[..] {
            [_] => " plan: trial, load, result, p99 ",
            _ => " plan: trials and the last p99 ",
        });
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let verdict = self.verdict();
        let width = usize::from(inner.width).max(1);
        let below = match &verdict {
            Some((text, _)) if 3 < inner.height => text.chars().count().div_ceil(width).min(2),
            _ => 0,
        };
        let below = Constraint::Length(below as u16);
        let [trials, below] = Layout::vertical([Constraint::Min(0), below]).areas(inner);
        match &self.rows[..] {
            [_] => self.path(frame, trials),
            _ => self.grid(frame, trials),
        }
        if let Some((text, tone)) = verdict {
            let text = self.common.span_of(text, tone);
            frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), below);
        }
    }

    fn live(&self, frame: &mut Frame<'_>, area: Rect) {
        let label = |current: &Current| {
            let label = self.rows.get(current.strand).map_or("", |row| &row.strand.outlined.label);
            let load = load_of(current.asked, current.is_probe);
            let of = if label.is_empty() { String::new() } else { format!(" · {label}") };
            format!(" trial {} · {load}{of} ", current.number)
        };
        let title = self.current.as_ref().map_or(" trial ".to_owned(), label);
        let block = Block::bordered().title(title);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let is_loaded = self.current.as_ref().is_none_or(|current| current.is_loaded);
        if is_loaded {
            self.figures.draw(frame, inner, &self.common);
        }
    }

    fn log(&self, frame: &mut Frame<'_>, area: Rect) {
        let block = Block::bordered().title(" log ");
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let first = self.lines.len().saturating_sub(usize::from(inner.height));
        let line = |(at, text): &(Nanos, String)| {
            // A message may have several lines.
            let text = text.replace('\n', " ");
            let at = self.common.span_of(format!("{:>7}  ", clock(*at)), Tone::Faint);
            Line::from(vec![at, Span::raw(text)])
        };
        let lines: Vec<Line<'_>> = self.lines.iter().skip(first).map(line).collect();
        frame.render_widget(Paragraph::new(lines), inner);
    }
}

impl View for Experiment {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn key(&mut self, key: char) {
        match key {
            'p' => {
                self.wishes.toggle_pause();
            }
            's' => self.wishes.end_wait(),
            'r' if self.current.as_ref().is_some_and(|current| current.is_loaded) => {
                self.wishes.repeat_trial();
            }
            _ => {}
        }
    }

    fn draw(&self, frame: &mut Frame<'_>, now: Instant) {
        let area = frame.area();
        let log = if 20 <= area.height { area.height / 4 } else { 0 };
        let [first, second, body, log, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(log),
            Constraint::Length(1),
        ])
        .areas(area);
        self.header(frame, [first, second], now);
        if WIDE <= area.width {
            let halves = [Constraint::Percentage(50), Constraint::Percentage(50)];
            let [left, right] = Layout::horizontal(halves).areas(body);
            self.plan(frame, left);
            self.live(frame, right);
        } else if 14 <= body.height {
            let halves = [Constraint::Percentage(50), Constraint::Percentage(50)];
            let [above, below] = Layout::vertical(halves).areas(body);
            self.live(frame, above);
            self.plan(frame, below);
        } else if self.current.as_ref().is_some_and(|current| current.is_loaded) {
            self.live(frame, body);
        } else {
            self.plan(frame, body);
        }
        if 0 < log.height {
            self.log(frame, log);
        }
        let pause = if self.wishes.is_paused() { "continue" } else { "pause" };
        let own = [('p', pause), ('s', "end wait"), ('r', "repeat")];
        self.common.keys(frame, keys, &own);
        if self.common.shows_help {
            self.common.help(frame, HELP);
        }
    }
}

impl Row {
    fn new(outlined: Outlined) -> Row {
        Row { strand: Strand::new(outlined), cells: Vec::new(), near: None }
    }

    /// Returns a symbol for each trial: those that ended, the running one, and those that are needed
    /// at least.
    fn trials<'a>(&self, width: usize, is_running: bool, common: &Common) -> Vec<Span<'a>> {
        let mut symbols: Vec<(char, Tone)> = self.cells.iter().map(Cell::symbol).collect();
        symbols.extend(is_running.then_some(('●', Tone::Busy)));
        let before = symbols.len().saturating_sub(width);
        let mut spans: Vec<Span<'a>> = symbols[before..]
            .iter()
            .map(|&(symbol, tone)| common.span_of(symbol.to_string(), tone))
            .collect();
        if 0 < before && !spans.is_empty() {
            spans[0] = common.span_of("…", Tone::Faint);
        }
        if self.strand.ending.is_none() {
            let fewest = self.strand.fewest() as usize;
            let needed = fewest - usize::from(is_running && 0 < fewest);
            let room = width.saturating_sub(spans.len());
            spans.push(common.span_of("·".repeat(needed.min(room)), Tone::Faint));
        }
        spans
    }

    /// Returns the median and the spread of the p99 at the last load, if it was repeated.
    fn spread(&self) -> Option<String> {
        let answers =
            |cell: &&Cell| !cell.is_probe && !matches!(cell.mark, Mark::Invalid | Mark::Aborted);
        let last = self.cells.iter().rfind(answers)?;
        let same = self.cells.iter().filter(answers).filter(|cell| cell.asked == last.asked);
        let times: Vec<f64> = same.filter_map(|cell| Some(cell.p99_ns? as f64)).collect();
        let (mean, deviation) = estimate::moments(&times)?;
        let median = Nanos(estimate::median(&times)? as u64);
        let (share, count) = (100.0 * deviation / mean, times.len());
        Some(format!("median p99 {median}, RSD {share:.1} % of {count} trials"))
    }
}

impl Cell {
    fn symbol(&self) -> (char, Tone) {
        match self.mark {
            Mark::Ok => ('✓', Tone::Good),
            Mark::Slowed => ('≈', Tone::Good),
            Mark::Missed | Mark::Failing => ('✗', Tone::Middling),
            Mark::Undecided => ('?', Tone::Middling),
            Mark::Saturated => ('▲', Tone::Middling),
            Mark::Invalid => ('!', Tone::Bad),
            Mark::Aborted => ('†', Tone::Bad),
        }
    }

    fn line<'a>(&self, common: &Common) -> Line<'a> {
        let (symbol, tone) = self.symbol();
        let asked = load_of(self.asked, self.is_probe);
        let p99 = self.p99_ns.map_or(String::new(), |p99| Nanos(p99).to_string());
        let word = self.mark.word();
        Line::from(vec![
            Span::raw(format!("{:>3} {asked:>10}  ", self.number)),
            common.span_of(format!("{symbol} {word:<11}"), tone),
            Span::raw(p99),
        ])
    }
}

fn load_of(asked: Option<f64>, is_probe: bool) -> String {
    match (is_probe, asked) {
        (true, _) => "probe".to_owned(),
        (false, Some(rate)) => format!("{}/s", grouped(rate)),
        (false, None) => "as written".to_owned(),
    }
}
