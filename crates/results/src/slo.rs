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

    /// Returns true if a limit of a response time is missed since more requests failed than may be over it, however
    /// fast the others were.
    pub fn is_missed_by_failures(&self) -> bool {
        !self.met && self.slo.response_time().is_some() && self.reached_ns.is_none()
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

/// Returns `7 requests are too few to decide p99 at 95 %`, for the first objective that equal loads together met but
/// could not decide even if none of their requests were over it; `None` if they missed one.
pub fn too_few_in_words(loads: &[&[Judged]]) -> Option<String> {
    let cannot_decide = |sum: &Sum| sum.slo.decide(0, 0, sum.of).0 == Verdict::Undecided;
    let sums = sums(loads);
    let Sum { slo, of, .. } =
        sums.iter().all(|sum| sum.met).then(|| sums.into_iter().find(cannot_decide))??;
    let (all, are) = (requests(of), if of == 1 { "is" } else { "are" });
    Some(format!("{all} {are} too few to decide {} at {}", slo.metric(), Share(CONFIDENCE)))
}

/// Returns for each objective the number of requests over it from which on a load is missed whatever
/// follows, if about `expected` requests start in its whole length. An objective that cannot be missed
/// has none.
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
    slos.iter().filter_map(of).collect()
}

/// Returns the tightest limit of a response time: slower answers do not count as goodput.
pub fn tightest(slos: &[Slo]) -> Option<Nanos> {
    slos.iter().filter_map(Slo::response_time).min()
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
    /// Creates an objective from a metric (`p99`, `failures`) and its limit (`100ms`, `0.1%`).
    ///
    /// Fails with a sentence that lists what may be written.
    pub fn new(metric: &str, max: &str) -> Result<Slo, String> {
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
                Ok(Slo::ResponseTime { quantile, max })
            }
        }
    }

    pub fn metric(&self) -> String {
        match self {
            Slo::ResponseTime { quantile, .. } => quantile.name(),
            Slo::Failures { .. } => "failures".to_owned(),
        }
    }

    /// Returns the limit of the response time, if this is one.
    pub fn response_time(&self) -> Option<Nanos> {
        match self {
            Slo::ResponseTime { max, .. } => Some(*max),
            Slo::Failures { .. } => None,
        }
    }

    /// Returns the share of a load's requests that may be over.
    pub(crate) fn allowed(&self) -> Share {
        match self {
            Slo::ResponseTime { quantile, .. } => Share(1.0 - quantile.level()),
            Slo::Failures { max } => *max,
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

fn quantile(metric: &str) -> Result<Quantile, String> {
    let percent = metric.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
    percent
        .filter(|percent| *percent < 100.0)
        .and_then(|percent| Quantile::new(percent / 100.0))
        .ok_or_else(|| {
            format!(
                "`{metric}` is not a metric; write p50, p99, p99.9 (any percentile) or failures"
            )
        })
}

impl TryFrom<Written> for Slo {
    type Error = String;

    fn try_from(written: Written) -> Result<Slo, String> {
        match written {
            Written { metric, max_ns: None, max_share: Some(max) } if metric == "failures" => {
                Ok(Slo::Failures { max: Share(max) })
            }
            Written { metric, max_ns: Some(max), max_share: None } => {
                Ok(Slo::ResponseTime { quantile: quantile(&metric)?, max: Nanos(max) })
            }
            Written { metric, .. } => Err(format!("the limit of `{metric}` is missing or doubled")),
        }
    }
}

impl From<Slo> for Written {
    fn from(slo: Slo) -> Written {
        let metric = slo.metric();
        match slo {
            Slo::ResponseTime { max, .. } => {
                Written { metric, max_ns: Some(max.0), max_share: None }
            }
            Slo::Failures { max } => Written { metric, max_ns: None, max_share: Some(max.0) },
        }
    }
}

/// `p99 ≤ 100 ms`, `failures ≤ 0.1 %`.
impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slo::ResponseTime { max, .. } => write!(f, "{} ≤ {}", self.metric(), max.in_words()),
            Slo::Failures { max } => write!(f, "failures ≤ {max}"),
        }
    }
}

/// Reads `p99<=10ms` and `failures<=0.1%`, as on a command line. `<` and `≤` mean the same, and so
/// does `errors` for `failures`; a time alone is a limit of the p99.
impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Slo, String> {
        let text = text.trim();
        if let Ok(max) = text.parse() {
            return Ok(Slo::ResponseTime { quantile: Quantile::P99, max });
        }
        let wrong = |why: String| {
            format!("`{text}` is not an SLO: {why}; write p99<=10ms or failures<=0.1%")
        };
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
    let one = |slo: &Slo| match slo {
        Slo::ResponseTime { max, .. } => format!("{}<={}", slo.metric(), max.written()),
        Slo::Failures { max } => format!("failures<={}%", max.percent()),
    };
    slos.iter().map(one).collect::<Vec<_>>().join(",")
}
