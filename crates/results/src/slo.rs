//! Service level objectives: the requirements on a target, and what the requests over them say. The requests
//! of a load are counted in `verdict`.

use std::fmt;
use std::str::FromStr;

use measure::estimate::{self, CONFIDENCE, Enough, Share as Tail};
use measure::quantity::requests;
use measure::{Nanos, Quantile, Share};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// One objective.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Slo {
    /// At least a share of the requests given by the quantile (0.99 for p99) is within `max`.
    ResponseTime { quantile: Quantile, max: Nanos },
    /// At most this share of the requests fails.
    Failures { max: Share },
    /// The same, of the requests with one label.
    OfLabel { label: Label, limit: Limit },
}

/// The limit of an objective, whichever requests it is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    ResponseTime { quantile: Quantile, max: Nanos },
    Failures { max: Share },
}

/// The label of an objective's requests: kept in place, so that an objective is small and copied freely.
#[derive(Clone, Copy, PartialEq)]
pub struct Label {
    length: u8,
    bytes: [u8; Label::MOST],
}

impl Label {
    /// The longest label that an objective can have, in bytes.
    const MOST: usize = 63;

    fn new(text: &str) -> Result<Label, String> {
        // Objectives on a command line are separated by commas.
        if text.contains(',') || text.contains(char::is_control) {
            return Err(format!(
                "the label `{}` has a comma or a control character; give these requests another label",
                text.escape_debug()
            ));
        }
        let mut label = Label { length: text.len() as u8, bytes: [0; Label::MOST] };
        let bytes = label.bytes.get_mut(..text.len()).ok_or_else(|| {
            format!(
                "the label `{text}` is longer than {} bytes; give these requests a shorter label",
                Label::MOST
            )
        })?;
        bytes.copy_from_slice(text.as_bytes());
        Ok(label)
    }

    pub fn as_str(&self) -> &str {
        let text = std::str::from_utf8(&self.bytes[..usize::from(self.length)]);
        text.expect("it was made of a text")
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// An objective as written in a file: `{"metric": "p99", "max_ns": 100000000}`.
#[derive(Deserialize, Serialize)]
struct Written {
    metric: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_share: Option<f64>,
}

/// The judgement of one load by one objective.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Judged {
    #[serde(flatten)]
    pub slo: Slo,
    /// The requests over, at most: a response time includes the generator's own lateness, and unfinished
    /// requests are among them.
    pub over: u64,
    /// The requests that are over even without their own lateness, and without the unfinished ones that
    /// may still have been answered in time: a lower bound.
    pub over_at_least: u64,
    /// The requests that were meant to start.
    pub of: u64,
    /// The least limit that the load would have met, with its lateness, by the plain share: the quantile,
    /// with failed requests as slower than all others. Absent if the objective limits no response time, or
    /// more requests failed than it allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached_ns: Option<u64>,
    pub verdict: Verdict,
    /// The decision: the verdict, or if that is undecided the comparison of the plain share.
    pub met: bool,
    /// The decision as a sentence.
    pub text: String,
}

impl Judged {
    /// Returns about how many requests decide the objective, if the share of those that are over it stays: the
    /// normal approximation, and for none of them the exact number.
    pub fn needed(&self) -> u64 {
        let allowed = self.slo.allowed().0.clamp(1e-9, 1.0 - 1e-9);
        let share = self.over as f64 / self.of.max(1) as f64;
        let apart = (allowed - share).abs().max(allowed / 10.0);
        let exact = (1.0 - CONFIDENCE).ln() / (-allowed).ln_1p();
        let normal = (1.645 / apart).powi(2) * allowed * (1.0 - allowed);
        if self.over == 0 { exact.ceil() as u64 } else { normal.ceil() as u64 }
    }

    /// Returns true if an objective on all requests is missed since more of them failed than it allows, however fast the
    /// others were.
    pub fn is_missed_by_failures(&self) -> bool {
        let have_too_many_failed = match self.slo.limit() {
            Limit::ResponseTime { .. } => self.reached_ns.is_none(),
            // Of those that did not end nobody knows it.
            Limit::Failures { .. } => self.slo.most_over(self.of) < self.over_at_least as f64,
        };
        !self.met && self.slo.label().is_none() && have_too_many_failed
    }
}

/// The conclusion from the number of requests over, at 95 % confidence.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    Fail,
    /// There were too few requests, or the generator was too late, to decide.
    Undecided,
}

