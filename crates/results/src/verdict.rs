//! The verdict on one load by its objectives.
//!
//! `load --slo`, experiments and reports use one definition. Every request that was meant to start
//! is either *within*, that is answered well and no later than the limit, or it is *over*: answered
//! late, answered with an error, or never answered. The limit itself is within. An objective on p99
//! is met if at most one request in a hundred is over.
//!
//! A request that had no response when the load ended is unfinished. It is over a limit that it waited
//! longer than; below that, and for an objective on failures, it may be either: it counts at most, and
//! not at least. So an objective is not met thanks to unfinished requests, and no verdict rests on them
//! alone; a longer drain decides.

use std::borrow::Cow;
use std::collections::BTreeMap;

use measure::quantity::{counted, requests};
use measure::{Histogram, Nanos, Share};

use crate::load::{Counts, Load, Part, UNFINISHED};
use crate::slo::{Judged, Limit, Outcome, Slo, Verdict};
use crate::times::Times;

#[cfg(test)]
mod tests;

/// Judges a load by all objectives; `None` if there are none.
pub fn of_load(slos: &[Slo], load: &Load) -> Option<Outcome> {
    judge_by(slos, |slo| match slo.label() {
        None => Cow::Borrowed(&load.total),
        Some(label) => Cow::Owned(of_label(load, label)),
    })
}

/// Returns the judgement of a load by all objectives: that of its generator, or a new one if it judged by others or not
/// at all.
pub fn known(slos: &[Slo], load: &Load) -> Option<Outcome> {
    let own = load.slo.as_ref().filter(|_| !slos.is_empty());
    let own = own.filter(|own| own.objectives.iter().map(|one| &one.slo).eq(slos));
    own.cloned().or_else(|| of_load(slos, load))
}

/// Judges a part of a load by objectives on all its requests.
pub fn judge(slos: &[Slo], part: &Part) -> Option<Outcome> {
    judge_by(slos, |slo| match slo.label() {
        None => Cow::Borrowed(part),
        Some(_) => Cow::Owned(Part::default()),
    })
}

/// Returns the figures of a label, as far as they are kept by label. Of failed requests there are only
/// counts, and of lateness only the longest of the load: both make bounds wider, and none wrong.
fn of_label(load: &Load, label: &str) -> Part {
    let Some(group) = load.labels.get(label) else { return Part::default() };
    let outcome = |name: &str| group.outcomes.get(name).copied().unwrap_or_default();
    let counts = Counts {
        intended: group.outcomes.values().sum(),
        completed: group.completed,
        ok: outcome("ok"),
        failed: group.failed,
        unfinished: outcome(UNFINISHED),
        ..Counts::default()
    };
    Part {
        counts,
        outcomes: group.outcomes.clone(),
        response_time: group.response_time.clone(),
        lateness: load.total.lateness.clone(),
        ..Part::default()
    }
}

fn judge_by<'a>(slos: &[Slo], of: impl Fn(&Slo) -> Cow<'a, Part>) -> Option<Outcome> {
    if slos.is_empty() {
        return None;
    }
    let objectives: Vec<Judged> = slos.iter().map(|slo| slo.judge(&of(slo))).collect();
    let missed: Vec<String> =
        objectives.iter().filter(|judged| !judged.met).map(|judged| judged.text.clone()).collect();
    Some(Outcome { met: missed.is_empty(), missed, objectives })
}

impl Slo {
    /// Judges one load. The exact binomial verdict decides if there are enough requests for one,
    /// otherwise the plain share does.
    fn judge(&self, part: &Part) -> Judged {
        let (of, failed) = (part.counts.intended, part.counts.failed);
        let (over, over_at_least) = match (self.limit(), self.label()) {
            (Limit::Failures { .. }, _) => (failed + part.counts.unfinished, failed),
            (Limit::ResponseTime { max, .. }, None) => over(part, max),
            (Limit::ResponseTime { max, .. }, Some(_)) => over_of_label(part, max),
        };
        let (verdict, met) = self.decide(over, over_at_least, of);
        let is_printed = part.printed.is_some() && self.response_time().is_some();
        let mut text = match is_printed && 0 < of {
            true => self.sentence_of_printed(met, [over_at_least, over, of]),
            false => self.sentence(met, over, part),
        };
        if verdict == Verdict::Undecided && 0 < of {
            text += &match self.between(part, [over_at_least, over, of]) {
                _ if is_printed => "; these do not decide it at 95 %".to_owned(),
                Some(between) => format!("; {between}"),
                None if over == 0 => "; so few requests do not decide it at 95 %".to_owned(),
                None => "; a close call: measure longer to decide it at 95 %".to_owned(),
            };
        }
        let reached_ns = self.reached(part).map(|time| time.0);
        Judged { slo: *self, over, over_at_least, of, reached_ns, verdict, met, text }
    }

    /// Returns the least limit that the load would have met by the plain share.
    fn reached(&self, part: &Part) -> Option<Nanos> {
        self.response_time()?;
        let of = Some(part.counts.intended).filter(|of| 0 < *of)?;
        // How long failed requests of a label took is not kept.
        let are_all_ok = part.counts.ok == of;
        if self.label().is_some() && !are_all_ok {
            return None;
        }
        let wanted = of as f64 - self.most_over(of);
        // Failed requests are over, however fast they failed, and unfinished ones however short they waited.
        let mut over: BTreeMap<Nanos, u64> = BTreeMap::new();
        let times = [&part.failed_response_time, &part.unfinished_response_time];
        let histograms = times.into_iter().flatten().filter_map(Times::histogram);
        for (time, count) in histograms.flat_map(Histogram::buckets) {
            *over.entry(time).or_default() += count;
        }
        let mut answered = 0;
        let all = part.response_time.as_ref()?.histogram()?;
        let (time, _) = all.buckets().find(|(time, count)| {
            answered += count - over.get(time).copied().unwrap_or_default();
            wanted <= answered as f64
        })?;
        Some(time)
    }

