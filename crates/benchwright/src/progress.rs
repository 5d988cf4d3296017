//! Shows the events of a run: lasting ones as lines, the others as one line that is overwritten.

use lab::progress::{Event, Progress};

use crate::output;

#[derive(Default)]
pub(crate) struct Transcript {
    nearness: Option<String>,
}

impl Progress for Transcript {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Nearness(text) => self.nearness = Some(text.clone()),
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
