//! The result of a run as YCSB prints it.

use std::io::{self, Write};

use measure::{Histogram, Nanos};

use crate::measurements::{
    Both, Buckets, Form, Measurements, Name, Named, Raw, Series, Status, Times,
};

#[cfg(test)]
mod tests;

/// The form of the output: the original's exporters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exporter {
    Text,
    /// One object after the other.
    Json,
    JsonArray,
}

/// The times that are printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interval {
    /// The service time.
    Operation,
    /// The response time, which counts from the intended start.
    Intended,
    Both,
}

/// The output of the measurements.
#[derive(Clone, Debug)]
pub struct Output {
    pub interval: Interval,
    /// Percentiles, from above 0 to 100.
    pub percentiles: Vec<f64>,
    /// Buckets are printed.
    pub has_buckets: bool,
    /// Raw data end with a summary.
    pub has_summary: bool,
    pub exporter: Exporter,
    /// The file of the result; `None` for standard output.
    pub file: Option<String>,
    /// The file of raw data; `None` for standard output.
    pub raw_file: Option<String>,
    /// The beginning of the names of the HdrHistogram logs, if these are written.
    pub hdr_prefix: Option<String>,
}

/// A figure with its names.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Such as `READ`.
    pub metric: String,
    /// Such as `Operations`.
    pub name: String,
    pub value: Number,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Whole(i64),
    Decimal(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Number {
        Number::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Returns all figures of a run, in their order.
pub fn lines(run_time: Nanos, measurements: &Measurements, output: &Output) -> Vec<Line> {
    let mut lines = Lines::default();
    lines.push("OVERALL", "RunTime(ms)", (run_time.0 / 1_000_000).into());
    let throughput = measurements.operations as f64 / run_time.as_secs_f64();
    if throughput.is_finite() {
        lines.push("OVERALL", "Throughput(ops/sec)", Number::Decimal(throughput));
    }
    for block in blocks(measurements, output.interval) {
        block.lines(measurements.form(), output, &mut lines);
    }
    lines.0
}

/// Writes the raw data of a run that began at this time, in milliseconds since 1970.
pub fn raw(
    start_ms: u64,
    measurements: &Measurements,
    output: &Output,
    out: &mut impl Write,
) -> io::Result<()> {
    for block in blocks(measurements, output.interval) {
        let Some(Raw { rows, .. }) = &block.times.raw else { continue };
        let name = block.part(measurements.form(), "Raw");
        writeln!(out, "{name} latency raw data: op, timestamp(ms), latency(us)")?;
        for (end_ms, micros) in rows {
            writeln!(out, "{name},{},{micros}", start_ms + end_ms)?;
        }
    }
    Ok(())
}

/// Returns the histograms of a run with the names of their files, in microseconds as the original has them.
pub fn histograms(measurements: &Measurements, output: &Output) -> Vec<(String, Histogram)> {
    let form = measurements.form();
    let has_file = matches!(form, Form::Hdr | Form::HdrAndBuckets | Form::HdrAndRaw);
    let blocks = blocks(measurements, output.interval).into_iter().filter(|_| has_file);
    blocks.map(|block| (block.part(form, "Hdr"), micros(block.times))).collect()
}

impl Exporter {
    pub fn text(self, lines: &[Line]) -> String {
        let object = |line: &Line| {
            let Line { metric, name, value } = line;
            let value = shown(*value);
            // No name has a character that JSON escapes.
            format!(
                "{{\n  \"metric\" : \"{metric}\",\n  \"measurement\" : \"{name}\",\n  \"value\" : {value}\n}}"
            )
        };
        match self {
            Exporter::Text => {
                let line = |Line { metric, name, value }: &Line| {
                    format!("[{metric}], {name}, {}\n", shown(*value))
                };
                lines.iter().map(line).collect()
            }
            Exporter::Json => {
                format!("{}\n", lines.iter().map(object).collect::<Vec<_>>().join(" "))
            }
            Exporter::JsonArray => {
                format!("[ {} ]\n", lines.iter().map(object).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A decimal has a point and never an exponent.
fn shown(number: Number) -> String {
    match number {
        Number::Whole(number) => number.to_string(),
        Number::Decimal(number) => {
            let text = number.to_string();
            let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            if is_whole { format!("{text}.0") } else { text }
        }
    }
}

/// The times that are printed under one name.
pub(crate) struct Block<'a> {
    pub(crate) name: String,
    pub(crate) times: &'a Times,
    /// The statuses of the operations, in the first block of their name.
    statuses: Option<&'a [u64; Status::ALL.len()]>,
}

/// Returns the blocks of the output in their order.
pub(crate) fn blocks(measurements: &Measurements, interval: Interval) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    if interval != Interval::Intended {
        for (name, named) in measurements.names() {
            push(&mut blocks, "", name, named, Interval::Operation);
        }
    }
    if interval != Interval::Operation {
        let prefix = if interval == Interval::Both { "Intended-" } else { "" };
        for (name, named) in measurements.names() {
            // The original does not say since when a verification was intended.
            if name != Name::Verify || interval == Interval::Intended {
                push(&mut blocks, prefix, name, named, Interval::Intended);
            }
        }
    }
    blocks
}

fn push<'a>(
    blocks: &mut Vec<Block<'a>>,
    prefix: &str,
    name: Name,
    named: &'a Named,
    which: Interval,
) {
    let times = |both: &'a Both| match which {
        Interval::Operation => &both.service,
        _ => &both.response,
    };
    let text = format!("{prefix}{}", name.text());
    let statuses = (prefix.is_empty() && name.has_statuses()).then_some(&named.statuses);
    // If all failed, their statuses have a block, and times have none.
    if statuses.is_some() || !times(&named.ok).histogram.is_empty() {
        blocks.push(Block { name: text.clone(), times: times(&named.ok), statuses });
    }
    for (failure, both) in &named.failed {
        let name = format!("{text}-{failure}");
        blocks.push(Block { name, times: times(both), statuses: None });
    }
}

#[derive(Default)]
struct Lines(Vec<Line>);

impl Lines {
    fn push(&mut self, metric: &str, name: &str, value: Number) {
        self.0.push(Line { metric: metric.to_owned(), name: name.to_owned(), value });
    }
}

impl Block<'_> {
    /// The name of one of two forms that are printed together.
    pub(crate) fn part(&self, form: Form, part: &str) -> String {
        match form {
            Form::HdrAndBuckets | Form::HdrAndRaw => format!("{part}{}", self.name),
            _ => self.name.clone(),
        }
    }

    fn lines(&self, form: Form, output: &Output, lines: &mut Lines) {
        match form {
            Form::Hdr | Form::HdrAndBuckets | Form::HdrAndRaw => {
                self.hdr(&self.part(form, "Hdr"), output, lines);
            }
            Form::Buckets | Form::Series | Form::Raw => {}
        }
        // Statuses are printed once, with the first of two forms.
        let is_first = form == Form::Buckets || form == Form::Raw;
        if let Some(buckets) = &self.times.buckets {
            self.buckets(&self.part(form, "Bucket"), buckets, is_first, output, lines);
        }
        if let Some(series) = &self.times.series {
            self.series(&self.name, series, lines);
        }
        if let Some(raw) = &self.times.raw {
            self.raw(&self.part(form, "Raw"), raw, is_first, output, lines);
        }
    }

    fn hdr(&self, name: &str, output: &Output, lines: &mut Lines) {
        self.summary(name, None, lines);
        for percentile in &output.percentiles {
            self.percentile(name, *percentile, lines);
        }
        self.statuses(name, lines);
        if output.has_buckets {
            for (micros, count) in micros(self.times).buckets() {
                lines.push(name, &micros.0.to_string(), Number::Decimal(count as f64));
            }
        }
    }

    fn buckets(
        &self,
        name: &str,
        buckets: &Buckets,
        is_first: bool,
        output: &Output,
        lines: &mut Lines,
    ) {
        let count = self.times.histogram.count();
        let mean = self.times.sum_us as f64 / count as f64;
        let variance = buckets.sum_of_squares / count as f64 - mean * mean;
        self.summary(name, Some(variance), lines);
        for percentile in [95, 99] {
            let mut sum = 0;
            let reached = buckets.counts.iter().position(|bucket| {
                sum += bucket;
                0 < count && f64::from(percentile) / 100.0 <= sum as f64 / count as f64
            });
            // The original prints none that is beyond the last bucket.
            if let Some(bucket) = reached {
                let label = format!("{percentile}thPercentileLatency(us)");
                lines.push(name, &label, (bucket as u64 * 1000).into());
            }
        }
        if is_first {
            self.statuses(name, lines);
        }
        if output.has_buckets {
            for (bucket, count) in buckets.counts.iter().enumerate() {
                lines.push(name, &bucket.to_string(), (*count).into());
            }
            lines.push(name, &format!(">{}", buckets.counts.len()), buckets.overflow.into());
        }
    }

    fn series(&self, name: &str, series: &Series, lines: &mut Lines) {
        self.summary(name, None, lines);
        for percentile in [95.0, 99.0] {
            self.percentile(name, percentile, lines);
        }
        self.statuses(name, lines);
        let step = series.granularity.0 / 1_000_000;
        for (begin, (count, sum)) in (0..).step_by(step as usize).zip(&series.points) {
            if 0 < *count {
                let begin: u64 = begin;
                lines.push(name, &begin.to_string(), Number::Decimal(*sum as f64 / *count as f64));
            }
        }
    }

    fn raw(&self, name: &str, raw: &Raw, is_first: bool, output: &Output, lines: &mut Lines) {
        let mut times: Vec<u64> = raw.rows.iter().map(|(_, micros)| *micros).collect();
        times.sort_unstable();
        lines.push(name, "Total Operations", (times.len() as u64).into());
        if let (Some(min), Some(max)) = (times.first(), times.last())
            && output.has_summary
        {
            // A title that the original prints as a figure.
            lines.push(name, "Below is a summary of latency in microseconds:", Number::Whole(-1));
            let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
            lines.push(name, "Average", Number::Decimal(mean));
            lines.push(name, "Min", (*min).into());
            lines.push(name, "Max", (*max).into());
            for (label, share) in [
                ("p1", 0.01),
                ("p5", 0.05),
                ("p50", 0.5),
                ("p90", 0.9),
                ("p95", 0.95),
                ("p99", 0.99),
                ("p99.9", 0.999),
                ("p99.99", 0.9999),
            ] {
                let place = (times.len() as f64 * share) as usize;
                lines.push(name, label, times[place].into());
            }
        }
        if is_first {
            self.statuses(name, lines);
        }
    }

    /// The number of operations and, if there are any, mean, variance, minimum and maximum.
    fn summary(&self, name: &str, variance: Option<f64>, lines: &mut Lines) {
        let histogram = &self.times.histogram;
        lines.push(name, "Operations", histogram.count().into());
        // Nothing was measured if all operations failed: the original prints zeros, which are no times.
        let Some(mean) = histogram.mean() else { return };
        let mean = match variance {
            None => mean.0 as f64 / 1000.0,
            Some(_) => self.times.sum_us as f64 / histogram.count() as f64,
        };
        lines.push(name, "AverageLatency(us)", Number::Decimal(mean));
        if let Some(variance) = variance {
            lines.push(name, "LatencyVariance(us)", Number::Decimal(variance));
        }
        lines.push(name, "MinLatency(us)", (self.times.min.0 / 1000).into());
        lines.push(name, "MaxLatency(us)", (self.times.max.0 / 1000).into());
    }

    fn percentile(&self, name: &str, percentile: f64, lines: &mut Lines) {
        if let Some(micros) = self.times.quantile_us(percentile / 100.0) {
            let label = format!("{}PercentileLatency(us)", ordinal(percentile));
            lines.push(name, &label, micros.into());
        }
    }

    fn statuses(&self, name: &str, lines: &mut Lines) {
        let Some(statuses) = self.statuses else { return };
        for (status, count) in Status::ALL.into_iter().zip(statuses) {
            if 0 < *count {
                lines.push(name, &format!("Return={}", status.text()), (*count).into());
            }
        }
    }
}

/// Returns `1st`, `2nd`, `11th` or, for what is not a whole number, the number alone.
fn ordinal(number: f64) -> String {
    if number.fract() != 0.0 {
        return shown(Number::Decimal(number));
    }
    let suffix = match (number as u64 % 100, number as u64 % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// Returns a histogram whose values are microseconds instead of nanoseconds.
fn micros(times: &Times) -> Histogram {
    let mut micros = Histogram::new();
    for (time, count) in times.histogram.buckets() {
        micros.record_n(Nanos(time.clamp(times.min, times.max).0 / 1000), count);
    }
    micros
}
