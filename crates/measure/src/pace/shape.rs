//! The change of a load's rate over time, and the exact inverse of its integral.
//!
//! Λ(t), the integral of the rate, is the number of requests until t. A process of unit rate is
//! stretched by Λ⁻¹: its i-th request, at operational time u, is intended at Λ⁻¹(u). There is no
//! thinning and no approximation by steps, so that every distribution keeps its properties on every
//! shape. Times here are durations since the load's start.

use std::f64::consts::TAU;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Nanos, Rate};

#[cfg(test)]
mod tests;

/// A rate over time: holds, ramps, spikes, sines and rests in sequence. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    parts: Arc<[Part]>,
    /// The warm-up, if it has not the rate of the first part.
    pub(super) warm_up: Option<WarmUp>,
}

/// A warm-up at a rate of its own, with a rest at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WarmUp {
    pub(super) rate: f64,
    pub(super) rest: Nanos,
}

/// A part of a shape that gets separate results.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Segment {
    /// Its text in the shape: `spike 20k/s 2s`.
    pub name: String,
    pub begin: Nanos,
    /// `None` if it has no end.
    pub end: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq)]
struct Part {
    name: String,
    curve: Curve,
    begin: Nanos,
    /// `None` if it has no end.
    length: Option<Nanos>,
    /// Λ at its begin and its end.
    before: f64,
    after: f64,
}

/// A curve; rates are per second, times in seconds since the part's begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Curve {
    Hold {
        rate: f64,
    },
    Ramp {
        from: f64,
        to: f64,
        length: f64,
    },
    /// Starts at its mean, halfway between the two rates, and rises.
    Sine {
        low: f64,
        high: f64,
        period: f64,
    },
    /// No request at all.
    Rest,
}

/// The longest shape, 104 days: a longer one could not be computed to the nanosecond.
pub(super) const LONGEST: Nanos = Nanos(1 << 53);
/// The precision in seconds of a sine's inverse: a quarter of the nanosecond it is rounded to.
const EXACT: f64 = 0.25e-9;
/// The maximum number of steps to invert a sine: Newton's method takes two or three, and bisection
/// alone would take 57 from 104 days to a nanosecond.
const MOST_STEPS: usize = 100;

impl Shape {
    /// Returns a shape with one rate and no end.
    pub fn constant(rate: Rate) -> Shape {
        let rate = rate.as_per_second();
        Shape::of([(format!("{rate}/s"), Curve::Hold { rate }, None)])
    }

    /// Returns a shape that holds the first rate for this long, and then continues with this shape.
    /// A list of paces has another rate and a rest in this time.
    pub fn after_warm_up(&self, warm_up: Nanos) -> Shape {
        let first = &self.parts[0];
        if warm_up == Nanos::ZERO || first.length.is_none() {
            return self.clone();
        }
        let usual = WarmUp { rate: first.curve.rate(0.0), rest: Nanos::ZERO };
        let WarmUp { rate, rest } = self.warm_up.unwrap_or(usual);
        let rest = rest.min(warm_up);
        let before = [(Curve::Hold { rate }, warm_up.saturating_sub(rest)), (Curve::Rest, rest)];
        let before = before.into_iter().filter(|(_, length)| Nanos::ZERO < *length);
        let before = before.map(|(curve, length)| ("warm-up".to_owned(), curve, Some(length)));
        let parts = self.parts.iter().map(|part| (part.name.clone(), part.curve, part.length));
        Shape::of(before.chain(parts))
    }

    /// Returns the rest at the end of the warm-up.
    pub fn rest_after_warm_up(&self) -> Nanos {
        self.warm_up.map_or(Nanos::ZERO, |warm_up| warm_up.rest)
    }

    pub(super) fn of(parts: impl IntoIterator<Item = (String, Curve, Option<Nanos>)>) -> Shape {
        let (mut begin, mut before) = (Nanos::ZERO, 0.0);
        let parts = parts.into_iter().map(|(name, curve, length)| {
            let count = length.map_or(f64::INFINITY, |length| curve.integral(length.as_secs_f64()));
            let part = Part { name, curve, begin, length, before, after: before + count };
            (begin, before) = (begin + length.unwrap_or_default(), part.after);
            part
        });
        Shape { parts: parts.collect(), warm_up: None }
    }

    /// Returns the duration; `None` if it has no end. No request is intended after its end.
    pub fn length(&self) -> Option<Nanos> {
        self.last().end()
    }

