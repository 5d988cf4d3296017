//! The header of a frame, and its checksum.

use super::bytes::{u16_at, u32_at, u64_at};
use super::{Code, HEADER_BYTES, MAGIC, MOST_COUNT, MOST_FRAME_BYTES, Malformed, VERSION};

/// The meaning of a frame's body.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Kind {
    Hello = 0x01,
    Welcome = 0x02,
    Prove = 0x03,
    Operate = 0x04,
    Report = 0x05,
    RequestFixed = 0x10,
    Request = 0x11,
    ReplyFixed = 0x18,
    Reply = 0x19,
    Completions = 0x1A,
    WrongView = 0x1B,
    Durable = 0x1C,
    Error = 0x7F,
}

impl Kind {
    pub const ALL: [Kind; 13] = [
        Kind::Hello,
        Kind::Welcome,
        Kind::Prove,
        Kind::Operate,
        Kind::Report,
        Kind::RequestFixed,
        Kind::Request,
        Kind::ReplyFixed,
        Kind::Reply,
        Kind::Completions,
        Kind::WrongView,
        Kind::Durable,
        Kind::Error,
    ];

    pub fn of(byte: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// True if the frames of this kind have a checksum in any case: both sides agree by them.
    fn is_always_checked(self) -> bool {
        matches!(self, Kind::Hello | Kind::Welcome | Kind::Prove)
    }
}

/// The use of checksums on a connection. They are off only if both sides say so.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Checksums {
    #[default]
    On,
    Off,
}

/// The header of a frame, without the magic number, the version and the checksum.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    pub kind: Kind,
    /// The bytes of the frame, with the header.
    pub length: usize,
    pub view: u32,
    /// The number of operations, completions, serials or ranges; 0 in other kinds of frames.
    pub count: usize,
    /// The serial of the first operation.
    pub serial: u64,
}

const COUNT_AT: usize = 12;
const FLAGS_AT: usize = 24;
const CHECKSUM_AT: usize = 28;

impl Header {
    /// Reads and checks a header of [`HEADER_BYTES`].
    pub(super) fn read(bytes: &[u8]) -> Result<Header, Malformed> {
        let refuse = |code, offset| Err(Malformed::at(code, offset));
        if u16_at(bytes, 0) != MAGIC {
            return refuse(Code::Magic, 0);
        }
        if bytes[2] != VERSION {
            return refuse(Code::Version, 2);
        }
        let Some(kind) = Kind::of(bytes[3]) else { return refuse(Code::Kind, 3) };
        let length = u32_at(bytes, 4) as usize;
        if !(HEADER_BYTES..=MOST_FRAME_BYTES).contains(&length) || !length.is_multiple_of(8) {
            return refuse(Code::Length, 4);
        }
        let count = u32_at(bytes, COUNT_AT) as usize;
        if MOST_COUNT < count {
            return refuse(Code::Count, COUNT_AT);
        }
        if u32_at(bytes, FLAGS_AT) != 0 {
            return refuse(Code::Flags, FLAGS_AT);
        }
        let (view, serial) = (u32_at(bytes, 8), u64_at(bytes, 16));
        if serial.checked_add(count as u64).is_none() {
            return refuse(Code::Serial, 16);
        }
        Ok(Header { kind, length, view, count, serial })
    }

    /// Compares the checksum of a whole frame.
    pub(super) fn check(self, frame: &[u8], checksums: Checksums) -> Result<(), Malformed> {
        if u32_at(frame, CHECKSUM_AT) == sealed(self.kind, checksums, frame) {
            return Ok(());
        }
        Err(Malformed::at(Code::Checksum, CHECKSUM_AT))
    }

    /// Returns an error unless the count is one that frames without a count have.
    pub(super) fn expect_count(self, expected: usize) -> Result<(), Malformed> {
        if self.count == expected { Ok(()) } else { Err(Malformed::at(Code::Count, COUNT_AT)) }
    }
}

/// The CRC32C of a frame whose field for it counts as zero.
fn checksum(frame: &[u8]) -> u32 {
    let start = crc32c::crc32c(&frame[..CHECKSUM_AT]);
    let start = crc32c::crc32c_append(start, &[0; HEADER_BYTES - CHECKSUM_AT]);
    crc32c::crc32c_append(start, &frame[HEADER_BYTES..])
}

/// A frame that is being appended to a buffer.
#[derive(Debug)]
#[must_use = "a frame has neither length nor checksum before it is finished"]
pub struct Opening {
    start: usize,
    kind: Kind,
    checksums: Checksums,
}

impl Opening {
    /// Appends a header, whose length, count and checksum [`Opening::finish`] writes.
    pub fn begin(
        kind: Kind,
        view: u32,
        serial: u64,
        checksums: Checksums,
        out: &mut Vec<u8>,
    ) -> Opening {
        let start = out.len();
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[VERSION, kind as u8, 0, 0, 0, 0]);
        out.extend_from_slice(&view.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&serial.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        Opening { start, kind, checksums }
    }

    /// The length of the frame so far.
    pub fn length(&self, out: &[u8]) -> usize {
        out.len() - self.start
    }

    /// Removes the frame again.
    pub fn withdraw(self, out: &mut Vec<u8>) {
        out.truncate(self.start);
    }

    /// Pads the frame, and writes its length, its count and its checksum.
    pub fn finish(self, count: usize, out: &mut Vec<u8>) {
        let length = super::bytes::padded(out.len() - self.start);
        assert!(
            length <= MOST_FRAME_BYTES && count <= MOST_COUNT,
            "the writer of a frame keeps its bounds"
        );
        out.resize(self.start + length, 0);
        let frame = &mut out[self.start..];
        frame[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        frame[COUNT_AT..COUNT_AT + 4].copy_from_slice(&(count as u32).to_le_bytes());
        let checksum = sealed(self.kind, self.checksums, frame);
        frame[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Gives a whole frame the checksum that it has on this connection.
pub fn reseal(frame: &mut [u8], checksums: Checksums) {
    let kind = Kind::of(frame[3]).expect("a frame of ours");
    let checksum = sealed(kind, checksums, frame);
    frame[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// The checksum of a frame of this kind.
fn sealed(kind: Kind, checksums: Checksums, frame: &[u8]) -> u32 {
    match checksums {
        Checksums::Off if !kind.is_always_checked() => 0,
        Checksums::On | Checksums::Off => checksum(frame),
    }
}
