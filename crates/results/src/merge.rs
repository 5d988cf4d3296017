//! Merges the documents of several generators of one load as if there had been one: counts and
//! rates are added and histograms merged, so that quantiles are those of all requests. Nothing is
//! averaged; values that cannot be derived from the parts are absent.

use std::collections::{BTreeMap, BTreeSet};

use measure::Histogram;
use measure::pace::Portion;

use crate::events::Events;
use crate::load::{
    Clock, Connections, Counts, Generator, Group, Interval, Load, Operations, Pacing, Part, Rates,
    Segment, Target, Tls,
};
use crate::sessions::Sessions;
use crate::slo::Slo;
use crate::times::Times;
use crate::{failing, verdict};

#[cfg(test)]
mod tests;

/// Measurements that share less of their time than this did not load the target together.
const SHARED: f64 = 0.9;

/// Merges the documents, which have names. A sentence that comes from one of them begins with its
/// name.
///
/// Fails with the name and the reason if one does not belong to the others.
pub fn merge(parts: &[(String, Load)]) -> Result<Load, String> {
    let Some((first, rest)) = parts.split_first() else {
        return Err("there is nothing to merge".to_owned());
    };
    if let Some((name, _)) = parts.iter().find(|(_, load)| load.foreign.is_some()) {
        return Err(format!(
            "{name}: another generator made it, whose percentiles cannot be merged: it keeps no \
             histogram"
        ));
    }
    are_one_load(parts)?;
    let axis = Axis::of(parts);
    let end_s = axis.map_or(0.0, |axis| axis.end(parts));
    let on_axis = |part: &(String, Load)| {
        let series = axis.map_or_else(Vec::new, |axis| axis.place(&part.1, end_s));
        Load { series, ..named(part) }
    };
    let mut whole = on_axis(first);
    for (place, part) in parts.iter().enumerate().skip(1) {
        if let Some((other, _)) = parts[..place].iter().find(|earlier| earlier.1 == part.1) {
            return Err(format!("{}: it is the same load as {other}", part.0));
        }
        add(&mut whole, on_axis(part)).map_err(|why| format!("{}: {why}", part.0))?;
    }
    whole.part = None;
    if rest.iter().any(|(_, part)| part.version != whole.version) {
        whole.warnings.push("they were measured by different versions of the tool".to_owned());
    }
    if axis.is_none() {
        whole.warnings.push(
            "the series is missing: the intervals of the parts differ in length (--interval)"
                .to_owned(),
        );
    }
    whole.warnings.extend(apart(parts, whole.clock.as_ref()));
    whole.slo = verdict::of_load(&objectives(parts), &whole);
    whole.failures = failing::of(&whole);
    Ok(whole)
}

/// Checks that the parts of one load are all there, each once, and of the same load: only then they
/// are together exactly that load. Loads that are no such parts may be any.
fn are_one_load(parts: &[(String, Load)]) -> Result<(), String> {
    let Some((_, first)) = parts.iter().find(|(_, load)| load.part.is_some()) else {
        return Ok(());
    };
    let mut found: BTreeMap<u32, &str> = BTreeMap::new();
    let mut of = None;
    for (name, load) in parts {
        let Some(part) = &load.part else {
            return Err(format!("{name}: it is not a part of a load, as the others are"));
        };
        let part: Portion = part.parse().map_err(|why| format!("{name}: {why}"))?;
        if *of.get_or_insert(part.of()) != part.of() || load.seed != first.seed {
            return Err(format!("{name}: it is part {part} of another load than the others"));
        }
        if let Some(other) = found.insert(part.index(), name) {
            return Err(format!("{name}: it is part {part} of the load, as {other} is"));
        }
    }
    let of = of.expect("there is a part");
    match (0..of).find(|index| !found.contains_key(index)) {
        Some(index) => Err(format!("part {}/{of} of the load is missing", index + 1)),
        None => Ok(()),
    }
}

