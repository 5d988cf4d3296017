//! The records and operations that properties describe.

use measure::Random;

use crate::keys;
use crate::lengths::Lengths;
use crate::properties::{Properties, Wrong};

#[cfg(test)]
mod tests;

/// The kinds of operations, in the order in which the original prints them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

impl Kind {
    pub const ALL: [Kind; 5] =
        [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite];
}

/// An operation of a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Operation {
    pub kind: Kind,
    /// The number of the record; of a scan, that of the first.
    pub record: u64,
    /// The number of records of a scan.
    pub length: u32,
    /// The one field that is read or scanned; `None` for all.
    pub read: Option<u16>,
    /// The one field that is written; `None` for all.
    pub write: Option<u16>,
}

/// One of several parts: a client of all clients, or a shard of all shards.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Part {
    pub number: u32,
    pub of: u32,
}

impl Part {
    pub const WHOLE: Part = Part { number: 0, of: 1 };

    /// Returns this part's share of `count` things; the shares of all parts add up to it.
    pub fn share(self, count: u64) -> std::ops::Range<u64> {
        let until = |part: u32| (u128::from(count) * u128::from(part) / u128::from(self.of)) as u64;
        until(self.number)..until(self.number + 1)
    }
}

/// The distribution of the records that are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Requests {
    Uniform,
    Zipfian,
    Latest,
    /// The first share of the records gets this share of the operations.
    Hotspot {
        records: u64,
        operations: f64,
    },
    Sequential,
    /// The distance from the newest record is exponential, with this rate.
    Exponential {
        rate: f64,
    },
}

/// Records and operations on them. It never changes, and is shared by all shards.
#[derive(Clone, Debug)]
pub struct Workload {
    pub table: String,
    /// The records that exist before a run.
    pub record_count: u64,
    /// The number of operations of a run; 0 for any.
    pub operation_count: u64,
    pub insert_start: u64,
    pub insert_count: u64,
    pub client: Part,
    pub fields: u16,
    pub field_lengths: Lengths,
    pub field_prefix: String,
    pub reads_all_fields: bool,
    pub writes_all_fields: bool,
    pub data_integrity: bool,
    pub is_hashed: bool,
    pub zero_padding: usize,
    pub requests: Requests,
    pub scan_lengths: Lengths,
    /// For each kind, the share of the operations that are of it or of one before.
    pub(crate) cumulative: [f64; 5],
    /// The records among which the distribution `zipfian` chooses.
    pub(crate) zipfian_records: u64,
}

impl Workload {
    /// Reads and checks the properties. `length_histogram` is the text of the file with the lengths of fields.
    pub fn new(
        properties: &Properties,
        client: Part,
        length_histogram: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Workload, Wrong> {
        let _ = (properties, length_histogram, client);
        unimplemented!("the next commit reads the properties")
    }

    /// The key of a record as a number: hashed, or the record's number.
    #[inline]
    pub fn key(&self, record: u64) -> u64 {
        match self.is_hashed {
            true => keys::key(record),
            false => record,
        }
    }

    /// Appends the name of a record.
    pub fn name(&self, record: u64, out: &mut Vec<u8>) {
        let mut digits = [0; 20];
        let digits = decimal(self.key(record), &mut digits);
        out.extend_from_slice(b"user");
        out.resize(out.len() + self.zero_padding.saturating_sub(digits.len()), b'0');
        out.extend_from_slice(digits);
    }

    /// Appends the name of a field.
    pub fn field_name(&self, field: u16, out: &mut Vec<u8>) {
        let mut digits = [0; 20];
        out.extend_from_slice(self.field_prefix.as_bytes());
        out.extend_from_slice(decimal(u64::from(field), &mut digits));
    }

    /// Appends a value of a field: the one that belongs to the record with `dataintegrity`, otherwise random characters
    /// that can be printed.
    pub fn value(&self, record: u64, field: u16, random: &mut Random, out: &mut Vec<u8>) {
        let length = self.field_lengths.draw(random) as usize;
        match self.data_integrity {
            true => self.intact(record, field, length, out),
            false => printable(length, random, out),
        }
    }

    /// With `dataintegrity`, returns true if a record's field has its value. `scratch` is the caller's, and is overwritten.
    pub fn is_intact(&self, record: u64, field: u16, value: &[u8], scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        self.intact(record, field, self.field_lengths.most() as usize, scratch);
        scratch == value
    }

    /// `key:field`, then `:` and Java's hash of the text so far until it is long enough.
    fn intact(&self, record: u64, field: u16, length: usize, out: &mut Vec<u8>) {
        let start = out.len();
        self.name(record, out);
        out.push(b':');
        self.field_name(field, out);
        let (mut hash, mut hashed) = (0, start);
        while out.len() - start < length {
            out.push(b':');
            hash = hash_code(hash, &out[hashed..]);
            hashed = out.len();
            let mut digits = [0; 20];
            if hash < 0 {
                out.push(b'-');
            }
            out.extend_from_slice(decimal(u64::from(hash.unsigned_abs()), &mut digits));
        }
        out.truncate(start + length);
    }
}

/// Continues Java's `String.hashCode` over further characters, which are Latin-1.
pub fn hash_code(hash: i32, characters: &[u8]) -> i32 {
    characters.iter().fold(hash, |hash, &c| hash.wrapping_mul(31).wrapping_add(i32::from(c)))
}

/// Writes a number's digits to the end of the buffer, and returns them.
fn decimal(number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let (mut rest, mut first) = (number, buffer.len());
    loop {
        first -= 1;
        buffer[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &buffer[first..];
        }
    }
}

/// Appends random characters from blank to `~`, eight for each number that is drawn.
fn printable(length: usize, random: &mut Random, out: &mut Vec<u8>) {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    const BLANKS: u64 = 0x2020_2020_2020_2020;
    const CHARACTERS: u64 = 95;
    let end = out.len() + length;
    while out.len() < end {
        let drawn = random.next_u64();
        // Multiplies each byte, a random share of 256, by the number of characters: no product reaches its neighbour.
        let even = (((drawn & EVEN) * CHARACTERS) >> 8) & EVEN;
        let odd = (((drawn >> 8) & EVEN) * CHARACTERS) & !EVEN;
        let characters = (even | odd) + BLANKS;
        out.extend_from_slice(&characters.to_le_bytes());
    }
    out.truncate(end);
}
