//! `benchwright ycsb convert`: the keys in the lines of the binding `basic`, as numbers.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use console::output::{self, Destination, Exit, Failure};
use measure::quantity::counted;
use ycsb::convert::Keys;

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    after_help = "Every line with `usertable user` and digits yields this number, as 8 bytes, the lowest first; \
                        other lines are skipped and counted. The kinds of the operations are lost.\n\n  \
                        benchwright ycsb load basic -P FILE > load.txt\n  \
                        benchwright ycsb convert load.txt load.keys"
)]
pub(super) struct Convert {
    /// The lines; a pipe is read as it comes
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file of keys
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

/// The bytes that are read at once.
const PIECE: usize = 1 << 20;

pub(super) fn convert(arguments: &Convert) -> Result<Exit, Failure> {
    let Convert { input, output } = arguments;
    let of_input = |error| {
        Failure::question(format!(
            "{}: {error}; name a file with lines",
            results::regular::shown(input)
        ))
    };
    let mut lines = File::open(input).map_err(of_input)?;
    let place = output::check_place("OUT", output);
    place.map_err(|error| Failure::question(format!("{error:#}")))?;
    let mut file = Output { path: output, file: None };
    let stop = console::signals::interrupted();
    let mut piece = vec![0; PIECE];
    let mut keys = Keys::default();
    let mut found = Vec::new();
    loop {
        let read = lines.read(&mut piece).map_err(of_input)?;
        match read {
            0 => keys.end(&mut found),
            _ => keys.read(&piece[..read], &mut found),
        }
        file.write(&found)?;
        found.clear();
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            file.end()?;
            output::error("interrupted: the file of keys ends early");
            return Ok(Exit::Interrupted);
        }
        if read == 0 {
            break;
        }
    }
    file.end()?;
    let skipped = format!("{} other lines", counted(keys.skipped()));
    let too_large = match keys.too_large() {
        0 => String::new(),
        lines => {
            format!(", {} lines with a number of 2^64 or more, which is not a key", counted(lines))
        }
    };
    if keys.found() == 0 {
        return Err(Failure::question(format!(
            "{} has no key: {skipped}{too_large}\n  name a file with lines of `benchwright ycsb load basic` or `run basic`",
            results::regular::shown(input)
        )));
    }
    output::result(&format!("{} keys, {skipped}{too_large}\n", counted(keys.found())))?;
    Ok(Exit::Answered)
}

/// The file of keys, which is made with the first of them: lines without a key replace nothing.
struct Output<'a> {
    path: &'a Path,
    file: Option<BufWriter<Destination>>,
}

impl Output<'_> {
    fn write(&mut self, keys: &[u8]) -> Result<(), Failure> {
        let Output { path, file } = self;
        if keys.is_empty() {
            return Ok(());
        }
        let unwritten =
            |error: io::Error| Failure::unwritten(results::regular::shown(path), &error);
        let file = match file {
            Some(file) => file,
            none => {
                let created = output::create(path).map_err(unwritten)?;
                none.insert(BufWriter::with_capacity(PIECE, created))
            }
        };
        file.write_all(keys).map_err(unwritten)
    }

    fn end(&mut self) -> Result<(), Failure> {
        let ended = self.file.as_mut().map_or(Ok(()), Write::flush);
        ended.map_err(|error| Failure::unwritten(results::regular::shown(self.path), &error))
    }
}
