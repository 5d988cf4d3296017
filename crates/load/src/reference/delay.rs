//! The distributions of the server's response delay.

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
    /// No response for `length` in the middle of each `period`, counted from the first request;
    /// otherwise immediate responses.
    Stalls {
        length: Nanos,
        period: Nanos,
    },
}

impl Delay {
    /// Returns the due time of the response to a request that arrived at `arrived`; `origin` is the
    /// arrival time of the first request.
    pub(super) fn due(self, arrived: Instant, origin: Instant, random: &mut Random) -> Instant {
        match self {
            Delay::Fixed(delay) => arrived + delay,
            Delay::Exponential { mean } => {
                arrived + Nanos(random.exponential(mean.0 as f64) as u64)
            }
            Delay::Bimodal { slow, slow_share, .. } if random.unit() < slow_share => arrived + slow,
            Delay::Bimodal { fast, .. } => arrived + fast,
            Delay::Stalls { length, period } => {
                let position = arrived.saturating_since(origin).0 % period.0;
                let begin = (period.0 - length.0) / 2;
                let stall = begin..begin + length.0;
                if stall.contains(&position) {
                    arrived + Nanos(stall.end - position)
                } else {
                    arrived
                }
            }
        }
    }
}

/// Parses `0s`, `1ms`, `fixed:1ms`, `exponential:1ms`, `bimodal:1ms,10ms,5%`, `stall:1s/10s`.
impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        let wrong = || {
            format!(
                "`{text}` is not a valid delay; write 1ms, exponential:1ms, bimodal:1ms,10ms,5% or \
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
