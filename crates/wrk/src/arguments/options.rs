//! The options, and the rules of `getopt_long` by which words become options.

use super::Compatibility;

/// The parsed words, in order.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) events: Vec<Event>,
    /// Words that are neither options nor values of options.
    pub(super) free: Vec<String>,
    /// Words after `--`.
    pub(super) after: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Event {
    /// An option. `written` is its name as given, without the value.
    Option {
        flag: Flag,
        written: String,
        value: Option<String>,
    },
    Wrong(String),
}

impl Event {
    pub(super) fn option(&self) -> Option<(Flag, &str)> {
        match self {
            Event::Option { flag, value, .. } => Some((*flag, value.as_deref().unwrap_or(""))),
            Event::Wrong(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Flag {
    Threads,
    Connections,
    Duration,
    Script,
    Header,
    Latency,
    Timeout,
    Rate,
    Uncorrected,
    Batch,
    Distribution,
    Separate,
    Sent,
    EachLatency,
    Stretches,
    Version,
    Help,
    Compatibility,
    Json,
    Csv,
    Hlog,
    Samples,
    Report,
    Seed,
    Strict,
    Timer,
    Io,
    Shards,
    Pin,
}

/// The names of an option, whether it takes a value, and the programs that have it.
struct Known {
    flag: Flag,
    /// The letters, or empty.
    short: &'static str,
    /// The long name, or empty.
    long: &'static str,
    takes: Takes,
    modes: &'static [Compatibility],
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Takes {
    Nothing,
    Value,
    /// A value only after `=`.
    Perhaps,
}

const ALL: &[Compatibility] = &Compatibility::ALL;
const PACED: &[Compatibility] = &[Compatibility::Wrk2, Compatibility::Dsb];
const WRK2: &[Compatibility] = &[Compatibility::Wrk2];
const DSB: &[Compatibility] = &[Compatibility::Dsb];

const ORIGINAL: [Known; 17] = [
    known(Flag::Threads, "t", "threads", Takes::Value, ALL),
    known(Flag::Connections, "c", "connections", Takes::Value, ALL),
    known(Flag::Duration, "d", "duration", Takes::Value, ALL),
    known(Flag::Script, "s", "script", Takes::Value, ALL),
    known(Flag::Header, "H", "header", Takes::Value, ALL),
    known(Flag::Latency, "L", "latency", Takes::Nothing, ALL),
    known(Flag::Timeout, "T", "timeout", Takes::Value, ALL),
    known(Flag::Version, "v", "version", Takes::Nothing, ALL),
    known(Flag::Help, "h?", "help", Takes::Nothing, ALL),
    known(Flag::Rate, "R", "rate", Takes::Value, PACED),
    known(Flag::Batch, "B", "batch_latency", Takes::Nothing, PACED),
    known(Flag::Uncorrected, "U", "u_latency", Takes::Nothing, WRK2),
    known(Flag::Distribution, "D", "dist", Takes::Value, DSB),
    known(Flag::Separate, "S", "separate", Takes::Nothing, DSB),
    known(Flag::Sent, "r", "requests", Takes::Nothing, DSB),
    known(Flag::EachLatency, "P", "", Takes::Nothing, DSB),
    known(Flag::Stretches, "p", "", Takes::Nothing, DSB),
];

/// Our options have no short names and cannot be shortened, so they never collide with the
/// originals'.
const OURS: [Known; 12] = [
    known(Flag::Compatibility, "", "compatibility", Takes::Value, ALL),
    known(Flag::Json, "", "json", Takes::Perhaps, ALL),
    known(Flag::Csv, "", "csv", Takes::Value, ALL),
    known(Flag::Hlog, "", "hlog", Takes::Value, ALL),
    known(Flag::Samples, "", "samples", Takes::Value, ALL),
    known(Flag::Report, "", "report", Takes::Value, ALL),
    known(Flag::Seed, "", "seed", Takes::Value, ALL),
    known(Flag::Strict, "", "strict", Takes::Nothing, ALL),
    known(Flag::Timer, "", "timer", Takes::Value, ALL),
    known(Flag::Io, "", "io", Takes::Value, ALL),
    known(Flag::Shards, "", "shards", Takes::Value, ALL),
    known(Flag::Pin, "", "pin", Takes::Value, ALL),
];

const fn known(
    flag: Flag,
    short: &'static str,
    long: &'static str,
    takes: Takes,
    modes: &'static [Compatibility],
) -> Known {
    Known { flag, short, long, takes, modes }
}

impl Flag {
    /// The programs that have this option.
    pub(super) fn modes(self) -> &'static [Compatibility] {
        let known = all().find(|known| known.flag == self);
        known.expect("each flag is in one of the tables").modes
    }
}

fn all() -> impl Iterator<Item = &'static Known> {
    ORIGINAL.iter().chain(&OURS)
}

/// The error for an option that the program does not have.
pub(super) fn unknown(written: &str) -> String {
    match written.strip_prefix("--") {
        Some(_) => format!("unrecognized option '{written}'"),
        None => format!("invalid option -- '{}'", written.trim_start_matches('-')),
    }
}

/// Splits the words into options and free words; an error becomes an event at its position.
pub(super) fn scan(words: &[String]) -> Scanned {
    let mut scanned = Scanned { events: Vec::new(), free: Vec::new(), after: Vec::new() };
    let mut words = words.iter().cloned();
    while let Some(word) = words.next() {
        if word == "--" {
            scanned.after.extend(words.by_ref());
        } else if let Some(long) = word.strip_prefix("--") {
            scanned.events.push(long_option(long, &mut words));
        } else if let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            short_options(cluster, &mut words, &mut scanned.events);
        } else {
            scanned.free.push(word);
        }
    }
    scanned
}

/// Parses `threads=2`, `threads 2` or `thr 2`.
fn long_option(text: &str, words: &mut impl Iterator<Item = String>) -> Event {
    let (name, given) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let known = match long(name) {
        Ok(known) => known,
        Err(what) => return Event::Wrong(what),
    };
    let written = format!("--{}", known.long);
    let value = match (known.takes, given) {
        (Takes::Nothing, Some(_)) => {
            return Event::Wrong(format!("option '{written}' doesn't allow an argument"));
        }
        (Takes::Value, None) => match words.next() {
            Some(value) => Some(value),
            None => return Event::Wrong(format!("option '{written}' requires an argument")),
        },
        (_, given) => given,
    };
    Event::Option { flag: known.flag, written, value }
}

/// The option of that name, or the only one of a program that begins with it: wrk's come first.
fn long(name: &str) -> Result<&'static Known, String> {
    // The earlier name, which command lines may still have.
    let name = if name == "flavour" { "compatibility" } else { name };
    if let Some(exact) = all().find(|known| !name.is_empty() && known.long == name) {
        return Ok(exact);
    }
    for compatibility in Compatibility::ALL {
        let begins = |known: &&Known| {
            known.modes.contains(&compatibility) && !name.is_empty() && known.long.starts_with(name)
        };
        let fitting: Vec<&Known> = ORIGINAL.iter().filter(begins).collect();
        match fitting[..] {
            [] => {}
            [one] => return Ok(one),
            _ => {
                let names: Vec<String> =
                    fitting.iter().map(|known| format!(" '--{}'", known.long)).collect();
                let names = names.concat();
                return Err(format!("option '--{name}' is ambiguous; possibilities:{names}"));
            }
        }
    }
    Err(unknown(&format!("--{name}")))
}

/// Parses `Lt2` and `t 2`.
fn short_options(cluster: &str, words: &mut impl Iterator<Item = String>, events: &mut Vec<Event>) {
    for (at, letter) in cluster.char_indices() {
        let Some(known) = ORIGINAL.iter().find(|known| known.short.contains(letter)) else {
            events.push(Event::Wrong(unknown(&format!("-{letter}"))));
            continue;
        };
        let written = format!("-{letter}");
        if known.takes == Takes::Nothing {
            events.push(Event::Option { flag: known.flag, written, value: None });
            continue;
        }
        let attached = &cluster[at + letter.len_utf8()..];
        let value = match attached {
            "" => words.next(),
            value => Some(value.to_owned()),
        };
        events.push(match value {
            Some(value) => Event::Option { flag: known.flag, written, value: Some(value) },
            None => Event::Wrong(format!("option requires an argument -- '{letter}'")),
        });
        return;
    }
}

/// Each option as the usage writes it, with the programs that have it.
#[cfg(test)]
pub(super) fn written() -> impl Iterator<Item = (String, &'static [Compatibility])> {
    all().map(|known| match (known.short.chars().next(), known.long) {
        (Some(letter), "") => (format!(" -{letter} "), known.modes),
        (Some(letter), long) => (format!(" -{letter}, --{long} "), known.modes),
        (None, long) => (format!(" --{long}"), known.modes),
    })
}
