//! The CPUs that processes of this machine may use, and those of the roles.

use std::collections::BTreeMap;
use std::fs;

use lab::backend::Stop;
use lab::spec::{Cpus, Literal, Resolved, Written};

/// The CPUs of the roles that have some.
pub(crate) type Roles = BTreeMap<&'static str, Cpus>;

/// Returns the CPUs of each role, after checking that this process may use them.
pub(crate) fn roles(resolved: &Resolved) -> Result<Roles, Stop> {
    let here = allowed_here();
    let mut found = Roles::new();
    for (name, role) in resolved.spec.where_.roles.named() {
        let Some(Written(cpus)) = role.and_then(|role| role.cpus.as_ref()) else { continue };
        if let Some(absent) = cpus.0.iter().find(|cpu| !here.0.contains(cpu)) {
            let written = &cpus.to_string();
            let place = resolved.source.find(&format!("{name}:"), written);
            let message = format!("role {name} needs CPU {absent}, which is not available here");
            let label = format!("CPUs here: {here}");
            return Err(resolved.source.error(message, place, &label).into());
        }
        found.insert(name, cpus.clone());
    }
    Ok(found)
}

/// Returns the CPUs that this thread may use, and so the processes that it starts.
pub(crate) fn allowed_here() -> Cpus {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let allowed = allowed_list(&status).and_then(|list| Cpus::read(list).ok());
    allowed.unwrap_or(Cpus(vec![0]))
}

fn allowed_list(status: &str) -> Option<&str> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(str::trim)
}

pub(crate) fn cpus_here() -> f64 {
    allowed_here().0.len() as f64
}

/// Returns the CPUs that the kernel allows all threads of these processes; each list once.
pub(crate) fn allowed_cpus(processes: &[i32]) -> String {
    let threads = processes
        .iter()
        .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten());
    let mut lists: Vec<String> = threads
        .filter_map(|thread| {
            let status = fs::read_to_string(thread.path().join("status")).ok()?;
            allowed_list(&status).map(str::to_owned)
        })
        .collect();
    lists.sort();
    lists.dedup();
    lists.join("; ")
}
