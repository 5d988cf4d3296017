//! The records and operations that properties describe.

use std::ops::{Range, RangeInclusive};

use measure::Random;

use crate::keys;
use crate::lengths::{Histogram, Lengths};
use crate::properties::{Properties, Wrong};
use crate::zipf::{Zeta, Zipf};

#[cfg(test)]
pub(crate) mod tests;

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
    pub fn share(self, count: u64) -> Range<u64> {
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

/// The largest count of records or operations; sums of two stay numbers of Java's `long`.
const MOST_RECORDS: u64 = 1 << 61;
/// The longest field and scan: Java's `int`.
const MOST_LENGTH: u32 = i32::MAX as u32;
/// The longest record in bytes: each outstanding operation may hold one.
const MOST_RECORD: u64 = 64 << 20;
const MOST_PADDING: usize = 1000;
/// The most draws for one record, on average, in a distribution that also draws what is no record.
const MOST_DRAWS: f64 = 1e6;
const SHARES: RangeInclusive<f64> = 0.0..=f64::MAX;
/// The properties with the shares of the kinds, in their order.
const PROPORTIONS: [&str; 5] = [
    "readproportion",
    "updateproportion",
    "insertproportion",
    "scanproportion",
    "readmodifywriteproportion",
];

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
    /// Reads of all fields list them by name; scans and read-modify-writes do not.
    pub names_all_fields: bool,
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
        let table = properties.text("table");
        check_class(properties)?;
        let counts = 0..=MOST_RECORDS;
        let record_count: u64 = properties.count("recordcount", 1..=MOST_RECORDS)?;
        let insert_start = properties.count("insertstart", counts.clone())?;
        let insert_count = match properties.text("insertcount").is_empty() {
            true => record_count.saturating_sub(insert_start),
            false => properties.count("insertcount", counts.clone())?,
        };
        if insert_count == 0 || record_count < insert_start + insert_count {
            return Err(properties.contradiction(
                &["insertstart", "insertcount", "recordcount"],
                &format!(
                    "is {insert_start} and `insertcount` is {insert_count}, which are not records of the \
                     {record_count}; correct one of them, or `recordcount`"
                ),
            ));
        }
        let operation_count = properties.count("operationcount", counts)?;
        let zeta = Zeta::default();
        let field_lengths = field_lengths(properties, &zeta, length_histogram)?;
        let data_integrity = properties.is_true("dataintegrity");
        if data_integrity && !matches!(field_lengths, Lengths::Constant(_)) {
            let why = "needs values of constant length; remove it or `fieldlengthdistribution`";
            return Err(properties.wrong("dataintegrity", why));
        }
        let cumulative = cumulative(properties)?;
        // The original takes twice the inserts that it expects, and one record too many.
        let insert_proportion = properties.number("insertproportion", SHARES)?;
        let expected = (operation_count as f64 * insert_proportion * 2.0) as u64;
        let zipfian_records = insert_count.saturating_add(expected).saturating_add(1);
        let requests = requests(properties, record_count, insert_count)?;
        if requests == Requests::Zipfian
            && MOST_DRAWS < zipfian_records as f64 / record_count as f64
        {
            let why = format!(
                "makes {zipfian_records} records, of which {record_count} exist, so that most draws are repeated; \
                 use more records, or fewer operations with `maxexecutiontime`"
            );
            let names = ["insertproportion", "operationcount", "recordcount"];
            return Err(properties.contradiction(&names, &why));
        }
        let fields = properties.count("fieldcount", 1..=u16::MAX)?;
        let longest = u64::from(fields) * u64::from(field_lengths.most());
        if MOST_RECORD < longest {
            let why =
                "makes records over 64 MiB together with `fieldcount`; use shorter or fewer fields";
            return Err(properties.contradiction(&["fieldlength", "fieldcount"], why));
        }
        Ok(Workload {
            table,
            record_count,
            operation_count,
            insert_start,
            insert_count,
            client,
            fields,
            field_lengths,
            field_prefix: properties.text("fieldnameprefix"),
            reads_all_fields: properties.is_true("readallfields"),
            names_all_fields: data_integrity || properties.is_true("readallfieldsbyname"),
            writes_all_fields: properties.is_true("writeallfields"),
            data_integrity,
            is_hashed: properties.text("insertorder") == "hashed",
            zero_padding: properties.count("zeropadding", 0..=MOST_PADDING)?,
            requests,
            scan_lengths: scan_lengths(properties, &zeta)?,
            cumulative,
            zipfian_records,
        })
    }

    /// Returns true if the workload has operations of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        let before = (kind as usize).checked_sub(1).map_or(0.0, |before| self.cumulative[before]);
        before < self.cumulative[kind as usize]
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
        const USER: usize = 4;
        const LONGEST: usize = USER + DIGITS;
        let (mut name, begin) = ([0; 2 * LONGEST], out.len());
        let place = (&mut name[USER..LONGEST]).try_into().expect("it has this length");
        let first = write_decimal(self.key(record), place);
        if DIGITS - first < self.zero_padding {
            out.extend_from_slice(b"user");
            out.resize(begin + USER + self.zero_padding - (DIGITS - first), b'0');
            return out.extend_from_slice(&name[USER + first..LONGEST]);
        }
        // Before the digits; to copy a fixed number of bytes takes a third of the time.
        name[first..first + USER].copy_from_slice(b"user");
        out.extend_from_slice(&name[first..][..LONGEST]);
        out.truncate(begin + LONGEST - first);
    }

    /// Appends the name of a field.
    pub fn field_name(&self, field: u16, out: &mut Vec<u8>) {
        let mut digits = [0; DIGITS];
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
            let mut digits = [0; DIGITS];
            if hash < 0 {
                out.push(b'-');
            }
            out.extend_from_slice(decimal(u64::from(hash.unsigned_abs()), &mut digits));
        }
        out.truncate(start + length);
    }
}

