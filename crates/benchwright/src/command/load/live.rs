//! Live figures while a load runs: one line that overwrites itself, or JSON lines for a program.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use load::measurement::Plan;
use load::observe::Live as Ended;
use load::pacing::{Pacing, Sharing};
use measure::quantity::grouped;
use measure::series::Merge;
use measure::{Histogram, Instant, Nanos, Quantile};

use crate::cli::Live;
use crate::output;

/// The most intervals of each shard that may wait to be shown; further ones are only not shown.
const MOST_WAITING: usize = 16;

/// Runs `work` while its intervals are shown.
pub(crate) fn watch<T>(how: Live, plan: &Plan, work: impl FnOnce(SyncSender<Ended>) -> T) -> T {
    let shards = plan.cpus.len();
    let (sender, receiver) = mpsc::sync_channel(MOST_WAITING * shards);
    thread::scope(|scope| {
        scope.spawn(move || show(how, plan, shards, &receiver));
        work(sender)
    })
}

/// Shows each interval once all shards have ended it.
fn show(how: Live, plan: &Plan, shards: usize, ended: &Receiver<Ended>) {
    let mut waiting: BTreeMap<Instant, (usize, Ended)> = BTreeMap::new();
    for live in ended {
        let begin = live.begin;
        let count = match waiting.get_mut(&begin) {
            Some((count, merged)) => {
                merged.end = merged.end.max(live.end);
                merged.interval.merge(live.interval);
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
        let figures = Figures::of(plan, &live);
        match how {
            Live::Auto => output::transient(&figures.line()),
            Live::Lines => output::error(&figures.json()),
            Live::Never => {}
        }
    }
    if how == Live::Auto {
        output::clear();
    }
}

struct Figures {
    elapsed: Nanos,
    length: Nanos,
    asked: Option<f64>,
    /// Responses per second that arrived in this interval, whenever they were requested; the same
    /// figure as in the document's series and in `rates_per_s.completed`.
    completed: f64,
    p50: Option<Nanos>,
    p99: Option<Nanos>,
    lateness: Option<Nanos>,
    failed: u64,
    phase: &'static str,
}

impl Figures {
    fn of(plan: &Plan, live: &Ended) -> Figures {
        let Ended { begin, end, window, ref interval } = *live;
        let seconds = (end - begin).as_secs_f64();
        let mut response = Histogram::new();
        interval.response.add_to(&mut response);
        let mut lateness = Histogram::new();
        interval.lateness.add_to(&mut lateness);
        let phase = match begin {
            _ if begin < window.start => "warm_up",
            _ if begin < window.end => "measurement",
            _ => "drain",
        };
        Figures {
            elapsed: end.saturating_since(window.start),
            length: plan.measure,
            asked: asked(plan),
            completed: if 0.0 < seconds { interval.completed as f64 / seconds } else { 0.0 },
            p50: response.quantile(Quantile::P50),
            p99: response.quantile(Quantile::P99),
            lateness: lateness.quantile(Quantile::P99),
            failed: interval.failed,
            phase,
        }
    }

    fn line(&self) -> String {
        let asked = self.asked.map(|rate| format!("{}/s asked · ", grouped(rate)));
        let time = |time: Option<Nanos>| time.map_or("–".to_owned(), |time| time.to_string());
        match self.phase {
            "warm_up" => format!("{}warming up", asked.unwrap_or_default()),
            _ => format!(
                "{}{}/s completed · p50 {}  p99 {} · {} failed · late {} · {:.0}/{:.0} s",
                asked.unwrap_or_default(),
                grouped(self.completed),
                time(self.p50),
                time(self.p99),
                self.failed,
                time(self.lateness),
                self.elapsed.as_secs_f64(),
                self.length.as_secs_f64(),
            ),
        }
    }

    fn json(&self) -> String {
        let document = serde_json::json!({
            "phase": self.phase,
            "elapsed_s": self.elapsed.as_secs_f64(),
            "asked_per_s": self.asked,
            "completed_per_s": self.completed,
            "p50_ns": self.p50.map(|time| time.0),
            "p99_ns": self.p99.map(|time| time.0),
            "lateness_p99_ns": self.lateness.map(|time| time.0),
            "failed": self.failed,
        });
        document.to_string()
    }
}

/// Returns the mean rate that this part of the load has in the measurement, over all targets.
pub(crate) fn asked(plan: &Plan) -> Option<f64> {
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
