//! The endpoints of services: the addresses that requests reach, as EndpointSlices list them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::pods;

#[cfg(test)]
mod tests;

/// The label of an EndpointSlice with the name of its service.
pub(crate) const SERVICE: &str = "kubernetes.io/service-name";

/// The ready endpoints of services, by `namespace/service`: the names of pods with their addresses.
pub(crate) type Ready<'a> = BTreeMap<String, BTreeSet<(&'a str, &'a str)>>;

/// Returns the ready endpoints in these slices.
pub(crate) fn ready(slices: &[Value]) -> Ready<'_> {
    let mut ready = Ready::new();
    for slice in slices {
        let Some(service) = slice["metadata"]["labels"][SERVICE].as_str() else { continue };
        let of_service = ready.entry(key(slice, service)).or_default();
        for endpoint in list(&slice["endpoints"]).filter(|endpoint| is_ready(endpoint)) {
            for address in list(&endpoint["addresses"]).filter_map(Value::as_str) {
                let pod = endpoint["targetRef"]["name"].as_str().unwrap_or(address);
                of_service.insert((pod, address));
            }
        }
    }
    ready
}

/// Returns the number of endpoints of each service that selects some of these pods, which are all
/// ready, by `namespace/service`; the error says which service has not exactly those.
pub(crate) fn complete(
    services: &[Value],
    slices: &[Value],
    pods: &[Value],
) -> Result<BTreeMap<String, u32>, String> {
    let ready = ready(slices);
    let mut numbers = BTreeMap::new();
    for service in services {
        let wanted: BTreeSet<&str> =
            pods.iter().filter(|pod| selects(service, pod)).map(pods::name).collect();
        if wanted.is_empty() {
            continue;
        }
        let key = key(service, pods::name(service));
        let found = ready.get(&key).into_iter().flatten();
        let found: BTreeSet<&str> = found.map(|(pod, _)| *pod).collect();
        if found != wanted {
            let (of, there) = (wanted.len(), found.intersection(&wanted).count());
            let more = match found.len() - there {
                0 => String::new(),
                others => format!(", and {others} others"),
            };
            return Err(format!("{there} of {of} endpoints of {key} are ready{more}"));
        }
        numbers.insert(key, wanted.len() as u32);
    }
    Ok(numbers)
}

fn selects(service: &Value, pod: &Value) -> bool {
    let labels = &pod["metadata"]["labels"];
    let selector = service["spec"]["selector"].as_object();
    selector.is_some_and(|selector| {
        !selector.is_empty() && selector.iter().all(|(name, value)| labels.get(name) == Some(value))
    })
}

fn key(object: &Value, service: &str) -> String {
    format!("{}/{service}", pods::namespace(object))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns true if an endpoint takes requests. `ready` alone is true for all of a service that
/// publishes addresses which are not ready.
fn is_ready(endpoint: &Value) -> bool {
    let conditions = &endpoint["conditions"];
    let serves = conditions["serving"].as_bool().or_else(|| conditions["ready"].as_bool());
    // An unknown condition means that it is ready.
    serves.unwrap_or(true) && conditions["terminating"] != true
}
