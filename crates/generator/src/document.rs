//! A measurement as the document that `--json` prints.

use std::collections::BTreeMap;

use load::Outcome;
use load::driver::Arrivals;
use load::measurement::{Measurement, Plan, Taken};
use load::observe::{Group, Interval, Part, Reasons, Statuses};
use load::pacing::{Pacing, Sharing};
use load::shard::Ended;
use load::validity::{self, GateName, Judgement};
use measure::pace::{Portion, Segment};
use measure::{Histogram, Nanos};
use results::load as document;
use results::sessions::{self, Broken, Sessions};
use results::slo::Slo;
use results::{Load, Times, failing, little, transport};

use crate::live;
use crate::target::Target;

#[cfg(test)]
mod tests;

/// The parts of a document that are not measured.
pub(crate) struct Context<'a> {
    pub(crate) arguments: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) slo: &'a [Slo],
    /// The names of the labels, in their order.
    pub(crate) labels: &'a [String],
    /// The mean number of requests of an arrival: more than one if it is a session.
    pub(crate) requests_of_an_arrival: f64,
    /// True if all requests to a target have the path of its URL.
    pub(crate) has_one_path: bool,
    /// The original that this program was started as.
    pub(crate) compatibility: Option<&'static str>,
}

pub(crate) fn of(
    context: &Context<'_>,
    plan: &Plan,
    targets: &[Target],
    measurement: &Measurement,
    judgement: &Judgement,
) -> Load {
    let length = measurement.window.length();
    let mut total = Part::default();
    measurement.parts.iter().for_each(|part| total.add(part));
    let count = targets.len() as f64;
    let arriving = live::arriving(plan);
    let arriving_of_each = match plan.pacing {
        Pacing::Open { sharing: Sharing::Each, .. } => live::asked_of_process(plan),
        _ => arriving.map(|rate| rate / count),
    };
    let are_sessions = plan.arrivals == Some(Arrivals::Sessions);
    let part_of = |figures: &Part, arriving: Option<f64>| {
        let asked = arriving.filter(|_| !are_sessions);
        let of_sessions = arriving.filter(|_| are_sessions);
        let mut sessions = sessions(figures, of_sessions, context.labels);
        if let Some(sessions) = sessions.as_mut().filter(|_| are_sessions && Nanos::ZERO < length) {
            let per_s = figures.ok_inside as f64 / length.as_secs_f64();
            sessions.succeeded_per_s = Some(per_s / context.requests_of_an_arrival);
        }
        document::Part { sessions, ..part(figures, asked, length) }
    };
    let all = part_of(&total, arriving);
    let mut load = Load {
        schema: document::SCHEMA.to_owned(),
        version: format!("benchwright {}", env!("CARGO_PKG_VERSION")),
        arguments: context.arguments.clone(),
        compatibility: context.compatibility.map(str::to_owned),
        foreign: None,
        seed: context.seed,
        part: (plan.part != Portion::WHOLE).then(|| plan.part.to_string()),
        partial: measurement.partial,
        ended: ended(measurement),
        failures: Vec::new(),
        pacing: pacing(plan),
        arrivals: arrivals(plan),
        connections: Some(document::Connections {
            asked: measurement.connections_asked,
            reached: measurement.connections_reached,
            opening_s: Some(measurement.opening.as_secs_f64()),
            unasked: Some(measurement.connecting_failed.unasked).filter(|count| 0 < *count),
            refused_share: judgement.refused_share,
            closed_silently: judgement.closed_silently,
        }),
        clock: Some(document::Clock {
            boot: net::host::boot_id(),
            start_ns: measurement.start.0,
            measurement_start_ns: measurement.window.start.0,
            measurement_end_ns: measurement.window.end.0,
            end_ns: measurement.end.0,
        }),
        measured_s: length.as_secs_f64(),
        targets: targets
            .iter()
            .zip(&measurement.parts)
            .map(|(target, figures)| document::Target {
                url: target.url.clone(),
                path: context.has_one_path.then(|| target.path.clone()),
                part: part_of(figures, arriving_of_each),
            })
            .collect(),
        events: None,
        labels: by_label(context.labels, measurement),
        segments: segments(plan, measurement),
        series: series(measurement),
        saturated: judgement.saturated,
        generator: generator(plan, measurement, judgement),
        validity: document::Validity {
            valid: judgement.is_valid(),
            reasons: judgement.reasons(),
            gates: judgement
                .gates
                .iter()
                .map(|gate| document::Gate {
                    name: gate_name(gate.name),
                    passed: gate.reason.is_none(),
                    figure: gate.figure.clone(),
                })
                .collect(),
            unknown: Vec::new(),
        },
        findings: Vec::new(),
        warnings: judgement.warnings.clone(),
        slo: None,
        total: all,
        wrk: None,
    };
    load.slo = results::verdict::of_load(context.slo, &load);
    load.failures = failing::of(&load);
    let answers_most = 0 < load.total.counts.ok && !failing::is_mostly(&load);
    let saturation = judgement.saturation.iter().filter(|_| answers_most);
    load.findings = saturation.chain(&judgement.findings).cloned().collect();
    load.findings.extend(transport::habits(&load).into_iter().map(|(_, text)| text));
    load.warnings.extend(little::warning(&load));
    load
}

