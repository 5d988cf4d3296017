//! The division of one load between several generators.

use std::fmt;
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// The most generators of one load.
const MOST: u32 = 1_000;

/// The place of a generator among those that make one load together.
///
/// Every part draws the same arrivals and takes its own: those of each target go to the parts in
/// turn, so that all parts are together exactly the undivided load. Written `2/3`; also `#1/3`, counted
/// from 0, as Kubernetes counts the pods of a Job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Portion {
    /// Counted from 0.
    index: u32,
    of: u32,
}

impl Portion {
    /// The only part: the whole load.
    pub const WHOLE: Portion = Portion { index: 0, of: 1 };

    /// Returns part `index`, counted from 0, of `of`; `None` if there is no such part.
    pub fn new(index: u32, of: u32) -> Option<Portion> {
        (index < of && of <= MOST).then_some(Portion { index, of })
    }

    /// Returns its number, counted from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of parts.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Returns its share of `number` things that the parts take in turn.
    pub fn share(self, number: u64) -> u64 {
        let (index, of) = (u64::from(self.index), u64::from(self.of));
        number / of + u64::from(index < number % of)
    }

    /// Returns the shares of all parts before this one.
    pub fn before(self, number: u64) -> u64 {
        let (index, of) = (u64::from(self.index), u64::from(self.of));
        index * (number / of) + index.min(number % of)
    }

    /// Returns the number of a thing that each part counts by itself, so that no two of all parts
    /// have the same. The numbers of the whole load stay as they are.
    pub fn number(self, own: u64) -> u64 {
        own * u64::from(self.of) + u64::from(self.index)
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.of)
    }
}

impl FromStr for Portion {
    type Err = String;

    fn from_str(text: &str) -> Result<Portion, String> {
        let numbers = || {
            let (number, of) = text.split_once('/')?;
            let index = match number.strip_prefix('#') {
                Some(index) => index.parse().ok()?,
                None => number.parse::<u32>().ok()?.checked_sub(1)?,
            };
            Portion::new(index, of.parse().ok()?)
        };
        numbers().ok_or_else(|| {
            format!("`{text}` is not a part of a load; write for example 2/3, of at most {MOST}")
        })
    }
}
