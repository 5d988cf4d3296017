//! Live figures while a load runs: a view or one line that overwrites itself, or JSON lines for a
//! program.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use load::driver::{Arrivals, Outcome};
use load::measurement::Plan;
use load::observe::Live as Ended;
use load::pacing::{Pacing, Sharing};
use measure::quantity::grouped;
use measure::series::Merge;
use measure::{Histogram, Instant, Nanos, Quantile};
use net::clock;
use results::Tick;
use results::said::{Labelled, Phase, Quantiles, Said};

use crate::options::Live;
use console::output;
use console::view::{self, Common, Shown, Single};

/// The most intervals of each shard that may wait to be shown; further ones are only not shown.
const MOST_WAITING: usize = 16;

/// The way in which a load is watched.
pub(super) struct Watching<'a> {
    pub(super) how: Live,
    /// True if there is no view, even on a terminal.
    pub(super) only_lines: bool,
    pub(super) headline: String,
    /// The names of the requests' labels.
    pub(super) labels: &'a [String],
    /// The flag that Ctrl-C sets.
    pub(super) interrupted: &'a Arc<AtomicBool>,
}

/// Runs `work` while its intervals are shown.
pub(super) fn watch<T>(
    watching: Watching<'_>,
    plan: &Plan,
    work: impl FnOnce(SyncSender<Ended>) -> T,
) -> T {
    let shards = plan.cpus.len();
    let (sender, receiver) = mpsc::sync_channel(MOST_WAITING * shards);
    let view = match watching.how {
        Live::Auto if !watching.only_lines && view::is_usable() => begin_view(&watching, plan),
        Live::Auto | Live::Lines | Live::Never => None,
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            show(plan, watching.labels, &receiver, |tick| match (&view, watching.how) {
                (Some(view), _) => view.view().add(tick.clone()),
                (None, Live::Auto) => output::transient(&line(plan, tick)),
                (None, Live::Lines) => output::said(&Said::Tick(tick.clone())),
                (None, Live::Never) => {}
            });
            drop(view);
            if watching.how == Live::Auto {
                output::clear();
            }
        });
        work(sender)
    })
}

fn begin_view(watching: &Watching<'_>, plan: &Plan) -> Option<Shown<Single>> {
    let cpus = plan.cpus.iter().copied().flatten().collect();
    let times = (plan.measure, plan.interval);
    let headline = watching.headline.clone();
    let view = Single::new(Common::from_environment(), headline, cpus, times, clock::now());
    let shown = Shown::begin(view, Arc::clone(watching.interrupted));
    let refused = |error| {
        output::error(&format!("! the terminal cannot show a view, only a line: {error}"));
    };
    shown.map_err(refused).ok()
}

/// Shows each interval once all shards have ended it.
fn show(plan: &Plan, labels: &[String], ended: &Receiver<Ended>, mut shown: impl FnMut(&Tick)) {
    let shards = plan.cpus.len();
    let mut waiting: BTreeMap<Instant, (usize, Ended)> = BTreeMap::new();
    let mut whole = Histogram::new();
    for live in ended {
        let begin = live.begin;
        let count = match waiting.get_mut(&begin) {
            Some((count, merged)) => {
                merged.end = merged.end.max(live.end);
                merged.interval.merge(live.interval);
                merged.labels.add(&live.labels);
                *count += 1;
                *count
            }
            None => {
                waiting.insert(begin, (1, live));
                1
            }
        };
        if count < shards {
            continue;
        }
        // Older intervals are incomplete: a part of each was dropped.
        let (_, live) = waiting.remove(&begin).expect("it was inserted above");
        waiting = waiting.split_off(&begin);
        let by_label = by_label(labels, &live);
        shown(&Tick { labels: by_label, ..tick(plan, &live, &mut whole) });
    }
}

