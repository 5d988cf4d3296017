//! The conclusions from the spreads of several levels: which step made a figure more reproducible.

use measure::quantity::p_in_words;
use measure::spread::SpreadTest;
use serde::{Deserialize, Serialize};

use super::{Analysis, Figures, Metric, NO_TEST, Pair, SIGNIFICANCE};

#[cfg(test)]
mod tests;

/// The judgement on the spreads of two levels.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct SpreadVerdict {
    pub verdict: Reproducibility,
    pub decided_by: Test,
    /// The probability of such spreads by this test, if the true ones were equal.
    pub p: f64,
    /// The correlation of each trial with the one before, if it is too large for a conclusion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autocorrelation: Option<f64>,
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
    /// All exchanges of the distances from the medians, whatever their distribution.
    Permutation,
    /// In analyses of version 1: it assumes normal logarithms.
    F,
    /// In analyses of version 1, where a trial lies apart from its level.
    BrownForsythe,
}

/// Judges the spreads of two levels by one test, whatever the trials look like: a choice of the test by a
/// look at them makes more errors than each test promises.
pub(super) fn judge(test: SpreadTest) -> SpreadVerdict {
    let SpreadTest { ratio, p, autocorrelation, .. } = test;
    let verdict = match p <= SIGNIFICANCE && autocorrelation.is_none() {
        true if ratio < 1.0 => Reproducibility::Better,
        true => Reproducibility::Worse,
        false => Reproducibility::Undecided,
    };
    SpreadVerdict { verdict, decided_by: Test::Permutation, p, autocorrelation }
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
    let untested = |pair: &&Pair| pair.spread.is_none();
    let untested = self::steps(metric).into_iter().filter(untested);
    let untested: Vec<String> = untested.map(not_tested).collect();
    if steps.is_empty() && untested.is_empty() {
        return None;
    }
    if spreads.is_empty() {
        return Some(format!("{}: not tested: {}.", metric.metric, untested.join(", ")));
    }
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
    if !untested.is_empty() {
        text += &format!(" Not tested: {}.", untested.join(", "));
    }
    Some(text)
}

/// `free → pinned (all trials of pinned are equal)`
fn not_tested(pair: &Pair) -> String {
    let mut reasons = pair.absent.iter().filter_map(|text| text.strip_prefix(NO_TEST));
    let reason = reasons.next().unwrap_or("fewer than three trials");
    format!("{} → {} ({reason})", pair.a, pair.b)
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
        let p = p_in_words(self.p);
        let p = match self.decided_by {
            Test::Permutation | Test::F => p,
            Test::BrownForsythe => format!("{p} by Brown-Forsythe, since a trial lies apart"),
        };
        match self.autocorrelation {
            None => p,
            Some(r) => format!("{p}, but each trial resembles the one before: r = {r:.2}"),
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
