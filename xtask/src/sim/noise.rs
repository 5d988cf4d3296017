//! The difference between trials of which nothing was changed.

use measure::Random;

/// A kind of noise over the trials of a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Noise {
    /// Independent.
    Iid,
    /// And 5 % up or down over the session, evenly.
    Drift,
    /// Each trial resembles the one before: autocorrelation 0.8.
    Ar,
    /// And 5 % up or down at one moment of the session.
    Step,
    /// And 6 % lower in two of five trials.
    Bimodal,
    /// And in one of twelve trials higher, by a fifth on average.
    Outlier,
}

pub(super) const ALL: [Noise; 6] =
    [Noise::Iid, Noise::Drift, Noise::Ar, Noise::Step, Noise::Bimodal, Noise::Outlier];

impl Noise {
    pub(super) fn name(self) -> &'static str {
        match self {
            Noise::Iid => "independent",
            Noise::Drift => "drift",
            Noise::Ar => "AR(1)",
            Noise::Step => "step",
            Noise::Bimodal => "bimodal",
            Noise::Outlier => "outliers",
        }
    }

    /// Returns the logarithms of a figure over the trials, in the order of time.
    pub(super) fn trials(self, count: usize, sd: f64, random: &mut Random) -> Vec<f64> {
        let session = count.saturating_sub(1).max(1) as f64;
        let sign = if random.unit() < 0.5 { -1.0 } else { 1.0 };
        let moment = random.below(count as u64) as usize;
        let mut before = sd * random.normal();
        let trial = |index| {
            let own = sd * random.normal();
            match self {
                Noise::Iid => own,
                Noise::Drift => own + sign * 0.05 * index as f64 / session,
                Noise::Ar => {
                    before = 0.8 * before + 0.6 * own;
                    before
                }
                Noise::Step => own + if moment <= index { sign * 0.05 } else { 0.0 },
                Noise::Bimodal => own - if random.unit() < 0.4 { 0.06 } else { 0.0 },
                Noise::Outlier if random.unit() < 0.08 => own + random.exponential(0.2),
                Noise::Outlier => own,
            }
        };
        (0..count).map(trial).collect()
    }
}