/// The objectives that any of the parts was judged by, each once. The whole is judged anew, since
/// the verdicts on the parts imply nothing about the whole.
fn objectives(parts: &[(String, Load)]) -> Vec<Slo> {
    let judged = parts.iter().flat_map(|(_, load)| &load.slo).flat_map(|slo| &slo.objectives);
    let mut slos: Vec<Slo> = Vec::new();
    for slo in judged.map(|judged| judged.slo) {
        if !slos.contains(&slo) {
            slos.push(slo);
        }
    }
    slos
}

/// A copy of the document whose sentences begin with its name.
fn named((name, load): &(String, Load)) -> Load {
    let mut load = load.clone();
    let reasons = load.validity.reasons.iter_mut();
    let figures = load.validity.gates.iter_mut().map(|gate| &mut gate.figure);
    let sentences = load.findings.iter_mut().chain(&mut load.warnings).chain(reasons);
    sentences.chain(figures).for_each(|text| *text = format!("{name}: {text}"));
    load.arguments = Vec::new();
    (load.wrk, load.slo) = (None, None);
    load
}

/// The time axis of the merged series.
#[derive(Clone, Copy, Debug)]
struct Axis {
    interval_s: f64,
    /// The beginning of the measurement that began first. `None` if it is unknown when the others
    /// began: then each series begins with its own measurement.
    first_ns: Option<u64>,
}

impl Axis {
    /// Returns the axis; `None` if the intervals differ in length.
    fn of(parts: &[(String, Load)]) -> Option<Axis> {
        // The last interval of a measurement may be shorter, and so may its only one.
        let is_whole = |load: &Load| 1 < load.measured().count();
        let lengths =
            || parts.iter().filter_map(|(_, load)| Some((load, load.series.first()?.length_s)));
        let whole = lengths().find(|(load, _)| is_whole(load)).map(|(_, length_s)| length_s);
        let longest = lengths().map(|(_, length_s)| length_s).reduce(f64::max);
        let interval_s = whole.or(longest).unwrap_or(1.0);
        let fits = |(load, length_s): (&Load, f64)| {
            length_s == interval_s || length_s < interval_s && !is_whole(load)
        };
        if !lengths().all(fits) {
            return None;
        }
        let clocks = parts.iter().map(|(_, load)| load.clock.as_ref()).collect::<Option<Vec<_>>>();
        let starts = clocks.filter(|clocks| is_one_machine(clocks));
        let starts = starts.into_iter().flatten().map(|clock| clock.measurement_start_ns);
        Some(Axis { interval_s, first_ns: starts.min() })
    }

    /// Returns the end of the last measured interval of all loads.
    fn end(self, parts: &[(String, Load)]) -> f64 {
        let ends = parts.iter().flat_map(|(_, load)| {
            load.measured().map(move |each| self.position(load, each.t_s) + self.interval_s)
        });
        ends.fold(0.0, f64::max)
    }

    /// Returns the position nearest to a time after the beginning of a load's measurement.
    fn position(self, load: &Load, t_s: f64) -> f64 {
        let late_ns = self.first_ns.zip(load.clock.as_ref());
        let late_ns = late_ns.map_or(0, |(first_ns, clock)| clock.measurement_start_ns - first_ns);
        let late_s = late_ns as f64 / 1e9;
        ((t_s / self.interval_s).round() + (late_s / self.interval_s).round()) * self.interval_s
    }

    /// Returns a load's series, each interval at the nearest position, and its drain at `end_s`.
    fn place(self, load: &Load, end_s: f64) -> Vec<Interval> {
        let place = |each: &Interval| {
            let t_s = match load.is_drain(each) {
                true => end_s,
                false => self.position(load, each.t_s),
            };
            // The parts reach their highest numbers at different times: these cannot be added up.
            Interval { t_s, outstanding: None, backlog: None, ..each.clone() }
        };
        load.series.iter().map(place).collect()
    }
}

