//! The delivery of events trial by trial, a table for each level.

use std::fmt::Write;

use results::metric::Metric;

use super::{Cell, MOST_ROWS, Row, Table, trials};
use crate::run::{Run, Trial};
use crate::text::{count, escape};

/// The percentiles of the tables. The guides that stop at the high ones cannot see a timer: the p50
/// stands beside them.
const COLUMNS: [Metric; 4] =
    [Metric::DeliveryP50, Metric::DeliveryP99, Metric::DeliveryP999, Metric::DeliveryP9999];

/// Writes the valid trials of each level; nothing if no delivery was noted.
pub(crate) fn write(run: &Run, out: &mut String) -> std::fmt::Result {
    if !run.of_delivery {
        return Ok(());
    }
    let mut levels = run.valid_by_level();
    levels.iter_mut().for_each(|(_, trials)| trials.retain(|trial| trial.delivery().is_some()));
    levels.retain(|(_, trials)| !trials.is_empty());
    if levels.is_empty() {
        return Ok(());
    }
    out.push_str("<section><h2>Delivery times by trial</h2>\n<div class=\"charts\">\n");
    for (level, trials) in &levels {
        let title = level.map_or_else(|| count(trials.len(), "valid trial"), str::to_owned);
        let table = table(trials).html();
        writeln!(
            out,
            "<figure><figcaption><h3>{}</h3></figcaption>{table}</figure>",
            escape(&title)
        )?;
    }
    out.push_str("</div></section>\n");
    Ok(())
}

fn table(trials: &[&Trial]) -> Table {
    let caption = match trials.len() <= MOST_ROWS {
        true => "Milliseconds from the intended start to the first arrival; a lost event counts with the \
                 time that it was waited for. In grey: fewer than ten events lie beyond.".to_owned(),
        false => format!("Milliseconds; the first {MOST_ROWS} of {}.", count(trials.len(), "trial")),
    };
    let names = COLUMNS.iter().filter_map(|metric| Some(metric.level()?.name()));
    let columns = ["trial".to_owned()].into_iter().chain(names);
    let mut table = Table::new(&caption, columns.chain(["lost", "twice"].map(str::to_owned)));
    for trial in trials.iter().take(MOST_ROWS) {
        let mut cells = vec![Cell::number(trial.entry.trial.to_string())];
        let observed = trial.entry.observed.as_ref();
        for metric in COLUMNS {
            let (Some(level), Some(observed)) = (metric.level(), observed) else { continue };
            let ns = metric.of(observed);
            let from = trial.delivery().and_then(|delivery| delivery.at_least_from_ns);
            let is_at_least = |ns: f64| from.is_some_and(|from| from as f64 <= ns);
            let in_ms =
                |ns: f64| format!("{}{:.3}", if is_at_least(ns) { "≥ " } else { "" }, ns / 1e6);
            let cell = trials::quantile(ns.map(|ns| ns as u64), trial.samples(), level);
            cells.push(match ns {
                Some(ns) => cell.text(in_ms(ns)),
                None => cell,
            });
        }
        let counted = trial.delivery().map(|delivery| [delivery.lost, delivery.duplicated]);
        let counted = counted.into_iter().flatten();
        cells.extend(counted.map(|count| Cell::number(count.to_string())));
        table.push(Row::new(cells));
    }
    table
}
