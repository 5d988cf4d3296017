//! The check of key-value stores in our pods: 22.

use lab::doctor::store::Store;
use measure::Bytes;
use measure::store::{MOST_PERCENT, most};
use results::doctor::Severity::Error;
use serde_json::Value;

use super::found::Found;
use super::seen::{Seen, containers, list};
use crate::paths;
use crate::quantity::bytes;

/// Check 22: a store fits into the memory of its container. Without a limit it may use that of its node, which
/// the scheduler divides.
pub(super) fn memory(seen: &Seen<'_>) -> Found {
    let wanted = format!("key-value stores take at most {MOST_PERCENT} % of their memory limits");
    let mut found = Found::new(wanted, paths::PODS);
    let Some(pods) = seen.running(&mut found) else { return found };
    let mut number = 0;
    for pod in &pods {
        for container in containers(pod) {
            let Some(store) = Store::of_words(&words(container)) else { continue };
            number += 1;
            let Some(limit) = bytes(&container["resources"]["limits"]["memory"]) else { continue };
            let least = store.least(limit);
            if most(limit) < least {
                let (name, least, limit) = (seen.called(pod), Bytes(least), Bytes(limit));
                let text = format!("{name} takes at least {least} of its limit of {limit}");
                let remedy = "give it less --memory or fewer --buckets, or raise its limit";
                found.bad(None, Error, text, remedy);
            }
        }
    }
    found.with(format!("{number} stores"))
}

/// Returns the words that a container starts, also those of a script.
fn words(container: &Value) -> Vec<String> {
    let texts = list(container, "/command").iter().chain(list(container, "/args"));
    let texts = texts.filter_map(Value::as_str);
    texts.flat_map(str::split_whitespace).map(str::to_owned).collect()
}
