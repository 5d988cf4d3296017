//! The files and the document of a run.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use console::files::{self, Kind, Named};
use console::output::{self as printed, Failure, Stream};
use generator::ycsb::client::Done;
use measure::Quantile;
use results::times;
use serde_json::{Map, Value, json};
use ycsb::export;
use ycsb::measurements::{Both, Form, Name, Status, Times};
use ycsb::properties::{Known, Properties};
use ycsb::settings::{Phase, Settings};

use super::ending::Ending;

#[cfg(test)]
mod tests;

/// The places of the output, which were checked before the run.
pub(super) struct Output<'a> {
    settings: &'a ycsb::export::Output,
    has_raw: bool,
    /// Raw data are added to a file, as the original does.
    raw: Option<File>,
}

/// The parts of a document beyond the ending. It has all properties with their values.
pub(super) struct Document<'a> {
    pub(super) binding: &'static str,
    pub(super) properties: &'a Properties,
    /// The properties of the binding.
    pub(super) table: &'static [Known],
}

/// The file of the histogram that every run of a binding has.
fn histogram_file(prefix: &str, name: &str) -> PathBuf {
    PathBuf::from(format!("{prefix}{name}.hdr"))
}

/// Returns the files that a run writes. Which histograms there are is known only at its end.
fn written_by(output: &ycsb::export::Output, has_raw: bool) -> Vec<Named> {
    let named = |name: &str, path: PathBuf, kind: Kind| {
        Named::written(format!("the property {name},"), path, kind)
    };
    let file = output.file.iter().map(|file| named("exportfile", file.into(), Kind::Ycsb));
    let raw = output.raw_file.iter().filter(|_| has_raw);
    let raw = raw.map(|file| named("measurement.raw.output_file", file.into(), Kind::Kept));
    let histograms = output.hdr_prefix.iter().flat_map(|prefix| {
        Name::ALL.into_iter().flat_map(move |name| {
            let forms = ["", "Hdr", "Intended-", "HdrIntended-", "Intended-Hdr"];
            forms.into_iter().flat_map(move |form| {
                ["", "-FAILED"].map(|end| {
                    let name = format!("{form}{}{end}", name.text());
                    named(
                        "hdrhistogram.output.path",
                        histogram_file(prefix, &name),
                        Kind::Histograms,
                    )
                })
            })
        })
    });
    file.chain(raw).chain(histograms).collect()
}

impl Output<'_> {
    /// Checks the places of the output: none replaces another one, or an input.
    pub(super) fn new<'a>(settings: &'a Settings, inputs: &[Named]) -> Result<Output<'a>, Failure> {
        let output = &settings.output;
        let has_raw = matches!(settings.terms.form, Form::Raw | Form::HdrAndRaw);
        files::check(&[inputs, &written_by(output, has_raw)].concat())?;
        let check = |property: &str, path: &Path| {
            let checked = printed::check_place(property, path);
            checked.map_err(|error| Failure::question(format!("{error:#}; correct the property")))
        };
        if let Some(file) = &output.file {
            check("exportfile", Path::new(file))?;
        }
        if let Some(prefix) = &output.hdr_prefix {
            check("hdrhistogram.output.path", &histogram_file(prefix, "CLEANUP"))?;
        }
        let raw = match output.raw_file.as_ref().filter(|_| has_raw) {
            None => None,
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                Some(file.map_err(|error| {
                    Failure::question(format!(
                        "measurement.raw.output_file {path}: {error}; correct the property"
                    ))
                })?)
            }
        };
        Ok(Output { settings: output, has_raw, raw })
    }

    /// Writes what the run measured: the histograms and the raw data if they were asked for, and the result.
    pub(super) fn write(
        self,
        ending: &Ending,
        start_ms: u64,
        document: Option<&Document>,
    ) -> Result<(), Failure> {
        let Output { settings, has_raw, raw } = self;
        let ran = &ending.done.ran;
        let measurements = &ran.measurements;
        if 0 < measurements.lost() {
            printed::error(&format!(
                "warning: {} operations have no place in the raw data or the time series",
                measurements.lost()
            ));
        }
        if let Some(prefix) = &settings.hdr_prefix {
            for (name, histogram) in export::histograms(measurements, settings) {
                let file = histogram_file(prefix, &name);
                let span = (0.0, ran.run_time.as_secs_f64());
                let log = format!(
                    "#[Logging for: {name}, in microseconds]\n{}{}",
                    times::log_header(),
                    times::log_line(&name, span, &histogram)
                );
                written(&file, log.as_bytes())?;
            }
        }
        let is_written = |result: std::io::Result<()>| match result {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::no_answer(format!("writing the raw data: {error}")))
            }
            _ => Ok(()),
        };
        let rows = |out: &mut dyn Write| {
            let mut out = BufWriter::new(out);
            export::raw(start_ms, measurements, settings, &mut out)?;
            out.flush()
        };
        match raw {
            _ if !has_raw => {}
            Some(mut file) => is_written(rows(&mut file))?,
            // A document is alone on stdout.
            None if document.is_some() && settings.file.is_none() => printed::error(
                "warning: the raw data are not written beside a document; name a file for them with \
                 -p measurement.raw.output_file=FILE",
            ),
            None => is_written(rows(&mut Stream::Stdout))?,
        }
        let text = match document {
            Some(Document { binding, properties, table }) => {
                printed::json(&self::document(ending, binding, &properties.resolved(table)))
            }
            None => {
                let lines = export::lines(ran.run_time, measurements, settings);
                settings.exporter.text(&lines)
            }
        };
        match &settings.file {
            Some(file) => written(Path::new(file), text.as_bytes()),
            None => printed::result(&text),
        }
    }
}

