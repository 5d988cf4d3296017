//! The live figures of a run, for a Prometheus that asks for them.
//!
//! A figure that is not known now is NaN, never zero: between two loads nothing is offered, and nothing
//! was measured.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;

use lab::backend::{Quantiles, Tick};
use lab::progress::{Event, Progress};
use measure::Rate;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use results::journal::Status;
use tiny_http::{Header, Method, Response, Server};

use crate::output::{self, Failure};

#[cfg(test)]
mod tests;

/// The content type of the text that [`encode`] writes.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Number = Gauge<f64, AtomicU64>;
type Labels = Vec<(&'static str, String)>;

/// The figures, and the thread that shows them; it ends when this is dropped.
pub(super) struct Metrics {
    figures: Figures,
    server: Arc<Server>,
    serving: Option<JoinHandle<()>>,
}

#[derive(Clone, Default)]
struct Figures {
    trial: Gauge,
    asked: Number,
    offered: Number,
    completed: Number,
    outstanding: Number,
    lateness: Number,
    /// The response times of the last interval, by quantile.
    response: Family<Labels, Number>,
    /// The failed requests by outcome.
    failed: Family<Labels, Counter>,
    /// The attempts that ended, by status.
    trials: Family<Labels, Counter>,
}

impl Metrics {
    pub(super) fn listen(address: SocketAddr) -> Result<Metrics, Failure> {
        let server = Server::http(address).map_err(|error| {
            let remedy = "choose another address, or port 0";
            Failure::question(format!("--metrics {address}: {error}; {remedy}"))
        })?;
        let server = Arc::new(server);
        let listening = server.server_addr();
        output::error(&format!("metrics  http://{listening}/metrics"));
        let figures = Figures::default();
        figures.forget();
        let registry = figures.registry();
        let shared = Arc::clone(&server);
        let serving = std::thread::spawn(move || serve(&shared, &registry));
        Ok(Metrics { figures, server, serving: Some(serving) })
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(serving) = self.serving.take() {
            // It has ended in any case.
            let _ = serving.join();
        }
    }
}

fn serve(server: &Server, registry: &Registry) {
    for request in server.incoming_requests() {
        let is_ours = matches!(request.url(), "/metrics" | "/");
        let response = match (request.method(), is_ours) {
            (Method::Get | Method::Head, true) => {
                let mut text = String::new();
                // Writing to a text does not fail.
                let _ = encode(&mut text, registry);
                let kind = Header::from_bytes("Content-Type", CONTENT_TYPE);
                kind.into_iter().fold(Response::from_string(text), Response::with_header)
            }
            (Method::Get | Method::Head, false) => {
                Response::from_string("the figures are at /metrics\n").with_status_code(404)
            }
            _ => Response::from_string("only GET\n").with_status_code(405),
        };
        // Who asked may have gone.
        let _ = request.respond(response);
    }
}

impl Progress for Metrics {
    fn event(&mut self, event: &Event<'_>) {
        self.figures.take(event);
    }
}

impl Figures {
    fn registry(&self) -> Registry {
        let mut all = Registry::with_prefix("benchwright");
        all.register("trial", "The number of the trial that runs", self.trial.clone());
        let per_s = Unit::Other("requests_per_second".to_owned());
        let rate = |all: &mut Registry, name: &str, help: &str, of: &Number| {
            all.register_with_unit(name, help, per_s.clone(), of.clone());
        };
        rate(&mut all, "asked", "The rate that was asked for, of all targets", &self.asked);
        rate(&mut all, "offered", "The rate that was offered in the last interval", &self.offered);
        let help = "The rate of responses in the last interval";
        rate(&mut all, "completed", help, &self.completed);
        let help = "The most requests without a response in the last interval";
        all.register("outstanding_requests", help, self.outstanding.clone());
        let help = "The p99 of the generator's own lateness in the last interval";
        all.register_with_unit("lateness_p99", help, Unit::Seconds, self.lateness.clone());
        let help =
            "The response times of the last interval, from the intended start of each request";
        all.register_with_unit("response_time", help, Unit::Seconds, self.response.clone());
        all.register("failed_requests", "The failed requests by outcome", self.failed.clone());
        all.register("trials", "The attempted trials that ended, by status", self.trials.clone());
        all
    }

    fn take(&self, event: &Event<'_>) {
        match event {
            Event::Planned { journal, .. } => {
                journal.iter().for_each(|entry| self.ended(entry.status));
            }
            Event::Begins { trial, .. } => {
                self.trial.set(i64::from(trial.number));
            }
            Event::Measuring { drive, .. } => {
                let each = drive.rate.map_or(f64::NAN, Rate::as_per_second);
                self.asked.set(each * drive.targets.len() as f64);
            }
            Event::Tick { tick, .. } => self.tick(tick),
            Event::Ended { entry, .. } => {
                self.ended(entry.status);
                self.forget();
            }
            _ => {}
        }
    }

    fn tick(&self, tick: &Tick) {
        let seconds = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64 / 1e9);
        self.offered.set(tick.offered_per_s.unwrap_or(f64::NAN));
        self.completed.set(tick.completed_per_s.unwrap_or(f64::NAN));
        self.outstanding.set(tick.in_flight.map_or(f64::NAN, |count| count as f64));
        self.lateness.set(seconds(tick.lateness_p99_ns));
        let Quantiles { p50_ns, p99_ns, p999_ns } = tick.last;
        for (quantile, ns) in [("0.5", p50_ns), ("0.99", p99_ns), ("0.999", p999_ns)] {
            let labels = vec![("quantile", quantile.to_owned())];
            self.response.get_or_create(&labels).set(seconds(ns));
        }
        for (outcome, count) in &tick.errors {
            self.failed.get_or_create(&vec![("outcome", outcome.clone())]).inc_by(*count);
        }
    }

    fn ended(&self, status: Status) {
        self.trials.get_or_create(&vec![("status", status.name().to_owned())]).inc();
    }

    /// Forgets the figures of a load that ended.
    fn forget(&self) {
        self.trial.set(0);
        for gauge in
            [&self.asked, &self.offered, &self.completed, &self.outstanding, &self.lateness]
        {
            gauge.set(f64::NAN);
        }
        self.response.clear();
    }
}
