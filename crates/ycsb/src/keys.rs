//! The keys of YCSB, their distributions, and the servers that have them.

use measure::Random;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::zipf::{BLOCK, SCRAMBLED};

#[cfg(test)]
mod tests;

/// Returns the key with a number: YCSB's hash, FNV-1a of the number's bytes, without its sign.
#[inline]
pub fn key(number: u64) -> u64 {
    hashed::<8>(number)
}

/// Returns the key with a number that is in its lowest bytes: to hash a byte of zero is to multiply.
#[inline]
fn hashed<const BYTES: u32>(number: u64) -> u64 {
    const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 1_099_511_628_211;
    let mut hash = OFFSET;
    for byte in 0..BYTES {
        hash = (hash ^ ((number >> (8 * byte)) & 0xFF)).wrapping_mul(PRIME);
    }
    hash.wrapping_mul(const { PRIME.wrapping_pow(8 - BYTES) }).cast_signed().unsigned_abs()
}

/// Numbers or keys that are drawn together.
pub type Block = [u64; BLOCK];

/// Returns the keys with these numbers, the same as one at a time.
#[inline]
pub fn keys(numbers: &Block) -> Block {
    let bits = numbers.iter().fold(0, |bits, number| bits | number);
    match bits.checked_ilog2().map_or(0, |highest| highest / 8) {
        0..=2 => numbers.map(hashed::<3>),
        3 => numbers.map(hashed::<4>),
        4 => numbers.map(hashed::<5>),
        _ => numbers.map(hashed::<8>),
    }
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

/// Draws the numbers of keys.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    distribution: Distribution,
    keys: u64,
    remainder: Remainder,
}

impl Draws {
    /// Draws from so many keys, of which there is at least one.
    pub fn new(distribution: Distribution, keys: u64) -> Draws {
        Draws { distribution, keys, remainder: Remainder::by(keys) }
    }

    #[inline]
    pub fn next(&self, random: &mut Random) -> Block {
        match self.distribution {
            Distribution::Uniform => std::array::from_fn(|_| random.below(self.keys)),
            Distribution::Zipfian => {
                let uniform = std::array::from_fn(|_| random.unit());
                keys(&SCRAMBLED.ranks(&uniform)).map(|hash| self.remainder.of(hash))
            }
        }
    }
}

/// The remainder of hashes by one divisor: multiplications take a fifth of the time of a division.
#[derive(Clone, Copy, Debug)]
struct Remainder {
    divisor: u64,
    /// The inverse: 2^(63 + b) / divisor rounded up, where 2^b is the next power of two. It is exact for numbers up to 2^63 (Granlund and Montgomery, 1994).
    inverse: u64,
    shift: u32,
    /// Zero for the divisor 1, of which no such inverse has 64 bits.
    mask: u64,
}

impl Remainder {
    fn by(divisor: u64) -> Remainder {
        assert!(0 < divisor, "there is a key");
        if divisor == 1 {
            return Remainder { divisor, inverse: 0, shift: 0, mask: 0 };
        }
        let bits = u64::BITS - (divisor - 1).leading_zeros();
        let inverse = (1_u128 << (63 + bits)).div_ceil(u128::from(divisor));
        let inverse = u64::try_from(inverse).expect("the divisor is above 2^(bits − 1)");
        Remainder { divisor, inverse, shift: bits - 1, mask: u64::MAX }
    }

    #[inline]
    fn of(self, number: u64) -> u64 {
        let high = ((u128::from(number) * u128::from(self.inverse)) >> 64) as u64;
        number.wrapping_sub((high >> self.shift).wrapping_mul(self.divisor)) & self.mask
    }
}
