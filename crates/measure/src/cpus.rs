//! CPUs by their numbers, and where shards are kept on them.

use std::fmt;
use std::str::FromStr;

use crate::number::ParseError;

#[cfg(test)]
mod tests;

/// A list of CPUs as the kernel writes it: `0`, `0-3`, `0,2-3`. Ascending, without repetition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cpus(pub Vec<u32>);

/// A limit above the CPUs of any machine, so that a list stays bounded.
const MOST_CPUS: u32 = 8192;

impl FromStr for Cpus {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Cpus, ParseError> {
        let wrong = || ParseError::new(text, "list of CPUs", "0, 0-3 or 0,2-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&n| n < MOST_CPUS);
            let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
            if last < first {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Cpus(cpus))
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        let texts = runs.map(|run| match run {
            [one] => one.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        });
        f.write_str(&texts.collect::<Vec<_>>().join(","))
    }
}

/// The CPUs that the generator's shards are kept on: `auto`, `off`, or one of a list.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Pin {
    /// Each on a CPU of its own, if there are enough.
    #[default]
    Auto,
    Off,
    /// Each on one of these.
    To(Cpus),
}

impl Pin {
    /// Returns the CPUs that shards can use, of those that the kernel allows this process. Fails if a named
    /// one is not allowed.
    pub fn of(&self, allowed: Vec<u32>) -> Result<Vec<u32>, String> {
        let Pin::To(Cpus(named)) = self else { return Ok(allowed) };
        match named.iter().find(|cpu| !allowed.contains(cpu)) {
            None => Ok(named.clone()),
            Some(cpu) => Err(format!(
                "--pin: this process may not run on CPU {cpu}, only on {}",
                Cpus(allowed)
            )),
        }
    }

    /// Returns the CPU of each shard, out of `cpus`.
    pub fn place(&self, shards: usize, cpus: &[u32]) -> Result<Vec<Option<u32>>, String> {
        let Some(first) = cpus.len().checked_sub(shards) else {
            return match self {
                Pin::To(named) => Err(format!(
                    "--pin: {shards} shards need a CPU each, and `{named}` names {}",
                    cpus.len()
                )),
                Pin::Auto | Pin::Off => Ok(vec![None; shards]),
            };
        };
        Ok(match self {
            Pin::Off => vec![None; shards],
            // The last ones: interrupts and other processes tend to run on the first ones.
            Pin::Auto | Pin::To(_) => cpus[first..].iter().copied().map(Some).collect(),
        })
    }
}

impl FromStr for Pin {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Pin, ParseError> {
        match text {
            "auto" => Ok(Pin::Auto),
            "off" => Ok(Pin::Off),
            list => list
                .parse()
                .map(Pin::To)
                .map_err(|_| ParseError::new(text, "place of shards", "auto, off or 0,2-3")),
        }
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pin::Auto => f.write_str("auto"),
            Pin::Off => f.write_str("off"),
            Pin::To(cpus) => cpus.fmt(f),
        }
    }
}
