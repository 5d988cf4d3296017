//! Changes of a cluster's objects as actions: those that one makes with `kubectl edit configmap`,
//! `kubectl rollout restart` and `kubectl scale`.

use std::collections::BTreeMap;

use measure::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pattern, Texts, Written};

#[cfg(test)]
mod tests;

/// The longest time until changed Deployments are complete, unless a change sets its own: their images
/// may have to be loaded.
fn three_minutes() -> Written<Nanos> {
    Written(Nanos::from_secs(180))
}

/// A change of what a cluster has. It is undone at the end of the run, also if the run is killed,
/// unless the object is part of a release that the run removes.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Config(Config),
    Scale(Scale),
}

/// Kubernetes: an edit of a ConfigMap, and a rolling restart of the Deployments that read it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenConfig", into = "WrittenConfig")]
pub struct Config {
    pub map: String,
    pub namespace: Option<String>,
    pub key: String,
    pub part: Part,
    pub value: String,
    pub restart: Texts,
    pub timeout: Written<Nanos>,
}

/// The part of a text that an edit replaces.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// All of it; it is added if it is missing.
    Whole,
    /// The value at this JSON pointer (RFC 6901), in a document that is JSON.
    Pointer(String),
    /// Each line that this matches.
    Line(Pattern),
}

#[derive(Clone, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenConfig {
    /// The name of the ConfigMap.
    map: String,
    /// Its namespace; the run's by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// The key whose text is changed. Without `pointer` and `line` it gets the value as a whole.
    key: String,
    /// Only the value at this JSON pointer, if the text is JSON: `/home-timeline-redis/addr`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    /// Only the lines that this regular expression matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<Pattern>,
    /// The new text. At a pointer, a number, `true` or `false` is written as such.
    value: String,
    /// The Deployments that are restarted then, pod by pod, as by `kubectl rollout restart`.
    #[serde(default, skip_serializing_if = "no_texts")]
    restart: Texts,
    /// The longest time until their new pods are ready.
    #[serde(default = "three_minutes")]
    timeout: Written<Nanos>,
}

fn no_texts(texts: &Texts) -> bool {
    texts.0.is_empty()
}

impl TryFrom<WrittenConfig> for Config {
    type Error = &'static str;

    fn try_from(written: WrittenConfig) -> Result<Config, &'static str> {
        let WrittenConfig { map, namespace, key, pointer, line, value, restart, timeout } = written;
        let part = match (pointer, line) {
            (None, None) => Part::Whole,
            (Some(pointer), None) if pointer.is_empty() || pointer.starts_with('/') => {
                Part::Pointer(pointer)
            }
            (Some(_), None) => return Err("a JSON pointer begins with `/`, such as `/redis/addr`"),
            (None, Some(line)) => Part::Line(line),
            (Some(_), Some(_)) => return Err("give either `pointer` or `line`"),
        };
        Ok(Config { map, namespace, key, part, value, restart, timeout })
    }
}

impl From<Config> for WrittenConfig {
    fn from(config: Config) -> WrittenConfig {
        let Config { map, namespace, key, part, value, restart, timeout } = config;
        let (pointer, line) = match part {
            Part::Whole => (None, None),
            Part::Pointer(pointer) => (Some(pointer), None),
            Part::Line(line) => (None, Some(line)),
        };
        WrittenConfig { map, namespace, key, pointer, line, value, restart, timeout }
    }
}

/// Kubernetes: the numbers of pods of Deployments, as by `kubectl scale`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Their namespace; the run's by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Deployments by their names, each with its number of pods.
    pub deployments: BTreeMap<String, u32>,
    /// The longest time until all have exactly these pods, all ready.
    #[serde(default = "three_minutes")]
    pub timeout: Written<Nanos>,
}

impl Config {
    /// Returns the texts that may contain variables and addresses.
    pub(super) fn texts(&self) -> Vec<&str> {
        let own = [self.map.as_str(), &self.key, &self.value];
        let restart = self.restart.0.iter().map(String::as_str);
        self.namespace.as_deref().into_iter().chain(own).chain(restart).collect()
    }
}

impl Scale {
    /// Returns the texts that may contain variables.
    pub(super) fn texts(&self) -> Vec<&str> {
        let names = self.deployments.keys().map(String::as_str);
        self.namespace.as_deref().into_iter().chain(names).collect()
    }
}

impl Change {
    /// Returns the namespace that it names.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Change::Config(config) => config.namespace.as_deref(),
            Change::Scale(scale) => scale.namespace.as_deref(),
        }
    }

    /// Returns the change with each of its texts replaced.
    pub fn with_texts(&self, replaced: &dyn Fn(&str) -> String) -> Change {
        match self {
            Change::Config(config) => Change::Config(Config {
                map: replaced(&config.map),
                namespace: config.namespace.as_deref().map(replaced),
                key: replaced(&config.key),
                part: config.part.clone(),
                value: replaced(&config.value),
                restart: Texts(config.restart.0.iter().map(|name| replaced(name)).collect()),
                timeout: config.timeout,
            }),
            Change::Scale(scale) => {
                let deployments = scale.deployments.iter();
                Change::Scale(Scale {
                    namespace: scale.namespace.as_deref().map(replaced),
                    deployments: deployments.map(|(name, n)| (replaced(name), *n)).collect(),
                    timeout: scale.timeout,
                })
            }
        }
    }
}

/// Written as the command that one would type for it.
impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let namespace = self.namespace().map(|name| format!(" -n {name}")).unwrap_or_default();
        match self {
            Change::Config(Config { map, key, part, value, restart, .. }) => {
                write!(f, "edit{namespace} configmap {map}: {key}")?;
                match part {
                    Part::Whole => write!(f, " = {value}")?,
                    Part::Pointer(pointer) => write!(f, " at {pointer} = {value}")?,
                    Part::Line(line) => write!(f, ", lines `{line}` = {value}")?,
                }
                match restart.0.is_empty() {
                    true => Ok(()),
                    false => write!(f, ", then restart {}", restart.0.join(", ")),
                }
            }
            Change::Scale(Scale { deployments, .. }) => {
                let each: Vec<String> = deployments
                    .iter()
                    .map(|(name, number)| format!("{name} to {number}"))
                    .collect();
                write!(f, "scale{namespace} {}", each.join(", "))
            }
        }
    }
}
