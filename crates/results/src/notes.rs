//! The notes of a sender or of a receiver of events, as a file.
//!
//! A file begins with a line of JSON, the header; then there are blocks: a letter, the length of the
//! content, the content, and the CRC-32 of all of that. A receiver appends blocks while it receives,
//! so a killed one leaves a file whose beginning is whole. The last block says what is missing.

use std::io::{self, BufRead, Read, Write};

use measure::{Instant, Nanos, Offset};
use serde::{Deserialize, Serialize};

use crate::events::Sent;

pub use self::arrivals::{Arrivals, Blocks};

mod arrivals;

#[cfg(test)]
mod tests;

pub const SCHEMA: &str = "benchwright.notes/1";

/// The most bytes of a header, with its line feed.
const MOST_HEADER: u64 = 1 << 20;

/// The most bytes of a block's content.
const MOST_BLOCK: usize = 1 << 20;

/// The bytes of an event that was sent.
const SENT_BYTES: usize = 32;

/// The events that were sent in one block.
const SENT_OF_BLOCK: usize = 2000;

/// The kinds of blocks.
mod kind {
    /// A source that a receiver has met, which gets the next number.
    pub(super) const SOURCE: u8 = b'S';
    pub(super) const ARRIVALS: u8 = b'A';
    pub(super) const SENT: u8 = b'T';
    pub(super) const END: u8 = b'E';
}

/// The beginning of a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Header {
    pub schema: String,
    /// The tool and its version.
    pub tool: String,
    /// The clock of all times: the id of the host's boot, from which its CLOCK_MONOTONIC counts.
    /// Absent if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    #[serde(flatten)]
    pub side: Side,
}

/// The side of a channel whose notes these are.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Side {
    Sender(Sender),
    Receiver,
}

/// The properties of all events of a sender.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Sender {
    /// The sources of its events.
    pub sources: Vec<String>,
    /// The names of the outcomes of requests, by their numbers; the first one is acceptance.
    pub outcomes: Vec<String>,
    /// The begin of the measurement: events that were intended before do not count.
    pub from_ns: u64,
    /// The end of the measurement.
    pub to_ns: u64,
    /// The clocks that its own was compared with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub compared: Vec<Compared>,
}

/// Another clock, compared with that of a sender.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Compared {
    /// The address that was asked.
    pub address: String,
    /// The clock, as it is named in the header of a receiver.
    pub clock: String,
    /// The offset before the load.
    pub before: Ahead,
    /// The offset after it; absent if there was no answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<Ahead>,
}

/// An offset in a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Ahead {
    /// The other clock's time less the own time.
    pub ahead_ns: i64,
    /// The most by which that may be wrong.
    pub error_ns: u64,
}

impl From<Offset> for Ahead {
    fn from(offset: Offset) -> Ahead {
        Ahead { ahead_ns: offset.ahead_ns, error_ns: offset.error.0 }
    }
}

impl From<Ahead> for Offset {
    fn from(ahead: Ahead) -> Offset {
        Offset { ahead_ns: ahead.ahead_ns, error: Nanos(ahead.error_ns) }
    }
}

impl Compared {
    /// Returns the offset during the load; `None` if the clocks were not compared after it.
    pub fn offset(&self) -> Option<Offset> {
        Some(Offset::between(self.before.into(), self.after?.into()))
    }
}

/// The content of the last block.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct End {
    /// The events, or the arrivals, in the file.
    pub noted: u64,
    /// Those that found no room in it.
    pub unnoted: u64,
    /// The time until which a receiver waited, by its clock; absent in the notes of a sender.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until_ns: Option<u64>,
}

/// The schema of a [`Reception`].
pub const SCHEMA_OF_RECEPTION: &str = "benchwright.receive/1";

/// The counts of a receiver, which it prints at its end.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Reception {
    pub schema: String,
    pub address: String,
    /// As in the header.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// The file of its notes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub notes: Option<String>,
    pub ended: Ended,
    /// All arrivals, duplicates included.
    pub arrivals: u64,
    /// Those in the file.
    pub noted: u64,
    /// Those that found no room in the file.
    pub unnoted: u64,
    /// The requests that are not events, and the connections that were refused or ended.
    pub wrong: u64,
    /// The times of the first and the last arrival; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_ns: Option<u64>,
    /// The CPU time of the process.
    pub cpu_ns: u64,
}

/// The reason why a receiver ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    #[default]
    Interrupted,
    /// As many events arrived as were expected.
    Expected,
    /// Nothing arrived for long enough.
    Quiet,
}

impl Header {
    pub fn new(clock: Option<String>, side: Side) -> Header {
        let tool = format!("benchwright {}", env!("CARGO_PKG_VERSION"));
        Header { schema: SCHEMA.to_owned(), tool, clock, side }
    }

    /// Returns the line with which a file begins.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("a header is plain data");
        line.push(b'\n');
        line
    }

    /// Reads the first line of a file.
    pub fn read(input: &mut impl BufRead) -> Result<Header, String> {
        let mut line = Vec::new();
        let read = input.take(MOST_HEADER).read_until(b'\n', &mut line);
        read.map_err(|error| error.to_string())?;
        if line.is_empty() {
            return Err(
                "the file is empty: a sender writes its notes at the end of its load, and \
                        this one ended before"
                    .to_owned(),
            );
        }
        #[derive(Deserialize)]
        struct Named {
            schema: String,
        }
        let wrong = |_| "it does not begin with the header of a file of notes".to_owned();
        let Named { schema } = serde_json::from_slice(&line).map_err(wrong)?;
        if schema != SCHEMA {
            return Err(format!("it is of the format {schema}, and this tool reads {SCHEMA}"));
        }
        serde_json::from_slice(&line).map_err(|error| format!("its header is damaged: {error}"))
    }
}

