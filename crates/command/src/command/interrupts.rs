//! `--pin-irq` of the key-value store's server and client: some CPUs serve the interrupts of the network
//! interfaces, and no thread of ours, until the program ends.
//!
//! What stood there is noted before it is changed, as `doctor --fix` does it. A program that is killed
//! leaves the note: the next one that pins puts it back first, and so does `doctor --restore`.

use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use lab::doctor::fix::{self, Applied, Place, Real, Setting};
use lab::doctor::pin::{self, Plan, Unpinned};
use lab::doctor::read::Reader;
use lab::host;
use lab::spec::Cpus;
use net::cores;
use results::regular::{self, Locked};
use serde_json::{Value, json};

use console::output::{self, Failure};

#[cfg(test)]
mod tests;

/// The CPUs of the original's `--pinirq`.
const ORIGINAL: u16 = 8;

#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Have the N highest CPUs serve the interrupts of the network interface, and no threads of this
    /// program; needs root. What stood there is put back at the end. 0 pins nothing; no effect on loopback
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=1024))]
    pin_irq: Option<u16>,
    /// As the original's scripts spell it: 8 CPUs
    #[arg(long, hide = true, conflicts_with = "pin_irq")]
    pinirq: bool,
}

impl Options {
    fn wanted(self) -> Option<u16> {
        self.pin_irq.or(self.pinirq.then_some(ORIGINAL)).filter(|wanted| *wanted != 0)
    }
}

/// The outcome of `--pin-irq`. At its end the interrupts are put back.
#[derive(Debug)]
pub(crate) struct Pinning {
    wanted: u16,
    outcome: Outcome,
    root: PathBuf,
    /// Only one process pins at a time: otherwise one would put back what another has set.
    lock: Option<Locked>,
}

#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Pinned {
        serving: Cpus,
        interfaces: Vec<String>,
        interrupts: Vec<u32>,
        /// Those that the kernel keeps where they are, with its reason.
        refused: Vec<String>,
    },
    /// The reason why nothing is changed.
    Nothing(String),
}

/// Pins the interrupts that these addresses cause, and keeps this thread and those that it starts later off their
/// CPUs. Returns `None` if nobody has asked for it.
///
/// # Errors
///
/// No CPU would be left for threads.
pub(crate) fn pin(options: Options, addresses: &[IpAddr]) -> Result<Option<Pinning>, Failure> {
    let Some(wanted) = options.wanted() else { return Ok(None) };
    let (pinning, left) = pin_at(Path::new("/"), wanted, addresses, &cores::allowed())?;
    if let Some(left) = left {
        cores::keep_to(&left.0).map_err(Failure::no_answer)?;
    }
    Ok(Some(pinning))
}

/// Pins interrupts of the machine below `root`. Returns the CPUs that are left for threads, if others serve
/// interrupts now.
fn pin_at(
    root: &Path,
    wanted: u16,
    addresses: &[IpAddr],
    allowed: &[u32],
) -> Result<(Pinning, Option<Cpus>), Failure> {
    let plan = || {
        let files = Reader::new(root).settings(host::now);
        pin::plan(&files, addresses, usize::from(wanted), allowed)
    };
    let outcome = Outcome::Nothing(String::new());
    let mut pinning = Pinning { wanted, outcome, root: root.to_owned(), lock: None };
    let pinned = match plan() {
        Err(Unpinned::TooMany(most)) => return Err(Failure::question(too_many(wanted, most))),
        Err(unpinned) => Err(unpinned),
        // Another look: what a killed process had left is put back by then.
        Ok(_) => pinning.take_over().and_then(|()| plan()),
    };
    let applied = pinned.map_err(in_words).and_then(|plan| apply(root, plan));
    let (outcome, left) = match applied {
        Ok((outcome, left)) => (outcome, Some(left)),
        Err(why) => (Outcome::Nothing(why), None),
    };
    pinning.outcome = outcome;
    Ok((pinning, left))
}