/// The objectives of a load together.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// True if all of them were met.
    pub met: bool,
    /// A sentence for each missed objective.
    pub missed: Vec<String>,
    /// Absent in documents of version 1.
    #[serde(default)]
    pub objectives: Vec<Judged>,
}

/// The judgement of several loads together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pooled {
    pub verdict: Verdict,
    pub met: bool,
}

/// One objective over several loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    pub slo: Slo,
    /// The requests over, at most.
    pub over: u64,
    pub of: u64,
    pub verdict: Verdict,
    pub met: bool,
}

/// Judges equal loads as one long load: the requests of each objective are added. All loads were
/// judged by the same objectives.
pub fn pooled(loads: &[&[Judged]]) -> Pooled {
    let worse = |pooled: Pooled, sum: Sum| Pooled {
        met: pooled.met && sum.met,
        verdict: match (pooled.verdict, sum.verdict) {
            (Verdict::Fail, _) | (_, Verdict::Fail) => Verdict::Fail,
            (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
            (Verdict::Pass, Verdict::Pass) => Verdict::Pass,
        },
    };
    sums(loads).into_iter().fold(Pooled { verdict: Verdict::Pass, met: true }, worse)
}

/// Adds the requests of each objective. One that no request missed is met: a longer load would only say so
/// with more confidence.
pub fn sums(loads: &[&[Judged]]) -> Vec<Sum> {
    let objectives = loads.iter().map(|judged| judged.len()).min().unwrap_or(0);
    let of = |index: usize| {
        let sum = |count: fn(&Judged) -> u64| loads.iter().map(|load| count(&load[index])).sum();
        let slo = loads[0][index].slo;
        let (over, of) = (sum(|one| one.over), sum(|one| one.of));
        let (verdict, met) = match slo.decide(over, sum(|one| one.over_at_least), of) {
            (Verdict::Undecided, true) if over == 0 => (Verdict::Pass, true),
            decided => decided,
        };
        Sum { slo, over, of, verdict, met }
    };
    (0..objectives).map(of).collect()
}

/// Returns the objective of which equal loads together have no request, if nothing else keeps them from meeting the SLO:
/// that is not missed, and not met either.
pub fn unmeasured(loads: &[&[Judged]]) -> Option<Slo> {
    let sums = sums(loads);
    let mut open = sums.iter().filter(|sum| !sum.met);
    let first = open.next().filter(|sum| sum.of == 0)?;
    open.all(|sum| sum.of == 0).then_some(first.slo)
}

/// Returns `7 requests are too few to decide p99 at 95 %`, for the first objective that equal loads together met but
/// could not decide even if none of their requests were over it; `None` if they missed one.
pub fn too_few_in_words(loads: &[&[Judged]]) -> Option<String> {
    let cannot_decide = |sum: &Sum| sum.slo.decide(0, 0, sum.of).0 == Verdict::Undecided;
    let sums = sums(loads);
    if sums.iter().any(|sum| !sum.met) {
        return None;
    }
    let Sum { slo, of, .. } = sums.into_iter().find(cannot_decide)?;
    let (all, are) = (requests(of), if of == 1 { "is" } else { "are" });
    Some(format!("{all} {are} too few to decide {} at {}", slo.metric(), Share(CONFIDENCE)))
}

/// Returns for each objective the number of requests over it from which on a load is missed whatever
/// follows, if about `expected` requests start in its whole length. An objective that cannot be missed
/// has none, and neither has one on a label, whose share of the requests is not known.
pub fn enough(slos: &[Slo], expected: f64) -> Vec<Enough> {
    // Arrivals are random, and each further one would allow more requests over.
    let most = (1.1 * expected + 5.0 * expected.sqrt()).ceil() as u64;
    let of = |slo: &Slo| {
        let allowed = slo.allowed();
        let requests = match Quantile::new(1.0 - allowed.0).filter(|level| level.level() < 1.0) {
            Some(level) => estimate::fewest_over(most, level, CONFIDENCE),
            None => (allowed.0 <= 0.0).then_some(1),
        };
        requests.map(|requests| Enough { limit: slo.response_time(), requests })
    };
    slos.iter().filter(|slo| slo.label().is_none()).filter_map(of).collect()
}

/// Returns the tightest limit of the response time of all requests: slower answers do not count as
/// goodput.
pub fn tightest(slos: &[Slo]) -> Option<Nanos> {
    let of_all = slos.iter().filter(|slo| slo.label().is_none());
    of_all.filter_map(Slo::response_time).min()
}

/// Returns the limit that the objectives set for one quantile of the response time.
pub fn limit_of<'a>(slos: impl IntoIterator<Item = &'a Slo>, of: Quantile) -> Option<Nanos> {
    slos.into_iter().find_map(|slo| match slo {
        Slo::ResponseTime { quantile, max } if *quantile == of => Some(*max),
        _ => None,
    })
}

