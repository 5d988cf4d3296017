//! The lines of a file of another program, one at a time: however long the file is, memory is bounded.

use std::io::{BufRead, Read};

/// A longer line is not one of these formats.
const MOST: u64 = 16 << 20;

pub struct Lines<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    /// The number of the last line, from 1.
    pub number: u64,
    /// True if the last line has its end. One without may be cut off.
    pub is_ended: bool,
}

impl<'a> Lines<'a> {
    pub fn of(input: &'a mut dyn BufRead) -> Lines<'a> {
        Lines { input, line: Vec::new(), number: 0, is_ended: true }
    }

    /// Returns the next line that is not empty, without its end.
    pub fn next_bytes(&mut self) -> Result<Option<&[u8]>, String> {
        loop {
            self.line.clear();
            let mut part = Read::take(&mut *self.input, MOST + 1);
            let length =
                part.read_until(b'\n', &mut self.line).map_err(|error| error.to_string())?;
            if length == 0 {
                return Ok(None);
            }
            self.number += 1;
            if MOST < length as u64 {
                return Err(format!("line {} is longer than {} MiB", self.number, MOST >> 20));
            }
            self.is_ended = self.line.ends_with(b"\n");
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(self.line.trim_ascii_end()));
            }
        }
    }

    /// Returns the same as a text.
    pub fn next_text(&mut self) -> Result<Option<String>, String> {
        Ok(self.next_bytes()?.map(|line| String::from_utf8_lossy(line).into_owned()))
    }
}