    /// Returns its parts in order; each begins at the end of the one before.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        self.parts.iter().map(|part| Segment {
            name: part.name.clone(),
            begin: part.begin,
            end: part.end(),
        })
    }

    /// Returns the rate at a time; where two parts meet, that of the later one. `None` in a rest and
    /// after the end.
    pub fn rate_at(&self, time: Nanos) -> Option<Rate> {
        let part = self.part_at(time)?;
        Rate::per_second(part.curve.rate(time.saturating_sub(part.begin).as_secs_f64()))
    }

    /// Returns the number of requests until a time.
    pub fn integral(&self, time: Nanos) -> f64 {
        match self.part_at(time) {
            Some(part) => {
                let time = time.saturating_sub(part.begin).as_secs_f64();
                part.before + part.curve.integral(time)
            }
            None => self.last().after,
        }
    }

    /// Returns the average rate between two times.
    pub fn mean_rate(&self, from: Nanos, to: Nanos) -> f64 {
        match self.parts[..] {
            // Not computed from counts, so that 5,000/s is exactly 5,000/s.
            [Part { curve: Curve::Hold { rate }, length: None, .. }] => rate,
            _ if to <= from => 0.0,
            _ => {
                (self.integral(to) - self.integral(from)) / (to.saturating_sub(from)).as_secs_f64()
            }
        }
    }

    /// Returns the highest rate that it reaches.
    pub fn highest_rate(&self) -> f64 {
        self.parts.iter().map(|part| part.curve.highest_rate()).fold(0.0, f64::max)
    }

    fn part_at(&self, time: Nanos) -> Option<&Part> {
        self.parts.iter().find(|part| part.end().is_none_or(|end| time < end))
    }

    fn last(&self) -> &Part {
        self.parts.last().expect("a shape has a part")
    }
}

impl Part {
    fn end(&self) -> Option<Nanos> {
        self.length.map(|length| self.begin + length)
    }
}

impl Curve {
    /// Returns the rate at a time. Zero only in a rest, even where rounding between very different
    /// rates would make it so.
    fn rate(self, time: f64) -> f64 {
        match self {
            Curve::Hold { rate } => rate,
            Curve::Ramp { from, to, length } => {
                (from + (to - from) * (time / length)).max(from.min(to))
            }
            Curve::Sine { low, high, period } => {
                let above = (high - low) / 2.0 * (TAU * (time / period)).sin();
                (low.midpoint(high) + above).max(low)
            }
            Curve::Rest => 0.0,
        }
    }

    fn highest_rate(self) -> f64 {
        match self {
            Curve::Hold { rate } => rate,
            Curve::Ramp { from, to, .. } => from.max(to),
            Curve::Sine { high, .. } => high,
            Curve::Rest => 0.0,
        }
    }

    fn integral(self, time: f64) -> f64 {
        match self {
            Curve::Hold { rate } => rate * time,
            Curve::Ramp { from, to, length } => {
                from * time + (to - from) / length * time * time / 2.0
            }
            Curve::Sine { low, high, period } => {
                let periods = (time / period).floor();
                let angle = TAU * (time / period - periods);
                let above = (high - low) / 2.0 * period / TAU * (1.0 - angle.cos());
                low.midpoint(high) * time + above
            }
            Curve::Rest => 0.0,
        }
    }

    /// Returns the time at which the integral is `count`; not before `earliest`, which must not be
    /// too late.
    fn inverse(self, count: f64, earliest: f64) -> f64 {
        match self {
            Curve::Hold { rate } => count / rate,
            Curve::Ramp { from, to, length } => {
                let slope = (to - from) / length;
                let rate_then = (from * from + 2.0 * slope * count).max(0.0).sqrt();
                // Not (rate_then − from) / slope, which is 0/0 on a flat ramp.
                2.0 * count / (from + rate_then)
            }
            Curve::Sine { low, high, period } => {
                // Whole periods are known; the rest lies within one.
                let in_period = low.midpoint(high) * period;
                let periods = (count / in_period).floor();
                let (count, begin) = (count - periods * in_period, periods * period);
                begin + self.solve(count, (earliest - begin).clamp(0.0, period), period)
            }
            Curve::Rest => unreachable!("no request is in a rest"),
        }
    }

    /// Returns the time in [low, high] at which the integral is `count`, by Newton's method, or by
    /// bisection where that would leave the interval.
    fn solve(self, count: f64, mut low: f64, mut high: f64) -> f64 {
        let mut time = low;
        for _ in 0..MOST_STEPS {
            let missing = count - self.integral(time);
            if 0.0 < missing {
                low = time;
            } else {
                high = time;
            }
            let next = time + missing / self.rate(time);
            if (next - time).abs() < EXACT || high - low < EXACT {
                return next.clamp(low, high);
            }
            time = if low < next && next < high { next } else { low.midpoint(high) };
        }
        time
    }
}

