//! The events of a subscriber from the oldest one whose delivery has not ended to the last one read.

use std::collections::BTreeMap;

use super::Position;

#[derive(Debug, Default)]
pub struct Window {
    /// True for those that have ended, while an older one has not.
    events: BTreeMap<Position, bool>,
    last: Option<Position>,
}

impl Window {
    /// Adds an event; false if it is there already. A broker may send one again while it is on its
    /// way.
    pub fn take(&mut self, position: Position) -> bool {
        if self.events.contains_key(&position) {
            return false;
        }
        self.events.insert(position, false);
        self.last = Some(position);
        true
    }

    /// Notes that the deliveries of these events have ended.
    pub fn end(&mut self, positions: impl IntoIterator<Item = Position>) {
        for position in positions {
            if let Some(ended) = self.events.get_mut(&position) {
                *ended = true;
            }
        }
        while let Some(oldest) = self.events.first_entry().filter(|oldest| *oldest.get()) {
            oldest.remove();
        }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the position before which everything has ended; `None` before anything was read.
    pub fn low(&self) -> Option<Position> {
        let oldest = self.events.first_key_value().map(|(oldest, _)| *oldest);
        oldest.or_else(|| Some(self.last? + 1))
    }

    /// Returns the position after the last event that was read.
    pub fn next(&self) -> Option<Position> {
        Some(self.last? + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_before_the_oldest_event_on_its_way_has_ended() {
        let mut window = Window::default();
        assert_eq!((window.low(), window.next()), (None, None));
        for position in [5, 6, 8] {
            assert!(window.take(position));
        }
        window.end([6]);
        assert_eq!((window.low(), window.len()), (Some(5), 3));
        window.end([5]);
        assert_eq!((window.low(), window.len()), (Some(8), 1));
        window.end([8]);
        assert_eq!((window.low(), window.next(), window.is_empty()), (Some(9), Some(9), true));
    }

    #[test]
    fn an_event_that_comes_again_is_taken_once_while_it_is_there() {
        let mut window = Window::default();
        assert!(window.take(1) && window.take(2) && !window.take(1));
        window.end([2, 7]);
        assert!(!window.take(2), "an older one has not ended");
        window.end([1]);
        assert!(window.take(1), "what was forgotten is delivered again");
    }
}
