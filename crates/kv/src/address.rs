//! Places in the log.

/// The number of bits of an address. The uppermost one is reserved for a cache of reads.
pub(crate) const ADDRESS_BITS: u32 = 48;

/// Returns the address behind the page that a place in the log is in.
pub(crate) fn end_of_page(at: u64, page: u64) -> u64 {
    (at & !(page - 1)) + page
}

/// A byte offset from the beginning of the log, which only grows. No record is at zero.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Address(u64);

impl Address {
    /// The address of no record; all others are greater.
    pub(crate) const NONE: Address = Address(0);

    /// No record is behind this.
    pub(crate) const MOST: Address = Address((1 << ADDRESS_BITS) - 1);

    pub(crate) fn new(offset: u64) -> Address {
        debug_assert!(offset < 1 << ADDRESS_BITS, "the log has less than 2^48 bytes");
        Address(offset)
    }

    /// Takes the address in the lower bits of a word.
    #[inline]
    pub(crate) fn of_word(word: u64) -> Address {
        Address(word & ((1 << ADDRESS_BITS) - 1))
    }

    #[inline]
    pub(crate) fn get(self) -> u64 {
        self.0
    }
}
