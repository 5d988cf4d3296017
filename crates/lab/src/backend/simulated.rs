//! A queue on virtual time in place of a system and a generator: for teaching, for rehearsing a
//! plan, and for our own tests. The same seed gives the same bytes; no clock is read.
//!
//! Requests wait in one line for `servers` equal servers (M/D/k, M/M/k, and with constant arrivals
//! D/·/k). The open loop has as many connections as it needs; the closed loop has the spec's. Any
//! other option of the generator has no meaning here, and a caveat names it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use measure::estimate::{Enough, LEAST_CURTAILED};
use measure::pace::{Distribution as Law, UnitProcess, Walk};
use measure::{Balance, Histogram, Instant, Nanos, Quantile, Random};
use results::load::{
    Counts, Generator, Interval, Pacing, Part, Rates, SLO_MISSED, Target, UNFINISHED,
};
use results::{Environment, Slo, Times, little, slo};

use super::{
    Address, Backend, Consumed, Drive, Driven, Executed, Machine, Quantiles, Reply, Service, Stop,
    Tick, Ticking, replicas,
};
use crate::calm::Calm;
use crate::generator;
use crate::spec::{
    self, Arrivals, Change, Connections, Distribution, Exchange, Resolved, Run, Shape,
};

#[cfg(test)]
mod tests;

/// The fields of a load that the model follows. Every response comes, so a timeout has no effect.
const MODELLED: [&str; 11] = [
    "load.rate",
    "load.shape",
    "load.arrivals",
    "load.model",
    "load.think",
    "load.connections",
    "load.timeout",
    "phases.warm_up.fixed",
    "phases.measure.time",
    "phases.drain",
    "slo",
];

/// Virtual time and the model that fills it.
pub struct Simulated {
    now: Instant,
    model: spec::Simulated,
    arrivals: Arrivals,
    shape: Option<Shape>,
    /// The connections of the closed loop.
    connections: u32,
    /// The objectives that end a load once they are missed; none if it runs for its whole time.
    slos: Vec<Slo>,
    /// The longest response time that counts as goodput, if there is a limit.
    limit: Option<Nanos>,
}

impl Simulated {
    pub fn new(resolved: &Resolved) -> Simulated {
        let spec = &resolved.spec;
        let model = spec.simulated.clone().expect("the spec was checked to have a model");
        let load = &spec.load;
        let arrivals = load.arrivals.unwrap_or_default();
        let connections = match load.connections {
            Connections::Fixed(number) => number.0,
            // The spec was checked: only an open loop has these.
            Connections::PerRate(_) => 0,
        };
        let (now, shape) = (Instant::default(), load.shape.clone());
        let limit = slo::tightest(&resolved.slos());
        let slos = if resolved.asks_only_for_verdicts() { resolved.slos() } else { Vec::new() };
        Simulated { now, model, arrivals, shape, connections, slos, limit }
    }
}

impl Backend for Simulated {
    fn now(&mut self) -> Instant {
        self.now
    }

