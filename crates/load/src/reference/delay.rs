//! How long the server takes to answer: the distributions that are known beforehand.

use std::str::FromStr;

use ::measure::{Instant, Nanos, Random};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    Fixed(Nanos),
    Exponential {
        mean: Nanos,
    },
    /// `slow` with the given probability, else `fast`.
    Bimodal {
        fast: Nanos,
        slow: Nanos,
        slow_share: f64,
    },
    /// Nothing is answered for `length` in the middle of each `period`, counted from the first
    /// request; else at once.
    Stalls {
        length: Nanos,
        period: Nanos,
    },
}

impl Delay {
    /// When a request is to be answered that arrived then; `origin` is the arrival of the one that
    /// was read first.
    pub(super) fn due(self, arrived: Instant, origin: Instant, random: &mut Random) -> Instant {
        match self {
            Delay::Fixed(delay) => arrived + delay,
            Delay::Exponential { mean } => {
                arrived + Nanos(random.exponential(mean.0 as f64) as u64)
            }
            Delay::Bimodal { slow, slow_share, .. } if random.unit() < slow_share => arrived + slow,
            Delay::Bimodal { fast, .. } => arrived + fast,
            Delay::Stalls { length, period } => {
                let place = arrived.saturating_since(origin).0 % period.0;
                let begin = (period.0 - length.0) / 2;
                let stall = begin..begin + length.0;
                if stall.contains(&place) { arrived + Nanos(stall.end - place) } else { arrived }
            }
        }
    }
}

/// Reads `0s`, `1ms`, `fixed:1ms`, `exponential:1ms`, `bimodal:1ms,10ms,5%`, `stall:1s/10s`.
impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        let wrong = || {
            format!(
                "`{text}` is no delay; write 1ms, exponential:1ms, bimodal:1ms,10ms,5% or \
                 stall:1s/10s"
            )
        };
        let length = |text: &str| text.trim().parse::<Nanos>().map_err(|_| wrong());
        match text.split_once(':').unwrap_or(("fixed", text)) {
            ("fixed", delay) => length(delay).map(Delay::Fixed),
            ("exponential", mean) => length(mean).map(|mean| Delay::Exponential { mean }),
            ("bimodal", parts) => {
                let parts: Vec<&str> = parts.split(',').collect();
                let [fast, slow, share] = parts[..] else { return Err(wrong()) };
                let percent: f64 = share
                    .trim()
                    .strip_suffix('%')
                    .and_then(|number| number.parse().ok())
                    .filter(|percent| (0.0..=100.0).contains(percent))
                    .ok_or_else(wrong)?;
                let slow_share = percent / 100.0;
                Ok(Delay::Bimodal { fast: length(fast)?, slow: length(slow)?, slow_share })
            }
            ("stall", parts) => {
                let (stall, period) = parts.split_once('/').ok_or_else(wrong)?;
                let (length, period) = (length(stall)?, length(period)?);
                if period <= length { Err(wrong()) } else { Ok(Delay::Stalls { length, period }) }
            }
            _ => Err(wrong()),
        }
    }
}
