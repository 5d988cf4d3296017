//! The protocol of the key-value store, version 1, both sides: frames of a header and a body.
//!
//! Integers are little-endian. A frame is checked as a whole before it is an event: its reader never
//! meets a length, an opcode or a padding that is not valid. The page of the book
//! (`docs/book/the-store-on-the-wire.md`) describes every field.

mod bytes;
mod code;
mod decoder;
mod fixed;
mod frame;
mod greeting;
mod header;
mod notice;
mod sized;
#[cfg(test)]
mod tests;
mod token;

pub use code::{Code, Malformed};
pub use decoder::Decoder;
pub use fixed::{ReplyFixed, RequestFixed, encode_reply_fixed, encode_request_fixed};
pub use frame::{Body, Frame};
pub use greeting::{
    Greeted, Hello, Owners, Range, Welcome, encode_hello, encode_prove, encode_welcome,
};
pub use header::{Checksums, Header, Kind, Opening, reseal};
pub use notice::{
    Durable, Error, Serials, Verb, encode_durable, encode_error, encode_operate, encode_report,
    encode_wrong_view,
};
pub use sized::{
    Answer, Answers, Completion, Completions, Item, Items, encode_answer, encode_completion,
    encode_item,
};
pub use token::Token;

/// The first two bytes of every frame.
pub const MAGIC: u16 = 0x4B42;
pub const VERSION: u8 = 1;
pub const HEADER_BYTES: usize = 32;
/// The longest frame, with its header.
pub const MOST_FRAME_BYTES: usize = 2 << 20;
/// The most operations of one frame.
pub const MOST_COUNT: usize = 65_536;
pub const MOST_KEY_BYTES: usize = 1024;
pub const MOST_VALUE_BYTES: usize = 1 << 20;
/// The longest value of a result: that of a SCAN, which has at least one record, of the longest key and
/// value.
pub const MOST_RESULT_BYTES: usize = 8 + MOST_KEY_BYTES + MOST_VALUE_BYTES;
/// The most records that one SCAN returns.
pub const MOST_SCANNED: u32 = 10_000;
/// The most serials that are excepted from a durable prefix.
pub const MOST_EXCEPTED: usize = 4096;
/// The longest text of an ERROR, in bytes.
pub const MOST_TEXT_BYTES: usize = 256;
/// The most frames of a session whose replies may be outstanding.
pub const MOST_PIPELINE: u8 = 64;
/// The number of parts of the hash space that can have different owners.
pub const SLICES: u16 = 4096;

/// The operation on a key.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Opcode {
    Read = 1,
    Upsert = 2,
    /// Adds a signed number to a value of 8 bytes, and returns the sum.
    Add = 3,
    Delete = 4,
    ReadAt = 5,
    WriteAt = 6,
    Scan = 7,
}

impl Opcode {
    pub const ALL: [Opcode; 7] = [
        Opcode::Read,
        Opcode::Upsert,
        Opcode::Add,
        Opcode::Delete,
        Opcode::ReadAt,
        Opcode::WriteAt,
        Opcode::Scan,
    ];

    pub fn of(byte: u8) -> Option<Opcode> {
        Opcode::ALL.into_iter().find(|opcode| *opcode as u8 == byte)
    }

    pub fn name(self) -> &'static str {
        match self {
            Opcode::Read => "READ",
            Opcode::Upsert => "UPSERT",
            Opcode::Add => "ADD",
            Opcode::Delete => "DELETE",
            Opcode::ReadAt => "READ_AT",
            Opcode::WriteAt => "WRITE_AT",
            Opcode::Scan => "SCAN",
        }
    }

    /// True if the operation has an offset and a length.
    pub fn is_partial(self) -> bool {
        matches!(self, Opcode::ReadAt | Opcode::WriteAt | Opcode::Scan)
    }

    /// True if a successful operation returns a value.
    pub fn returns_value(self) -> bool {
        matches!(self, Opcode::Read | Opcode::Add | Opcode::ReadAt | Opcode::Scan)
    }
}

/// The result of an operation. Each ends in exactly one other than `Pending`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Status {
    Ok = 0,
    NotFound = 1,
    /// The result follows in COMPLETIONS.
    Pending = 2,
    /// Another server owns the key's slice.
    NotOwner = 3,
    /// ADD on a value that has not 8 bytes, or a part beyond the end of a value. Nothing was changed.
    WrongType = 4,
    /// The log has no space for the record. Nothing was changed.
    Full = 5,
    StorageFailed = 6,
    /// The operation was not begun, and can be repeated.
    Busy = 7,
}

impl Status {
    pub const ALL: [Status; 8] = [
        Status::Ok,
        Status::NotFound,
        Status::Pending,
        Status::NotOwner,
        Status::WrongType,
        Status::Full,
        Status::StorageFailed,
        Status::Busy,
    ];

    pub fn of(byte: u8) -> Option<Status> {
        Status::ALL.get(usize::from(byte)).copied()
    }

    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::NotFound => "NOT_FOUND",
            Status::Pending => "PENDING",
            Status::NotOwner => "NOT_OWNER",
            Status::WrongType => "WRONG_TYPE",
            Status::Full => "FULL",
            Status::StorageFailed => "STORAGE_FAILED",
            Status::Busy => "BUSY",
        }
    }
}