/// True if the clocks count from the same boot of one machine. Documents without a boot id count as
/// of one machine if they were measured at the same time.
fn is_one_machine(clocks: &[&Clock]) -> bool {
    let boots = clocks.iter().map(|clock| clock.boot.as_ref()).collect::<Option<Vec<_>>>();
    match boots {
        Some(boots) => boots.windows(2).all(|pair| pair[0] == pair[1]),
        None => {
            let begin = clocks.iter().map(|clock| clock.measurement_start_ns).max();
            let end = clocks.iter().map(|clock| clock.measurement_end_ns).min();
            begin < end
        }
    }
}

fn add(whole: &mut Load, part: Load) -> Result<(), String> {
    whole.pacing = match (&whole.pacing, &part.pacing) {
        (one, other) if one == other => part.pacing,
        (Pacing::Open { arrivals: one }, Pacing::Open { arrivals: other }) => {
            Pacing::Open { arrivals: format!("{one} + {other}") }
        }
        _ => return Err("its requests are started in another way than the others'".to_owned()),
    };
    if whole.arrivals != part.arrivals {
        return Err(
            "its arrivals are others: sessions in one of them, requests in the other".to_owned()
        );
    }
    keep_if_same(&mut whole.compatibility, part.compatibility);
    whole.partial |= part.partial;
    whole.ended = whole.ended.take().or(part.ended);
    whole.connections = match (whole.connections.take(), part.connections) {
        (Some(one), Some(other)) => Some(Connections {
            asked: one.asked + other.asked,
            reached: one.reached + other.reached,
            opening_s: most(one.opening_s, other.opening_s),
            unasked: sum(one.unasked, other.unasked),
            refused_share: refused_share(&one, &other),
            closed_silently: sum(one.closed_silently, other.closed_silently),
        }),
        _ => None,
    };
    whole.clock = match (whole.clock.take(), part.clock) {
        (Some(one), Some(other)) => common(one, &other),
        _ => None,
    };
    whole.measured_s = whole.measured_s.max(part.measured_s);
    add_part(&mut whole.total, part.total)?;
    for Target { url, path, part } in part.targets {
        match whole.targets.iter_mut().find(|target| target.url == url) {
            Some(target) => add_part(&mut target.part, part)?,
            None => whole.targets.push(Target { url, path, part }),
        }
    }
    whole.events = match (whole.events.take(), part.events) {
        (Some(one), Some(other)) => Some(both_events(one, other)?),
        (one, other) => one.or(other),
    };
    for (label, group) in part.labels {
        match whole.labels.get_mut(&label) {
            Some(of_whole) => add_group(of_whole, group)?,
            None => _ = whole.labels.insert(label, group),
        }
    }
    if !whole.segments.iter().map(place).eq(part.segments.iter().map(place)) {
        return Err("its load has another shape than the others'".to_owned());
    }
    for (of_whole, segment) in whole.segments.iter_mut().zip(part.segments) {
        add_group(&mut of_whole.group, segment.group)?;
    }
    for interval in part.series {
        match whole.series.iter_mut().find(|other| other.t_s == interval.t_s) {
            Some(of_whole) => add_interval(of_whole, &interval),
            None => whole.series.push(interval),
        }
    }
    whole.series.sort_by(|one, other| one.t_s.total_cmp(&other.t_s));
    // Each part saw the target under its own offered load, so one saturated part is enough.
    whole.saturated = either(whole.saturated, part.saturated);
    add_generator(&mut whole.generator, part.generator)?;
    whole.validity.valid &= part.validity.valid;
    whole.validity.reasons.extend(part.validity.reasons);
    whole.validity.gates.extend(part.validity.gates);
    whole.findings.extend(part.findings);
    whole.warnings.extend(part.warnings);
    Ok(())
}

/// The identity of a segment, without its measurements.
fn place(segment: &Segment) -> (&str, f64, f64) {
    (&segment.name, segment.begin_s, segment.end_s)
}