/// Refuses a workload that is not YCSB's core workload.
fn check_class(properties: &Properties) -> Result<(), Wrong> {
    let classes =
        ["site.ycsb", "com.yahoo.ycsb"].map(|package| format!("{package}.workloads.CoreWorkload"));
    let class = properties.text("workload");
    match () {
        () if classes.contains(&class) => Ok(()),
        () if class.is_empty() => {
            let why = format!("is missing; write workload={}", classes[0]);
            Err(properties.wrong("workload", &why))
        }
        () => {
            let why = format!("is `{class}`, which is not supported; write {}", classes[0]);
            Err(properties.wrong("workload", &why))
        }
    }
}

fn field_lengths(
    properties: &Properties,
    zeta: &Zeta,
    length_histogram: impl FnOnce(&str) -> Result<String, String>,
) -> Result<Lengths, Wrong> {
    let ends = ("minfieldlength", "fieldlength");
    let most: u32 = properties.count(ends.1, 0..=MOST_LENGTH)?;
    match &*properties.text("fieldlengthdistribution") {
        "constant" => Ok(Lengths::Constant(most)),
        "uniform" => {
            let (least, most) = range(properties, ends, 0)?;
            Ok(Lengths::Uniform { least, most })
        }
        "zipfian" => zipfian(range(properties, ends, 0)?, zeta),
        "histogram" => {
            let name = properties.text("fieldlengthhistogram");
            let histogram = length_histogram(&name).and_then(|text| Histogram::read(&text));
            let histogram = histogram.map_err(|why| {
                let why = format!(
                    "names `{name}`, which cannot be used: {why}\n  correct it, or name another file"
                );
                properties.wrong("fieldlengthhistogram", &why)
            })?;
            Ok(Lengths::Histogram(histogram))
        }
        other => {
            let why = format!("is `{other}`; write one of: constant, uniform, zipfian, histogram");
            Err(properties.wrong("fieldlengthdistribution", &why))
        }
    }
}

fn scan_lengths(properties: &Properties, zeta: &Zeta) -> Result<Lengths, Wrong> {
    // A scan of nothing would be an operation that no store sees as one.
    let (least, most) = range(properties, ("minscanlength", "maxscanlength"), 1)?;
    let choices = [("uniform", false), ("zipfian", true)];
    match properties.choice("scanlengthdistribution", &choices)? {
        false => Ok(Lengths::Uniform { least, most }),
        true => zipfian((least, most), zeta),
    }
}

fn zipfian((least, most): (u32, u32), zeta: &Zeta) -> Result<Lengths, Wrong> {
    let ranks = Zipf::new(u64::from(most - least) + 1, zeta);
    Ok(Lengths::Zipfian { least, ranks })
}

/// Returns the values of two properties, of which the first is at most the second.
fn range(
    properties: &Properties,
    (least, most): (&str, &str),
    shortest: u32,
) -> Result<(u32, u32), Wrong> {
    let end = |name| properties.count(name, shortest..=MOST_LENGTH);
    let ends = (end(least)?, end(most)?);
    if ends.1 < ends.0 {
        let why = format!("is {}, above `{most}` with {}; correct one of them", ends.0, ends.1);
        return Err(properties.contradiction(&[least, most], &why));
    }
    Ok(ends)
}