fn ended(measurement: &Measurement) -> Option<document::Ended> {
    match measurement.ended {
        Ended::AsPlanned => None,
        Ended::Halted => Some(document::Ended::Halted),
        Ended::Overloaded => Some(document::Ended::Overloaded),
        Ended::ByWorkload => Some(document::Ended::ByWorkload),
        Ended::Missed => Some(document::Ended::SloMissed),
    }
}

fn gate_name(name: GateName) -> document::GateName {
    match name {
        GateName::Late => document::GateName::Late,
        GateName::Lost => document::GateName::Lost,
        GateName::Disturbed => document::GateName::Disturbed,
        GateName::Busy => document::GateName::Busy,
    }
}

fn by_label(labels: &[String], measurement: &Measurement) -> BTreeMap<String, document::Group> {
    let named = labels.iter().zip(&measurement.labels);
    named.map(|(name, figures)| (name.clone(), group(figures))).collect()
}

fn segments(plan: &Plan, measurement: &Measurement) -> Vec<document::Segment> {
    let named = plan.segments().into_iter().zip(&measurement.segments);
    let segment = |(segment, figures): (Segment, &Group)| document::Segment {
        name: segment.name,
        begin_s: segment.begin.as_secs_f64(),
        end_s: segment.end.unwrap_or(plan.measure).as_secs_f64(),
        group: group(figures),
    };
    named.map(segment).collect()
}

fn group(group: &Group) -> document::Group {
    let answers = Outcome::ALL.iter().filter(|outcome| outcome.is_answer());
    document::Group {
        completed: answers.map(|&outcome| group.outcomes[outcome as usize]).sum(),
        failed: Outcome::failures(&group.outcomes),
        outcomes: outcomes(&group.outcomes),
        reasons: reasons(&group.reasons),
        ok_statuses: statuses(&group.ok_statuses),
        response_time: Times::of(&group.response),
        service_time: Times::of(&group.service),
    }
}

fn outcomes(counts: &[u64]) -> BTreeMap<String, u64> {
    let named = Outcome::ALL.iter().zip(counts).filter(|(_, count)| 0 < **count);
    named.map(|(outcome, &count)| (outcome.name().to_owned(), count)).collect()
}

fn statuses(statuses: &Statuses) -> BTreeMap<String, u64> {
    // A protocol without statuses has 0.
    let known = statuses.iter().filter(|(status, _)| *status != 0);
    known.map(|(status, count)| (status.to_string(), count)).collect()
}

fn reasons(reasons: &Reasons) -> BTreeMap<String, u64> {
    let named = reasons.iter();
    named.map(|(outcome, why, count)| (format!("{}: {why}", outcome.name()), count)).collect()
}

fn pacing(plan: &Plan) -> document::Pacing {
    match &plan.pacing {
        Pacing::Open { load, .. } => document::Pacing::Open { arrivals: load.to_string() },
        Pacing::Closed { think } => document::Pacing::Closed { think_ns: think.mean().0 },
    }
}

