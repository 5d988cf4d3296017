//! The notes of a load's senders as a file, with the clocks of the receivers.

use std::io::BufWriter;
use std::path::PathBuf;

use load::observe::Window;
use results::notes::{self, Compared, Header, Sender, Side};

use super::ledger::{Gathered, outcomes};
use super::{EventOptions, clocks};
use crate::options::Load;
use console::output::{self, Destination, Failure};

/// A file of notes that will be written once the load has ended.
pub(crate) struct Noting {
    path: PathBuf,
    file: Destination,
    sources: Vec<String>,
    compared: Vec<Compared>,
}

impl Noting {
    /// Makes the file that the command line asks for, if any, and compares the clocks for the first
    /// time.
    pub(crate) fn begin(
        arguments: &Load,
        wanted: Option<&EventOptions>,
    ) -> Result<Option<Noting>, Failure> {
        let (Some(path), Some(wanted)) = (&arguments.notes, wanted) else { return Ok(None) };
        let compare = |address: &String| {
            let (clock, before) = clocks::compare(address).map_err(|why| {
                Failure::question(format!(
                    "--compare-clock {address}: {why}\n  give the address of a `benchwright receive` \
                     that is running"
                ))
            })?;
            Ok(Compared { address: address.clone(), clock, before: before.into(), after: None })
        };
        let compared =
            arguments.compare_clock.iter().map(compare).collect::<Result<_, Failure>>()?;
        // Created now: at the end it would be too late to refuse the path.
        let file = output::create(path).map_err(|error| {
            Failure::question(format!("--notes {}: {error}", results::regular::shown(path)))
        })?;
        let (path, sources) = (path.clone(), wanted.sources.clone());
        Ok(Some(Noting { path, file, sources, compared }))
    }

    /// Compares the clocks again, and writes the file; returns a warning for each clock that could
    /// not be compared.
    pub(crate) fn finish(
        mut self,
        sent: &Gathered,
        window: Window,
    ) -> Result<Vec<String>, Failure> {
        let mut warnings = Vec::new();
        for compared in &mut self.compared {
            match clocks::compare(&compared.address) {
                Ok((clock, after)) if clock == compared.clock => {
                    compared.after = Some(after.into());
                }
                Ok(_) => warnings.push(format!(
                    "the clock of {} is another one than before the load: its host was started again",
                    compared.address
                )),
                Err(why) => warnings.push(format!(
                    "the clock of {} could not be compared after the load, so delivery times are not \
                     known: {why}",
                    compared.address
                )),
            }
        }
        let sender = Sender {
            sources: self.sources,
            outcomes: outcomes(),
            from_ns: window.start.0,
            to_ns: window.end.0,
            compared: self.compared,
        };
        let header = Header::new(clocks::name(), Side::Sender(sender));
        let mut out = BufWriter::new(self.file);
        let written = notes::write_sent(&header, &sent.senders, sent.unnoted, &mut out);
        written.map_err(|error| {
            Failure::unwritten(format!("--notes {}", results::regular::shown(&self.path)), &error)
        })?;
        Ok(warnings)
    }
}