/// Makes the changes of a plan; returns the outcome, and the CPUs that are left for threads.
fn apply(root: &Path, plan: Plan) -> Result<(Outcome, Cpus), String> {
    let applied = fix::apply(Place::pinned(root), &plan.changes, &mut Real);
    let Applied { refused, .. } = applied.map_err(|error| format!("{error:#}"))?;
    let Plan { serving, left, interfaces, interrupts, .. } = plan;
    if refused.len() == interrupts.len() {
        let why = refused.first().map(told_refusal).unwrap_or_default();
        return Err(format!("{why}; run it as root"));
    }
    let refused = refused.iter().map(told_refusal).collect();
    Ok((Outcome::Pinned { serving, interfaces, interrupts, refused }, left))
}

fn in_words(unpinned: Unpinned) -> String {
    match unpinned {
        Unpinned::Loopback => "loopback has no interrupts".to_owned(),
        Unpinned::TooMany(_) => "the network interfaces have just changed".to_owned(),
        Unpinned::Unknown(why) => why,
    }
}

fn too_many(wanted: u16, most: usize) -> String {
    let remedy = match most {
        0 => "leave it out".to_owned(),
        _ => format!("write at most --pin-irq {most}"),
    };
    let cpus = most + 1;
    format!("--pin-irq {wanted} leaves no CPU for threads: this process may use {cpus}; {remedy}")
}

fn told_refusal((Setting { path, .. }, why): &(Setting, String)) -> String {
    format!("/{path}: {why}")
}

/// Locks the interrupts of a machine among the processes that pin them.
fn lock(root: &Path) -> Result<Locked, String> {
    let path = root.join("proc/irq");
    let file = File::open(&path).map_err(|error| format!("/proc/irq: {error}"))?;
    match regular::lock(file, |_| true) {
        Ok(Some(locked)) => Ok(locked),
        Ok(None) => Err("another process has pinned interrupts; end it first".to_owned()),
        Err(error) => Err(format!("/proc/irq: {error}")),
    }
}

/// Puts back what a process that was killed had pinned. Returns the settings; none while a process pins.
pub(crate) fn restore(root: &Path) -> anyhow::Result<Vec<Setting>> {
    match lock(root) {
        Ok(_lock) => fix::restore(Place::pinned(root), &mut Real),
        Err(_) => Ok(Vec::new()),
    }
}

impl Pinning {
    /// Locks other processes that pin out, and puts back what a killed one has left.
    fn take_over(&mut self) -> Result<(), Unpinned> {
        self.lock = Some(lock(&self.root).map_err(Unpinned::Unknown)?);
        let restored = fix::restore(Place::pinned(&self.root), &mut Real);
        restored.map(drop).map_err(|error| Unpinned::Unknown(format!("{error:#}")))
    }

    /// A sentence for the log.
    pub(crate) fn told(&self) -> String {
        let wanted = self.wanted;
        match &self.outcome {
            Outcome::Nothing(why) => format!("warning: --pin-irq {wanted} has no effect: {why}"),
            Outcome::Pinned { serving, interfaces, interrupts, refused } => {
                let number = interrupts.len() - refused.len();
                let interfaces = interfaces.join(", ");
                let told = format!(
                    "CPU {serving} serves {number} interrupts of {interfaces}, and no threads"
                );
                match refused.is_empty() {
                    true => told,
                    false => format!("{told}; warning: not changed: {}", refused.join("; ")),
                }
            }
        }
    }

    /// The same for programs.
    pub(crate) fn document(&self) -> Value {
        let Pinning { wanted, outcome, .. } = self;
        match outcome {
            Outcome::Nothing(why) => json!({"wanted": wanted, "pinned": false, "why": why}),
            Outcome::Pinned { serving, interfaces, interrupts, refused } => json!({
                "wanted": wanted,
                "pinned": true,
                "cpus": serving.to_string(),
                "interfaces": interfaces,
                "interrupts": interrupts,
                "refused": refused,
            }),
        }
    }

    /// Puts the interrupts back.
    fn put_back(&self) -> anyhow::Result<()> {
        if self.lock.is_some() {
            fix::restore(Place::pinned(&self.root), &mut Real)?;
        }
        Ok(())
    }
}

impl Drop for Pinning {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            output::error(&format!("warning: the interrupts stay pinned: {error:#}"));
        }
    }
}