/// Returns the kind of the arrivals of an open loop: requests, unless a mix makes them sessions.
fn arrivals(plan: &Plan) -> Option<sessions::Arrivals> {
    match (&plan.pacing, plan.arrivals) {
        (Pacing::Closed { .. }, _) => None,
        (Pacing::Open { .. }, Some(Arrivals::Sessions)) => Some(sessions::Arrivals::Sessions),
        (Pacing::Open { .. }, Some(Arrivals::Requests) | None) => {
            Some(sessions::Arrivals::Requests)
        }
    }
}

fn sessions(part: &Part, asked: Option<f64>, labels: &[String]) -> Option<Sessions> {
    let figures = part.sessions.as_ref()?;
    let mut sessions = Sessions {
        asked_per_s: asked,
        started: figures.started,
        completed: figures.completed,
        unfinished: figures.unfinished,
        requests: figures.requests,
        succeeded_per_s: None,
        broken: Vec::new(),
        time: Times::of(&figures.time),
    };
    for (label, outcome, why, count) in figures.broken() {
        sessions.add_broken(Broken {
            at: labels.get(usize::from(label.0)).cloned(),
            outcome: outcome.name().to_owned(),
            reason: Some(why).filter(|why| !why.is_empty()),
            sessions: count,
        });
    }
    Some(sessions)
}

fn part(part: &Part, asked: Option<f64>, length: Nanos) -> document::Part {
    let seconds = length.as_secs_f64();
    let rate = |count: u64| if 0.0 < seconds { count as f64 / seconds } else { 0.0 };
    document::Part {
        counts: document::Counts {
            intended: part.intended,
            sent: part.sent,
            completed: part.completed(),
            completed_inside: part.completed_inside,
            ok: part.outcome(Outcome::Ok),
            failed: part.failed(),
            unfinished: part.outcome(Outcome::Unfinished),
            dropped: part.outcome(Outcome::Dropped),
            reconnects: part.reconnects,
            bytes_sent: part.bytes_sent,
            bytes_received: part.bytes_received,
        },
        rates_per_s: document::Rates {
            asked,
            offered: rate(part.intended),
            completed: rate(part.completed_inside),
            sustained: Some(rate(part.sustained_inside())),
            succeeded: Some(rate(part.ok_inside)),
            goodput: rate(part.good_inside),
        },
        operations: operations(part, rate),
        sessions: None,
        redirected: Some(part.redirected).filter(|count| 0 < *count),
        in_progress: (0.0 < seconds).then(|| part.in_progress.as_secs_f64() / seconds),
        outcomes: outcomes(&part.outcomes),
        statuses: statuses(&part.statuses),
        reasons: reasons(&part.reasons),
        response_time: Times::of(&part.response),
        failed_response_time: Times::of(&part.failed_response),
        unfinished_response_time: Times::of(&part.unfinished_response),
        response_time_less_lateness: Times::of(&part.less_lateness),
        service_time: Times::of(&part.service),
        start_delay: Times::of(&part.start_delay),
        lateness: Times::of(&part.lateness),
        backlog_delay: Times::of(&part.backlog_delay),
        batch_delay: Times::of(&part.batch_delay),
        connect_time: Times::of(&part.connect),
        tls_time: Times::of(&part.handshake),
        tls: tls(part),
        setup_time: Times::of(&part.greeting),
        first_byte_time: Times::of(&part.first_byte),
        printed: None,
    }
}

/// Returns the operations; `None` if no request carried any.
fn operations(part: &Part, rate: impl Fn(u64) -> f64) -> Option<document::Operations> {
    let count = part.operations.iter().sum();
    (0 < count).then(|| document::Operations {
        count,
        completed_per_s: rate(part.operations_inside),
        outcomes: outcomes(&part.operations),
    })
}

/// Returns the version and cipher of most handshakes, and how many were resumed.
fn tls(part: &Part) -> Option<document::Tls> {
    let (&(version, cipher), _) = part.agreed.iter().max_by_key(|(_, count)| **count)?;
    let handshakes: u64 = part.agreed.values().sum();
    Some(document::Tls {
        handshakes,
        resumed_share: part.resumed as f64 / handshakes as f64,
        version: version.to_owned(),
        cipher: cipher.to_owned(),
    })
}

