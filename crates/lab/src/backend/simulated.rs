//! A queue on virtual time in place of a system and a generator: for teaching, for rehearsing a
//! plan, and for our own tests. The same seed gives the same bytes; no clock is read.
//!
//! Requests wait in one line for `servers` equal servers (M/D/k, M/M/k, and with constant arrivals
//! D/·/k). A connection has one request at a time, so no more servers work than there are connections:
//! in one line it makes no difference which of the two a request waits for. Any other option of the
//! generator has no meaning here, and a caveat names it.
//!
//! A load is kept in memory as a whole, so one that is too large is refused before it begins.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use measure::estimate::{Enough, LEAST_CURTAILED};
use measure::pace::{Distribution as Law, UnitProcess, Walk};
use measure::{Balance, Histogram, Instant, Nanos, Quantile, Random};
use results::load::{Counts, Ended, Generator, Interval, Pacing, Part, Rates, Target, UNFINISHED};
use results::said::{Phase, Quantiles};
use results::{Environment, Slo, Tick, Times, little, slo};

use super::{
    Address, Backend, Consumed, Drive, Driven, Executed, Machine, Reply, Service, Stop, Ticking,
};
use crate::Host;
use crate::calm::Calm;
use crate::spec::simulated::{MOST_REQUESTS, Offer, TooMuch};
use crate::spec::{
    self, Change, Distribution, Exchange, Load, Resolved, Run, SUT, Shape, generator, replicas,
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

/// The requests after which a simulation looks whether the run was interrupted: a few milliseconds.
const LOOK_EVERY: usize = 1 << 16;

/// Virtual time and the model that fills it.
pub struct Simulated {
    now: Instant,
    /// The process of the run, which may be interrupted.
    host: Option<Host>,
    model: spec::Simulated,
    load: Load,
    /// The objectives that end a load once they are missed; none if it runs for its whole time.
    slos: Vec<Slo>,
    /// The longest response time that counts as goodput, if there is a limit.
    limit: Option<Nanos>,
}

impl Simulated {
    pub fn new(resolved: &Resolved) -> Simulated {
        let spec = &resolved.spec;
        let model = spec.simulated.clone().expect("the spec was checked to have a model");
        let (now, load) = (Instant::default(), spec.load.clone());
        let limit = slo::tightest(&resolved.slos());
        let slos = if resolved.asks_only_for_verdicts() { resolved.slos() } else { Vec::new() };
        Simulated { now, host: None, model, load, slos, limit }
    }

    /// Returns the same that ends a load once the run is interrupted, or its trial is to be repeated:
    /// virtual time passes quickly, but a large load takes seconds of a real CPU.
    #[must_use]
    pub fn heeding(self, host: Host) -> Simulated {
        Simulated { host: Some(host), ..self }
    }

    /// Fails if the load that is being made has to end.
    fn check_load(&self) -> Result<(), Stop> {
        self.host.as_ref().map_or(Ok(()), Host::check_load)
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
        let (now, host) = (self.now, self.host.take());
        *self = Simulated { now, host, ..Simulated::new(resolved) };
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
                "the simulation ignores {}: it is a queue, without a network and contents; \
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
        let asked = self.asked_per_s(drive);
        let mut parts = self.parts(drive)?;
        let curtailed = match drive.interval {
            Some(interval) => ended_by(tick, drive, interval, &parts),
            None => self.curtailed(drive, &parts),
        };
        let drive = &Drive { measure: curtailed.unwrap_or(drive.measure), ..drive.clone() };
        let end = Instant::default() + drive.warm_up + drive.measure;
        parts.iter_mut().for_each(|(_, requests)| requests.retain(|r| r.intended < end));
        let ended = curtailed.filter(|_| drive.interval.is_none()).map(|_| Ended::SloMissed);
        let document = self.document(drive, asked, &parts)?;
        let mut load = results::Load { ended, ..document };
        load.warnings.extend(little::warning(&load));
        let times = load.total.response_time.as_ref();
        let times = times.map_or_else(Quantiles::default, |times| Quantiles {
            p50_ns: Some(times.p50_ns),
            p99_ns: Some(times.p99_ns),
            p999_ns: Some(times.p999_ns),
        });
        let last = Tick {
            phase: Phase::Measurement,
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
            role: SUT.to_owned(),
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
    /// Returns the requests of each target, in the order in which they are due.
    fn parts(&self, drive: &Drive) -> Result<Vec<(String, Vec<Request>)>, Stop> {
        let length = drive.warm_up + drive.measure;
        let refused = |TooMuch { message, remedy }| Stop::no_answer(format!("{message}; {remedy}"));
        let offer = self.offer(drive);
        if let Some(too_much) = offer.refused(length) {
            return Err(refused(too_much));
        }
        let mut room = MOST_REQUESTS;
        let mut parts = Vec::new();
        for (part, url) in (0..).zip(&drive.targets) {
            let requests = self.requests(drive, Random::part(drive.seed, part), room)?;
            room =
                room.checked_sub(requests.len()).ok_or_else(|| refused(offer.too_many(length)))?;
            parts.push((url.clone(), requests));
        }
        Ok(parts)
    }

    /// Returns the load as far as it is known beforehand.
    fn offer(&self, drive: &Drive) -> Offer {
        let (law, targets) = (self.load.arrivals().0, drive.targets.len());
        match (drive.rate, self.load.shape()) {
            (Some(rate), _) => Offer::open(rate.as_per_second(), law, targets),
            (None, Some(shape)) => {
                let curve = shape.curve.after_warm_up(drive.warm_up);
                let mean = curve.mean_rate(Nanos::ZERO, drive.warm_up + drive.measure);
                Offer::open(mean, law, targets)
            }
            (None, None) => {
                Offer::closed(&self.model, self.load.connections_at(None), drive.think, targets)
            }
        }
    }

    /// Returns every request that is due before the measurement ends; one more than there is room for
    /// if these are too many.
    fn requests(
        &self,
        drive: &Drive,
        mut random: Random,
        room: usize,
    ) -> Result<Vec<Request>, Stop> {
        let end = Instant::default() + drive.warm_up + drive.measure;
        let connections = self.load.connections_at(drive.rate);
        let at_once = self.model.servers.0.min(connections);
        let mut free: BinaryHeap<Reverse<Instant>> =
            (0..at_once).map(|_| Reverse(Instant::default())).collect();
        // For the closed loop: the time when each connection starts its next request.
        let of_closed =
            if drive.rate.is_none() && self.load.shape().is_none() { connections } else { 0 };
        let mut starts: BinaryHeap<Reverse<Instant>> =
            (0..of_closed).map(|_| Reverse(Instant::default())).collect();
        let mut drawn = self.drawn(drive, &mut random);
        let mut clock = 0.0;
        let mut requests = Vec::new();
        while requests.len() <= room {
            if requests.len().is_multiple_of(LOOK_EVERY) {
                self.check_load()?;
            }
            let intended = match (&mut drawn, drive.rate) {
                (Some((process, walk)), _) => match walk.time(process.next_time()) {
                    Some(time) => Instant::default() + time,
                    None => break,
                },
                (None, Some(rate)) => {
                    clock += match self.load.arrivals().0 {
                        Law::Poisson => random.exponential(rate.gap_ns()),
                        _ => rate.gap_ns(),
                    };
                    Instant(clock as u64)
                }
                (None, None) => starts.pop().expect("a closed loop has a connection").0,
            };
            if end <= intended {
                break;
            }
            let Reverse(server) = free.pop().expect("a model has a server");
            let begun = server.max(intended);
            let done = begun + self.service_time(&mut random);
            free.push(Reverse(done));
            if 0 < of_closed {
                starts.push(Reverse(done + drive.think.draw(&mut random)));
            }
            requests.push(Request { intended, begun, done });
        }
        Ok(requests)
    }

    /// Returns the times of an open loop as the generator draws them. Poisson and constant arrivals
    /// at one rate use the stream of the service times instead, so that a seed keeps its results.
    fn drawn(&self, drive: &Drive, random: &mut Random) -> Option<(UnitProcess, Walk)> {
        let shape = match (drive.rate, self.load.shape()) {
            (Some(_), _) if matches!(self.load.arrivals().0, Law::Poisson | Law::Constant) => {
                return None;
            }
            (Some(rate), _) => measure::pace::Shape::constant(rate),
            (None, Some(shape)) => shape.curve.after_warm_up(drive.warm_up),
            (None, None) => return None,
        };
        let own = Random::new(random.next_u64());
        Some((UnitProcess::new(self.load.arrivals().0, own), Walk::new(shape)))
    }

    /// Returns the length of a measurement that ends early, as it would on a real machine: so many
    /// requests were over a limit that the SLO is missed whatever follows.
    fn curtailed(&self, drive: &Drive, parts: &[(String, Vec<Request>)]) -> Option<Nanos> {
        let rate = drive.rate?.as_per_second() * parts.len() as f64;
        let begin = Instant::default() + drive.warm_up;
        let measured = || parts.iter().flat_map(|(_, of)| of).filter(|r| begin <= r.intended);
        let decided = |enough: Enough| {
            // No request fails in a queue.
            let limit = enough.limit?;
            let over = measured().filter(|r| limit < r.done - r.intended);
            let mut over: Vec<Instant> = over.map(|request| request.done).collect();
            let last = enough.requests as usize - 1;
            (last < over.len()).then(|| *over.select_nth_unstable(last).1)
        };
        let enough = slo::enough(&self.slos, rate * drive.measure.as_secs_f64()).into_iter();
        let length = enough.filter_map(decided).map(|done| done - begin).min()?;
        Some(length.max(LEAST_CURTAILED)).filter(|length| *length < drive.measure)
    }

    /// Returns the rate of each target, of a shape on average; `None` in a closed loop.
    fn asked_per_s(&self, drive: &Drive) -> Option<f64> {
        let of_shape = |shape: &Shape| {
            let curve = shape.curve.after_warm_up(drive.warm_up);
            curve.mean_rate(drive.warm_up, drive.warm_up + drive.measure)
        };
        let of_rate = drive.rate.map(|rate| rate.as_per_second());
        of_rate.or_else(|| self.load.shape().map(of_shape))
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
    ) -> Result<results::Load, Stop> {
        let counted = |(url, requests): &(String, Vec<Request>)| {
            let mut counted = Counted::new(drive);
            for some in requests.chunks(LOOK_EVERY) {
                self.check_load()?;
                counted.count(drive, self.limit, some);
            }
            Ok((url.clone(), counted))
        };
        let targets: Vec<(String, Counted)> =
            parts.iter().map(counted).collect::<Result<_, Stop>>()?;
        let mut total = Counted::new(drive);
        targets.iter().for_each(|(_, part)| total.add(part));
        let series = self.series(drive, &total, parts)?;
        let part =
            |counted: &Counted, targets: f64| counted.part(drive, asked.map(|r| r * targets));
        Ok(results::Load {
            arguments: drive.arguments.words(),
            seed: drive.seed,
            pacing: match asked {
                Some(_) => Pacing::Open { arrivals: self.load.arrivals().to_string() },
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
        })
    }

    /// Returns each second of the measurement, with the times of the requests that ended in it: one that did not end
    /// in the measurement is in none. A histogram takes a quarter of a megabyte, so there is one
    /// at a time.
    fn series(
        &self,
        drive: &Drive,
        total: &Counted,
        parts: &[(String, Vec<Request>)],
    ) -> Result<Vec<Interval>, Stop> {
        let begin = Instant::default() + drive.warm_up;
        let window_end = begin + drive.measure;
        let counts = |r: &&Request| begin <= r.intended && r.done < window_end;
        let mut ended: Vec<&Request> = parts.iter().flat_map(|(_, of)| of).filter(counts).collect();
        ended.sort_unstable_by_key(|request| request.done);
        let mut rest = &ended[..];
        let (mut times, none) = (Histogram::new(), Histogram::new());
        let mut series = Vec::with_capacity(total.seconds.len());
        for (t, second) in (0_u32..).zip(&total.seconds) {
            self.check_load()?;
            let end = begin + Nanos::SECOND * (u64::from(t) + 1);
            let (here, later) = rest.split_at(rest.partition_point(|request| request.done < end));
            rest = later;
            times.clear();
            here.iter().for_each(|request| times.record(request.done - request.intended));
            let mut interval = Interval {
                t_s: f64::from(t),
                length_s: second.length_s,
                offered: second.offered,
                sent: second.offered,
                completed: second.completed,
                ..Interval::default()
            };
            interval.set_times(&times, &none);
            series.push(interval);
        }
        Ok(series)
    }
}

/// Returns the response time of a request. An unanswered one took at least as long as the generator
/// waited for it.
fn answered(request: &Request, last: Instant) -> Nanos {
    request.done.min(last) - request.intended
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
    let begin = Instant::default() + drive.warm_up;
    let mut done: Vec<Vec<Nanos>> = Vec::new();
    done.resize_with((drive.measure.0 / interval.0) as usize, Vec::new);
    for request in parts.iter().flat_map(|(_, of)| of) {
        let number = (request.done.saturating_since(begin).0 / interval.0) as usize;
        if let Some(of_interval) = done.get_mut(number) {
            of_interval.push(request.done - request.intended);
        }
    }
    let mut elapsed = Nanos::ZERO;
    let mut times = Histogram::new();
    for done in done {
        elapsed += interval;
        times.clear();
        done.iter().for_each(|time| times.record(*time));
        let of = |quantile| times.quantile(quantile).map(|time| time.0);
        let told = tick(Tick {
            phase: Phase::Measurement,
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

#[derive(Clone, Copy, Default)]
struct Second {
    length_s: f64,
    offered: u64,
    completed: u64,
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

    fn count(&mut self, drive: &Drive, limit: Option<Nanos>, requests: &[Request]) {
        let begin = Instant::default() + drive.warm_up;
        let end = begin + drive.measure;
        let last = end + drive.drain;
        for request in requests {
            let &Request { intended, begun, done } = request;
            self.balance.arrived(intended);
            self.in_progress += done.min(end).saturating_since(intended.max(begin));
            if done < end {
                self.balance.answered(done);
            }
            if begin <= done && done < end {
                self.counts.completed_inside += 1;
                let is_good = limit.is_none_or(|limit| done - intended <= limit);
                self.good_inside += u64::from(is_good);
                self.second(done - begin).completed += 1;
            }
            if intended < begin {
                continue;
            }
            self.second(intended - begin).offered += 1;
            self.response_time.record(answered(request, last));
            self.counts.intended += 1;
            self.counts.sent += 1;
            match done < last {
                true => {
                    self.counts.ok += 1;
                    self.counts.completed += 1;
                    self.service_time.record(done - begun);
                }
                false => {
                    self.counts.unfinished += 1;
                    self.unfinished_response_time.record(last - intended);
                }
            }
        }
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
}
