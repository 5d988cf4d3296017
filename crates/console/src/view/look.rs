//! The parts that all views share: colours with their symbols, the choices of the keys, the first
//! and the last lines, and the help.

use measure::Nanos;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::output::{self, Stream};

/// The state that every view has.
#[derive(Clone, Debug)]
pub struct Common {
    pub has_colours: bool,
    pub shows_help: bool,
    /// The time that the charts cover, as its place in [`SPANS`].
    span: usize,
    pub scale: Scale,
    /// The user wants the run to end, and it is being stopped.
    pub is_quitting: bool,
    /// The share of a CPU that the view uses itself; absent until it is known.
    pub cost: Option<f64>,
    /// The CPUs of the system under test, as far as they are known.
    pub sut: Vec<u32>,
    /// The CPUs of the generator, as far as they are known.
    pub load: Vec<u32>,
}

/// The times that charts can cover. The last one is also the longest past that is kept.
pub const SPANS: [Nanos; 4] =
    [Nanos::from_secs(30), Nanos::from_secs(60), Nanos::from_secs(300), Nanos::from_secs(3600)];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scale {
    Linear,
    Logarithmic,
}

impl Common {
    /// The terminal and the user say whether the view has colours.
    pub fn from_environment() -> Common {
        Common::new(output::has_colours(Stream::Stderr))
    }

    pub fn new(has_colours: bool) -> Common {
        Common {
            has_colours,
            shows_help: false,
            span: 1,
            scale: Scale::Linear,
            is_quitting: false,
            cost: None,
            sut: Vec::new(),
            load: Vec::new(),
        }
    }

    pub fn span(&self) -> Nanos {
        SPANS[self.span]
    }

    /// Handles a key that all views have; returns false if it is another one.
    pub fn key(&mut self, key: char) -> bool {
        match key {
            'w' => self.span = (self.span + 1) % SPANS.len(),
            'l' => {
                self.scale = match self.scale {
                    Scale::Linear => Scale::Logarithmic,
                    Scale::Logarithmic => Scale::Linear,
                }
            }
            '?' | 'h' => self.shows_help = !self.shows_help,
            _ => return false,
        }
        true
    }

    pub fn style(&self, tone: Tone) -> Style {
        let style = Style::new();
        match (tone, self.has_colours) {
            (Tone::Plain, _) => style,
            (Tone::Strong, _) => style.add_modifier(Modifier::BOLD),
            (Tone::Faint, true) => style.fg(Color::DarkGray),
            (Tone::Good, true) => style.fg(Color::Green),
            (Tone::Middling, true) => style.fg(Color::Yellow),
            (Tone::Bad, true) => style.fg(Color::Red),
            (Tone::Busy, true) => style.fg(Color::Cyan),
            (Tone::Bad | Tone::Busy, false) => style.add_modifier(Modifier::BOLD),
            (Tone::Faint | Tone::Good | Tone::Middling, false) => style,
        }
    }

    pub fn span_of<'a>(&self, text: impl Into<String>, tone: Tone) -> Span<'a> {
        Span::styled(text.into(), self.style(tone))
    }

    /// Draws a line with a text at each end; the right one is left out where there is no room.
    pub fn ends(&self, frame: &mut Frame<'_>, area: Rect, left: Line<'_>, right: &str) {
        let width = (left.width() + 2 + right.chars().count()) as u16;
        frame.render_widget(left, area);
        if width <= area.width {
            let right = Line::from(self.span_of(right, Tone::Faint));
            frame.render_widget(right.alignment(Alignment::Right), area);
        }
    }

    /// Returns the cost of the view in words.
    pub fn cost(&self) -> String {
        match self.cost {
            Some(share) => format!("view {:.1} % of a CPU", 100.0 * share),
            None => String::new(),
        }
    }

    /// Draws the last line: keys with their meaning.
    pub fn keys(&self, frame: &mut Frame<'_>, area: Rect, own: &[(char, &str)]) {
        let scale = match self.scale {
            Scale::Linear => "log",
            Scale::Logarithmic => "linear",
        };
        let window = format!("last {}", self.span().in_words());
        let common = [('w', &*window), ('l', scale), ('q', "quit"), ('?', "help")];
        let mut line = Line::default();
        for (key, meaning) in own.iter().chain(&common) {
            line.push_span(self.span_of(format!(" {key}"), Tone::Strong));
            line.push_span(Span::raw(format!(" {meaning} ")));
        }
        frame.render_widget(line, area);
    }

    /// Draws the help over the rest.
    pub fn help(&self, frame: &mut Frame<'_>, text: &str) {
        let (width, height) = text.lines().fold((0, 0), |(width, height), line| {
            (width.max(line.chars().count() as u16), height + 1)
        });
        let area = centered(frame.area(), width + 4, height + 2);
        frame.render_widget(Clear, area);
        let text: String = text.lines().map(|line| format!(" {line}\n")).collect();
        frame.render_widget(Paragraph::new(text).block(Block::bordered().title(" help ")), area);
    }
}

/// The meaning of a colour. What it says is always there as a symbol or a word, too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Middling,
    Bad,
    Busy,
}

fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let [row] = Layout::vertical([Constraint::Length(height)])
        .flex(ratatui::layout::Flex::Center)
        .areas(area);
    let [cell] = Layout::horizontal([Constraint::Length(width)])
        .flex(ratatui::layout::Flex::Center)
        .areas(row);
    cell
}

/// Returns the length of something that lasts: `0:07`, `4:12`, `1:02:03`.
pub fn clock(length: Nanos) -> String {
    let seconds = length.0 / Nanos::SECOND.0;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
