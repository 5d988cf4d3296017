//! The keys of YCSB, their distributions, and the servers that have them.

use measure::Random;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::zipf::SCRAMBLED;

#[cfg(test)]
mod tests;

/// Returns the key with a number: YCSB's hash, FNV-1a of the number's bytes, without its sign.
#[inline]
pub fn key(number: u64) -> u64 {
    const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 1_099_511_628_211;
    let mut hash = OFFSET;
    for byte in number.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    }
    hash.cast_signed().unsigned_abs()
}

/// One of several servers, between which the hash space is divided evenly in their order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    pub server: u16,
    pub servers: u16,
}

impl Share {
    /// The number of slices of the hash space.
    const SLICES: u64 = 4096;

    /// Returns true if the server has the key. The hash of a store without a seed is XXH3.
    #[inline]
    pub fn has(self, key: u64) -> bool {
        self.servers == 1 || owner(&key.to_le_bytes(), self.servers) == self.server
    }
}

/// Returns which of so many servers has a key.
#[inline]
pub fn owner(key: &[u8], servers: u16) -> u16 {
    let slice = xxh3_64_with_seed(key, 0) >> 52;
    (((slice + 1) * u64::from(servers) - 1) / Share::SLICES) as u16
}

/// The distribution of the keys that are asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Distribution {
    Uniform,
    /// YCSB's scrambled Zipf distribution with the exponent 0.99.
    Zipfian,
}

impl Distribution {
    /// Draws the number of one of so many keys.
    #[inline]
    pub fn draw(self, keys: u64, random: &mut Random) -> u64 {
        match self {
            Distribution::Uniform => random.below(keys),
            Distribution::Zipfian => key(SCRAMBLED.rank(random.unit())) % keys,
        }
    }
}
