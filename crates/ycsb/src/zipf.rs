//! The ranks of YCSB's Zipf distribution, by the algorithm of Gray et al. (1994), and its zeta function.

#[cfg(test)]
mod tests;

/// The number of draws that are made together, so that the processor works on several at a time.
pub const BLOCK: usize = 64;

/// The exponent of all of YCSB's Zipf distributions.
pub const THETA: f64 = 0.99;

/// Draws ranks from 0, the most frequent, to below the number of items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    items: u64,
    zeta: f64,
    alpha: f64,
    eta: f64,
    /// The weight of rank 1: 0.5 to the power of the exponent.
    half: f64,
}

/// The ranks that requests with the distribution `zipfian` hash. YCSB computed ζ once for 10^10 items, and draws from
/// one more.
pub const SCRAMBLED: Zipf = Zipf {
    items: 10_000_000_001,
    zeta: 26.469_028_201_783_02,
    alpha: ALPHA,
    eta: 0.212_200_033_809_674_06,
    half: 0.503_477_775_028_359_4,
};

impl Zipf {
    /// # Panics
    /// If there are no items.
    pub fn new(items: u64, zeta: &Zeta) -> Zipf {
        assert!(0 < items, "a rank belongs to an item");
        let theta = zeta.theta;
        let (zeta_2, zeta) = (zeta.of(2), zeta.of(items));
        let eta = (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta);
        Zipf { items, zeta, alpha: 1.0 / (1.0 - theta), eta, half: 0.5_f64.powf(theta) }
    }

    pub fn items(&self) -> u64 {
        self.items
    }

    /// Returns the rank that belongs to a uniform number in [0, 1).
    #[inline]
    pub fn rank(&self, u: f64) -> u64 {
        let uz = u * self.zeta;
        if uz < 1.0 {
            return 0;
        }
        if uz < 1.0 + self.half {
            return 1;
        }
        let rank = self.items as f64 * self.power(self.eta * u - self.eta + 1.0);
        // The original can return the number of items here, which is no rank.
        (rank as u64).min(self.items - 1)
    }
}

impl Zipf {
    /// Returns the ranks that belong to uniform numbers, the same as one at a time.
    #[inline]
    pub fn ranks(&self, uniform: &[f64; BLOCK]) -> [u64; BLOCK] {
        /// From here on, numbers of 64 bits have no fraction: adding it rounds.
        const WHOLE: f64 = (1_u64 << 52) as f64;
        if self.alpha != ALPHA || WHOLE <= self.items as f64 {
            return uniform.map(|u| self.rank(u));
        }
        let last = (self.items - 1) as f64;
        uniform.map(|u| {
            // Without a branch and without a conversion of the processor's, of which it makes one at a time.
            let rank = self.items as f64 * self.power(self.eta * u - self.eta + 1.0);
            let rounded = (rank + WHOLE) - WHOLE;
            let floor = if rank < rounded { rounded - 1.0 } else { rounded };
            let floor = if last < floor { last } else { floor };
            let uz = u * self.zeta;
            let floor = if uz < 1.0 + self.half { 1.0 } else { floor };
            let floor = if uz < 1.0 { 0.0 } else { floor };
            (floor + WHOLE).to_bits() & ((1 << 52) - 1)
        })
    }
}

/// The exponent of the power for YCSB's own distributions, 100 but for the rounding of 1 − 0.99.
const ALPHA: f64 = 99.999_999_999_999_91;

impl Zipf {
    /// Returns `base` to the power of alpha.
    #[inline]
    fn power(&self, base: f64) -> f64 {
        if self.alpha != ALPHA {
            return base.powf(self.alpha);
        }
        // Multiplications are cheaper than `powf`, and change about one rank in a million, by 1.
        let square = base * base;
        let to_4 = square * square;
        let to_8 = to_4 * to_4;
        let to_16 = to_8 * to_8;
        let to_32 = to_16 * to_16;
        to_32 * to_32 * to_32 * to_4
    }
}

/// The generalized harmonic numbers ζ(n) = Σ i^−θ for i from 1 to n.
///
/// The first terms are added; the rest follows from the Euler–Maclaurin formula, so that a ζ of any size takes the same
/// time.
#[derive(Clone, Debug)]
pub struct Zeta {
    theta: f64,
    /// ζ of 0, 1, … up to the last that is added term by term.
    head: [f64; Zeta::HEAD + 1],
}

impl Zeta {
    const HEAD: usize = 32;

    pub fn new(theta: f64) -> Zeta {
        let mut head = [0.0; Zeta::HEAD + 1];
        for i in 1..head.len() {
            head[i] = head[i - 1] + (i as f64).powf(-theta);
        }
        Zeta { theta, head }
    }

    pub fn of(&self, n: u64) -> f64 {
        if n <= Zeta::HEAD as u64 {
            return self.head[n as usize];
        }
        let theta = self.theta;
        let (from, to) = (Zeta::HEAD as f64, n as f64);
        // ∫ x^−θ dx, without the difference of two numbers of the same size.
        let rest = 1.0 - theta;
        let integral = from.powf(rest) * (rest * (to / from).ln()).exp_m1() / rest;
        self.head[Zeta::HEAD] + integral + self.correction(to) - self.correction(from)
    }

    /// The terms of the Euler–Maclaurin formula at one end. The first that is left out is below 10^−14 at 32.
    fn correction(&self, x: f64) -> f64 {
        let theta = self.theta;
        let first = theta;
        let third = first * (theta + 1.0) * (theta + 2.0);
        let fifth = third * (theta + 3.0) * (theta + 4.0);
        let square = x * x;
        x.powf(-theta)
            * (0.5 - (first / 12.0 - (third / 720.0 - fifth / 30240.0 / square) / square) / x)
    }
}

impl Default for Zeta {
    /// YCSB's own.
    fn default() -> Zeta {
        Zeta::new(THETA)
    }
}