fn series(measurement: &Measurement) -> Vec<document::Interval> {
    let hiccups: BTreeMap<Nanos, Nanos> = measurement.hiccup_series.iter().copied().collect();
    let taken: BTreeMap<Nanos, Taken> = measurement.taken_series.iter().copied().collect();
    let has_operations = measurement.intervals().any(|(.., interval)| 0 < interval.operations);
    measurement
        .intervals()
        .map(|(begin, length, interval)| {
            let taken = taken.get(&begin).copied().unwrap_or_default();
            let entry = entry((begin, length), interval, hiccups.get(&begin).copied(), taken);
            let operations = has_operations.then_some(interval.operations);
            document::Interval { operations, ..entry }
        })
        .collect()
}

fn entry(
    (begin, length): (Nanos, Nanos),
    interval: &Interval,
    hiccup: Option<Nanos>,
    taken: Taken,
) -> document::Interval {
    let mut response = Histogram::new();
    interval.response.add_to(&mut response);
    let mut lateness = Histogram::new();
    interval.lateness.add_to(&mut lateness);
    let mean = (length != Nanos::ZERO)
        .then(|| interval.outstanding_time.as_secs_f64() / length.as_secs_f64());
    let mut entry = document::Interval {
        t_s: begin.as_secs_f64(),
        length_s: length.as_secs_f64(),
        offered: interval.intended,
        sent: interval.sent,
        completed: interval.completed,
        failed: interval.failed(),
        outstanding: Some(interval.outstanding_max),
        outstanding_mean: mean,
        backlog: Some(interval.backlog_max),
        busy: Some(interval.busy),
        hiccup_max_ns: hiccup.map(|time| time.0),
        run_queue_wait: taken.run_queue_wait,
        steal: taken.steal,
        throttled: taken.throttled,
        ..document::Interval::default()
    };
    entry.set_times(&response, &lateness);
    entry
}

/// Returns the congestion control: the one asked for, or else the system's; none without TCP.
fn congestion_control(plan: &Plan) -> Option<String> {
    let mut endpoints = plan.pools.iter().flat_map(|pool| &pool.endpoints);
    let is_tcp = endpoints.any(|to| matches!(to.address, net::Address::Inet(_)));
    is_tcp.then(|| plan.congestion_control.clone().or_else(net::congestion::of_system)).flatten()
}

fn generator(plan: &Plan, measurement: &Measurement, judgement: &Judgement) -> document::Generator {
    let machine = &measurement.machine;
    document::Generator {
        io: Some(plan.network.interface.name().to_owned()),
        io_why: Some(plan.network.why.clone()),
        congestion_control: congestion_control(plan),
        timer: Some(plan.timer.name().to_owned()),
        shards: Some(plan.cpus.len() as u64),
        cpus: machine.cpus.clone(),
        cpu_s: Some(machine.cpu.as_secs_f64()),
        busy_share: Some(machine.busy_share),
        script_share: Some(machine.script_share).filter(|share| 0.0 < *share),
        wake_up_delay: Times::of(&measurement.wake_up_delay),
        spin_share: Some(machine.spin_share),
        hiccup: Times::of(&measurement.hiccups),
        paused_share: validity::paused_share(measurement),
        hiccup_max_ns: measurement.hiccups.max().map(|time| time.0),
        turn_max_ns: Some(machine.turn_max.0),
        steal_share: machine.steal_share,
        throttled_share: machine.throttled_share,
        run_queue_wait_share: machine.run_queue_wait_share,
        receive_delay: measurement.receive_delay.as_ref().and_then(Times::of),
        segments_sent: machine.segments.map(|segments| segments.sent),
        segments_retransmitted: machine.segments.map(|segments| segments.retransmitted),
        free_ports: machine.free_ports,
        p99_at_most: judgement.p99_at_most,
        generator_bound: judgement.generator_bound,
    }
}
