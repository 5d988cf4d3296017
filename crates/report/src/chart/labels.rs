//! The labels of places below an x axis, which has no ticks: names, or as many numbers as fit.

use crate::plot::Plot;

/// The most numbers below an x axis.
const MOST_NUMBERS: usize = 12;

/// The names of all places if they fit beside each other, otherwise their numbers, from 1.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Labels {
    Names,
    Numbers,
}

impl Labels {
    /// Returns the labels that fit for places with these names.
    pub(crate) fn of<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Labels {
        let most = Plot::letters() / names.len() as f64 - 1.0;
        let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
        if longest as f64 <= most { Labels::Names } else { Labels::Numbers }
    }

    /// Returns the place as the table names it.
    pub(crate) fn in_table(self, index: usize, name: &str) -> String {
        match self {
            Labels::Names => name.to_owned(),
            Labels::Numbers => format!("{}: {name}", index + 1),
        }
    }
}

/// Returns the round numbers that fit below so many places.
pub(crate) fn numbers(places: usize) -> impl Iterator<Item = usize> {
    let step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
    let step = step.into_iter().find(|step| places / step <= MOST_NUMBERS).unwrap_or(places);
    (1..=places).filter(move |number| number % step == 0)
}

/// Writes the labels below the places, in their order.
pub(crate) fn write(plot: &mut Plot, labels: Labels, names: &[String]) {
    match labels {
        Labels::Names => {
            names.iter().enumerate().for_each(|(index, name)| plot.place(index as f64, name));
        }
        Labels::Numbers => numbers(names.len())
            .for_each(|number| plot.place(number as f64 - 1.0, &number.to_string())),
    }
}
