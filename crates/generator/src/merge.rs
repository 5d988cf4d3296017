//! `benchwright merge`: merges the documents of several loads into one.

use std::path::{Path, PathBuf};

use clap::Args;
use results::{Load, regular};

use crate::outputs::Outputs;
use crate::text;
use console::output::{self, Exit, Failure};

#[derive(Args, Debug)]
#[command(
    after_help = "A process can have at most as many connections as open files. For more, start \
                        several processes at the same time, each with a part of the load:\n\n  \
                        benchwright load URL --rate 10k/s --connections 36k --part 1/2 --json=1.json &\n  \
                        benchwright load URL --rate 10k/s --connections 36k --part 2/2 --json=2.json &\n  \
                        wait; benchwright merge 1.json 2.json\n\n\
                        Parts of one load are exactly that load, whatever their number; loads of \
                        their own may be merged, too. Counts and rates are added up and histograms merged, so nothing is averaged. \
                        The series of loads on one machine share one time axis, which begins with \
                        the first load; the series of loads on several machines each begin with \
                        their own load. \
                        Exits with 3 if one of the loads is not valid."
)]
pub struct Merge {
    /// The documents that `benchwright load --json` has written, on any machine
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the JSON document, or write it to a file: --json=FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Write one offline HTML page: verdict, curves and tables
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

pub fn merge(arguments: &Merge) -> Result<Exit, Failure> {
    let outputs = Outputs::of_document(arguments.json.clone(), arguments.report.clone())
        .map_err(|error| Failure::question(format!("{error:#}")))?;
    let parts = arguments.files.iter().map(|path| Ok((regular::shown(path), read(path)?)));
    let parts = parts.collect::<Result<Vec<_>, Failure>>()?;
    let mut whole = results::merge::merge(&parts).map_err(Failure::question)?;
    whole.arguments = std::env::args().skip(1).collect();
    outputs.write_document(&whole)?;
    if !outputs.is_json() {
        output::shown(&text::of(&whole), &text::MARKS)?;
    }
    Ok(crate::verdict::exit(&whole))
}

fn read(path: &Path) -> Result<Load, Failure> {
    let name = regular::shown(path);
    let text = regular::read_input(path, regular::MOST)
        .map_err(|error| Failure::question(format!("{name}: {error}")))?;
    Load::read(&text).map_err(|why| {
        Failure::question(format!("{name} is not a document of `benchwright load --json`: {why}"))
    })
}