    fn date(&mut self) -> Option<Nanos> {
        None
    }

    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        self.now = self.now + length;
        Ok(())
    }

    fn enter(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        *self = Simulated { now: self.now, ..Simulated::new(resolved) };
        Ok(())
    }

    fn prepare(&mut self, _resolved: &Resolved) -> Result<Environment, Stop> {
        let confinement = Some("none: a queueing model on virtual time".to_owned());
        Ok(Environment { confinement, ..Environment::default() })
    }

    fn caveats(&mut self, resolved: &Resolved) -> Vec<String> {
        let ignored: Vec<&str> = generator::fields(resolved)
            .into_iter()
            .filter(|field| !MODELLED.contains(field))
            .collect();
        let caveat = || {
            format!(
                "the simulation ignores {}: it is a queue, without connections and contents; \
                 choose backend: local or external to use all fields",
                ignored.join(", ")
            )
        };
        (!ignored.is_empty()).then(caveat).into_iter().collect()
    }

    fn start(&mut self, wave: &[Service]) -> Result<Vec<Vec<Address>>, Stop> {
        Ok(wave.iter().map(|service| simulated(&service.name, service.replicas)).collect())
    }

    fn restart(&mut self, _services: &[String]) -> Result<(), Stop> {
        Ok(())
    }

    fn scale(&mut self, service: &str, replicas: u32) -> Result<Vec<Address>, Stop> {
        Ok(simulated(service, replicas))
    }

    fn change(&mut self, _change: &Change) -> Result<Result<(), String>, Stop> {
        Ok(Ok(()))
    }

    fn execute(&mut self, run: &Run) -> Result<Executed, String> {
        Ok(Executed::as_expected(run))
    }

    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop> {
        Ok(BTreeMap::new())
    }

    /// Returns the expected response: a model of a queue has no responses to check.
    fn ask(&mut self, _url: &str, exchange: &Exchange) -> Result<Reply, String> {
        Ok(Reply::as_expected(exchange))
    }

    fn check(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// Returns at once: nothing disturbs virtual time.
    fn await_calm(&mut self, _within: Nanos) -> Result<Calm, Stop> {
        Ok(Calm { is_calm: true, waited: Nanos::ZERO, quiet: Nanos::ZERO, worst: None, lost: None })
    }

    fn drive(&mut self, drive: &Drive, tick: &mut Ticking<'_>) -> Result<Driven, Stop> {
        let mut parts: Vec<(String, Vec<Request>)> = (0..)
            .zip(&drive.targets)
            .map(|(part, url)| (url.clone(), self.requests(drive, Random::part(drive.seed, part))))
            .collect();
        let asked = self.asked_per_s(drive);
        let curtailed = match drive.interval {
            Some(interval) => ended_by(tick, drive, interval, &parts),
            None => self.curtailed(drive, &parts),
        };
        let drive = &Drive { measure: curtailed.unwrap_or(drive.measure), ..drive.clone() };
        let end = Instant::default() + drive.warm_up + drive.measure;
        parts.iter_mut().for_each(|(_, requests)| requests.retain(|r| r.intended < end));
        let ended = curtailed.filter(|_| drive.interval.is_none()).map(|_| SLO_MISSED.to_owned());
        let document = self.document(drive, asked, &parts);
        let mut load = results::Load { ended, ..document };
        load.warnings.extend(little::warning(&load));
        let times = load.total.response_time.as_ref();
        let times = times.map_or_else(Quantiles::default, |times| Quantiles {
            p50_ns: Some(times.p50_ns),
            p99_ns: Some(times.p99_ns),
            p999_ns: Some(times.p999_ns),
        });
        let last = Tick {
            phase: "measurement".to_owned(),
            elapsed_s: drive.measure.as_secs_f64(),
            asked_per_s: asked,
            completed_per_s: Some(load.total.rates_per_s.completed),
            last: times,
            whole: times,
            failed: load.total.counts.failed,
            ..Tick::default()
        };
        if drive.interval.is_none() {
            // The load is over.
            let _ = tick(last);
        }
        let busy: u64 =
            parts.iter().flat_map(|(_, requests)| requests).map(|r| busy(r, drive)).sum();
        let begin = Instant::default() + drive.warm_up;
        let consumed = Consumed {
            step: "servers".to_owned(),
            role: "sut".to_owned(),
            of_role: f64::from(self.model.servers.0) * parts.len() as f64,
            cpu: vec![(begin, 0), (begin + drive.measure, busy)],
            ..Consumed::default()
        };
        // The drain is over once every request has its response.
        let last = parts.iter().flat_map(|(_, requests)| requests).map(|r| r.done).max();
        let drained = last.map_or(Nanos::ZERO, |last| last.saturating_since(end).min(drive.drain));
        self.now = self.now + drive.warm_up + drive.measure + drained;
        let consumed = BTreeMap::from([("servers".to_owned(), consumed)]);
        let gauged = Vec::new();
        Ok(Driven {
            load,
            parts: Vec::new(),
            consumed,
            deaths: Vec::new(),
            events: Vec::new(),
            gauged,
            machine: Machine::default(),
        })
    }

    fn stop(&mut self) {}
}

fn simulated(service: &str, number: u32) -> Vec<Address> {
    let address = |name: &String| Address::of_all(&format!("http://{name}.simulated"));
    replicas(service, number).iter().map(address).collect()
}

