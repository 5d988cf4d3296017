//! Values for tests which a C program can make too, and the hash in which it says what it printed:
//! the originals' own sources, linked to a few lines that recorded the same values, gave the hashes
//! that tests compare with.

/// Knuth's linear congruential generator.
pub(crate) struct Sequence(pub(crate) u64);

impl Sequence {
    pub(crate) fn next(&mut self) -> u64 {
        let product = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = product.wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
}

/// Of lines, each with its end.
pub(crate) fn hash(lines: impl Iterator<Item = String>) -> u64 {
    let bytes = lines.flat_map(|line| (line + "\n").into_bytes());
    bytes.fold(0, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)))
}