fn add_part(whole: &mut Part, mut part: Part) -> Result<(), String> {
    let counts = &part.counts;
    whole.counts = Counts {
        intended: whole.counts.intended + counts.intended,
        sent: whole.counts.sent + counts.sent,
        completed: whole.counts.completed + counts.completed,
        completed_inside: whole.counts.completed_inside + counts.completed_inside,
        ok: whole.counts.ok + counts.ok,
        failed: whole.counts.failed + counts.failed,
        unfinished: whole.counts.unfinished + counts.unfinished,
        dropped: whole.counts.dropped + counts.dropped,
        reconnects: whole.counts.reconnects + counts.reconnects,
        bytes_sent: whole.counts.bytes_sent + counts.bytes_sent,
        bytes_received: whole.counts.bytes_received + counts.bytes_received,
    };
    let (one, other) = (&whole.rates_per_s, &part.rates_per_s);
    whole.rates_per_s = Rates {
        asked: one.asked.zip(other.asked).map(|(one, other)| one + other),
        offered: one.offered + other.offered,
        completed: one.completed + other.completed,
        sustained: one.sustained.zip(other.sustained).map(|(one, other)| one + other),
        succeeded: one.succeeded.zip(other.succeeded).map(|(one, other)| one + other),
        goodput: one.goodput + other.goodput,
    };
    whole.in_progress = whole.in_progress.zip(part.in_progress).map(|(one, other)| one + other);
    let lacks =
        |part: &Part| part.response_time.is_some() && part.response_time_less_lateness.is_none();
    let unknown = lacks(whole) || lacks(&part);
    for (whole, part) in whole.times_mut().into_iter().zip(part.times_mut()) {
        add_times(whole, part.take())?;
    }
    whole.operations = match (whole.operations.take(), part.operations) {
        (Some(one), Some(other)) => Some(both_operations(one, other)),
        (one, other) => one.or(other),
    };
    whole.sessions = match (whole.sessions.take(), part.sessions) {
        (Some(one), Some(other)) => Some(both_sessions(one, other)?),
        (one, other) => one.or(other),
    };
    whole.redirected = sum(whole.redirected, part.redirected);
    add_counts(&mut whole.outcomes, part.outcomes);
    add_counts(&mut whole.statuses, part.statuses);
    add_counts(&mut whole.reasons, part.reasons);
    if unknown {
        whole.response_time_less_lateness = None;
    }
    whole.tls = match (whole.tls.take(), part.tls) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    };
    Ok(())
}

/// Adds the events of two loads, each with a receiver of its own.
fn both_events(one: Events, mut other: Events) -> Result<Events, String> {
    let mut whole = Events {
        source: format!("{} {}", one.source, other.source),
        sent: one.sent + other.sent,
        accepted: one.accepted + other.accepted,
        refused: one.refused + other.refused,
        delivered: one.delivered + other.delivered,
        lost: one.lost + other.lost,
        duplicated: one.duplicated + other.duplicated,
        duplicates: one.duplicates + other.duplicates,
        reordered: one.reordered + other.reordered,
        delivered_though_refused: one.delivered_though_refused + other.delivered_though_refused,
        unknown: one.unknown + other.unknown,
        unnoted: one.unnoted + other.unnoted,
        ..one
    };
    for (whole, part) in whole.times_mut().into_iter().zip(other.times_mut()) {
        add_times(whole, part.take())?;
    }
    Ok(whole)
}

fn both_sessions(one: Sessions, other: Sessions) -> Result<Sessions, String> {
    let mut whole = Sessions {
        asked_per_s: one.asked_per_s.zip(other.asked_per_s).map(|(one, other)| one + other),
        started: one.started + other.started,
        completed: one.completed + other.completed,
        unfinished: one.unfinished + other.unfinished,
        requests: one.requests + other.requests,
        succeeded_per_s: one.succeeded_per_s.zip(other.succeeded_per_s).map(|(a, b)| a + b),
        ..one
    };
    other.broken.into_iter().for_each(|broken| whole.add_broken(broken));
    add_times(&mut whole.time, other.time)?;
    Ok(whole)
}

fn both_operations(one: Operations, other: Operations) -> Operations {
    let mut outcomes = one.outcomes;
    add_counts(&mut outcomes, other.outcomes);
    Operations {
        count: one.count + other.count,
        completed_per_s: one.completed_per_s + other.completed_per_s,
        outcomes,
    }
}