fn cumulative(properties: &Properties) -> Result<[f64; 5], Wrong> {
    let mut shares = [0.0; 5];
    for (share, name) in shares.iter_mut().zip(PROPORTIONS) {
        *share = properties.number(name, SHARES)?;
    }
    let sum: f64 = shares.iter().sum();
    if sum == 0.0 {
        let names = PROPORTIONS.join(", ");
        let why = format!("is 0, as are the others; set one of: {names}");
        return Err(properties.contradiction(&PROPORTIONS, &why));
    }
    if sum.is_infinite() {
        let why = "is, with the others, more than a number can be; write smaller ones";
        return Err(properties.contradiction(&PROPORTIONS, why));
    }
    let mut cumulative = [0.0; 5];
    let mut before = 0.0;
    for (until, share) in cumulative.iter_mut().zip(shares) {
        before += share / sum;
        *until = before;
    }
    // The sum of rounded shares can be below 1, and a number above it must not choose a kind without a share.
    let last = shares.iter().rposition(|share| 0.0 < *share).expect("the sum is above 0");
    cumulative[last..].fill(1.0);
    Ok(cumulative)
}

fn requests(properties: &Properties, records: u64, inserted: u64) -> Result<Requests, Wrong> {
    let choices = [
        ("uniform", Requests::Uniform),
        ("zipfian", Requests::Zipfian),
        ("latest", Requests::Latest),
        ("hotspot", Requests::Hotspot { records: 0, operations: 0.0 }),
        ("sequential", Requests::Sequential),
        ("exponential", Requests::Exponential { rate: 0.0 }),
    ];
    match properties.choice("requestdistribution", &choices)? {
        Requests::Hotspot { .. } => {
            let data = properties.number("hotspotdatafraction", 0.0..=1.0)?;
            let operations = properties.number("hotspotopnfraction", 0.0..=1.0)?;
            let hot = (inserted as f64 * data) as u64;
            if hot == 0 && 0.0 < operations || hot == inserted && operations < 1.0 {
                let side = if hot == 0 { "no hot" } else { "only hot" };
                let why = format!(
                    "makes {side} records of {inserted}, but `hotspotopnfraction` is {operations}; \
                     correct one of them"
                );
                let names = ["hotspotdatafraction", "hotspotopnfraction", "recordcount"];
                return Err(properties.contradiction(&names, &why));
            }
            Ok(Requests::Hotspot { records: hot, operations })
        }
        Requests::Exponential { .. } => {
            let percentile = properties.number("exponential.percentile", 0.0..=100.0)?;
            let frac = properties.number("exponential.frac", SHARES)?;
            let rate = -(1.0 - percentile / 100.0).ln() / (records as f64 * frac);
            // Of a draw, this is about the probability that it is a record.
            if !(rate.is_finite() && 1.0 / MOST_DRAWS < rate * records as f64) {
                let why = "makes no distribution of these records; write a number between 0 and 100, such as \
                           95, and a smaller `exponential.frac` above 0";
                let names = ["exponential.percentile", "exponential.frac"];
                return Err(properties.contradiction(&names, why));
            }
            Ok(Requests::Exponential { rate })
        }
        other => Ok(other),
    }
}

/// Continues Java's `String.hashCode` over further characters, which are Latin-1.
pub fn hash_code(hash: i32, characters: &[u8]) -> i32 {
    characters.iter().fold(hash, |hash, &c| hash.wrapping_mul(31).wrapping_add(i32::from(c)))
}

/// The room for the digits of a number.
const DIGITS: usize = 24;

/// Writes the digits of a number, and returns them.
fn decimal(number: u64, buffer: &mut [u8; DIGITS]) -> &[u8] {
    let first = write_decimal(number, buffer);
    &buffer[first..]
}

/// Writes the digits of a number to the end of the buffer, eight at a time, and returns the place of the first.
#[inline]
fn write_decimal(number: u64, buffer: &mut [u8; DIGITS]) -> usize {
    const EIGHT: u64 = 100_000_000;
    let parts = [number / EIGHT / EIGHT, number / EIGHT % EIGHT, number % EIGHT].map(eight_digits);
    for (place, part) in buffer.chunks_exact_mut(8).zip(parts) {
        place.copy_from_slice(&(part | 0x3030_3030_3030_3030).to_le_bytes());
    }
    let before = parts.iter().position(|part| *part != 0);
    // At least the last digit is written.
    before.map_or(DIGITS - 1, |part| 8 * part + (parts[part].trailing_zeros() / 8) as usize)
}

/// Returns the digits of a number below 10^8, one in each byte, the first in the lowest.
#[inline]
fn eight_digits(number: u64) -> u64 {
    // Two numbers of four digits, then four of two, and eight of one, each beside its remainder. The
    // multiplications are divisions by 100 and by 10, exact for numbers as small as these.
    let fours = ((number % 10_000) << 32) | (number / 10_000);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = ((fours - 100 * hundreds) << 16) | hundreds;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    ((twos - 10 * tens) << 8) | tens
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
