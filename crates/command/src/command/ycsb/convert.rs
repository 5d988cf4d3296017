//! `benchwright ycsb convert`: the keys in the lines of the binding `basic`, as numbers.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;

use clap::Args;
use console::output::{self, Exit, Failure};
use measure::quantity;
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
    let of_output =
        |error| Failure::no_answer(format!("{}: {error}", results::regular::shown(output)));
    let mut lines = File::open(input).map_err(of_input)?;
    let place = output::check_place("OUT", output);
    place.map_err(|error| Failure::question(format!("{error:#}; name another file")))?;
    let mut file = BufWriter::with_capacity(PIECE, output::create(output).map_err(of_output)?);
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
        file.write_all(&found).map_err(of_output)?;
        found.clear();
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            file.flush().map_err(of_output)?;
            output::error("interrupted: the file of keys ends early");
            return Ok(Exit::Interrupted);
        }
        if read == 0 {
            break;
        }
    }
    file.flush().map_err(of_output)?;
    let (found, skipped) = (quantity::counted(keys.found()), quantity::counted(keys.skipped()));
    output::result(&format!("{found} keys, {skipped} other lines\n"))?;
    Ok(Exit::Answered)
}