/// Appends a block.
pub fn put_block(kind: u8, content: &[u8], out: &mut Vec<u8>) {
    assert!(content.len() <= MOST_BLOCK, "blocks are closed before they are too long");
    let begin = out.len();
    out.push(kind);
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out.extend_from_slice(content);
    let checksum = crc32fast::hash(&out[begin..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Returns the last block.
pub fn end(end: End) -> Vec<u8> {
    let mut block = Vec::new();
    let content = serde_json::to_vec(&end).expect("numbers are plain data");
    put_block(kind::END, &content, &mut block);
    block
}

/// Writes all notes of a sender: those of each of its sources, in the order of the header.
pub fn write_sent(
    header: &Header,
    senders: &[Vec<Sent>],
    unnoted: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(&header.line())?;
    let (mut content, mut block) = (Vec::new(), Vec::new());
    for (source, sent) in (0_u16..).zip(senders) {
        for some in sent.chunks(SENT_OF_BLOCK) {
            content.clear();
            content.extend_from_slice(&source.to_le_bytes());
            some.iter().for_each(|sent| content.extend_from_slice(&sent.to_bytes()));
            block.clear();
            put_block(kind::SENT, &content, &mut block);
            out.write_all(&block)?;
        }
    }
    let noted = senders.iter().map(|sent| sent.len() as u64).sum();
    out.write_all(&end(End { noted, unnoted, until_ns: None }))?;
    out.flush()
}

/// An item of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note<'a> {
    /// A source; the first one has the number 0.
    Source(&'a [u8]),
    Arrival {
        source: u16,
        id: &'a [u8],
        at: Instant,
    },
    Sent {
        source: u16,
        sent: Sent,
    },
}

/// The end of a file, after its last note.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rest {
    /// The last block; absent if the program was killed.
    pub end: Option<End>,
    /// The bytes that do not make a whole block.
    pub torn: u64,
}

/// Reads all whole blocks after the header, in their order.
///
/// Reading stops at a block that is cut or damaged. A whole block with a wrong content, or an
/// error of `take`, is an error.
pub fn read(
    input: &mut impl Read,
    mut take: impl FnMut(Note<'_>) -> Result<(), String>,
) -> Result<Rest, String> {
    let mut rest = Rest::default();
    let (mut block, mut sources) = (Vec::new(), 0);
    loop {
        block.clear();
        let torn = match read_block(input, &mut block).map_err(|error| error.to_string())? {
            Block::None => return Ok(rest),
            Block::Whole => 0,
            Block::Torn => block.len() as u64,
        };
        if 0 < torn || rest.end.is_some() {
            let unread = io::copy(input, &mut io::sink()).map_err(|error| error.to_string())?;
            rest.torn = block.len() as u64 + unread;
            return Ok(rest);
        }
        let content = &block[HEAD..block.len() - CHECKSUM];
        let read = match block[0] {
            kind::SOURCE => {
                sources += 1;
                take(Note::Source(content)).map(Some)
            }
            kind::ARRIVALS => arrivals::read(content, sources, &mut take),
            kind::SENT => read_sent(content, &mut take),
            kind::END => {
                rest.end = serde_json::from_slice(content).ok();
                Ok(rest.end.map(|_| ()))
            }
            // A later version may have more.
            _ => Ok(Some(())),
        };
        read?.ok_or_else(|| format!("a block `{}` has a wrong content", char::from(block[0])))?;
    }
}

/// The bytes of a block before its content.
const HEAD: usize = 5;
const CHECKSUM: usize = 4;

enum Block {
    None,
    Whole,
    Torn,
}

/// Reads the next block into `block`, or as much as there is.
fn read_block(input: &mut impl Read, block: &mut Vec<u8>) -> io::Result<Block> {
    let mut more = |block: &mut Vec<u8>, length: usize| {
        let read = input.by_ref().take(length as u64).read_to_end(block)?;
        Ok::<bool, io::Error>(read == length)
    };
    if !more(block, HEAD)? {
        return Ok(if block.is_empty() { Block::None } else { Block::Torn });
    }
    let length = u32::from_le_bytes([block[1], block[2], block[3], block[4]]) as usize;
    if MOST_BLOCK < length || !more(block, length + CHECKSUM)? {
        return Ok(Block::Torn);
    }
    let (checked, checksum) = block.split_at(block.len() - CHECKSUM);
    let is_right = crc32fast::hash(checked).to_le_bytes() == checksum;
    Ok(if is_right { Block::Whole } else { Block::Torn })
}

/// Reads a block of sent events; `None` if its content is wrong.
fn read_sent(
    content: &[u8],
    take: &mut impl FnMut(Note<'_>) -> Result<(), String>,
) -> Result<Option<()>, String> {
    let Some((source, records)) = content.split_first_chunk() else { return Ok(None) };
    let source = u16::from_le_bytes(*source);
    let (records, []) = records.as_chunks::<SENT_BYTES>() else { return Ok(None) };
    for record in records {
        take(Note::Sent { source, sent: Sent::from_bytes(record) })?;
    }
    Ok(Some(()))
}

/// Returns the number that an id of ours is.
pub fn number(id: &[u8]) -> Option<u64> {
    let is_plain = id.iter().all(u8::is_ascii_digit) && (id == b"0" || !id.starts_with(b"0"));
    let number = std::str::from_utf8(id).ok().filter(|_| is_plain)?.parse().ok()?;
    (number <= Sent::MOST_NUMBER).then_some(number)
}
