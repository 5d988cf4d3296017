//! The memory that a server may use, and the sum of what it will use.

use std::fs;
use std::path::Path;

use measure::quantity::Bytes;
use measure::store::{self, MOST_PERCENT};

#[cfg(test)]
mod tests;

/// Returns the limit of this process: that of the machine, or the lowest of its control groups.
pub(super) fn limit() -> Option<u64> {
    let machine =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| store::meminfo(&text, "MemTotal"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    machine.into_iter().chain(limits_of_groups(&groups)).min()
}

/// Returns the limits of the groups of this process and of their parents, of either version.
fn limits_of_groups(groups: &str) -> Vec<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let Some((controllers, group)) = fields.next().zip(fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(root).join(group.trim_start_matches('/'));
        let groups = group.ancestors().take_while(|path| path.starts_with(root));
        // `max` is not a number.
        let limit =
            |path: &Path| fs::read_to_string(path.join(file)).ok()?.trim().parse::<u64>().ok();
        limits.extend(groups.filter_map(limit));
    }
    limits
}

/// The parts of the memory of a server, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub(super) index: u64,
    pub(super) log: u64,
    /// Buffers, connections and sessions.
    pub(super) connections: u64,
}

impl Sum {
    fn total(self) -> u64 {
        self.index.saturating_add(self.log).saturating_add(self.connections)
    }

    /// Returns the refusal of a sum that is too large for a limit.
    pub(super) fn refusal(self, limit: u64) -> Option<String> {
        let most = store::most(limit);
        let total = self.total();
        if total <= most {
            return None;
        }
        let Sum { index, log, connections } = self;
        let [index, log, connections, total, most, limit] =
            [index, log, connections, total, most, limit].map(Bytes);
        Some(format!(
            "the store would take {total}: {index} for the index (--buckets), {log} for the log \
             (--memory), {connections} for buffers and connections (--threads); {MOST_PERCENT} % of \
             the {limit} that this process may use are {most}\n  choose less --memory, fewer \
             --buckets or fewer --threads"
        ))
    }
}
