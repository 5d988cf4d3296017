//! The times and statuses of the operations of a run, in the forms that YCSB can print.
//!
//! Every operation has two times: the service time, from its sending to its answer, and the response time, which counts
//! from its intended start. Each shard has measurements of its own, which are added up.

use measure::{Histogram, Nanos, Quantile};

use crate::workload::Kind;

#[cfg(test)]
pub(crate) mod tests;

/// The names under which operations are printed, in this order.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Name {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
    /// The comparison of what a read returned, with `dataintegrity`.
    Verify,
    /// The closing of a connection.
    Cleanup,
}

impl Name {
    pub const ALL: [Name; 7] = [
        Name::Read,
        Name::Update,
        Name::Insert,
        Name::Scan,
        Name::ReadModifyWrite,
        Name::Verify,
        Name::Cleanup,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Name::Read => "READ",
            Name::Update => "UPDATE",
            Name::Insert => "INSERT",
            Name::Scan => "SCAN",
            Name::ReadModifyWrite => "READ-MODIFY-WRITE",
            Name::Verify => "VERIFY",
            Name::Cleanup => "CLEANUP",
        }
    }

    /// Returns true if the original counts the statuses of these operations.
    pub(crate) fn has_statuses(self) -> bool {
        !matches!(self, Name::ReadModifyWrite | Name::Cleanup)
    }
}

impl From<Kind> for Name {
    fn from(kind: Kind) -> Name {
        match kind {
            Kind::Read => Name::Read,
            Kind::Update => Name::Update,
            Kind::Insert => Name::Insert,
            Kind::Scan => Name::Scan,
            Kind::ReadModifyWrite => Name::ReadModifyWrite,
        }
    }
}

/// The result of an operation, as YCSB calls it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Status {
    Ok,
    Error,
    NotFound,
    NotImplemented,
    UnexpectedState,
    BadRequest,
    Forbidden,
    ServiceUnavailable,
    BatchedOk,
}

impl Status {
    pub const ALL: [Status; 9] = [
        Status::Ok,
        Status::Error,
        Status::NotFound,
        Status::NotImplemented,
        Status::UnexpectedState,
        Status::BadRequest,
        Status::Forbidden,
        Status::ServiceUnavailable,
        Status::BatchedOk,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::Error => "ERROR",
            Status::NotFound => "NOT_FOUND",
            Status::NotImplemented => "NOT_IMPLEMENTED",
            Status::UnexpectedState => "UNEXPECTED_STATE",
            Status::BadRequest => "BAD_REQUEST",
            Status::Forbidden => "FORBIDDEN",
            Status::ServiceUnavailable => "SERVICE_UNAVAILABLE",
            Status::BatchedOk => "BATCHED_OK",
        }
    }

    pub fn is_ok(self) -> bool {
        matches!(self, Status::Ok | Status::BatchedOk)
    }
}

/// The form of the measurements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    Hdr,
    Buckets,
    HdrAndBuckets,
    HdrAndRaw,
    Series,
    Raw,
}

/// The terms under which operations are measured.
#[derive(Clone, Debug)]
pub struct Terms {
    pub form: Form,
    /// The number of buckets of a millisecond.
    pub buckets: u32,
    /// The length of an interval of a time series.
    pub granularity: Nanos,
    /// The statuses whose operations are measured separately when they fail.
    pub tracked: [bool; Status::ALL.len()],
}

/// The times of the operations of a name, all in one way. The histogram is always there.
#[derive(Clone, Debug)]
pub struct Times {
    pub(crate) histogram: Histogram,
    /// The shortest and the longest time, exactly: a histogram rounds them.
    pub(crate) min: Nanos,
    pub(crate) max: Nanos,
    /// Microseconds, whole ones as in the original.
    pub(crate) sum_us: u64,
    pub(crate) buckets: Option<Buckets>,
    pub(crate) series: Option<Series>,
    pub(crate) raw: Option<Raw>,
}

/// Counts in buckets of a millisecond.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    pub(crate) counts: Vec<u64>,
    pub(crate) overflow: u64,
    pub(crate) sum_of_squares: f64,
}

/// Counts and sums of the intervals from the start of the run on.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) granularity: Nanos,
    pub(crate) points: Vec<(u64, u64)>,
    pub(crate) lost: u64,
}