fn both(one: Tls, other: Tls) -> Tls {
    let resumed = |tls: &Tls| tls.resumed_share * tls.handshakes as f64;
    let handshakes = one.handshakes + other.handshakes;
    let resumed_share = (resumed(&one) + resumed(&other)) / handshakes as f64;
    let most = if one.handshakes < other.handshakes { other } else { one };
    Tls { handshakes, resumed_share, ..most }
}

fn add_group(whole: &mut Group, group: Group) -> Result<(), String> {
    whole.completed += group.completed;
    whole.failed += group.failed;
    add_counts(&mut whole.outcomes, group.outcomes);
    add_counts(&mut whole.reasons, group.reasons);
    add_counts(&mut whole.ok_statuses, group.ok_statuses);
    add_times(&mut whole.response_time, group.response_time)?;
    add_times(&mut whole.service_time, group.service_time)
}

/// Adds another part's measurements at the same position of the axis.
fn add_interval(whole: &mut Interval, interval: &Interval) {
    whole.length_s = whole.length_s.max(interval.length_s);
    whole.offered += interval.offered;
    whole.sent += interval.sent;
    whole.completed += interval.completed;
    whole.operations = sum(whole.operations, interval.operations);
    whole.failed += interval.failed;
    whole.outstanding_mean =
        whole.outstanding_mean.zip(interval.outstanding_mean).map(|(one, other)| one + other);
    add_interval_times(whole, interval);
    whole.busy = most(whole.busy, interval.busy);
    whole.hiccup_max_ns = most(whole.hiccup_max_ns, interval.hiccup_max_ns);
    whole.run_queue_wait = most(whole.run_queue_wait, interval.run_queue_wait);
    whole.steal = most(whole.steal, interval.steal);
    whole.throttled = most(whole.throttled, interval.throttled);
}

/// Adds the response times and the lateness. Without histograms the percentiles of the whole are
/// unknown, and only the longest response time remains.
fn add_interval_times(whole: &mut Interval, interval: &Interval) {
    let longest = whole.max_ns.max(interval.max_ns);
    let (mut response, mut lateness) = (Histogram::new(), Histogram::new());
    for times in [whole.times(), interval.times()] {
        let Some((of_response, of_lateness)) = times else {
            whole.set_times(&Histogram::new(), &Histogram::new());
            whole.max_ns = longest;
            return;
        };
        response.add(&of_response);
        lateness.add(&of_lateness);
    }
    whole.set_times(&response, &lateness);
}

/// Adds up what can be added; of the rest, keeps the worst value of any generator.
fn add_generator(whole: &mut Generator, part: Generator) -> Result<(), String> {
    keep_if_same(&mut whole.io, part.io);
    keep_if_same(&mut whole.io_why, part.io_why);
    keep_if_same(&mut whole.congestion_control, part.congestion_control);
    keep_if_same(&mut whole.timer, part.timer);
    whole.shards = whole.shards.zip(part.shards).map(|(one, other)| one + other);
    // CPU numbers of several machines do not belong together.
    whole.cpus = Vec::new();
    whole.cpu_s = whole.cpu_s.zip(part.cpu_s).map(|(one, other)| one + other);
    whole.busy_share = most(whole.busy_share, part.busy_share);
    // Without a script there is no share, and no time was spent in one.
    let scripted = [whole.script_share, part.script_share].into_iter().flatten();
    whole.script_share = scripted.reduce(f64::max);
    add_times(&mut whole.wake_up_delay, part.wake_up_delay)?;
    whole.spin_share = most(whole.spin_share, part.spin_share);
    add_if_known(&mut whole.hiccup, part.hiccup)?;
    whole.paused_share = most(whole.paused_share, part.paused_share);
    whole.hiccup_max_ns = most(whole.hiccup_max_ns, part.hiccup_max_ns);
    whole.turn_max_ns = most(whole.turn_max_ns, part.turn_max_ns);
    whole.steal_share = most(whole.steal_share, part.steal_share);
    whole.throttled_share = most(whole.throttled_share, part.throttled_share);
    whole.run_queue_wait_share = most(whole.run_queue_wait_share, part.run_queue_wait_share);
    add_if_known(&mut whole.receive_delay, part.receive_delay)?;
    // These are counts of hosts, which some of the generators may share.
    whole.segments_sent = None;
    whole.segments_retransmitted = None;
    whole.free_ports = whole.free_ports.zip(part.free_ports).map(|(one, other)| one.min(other));
    whole.p99_at_most |= part.p99_at_most;
    whole.generator_bound = either(whole.generator_bound, part.generator_bound);
    Ok(())
}

