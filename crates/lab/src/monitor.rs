//! The answers of other monitors for the time of a measurement. They are asked after the load: a
//! question during it would take time from what it asks about.

use std::collections::BTreeMap;

use measure::{Instant, Nanos};
use results::components::{Monitored, MonitoredSeries};
use serde::Deserialize;

use crate::backend::{Backend, Stop};
use crate::http::Reply;
use crate::spec::{Body, Exchange, Method, Monitor, Prometheus, Resolved, duration};

#[cfg(test)]
mod tests;

/// The most series of a query that are kept.
const MOST_SERIES: usize = 50;
/// The fewest scrapes in a window from which a rate can be trusted.
const LEAST_SCRAPES: u64 = 4;
/// The interval at which cAdvisor reads what containers use, at most, and the beginning of the names of
/// its metrics: a value is so old when it is scraped.
const READ_EVERY: Nanos = Nanos::from_secs(15);
const OF_CONTAINERS: &str = "container_";

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Since 1970.
    pub date: Nanos,
    pub at: Instant,
}

/// Asks all monitors of the spec about the time between `begin` and `end`. A monitor that gives no
/// answer has a problem in its place; it does not end the trial.
pub fn ask(
    resolved: &Resolved,
    (begin, end): (Instant, Instant),
    moment: Option<Moment>,
    backend: &mut dyn Backend,
) -> Result<Vec<Monitored>, Stop> {
    let length = Nanos(end.0.saturating_sub(begin.0));
    let all = resolved.spec.monitor.iter().map(|Monitor::Prometheus(prometheus)| prometheus);
    let scraped = all.map(|prometheus| {
        let interval = moment.and_then(|_| scrape_interval(prometheus, resolved, backend));
        (prometheus, interval)
    });
    let all: Vec<(&Prometheus, Option<Nanos>)> = scraped.collect();
    if moment.is_some() {
        let late = all.iter().map(|(prometheus, scraped)| late(prometheus, *scraped)).max();
        let known_at = end + late.unwrap_or_default();
        let left = Nanos(known_at.0.saturating_sub(backend.now().0));
        backend.pause(left)?;
    }
    let ask = |(prometheus, scraped): &(&Prometheus, Option<Nanos>)| {
        let Prometheus { name, query, every, .. } = *prometheus;
        let found = match moment {
            Some(moment) => {
                let (begin, end) = (moment.of(begin), moment.of(end));
                // The window of an earlier value would begin before the measurement.
                let window = prometheus.windows().filter(|window| *window <= length).max();
                let first = begin + window.unwrap_or_default().as_secs_f64();
                let reply = values(prometheus, resolved, (first, end.max(first)), backend);
                reply.and_then(|reply| read(&reply, begin))
            }
            None => Err("there is no date here".to_owned()),
        };
        let (series, mut problems) = match found {
            Ok(series) if series.is_empty() => {
                (series, vec!["the query has no values in the measurement".to_owned()])
            }
            Ok(series) => (series, Vec::new()),
            Err(problem) => (Vec::new(), vec![problem]),
        };
        if problems.is_empty() {
            problems.extend(windows(prometheus, length, *scraped));
        }
        Monitored {
            name: name.to_string(),
            query: query.clone(),
            every_s: every.as_secs_f64(),
            series,
            problems,
        }
    };
    Ok(all.iter().map(ask).collect())
}

/// Returns the time until a server has the last values of a measurement. Without them the rate at its
/// end is that of a shorter time. A query without a window shows what it shows at once.
fn late(prometheus: &Prometheus, scraped: Option<Nanos>) -> Nanos {
    let Some(scraped) = scraped.filter(|_| prometheus.windows().next().is_some()) else {
        return Nanos::ZERO;
    };
    match prometheus.query.contains(OF_CONTAINERS) {
        true => scraped + READ_EVERY,
        false => scraped,
    }
}

impl Moment {
    /// Returns the seconds since 1970 at a time.
    fn of(self, at: Instant) -> f64 {
        let (at, of) = (at.0 as f64 / 1e9, self.at.0 as f64 / 1e9);
        self.date.as_secs_f64() + (at - of)
    }
}

