use load::measurement::{Machine, Pool};
use load::observe::Window;
use load::pacing::Offered;
use load::shard::Failures;
use load::validity::Besides;
use measure::pace::{Distribution, Shape};
use measure::series::Series;
use measure::{Balance, Instant, Rate};

use super::*;

fn plan(connections: usize) -> Plan {
    let shape = Shape::constant(Rate::per_second(1_000.0).unwrap());
    let load = Offered::Drawn { shape, distribution: Distribution::Poisson };
    let pools = vec![Pool { endpoints: Vec::new(), connections }];
    let pacing = Pacing::Open { load, sharing: Sharing::InTurn };
    Plan::whole(pools, pacing, Nanos::SECOND)
}

/// Returns a second with 1,000 requests, which took a second each; of them so many succeeded, timed out, and had no
/// response.
fn measurement(ok: u64, timeout: u64, unfinished: u64) -> Measurement {
    let mut part = Part { intended: 1_000, completed_inside: ok, ..Part::default() };
    part.outcomes[Outcome::Ok as usize] = ok;
    part.outcomes[Outcome::Timeout as usize] = timeout;
    part.outcomes[Outcome::Unfinished as usize] = unfinished;
    part.service.record_n(Nanos::SECOND, 1_000);
    let mut balance = Balance::new(Instant(0));
    (0..1_000).for_each(|arrival| balance.arrived(Instant(arrival * 1_000_000)));
    // A request that is given up has ended, too.
    (0..600).for_each(|end| balance.answered(Instant(end * 1_000_000_000 / 600)));
    let window = Window { start: Instant(0), end: Instant(1_000_000_000) };
    Measurement {
        parts: vec![part],
        labels: Vec::new(),
        segments: Vec::new(),
        balance,
        sessions: Balance::new(Instant(0)),
        series: Series::new(Instant(0), Nanos::SECOND),
        drained: Interval::default(),
        hiccups: Histogram::new(),
        hiccup_series: Vec::new(),
        taken_series: Vec::new(),
        receive_delay: None,
        wake_up_delay: Histogram::new(),
        start: Instant(0),
        window,
        end: window.end,
        ended: Ended::AsPlanned,
        is_behind: false,
        partial: false,
        connections_asked: 1,
        connections_reached: 1,
        opening: Nanos::ZERO,
        connecting_failed: Failures::default(),
        refused: Vec::new(),
        machine: Machine::default(),
    }
}

/// More connections or a lower rate help a saturated target, and not one that answers nothing.
#[test]
fn a_target_that_fails_most_requests_is_not_called_saturated() {
    let target = Target {
        url: "http://a/".to_owned(),
        scheme: wire::url::Scheme::Http,
        host: "a".to_owned(),
        port: None,
        authority: "a".to_owned(),
        path: "/".to_owned(),
        authorization: None,
        endpoints: Vec::new(),
    };
    let context = Context {
        requests_of_an_arrival: 1.0,
        arguments: Vec::new(),
        seed: 1,
        slo: &[],
        labels: &[],
        has_one_path: true,
        compatibility: None,
    };
    let findings = |connections, (ok, timeout, unfinished)| {
        let (plan, measurement) = (plan(connections), measurement(ok, timeout, unfinished));
        let judgement = validity::judge(&plan, &measurement, Besides::default());
        assert_eq!(judgement.saturated, Some(true));
        let targets = [target.clone()];
        let found = of(&context, &plan, &targets, &measurement, &judgement).findings;
        let of_rates = found.iter().filter(|finding| finding.contains("completed"));
        of_rates.count()
    };
    // Of few connections the finding says that they were all in use.
    for connections in [10, 100_000] {
        assert_eq!(findings(connections, (600, 400, 0)), 1, "slow, and most requests succeeded");
        assert_eq!(findings(connections, (400, 600, 0)), 0);
        assert_eq!(findings(connections, (0, 1_000, 0)), 0);
        assert_eq!(findings(connections, (0, 0, 1_000)), 0, "none had a response");
    }
}

/// Both are kept: the highest says if connections were free, and the mean what waited.
#[test]
fn an_interval_has_the_highest_and_the_mean_number_of_outstanding_requests() {
    let waited = Nanos::from_millis(1_500);
    let interval = Interval { outstanding_max: 12, outstanding_time: waited, ..Default::default() };
    let of = |length| {
        let entry = entry((Nanos::ZERO, length), &interval, None, Taken::default());
        (entry.outstanding, entry.outstanding_mean)
    };
    assert_eq!(of(Nanos::from_millis(500)), (Some(12), Some(3.0)));
    assert_eq!(of(Nanos::ZERO), (Some(12), None));
}
