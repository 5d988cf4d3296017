//! Randomness from a seed. It is written here so that its bits never change with a library: the
//! same seed gives the same graph and the same posts, by which a later run recognises them.

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Random(u64);

impl Random {
    /// Returns the stream of a seed and the numbers of what is drawn from it.
    pub fn of(seed: u64, numbers: &[u64]) -> Self {
        let mut random = Random(seed);
        for number in numbers {
            random.0 = random.bits() ^ number;
        }
        random
    }

    /// Returns a number from 0 to `end - 1`, by the upper half of a product: the bias is below
    /// `end` / 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        assert!(0 < end, "there is a number to draw");
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Appends characters that are drawn from `alphabet`.
    pub fn text(&mut self, length: usize, alphabet: &[u8], out: &mut String) {
        for _ in 0..length {
            out.push(char::from(alphabet[self.below(alphabet.len() as u64) as usize]));
        }
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
