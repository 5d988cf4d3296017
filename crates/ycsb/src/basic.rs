//! The binding `basic`, which prints the operations instead of sending them.

use std::collections::HashSet;
use std::io::{self, Write};

use measure::{Nanos, Random};

use crate::drive::Binding;
use crate::measurements::Name;
use crate::properties::{Known, Properties, Wrong};
use crate::stream::Stream;
use crate::workload::{Kind, Operation, hash_code};

#[cfg(test)]
mod tests;

/// The properties of the binding.
pub const PROPERTIES: &[Known] = &[
    ("basicdb.count", "false"),
    ("basicdb.randomizedelay", "true"),
    ("basicdb.simulatedelay", "0"),
    ("basicdb.verbose", "true"),
];

/// The binding, which writes to `out`.
#[derive(Debug)]
pub struct Basic<W> {
    out: W,
    is_verbose: bool,
    delay_ms: u32,
    is_randomized: bool,
    random: Random,
    /// For reads, scans, updates and inserts the hashes of the operations so far, if they are counted.
    seen: Option<[HashSet<i32>; 4]>,
    line: Vec<u8>,
    /// The text whose hash stands for the operation.
    hashed: Vec<u8>,
}

/// The names of what is counted. Nothing is ever deleted, but the original prints it.
const COUNTED: [&str; 5] = ["READS", "SCANS", "UPDATES", "INSERTS", "DELETES"];

impl<W: Write> Basic<W> {
    pub fn new(properties: &Properties, seed: u64, out: W) -> Result<Basic<W>, Wrong> {
        let is_true = |name| properties.is_true_in(PROPERTIES, name);
        Ok(Basic {
            out,
            is_verbose: is_true("basicdb.verbose"),
            delay_ms: properties.count_in(
                PROPERTIES,
                "basicdb.simulatedelay",
                0..=i32::MAX as u32,
            )?,
            is_randomized: is_true("basicdb.randomizedelay"),
            random: Random::part(seed, u64::MAX),
            seen: is_true("basicdb.count").then(Default::default),
            line: Vec::new(),
            hashed: Vec::new(),
        })
    }

    fn delay(&mut self) -> Nanos {
        let delay_ms = u64::from(self.delay_ms);
        match self.is_randomized && 0 < delay_ms {
            true => Nanos::from_millis(self.random.below(delay_ms)),
            false => Nanos::from_millis(delay_ms),
        }
    }

    /// Writes the line of an operation, and the text that stands for it when it is counted.
    fn describe(&mut self, stream: &mut Stream, name: Name, operation: &Operation) {
        let (line, hashed) = (&mut self.line, &mut self.hashed);
        let workload = std::sync::Arc::clone(stream.workload());
        line.clear();
        hashed.clear();
        line.extend_from_slice(name.text().as_bytes());
        line.push(b' ');
        let key = line.len();
        line.extend_from_slice(workload.table.as_bytes());
        line.push(b' ');
        workload.name(operation.record, line);
        hashed.extend(line[key..].iter().filter(|byte| **byte != b' '));
        if name == Name::Scan {
            line.extend_from_slice(format!(" {}", operation.length).as_bytes());
        }
        line.extend_from_slice(b" [ ");
        let writes = matches!(name, Name::Update | Name::Insert);
        let one = if writes { operation.write } else { operation.read };
        let names = writes || operation.kind == Kind::Read && workload.names_all_fields;
        let fields = match one {
            Some(field) => field..field + 1,
            None if names => 0..workload.fields,
            None => {
                line.extend_from_slice(b"<all fields> ");
                0..0
            }
        };
        for field in fields {
            let start = line.len();
            workload.field_name(field, line);
            hashed.extend_from_slice(&line[start..]);
            if writes {
                line.push(b'=');
                let value = line.len();
                stream.value(operation.record, field, line);
                hashed.extend_from_slice(&line[value..]);
            }
            line.push(b' ');
        }
        line.extend_from_slice(b"]\n");
    }
}

impl<W: Write> Binding for Basic<W> {
    type Error = io::Error;

    fn begin(
        &mut self,
        stream: &mut Stream,
        name: Name,
        operation: &Operation,
    ) -> io::Result<Nanos> {
        if self.is_verbose || self.seen.is_some() {
            self.describe(stream, name, operation);
        }
        if self.is_verbose {
            self.out.write_all(&self.line)?;
        }
        if let Some([reads, scans, updates, inserts]) = &mut self.seen {
            let seen = match name {
                Name::Read => reads,
                Name::Scan => scans,
                Name::Update => updates,
                _ => inserts,
            };
            // As in the original an operation is its hash: so the sets have a bound, that of 32 bits.
            seen.insert(hash_code(0, &self.hashed));
        }
        Ok(self.delay())
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some(seen) = &self.seen {
            let counts = seen.iter().map(HashSet::len).chain([0]);
            for (name, count) in COUNTED.iter().zip(counts) {
                writeln!(self.out, "[{name}], Uniques, {count}")?;
            }
        }
        self.out.flush()
    }
}
