//! The files that the results of a load are written to.

use std::path::{Path, PathBuf};

use anyhow::Context;
use load::measurement::Measurement;
use results::Load;

use crate::samples::{Sampler, Sampling};
use crate::{csv, hlog, options};
use console::output::{self, Failure};

#[derive(Default)]
pub(crate) struct Outputs {
    json: Option<PathBuf>,
    /// True if a document on standard output is divided into lines.
    is_framed: bool,
    csv: Option<PathBuf>,
    hlog: Option<PathBuf>,
    report: Option<PathBuf>,
    sampling: Option<Sampling>,
}

impl Outputs {
    /// Returns the outputs; opens the file of samples at once. `labels` are the names of their
    /// labels.
    pub(super) fn of(arguments: &options::Load, labels: Vec<String>) -> anyhow::Result<Outputs> {
        let outputs = Outputs {
            json: arguments.json.clone(),
            is_framed: arguments.framed,
            csv: arguments.csv.clone(),
            hlog: arguments.hlog.clone(),
            report: arguments.report.clone(),
            sampling: None,
        };
        outputs.begin(arguments.samples.as_deref(), labels)
    }

    /// Checks the places of all files, so that no load is made whose result is lost.
    fn begin(self, samples: Option<&Path>, labels: Vec<String>) -> anyhow::Result<Outputs> {
        let json = self.json.as_ref().filter(|path| *path != Path::new("-"));
        let files = [json, self.csv.as_ref(), self.hlog.as_ref(), self.report.as_ref()];
        for path in files.into_iter().flatten() {
            output::check_place(path)
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        let sampling = samples.map(|path| Sampling::begin(path, labels)).transpose()?;
        Ok(Outputs { sampling, ..self })
    }

    /// Returns the outputs that were asked for besides an original's text.
    pub(crate) fn of_wrk(native: &wrk::arguments::Native) -> anyhow::Result<Outputs> {
        use wrk::arguments::Destination;
        let path = |text: &Option<String>| text.as_ref().map(PathBuf::from);
        let json = native.json.as_ref().map(|destination| match destination {
            Destination::Stdout => PathBuf::from("-"),
            Destination::File(path) => PathBuf::from(path),
        });
        let outputs = Outputs {
            json,
            is_framed: false,
            csv: path(&native.csv),
            hlog: path(&native.hlog),
            report: path(&native.report),
            sampling: None,
        };
        outputs.begin(native.samples.as_deref().map(Path::new), Vec::new())
    }

    /// Returns the outputs that need only the document.
    pub(crate) fn of_document(json: Option<PathBuf>, report: Option<PathBuf>) -> Outputs {
        Outputs { json, report, ..Outputs::default() }
    }

    /// Returns the observer of each shard.
    pub(crate) fn samplers(&self, shards: usize) -> Vec<Option<Sampler>> {
        (0..shards).map(|shard| Some(self.sampling.as_ref()?.watch(shard))).collect()
    }

    /// Waits until all samples are written, and returns how many were lost.
    pub(crate) fn finish(&mut self, samplers: Vec<Option<Sampler>>) -> Result<u64, Failure> {
        let lost = samplers.into_iter().flatten().map(Sampler::finish).sum();
        if let Some(sampling) = self.sampling.take() {
            sampling.finish().map_err(|error| Failure::no_answer(format!("{error:#}")))?;
        }
        Ok(lost)
    }

    /// Writes all files.
    pub(crate) fn write(&self, document: &Load, measurement: &Measurement) -> Result<(), Failure> {
        if let Some(path) = &self.csv {
            write(path, csv::of(document))?;
        }
        if let Some(path) = &self.hlog {
            write(path, hlog::of(measurement))?;
        }
        self.write_document(document)
    }

    /// Writes the files that need only the document; JSON without a file goes to standard output.
    pub(crate) fn write_document(&self, document: &Load) -> Result<(), Failure> {
        if let Some(path) = &self.report {
            write(path, report::load::render(document))?;
        }
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") && self.is_framed => {
                let text = serde_json::to_string(document).expect("results are plain data");
                output::result(&(results::frames::lines(&text).join("\n") + "\n"))
            }
            Some(path) if path == Path::new("-") => output::result(&output::json(document)),
            Some(path) => write(path, output::json(document)),
            None => Ok(()),
        }
    }

    /// True if the JSON document goes to standard output.
    pub(crate) fn is_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

fn write(path: &Path, text: String) -> Result<(), Failure> {
    let written = output::replace(path, text.as_bytes())
        .with_context(|| format!("writing {}", path.display()));
    written.map_err(|error| Failure::no_answer(format!("{error:#}")))
}