/// Returns the figures of an interval. `whole` has the response times of all that are measured.
fn tick(plan: &Plan, live: &Ended, whole: &mut Histogram) -> Tick {
    let Ended { begin, end, window, ref interval, .. } = *live;
    let seconds = (end - begin).as_secs_f64();
    let rate = |count: u64| if 0.0 < seconds { count as f64 / seconds } else { 0.0 };
    let mut response = Histogram::new();
    interval.response.add_to(&mut response);
    let mut lateness = Histogram::new();
    interval.lateness.add_to(&mut lateness);
    let phase = match begin {
        _ if begin < window.start => Phase::WarmUp,
        _ if begin < window.end => Phase::Measurement,
        _ => Phase::Drain,
    };
    interval.response.add_to(whole);
    let errors = Outcome::ALL.into_iter().zip(interval.outcomes);
    let errors = errors.filter(|&(outcome, count)| outcome.is_failure() && 0 < count);
    Tick {
        phase,
        elapsed_s: end.saturating_since(window.start).as_secs_f64(),
        asked_per_s: asked(plan),
        // A request that is due in the warm-up is not counted.
        offered_per_s: (phase == Phase::Measurement).then(|| rate(interval.intended)),
        completed_per_s: Some(rate(interval.completed)),
        operations_per_s: (0 < interval.operations).then(|| rate(interval.operations)),
        last: quantiles(&response),
        whole: quantiles(whole),
        lateness_p99_ns: lateness.quantile(Quantile::P99).map(|time| time.0),
        in_flight: Some(interval.outstanding_max),
        failed: interval.failed(),
        errors: errors.map(|(outcome, count)| (outcome.name().to_owned(), count)).collect(),
        labels: Vec::new(),
    }
}

/// Returns the figures of an interval by label, of the labels that occurred in it.
fn by_label(labels: &[String], live: &Ended) -> Vec<Labelled> {
    let seconds = (live.end - live.begin).as_secs_f64();
    let occurred = |figures: &load::observe::Labelled| 0 < figures.completed + figures.failed;
    let named = labels.iter().zip(live.labels.iter()).filter(|(_, figures)| occurred(figures));
    let of_label = named.map(|(label, figures)| Labelled {
        label: label.clone(),
        completed_per_s: if 0.0 < seconds { figures.completed as f64 / seconds } else { 0.0 },
        failed: figures.failed,
        mean_ns: figures.time.0.checked_div(figures.timed),
    });
    of_label.collect()
}

fn quantiles(times: &Histogram) -> Quantiles {
    let of = |quantile| times.quantile(quantile).map(|time| time.0);
    Quantiles { p50_ns: of(Quantile::P50), p99_ns: of(Quantile::P99), p999_ns: of(Quantile::P999) }
}

/// Returns an interval as a line for people.
fn line(plan: &Plan, tick: &Tick) -> String {
    let asked = tick.asked_per_s.map(|rate| format!("{}/s asked · ", grouped(rate)));
    let operations = tick.operations_per_s.map(|rate| format!("{} operations/s · ", grouped(rate)));
    let time = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| Nanos(ns).to_string());
    match tick.phase {
        Phase::WarmUp => format!("{}warming up", asked.unwrap_or_default()),
        Phase::Measurement | Phase::Drain => format!(
            "{}{}/s completed · {}p50 {}  p99 {} · {} failed · late {} · {:.0}/{:.0} s",
            asked.unwrap_or_default(),
            grouped(tick.completed_per_s.unwrap_or_default()),
            operations.unwrap_or_default(),
            time(tick.last.p50_ns),
            time(tick.last.p99_ns),
            tick.failed,
            time(tick.lateness_p99_ns),
            tick.elapsed_s,
            plan.measure.as_secs_f64(),
        ),
    }
}

/// Returns the mean rate of requests that this part of the load asks for in the measurement, over all
/// targets. With sessions as arrivals nobody asks for one.
pub(crate) fn asked(plan: &Plan) -> Option<f64> {
    arriving(plan).filter(|_| plan.arrivals != Some(Arrivals::Sessions))
}

/// Returns the mean rate of arrivals that this part of the load has in the measurement, over all targets.
pub(crate) fn arriving(plan: &Plan) -> Option<f64> {
    let processes = match plan.pacing {
        Pacing::Open { sharing: Sharing::Each, .. } => plan.targets,
        _ => 1,
    };
    Some(asked_of_process(plan)? * f64::from(processes))
}

/// Returns the mean rate of one arrival process, as far as it belongs to this part of the load.
pub(crate) fn asked_of_process(plan: &Plan) -> Option<f64> {
    match &plan.pacing {
        Pacing::Open { load, .. } => {
            let load = load.after_warm_up(plan.warm_up);
            let whole = load.mean_rate(plan.warm_up, plan.warm_up + plan.measure);
            Some(whole / f64::from(plan.part.of()))
        }
        Pacing::Closed { .. } => None,
    }
}
