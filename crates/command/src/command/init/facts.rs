//! The facts that were seen of a service, in words.

use described::one_line;
use generator::load::probe::Probed;
use measure::quantity::{counted, requests};
use results::transport::Habit;

#[cfg(test)]
mod tests;

/// Returns why nothing is written about a service of which no request succeeded, with the remedy.
pub(super) fn no_success(seen: &Probed) -> String {
    let failures = seen.failures.as_deref().unwrap_or("none had a response");
    let remedy = match seen.statuses.keys().next() {
        Some(status) => remedy(*status),
        None => "see the log of the service, and if it speaks HTTP/1.1 at this port",
    };
    format!("no request succeeded, so nothing is written: {}; {remedy}", one_line(failures))
}

/// Returns what to do about a status of failure.
fn remedy(status: u16) -> &'static str {
    match status {
        401 | 403 => "give it a token with -H or --header-file",
        404 => "is this the path of the service?",
        _ => "is it ready?",
    }
}

/// Returns what a user should know of a service, a sentence each.
pub(super) fn of(seen: &Probed) -> Vec<String> {
    let Probed {
        statuses,
        failed,
        version,
        fields,
        body_bytes,
        alone,
        closed,
        unasked,
        tls,
        took,
        ..
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
    if let Some(failures) = seen.failures.as_ref().filter(|_| !failed.is_empty()) {
        facts.push(one_line(failures));
    }
    if let Some(alone) = alone {
        facts.push(format!("a request that is alone takes {alone} (p50)"));
    }
    let redirect = fields
        .get("location")
        .filter(|_| statuses.keys().any(|status| (300..400).contains(status)));
    if let Some(location) = redirect {
        let location = one_line(location);
        let (_, remedy) = Habit::Redirects.in_words();
        facts.push(format!("it redirects to {location}, which is not followed; {remedy}"));
    }
    if let Some(status) = statuses.keys().find(|status| 400 <= **status) {
        facts.push(format!("{status} counts as a failure: {}", remedy(*status)));
    }
    if 0 < *unasked {
        let times = if *unasked == 1 { "once" } else { "several times" };
        facts.push(format!(
            "it sent bytes that belong to no request, {times}: each time the connection was closed from here; see what \
             it sends behind a response"
        ));
    }
    facts.push(match (*closed, seen.responses()) {
        (0, _) if failed.is_empty() && *unasked == 0 => {
            format!("{version} with keep-alive: the connection stayed open")
        }
        (0, _) => format!("{version} with keep-alive: it closed no connection"),
        (closed, responses) if responses <= closed + 1 => {
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