fn written(file: &Path, content: &[u8]) -> Result<(), Failure> {
    printed::replace(file, content).map_err(|error| {
        Failure::no_answer(format!("writing {}: {error}", results::regular::shown(file)))
    })
}

fn document(
    ending: &Ending,
    binding: &str,
    properties: &[(&'static str, ycsb::properties::Value)],
) -> Value {
    let Done { ran, is_overloaded, why, is_given_up, .. } = ending.done;
    let measurements = &ran.measurements;
    let mut operations = Map::new();
    for (name, named) in measurements.names() {
        let mut kinds = Map::new();
        kinds.insert("ok".to_owned(), both(&named.ok));
        let failed =
            named.failed.iter().map(|(failure, times)| ((*failure).to_owned(), both(times)));
        kinds.insert("failed".to_owned(), failed.collect::<Map<_, _>>().into());
        let statuses = Status::ALL.into_iter().zip(named.statuses).filter(|(_, count)| 0 < *count);
        let statuses = statuses.map(|(status, count)| (status.text().to_owned(), json!(count)));
        kinds.insert("statuses".to_owned(), statuses.collect::<Map<_, _>>().into());
        operations.insert(name.text().to_owned(), kinds.into());
    }
    let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), json!(value.text)));
    let per_second = measurements.operations as f64 / ran.run_time.as_secs_f64();
    let mut document = json!({
        "schema": "benchwright.ycsb/1",
        "phase": match ending.settings.phase {
            Phase::Load => "load",
            Phase::Run => "run",
        },
        "binding": binding,
        "run_time_ns": ran.run_time.0,
        "operations": measurements.operations,
        "operations_per_s": per_second.is_finite().then_some(per_second),
        "interrupted": ran.is_interrupted,
        "given_up": is_given_up,
        "overloaded": is_overloaded,
        "unfinished": ran.unfinished,
        "late_ns": ran.late.0,
        "why": why,
        "failed_servers": ending.failed_servers(),
        "lost": measurements.lost(),
        "times": operations,
        "properties": properties.collect::<Map<_, _>>(),
    });
    if let Some(uninserted) = ending.uninserted() {
        document["uninserted"] = uninserted.into();
    }
    document
}

fn both(times: &Both) -> Value {
    json!({"service": figures(&times.service), "response": figures(&times.response)})
}

/// The figures of times; null if none was measured.
fn figures(times: &Times) -> Value {
    let histogram = times.histogram();
    let Some((min, max)) = times.ends() else { return Value::Null };
    let quantile = |quantile| histogram.quantile(quantile).map(|time| time.clamp(min, max).0);
    json!({
        "count": histogram.count(),
        "mean_ns": histogram.mean().map(|time| time.0),
        "min_ns": min.0,
        "p50_ns": quantile(Quantile::P50),
        "p90_ns": quantile(Quantile::P90),
        "p95_ns": quantile(Quantile::P95),
        "p99_ns": quantile(Quantile::P99),
        "p999_ns": quantile(Quantile::P999),
        "max_ns": max.0,
    })
}
