//! The command line of the generator, which is a separate process. It prints a `results::Load`.

use measure::{Nanos, Rate};

use results::slo;

use crate::spec::{Model, Resolved};

#[cfg(test)]
mod tests;

/// A load that the generator shall make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// The rate of each target; `None` is a closed loop.
    pub rate: Option<Rate>,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    pub seed: u64,
}

/// Returns the arguments after `benchwright`; `addresses` are those of each target's replicas, if
/// there are several.
pub fn arguments(
    resolved: &Resolved,
    targets: &[String],
    addresses: &[String],
    wanted: &Wanted,
) -> Vec<String> {
    let spec = &resolved.spec;
    let mut arguments = vec!["load".to_owned()];
    arguments.extend(targets.iter().cloned());
    arguments.extend(addresses.iter().flat_map(|list| ["--address".to_owned(), list.clone()]));
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    match wanted.rate {
        Some(rate) => {
            option("--rate", format!("{}/s", rate.as_per_second()));
            option("--arrivals", spec.load.arrivals.to_string());
        }
        None => arguments.push("--closed".to_owned()),
    }
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    if let (Model::Closed, Some(think)) = (spec.load.model, spec.load.think) {
        option("--think", think.written());
    }
    option("--connections", spec.load.connections.0.to_string());
    option("--warm-up", wanted.warm_up.written());
    option("--duration", wanted.measure.written());
    option("--drain", wanted.drain.written());
    option("--timeout", spec.load.timeout.written());
    option("--seed", wanted.seed.to_string());
    // The tightest limit decides how punctual the generator has to be, and which responses are
    // good.
    let slos = resolved.slos();
    if !slos.is_empty() {
        option("--slo", slo::written(&slos));
    }
    option("--progress", "lines".to_owned());
    arguments.push("--json".to_owned());
    if 1 < targets.len() {
        arguments.push("--per-target".to_owned());
    }
    if let Some(script) = resolved.script() {
        arguments.extend(["--script".to_owned(), script.display().to_string()]);
        if let Some(threads) = spec.load.script_threads {
            arguments.extend(["--script-threads".to_owned(), threads.0.to_string()]);
        }
        let words = spec.workload.args.iter().map(|word| resolved.text(word, 1));
        if !spec.workload.args.is_empty() {
            arguments.push("--".to_owned());
        }
        arguments.extend(words);
    }
    arguments
}

/// Returns the arguments after `benchwright` that make it check the syntax of a script.
pub fn check_script(script: &std::path::Path) -> Vec<String> {
    vec!["load".to_owned(), "--check-script".to_owned(), script.display().to_string()]
}

/// Returns a component's URL with the workload's own path.
pub fn target(resolved: &Resolved, url: &str, instance: u32) -> String {
    match &resolved.spec.workload.get {
        Some(path) => {
            let path = resolved.text(path, instance);
            format!("{}/{}", url.trim_end_matches('/'), path.trim_start_matches('/'))
        }
        None => url.to_owned(),
    }
}