/// Joins objectives in words: `p99 ≤ 100 ms and failures ≤ 0.1 %`.
pub fn in_words(slos: &[Slo]) -> String {
    slos.iter().map(Slo::to_string).collect::<Vec<_>>().join(" and ")
}

impl Slo {
    /// Creates an objective from a metric (`p99`, `failures`, of a label `login.p99`) and its limit
    /// (`100ms`, `0.1%`).
    ///
    /// Fails with a sentence that lists what may be written.
    pub fn new(metric: &str, max: &str) -> Result<Slo, String> {
        let Some((label, metric)) = of_label(metric) else { return Slo::of_all(metric, max) };
        let (label, slo) = (Label::new(label)?, Slo::of_all(metric, max)?);
        Ok(Slo::OfLabel { label, limit: slo.limit() })
    }

    fn of_all(metric: &str, max: &str) -> Result<Slo, String> {
        match metric {
            "failures" | "errors" => {
                let share: Share = max.parse().map_err(|error| format!("{error}"))?;
                // One per cent, or all: nothing could miss the second.
                match 1.0 <= share.0 && !max.contains('%') {
                    true => {
                        Err(format!("`{max}` may be {max} % or all requests; write 1% or 100%"))
                    }
                    false => Ok(Slo::Failures { max: share }),
                }
            }
            _ => {
                let quantile = quantile(metric)?;
                let max = max.parse().map_err(|error| format!("{error}"))?;
                Slo::within(quantile, max)
            }
        }
    }

    /// Returns an objective on the response time.
    fn within(quantile: Quantile, max: Nanos) -> Result<Slo, String> {
        match max {
            Nanos::ZERO => Err("no response takes no time, so no load meets it".to_owned()),
            max => Ok(Slo::ResponseTime { quantile, max }),
        }
    }

    /// Returns the label of the requests that it is about; `None` if it is about all.
    pub fn label(&self) -> Option<&str> {
        match self {
            Slo::ResponseTime { .. } | Slo::Failures { .. } => None,
            Slo::OfLabel { label, .. } => Some(label.as_str()),
        }
    }

    pub fn limit(&self) -> Limit {
        match *self {
            Slo::ResponseTime { quantile, max } => Limit::ResponseTime { quantile, max },
            Slo::Failures { max } => Limit::Failures { max },
            Slo::OfLabel { limit, .. } => limit,
        }
    }

    pub fn metric(&self) -> String {
        let metric = match self.limit() {
            Limit::ResponseTime { quantile, .. } => quantile.name(),
            Limit::Failures { .. } => "failures".to_owned(),
        };
        self.label().map_or_else(|| metric.clone(), |label| format!("{label}.{metric}"))
    }

    /// Returns the limit of the response time, if this is one.
    pub fn response_time(&self) -> Option<Nanos> {
        match self.limit() {
            Limit::ResponseTime { max, .. } => Some(max),
            Limit::Failures { .. } => None,
        }
    }

    /// Returns the share of the requests that may be over.
    pub(crate) fn allowed(&self) -> Share {
        match self.limit() {
            Limit::ResponseTime { quantile, .. } => Share(1.0 - quantile.level()),
            Limit::Failures { max } => max,
        }
    }

    /// Returns the number of requests that may be over, with room for the error of the product.
    pub(crate) fn most_over(&self, of: u64) -> f64 {
        self.allowed().0 * of as f64 + 1e-9
    }

    /// Returns true if so many requests over it are enough to miss the objective.
    pub(crate) fn is_missed_by(&self, over: u64, of: u64) -> bool {
        tail(of, over, self.allowed()) == Tail::Fail
    }

    /// Decides from the requests over, at most and at least.
    pub(crate) fn decide(&self, over: u64, over_at_least: u64, of: u64) -> (Verdict, bool) {
        let allowed = self.allowed();
        match (tail(of, over, allowed), tail(of, over_at_least, allowed)) {
            (Tail::Pass, _) => (Verdict::Pass, true),
            (_, Tail::Fail) => (Verdict::Fail, false),
            _ => (Verdict::Undecided, 0 < of && over as f64 <= self.most_over(of)),
        }
    }
}

