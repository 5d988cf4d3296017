//! The bound of the numbers in documents of others.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

#[cfg(test)]
mod tests;

/// Refuses a document with a number that no load counts, as sums of them would have no place: 2^53, which other
/// programs read from JSON as it is. Points in time may be larger.
pub(crate) fn check(text: &[u8]) -> Result<(), String> {
    const MOST: u64 = 1 << 53;
    // What is not JSON has an error of its own.
    match serde_json::from_slice(text) {
        Ok(Largest(largest)) if MOST < largest => {
            Err(format!("{largest} is not a valid number of a load"))
        }
        _ => Ok(()),
    }
}

/// The largest number in a document, without the points in time and the seed. It is found while the document is
/// read: as a tree of values a hostile one would take many times its size.
struct Largest(u64);

impl<'de> Deserialize<'de> for Largest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Largest, D::Error> {
        struct AnyValue;
        impl<'de> Visitor<'de> for AnyValue {
            type Value = Largest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Largest, E> {
                Ok(Largest(number))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Largest, E> {
                Ok(Largest(0))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Largest, E> {
                Ok(Largest(0))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Largest, E> {
                Ok(Largest(0))
            }
            fn visit_str<E>(self, _: &str) -> Result<Largest, E> {
                Ok(Largest(0))
            }
            fn visit_unit<E>(self) -> Result<Largest, E> {
                Ok(Largest(0))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Largest, A::Error> {
                let mut largest = 0;
                while let Some(Largest(number)) = all.next_element()? {
                    largest = largest.max(number);
                }
                Ok(Largest(largest))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Largest, A::Error> {
                let mut largest = 0;
                while let Some(name) = fields.next_key::<String>()? {
                    let Largest(number) = fields.next_value()?;
                    let is_count = !name.ends_with("_ns") && name != "seed";
                    largest = if is_count { largest.max(number) } else { largest };
                }
                Ok(Largest(largest))
            }
        }
        deserializer.deserialize_any(AnyValue)
    }
}
