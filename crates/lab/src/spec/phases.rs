//! The parts of a trial's time.

use measure::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Written;

/// The parts of a trial's time.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Rest before the load, after a reset.
    #[serde(default = "nothing")]
    pub settle: Written<Nanos>,
    /// Load that is recorded but not counted.
    #[serde(default)]
    pub warm_up: WarmUp,
    /// The load that counts.
    #[serde(default)]
    pub measure: Measure,
    /// The longest time that the generator waits for outstanding requests.
    #[serde(default = "a_second")]
    pub drain: Written<Nanos>,
    /// Rest of the system between trials.
    #[serde(default, skip_serializing_if = "CoolDown::is_none")]
    pub cool_down: CoolDown,
}

/// The rest before a trial: `{trials: 10s, levels: 3min}`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoolDown {
    /// After the trial before.
    pub trials: Written<Nanos>,
    /// The same where the level changes: after the new level is deployed.
    pub levels: Written<Nanos>,
    /// The rest before each load until the system does nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_idle: Option<UntilIdle>,
}

/// The rest until the system is idle: `{below: 0.1, max: 10s}`, which is the default.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenUntilIdle")]
#[schemars(!try_from, deny_unknown_fields, default)]
pub struct UntilIdle {
    /// The CPUs that all components together use at most when they are idle.
    pub below: f64,
    /// The longest rest; 0 for none.
    pub max: Written<Nanos>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenUntilIdle {
    below: f64,
    max: Written<Nanos>,
}

impl Default for WrittenUntilIdle {
    fn default() -> WrittenUntilIdle {
        let UntilIdle { below, max } = UntilIdle::default();
        WrittenUntilIdle { below, max }
    }
}

impl Default for UntilIdle {
    fn default() -> UntilIdle {
        UntilIdle { below: 0.1, max: Written(Nanos::from_secs(10)) }
    }
}

impl TryFrom<WrittenUntilIdle> for UntilIdle {
    type Error = &'static str;
    fn try_from(WrittenUntilIdle { below, max }: WrittenUntilIdle) -> Result<Self, Self::Error> {
        match below.is_finite() && 0.0 < below {
            true => Ok(UntilIdle { below, max }),
            false => Err("`below` is a number of CPUs above 0; write for example below: 0.1"),
        }
    }
}

impl Default for CoolDown {
    fn default() -> CoolDown {
        CoolDown { trials: nothing(), levels: nothing(), until_idle: None }
    }
}

impl CoolDown {
    fn is_none(&self) -> bool {
        *self == CoolDown::default()
    }
}

impl Default for Phases {
    fn default() -> Phases {
        Phases {
            settle: nothing(),
            warm_up: WarmUp::default(),
            measure: Measure::default(),
            drain: a_second(),
            cool_down: CoolDown::default(),
        }
    }
}

/// The warm-up: a part of the measured load, or a load of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// The beginning of the measured load.
    #[serde(default = "a_second")]
    pub fixed: Written<Nanos>,
    /// A load of its own before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<UntilSteady>,
}

/// A load that ends once the system is steady: `{min: 10s, max: 60s}`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenUntilSteady")]
#[schemars(!try_from, deny_unknown_fields)]
pub struct UntilSteady {
    /// The shortest such load, at least 10 s.
    pub min: Written<Nanos>,
    /// The longest one; the measurement begins then all the same, with a warning.
    pub max: Written<Nanos>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenUntilSteady {
    min: Written<Nanos>,
    max: Written<Nanos>,
}

impl TryFrom<WrittenUntilSteady> for UntilSteady {
    type Error = &'static str;
    fn try_from(WrittenUntilSteady { min, max }: WrittenUntilSteady) -> Result<Self, Self::Error> {
        if *min < Nanos::from_secs(10) {
            return Err("less than 10 s cannot show a steady state; write for example min: 10s");
        }
        match *max < *min {
            true => Err("`max` is shorter than `min`; write for example {min: 10s, max: 60s}"),
            false => Ok(UntilSteady { min, max }),
        }
    }
}

impl Default for WarmUp {
    fn default() -> WarmUp {
        WarmUp { fixed: a_second(), until_steady: None }
    }
}

/// The measurement.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenMeasure")]
#[schemars(!try_from, deny_unknown_fields, default)]
pub struct Measure {
    /// The length of the measurement.
    #[schemars(with = "Option<Written<Nanos>>")]
    pub time: Written<Nanos>,
    /// The number of samples that must lie beyond the highest quantile of an SLO for it to be
    /// sound.
    #[schemars(with = "Option<u64>")]
    pub min_tail_samples: u64,
}

impl Default for Measure {
    fn default() -> Measure {
        Measure { time: Written(Nanos::from_secs(10)), min_tail_samples: 100 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMeasure {
    time: Option<Written<Nanos>>,
    min_tail_samples: Option<u64>,
}

impl TryFrom<WrittenMeasure> for Measure {
    type Error = &'static str;
    fn try_from(written: WrittenMeasure) -> Result<Measure, &'static str> {
        let default = Measure::default();
        let time = written.time.unwrap_or(default.time);
        let min_tail_samples = written.min_tail_samples.unwrap_or(default.min_tail_samples);
        match *time {
            Nanos::ZERO => Err("a measurement takes time; write for example time: 5s"),
            _ => Ok(Measure { time, min_tail_samples }),
        }
    }
}

fn nothing() -> Written<Nanos> {
    Written(Nanos::ZERO)
}

fn a_second() -> Written<Nanos> {
    Written(Nanos::SECOND)
}