/// The times of one request, in virtual time since the load began.
#[derive(Clone, Copy, Debug)]
struct Request {
    intended: Instant,
    begun: Instant,
    done: Instant,
}

impl Simulated {
    /// Returns every request that is due before the measurement ends.
    fn requests(&self, drive: &Drive, mut random: Random) -> Vec<Request> {
        let end = Instant::default() + drive.warm_up + drive.measure;
        let mut free: BinaryHeap<Reverse<Instant>> =
            (0..self.model.servers.0).map(|_| Reverse(Instant::default())).collect();
        // For the closed loop: the time when each connection starts its next request.
        let mut starts: BinaryHeap<Reverse<Instant>> =
            (0..self.connections).map(|_| Reverse(Instant::default())).collect();
        let mut drawn = self.drawn(drive, &mut random);
        let mut clock = 0.0;
        let mut requests = Vec::new();
        loop {
            let intended = match (&mut drawn, drive.rate) {
                (Some((process, walk)), _) => match walk.time(process.next_time()) {
                    Some(time) => Instant::default() + time,
                    None => return requests,
                },
                (None, Some(rate)) => {
                    clock += match self.arrivals.0 {
                        Law::Poisson => random.exponential(rate.gap_ns()),
                        _ => rate.gap_ns(),
                    };
                    Instant(clock as u64)
                }
                (None, None) => starts.pop().expect("a closed loop has a connection").0,
            };
            if end <= intended {
                return requests;
            }
            let Reverse(server) = free.pop().expect("a model has a server");
            let begun = server.max(intended);
            let done = begun + self.service_time(&mut random);
            free.push(Reverse(done));
            starts.push(Reverse(done + drive.think.draw(&mut random)));
            requests.push(Request { intended, begun, done });
        }
    }

    /// Returns the times of an open loop as the generator draws them. Poisson and constant arrivals
    /// at one rate use the stream of the service times instead, so that a seed keeps its results.
    fn drawn(&self, drive: &Drive, random: &mut Random) -> Option<(UnitProcess, Walk)> {
        let shape = match (drive.rate, &self.shape) {
            (Some(_), _) if matches!(self.arrivals.0, Law::Poisson | Law::Constant) => return None,
            (Some(rate), _) => measure::pace::Shape::constant(rate),
            (None, Some(shape)) => shape.curve.after_warm_up(drive.warm_up),
            (None, None) => return None,
        };
        let own = Random::new(random.next_u64());
        Some((UnitProcess::new(self.arrivals.0, own), Walk::new(shape)))
    }

    /// Returns the length of a measurement that ends early, as it would on a real machine: so many
    /// requests were over a limit that the SLO is missed whatever follows.
    fn curtailed(&self, drive: &Drive, parts: &[(String, Vec<Request>)]) -> Option<Nanos> {
        let rate = drive.rate?.as_per_second() * parts.len() as f64;
        let begin = Instant::default() + drive.warm_up;
        let mut requests: Vec<Request> = parts.iter().flat_map(|(_, of)| of).copied().collect();
        requests.retain(|request| begin <= request.intended);
        requests.sort_by_key(|request| request.done);
        let decided = |enough: Enough| {
            // No request fails in a queue.
            let limit = enough.limit?;
            let mut over = requests.iter().filter(|r| limit < r.done - r.intended);
            over.nth(enough.requests as usize - 1)
        };
        let enough = slo::enough(&self.slos, rate * drive.measure.as_secs_f64()).into_iter();
        let length = enough.filter_map(decided).map(|request| request.done - begin).min()?;
        Some(length.max(LEAST_CURTAILED)).filter(|length| *length < drive.measure)
    }

    /// Returns the rate of each target, of a shape on average; `None` in a closed loop.
    fn asked_per_s(&self, drive: &Drive) -> Option<f64> {
        let of_shape = |shape: &Shape| {
            let curve = shape.curve.after_warm_up(drive.warm_up);
            curve.mean_rate(drive.warm_up, drive.warm_up + drive.measure)
        };
        let of_rate = drive.rate.map(|rate| rate.as_per_second());
        of_rate.or_else(|| self.shape.as_ref().map(of_shape))
    }

