//! The precision and the length of the trials of a question, by the time that it has.

use measure::{Nanos, Share};
use results::Slo;

use super::Asked;

/// The precision of an answer, from the finest one that is tried where the time is short.
const PRECISIONS: [f64; 5] = [0.02, 0.03, 0.05, 0.1, 0.2];
/// The lengths of a measurement, from the one that shows most.
const LENGTHS: [Nanos; 3] = [Nanos::from_secs(10), Nanos::from_secs(5), Nanos::from_secs(3)];
/// The place in these lengths where no time is given.
const USUAL: usize = 1;
/// A load that begins above the capacity is found out only in a measurement of many times the limit of the SLO.
const LIMITS: u64 = 10;
/// Sessions end throughout a measurement only if it is as long as several of them, and the warm-up as one.
const SESSIONS: u64 = 3;
const LONGEST: Nanos = Nanos::from_secs(60);
/// The part of the time that is kept for disturbances of the machine, and the part of the rest that the usual
/// search may take: half of all searches take longer.
const FOR_DISTURBANCES: u64 = 5;
const COMFORTABLE: f64 = 0.85;
/// The parts of an experiment that a short time changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) precision: Share,
    pub(super) measure: Nanos,
    pub(super) warm_up: Nanos,
    pub(super) drain: Nanos,
}

/// The trials of the usual search, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usual {
    pub(super) trials: u64,
    pub(super) time: Nanos,
}

/// Chooses the precision and the length of a measurement by the time: the finest precision that the usual search
/// reaches, with the longest measurement.
pub(super) fn choose(
    asked: &Asked,
    usual: impl Fn(&Choice) -> Result<Usual, anyhow::Error>,
) -> Result<(Choice, String), anyhow::Error> {
    let limit = asked.slo.iter().filter_map(Slo::response_time).max().unwrap_or(Nanos::ZERO);
    let session = Nanos::from_secs(asked.session.0.div_ceil(Nanos::SECOND.0));
    let least = (limit * LIMITS).max(session * SESSIONS).min(LONGEST);
    let choice = |precision: Share, measure: Nanos| Choice {
        precision,
        measure,
        warm_up: (measure / 5).min(Nanos::SECOND).max(session.min(LONGEST)),
        drain: (limit * 2).max(Nanos::SECOND).min(Nanos::from_secs(10)),
    };
    let lengths: Vec<Nanos> = match asked.measure {
        Some(measure) => vec![measure],
        None if asked.time.is_none() => vec![LENGTHS[USUAL].max(least)],
        None => {
            let long = LENGTHS.into_iter().filter(|length| least <= *length);
            let long: Vec<Nanos> = long.collect();
            if long.is_empty() { vec![least] } else { long }
        }
    };
    let precisions: Vec<Share> = match asked.precision {
        Some(precision) => vec![precision],
        None if asked.time.is_none() => vec![Share(PRECISIONS[0])],
        None => PRECISIONS.map(Share).to_vec(),
    };
    let each = precisions
        .iter()
        .flat_map(|precision| lengths.iter().map(move |length| (*precision, *length)));
    let mut last = None;
    for (precision, length) in each {
        let choice = choice(precision, length);
        let usual = usual(&choice)?;
        let fits = asked.time.is_none_or(|time| {
            usual.time.as_secs_f64() <= COMFORTABLE * of_trials(time).as_secs_f64()
        });
        if fits {
            return Ok((choice, outlook(asked, &choice, usual, fits)));
        }
        last = Some((choice, usual));
    }
    let (choice, usual) = last.expect("there is a precision and a length");
    Ok((choice, outlook(asked, &choice, usual, false)))
}

/// Returns the part of the time that is for trials.
pub(super) fn of_trials(time: Nanos) -> Nanos {
    time.saturating_sub(time / FOR_DISTURBANCES)
}

/// Fails if the time is too short for one load, which takes this long.
pub(super) fn long_enough(asked: &Asked, least: Nanos) -> anyhow::Result<()> {
    let Some(time) = asked.time.filter(|time| of_trials(*time) < least) else { return Ok(()) };
    // The least time of which this much is left; a part of a second more does no harm.
    let enough = least.0 * FOR_DISTURBANCES / (FOR_DISTURBANCES - 1);
    let enough = Nanos::from_secs(enough.div_ceil(Nanos::SECOND.0));
    let shorter = if asked.measure.is_some() { ", or a shorter --duration" } else { "" };
    anyhow::bail!(
        "--time {}: it is too short, as one load takes {least}, and a fifth of the time is for those that the machine \
         disturbs; write --time {} or more{shorter}",
        time.written(),
        enough.written()
    )
}

fn outlook(asked: &Asked, choice: &Choice, usual: Usual, fits: bool) -> String {
    let Usual { trials, time } = usual;
    let Choice { precision, measure, .. } = choice;
    let trials = format!("{trials} trials of {}", measure.in_words());
    let known = format!("until the capacity is known with its bounds {precision} apart");
    let Some(limit) = asked.time.map(in_minutes) else {
        return format!("usually {trials} in {time}, {known}");
    };
    let is_chosen = asked.precision.is_none();
    match fits {
        true => {
            let finer = is_chosen && Share(PRECISIONS[0]) < *precision;
            let finer = if finer { "; more time makes it finer" } else { "" };
            format!("in {limit}: usually {trials} in {time}, {known}{finer}")
        }
        false => format!(
            "{limit} may be too short: {} of it are for trials, and {}bounds {precision} apart usually take {trials}, \
             {time}; a search that has to end before knows only *at least* or *at most*",
            asked.time.map_or_else(String::new, |time| of_trials(time).to_string()),
            if is_chosen { "even " } else { "" }
        ),
    }
}

/// Returns a time as a person says it: `5 min`, `90 s`.
fn in_minutes(time: Nanos) -> String {
    let minute = Nanos::from_secs(60).0;
    match time.0 % minute {
        0 => format!("{} min", time.0 / minute),
        _ => time.in_words(),
    }
}
