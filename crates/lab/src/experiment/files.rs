//! What is kept of a trial beside its journal entry.

use std::collections::BTreeMap;

use measure::{Histogram, Instant, Nanos};
use results::directory::Files;
use results::{Times, times};

use crate::judge;
use crate::trial::Observation;

pub(super) fn of(observation: &Observation) -> Files {
    let load = &observation.driven.load;
    let mut document = serde_json::to_vec(load).expect("a document is plain data");
    document.push(b'\n');
    let mut files = Files::from([("load.json".to_owned(), document)]);
    let seconds = load.measured_s;
    let mut keep = |name: &str, of: &dyn Fn(&results::load::Part) -> Option<Histogram>| {
        let all = of(&load.total).map(|histogram| ("all".to_owned(), histogram));
        let parts = (1..).zip(&load.targets).filter(|_| 1 < load.targets.len());
        let parts = parts.filter_map(|(i, t)| Some((format!("target-{i}"), of(&t.part)?)));
        let histograms: Vec<(String, Histogram)> = all.into_iter().chain(parts).collect();
        if histograms.is_empty() {
            return;
        }
        let tagged: Vec<(&str, &Histogram)> =
            histograms.iter().map(|(tag, histogram)| (tag.as_str(), histogram)).collect();
        files.insert(name.to_owned(), times::log(&tagged, seconds).into_bytes());
    };
    let histogram = |times: &Option<Times>| times.as_ref().and_then(Times::histogram);
    keep("response_time.hlog", &|part| histogram(&part.response_time));
    keep("service_time.hlog", &|part| histogram(&part.service_time));
    files.insert("cpu.json".to_owned(), cpu(observation));
    files
}

/// CPUs used by each component in each second of the measurement.
fn cpu(observation: &Observation) -> Vec<u8> {
    let consumed = &observation.driven.consumed;
    let (begin, end) = judge::window(&observation.driven.load, consumed);
    let mut components: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut from: Instant = begin;
    while from < end {
        let to = (from + Nanos::SECOND).min(end);
        for (name, cpu) in judge::used(consumed, from, to) {
            components.entry(name).or_default().push(cpu);
        }
        from = to;
    }
    let document = serde_json::json!({ "interval_s": 1.0, "components": components });
    (document.to_string() + "\n").into_bytes()
}