    fn service_time(&self, random: &mut Random) -> Nanos {
        let mean = *self.model.service_time;
        match self.model.distribution {
            Distribution::Constant => mean,
            Distribution::Exponential => Nanos(random.exponential(mean.0 as f64).round() as u64),
        }
    }

    fn document(
        &self,
        drive: &Drive,
        asked: Option<f64>,
        parts: &[(String, Vec<Request>)],
    ) -> results::Load {
        let counted = |requests: &Vec<Request>| Counted::of(drive, self.limit, requests);
        let targets: Vec<(String, Counted)> =
            parts.iter().map(|(url, requests)| (url.clone(), counted(requests))).collect();
        let mut total = Counted::new(drive);
        targets.iter().for_each(|(_, part)| total.add(part));
        let series = total.series();
        let part =
            |counted: &Counted, targets: f64| counted.part(drive, asked.map(|r| r * targets));
        results::Load {
            arguments: drive.arguments.clone(),
            seed: drive.seed,
            pacing: match asked {
                Some(_) => Pacing::Open { arrivals: self.arrivals.to_string() },
                None => Pacing::Closed { think_ns: drive.think.mean().0 },
            },
            measured_s: drive.measure.as_secs_f64(),
            total: part(&total, targets.len() as f64),
            targets: targets
                .iter()
                .map(|(url, counted)| Target {
                    url: url.clone(),
                    path: None,
                    part: part(counted, 1.0),
                })
                .collect(),
            series,
            saturated: asked.and_then(|_| total.balance.is_saturated()),
            generator: Generator { io: Some("simulated".to_owned()), ..Generator::default() },
            ..results::Load::empty("simulated")
        }
    }
}

/// Returns the time within the measurement in which a server worked on the request.
fn busy(request: &Request, drive: &Drive) -> u64 {
    let begin = Instant::default() + drive.warm_up;
    let end = begin + drive.measure;
    request.done.min(end).saturating_since(request.begun.max(begin)).0
}

/// Tells each interval, and returns the time at which a tick ended the load.
fn ended_by(
    tick: &mut Ticking<'_>,
    drive: &Drive,
    interval: Nanos,
    parts: &[(String, Vec<Request>)],
) -> Option<Nanos> {
    let mut requests: Vec<Request> = parts.iter().flat_map(|(_, of)| of).copied().collect();
    requests.sort_by_key(|request| request.done);
    let mut rest = &requests[..];
    let mut elapsed = Nanos::ZERO;
    while elapsed + interval <= drive.measure {
        elapsed += interval;
        let end = Instant::default() + drive.warm_up + elapsed;
        let (done, later) = rest.split_at(rest.partition_point(|request| request.done < end));
        rest = later;
        let mut times = Histogram::new();
        done.iter().for_each(|request| times.record(request.done - request.intended));
        let of = |quantile| times.quantile(quantile).map(|time| time.0);
        let told = tick(Tick {
            phase: "measurement".to_owned(),
            elapsed_s: elapsed.as_secs_f64(),
            completed_per_s: Some(done.len() as f64 / interval.as_secs_f64()),
            last: Quantiles {
                p50_ns: of(Quantile::P50),
                p99_ns: of(Quantile::P99),
                p999_ns: of(Quantile::P999),
            },
            ..Tick::default()
        });
        if told.is_break() {
            return Some(elapsed);
        }
    }
    None
}

/// The figures of one target, or of all.
struct Counted {
    counts: Counts,
    /// The part of `completed_inside` that took no longer than the limit, if there is one.
    good_inside: u64,
    /// The sum of the times in which a request was in progress during the measurement.
    in_progress: Nanos,
    balance: Balance,
    response_time: Histogram,
    unfinished_response_time: Histogram,
    service_time: Histogram,
    seconds: Vec<Second>,
}

#[derive(Clone, Default)]
struct Second {
    length_s: f64,
    offered: u64,
    completed: u64,
    response_times: Histogram,
}

impl Counted {
    fn new(drive: &Drive) -> Counted {
        let mut seconds = Vec::new();
        let mut left = drive.measure;
        while Nanos::ZERO < left {
            let length = left.min(Nanos::SECOND);
            seconds.push(Second { length_s: length.as_secs_f64(), ..Second::default() });
            left = left.saturating_sub(length);
        }
        Counted {
            counts: Counts::default(),
            good_inside: 0,
            in_progress: Nanos::ZERO,
            balance: Balance::new(Instant::default() + drive.warm_up),
            response_time: Histogram::new(),
            unfinished_response_time: Histogram::new(),
            service_time: Histogram::new(),
            seconds,
        }
    }

