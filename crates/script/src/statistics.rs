//! The arguments of `done`: figures of a run, as wrk and wrk2 present them.

use mlua::{IntoLua, Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods, Value};

use crate::stage::Compatibility;

#[cfg(test)]
mod tests;

/// The results of a run, or of one target in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    pub summary: Summary,
    /// The latencies in microseconds.
    pub latency: Distribution,
    /// The requests per second of each script thread.
    pub requests: Distribution,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Summary {
    pub duration_us: u64,
    pub requests: u64,
    /// The number of received bytes.
    pub bytes: u64,
    pub errors: Errors,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Errors {
    pub connect: u64,
    pub read: u64,
    pub write: u64,
    /// The number of answers with a status above 399.
    pub status: u64,
    pub timeout: u64,
}

/// The distinct values of samples, and summary figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Each value that occurs, with its count, ascending.
    pub values: Vec<(f64, u64)>,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub stdev: f64,
}

impl Summary {
    pub(crate) fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let Errors { connect, read, write, status, timeout } = self.errors;
        let errors = [
            ("connect", connect),
            ("read", read),
            ("write", write),
            ("status", status),
            ("timeout", timeout),
        ];
        let summary = lua.create_table()?;
        summary.set("duration", self.duration_us)?;
        summary.set("requests", self.requests)?;
        summary.set("bytes", self.bytes)?;
        summary.set("errors", lua.create_table_from(errors)?)?;
        Ok(summary)
    }
}

/// A distribution as scripts see it.
#[derive(Debug)]
pub(crate) struct Statistics {
    of: Distribution,
    /// For each value, the number of samples that are not above it.
    ranks: Vec<u64>,
    compatibility: Compatibility,
}

impl Statistics {
    pub(crate) fn new(of: Distribution, compatibility: Compatibility) -> Statistics {
        let running = |sum: &mut u64, &(_, count): &(f64, u64)| {
            *sum += count;
            Some(*sum)
        };
        let ranks = of.values.iter().scan(0, running).collect();
        Statistics { of, ranks, compatibility }
    }

    fn samples(&self) -> u64 {
        self.ranks.last().copied().unwrap_or(0)
    }

    /// The `rank`-th of all samples in order (from 1); a rank outside gives the nearest one inside.
    fn at_rank(&self, rank: u64) -> f64 {
        let place = self.ranks.partition_point(|&below| below < rank);
        let nearest = self.of.values.get(place).or(self.of.values.last());
        nearest.map_or(0.0, |&(value, _)| value)
    }

    /// The percentile, rounded to a rank as the mode's own histogram does.
    fn percentile(&self, percent: f64) -> f64 {
        let rank = percent.clamp(0.0, 100.0) / 100.0 * self.samples() as f64 + 0.5;
        self.at_rank(match self.compatibility {
            Compatibility::Wrk => rank.round() as u64,
            Compatibility::Native | Compatibility::Wrk2 | Compatibility::Dsb => rank as u64,
        })
    }

    /// The `place`-th of all distinct values (from 1), and its count; zeros outside.
    fn distinct(&self, place: f64) -> (f64, u64) {
        let index = (place as u64).checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.of.values.get(index)).copied().unwrap_or((0.0, 0))
    }

    fn length(&self) -> u64 {
        match self.compatibility {
            Compatibility::Wrk => self.of.values.len() as u64,
            Compatibility::Native | Compatibility::Wrk2 | Compatibility::Dsb => self.samples(),
        }
    }
}

impl UserData for Statistics {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, this| Ok(this.of.min));
        fields.add_field_method_get("max", |_, this| Ok(this.of.max));
        fields.add_field_method_get("mean", |_, this| Ok(this.of.mean));
        fields.add_field_method_get("stdev", |_, this| Ok(this.of.stdev));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, this, percent: f64| Ok(this.percentile(percent)));
        methods.add_meta_method(MetaMethod::Call, |_, this, place: f64| Ok(this.distinct(place)));
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.length()));
        methods.add_meta_method(MetaMethod::Index, |lua, this, index: Value| {
            let rank = match index {
                Value::Integer(rank) => rank.max(0) as u64,
                Value::Number(rank) => rank as u64,
                _ => return Ok(Value::Nil),
            };
            this.at_rank(rank).into_lua(lua)
        });
    }
}
