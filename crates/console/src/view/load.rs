//! The view of a single load: the live half of that of an experiment.

use measure::{Instant, Nanos};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;
use results::Tick;

use super::View;
use super::figures::Figures;
use super::look::{Common, Tone, clock};

const HELP: &str = "\
w  time that the charts cover
l  logarithmic or linear charts
q  quit: end the load, and print what it found
?  close this help";

/// The state of a load as its intervals tell it.
pub struct Single {
    common: Common,
    begun: Instant,
    headline: String,
    figures: Figures,
}

impl Single {
    /// `cpus` are those that the generator's shards are pinned to; each tick covers one `interval`.
    pub fn new(
        mut common: Common,
        headline: String,
        cpus: Vec<u32>,
        (measure, interval): (Nanos, Nanos),
        now: Instant,
    ) -> Single {
        common.load = cpus;
        Single { common, begun: now, headline, figures: Figures::new(measure, interval) }
    }

    pub fn add(&mut self, tick: Tick) {
        self.figures.add(tick);
    }
}

impl View for Single {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn draw(&self, frame: &mut Frame<'_>, now: Instant) {
        let common = &self.common;
        let [first, second, body, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let line = Line::from(common.span_of(format!(" {}", self.headline), Tone::Strong));
        common.ends(frame, first, line, &format!("{} ", clock(now - self.begun)));
        let line = match common.is_quitting {
            true => Line::from(common.span_of(" stopping", Tone::Middling)),
            false => Line::from(Span::styled(
                format!(" {}", self.figures.phase()),
                common.style(Tone::Busy),
            )),
        };
        common.ends(frame, second, line, &format!("{} ", common.cost()));
        let block = Block::bordered();
        self.figures.draw(frame, block.inner(body), common);
        frame.render_widget(block, body);
        common.keys(frame, keys, &[]);
        if common.shows_help {
            common.help(frame, HELP);
        }
    }

    fn key(&mut self, _key: char) {}
}