/// Every operation with its end, in milliseconds since the start of the run, and its time in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) rows: Vec<(u64, u64)>,
    pub(crate) lost: u64,
}

/// The most intervals of a time series, and the most rows of raw data. What comes later is counted as lost.
const MOST_POINTS: usize = 1 << 20;
const MOST_ROWS: usize = 1 << 24;

impl Times {
    fn new(terms: &Terms) -> Times {
        let Terms { form, buckets, granularity, .. } = *terms;
        let is = |forms: &[Form]| forms.contains(&form);
        Times {
            histogram: Histogram::new(),
            min: Nanos(u64::MAX),
            max: Nanos::ZERO,
            sum_us: 0,
            buckets: is(&[Form::Buckets, Form::HdrAndBuckets]).then(|| Buckets {
                counts: vec![0; buckets as usize],
                overflow: 0,
                sum_of_squares: 0.0,
            }),
            series: is(&[Form::Series]).then(|| Series { granularity, points: vec![], lost: 0 }),
            raw: is(&[Form::Raw, Form::HdrAndRaw]).then(|| Raw { rows: vec![], lost: 0 }),
        }
    }

    #[inline]
    fn record(&mut self, end: Nanos, time: Nanos) {
        let micros = time.0 / 1000;
        self.histogram.record(time);
        (self.min, self.max) = (self.min.min(time), self.max.max(time));
        self.sum_us += micros;
        if let Some(Buckets { counts, overflow, sum_of_squares }) = &mut self.buckets {
            *counts.get_mut((micros / 1000) as usize).unwrap_or(overflow) += 1;
            *sum_of_squares += micros as f64 * micros as f64;
        }
        if let Some(Series { granularity, points, lost }) = &mut self.series {
            let place = (end.0 / granularity.0) as usize;
            if points.len() <= place && place < MOST_POINTS {
                points.resize(place + 1, (0, 0));
            }
            match points.get_mut(place) {
                Some((count, sum)) => (*count, *sum) = (*count + 1, *sum + micros),
                None => *lost += 1,
            }
        }
        if let Some(Raw { rows, lost }) = &mut self.raw {
            match rows.len() < MOST_ROWS {
                true => rows.push((end.0 / 1_000_000, micros)),
                false => *lost += 1,
            }
        }
    }

    fn add(&mut self, other: &Times) {
        self.histogram.add(&other.histogram);
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        self.sum_us += other.sum_us;
        if let (Some(mine), Some(other)) = (&mut self.buckets, &other.buckets) {
            mine.counts.iter_mut().zip(&other.counts).for_each(|(mine, other)| *mine += other);
            mine.overflow += other.overflow;
            mine.sum_of_squares += other.sum_of_squares;
        }
        if let (Some(mine), Some(other)) = (&mut self.series, &other.series) {
            mine.points.resize(mine.points.len().max(other.points.len()), (0, 0));
            for (mine, other) in mine.points.iter_mut().zip(&other.points) {
                *mine = (mine.0 + other.0, mine.1 + other.1);
            }
            mine.lost += other.lost;
        }
        if let (Some(mine), Some(other)) = (&mut self.raw, &other.raw) {
            let room = (MOST_ROWS - mine.rows.len()).min(other.rows.len());
            mine.rows.extend_from_slice(&other.rows[..room]);
            mine.rows.sort_by_key(|(end, _)| *end);
            mine.lost += other.lost + (other.rows.len() - room) as u64;
        }
    }

    fn lost(&self) -> u64 {
        let series = self.series.as_ref().map_or(0, |series| series.lost);
        series + self.raw.as_ref().map_or(0, |raw| raw.lost)
    }

    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Returns the shortest and the longest time, exactly; `None` if nothing was recorded.
    pub fn ends(&self) -> Option<(Nanos, Nanos)> {
        (!self.histogram.is_empty()).then_some((self.min, self.max))
    }

    /// Returns a quantile in whole microseconds; `None` if nothing was recorded.
    pub(crate) fn quantile_us(&self, level: f64) -> Option<u64> {
        let time = self.histogram.quantile(Quantile::new(level)?)?;
        Some(time.clamp(self.min, self.max).0 / 1000)
    }
}

/// Both times of some operations.
#[derive(Clone, Debug)]
pub struct Both {
    pub service: Times,
    pub response: Times,
}

impl Both {
    fn new(terms: &Terms) -> Both {
        Both { service: Times::new(terms), response: Times::new(terms) }
    }
}

