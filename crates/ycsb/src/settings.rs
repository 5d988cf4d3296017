//! The properties of the run itself, of its measurements and of their output.

use measure::{Nanos, Quantile};

use crate::export::{Exporter, Interval, Output};
use crate::measurements::{Form, Status, Terms};
use crate::properties::{CORE, Place, Properties, Value, Wrong};
use crate::workload::Workload;

#[cfg(test)]
mod tests;

/// The phase of YCSB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    Load,
    Run,
}

/// The inserts of a load that fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retries {
    pub limit: u32,
    /// The mean wait before the next attempt; each is drawn from 0.8 to 1.2 of it.
    pub wait: Nanos,
    /// The load goes on after an insert whose last attempt failed.
    pub goes_on: bool,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    pub phase: Phase,
    /// The operations of this client; `None` if only time ends the run.
    pub operations: Option<u64>,
    pub longest: Option<Nanos>,
    /// The operations that are outstanding, at most.
    pub threads: u32,
    /// The operations per second of an open loop.
    pub target: Option<u32>,
    pub retries: Retries,
    pub terms: Terms,
    pub output: Output,
    /// The interval of status lines.
    pub status: Option<Nanos>,
    pub label: String,
    /// The warnings for the user.
    pub warnings: Vec<String>,
}

/// The longest run in seconds: 68 years, Java's `int`.
const MOST_SECONDS: u64 = i32::MAX as u64;
/// Operations outstanding: each takes memory.
const MOST_THREADS: u32 = 1 << 20;
const MOST_BUCKETS: u32 = 1 << 20;

impl Settings {
    pub fn new(
        properties: &Properties,
        phase: Phase,
        workload: &Workload,
    ) -> Result<Settings, Wrong> {
        let seconds = properties.count("maxexecutiontime", 0..=MOST_SECONDS)?;
        let operations = match phase {
            Phase::Load => {
                let share = workload.client.share(workload.insert_count);
                Some(share.end - share.start)
            }
            Phase::Run => Some(workload.operation_count).filter(|count| 0 < *count),
        };
        if operations.is_none() && seconds == 0 {
            let why =
                "is 0, as is `maxexecutiontime`, so that the run would not end; set one of them";
            return Err(properties.contradiction(&["operationcount", "maxexecutiontime"], why));
        }
        let mut warnings = Vec::new();
        let transactions = properties.value(CORE, "dotransactions");
        let is_run = properties.is_true("dotransactions");
        if transactions.place != Place::Default && is_run != (phase == Phase::Run) {
            let Value { text, place } = transactions;
            warnings.push(format!(
                "{place}: the property `dotransactions` is `{text}`, but the command says the phase"
            ));
        }
        let mut threads = properties.count("threadcount", 1..=MOST_THREADS)?;
        match operations {
            // A run without operations is one that time ends.
            Some(0) => {
                let (count, of) = (workload.insert_count, workload.client.of);
                warnings.push(format!(
                    "{count} records are divided between {of} clients, and the share of this one is empty: it inserts \
                     nothing"
                ));
                threads = 1;
            }
            Some(operations) if operations < u64::from(threads) => {
                warnings.push(format!(
                    "`threadcount` is {threads}, above the number of operations: it is reduced to {operations}"
                ));
                threads = operations as u32;
            }
            _ => {}
        }
        let target =
            Some(properties.count("target", 0..=i32::MAX as u32)?).filter(|target| 0 < *target);
        let status_seconds = properties.count("status.interval", 1..=MOST_SECONDS)?;
        let retry_seconds =
            properties.count("core_workload_insertion_retry_interval", 0..=MOST_SECONDS)?;
        let retries = Retries {
            limit: properties.count("core_workload_insertion_retry_limit", 0..=i32::MAX as u32)?,
            wait: Nanos::from_secs(retry_seconds),
            goes_on: properties.is_true("core_workload_insertion_keep_going_on_error"),
        };
        Ok(Settings {
            phase,
            operations,
            longest: (seconds != 0).then(|| Nanos::from_secs(seconds)),
            threads,
            target,
            retries,
            terms: terms(properties)?,
            output: output(properties, target.is_some())?,
            status: properties.is_true("status").then(|| Nanos::from_secs(status_seconds)),
            label: properties.text("label"),
            warnings,
        })
    }
}

