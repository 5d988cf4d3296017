//! The checks of the network and the disk: 21 and 22.

use measure::bounds::RETRANSMITS_UNNOTICED;
use results::doctor::Severity::Warning;

use super::found::Found;
use super::seen::{Seen, percent};
use super::{Look, Moment};

/// A number of segments sent again that proves nothing.
const FEW: u64 = 10;
/// The share of time in which a disk may be busy before a load.
const DISK_BUSY: f64 = 0.1;

/// Check 21: connections neither lose segments nor overflow queues.
pub(super) fn network(seen: &Seen<'_>) -> Found {
    let (snmp, netstat) = ("proc/net/snmp", "proc/net/netstat");
    let mut found = Found::new(
        "retransmits ≤ 0.1 %, no overflow of a listen queue",
        format!("/{snmp}, /{netstat}"),
    );
    let counter = |file: &'static str, kind: &'static str, name: &'static str| {
        move |look: &Look| pair(look.files.text(file)?, kind, name)
    };
    let sent = counter(snmp, "Tcp:", "OutSegs");
    let again = counter(snmp, "Tcp:", "RetransSegs");
    let overflows = counter(netstat, "TcpExt:", "ListenOverflows");
    for (file, read) in [(snmp, sent(seen.now)), (netstat, overflows(seen.now))] {
        if read.is_none() {
            seen.unread(&mut found, file);
        }
    }
    let (Some(sent), Some(again)) = (seen.growth(sent), seen.growth(again)) else {
        if seen.before.is_none() {
            seen.single(&mut found);
        }
        return found;
    };
    let overflowed = seen.growth(overflows).unwrap_or_default();
    let period = seen.period();
    if FEW < again && RETRANSMITS_UNNOTICED * (sent as f64) < again as f64 {
        let text = format!("{again} of {sent} segments were sent again {period}");
        found.bad(
            None,
            Warning,
            text,
            "look at the link and its queues: `ethtool -S`, `tc -s qdisc`",
        );
    }
    if 0 < overflowed {
        let text = format!("{overflowed} new connections overflowed a listen queue {period}");
        found.bad(None, Warning, text, "raise the server's backlog and net.core.somaxconn");
    }
    found.with(format!("{again} of {sent} segments sent again, no overflow, {period}"))
}

/// Returns a figure of a file that has a line of names above each line of figures.
fn pair(text: &str, kind: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(kind));
    let (names, figures) = (lines.next()?, lines.next()?);
    let position = names.split_ascii_whitespace().position(|word| word == name)?;
    figures.split_ascii_whitespace().nth(position)?.parse().ok()
}

/// Check 22: no disk is busy before a load.
pub(super) fn disk(seen: &Seen<'_>) -> Found {
    let file = "proc/diskstats";
    let mut found = Found::new("busy for ≤ 10 % of the time", format!("/{file}"));
    if seen.moment == Moment::After {
        found.untimely("a load has just used the disks");
        return found;
    }
    let Some((text, elapsed)) = seen.grown(&mut found, file) else { return found };
    let mut most: f64 = 0.0;
    for disk in text.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)) {
        let Some(ms) = seen.growth(|look| busy_ms(look.files.text(file)?, disk)) else { continue };
        let share = ms as f64 / 1000.0 / elapsed.as_secs_f64();
        most = most.max(share);
        if DISK_BUSY < share {
            let text = format!("{disk} was busy for {} of the time", percent(share.min(1.0)));
            found.bad(None, Warning, text, "wait, or stop what uses it: `iotop`");
        }
    }
    found.with(format!("busy for {} {}", percent(most), seen.period()))
}

/// Returns the time for which a disk had something to do: its tenth figure.
fn busy_ms(text: &str, disk: &str) -> Option<u64> {
    let mut lines = text.lines().map(|line| line.split_ascii_whitespace().skip(2));
    lines.find_map(|mut words| (words.next()? == disk).then(|| words.nth(9))?)?.parse().ok()
}
