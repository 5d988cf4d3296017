//! The facts that were seen of a service, in words.

use described::one_line;
use generator::load::probe::Seen;
use measure::quantity::{counted, requests};
use results::transport::NOT_FOLLOWED;

#[cfg(test)]
mod tests;

/// Returns what a user should know of a service, a sentence each.
pub(super) fn of(seen: &Seen) -> Vec<String> {
    let Seen {
        statuses, failed, version, fields, body_bytes, alone, reconnects, tls, took, ..
    } = seen;
    let answers = statuses.iter().map(|(status, count)| format!("{count} × {status}"));
    let failures = failed.iter().map(|(outcome, count)| format!("{count} × {outcome}"));
    let answers: Vec<String> = answers.chain(failures).collect();
    let all = statuses.values().sum::<u64>() + failed.values().sum::<u64>();
    let mut facts = vec![format!(
        "{} one after the other in {took}: {}, the first with {} bytes",
        requests(all),
        answers.join(", "),
        counted(*body_bytes)
    )];
    if let Some(alone) = alone {
        facts.push(format!("a request that is alone takes {alone} (p50)"));
    }
    let redirect = fields
        .get("location")
        .filter(|_| statuses.keys().any(|status| (300..400).contains(status)));
    if let Some(location) = redirect {
        let location = one_line(location);
        facts.push(format!("it redirects to {location}, {NOT_FOLLOWED}"));
    }
    if let Some(status) = statuses.keys().find(|status| 400 <= **status) {
        let remedy = match status {
            401 | 403 => "give it a token with -H or --header-file",
            404 => "is this the path of the service?",
            _ => "is it ready?",
        };
        facts.push(format!("{status} counts as a failure: {remedy}"));
    }
    facts.push(match (*reconnects, all) {
        (0, _) => format!("{version} with keep-alive: the connection stayed open"),
        (closed, all) if all <= closed + 1 => {
            format!("{version} without keep-alive: it closes the connection after each response, so every request \
                     pays for a new one")
        }
        (closed, _) => format!("{version}: it closed the connection {closed} times"),
    });
    if let Some(tls) = tls {
        facts.push(format!("{}, {}", tls.version, tls.cipher));
    }
    let known = ["content-type", "content-encoding", "server"];
    let known =
        known.iter().filter_map(|name| Some(format!("{name}: {}", one_line(fields.get(*name)?))));
    let known: Vec<String> = known.collect();
    if !known.is_empty() {
        facts.push(known.join(", "));
    }
    facts
}
