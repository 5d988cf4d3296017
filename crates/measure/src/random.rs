//! A seeded random number generator, split into a separate stream for each part that needs one.

#[cfg(test)]
mod tests;

/// The generator xoshiro256++ by Blackman and Vigna (2019), seeded through SplitMix64 as its
/// authors advise.
///
/// The same seed gives the same bits on every machine and in every version of the product.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut seed = seed;
        Random { state: std::array::from_fn(|_| split_mix(&mut seed)) }
    }

    /// Returns the stream of part `number` for `seed`; streams do not overlap in practice.
    pub fn part(seed: u64, number: u64) -> Random {
        let mut mixed = seed;
        let base = split_mix(&mut mixed);
        Random::new(base ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a uniform number in [0, 1), with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an exponential number with the given mean, by inversion.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.unit()).ln() * mean
    }

    /// Returns a normal number with mean 0 and variance 1, by Marsaglia's polar method.
    ///
    /// The second of its two values is discarded: keeping it would add state to the generator.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if 0.0 < square && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// Returns a uniform number in [0, bound), with negligible modulo bias (Lemire's
    /// multiplication).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(0 < bound, "the bound is above zero");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// Hashes a text to a seed (FNV-1a), so that an experiment without a seed still has one.
pub fn seed_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
