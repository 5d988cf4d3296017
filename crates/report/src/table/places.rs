//! The columns that name the level and the search of a row.

use std::collections::BTreeSet;

use super::Cell;
use crate::run::Run;

/// The columns that are needed: those in which not all searches are equal.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    level: bool,
    search: bool,
    repetition: bool,
}

impl Places {
    pub(crate) fn of(run: &Run) -> Places {
        let searches = || run.cells.iter().flat_map(|cell| &cell.searches);
        let names: BTreeSet<&Option<String>> = searches().map(|search| &search.name).collect();
        let repetition = searches().any(|search| 1 < search.strands.len());
        let search = 1 < names.len() || repetition;
        Places { level: 1 < run.cells.len(), search, repetition }
    }

    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let level = self.level.then_some("level");
        level.into_iter().chain(self.search.then_some("search"))
    }

    /// Returns `capacity · 2`, as far as there are several of each.
    pub(crate) fn search(self, name: Option<&str>, repetition: u32) -> String {
        let repetition = self.repetition.then(|| repetition.to_string());
        let parts: Vec<&str> = name.into_iter().chain(repetition.as_deref()).collect();
        parts.join(" · ")
    }

    pub(crate) fn cells(self, level: &str, search: &str) -> Vec<Cell> {
        let level = self.level.then(|| Cell::words(level));
        level.into_iter().chain(self.search.then(|| Cell::words(search))).collect()
    }
}