/// Asks the server for the values of the query from the first date to the last.
fn values(
    prometheus: &Prometheus,
    resolved: &Resolved,
    (first, last): (f64, f64),
    backend: &mut dyn Backend,
) -> Result<Reply, String> {
    let mut exchange = Exchange::get("/api/v1/query_range");
    exchange.method = Method::Post;
    let fields = [
        ("query", prometheus.query.clone()),
        ("start", format!("{first:.3}")),
        ("end", format!("{last:.3}")),
        ("step", format!("{}", prometheus.every.as_secs_f64())),
    ];
    let fields = fields.map(|(name, text)| (name.to_owned(), text));
    exchange.send.body = Some(Body::Form(fields.into_iter().collect()));
    backend.consult(&url(prometheus, resolved), &exchange)
}

/// Returns the address of the server without the slash at its end.
fn url(prometheus: &Prometheus, resolved: &Resolved) -> String {
    resolved.text(&prometheus.url, 1).trim_end_matches('/').to_owned()
}

/// The part of Prometheus' answer that is read.
#[derive(Deserialize)]
struct Response {
    status: String,
    #[serde(default)]
    error: String,
    data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    #[serde(default)]
    result: Vec<Found>,
    #[serde(default)]
    active_targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Found {
    metric: BTreeMap<String, String>,
    values: Vec<(f64, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    scrape_interval: String,
}

fn answer(reply: &Reply) -> Result<Data, String> {
    let answer: Response = serde_json::from_str(&reply.body)
        .map_err(|_| format!("status {}, and no answer of a Prometheus", reply.status))?;
    match answer.data.filter(|_| answer.status == "success") {
        Some(data) => Ok(data),
        None => Err(answer.error),
    }
}

fn read(reply: &Reply, begin: f64) -> Result<Vec<MonitoredSeries>, String> {
    let found = answer(reply)?.result;
    if MOST_SERIES < found.len() {
        let count = found.len();
        return Err(format!(
            "the query has {count} series, at most {MOST_SERIES} are kept; sum them"
        ));
    }
    let series = |Found { metric, values }: Found| {
        // NaN and infinity are no values: a quotient without requests, for example.
        let values = values.into_iter().filter_map(|(at, value)| {
            Some((at - begin, value.parse::<f64>().ok().filter(|value| value.is_finite())?))
        });
        MonitoredSeries { labels: metric, values: values.collect() }
    };
    let series = found.into_iter().map(series);
    Ok(series.filter(|series: &MonitoredSeries| !series.values.is_empty()).collect())
}

/// Returns the longest interval at which the server scrapes a target; `None` if it does not say.
pub fn scrape_interval(
    prometheus: &Prometheus,
    resolved: &Resolved,
    backend: &mut dyn Backend,
) -> Option<Nanos> {
    let exchange = Exchange::get("/api/v1/targets?state=active");
    let reply = backend.consult(&url(prometheus, resolved), &exchange).ok()?;
    let targets = answer(&reply).ok()?.active_targets;
    targets.iter().filter_map(|target| duration(&target.scrape_interval)).max()
}

/// Returns what is wrong with the windows of a query: a rate over too few scrapes jumps, and one over
/// more than the measurement is that of another time.
fn windows(prometheus: &Prometheus, measured: Nanos, scraped: Option<Nanos>) -> Vec<String> {
    let mut problems = Vec::new();
    for window in prometheus.windows() {
        let text = window.in_words();
        if measured < window {
            let measured = measured.in_words();
            problems.push(format!(
                "its window of {text} is longer than the measurement of {measured}, so it also shows the \
                 time before; measure longer, or shorten the window"
            ));
        }
        if let Some(scraped) = scraped.filter(|scraped| window < *scraped * LEAST_SCRAPES) {
            let scraped = scraped.in_words();
            problems.push(format!(
                "its window of {text} has fewer than {LEAST_SCRAPES} scrapes, which are {scraped} apart; \
                 scrape more often, or use a longer window"
            ));
        }
    }
    problems
}