/// The conclusion from `over` of `n` requests about the allowed share.
fn tail(n: u64, over: u64, allowed: Share) -> Tail {
    // "No failures at all" and "any share may fail" are decided without randomness.
    match Quantile::new(1.0 - allowed.0).filter(|level| level.level() < 1.0) {
        Some(level) => estimate::share_within(n, over, level, CONFIDENCE),
        None if n == 0 => Tail::Undecided,
        None if over as f64 <= allowed.0 * n as f64 => Tail::Pass,
        None => Tail::Fail,
    }
}

/// Splits `login.p99` into a label and a metric. A label may have dots itself, and so may a percentile.
fn of_label(metric: &str) -> Option<(&str, &str)> {
    let is_metric = |text: &str| matches!(text, "failures" | "errors") || quantile(text).is_ok();
    if is_metric(metric) {
        return None;
    }
    let mut dots = metric.match_indices('.').map(|(at, _)| (&metric[..at], &metric[at + 1..]));
    dots.find(|(label, metric)| !label.is_empty() && is_metric(metric))
}

fn quantile(metric: &str) -> Result<Quantile, String> {
    let percent = metric.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
    percent
        .filter(|percent| *percent < 100.0)
        .and_then(|percent| Quantile::new(percent / 100.0))
        .ok_or_else(|| {
            format!(
                "`{metric}` is not a metric; write p50, p99, p99.9 (any percentile) or failures, and \
                 before it LABEL. for one label, such as login.p99"
            )
        })
}

impl TryFrom<Written> for Slo {
    type Error = String;

    fn try_from(written: Written) -> Result<Slo, String> {
        let Written { metric, max_ns, max_share } = written;
        let (label, of) = match of_label(&metric) {
            Some((label, of)) => (Some(Label::new(label)?), of),
            None => (None, &*metric),
        };
        let slo = match (max_ns, max_share) {
            (None, Some(max)) if of == "failures" => Slo::Failures { max: Share(max) },
            (Some(max), None) => Slo::ResponseTime { quantile: quantile(of)?, max: Nanos(max) },
            _ => return Err(format!("the limit of `{metric}` is missing or doubled")),
        };
        Ok(match label {
            Some(label) => Slo::OfLabel { label, limit: slo.limit() },
            None => slo,
        })
    }
}

impl From<Slo> for Written {
    fn from(slo: Slo) -> Written {
        let metric = slo.metric();
        match slo.limit() {
            Limit::ResponseTime { max, .. } => {
                Written { metric, max_ns: Some(max.0), max_share: None }
            }
            Limit::Failures { max } => Written { metric, max_ns: None, max_share: Some(max.0) },
        }
    }
}

/// `p99 ≤ 100 ms`, `failures ≤ 0.1 %`, `login.p99 ≤ 100 ms`.
impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit() {
            Limit::ResponseTime { max, .. } => write!(f, "{} ≤ {}", self.metric(), max.in_words()),
            Limit::Failures { max } => write!(f, "{} ≤ {max}", self.metric()),
        }
    }
}

/// Reads `p99<=10ms`, `failures<=0.1%` and `login.p99<=10ms`, as on a command line. `<` and `≤` mean the same, and so
/// does `errors` for `failures`; a time alone is a limit of the p99.
impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Slo, String> {
        let text = text.trim();
        let max = text.parse::<Nanos>();
        let wrong = |why: String| {
            format!("`{text}` is not an SLO: {why}; write p99<=10ms or failures<=0.1%")
        };
        if let Ok(max) = max {
            return Slo::within(Quantile::P99, max).map_err(wrong);
        }
        let (metric, max) = ["<=", "≤", "<"]
            .into_iter()
            .find_map(|sign| text.split_once(sign))
            .ok_or_else(|| wrong("it has no limit".to_owned()))?;
        let metric = match metric.trim() {
            "errors" => "failures",
            metric => metric,
        };
        Slo::new(metric, max.trim()).map_err(wrong)
    }
}

/// Reads several objectives, separated by commas.
pub fn read(text: &str) -> Result<Vec<Slo>, String> {
    text.split(',').map(Slo::from_str).collect()
}

/// Writes objectives as [`read`] reads them: `p99<=100ms,failures<=0.1%`.
pub fn written(slos: &[Slo]) -> String {
    let one = |slo: &Slo| match slo.limit() {
        Limit::ResponseTime { max, .. } => format!("{}<={}", slo.metric(), max.written()),
        Limit::Failures { max } => format!("{}<={}%", slo.metric(), max.percent()),
    };
    slos.iter().map(one).collect::<Vec<_>>().join(",")
}
