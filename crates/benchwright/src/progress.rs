//! Shows the events of a run: on a terminal as a view, elsewhere as lines.

use std::sync::Arc;

use lab::Host;
use lab::progress::{Event, Progress};
use net::clock;

use crate::output;
use crate::terminal::{self, Common, Experiment, Shown};

/// The place where the events of a run are shown, until this is dropped.
pub(crate) enum Watcher {
    Lines(Transcript),
    View(Shown<Experiment>),
}

impl Watcher {
    /// Takes the terminal, unless `only_lines` are wanted or there is none that can show a view.
    pub(crate) fn begin(only_lines: bool, host: &Host) -> Watcher {
        if only_lines || !terminal::is_usable() {
            return Watcher::Lines(Transcript::default());
        }
        let common = Common::from_environment();
        let view = Experiment::new(common, Arc::clone(&host.wishes), clock::now());
        match Shown::begin(view, Arc::clone(&host.interrupted)) {
            Ok(shown) => Watcher::View(shown),
            Err(error) => {
                output::error(&format!("! the terminal cannot show a view, only lines: {error}"));
                Watcher::Lines(Transcript::default())
            }
        }
    }

    /// Returns a function that shows a line which is not an event of the run.
    pub(crate) fn teller(&self) -> impl Fn(&str) + Clone + 'static {
        let view = match self {
            Watcher::Lines(_) => None,
            Watcher::View(shown) => Some(shown.shared()),
        };
        move |line: &str| match &view {
            Some(view) => terminal::lock(view).tell(line.to_owned(), clock::now()),
            None => output::error(line),
        }
    }

    /// Gives the terminal back, and prints what lasts.
    pub(crate) fn end(self) {
        if let Watcher::View(shown) = self {
            let view = shown.shared();
            drop(shown);
            terminal::lock(&view).take_lines().iter().for_each(|line| output::error(line));
        }
    }
}

impl Progress for Watcher {
    fn event(&mut self, event: &Event<'_>) {
        match self {
            Watcher::Lines(transcript) => transcript.event(event),
            Watcher::View(shown) => shown.view().fold(event, clock::now()),
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