/// An iterator over a shape, driven by operational times that never decrease.
#[derive(Clone, Debug)]
pub struct Walk {
    shape: Shape,
    /// The index of the part that contained the last time.
    part: usize,
    /// The last time, in nanoseconds.
    reached: f64,
}

impl Walk {
    pub fn new(shape: Shape) -> Walk {
        Walk { shape, part: 0, reached: 0.0 }
    }

    /// Returns Λ⁻¹(u), to the nearest nanosecond; `None` after the shape's end. No time is earlier
    /// than the one before, even where the roundings of two parts meet.
    pub fn time(&mut self, u: f64) -> Option<Nanos> {
        loop {
            let part = self.shape.parts.get(self.part)?;
            if u < part.after {
                let begin = part.begin.0 as f64;
                let earliest = (self.reached - begin) / 1e9;
                let time = begin + part.curve.inverse(u - part.before, earliest) * 1e9;
                self.reached = time.max(self.reached);
                return Some(Nanos((self.reached + 0.5) as u64));
            }
            self.part += 1;
        }
    }
}

/// Parses `1k/s 30s, ->5k/s 60s, 5k/s 60s, spike 20k/s 2s, sine 2k/s..8k/s 1h 24h, rest 8s, 1k/s 30s`:
/// a hold, a ramp from the rate reached so far, a hold, a spike, a sine between two rates with its
/// period, a rest without requests, and a hold. A spike is a hold with a name of its own: a ramp after
/// it starts at its rate.
impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let (mut parts, mut reached, mut whole) = (Vec::new(), None, Nanos::ZERO);
        for (number, item) in (1..).zip(text.split(',')) {
            let words: Vec<&str> = item.split_whitespace().collect();
            let name = words.join(" ");
            let wrong = |why| format!("part {number} of the shape, `{name}`: {why}");
            let (curve, length) = part(&words, reached).map_err(wrong)?;
            whole += length;
            if LONGEST < whole {
                return Err(wrong("the shape becomes longer than 104 days; shorten it".to_owned()));
            }
            reached = Some(curve.rate(length.as_secs_f64())).filter(|rate| 0.0 < *rate);
            if number == 1 && reached.is_none() {
                return Err(wrong(
                    "a shape begins with requests; put the rest behind them".to_owned(),
                ));
            }
            parts.push((name, curve, Some(length)));
        }
        Ok(Shape::of(parts))
    }
}

fn part(words: &[&str], reached: Option<f64>) -> Result<(Curve, Nanos), String> {
    let ramp = |to: &str, length: &str| {
        let from = reached.ok_or_else(|| {
            format!(
                "a ramp starts at the rate before it; write for example `1/s 1s, ->{to} {length}`"
            )
        })?;
        let (to, length) = (rate(to)?, positive(length)?);
        Ok((Curve::Ramp { from, to, length: length.as_secs_f64() }, length))
    };
    match *words {
        ["->", to, length] => ramp(to, length),
        ["rest", length] => Ok((Curve::Rest, positive(length)?)),
        ["sine", range, period, length] => Ok((sine(range, period)?, positive(length)?)),
        ["spike", rate_then, length] => {
            Ok((Curve::Hold { rate: rate(rate_then)? }, positive(length)?))
        }
        [rate_then, length] => match rate_then.strip_prefix("->") {
            Some(to) => ramp(to, length),
            None => Ok((Curve::Hold { rate: rate(rate_then)? }, positive(length)?)),
        },
        _ => Err(
            "write a hold `1k/s 30s`, a ramp `->5k/s 60s`, a spike `spike 20k/s 2s`, a sine with \
                  its period and length `sine 2k/s..8k/s 1h 24h`, or a rest `rest 8s`"
                .to_owned(),
        ),
    }
}

fn sine(range: &str, period: &str) -> Result<Curve, String> {
    let wrong = || format!("`{range}` is not a valid range of rates; write for example 2k/s..8k/s");
    let (low, high) = range.split_once("..").ok_or_else(wrong)?;
    let (low, high) = (rate(low)?, rate(high)?);
    if high < low {
        return Err(format!("`{range}` is in the wrong order; write the lower rate first"));
    }
    Ok(Curve::Sine { low, high, period: positive(period)?.as_secs_f64() })
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<Rate>().map_err(|error| error.to_string())?;
    Ok(rate.as_per_second())
}

fn positive(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>().map_err(|error| error.to_string())? {
        Nanos::ZERO => Err(format!("`{text}` is not a time above zero; write for example 30s")),
        length => Ok(length),
    }
}