    fn of(drive: &Drive, limit: Option<Nanos>, requests: &[Request]) -> Counted {
        let begin = Instant::default() + drive.warm_up;
        let end = begin + drive.measure;
        let last = end + drive.drain;
        let mut counted = Counted::new(drive);
        for &Request { intended, begun, done } in requests {
            counted.balance.arrived(intended);
            counted.in_progress += done.min(end).saturating_since(intended.max(begin));
            if done < end {
                counted.balance.answered(done);
            }
            if begin <= done && done < end {
                counted.counts.completed_inside += 1;
                let is_good = limit.is_none_or(|limit| done - intended <= limit);
                counted.good_inside += u64::from(is_good);
                counted.second(done - begin).completed += 1;
            }
            if intended < begin {
                continue;
            }
            let second = counted.second(intended - begin);
            second.offered += 1;
            // An unanswered request took at least as long as the generator waited for it.
            second.response_times.record(done.min(last) - intended);
            counted.response_time.record(done.min(last) - intended);
            counted.counts.intended += 1;
            counted.counts.sent += 1;
            match done < last {
                true => {
                    counted.counts.ok += 1;
                    counted.counts.completed += 1;
                    counted.service_time.record(done - begun);
                }
                false => {
                    counted.counts.unfinished += 1;
                    counted.unfinished_response_time.record(last - intended);
                }
            }
        }
        counted
    }

    fn second(&mut self, since: Nanos) -> &mut Second {
        &mut self.seconds[(since.0 / Nanos::SECOND.0) as usize]
    }

    fn add(&mut self, part: &Counted) {
        self.counts.intended += part.counts.intended;
        self.counts.sent += part.counts.sent;
        self.counts.completed += part.counts.completed;
        self.counts.completed_inside += part.counts.completed_inside;
        self.good_inside += part.good_inside;
        self.counts.ok += part.counts.ok;
        self.counts.unfinished += part.counts.unfinished;
        self.in_progress += part.in_progress;
        self.balance.add(part.balance.clone());
        self.response_time.add(&part.response_time);
        self.unfinished_response_time.add(&part.unfinished_response_time);
        self.service_time.add(&part.service_time);
        for (second, other) in self.seconds.iter_mut().zip(&part.seconds) {
            second.offered += other.offered;
            second.completed += other.completed;
            second.response_times.add(&other.response_times);
        }
    }

    fn part(&self, drive: &Drive, asked: Option<f64>) -> Part {
        let seconds = drive.measure.as_secs_f64();
        let rate = |count: u64| count as f64 / seconds;
        let inside = self.counts.completed_inside;
        let outcomes = [("ok", self.counts.ok), (UNFINISHED, self.counts.unfinished)];
        Part {
            counts: self.counts.clone(),
            rates_per_s: Rates {
                asked,
                offered: rate(self.counts.intended),
                completed: rate(inside),
                sustained: Some(rate(inside.min(self.counts.intended))),
                succeeded: Some(rate(inside)),
                goodput: rate(self.good_inside),
            },
            in_progress: Some(self.in_progress.as_secs_f64() / seconds),
            outcomes: outcomes
                .into_iter()
                .filter(|&(_, count)| 0 < count)
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
            statuses: BTreeMap::from([("200".to_owned(), self.counts.ok)]),
            response_time: Times::of(&self.response_time),
            unfinished_response_time: Times::of(&self.unfinished_response_time),
            service_time: Times::of(&self.service_time),
            ..Part::default()
        }
    }

    fn series(&self) -> Vec<Interval> {
        let interval = |(t, second): (u32, &Second)| {
            let mut interval = Interval {
                t_s: f64::from(t),
                length_s: second.length_s,
                offered: second.offered,
                sent: second.offered,
                completed: second.completed,
                ..Interval::default()
            };
            interval.set_times(&second.response_times, &Histogram::new());
            interval
        };
        (0..).zip(&self.seconds).map(interval).collect()
    }
}
