//! The doctor's document: the checks of the machines of an experiment, and the fingerprint of what
//! they found.
//!
//! One document for this machine and for clusters. A check is *ok*, *bad* or *unknown*: on many
//! machines a part cannot be read, and nobody guesses. What is recorded only, such as the version
//! of a kernel, is in the fingerprint: two trials of one experiment have the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest;

pub const SCHEMA: &str = "benchwright.doctor/1";
/// The name of its file in a results directory, and in the folder of a trial.
pub const FILE: &str = "doctor.json";

/// All checks at one moment.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Doctor {
    pub schema: String,
    /// In the order of the method.
    pub checks: Vec<Check>,
    pub fingerprint: Fingerprint,
}

/// The result of one check.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Check {
    /// A name that never changes, by which a spec requires or allows: `local.governor`.
    pub id: String,
    /// The subject of the check in words.
    pub name: String,
    /// The weight of what was found.
    pub severity: Severity,
    pub state: State,
    /// The place that the spec gives to this result; absent if it says nothing about it.
    #[serde(default, skip_serializing_if = "Standing::is_usual")]
    pub standing: Standing,
    /// The finding in words, with the objects that it is about.
    pub value: String,
    /// The value of a good machine.
    pub wanted: String,
    /// The file or the API path that was read.
    pub source: String,
    /// The steps to a good value, or to a known one; absent if the state is ok.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The weight of a bad value.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is only recorded.
    Info,
    /// It makes figures worse or wider, and is printed.
    Warning,
    /// Figures are not to be trusted: a strict experiment is refused.
    Error,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    Bad,
    /// It could not be read; `value` says why.
    Unknown,
}

/// The place that a spec gives to what a check found.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    #[default]
    Usual,
    /// The spec requires what is bad or unknown here: it must be known and good.
    Required,
    /// The spec allows what is bad or unknown here: it is printed and refuses nothing.
    Waived,
}

impl Standing {
    fn is_usual(&self) -> bool {
        *self == Standing::Usual
    }
}

/// The properties that two trials of one experiment must have in common.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Fingerprint {
    /// SHA-256 over all the rest.
    pub hash: String,
    /// The recorded values by their names: `node w1 kernel`. An unknown one is absent.
    pub values: BTreeMap<String, String>,
    /// The place of each pod; absent on one machine, or if pods could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<BTreeMap<String, Placed>>,
}

/// The place of a pod.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Placed {
    /// Absent while the pod has no node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// A hash of the template that the pod was made from; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// The strictness of an experiment towards its machines.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Errors refuse the run, and so does a required value that is bad or unknown.
    Strict,
    /// Everything bad is printed, what is unknown in one line, and nothing refused.
    #[default]
    Warn,
    /// Nothing is printed or refused.
    Off,
}

/// The consequences of checks for a run, as sentences.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Verdict {
    /// The reasons to refuse the run.
    pub refusals: Vec<String>,
    pub warnings: Vec<String>,
}

impl Verdict {
    pub fn is_refused(&self) -> bool {
        !self.refusals.is_empty()
    }
}

impl Doctor {
    pub fn new(checks: Vec<Check>, fingerprint: Fingerprint) -> Doctor {
        Doctor { schema: SCHEMA.to_owned(), checks, fingerprint }
    }
}

impl Check {
    /// Returns the result in one line, for a message.
    pub fn sentence(&self) -> String {
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        let is = match self.state {
            State::Ok => "",
            State::Bad => " bad:",
            State::Unknown => " unknown:",
        };
        format!("{}:{is} {} (wanted: {}){remedy}", self.id, self.value, self.wanted)
    }

    /// Returns the result in a word, for a list.
    pub fn word(&self) -> &'static str {
        match (self.state, self.standing, self.severity) {
            (State::Ok, ..) => "ok",
            (_, Standing::Waived, _) => "allowed",
            (State::Unknown, ..) => "unknown",
            (State::Bad, _, Severity::Error) => "error",
            (State::Bad, _, Severity::Warning) => "warning",
            (State::Bad, _, Severity::Info) => "note",
        }
    }

    /// Returns true if a strict experiment is refused because of this.
    pub fn refuses(&self) -> bool {
        match (self.standing, self.state) {
            (_, State::Ok) | (Standing::Waived, _) => false,
            (Standing::Required, State::Bad | State::Unknown) => true,
            (Standing::Usual, State::Bad) => self.severity == Severity::Error,
            (Standing::Usual, State::Unknown) => false,
        }
    }
}

