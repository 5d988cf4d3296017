//! The place where things run: the backend, and the CPUs of the roles.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Cpus, Written};

/// The place where things run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    #[serde(default)]
    pub backend: BackendKind,
    #[serde(default)]
    pub roles: Roles,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// Processes on this machine, each in its own cgroup where that is possible.
    #[default]
    Local,
    /// A service that runs elsewhere; only its address is known.
    External,
    /// A queueing model on virtual time.
    Simulated,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendKind::Local => "local",
            BackendKind::External => "external",
            BackendKind::Simulated => "simulated",
        })
    }
}

/// The CPUs of the system under test and of the generator; all CPUs if not given.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sut: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Role>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    pub cpus: Written<Cpus>,
}
