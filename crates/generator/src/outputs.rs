//! The files that the results of a load are written to.

use std::path::{Path, PathBuf};

use load::measurement::Measurement;
use results::Load;

use crate::samples::{Sampler, Sampling};
use crate::{csv, hlog, options};
use console::files::{Kind, Named};
use console::output::{self, Failure};

#[cfg(test)]
mod tests;

#[derive(Default)]
pub(crate) struct Outputs {
    json: Option<PathBuf>,
    /// True if a document on standard output is divided into lines.
    is_framed: bool,
    csv: Option<PathBuf>,
    hlog: Option<PathBuf>,
    report: Option<PathBuf>,
    sampling: Option<Sampling>,
    /// The reason why the samples were not all written: the figures come before it.
    unsampled: Option<Failure>,
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
            ..Outputs::default()
        };
        outputs.begin(arguments.samples.as_deref(), labels)
    }

    /// Returns the files that a command line has written.
    pub(super) fn files(arguments: &options::Load) -> Vec<Named> {
        let written = [
            ("--json", &arguments.json),
            ("--csv", &arguments.csv),
            ("--hlog", &arguments.hlog),
            ("--samples", &arguments.samples),
            ("--report", &arguments.report),
            ("--notes", &arguments.notes),
        ];
        let named = |(option, path): (&str, &Option<PathBuf>)| {
            Some(Named::written(option, path.as_ref()?, kind(option)))
        };
        written.into_iter().filter_map(named).collect()
    }

    /// Checks the places of all files, so that no load is made whose result is lost.
    fn begin(self, samples: Option<&Path>, labels: Vec<String>) -> anyhow::Result<Outputs> {
        self.check_places()?;
        let sampling = samples.map(|path| Sampling::begin(path, labels)).transpose()?;
        Ok(Outputs { sampling, ..self })
    }

    fn check_places(&self) -> anyhow::Result<()> {
        let named = [
            ("--json", &self.json),
            ("--csv", &self.csv),
            ("--hlog", &self.hlog),
            ("--report", &self.report),
        ];
        for (option, path) in named {
            let Some(path) = path.as_deref() else { continue };
            if option != "--json" || path != Path::new("-") {
                output::check_place(option, path)?;
            }
        }
        Ok(())
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
            ..Outputs::default()
        };
        outputs.begin(native.samples.as_deref().map(Path::new), Vec::new())
    }

    /// Returns the files that an original's command line names.
    pub(crate) fn files_of_wrk(command: &wrk::arguments::Command) -> Vec<Named> {
        use wrk::arguments::Destination;
        let native = &command.native;
        let json = match &native.json {
            Some(Destination::File(path)) => Some(path),
            Some(Destination::Stdout) | None => None,
        };
        let written = [
            ("--json", json),
            ("--csv", native.csv.as_ref()),
            ("--hlog", native.hlog.as_ref()),
            ("--samples", native.samples.as_ref()),
            ("--report", native.report.as_ref()),
        ];
        let written = written
            .into_iter()
            .filter_map(|(option, path)| Some(Named::written(option, path?, kind(option))));
        let script = command.script.iter().map(|path| Named::read("--script", path));
        written.chain(script).collect()
    }

    /// Returns the outputs that need only the document.
    pub(crate) fn of_document(
        json: Option<PathBuf>,
        report: Option<PathBuf>,
    ) -> anyhow::Result<Outputs> {
        let outputs = Outputs { json, report, ..Outputs::default() };
        outputs.check_places()?;
        Ok(outputs)
    }

    /// Returns the observer of each shard.
    pub(crate) fn samplers(&self, shards: usize) -> Vec<Option<Sampler>> {
        (0..shards).map(|shard| Some(self.sampling.as_ref()?.watch(shard))).collect()
    }

    /// Waits until all samples are written, and returns how many were lost since the file was too slow. Those that a
    /// failure kept from being written are not among them: `write` tells it.
    pub(crate) fn finish(&mut self, samplers: Vec<Option<Sampler>>) -> u64 {
        let lost = samplers.into_iter().flatten().map(Sampler::finish).sum();
        self.unsampled = self.sampling.take().and_then(|sampling| sampling.finish().err());
        if self.unsampled.is_some() { 0 } else { lost }
    }

    /// Writes all files.
    pub(crate) fn write(
        &mut self,
        document: &Load,
        measurement: &Measurement,
    ) -> Result<(), Failure> {
        // One that cannot be written does not lose the others.
        let csv = self.csv.as_ref().map(|path| write(path, csv::of(document)));
        let hlog = self.hlog.as_ref().map(|path| write(path, hlog::of(measurement)));
        let written = self.write_document(document);
        let samples = self.unsampled.take().map(Err);
        csv.into_iter().chain(hlog).chain([written]).chain(samples).collect()
    }

    /// Writes the files that need only the document; JSON without a file goes to standard output.
    pub(crate) fn write_document(&self, document: &Load) -> Result<(), Failure> {
        let report = self.report.as_ref();
        let report = report.map(|path| write(path, report::load::render(document)));
        let json = match self.json.as_deref() {
            Some(path) if path == Path::new("-") && self.is_framed => {
                let text = serde_json::to_string(document).expect("results are plain data");
                output::result(&(results::frames::lines(&text).join("\n") + "\n"))
            }
            Some(path) if path == Path::new("-") => output::result(&output::json(document)),
            Some(path) => write(path, output::json(document)),
            None => Ok(()),
        };
        report.into_iter().chain([json]).collect()
    }

    /// True if the JSON document goes to standard output.
    pub(crate) fn is_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

/// The kind of what an option of a load names.
fn kind(option: &str) -> Kind {
    match option {
        "--json" | "--notes" => Kind::Document,
        "--csv" => Kind::Rows,
        "--hlog" => Kind::Histograms,
        "--samples" => Kind::Samples,
        "--report" => Kind::Page,
        _ => unreachable!("{option} names no output"),
    }
}

pub(crate) fn write(path: &Path, text: String) -> Result<(), Failure> {
    let written = output::replace(path, text.as_bytes());
    written.map_err(|error| Failure::unwritten(results::regular::shown(path), &error))
}
