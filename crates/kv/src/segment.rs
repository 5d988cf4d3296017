//! The names of the files that have the log: `log-` and the number of the segment.

use std::fmt::Write;

/// The name of a segment, made without an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    name: [u8; LENGTH],
    used: usize,
}

const PREFIX: &str = "log-";

const LENGTH: usize = 24;

impl Segment {
    pub(crate) fn new(number: u64) -> Segment {
        let mut segment = Segment { name: [0; LENGTH], used: 0 };
        write!(segment, "{PREFIX}{number:08x}").expect("a number has at most 16 digits");
        segment
    }

    /// True if a file may be a segment.
    pub(crate) fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// Returns the number of the segment that a file's name belongs to.
    pub(crate) fn number_of(name: &str) -> Option<u64> {
        let number = u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()?;
        // Not every spelling of the number is a name of ours.
        (name == Segment::new(number).as_str()).then_some(number)
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.name[..self.used]).expect("the name was written as text")
    }
}

impl Write for Segment {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.used + text.len();
        let part = self.name.get_mut(self.used..end).ok_or(std::fmt::Error)?;
        part.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}
