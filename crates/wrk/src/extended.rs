//! The numbers that the originals print: C's `long double` on x86-64, with 64 bits of mantissa.
//!
//! The originals divide microseconds by 1,000 and print two decimals. 1.015 is not a binary
//! fraction, so the width of the mantissa decides whether 1,015 µs reads `1.01ms` or `1.02ms`, and
//! the widths of `f64` and `long double` disagree in half of such cases.

use std::ops::{Div, Mul};

#[cfg(test)]
mod tests;

/// A number from zero up: mantissa · 2^exponent.
///
/// The derived order is right: the mantissa's top bit is set, and zero has the lowest exponent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Extended {
    exponent: i32,
    mantissa: u64,
}

impl Extended {
    pub const ZERO: Extended = Extended { exponent: i32::MIN, mantissa: 0 };

    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        match self.mantissa {
            0 => 0.0,
            mantissa => mantissa as f64 * 2f64.powi(self.exponent),
        }
    }

    /// Formats the number as C's `%.*Lf` does: exactly, and a tie goes to the even digit.
    pub fn fixed(self, decimals: u32) -> String {
        let ten = 10u128.pow(decimals);
        let Some(scaled) = self.times_rounded(ten) else {
            return format!("{:.*}", decimals as usize, self.to_f64());
        };
        match decimals {
            0 => scaled.to_string(),
            _ => format!("{}.{:0>width$}", scaled / ten, scaled % ten, width = decimals as usize),
        }
    }

    /// The integer nearest to this number times `factor`; `None` if it is too large for us.
    fn times_rounded(self, factor: u128) -> Option<u128> {
        let product = u128::from(self.mantissa).checked_mul(factor)?;
        match self.exponent {
            _ if product == 0 => Some(0),
            0.. => {
                let shift = self.exponent.unsigned_abs();
                (shift <= product.leading_zeros()).then(|| product << shift)
            }
            _ => Some(shifted(product, self.exponent.unsigned_abs(), Rest::Nothing)),
        }
    }
}

impl From<u64> for Extended {
    fn from(integer: u64) -> Extended {
        rounded(u128::from(integer), 0, Rest::Nothing)
    }
}

/// Converts exactly. Negative and non-finite values become zero: empty statistics print `0.00`.
impl From<f64> for Extended {
    fn from(x: f64) -> Extended {
        if !x.is_finite() || x <= 0.0 {
            return Extended::ZERO;
        }
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        match exponent {
            0 => rounded(u128::from(fraction), -1074, Rest::Nothing),
            _ => rounded(u128::from(fraction | 1 << 52), exponent - 1075, Rest::Nothing),
        }
    }
}

impl Mul for Extended {
    type Output = Extended;
    fn mul(self, other: Extended) -> Extended {
        let product = u128::from(self.mantissa) * u128::from(other.mantissa);
        rounded(product, self.exponent.saturating_add(other.exponent), Rest::Nothing)
    }
}

/// Divides; a quotient by zero is zero, for empty statistics.
impl Div for Extended {
    type Output = Extended;
    fn div(self, other: Extended) -> Extended {
        if self.mantissa == 0 || other.mantissa == 0 {
            return Extended::ZERO;
        }
        let divisor = u128::from(other.mantissa);
        let dividend = u128::from(self.mantissa) << 64;
        // One bit more than the mantissa may need, and whether the rest below it is zero.
        let twice = dividend % divisor * 2;
        let quotient = dividend / divisor * 2 + u128::from(divisor <= twice);
        let rest = if twice % divisor == 0 { Rest::Nothing } else { Rest::Something };
        rounded(quotient, self.exponent - other.exponent - 65, rest)
    }
}

/// The part below the lowest bit of a mantissa.
#[derive(Clone, Copy, PartialEq)]
enum Rest {
    Nothing,
    Something,
}

/// The nearest number with 64 bits of mantissa; `rest` is the part below a longer mantissa.
fn rounded(mantissa: u128, exponent: i32, rest: Rest) -> Extended {
    let bits = 128 - mantissa.leading_zeros() as i32;
    if bits == 0 {
        return Extended::ZERO;
    }
    let excess = bits - 64;
    let short = match excess {
        ..=0 => mantissa << excess.unsigned_abs(),
        _ => shifted(mantissa, excess.unsigned_abs(), rest),
    };
    match u64::try_from(short) {
        Ok(mantissa) => Extended { mantissa, exponent: exponent + excess },
        // It was rounded up to the next power of two.
        Err(_) => Extended { mantissa: 1 << 63, exponent: exponent + excess + 1 },
    }
}

/// Shifts `x` right and rounds to the nearest integer, ties to the even one.
fn shifted(x: u128, bits: u32, rest: Rest) -> u128 {
    if 127 < bits {
        return 0;
    }
    let (kept, lost) = (x >> bits, x & ((1 << bits) - 1));
    let half = 1 << (bits - 1);
    let is_more = half < lost || lost == half && (rest == Rest::Something || kept % 2 == 1);
    kept + u128::from(is_more)
}