    fn sentence(&self, met: bool, over: u64, part: &Part) -> String {
        let Counts { intended: of, failed, unfinished, .. } = part.counts;
        if of == 0 {
            return format!("{self} is undecided: no request was measured");
        }
        let share = |share: f64| share_of(Share(share));
        let word = if met { "is met" } else { "is missed" };
        let what = match self.limit() {
            Limit::ResponseTime { .. } => "over",
            Limit::Failures { .. } if 0 < unfinished => "failed or unfinished",
            Limit::Failures { .. } => "failed",
        };
        let all = requests(of);
        let mut text = format!(
            "{self} {word}: {} of {all} {what} ({}, allowed {})",
            counted(over),
            share(over as f64 / of as f64),
            share(self.allowed().0),
        );
        let shown = |count: u64, word: &str| format!("{} of them {word}", counted(count));
        if self.response_time().is_some() && 0 < failed {
            text += &format!(", {}", shown(failed, "failed"));
        }
        if 0 < unfinished {
            text += &format!(", {}", shown(unfinished, UNFINISHED));
        }
        text
    }

    /// Describes a decision by percentiles that another generator printed.
    fn sentence_of_printed(&self, met: bool, [least, most, of]: [u64; 3]) -> String {
        let word = if met { "is met" } else { "is missed" };
        let share = |over: u64| share_of(Share(over as f64 / of as f64));
        let (over, shares) = match least == most {
            true => (counted(most), share(most).to_string()),
            false => (
                format!("{} to {}", counted(least), counted(most)),
                format!("{} to {}", share(least), share(most)),
            ),
        };
        format!(
            "{self} {word}: {over} of {} over ({shares}, allowed {}), by the printed \
             percentiles and the failures",
            requests(of),
            share_of(self.allowed())
        )
    }

    /// Returns the bounds of the quantile, if the limit lies between them: `p99 31.0 ms … 52.0 ms, the
    /// limit lies between: …`.
    fn between(&self, part: &Part, [at_least, at_most, of]: [u64; 3]) -> Option<String> {
        let allowed = self.most_over(of);
        if !(at_least as f64 <= allowed && allowed < at_most as f64) {
            return None;
        }
        // Without the unfinished requests it is met, so they are what decides.
        if at_most.saturating_sub(part.counts.unfinished) as f64 <= allowed {
            return Some(
                "the unfinished requests decide it: wait longer for them (phases.drain, --drain)"
                    .to_owned(),
            );
        }
        let Slo::ResponseTime { quantile, .. } = *self else { return None };
        let at = |times: &Option<Times>| times.as_ref()?.histogram()?.quantile(quantile);
        let (lower, upper) = (at(&part.response_time_less_lateness)?, at(&part.response_time)?);
        Some(format!(
            "{} {lower} … {upper}, the limit lies between: without the generator's own lateness {} \
             requests are over",
            self.metric(),
            counted(at_least),
        ))
    }
}

/// Rounds a share to what is shown of it.
fn share_of(share: Share) -> Share {
    Share((share.0 * 1e5).round() / 1e5)
}

/// Counts the requests of a label over a limit: at most, and at least. These are over even if each was as
/// late as the latest of the load.
fn over_of_label(part: &Part, max: Nanos) -> (u64, u64) {
    let (at_most, _) = over(part, max);
    let longest = part.lateness.as_ref().map_or(0, |times| times.max_ns);
    let times = part.response_time.as_ref().and_then(Times::histogram);
    let beyond = times.map_or(0, |times| times.count_above(Nanos(max.0.saturating_add(longest))));
    // Unfinished ones that have waited so long are over, too.
    (at_most, beyond.max(part.counts.failed).min(at_most))
}

/// Counts the requests over a limit: at most, and at least.
fn over(part: &Part, max: Nanos) -> (u64, u64) {
    if let Some(printed) = &part.printed {
        let (of, failed) = (part.counts.intended, part.counts.failed);
        let (least, most) = printed.over(max);
        // A failed request is over, and its time may be among the slow ones or not.
        return ((failed + most).min(of), least.max(failed).min(of));
    }
    let within = |times: &Option<Times>| {
        let histogram = times.as_ref().and_then(Times::histogram);
        histogram.map_or(0, |histogram| histogram.count() - histogram.count_above(max))
    };
    let (of, failed) = (part.counts.intended, part.counts.failed);
    // Some failed requests took no longer than the limit, but are over nevertheless.
    let failed_within = within(&part.failed_response_time);
    // Some unfinished ones had not waited that long, and may be over.
    let unfinished_within = within(&part.unfinished_response_time);
    let well_within = within(&part.response_time).saturating_sub(failed_within + unfinished_within);
    let at_most = of.saturating_sub(well_within);
    // Documents of version 1 do not tell how long failed requests took: each may have been quick.
    let count = |times: &Option<Times>| times.as_ref().map_or(0, |times| times.count);
    let timed = count(&part.response_time).saturating_sub(part.counts.ok);
    let unknown = timed
        .saturating_sub(count(&part.failed_response_time) + count(&part.unfinished_response_time));
    let at_most = (at_most + unknown).min(of).max(failed);
    let at_least = match &part.response_time_less_lateness {
        // A request that failed, and is within the limit only without its lateness, counts as
        // successful: the count stays a lower bound.
        times @ Some(_) => of.saturating_sub(within(times).saturating_sub(failed_within)),
        None => at_most.saturating_sub(unfinished_within),
    };
    (at_most, at_least.max(failed).min(at_most))
}