impl Fingerprint {
    pub fn new(
        values: BTreeMap<String, String>,
        placement: Option<BTreeMap<String, Placed>>,
    ) -> Fingerprint {
        let all = serde_json::to_string(&(&values, &placement)).expect("maps of texts are JSON");
        Fingerprint { hash: digest::sha256(all.as_bytes()), values, placement }
    }
}

/// Returns the reasons to refuse a run, and its warnings. `changes` are the differences from the
/// trial before, which weigh like errors.
pub fn verdict(level: Level, checks: &[Check], changes: &[String]) -> Verdict {
    let mut verdict = Verdict::default();
    if level == Level::Off {
        return verdict;
    }
    let is_strict = level == Level::Strict;
    let mut unknown = Vec::new();
    for check in checks.iter().filter(|check| check.state != State::Ok) {
        match (check.standing, check.state, check.severity) {
            _ if check.refuses() && is_strict => verdict.refusals.push(check.sentence()),
            (Standing::Waived, ..) => {
                verdict.warnings.push(format!("allowed by the spec: {}", check.sentence()));
            }
            (_, _, Severity::Info) => {}
            (Standing::Usual, State::Unknown, _) => unknown.push(check.id.as_str()),
            _ => verdict.warnings.push(check.sentence()),
        }
    }
    if !unknown.is_empty() {
        let ids = unknown.join(", ");
        verdict.warnings.push(format!("unknown: {ids}; `benchwright doctor` says why"));
    }
    let changed = if is_strict { &mut verdict.refusals } else { &mut verdict.warnings };
    changed.extend_from_slice(changes);
    verdict
}

/// Returns the consequences for a trial of what was found before and after it. A warning that was
/// there before is not repeated.
pub fn of_trial(level: Level, before: Option<&Doctor>, after: &Doctor) -> Verdict {
    let changes = before.map(|before| differences(&before.fingerprint, &after.fingerprint));
    let known = before.map(|before| verdict(level, &before.checks, &[])).unwrap_or_default();
    let mut found = verdict(level, &after.checks, &changes.unwrap_or_default());
    found.warnings.retain(|warning| !known.warnings.contains(warning));
    found
}

/// Returns the differences between two fingerprints in words. A value that one of them does not
/// know is not a difference.
pub fn differences(before: &Fingerprint, after: &Fingerprint) -> Vec<String> {
    let mut found = Vec::new();
    for (name, was) in &before.values {
        if let Some(is) = after.values.get(name).filter(|is| *is != was) {
            found.push(format!("{name} was {was} before and is {is} after"));
        }
    }
    if let (Some(before), Some(after)) = (&before.placement, &after.placement) {
        for (pod, was) in before {
            match after.get(pod) {
                Some(is) => found.extend(was.differences(is, pod)),
                None => {
                    found.push(format!("pod {pod} was on {} before and is gone after", was.on()))
                }
            }
        }
        for (pod, is) in after.iter().filter(|(pod, _)| !before.contains_key(*pod)) {
            found.push(format!("pod {pod} was not there before and is on {} after", is.on()));
        }
    }
    found
}

impl Placed {
    fn on(&self) -> &str {
        self.node.as_deref().unwrap_or("no node")
    }

    fn differences(&self, after: &Placed, pod: &str) -> Vec<String> {
        let mut found = Vec::new();
        if self.node != after.node {
            found.push(format!(
                "pod {pod} was on {} before and on {} after",
                self.on(),
                after.on()
            ));
        }
        if let (Some(was), Some(is)) = (&self.template, &after.template)
            && was != is
        {
            found.push(format!("pod {pod} had the template {was} before and has {is} after"));
        }
        found
    }
}
