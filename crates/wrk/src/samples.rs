//! Test values that a C program can generate too, and a hash of output lines. The expected hashes
//! in the tests come from the originals' own sources, linked to a few lines that recorded the same
//! values and hashed what was printed.

/// Knuth's linear congruential generator.
pub(crate) struct Sequence(pub(crate) u64);

impl Sequence {
    pub(crate) fn next(&mut self) -> u64 {
        let product = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = product.wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
}

/// The hash of lines, each with its line end.
pub(crate) fn hash(lines: impl Iterator<Item = String>) -> u64 {
    let bytes = lines.flat_map(|line| (line + "\n").into_bytes());
    bytes.fold(0, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)))
}
