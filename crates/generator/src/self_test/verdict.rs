//! The comparison of both sides of an attempt, and its text.

use std::fmt;

use measure::pace::Distribution;
use measure::{Histogram, Nanos, Quantile};
use results::self_test::{Attempt, Comparison, Stall};

use super::run::Ran;
use super::{FEW_CONNECTIONS, PER_SECOND};

#[cfg(test)]
mod tests;

const LEVELS: [(&str, Quantile); 3] =
    [("p50", Quantile::P50), ("p90", Quantile::P90), ("p99", Quantile::P99)];
/// The mean gaps may differ by a hundredth: the time before the first and after the last of a
/// thousand requests is some thousandths of the whole.
const GAP_TOLERANCE: u64 = 100;
/// A response that does not wait for the end of a stall takes at most a hundredth of it.
const NEAR_THE_FLOOR: u64 = 100;

/// The response time at each level if the server answers at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Floor {
    at: [Nanos; 3],
    /// True if its run passed its gates; otherwise nothing can be compared with it.
    pub(super) is_valid: bool,
}

impl Floor {
    pub(super) fn of(ran: &Ran) -> Floor {
        let response = &ran.total.response;
        let at = LEVELS.map(|(_, quantile)| response.quantile(quantile).unwrap_or_default());
        Floor { at, is_valid: ran.judgement.is_valid() }
    }
}

/// `p50 50.0 µs, p90 60.0 µs, p99 100 µs`.
impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p90, p99] = self.at;
        write!(f, "p50 {p50}, p90 {p90}, p99 {p99}")
    }
}

pub(super) fn compare(
    delay: &str,
    distribution: Distribution,
    ran: &Ran,
    floor: &Floor,
) -> Attempt {
    let Ran { measurement, total, judgement, log } = ran;
    let logged = [log.p50_ns, log.p90_ns, log.p99_ns].map(Nanos);
    let comparisons = LEVELS.iter().zip(logged.into_iter().zip(floor.at));
    let quantiles = comparisons.map(|((level, quantile), (logged, floor))| {
        let measured = total.response.quantile(*quantile).unwrap_or_default();
        comparison(level, measured, logged, floor)
    });
    let mut reasons = judgement.reasons();
    if !floor.is_valid {
        reasons.push("its floor was refused, so the tolerance is unknown.".to_owned());
    }
    let gap = measurement.window.length() / total.intended.max(1);
    // The server saw each request between its intended time and its answer, the first and the last
    // one too.
    let longest = total.response.max().unwrap_or_default();
    let gap_tolerance = gap / GAP_TOLERANCE + longest / total.intended.max(2).saturating_sub(1);
    let attempt = Attempt {
        distribution: delay.to_owned(),
        arrivals: distribution.to_string(),
        valid: reasons.is_empty(),
        reasons,
        agrees: false,
        intended: total.intended,
        completed: total.completed(),
        logged: log.requests,
        out_of_order: log.out_of_order,
        gap_ns: gap.0,
        logged_gap_ns: log.gap_mean_ns,
        gap_tolerance_ns: gap_tolerance.0,
        quantiles: quantiles.collect(),
    };
    Attempt { agrees: agrees(&attempt), ..attempt }
}

fn comparison(level: &str, measured: Nanos, logged: Nanos, floor: Nanos) -> Comparison {
    Comparison {
        level: level.to_owned(),
        measured_ns: measured.0,
        logged_ns: logged.0,
        difference_ns: measured.0.abs_diff(logged.0),
        tolerance_ns: logged.0 / 100 + 2 * floor.0,
        floor_ns: floor.0,
    }
}

/// True if both sides saw the same requests, in the same order, at the same gaps, for the same
/// time.
fn agrees(attempt: &Attempt) -> bool {
    attempt.completed == attempt.intended
        && attempt.logged == attempt.intended
        && attempt.out_of_order == 0
        && attempt.gap_ns.abs_diff(attempt.logged_gap_ns) <= attempt.gap_tolerance_ns
        && attempt.quantiles.iter().all(Comparison::agrees)
}

