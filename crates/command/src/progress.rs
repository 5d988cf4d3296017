//! Shows the events of a run: on a terminal as a view, elsewhere as lines; and its live figures to a
//! Prometheus.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use console::view::{self, Common, Shown};

use lab::Host;
use lab::progress::{Event, Progress};
use net::clock;

use crate::view::Experiment;
use console::output::{self, Failure};

use metrics::Metrics;

mod metrics;

/// The ways to watch a run, and to read its answer.
#[derive(Args, Debug)]
pub(crate) struct Watched {
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Lines only, without the view that takes the terminal
    #[arg(long)]
    pub(crate) no_tui: bool,
    /// Show the live figures to a Prometheus at http://ADDRESS:PORT/metrics while the run lasts;
    /// port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// The places where the events of a run are shown, until this is dropped.
pub(crate) struct Watcher {
    place: Display,
    metrics: Option<Metrics>,
}

enum Display {
    Lines(Transcript),
    View(Shown<Experiment>),
}

impl Watcher {
    /// Takes the terminal, unless only lines are wanted or there is none that can show a view, and
    /// listens where the live figures are wanted.
    pub(crate) fn begin(shown: &Watched, host: &Host) -> Result<Watcher, Failure> {
        // First, since a view hides what goes wrong here.
        let metrics = shown.metrics.map(Metrics::listen).transpose()?;
        Ok(Watcher { place: Display::begin(shown.no_tui, host), metrics })
    }

    /// Returns a function that shows a line which is not an event of the run.
    pub(crate) fn teller(&self) -> impl Fn(&str) + Clone + 'static {
        let view = match &self.place {
            Display::Lines(_) => None,
            Display::View(shown) => Some(shown.shared()),
        };
        move |line: &str| match &view {
            Some(view) => view::lock(view).tell(line.to_owned(), clock::now()),
            None => output::error(line),
        }
    }

    /// Gives the terminal back, and prints what lasts.
    pub(crate) fn end(self) {
        if let Display::View(shown) = self.place {
            let view = shown.shared();
            drop(shown);
            view::lock(&view).take_lines().iter().for_each(|line| output::error(line));
        }
    }
}

impl Display {
    fn begin(only_lines: bool, host: &Host) -> Display {
        if only_lines || !view::is_usable() {
            return Display::Lines(Transcript::default());
        }
        let common = Common::from_environment();
        let view = Experiment::new(common, Arc::clone(&host.wishes), clock::now());
        match Shown::begin(view, Arc::clone(&host.interrupted)) {
            Ok(shown) => Display::View(shown),
            Err(error) => {
                output::error(&format!("! the terminal cannot show a view, only lines: {error}"));
                Display::Lines(Transcript::default())
            }
        }
    }
}

impl Progress for Watcher {
    fn event(&mut self, event: &Event<'_>) {
        if let Some(metrics) = &mut self.metrics {
            metrics.event(event);
        }
        match &mut self.place {
            Display::Lines(transcript) => transcript.event(event),
            Display::View(shown) => shown.view().fold(event, clock::now()),
        }
    }
}

/// Shows lasting events as lines, the others as one line that is overwritten.
#[derive(Default)]
pub(crate) struct Transcript {
    nearness: Option<String>,
}

impl Progress for Transcript {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Stands { near: None, .. } | Event::Planned { .. } | Event::Begins { .. } => {}
            Event::Stands { near: Some(text), .. } => self.nearness = Some(text.clone()),
            Event::Tick { .. } => {
                let nearness = self.nearness.as_ref().map(|text| format!(" · {text}"));
                output::transient(&format!("{event}{}", nearness.unwrap_or_default()));
            }
            _ if event.is_lasting() => {
                output::clear();
                output::error(&event.to_string());
            }
            _ => output::transient(&event.to_string()),
        }
    }
}
