//! The levels of an experiment side by side: the step that made a figure more reproducible.

use std::fmt::Write;

use measure::quantity::probability;
use results::analysis::conclusions::{Reproducibility, Test};
use results::analysis::{Analysis, Metric, Pair, Verdict};

use super::{Cell, Row, Table};
use crate::run::Run;
use crate::text::escape;

/// Writes the conclusions and the tested pairs of each load; nothing without levels that were compared.
pub(crate) fn write(run: &Run, out: &mut String) -> std::fmt::Result {
    let analyses = run.answer.iter().flat_map(|answer| &answer.between_levels);
    for analysis in analyses.filter(|analysis| !analysis.metrics.is_empty()) {
        out.push_str("<section><h2>Between the levels</h2>\n<ul>\n");
        for text in analysis.conclusions() {
            writeln!(out, "<li>{}</li>", escape(&text.replace('_', " ")))?;
        }
        for warning in &analysis.warnings {
            writeln!(out, "<li>! {}</li>", escape(&warning.text.replace('_', " ")))?;
        }
        writeln!(out, "</ul>\n{}</section>", table(analysis).html())?;
    }
    Ok(())
}

const CAPTION: &str = "The ratio is that of the geometric means, with the interval of Welch’s t test; the pairs of a \
    metric share the probability of an error, 5 % in all. The spreads are tested pair by pair, each at 5 %, by all \
    exchanges of the distances from the medians, whatever their distribution. F, which assumes normal logarithms, and Brown-Forsythe, which finds little in few trials, are there \
    to look at.";

fn table(analysis: &Analysis) -> Table {
    let columns = [
        "metric",
        "from",
        "to",
        "ratio",
        "interval from",
        "to",
        "level",
        "RSD ×",
        "p",
        "p (F)",
        "p (B.-F.)",
        "spread",
    ];
    let mut table = Table::new(CAPTION, columns);
    for metric in &analysis.metrics {
        metric.pairs.iter().for_each(|pair| table.push(row(metric, pair)));
    }
    table
}

fn row(metric: &Metric, pair: &Pair) -> Row {
    let ratio = |value: Option<f64>| Cell::maybe(value.map(|value| format!("{value:.3}")));
    let p = |test: Test, value: Option<f64>| {
        let decides = pair.spread.is_some_and(|spread| spread.decided_by == test);
        let cell = Cell::maybe(value.map(probability));
        if decides { cell.detail(Some("decides".to_owned())) } else { cell }
    };
    let permutation = pair.spread.filter(|spread| spread.decided_by == Test::Permutation);
    let (low, high) = pair.ratio_interval.unzip();
    Row::new(vec![
        Cell::words(metric.metric.replace('_', " ")),
        Cell::words(pair.a.clone()),
        Cell::words(pair.b.clone()),
        ratio(pair.ratio),
        ratio(low),
        ratio(high),
        Cell::words(pair.verdict.map(Verdict::word).unwrap_or("–")),
        Cell::maybe(pair.rsd_ratio.map(|ratio| format!("{ratio:.2}"))),
        p(Test::Permutation, permutation.map(|spread| spread.p)),
        p(Test::F, pair.rsd_ratio_p),
        p(Test::BrownForsythe, pair.rsd_ratio_p_brown_forsythe),
        Cell::words(pair.spread.map_or_else(
            || pair.absent.last().cloned().unwrap_or_else(|| "–".to_owned()),
            |spread| {
                let symbol = match spread.verdict {
                    Reproducibility::Better => "✓",
                    Reproducibility::Worse => "✗",
                    Reproducibility::Undecided => "?",
                };
                format!("{symbol} {}", spread.word())
            },
        )),
    ])
}
