//! The files that are kept of a trial beside its journal entry.

use measure::Histogram;
use results::components::Components;
use results::directory::Files;
use results::{Times, components, doctor, times};
use serde::Serialize;

use crate::trial::Observation;

pub(super) fn of(observation: &Observation, by_second: &Components) -> Files {
    let load = &observation.driven.load;
    let mut files = Files::from([("load.json".to_owned(), document(load))]);
    // One slow machine shows in its own document.
    let parts = observation.driven.parts.iter();
    files.extend(parts.map(|(machine, load)| (format!("load.{machine}.json"), document(load))));
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
    files.insert(components::FILE.to_owned(), document(by_second));
    if let Some(checked) = &observation.checked {
        files.insert(doctor::FILE.to_owned(), document(&checked.after));
    }
    files
}

fn document(of: &impl Serialize) -> Vec<u8> {
    let mut document = serde_json::to_vec(of).expect("a document is plain data");
    document.push(b'\n');
    document
}
