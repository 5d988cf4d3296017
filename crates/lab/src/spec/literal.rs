//! Quantities as they are written in a file: each with its unit, read and written without loss.

use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;

use measure::cpus::{Cpus, Pin};
use measure::number::ParseError;
use measure::quantity::whole_count;
use measure::{Bytes, Nanos, Rate, Share};
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// A value that is written as one word, such as `5k/s`, `100ms` or `5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written<T>(pub T);

/// The reading and writing of such a word. A written value is read again as the same value.
pub trait Literal: Sized {
    fn read(text: &str) -> Result<Self, ParseError>;
    fn write(&self) -> String;
}

impl<T> Deref for Written<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Literal> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.write())
    }
}

impl<'de, T: Literal> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written<T>, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::read(&text).map(Written).map_err(D::Error::custom)
    }
}

impl Literal for Nanos {
    fn read(text: &str) -> Result<Nanos, ParseError> {
        text.parse()
    }

    fn write(&self) -> String {
        self.written()
    }
}

impl Literal for Rate {
    fn read(text: &str) -> Result<Rate, ParseError> {
        text.parse()
    }

    fn write(&self) -> String {
        format!("{}/s", self.as_per_second())
    }
}

impl Literal for Share {
    fn read(text: &str) -> Result<Share, ParseError> {
        text.parse()
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

impl Literal for Bytes {
    fn read(text: &str) -> Result<Bytes, ParseError> {
        text.parse()
    }

    fn write(&self) -> String {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let whole = units.into_iter().find(|(bits, _)| self.0.is_multiple_of(1 << bits));
        whole.map_or(format!("{}B", self.0), |(bits, unit)| format!("{}{unit}", self.0 >> bits))
    }
}

impl Literal for IpAddr {
    fn read(text: &str) -> Result<IpAddr, ParseError> {
        text.parse().map_err(|_| ParseError::new(text, "IP address", "10.0.0.7"))
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

/// A number of things: `1000`, `100k`, `1M`. At least one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Count(pub u64);

impl Literal for Count {
    fn read(text: &str) -> Result<Count, ParseError> {
        let number = whole_count(text).filter(|&number| 0 < number);
        number.map(Count).ok_or_else(|| ParseError::new(text, "count from 1", "1000, 100k or 1M"))
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

/// The step of a sweep: a share of the last load, or a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    By(Share),
    Add(Rate),
}

impl Literal for Growth {
    fn read(text: &str) -> Result<Growth, ParseError> {
        let wrong = || ParseError::new(text, "step above zero", "5% or 100/s");
        match text.contains('/') {
            true => text.parse().map(Growth::Add).map_err(|_| wrong()),
            false if !text.trim().ends_with('%') => Err(wrong()),
            false => match Share::read(text) {
                Ok(share) if 0.0 < share.0 => Ok(Growth::By(share)),
                _ => Err(wrong()),
            },
        }
    }

    fn write(&self) -> String {
        match self {
            Growth::By(share) => format!("{}%", (share.0 * 1e10).round() / 1e8),
            Growth::Add(rate) => rate.write(),
        }
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Growth::By(share) => share.fmt(f),
            Growth::Add(rate) => rate.fmt(f),
        }
    }
}

impl Literal for Cpus {
    fn read(text: &str) -> Result<Cpus, ParseError> {
        text.parse()
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl Literal for Pin {
    fn read(text: &str) -> Result<Pin, ParseError> {
        text.parse()
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

/// One text or several: `endpoint: http://a/` or `endpoint: [http://a/, http://b/]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts(pub Vec<String>);

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => serializer.serialize_str(one),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Texts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }
            // A number would lose how it is written: 1.10 is 1.1.
            fn visit_u64<E: Error>(self, number: u64) -> Result<Texts, E> {
                Err(E::custom(unquoted(number)))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Texts, E> {
                Err(E::custom(unquoted(number)))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Texts, E> {
                Err(E::custom(unquoted(number)))
            }
            fn visit_bool<E: Error>(self, flag: bool) -> Result<Texts, E> {
                Err(E::custom(unquoted(flag)))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Texts(texts))
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

fn unquoted(value: impl fmt::Display) -> String {
    format!("`{value}` is not a text; write it in quotes: \"{value}\"")
}

/// A number that is at least one.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct AtLeastOne(pub u32);

pub(super) fn one() -> AtLeastOne {
    AtLeastOne(1)
}

impl From<AtLeastOne> for u32 {
    fn from(number: AtLeastOne) -> u32 {
        number.0
    }
}

/// The largest of these numbers.
const MOST: u32 = 1_000_000;

impl TryFrom<u32> for AtLeastOne {
    type Error = String;
    fn try_from(number: u32) -> Result<AtLeastOne, String> {
        match number {
            1..=MOST => Ok(AtLeastOne(number)),
            _ => Err(format!("`{number}` is too few or too many; write a number from 1 to {MOST}")),
        }
    }
}
