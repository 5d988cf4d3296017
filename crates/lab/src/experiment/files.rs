//! The files that are kept of a trial beside its journal entry.

use measure::Histogram;
use results::components::Components;
use results::directory::Files;
use results::load::Part;
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
    let mut keep = |name: &str, of: fn(&Part) -> &Option<Times>| {
        let parts = (1..).zip(&load.targets).filter(|_| 1 < load.targets.len());
        let parts = parts.map(|(i, target)| (format!("target-{i}"), &target.part));
        let parts = [("all".to_owned(), &load.total)].into_iter().chain(parts);
        let histogram = |(tag, part)| Some((tag, of(part).as_ref()?.histogram()?));
        let histograms: Vec<(String, &Histogram)> = parts.filter_map(histogram).collect();
        if !histograms.is_empty() {
            files.insert(name.to_owned(), times::log(&histograms, seconds).into_bytes());
        }
    };
    keep("response_time.hlog", |part| &part.response_time);
    keep("service_time.hlog", |part| &part.service_time);
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
