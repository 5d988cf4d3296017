//! The live figures of a run, for a Prometheus that asks for them.
//!
//! A figure that is not known now is NaN, never zero: between two loads nothing is offered, and nothing
//! was measured.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;

use lab::course::Outlined;
use lab::progress::{Event, Progress};
use load::Outcome;
use measure::Rate;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use results::Entry;
use results::Tick;
use results::journal::Purpose;
use results::said::Quantiles;

use self::server::Server;
use crate::needed::{self, Needed, Strand};
use console::output::{self, Failure};

mod server;
#[cfg(test)]
mod tests;

type Number = Gauge<f64, AtomicU64>;
type Labels = Vec<(&'static str, String)>;

/// The figures, and the server that shows them; it ends when this is dropped.
pub(super) struct Metrics {
    figures: Figures,
    /// Dropped with the figures.
    _server: Server,
}

#[derive(Default)]
struct Figures {
    /// The stage that the run is in: one series, of value 1, whose labels say it.
    now: Family<Labels, Gauge>,
    trial: Gauge,
    asked: Number,
    offered: Number,
    completed: Number,
    /// The operations of the completed requests, where one carries several.
    operations: Number,
    outstanding: Number,
    lateness: Number,
    /// The response times of the last interval, by quantile.
    response: Family<Labels, Number>,
    /// The failed requests by outcome.
    failed: Family<Labels, Counter>,
    /// The attempts that ended, by status.
    trials: Family<Labels, Counter>,
    /// The trials of the plan, by part.
    plan: Family<Labels, Gauge>,
    /// The searches of the plan, by state.
    searches: Family<Labels, Gauge>,
    needed: Number,
    experiment: String,
    strands: Vec<Strand>,
    /// The level and the search of the trial that runs.
    current: Labels,
    stage: String,
}

impl Metrics {
    pub(super) fn listen(address: SocketAddr) -> Result<Metrics, Failure> {
        let figures = Figures::new();
        let registry = figures.registry();
        let page = move || {
            let mut text = String::new();
            // Writing to a text does not fail.
            let _ = encode(&mut text, &registry);
            text
        };
        let server = Server::listen(address, page).map_err(|error| {
            let remedy = "choose another address, or port 0";
            let unheard = || Failure::question(format!("--metrics {address}: {error}; {remedy}"));
            Failure::thread_of_server(&error).unwrap_or_else(unheard)
        })?;
        output::error(&format!("metrics  http://{}/metrics", server.address()));
        Ok(Metrics { figures, _server: server })
    }
}

impl Progress for Metrics {
    fn event(&mut self, event: &Event<'_>) {
        self.figures.take(event);
    }
}

impl Figures {
    fn new() -> Figures {
        let figures = Figures::default();
        figures.forget();
        figures.needed.set(f64::NAN);
        // A counter that begins with its first failure would hide that one from rates.
        for outcome in Outcome::ALL.into_iter().filter(|outcome| outcome.is_failure()) {
            figures.failed.get_or_create(&label("outcome", outcome.name())).inc_by(0);
        }
        figures
    }

    fn registry(&self) -> Registry {
        let mut all = Registry::with_prefix("benchwright");
        let help =
            "1 for what goes on: the experiment, its stage, and the level and search of the trial";
        all.register("now", help, self.now.clone());
        all.register("trial", "The number of the trial that runs", self.trial.clone());
        let per_s = Unit::Other("requests_per_second".to_owned());
        let rate = |all: &mut Registry, name: &str, help: &str, of: &Number| {
            all.register_with_unit(name, help, per_s.clone(), of.clone());
        };
        rate(&mut all, "asked", "The rate that was asked for, of all targets", &self.asked);
        rate(&mut all, "offered", "The rate that was offered in the last interval", &self.offered);
        let help = "The rate of responses in the last interval";
        rate(&mut all, "completed", help, &self.completed);
        let help = "The rate of operations that these answered, where a request carries several";
        let per_s = Unit::Other("operations_per_second".to_owned());
        all.register_with_unit("completed", help, per_s, self.operations.clone());
        let help = "The most requests without a response in the last interval";
        all.register("outstanding_requests", help, self.outstanding.clone());
        let help = "The p99 of the generator's own lateness in the last interval";
        all.register_with_unit("lateness_p99", help, Unit::Seconds, self.lateness.clone());
        let help =
            "The response times of the last interval, from the intended start of each request";
        all.register_with_unit("response_time", help, Unit::Seconds, self.response.clone());
        all.register("failed_requests", "The failed requests by outcome", self.failed.clone());
        all.register("trials", "The attempted trials that ended, by status", self.trials.clone());
        let help = "The trials of the plan: done, usually still needed, and possible beyond that";
        all.register("plan_trials", help, self.plan.clone());
        all.register("plan_searches", "The searches of the plan by state", self.searches.clone());
        let help = "The usual time of the trials that are still needed";
        all.register_with_unit("needed", help, Unit::Seconds, self.needed.clone());
        all
    }

    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { outline, journal } => {
                self.experiment.clone_from(&outline.name);
                self.strands = outline.strands.iter().cloned().map(Strand::new).collect();
                journal.iter().for_each(|entry| self.ended(entry));
                self.stand();
                self.go_to("prepare");
            }
            Event::Begins { trial, strand } => {
                // A probe has no end of its own.
                self.forget();
                self.trial.set(i64::from(trial.number));
                let strand = self.strands.get(*strand);
                self.current = strand.map(|strand| current(&strand.outlined)).unwrap_or_default();
                self.stage.clear();
                self.go_to("prepare");
            }
            Event::Stage(stage) => self.go_to(&stage.to_string()),
            Event::Measuring { drive, .. } => {
                let each = drive.rate.map_or(f64::NAN, Rate::as_per_second);
                self.asked.set(each * drive.targets.len() as f64);
                self.go_to("open connections");
            }
            Event::Tick { tick, .. } => {
                self.tick(tick);
                self.go_to(tick.phase.name());
            }
            Event::Probed { .. } => self.rest(),
            Event::Ended { entry, .. } => {
                self.ended(entry);
                self.rest();
            }
            Event::Stands { strand, ending, .. } => {
                if let Some(strand) = self.strands.get_mut(*strand) {
                    strand.ending.clone_from(ending);
                }
                self.stand();
            }
            _ => {}
        }
    }

    /// Shows a stage, if it is another one.
    fn go_to(&mut self, stage: &str) {
        if self.stage == stage {
            return;
        }
        stage.clone_into(&mut self.stage);
        self.now.clear();
        let mut labels = label("experiment", &self.experiment);
        labels.extend(label("stage", stage));
        labels.extend(self.current.iter().cloned());
        self.now.get_or_create(&labels).set(1);
    }

    /// Shows that no trial runs.
    fn rest(&mut self) {
        self.forget();
        self.current.clear();
        self.go_to("between trials");
    }

    /// Shows how far the plan is.
    fn stand(&self) {
        let Needed { trials, time, most, .. } = needed::needed(self.strands.iter());
        let done = self.strands.iter().map(Strand::done).sum();
        for (part, count) in [("done", done), ("needed", trials), ("possible", most - trials)] {
            self.plan.get_or_create(&label("part", part)).set(count as i64);
        }
        let open = self.strands.iter().filter(|strand| strand.ending.is_none()).count();
        for (state, count) in [("open", open), ("ended", self.strands.len() - open)] {
            self.searches.get_or_create(&label("state", state)).set(count as i64);
        }
        self.needed.set(time.as_secs_f64());
    }

    fn tick(&self, tick: &Tick) {
        let seconds = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64 / 1e9);
        self.offered.set(tick.offered_per_s.unwrap_or(f64::NAN));
        self.completed.set(tick.completed_per_s.unwrap_or(f64::NAN));
        self.operations.set(tick.operations_per_s.unwrap_or(f64::NAN));
        self.outstanding.set(tick.in_flight.map_or(f64::NAN, |count| count as f64));
        self.lateness.set(seconds(tick.lateness_p99_ns));
        let Quantiles { p50_ns, p99_ns, p999_ns } = tick.last;
        for (quantile, ns) in [("0.5", p50_ns), ("0.99", p99_ns), ("0.999", p999_ns)] {
            self.response.get_or_create(&label("quantile", quantile)).set(seconds(ns));
        }
        for (outcome, count) in &tick.errors {
            self.failed.get_or_create(&label("outcome", outcome)).inc_by(*count);
        }
    }

    fn ended(&mut self, entry: &Entry) {
        if entry.purpose == Purpose::Probe {
            return;
        }
        self.trials.get_or_create(&label("status", entry.status.name())).inc();
        if let Some(strand) = self.strands.get_mut(needed::strand_of(entry)) {
            strand.end(entry);
        }
    }

    /// Forgets the figures of a load that ended.
    fn forget(&self) {
        self.trial.set(0);
        let of_load = [
            &self.asked,
            &self.offered,
            &self.completed,
            &self.operations,
            &self.outstanding,
            &self.lateness,
        ];
        for gauge in of_load {
            gauge.set(f64::NAN);
        }
        self.response.clear();
    }
}

fn label(name: &'static str, value: &str) -> Labels {
    vec![(name, value.to_owned())]
}

/// Returns the level and the search of a strand, as far as its plan has several.
fn current(outlined: &Outlined) -> Labels {
    let named = [("level", &outlined.level), ("search", &outlined.search)];
    named.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
}