/// Compares the loops: the open loop's response time shows nearly the whole stall; service time and
/// the closed loop hardly show it, since only few requests were in progress.
pub(super) fn stall((stall, measured): (Nanos, Nanos), open: &Ran, closed: &Ran) -> Stall {
    let p99 = |histogram: &Histogram| histogram.quantile(Quantile::P99).unwrap_or_default();
    let response = p99(&open.total.response);
    let service = p99(&open.total.service);
    let closed_response = p99(&closed.total.response);
    let near = stall / NEAR_THE_FLOOR;
    Stall {
        stall_ns: stall.0,
        measured_ns: measured.0,
        rate_per_s: PER_SECOND,
        connections: FEW_CONNECTIONS as u64,
        valid: open.judgement.is_valid() && closed.judgement.is_valid(),
        agrees: stall * 9 / 10 <= response && service <= near && closed_response <= near,
        open_response_p99_ns: response.0,
        open_service_p99_ns: service.0,
        closed_response_p99_ns: closed_response.0,
    }
}

/// True if at least three quarters of the attempts are valid, and each valid one agrees.
pub(super) fn passed(attempts: &[Attempt], stall: &Stall) -> bool {
    let valid = attempts.iter().filter(|attempt| attempt.valid).count();
    enough(attempts.len()) <= valid
        && attempts.iter().all(|attempt| attempt.agrees || !attempt.valid)
        && (stall.agrees || !stall.valid)
}

fn enough(attempts: usize) -> usize {
    (3 * attempts).div_ceil(4)
}

pub(super) fn word(valid: bool, agrees: bool) -> &'static str {
    match (valid, agrees) {
        (false, _) => "refused",
        (true, true) => "valid, agrees",
        (true, false) => "valid, DIFFERS",
    }
}

/// Returns an attempt as one line.
pub(super) fn line(number: u32, attempt: &Attempt) -> String {
    let Attempt { distribution, arrivals, valid, agrees, reasons, .. } = attempt;
    let mut line = format!("{number:>3}  {distribution} {arrivals}: {}", word(*valid, *agrees));
    if !reasons.is_empty() {
        line += &format!(" ({})", reasons.join(" "));
    }
    for Comparison { level, measured_ns, logged_ns, difference_ns, tolerance_ns, .. } in
        &attempt.quantiles
    {
        let [measured, logged, apart, tolerance] =
            [measured_ns, logged_ns, difference_ns, tolerance_ns].map(|ns| Nanos(*ns));
        line += &format!("; {level} {measured}, log {logged}, apart {apart} of {tolerance}");
    }
    let &Attempt { intended, completed, logged, out_of_order, .. } = attempt;
    let apart = attempt.gap_ns.abs_diff(attempt.logged_gap_ns);
    let [gap, logged_gap, apart, tolerance] =
        [attempt.gap_ns, attempt.logged_gap_ns, apart, attempt.gap_tolerance_ns].map(Nanos);
    line += &format!(
        "; {intended} requests, gap {gap}, log {logged_gap}, apart {apart} of {tolerance}"
    );
    if (completed, logged, out_of_order) != (intended, intended, 0) {
        line += &format!("; {completed} completed, log {logged}, {out_of_order} out of order");
    }
    line
}

pub(super) fn summary(attempts: &[Attempt], passed: bool) -> String {
    let valid: Vec<_> = attempts.iter().filter(|attempt| attempt.valid).collect();
    let differ = valid.iter().filter(|attempt| !attempt.agrees).count();
    format!(
        "{} of {} valid (at least {}), {differ} of them differ: {}",
        valid.len(),
        attempts.len(),
        enough(attempts.len()),
        if passed { "passed" } else { "FAILED" }
    )
}