/// Adds the times of another generator; those of both are unknown if those of one are.
fn add_if_known(whole: &mut Option<Times>, part: Option<Times>) -> Result<(), String> {
    match part {
        Some(_) if whole.is_some() => add_times(whole, part)?,
        _ => *whole = None,
    }
    Ok(())
}

/// Adds the times of another part, which may have none.
fn add_times(whole: &mut Option<Times>, part: Option<Times>) -> Result<(), String> {
    *whole = match (whole.take(), part) {
        (Some(one), Some(other)) => Some(one.merged(&other).ok_or("a histogram is unreadable")?),
        (one, other) => one.or(other),
    };
    Ok(())
}

fn add_counts(whole: &mut BTreeMap<String, u64>, counts: BTreeMap<String, u64>) {
    counts.into_iter().for_each(|(name, count)| *whole.entry(name).or_default() += count);
}

fn keep_if_same(whole: &mut Option<String>, part: Option<String>) {
    if *whole != part {
        *whole = None;
    }
}

/// Returns the sum of two counts, of which one may have nothing to count.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).reduce(|one, other| one + other)
}

/// Returns the share of the time in which the connections of both were refused.
fn refused_share(one: &Connections, other: &Connections) -> Option<f64> {
    let refused = |of: &Connections| of.refused_share.unwrap_or(0.0) * of.asked as f64;
    one.refused_share.or(other.refused_share)?;
    Some((refused(one) + refused(other)) / (one.asked + other.asked) as f64)
}

/// Returns the larger of two figures; unknown if one of them is.
fn most<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.zip(other).map(|(one, other)| if one < other { other } else { one })
}

/// Returns true if one of them is true, false if both are false, and otherwise that it is unknown.
fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// The time from the first start to the last end; the measurement is the time that both share, if
/// they share any. `None` for clocks of several machines.
fn common(one: Clock, other: &Clock) -> Option<Clock> {
    if !is_one_machine(&[&one, other]) {
        return None;
    }
    let clock = Clock {
        start_ns: one.start_ns.min(other.start_ns),
        measurement_start_ns: one.measurement_start_ns.max(other.measurement_start_ns),
        measurement_end_ns: one.measurement_end_ns.min(other.measurement_end_ns),
        end_ns: one.end_ns.max(other.end_ns),
        boot: one.boot.filter(|boot| other.boot.as_ref() == Some(boot)),
    };
    (clock.measurement_start_ns < clock.measurement_end_ns).then_some(clock)
}

/// A warning if the parts did not measure at the same time, as far as their clocks may be of one
/// machine; `common` is the time in which all of them measured.
fn apart(parts: &[(String, Load)], common: Option<&Clock>) -> Option<String> {
    let length = |clock: &Clock| {
        clock.measurement_end_ns.saturating_sub(clock.measurement_start_ns) as f64 / 1e9
    };
    let lengths = parts.iter().map(|(_, load)| load.clock.as_ref().map(length));
    let shortest = lengths.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::min)?;
    let shared = common.map_or(0.0, length);
    let boots = parts.iter().filter_map(|(_, load)| load.clock.as_ref()?.boot.as_ref());
    let boots: BTreeSet<_> = boots.collect();
    let may_be_one = boots.len() <= 1;
    (may_be_one && shared < SHARED * shortest).then(|| {
        format!(
            "only {shared:.1} s of {shortest:.1} s were measured at the same time, if their clocks \
             are of one machine: the added rates were not offered together"
        )
    })
}