fn terms(properties: &Properties) -> Result<Terms, Wrong> {
    let form = properties.choice(
        "measurementtype",
        &[
            ("hdrhistogram", Form::Hdr),
            ("histogram", Form::Buckets),
            ("hdrhistogram+histogram", Form::HdrAndBuckets),
            ("hdrhistogram+raw", Form::HdrAndRaw),
            ("timeseries", Form::Series),
            ("raw", Form::Raw),
        ],
    )?;
    let buckets = properties.count("histogram.buckets", 1..=MOST_BUCKETS)?;
    let granularity = properties.count("timeseries.granularity", 1..=i32::MAX as u64)?;
    let mut tracked = [properties.is_true("reportlatencyforeacherror"); Status::ALL.len()];
    let names = properties.text("latencytrackederrors");
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some(status) = Status::ALL.into_iter().find(|status| status.text() == name) else {
            let known = Status::ALL.map(Status::text).join(", ");
            let why = format!("has `{name}`, which is not a status; write some of: {known}");
            return Err(properties.wrong("latencytrackederrors", &why));
        };
        tracked[status as usize] = true;
    }
    Ok(Terms { form, buckets, granularity: Nanos::from_millis(granularity), tracked })
}

fn output(properties: &Properties, has_target: bool) -> Result<Output, Wrong> {
    let interval = match properties.text("measurement.interval").is_empty() {
        true if has_target => Interval::Both,
        true => Interval::Operation,
        false => properties.choice(
            "measurement.interval",
            &[
                ("op", Interval::Operation),
                ("intended", Interval::Intended),
                ("both", Interval::Both),
            ],
        )?,
    };
    let text = properties.text("hdrhistogram.percentiles");
    let percentile =
        |text: &str| text.trim().parse().ok().filter(|p| Quantile::new(p / 100.0).is_some());
    let percentiles = text.split(',').map(percentile).collect::<Option<Vec<f64>>>();
    let percentiles = percentiles.ok_or_else(|| {
        let why = format!(
            "is `{text}`; write numbers from above 0 to 100 with commas between, such as 50,99.9"
        );
        properties.wrong("hdrhistogram.percentiles", &why)
    })?;
    let packages = ["site.ycsb", "com.yahoo.ycsb"];
    let class = properties.text("exporter");
    let class = packages
        .iter()
        .find_map(|package| class.strip_prefix(package)?.strip_prefix(".measurements.exporter."));
    let exporter = match class {
        Some("TextMeasurementsExporter") => Exporter::Text,
        Some("JSONMeasurementsExporter") => Exporter::Json,
        Some("JSONArrayMeasurementsExporter") => Exporter::JsonArray,
        _ => {
            let known = ["Text", "JSON", "JSONArray"].map(|name| {
                format!("{}.measurements.exporter.{name}MeasurementsExporter", packages[0])
            });
            let why = format!("is not supported; write one of: {}", known.join(", "));
            return Err(properties.wrong("exporter", &why));
        }
    };
    let file = |name| Some(properties.text(name)).filter(|file| !file.is_empty());
    Ok(Output {
        interval,
        percentiles,
        has_buckets: properties.is_true("measurement.histogram.verbose"),
        has_summary: !properties.is_true("measurement.raw.no_summary"),
        exporter,
        file: file("exportfile"),
        raw_file: file("measurement.raw.output_file"),
        hdr_prefix: properties
            .is_true("hdrhistogram.fileoutput")
            .then(|| properties.text("hdrhistogram.output.path")),
    })
}
