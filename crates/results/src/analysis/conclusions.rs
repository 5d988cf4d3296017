//! The conclusions from the spreads of several levels: which step made a figure more reproducible.

use measure::spread::{self, SpreadTest};
use serde::{Deserialize, Serialize};

use super::{Analysis, Figures, Metric, Pair, SIGNIFICANCE};

#[cfg(test)]
mod tests;

/// The judgement on the spreads of two levels.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct SpreadVerdict {
    pub verdict: Reproducibility,
    pub decided_by: Test,
    /// The probability of such spreads by this test, if the true ones were equal.
    pub p: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reproducibility {
    /// The trials of the second level lie closer together.
    Better,
    Worse,
    /// No difference is shown; this does not show that there is none.
    Undecided,
}

/// A test of two spreads.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// It assumes normal logarithms.
    F,
    /// It assumes less, and needs more trials: it decides where a trial lies apart from its level.
    BrownForsythe,
}

/// Judges the spreads of two levels; `None` with fewer than three trials in one.
pub(super) fn judge(a: &[f64], b: &[f64]) -> Option<SpreadVerdict> {
    let SpreadTest { f, brown_forsythe } = spread::compare_spreads(a, b)?;
    let has_outlier = |values: &[f64]| !spread::outliers(values, SIGNIFICANCE).is_empty();
    let (decided_by, p) = match has_outlier(a) || has_outlier(b) {
        true => (Test::BrownForsythe, brown_forsythe),
        false => (Test::F, f),
    };
    let rsd = |values: &[f64]| Some(spread::rsd(values, 0.95)?.rsd);
    let verdict = match p <= SIGNIFICANCE {
        true if rsd(b)? < rsd(a)? => Reproducibility::Better,
        true => Reproducibility::Worse,
        false => Reproducibility::Undecided,
    };
    Some(SpreadVerdict { verdict, decided_by, p })
}

impl Analysis {
    /// Returns for each metric of several levels what their spreads say: `p99: the RSD is 3.20 % (1.92 …
    /// 9.20 %) at free, 0.26 % (0.16 … 0.76 %) at pinned. More reproducible: free → pinned (RSD × 0.08,
    /// p = 0.0003).`
    pub fn conclusions(&self) -> Vec<String> {
        self.metrics.iter().filter_map(conclusion).collect()
    }
}

fn conclusion(metric: &Metric) -> Option<String> {
    let spread_of = |figures: &Figures| {
        let (low, high) = figures.rsd_interval?;
        Some(format!("{} ({:.2} … {})", percent(figures.rsd?), 100.0 * low, percent(high)))
    };
    let levels = metric.levels.iter();
    let spreads = levels.filter_map(|l| Some(format!("{} at {}", spread_of(&l.figures)?, l.level)));
    let spreads: Vec<String> = spreads.collect();
    let steps: Vec<(&Pair, SpreadVerdict)> =
        steps(metric).into_iter().filter_map(|pair| Some((pair, pair.spread?))).collect();
    steps.first()?;
    let mut text = format!("{}: the RSD is {}.", metric.metric, spreads.join(", "));
    for (verdict, words) in [
        (Reproducibility::Better, "More reproducible"),
        (Reproducibility::Worse, "Less reproducible"),
        (Reproducibility::Undecided, "No difference is shown"),
    ] {
        let here = steps.iter().filter(|(_, spread)| spread.verdict == verdict);
        let here: Vec<String> = here.map(|(pair, spread)| step(pair, *spread)).collect();
        if !here.is_empty() {
            text += &format!(" {words}: {}.", here.join(", "));
        }
    }
    Some(text)
}

/// Returns the judgement on the first and the last level in a sentence: `free → pinned: p99 more reproducible
/// (RSD × 0.08, p = 0.0003)`.
pub fn spreads_in_words(metric: &Metric) -> Option<String> {
    let pair = steps(metric).into_iter().next()?;
    let spread = pair.spread?;
    let ratio = pair.rsd_ratio.map(|ratio| format!("RSD × {ratio:.2}, ")).unwrap_or_default();
    let (name, p) = (&metric.metric, spread.p_in_words());
    Some(format!("{} → {}: {name} {} ({ratio}{p})", pair.a, pair.b, spread.word()))
}

/// The steps from each level to the next, and the whole way, which a reader asks for first.
fn steps(metric: &Metric) -> Vec<&Pair> {
    let names: Vec<&str> = metric.levels.iter().map(|level| level.level.as_str()).collect();
    let pair = |a: &str, b: &str| metric.pairs.iter().find(|pair| pair.a == a && pair.b == b);
    let whole = names.first().zip(names.last()).filter(|_| 2 < names.len());
    let whole = whole.and_then(|(first, last)| pair(first, last));
    whole.into_iter().chain(names.windows(2).filter_map(|two| pair(two[0], two[1]))).collect()
}

/// `free → pinned (RSD × 0.08, p = 0.0003)`
fn step(pair: &Pair, spread: SpreadVerdict) -> String {
    let ratio = pair.rsd_ratio.map(|ratio| format!("RSD × {ratio:.2}, ")).unwrap_or_default();
    format!("{} → {} ({ratio}{})", pair.a, pair.b, spread.p_in_words())
}

impl SpreadVerdict {
    /// `p = 0.0003`; with the test where it is not the usual one.
    pub fn p_in_words(&self) -> String {
        let p =
            if self.p < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {:.4}", self.p) };
        match self.decided_by {
            Test::F => p,
            Test::BrownForsythe => format!("{p} by Brown-Forsythe, since a trial lies apart"),
        }
    }

    pub fn word(&self) -> &'static str {
        match self.verdict {
            Reproducibility::Better => "more reproducible",
            Reproducibility::Worse => "less reproducible",
            Reproducibility::Undecided => "no difference shown",
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}
