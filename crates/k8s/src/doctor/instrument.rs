//! The checks of what measures: Prometheus, the nodes themselves, and the API server.

use measure::Nanos;
use results::doctor::{Severity, Standing, State};

use super::Missing;
use super::found::{Found, OfCluster};
use super::seen::Seen;
use crate::paths;

/// The fewest scrapes in the window of a rate: one may be late or lost, and two are needed.
const SCRAPES: u64 = 4;

/// The longest acceptable time of a call to the API server, of half of them and of all.
const HALF: Nanos = Nanos::from_millis(200);
const ALL: Nanos = Nanos::from_secs(1);

/// Check 18: a rate of Prometheus covers enough scrapes, and nothing but the measurement.
pub(super) fn prometheus(seen: &Seen<'_>) -> Found {
    let source = "the query of the spec, and /api/v1/targets of Prometheus";
    let mut found =
        Found::new("a rate window of at least 4 scrapes, and not above the measurement", source);
    let Some(prometheus) = &seen.answers.prometheus else {
        return found.with("the spec asks no Prometheus for a rate");
    };
    let (window, measure) = (prometheus.rate_window, prometheus.measure);
    if measure < window {
        let text = format!(
            "the rate window of {} is longer than the measurement of {}",
            window.in_words(),
            measure.in_words(),
        );
        let remedy = "measure longer, or shorten the window of the query: `rate(…[30s])`";
        found.bad(None, Severity::Warning, text, remedy);
    }
    match &prometheus.scrape_interval {
        Err(missing) => found.unread(None, "the scrape interval", missing),
        Ok(interval) => {
            found.record("prometheus scrape interval", interval.in_words());
            if window < *interval * SCRAPES {
                let text = format!(
                    "the rate window of {} has fewer than {SCRAPES} scrapes of {}",
                    window.in_words(),
                    interval.in_words(),
                );
                let remedy = "set a shorter scrape_interval in prometheus.yml, or lengthen the \
                              window of the query";
                found.bad(None, Severity::Warning, text, remedy);
            }
        }
    }
    found.with(format!("a rate window of {}", window.in_words()))
}

/// Check 19: the local checks on the nodes, which need a privileged pod. They are never made
/// without being asked for, and never without being shown.
pub(super) fn hosts(seen: &Seen<'_>) -> Found {
    let source = "the local doctor in a privileged pod on each node";
    let mut found = Found::new("nothing bad on any role's node", source);
    let hosts = match &seen.answers.hosts {
        Ok(hosts) => hosts,
        Err(Missing::NotRead) => {
            let text =
                "the nodes themselves were not looked at: that needs a privileged pod on each";
            let remedy = "run `benchwright doctor` on each node, or allow the privileged pods";
            found.unknown(None, text, remedy);
            return found;
        }
        Err(missing) => {
            found.unread(None, "the state of the nodes themselves", missing);
            return found;
        }
    };
    let nodes = seen.role_nodes();
    for node in &nodes {
        let Some(host) = hosts.get(*node) else {
            found.unknown(None, format!("{node} was not looked at"), "see why its pod did not run");
            continue;
        };
        found.record(format!("host {node}"), host.fingerprint.hash.as_str());
        let bad = host
            .checks
            .iter()
            .filter(|check| check.state == State::Bad && check.standing != Standing::Waived);
        for check in bad {
            let text = format!("{node}: {}: {}", check.id, check.value);
            let remedy = check.remedy.clone().unwrap_or_else(|| format!("correct it on {node}"));
            found.bad(None, check.severity, text, remedy);
        }
    }
    found.with(format!("{} nodes were looked at by privileged pods", nodes.len()))
}

/// Check 21: the API server answers quickly.
pub(super) fn latency(seen: &Seen<'_>) -> Found {
    let wanted =
        format!("half of the calls within {}, all within {}", HALF.in_words(), ALL.in_words());
    let mut found = Found::new(wanted, format!("all reads, such as {}", paths::NODES));
    let mut times = seen.answers.latencies.clone();
    times.sort_unstable();
    let (Some(median), Some(longest)) = (times.get(times.len() / 2), times.last()) else {
        found.unknown(None, "no call was timed", "try it by `kubectl get --raw /readyz -v=6`");
        return found;
    };
    let value = format!("median {median}, longest {longest} of {} calls", times.len());
    if HALF < *median || ALL < *longest {
        let remedy = "run nearer to the API server, such as by a runner in the cluster, or look at \
                      its load: `kubectl get --raw /metrics`";
        found.bad(None, Severity::Warning, &*value, remedy);
    }
    found.with(value)
}
