//! The hash of a key, and its parts: 12 bits name the slice, the next ones the bucket, and 15 bits
//! behind those of the smallest index are the tag.

use xxhash_rust::xxh3::xxh3_64_with_seed;

#[cfg(all(test, not(shuttle)))]
mod tests;

/// Few with the model checker, for which each word of a table costs time.
pub(crate) const SLICE_BITS: u32 = if cfg!(shuttle) { 2 } else { 12 };
pub(crate) const TAG_BITS: u32 = 15;

/// The seed with which all keys have one of four hashes, so that a test can let them collide.
#[cfg(all(test, not(shuttle)))]
pub(crate) const COLLIDING: u64 = 0x636f_6c6c_6964_6521;

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Hash(u64);

impl Hash {
    /// Returns XXH3_64 of the key.
    #[inline]
    pub(crate) fn of(key: &[u8], seed: u64) -> Hash {
        #[cfg(all(test, not(shuttle)))]
        if seed == COLLIDING {
            return Hash(xxh3_64_with_seed(key, seed) & 0xc000_0000_0000_0000);
        }
        Hash(xxh3_64_with_seed(key, seed))
    }

    #[inline]
    pub(crate) fn slice(self) -> usize {
        (self.0 >> (u64::BITS - SLICE_BITS)) as usize
    }

    /// Returns the number of the bucket among those of all slices, in the order of the hashes, if each slice has
    /// two to the power of `bits`.
    #[inline]
    pub(crate) fn bucket(self, bits: u32) -> usize {
        (self.0 >> (u64::BITS - SLICE_BITS - bits)) as usize
    }

    /// Returns the tag, which begins behind this many bits for the bucket.
    #[inline]
    pub(crate) fn tag(self, bits: u32) -> u64 {
        (self.0 << (SLICE_BITS + bits)) >> (u64::BITS - TAG_BITS)
    }

    /// A hash that no key has to have.
    pub(crate) fn of_number(hash: u64) -> Hash {
        Hash(hash)
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }
}