/// The measurements of the operations of one name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Those that ended as hoped.
    pub ok: Both,
    /// Those that failed, by the name of their measurements: `FAILED`, or the status if it is tracked.
    pub failed: Vec<(&'static str, Both)>,
    pub statuses: [u64; Status::ALL.len()],
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub name: Name,
    pub status: Status,
    /// Its end, since the start of the run.
    pub end: Nanos,
    pub service: Nanos,
    pub response: Nanos,
}

/// The measurements of a run, or of one shard of it.
#[derive(Clone, Debug)]
pub struct Measurements {
    terms: Terms,
    names: [Option<Box<Named>>; Name::ALL.len()],
    /// The operations that were asked for and have ended; a read-modify-write is one.
    pub operations: u64,
}

impl Measurements {
    pub fn new(terms: Terms) -> Measurements {
        Measurements { terms, names: Default::default(), operations: 0 }
    }

    pub fn form(&self) -> Form {
        self.terms.form
    }

    /// Records an operation that has ended. Memory is taken for the first one of a name and of a way to fail.
    #[inline]
    pub fn record(&mut self, ended: &Ended) {
        let Ended { name, status, end, service, response } = *ended;
        let terms = &self.terms;
        let named = Measurements::named(&mut self.names, terms, name);
        if name.has_statuses() {
            named.statuses[status as usize] += 1;
        }
        // What a verification found is its status, and no failure of it.
        let both = match status.is_ok() || !name.has_statuses() || name == Name::Verify {
            true => &mut named.ok,
            false => {
                let failure = if terms.tracked[status as usize] { status.text() } else { "FAILED" };
                Measurements::failure(&mut named.failed, terms, failure)
            }
        };
        both.service.record(end, service);
        both.response.record(end, response);
    }

    /// Adds the measurements of another shard, which have the same terms.
    pub fn add(&mut self, other: &Measurements) {
        self.operations += other.operations;
        for (name, theirs) in Name::ALL.into_iter().zip(&other.names) {
            let Some(theirs) = theirs else { continue };
            let mine = Measurements::named(&mut self.names, &self.terms, name);
            for (mine, theirs) in mine.statuses.iter_mut().zip(theirs.statuses) {
                *mine += theirs;
            }
            let add = |mine: &mut Both, theirs: &Both| {
                mine.service.add(&theirs.service);
                mine.response.add(&theirs.response);
            };
            add(&mut mine.ok, &theirs.ok);
            for (failure, theirs) in &theirs.failed {
                add(Measurements::failure(&mut mine.failed, &self.terms, failure), theirs);
            }
        }
    }

    /// Returns the names that have measurements, in the order in which they are printed.
    pub fn names(&self) -> impl Iterator<Item = (Name, &Named)> {
        Name::ALL
            .into_iter()
            .zip(&self.names)
            .filter_map(|(name, named)| Some((name, named.as_deref()?)))
    }

    /// Returns the number of statuses that are failures.
    pub fn failed(&self) -> u64 {
        let failures = Status::ALL.into_iter().filter(|status| !status.is_ok());
        let failed = |named: &Named| {
            failures.clone().map(|status| named.statuses[status as usize]).sum::<u64>()
        };
        self.names().map(|(_, named)| failed(named)).sum()
    }

    /// Returns the number of operations that have no place in a time series or in raw data.
    pub fn lost(&self) -> u64 {
        let both = |named: &Named| {
            named.ok.service.lost()
                + named.failed.iter().map(|(_, both)| both.service.lost()).sum::<u64>()
        };
        self.names().map(|(_, named)| both(named)).sum()
    }

    fn named<'a>(names: &'a mut [Option<Box<Named>>], terms: &Terms, name: Name) -> &'a mut Named {
        names[name as usize].get_or_insert_with(|| {
            Box::new(Named { ok: Both::new(terms), failed: vec![], statuses: Default::default() })
        })
    }

    fn failure<'a>(
        failed: &'a mut Vec<(&'static str, Both)>,
        terms: &Terms,
        failure: &'static str,
    ) -> &'a mut Both {
        let place = failed.iter().position(|(name, _)| *name == failure).unwrap_or_else(|| {
            failed.push((failure, Both::new(terms)));
            failed.len() - 1
        });
        &mut failed[place].1
    }
}
