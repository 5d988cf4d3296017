//! A look as the checks see it: with the look before it, and the CPUs that matter.

use std::collections::BTreeSet;

use measure::Nanos;

use super::found::Found;
use super::look::{Look, Missing};
use super::{Demands, Moment};

pub(super) struct Seen<'a> {
    pub(super) before: Option<&'a Look>,
    pub(super) now: &'a Look,
    pub(super) moment: Moment,
    pub(super) wanted: &'a Demands,
}

impl<'a> Seen<'a> {
    pub(super) fn text(&self, path: &str) -> Option<&'a str> {
        self.now.files.text(path)
    }

    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.now.files.number(path)
    }

    pub(super) fn cpus(&self) -> Vec<u32> {
        self.wanted.cpus(&self.now.files)
    }

    /// Returns a CPU in words: `CPU 1 (role load)`.
    pub(super) fn cpu(&self, cpu: u32) -> String {
        let of = |(role, cpus): (&'a String, &'a crate::spec::Cpus)| {
            cpus.0.contains(&cpu).then_some(role.as_str())
        };
        let roles: Vec<&str> = self.wanted.roles.iter().filter_map(of).collect();
        match roles.is_empty() {
            true => format!("CPU {cpu}"),
            false => format!("CPU {cpu} (role {})", roles.join(", ")),
        }
    }

    /// Returns the time between the two looks.
    pub(super) fn elapsed(&self) -> Option<Nanos> {
        let elapsed = self.now.at.saturating_since(self.before?.at);
        (elapsed != Nanos::ZERO).then_some(elapsed)
    }

    /// Returns that time in words: `in 0.3 s`.
    pub(super) fn period(&self) -> String {
        match (self.before, self.elapsed()) {
            (Some(before), _) if before.is_begin => "since the machine began".to_owned(),
            (_, Some(elapsed)) => format!("in {:.1} s", elapsed.as_secs_f64()),
            (_, None) => "at one moment".to_owned(),
        }
    }

    /// Returns the growth of a counter between the two looks, as `read` finds it in each.
    pub(super) fn growth(&self, read: impl Fn(&'a Look) -> Option<u64>) -> Option<u64> {
        let before = self.before?;
        let now = read(self.now)?;
        let was = if before.is_begin { 0 } else { read(before)? };
        Some(now.saturating_sub(was))
    }

    /// Returns a file whose counters grow, and the time between the two looks; adds what of both is
    /// missing.
    pub(super) fn grown(&self, found: &mut Found, path: &str) -> Option<(&'a str, Nanos)> {
        let Some(text) = self.text(path) else {
            self.unread(found, path);
            return None;
        };
        if self.elapsed().is_none() {
            self.single(found);
        }
        Some((text, self.elapsed()?))
    }

    /// Adds that a file could not be read.
    pub(super) fn unread(&self, found: &mut Found, path: &str) {
        let forbidden = |path: &str| self.now.files.0.get(path) == Some(&Err(Missing::Forbidden));
        if forbidden(path) {
            let text = format!("/{path} may not be read by this user");
            return found.unknown(None, text, "run it as root");
        }
        let remedy = "a virtual machine or a container often lacks it: look at it on its host";
        found.unknown(None, format!("there is no /{path}"), remedy);
    }

    /// Adds that only one look was made, so that no growth is known.
    pub(super) fn single(&self, found: &mut Found) {
        let remedy = "look twice, or record /proc/uptime too";
        found.unknown(None, "its growth is not known", remedy);
    }
}

/// Returns the value of a line `name value`.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(of_line)
}

/// Returns a value that all have in common, or all the different ones.
pub(super) fn common<'a>(values: impl Iterator<Item = &'a str>) -> String {
    values.collect::<BTreeSet<&str>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// Returns a share in words: `3.2 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
