//! The codes of ERROR, and the reasons why bytes are not a frame.

use std::fmt;

/// The reason why a connection ends.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u16)]
pub enum Code {
    Magic = 1,
    Version = 2,
    Kind = 3,
    Length = 4,
    Count = 5,
    Flags = 6,
    Checksum = 7,
    Opcode = 8,
    Status = 9,
    Padding = 10,
    /// A length of a key or value, a range or a text is not valid.
    Field = 11,
    /// The serial of a batch does not follow that of the one before.
    Serial = 12,
    /// The frame does not belong to this moment of a connection, or to this side of it.
    Unexpected = 13,
    /// The session that was to be resumed is not known, or was forgotten.
    SessionUnknown = 20,
    /// The server was filled by clients with another list of servers.
    TopologyMismatch = 21,
    /// The proof of the token is wrong.
    Denied = 22,
    /// A bound of the server is reached: its connections, or the memory for them.
    Busy = 23,
    /// A HELLO or a frame was not complete in time.
    TooSlow = 24,
    /// The server does not offer this operation.
    Unsupported = 25,
    /// The reply to a repeated batch is not kept any more.
    ReplyGone = 26,
    /// Another connection has resumed the session.
    Resumed = 27,
    /// The server ends.
    Ending = 28,
    /// A code that this version does not know.
    Other = 0xFFFF,
}

impl Code {
    const ALL: [Code; 23] = [
        Code::Magic,
        Code::Version,
        Code::Kind,
        Code::Length,
        Code::Count,
        Code::Flags,
        Code::Checksum,
        Code::Opcode,
        Code::Status,
        Code::Padding,
        Code::Field,
        Code::Serial,
        Code::Unexpected,
        Code::SessionUnknown,
        Code::TopologyMismatch,
        Code::Denied,
        Code::Busy,
        Code::TooSlow,
        Code::Unsupported,
        Code::ReplyGone,
        Code::Resumed,
        Code::Ending,
        Code::Other,
    ];

    pub fn of(number: u16) -> Code {
        Code::ALL.into_iter().find(|code| *code as u16 == number).unwrap_or(Code::Other)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Code::Magic => "this is not a frame of the key-value store",
            Code::Version => "another version of the protocol is needed",
            Code::Kind => "an unknown kind of frame",
            Code::Length => "the length of a frame is not valid",
            Code::Count => "the count of a frame is not valid",
            Code::Flags => "unknown flags",
            Code::Checksum => "the checksum of a frame is wrong",
            Code::Opcode => "an unknown opcode",
            Code::Status => "an unknown status",
            Code::Padding => "the padding is not zero",
            Code::Field => "a field of a frame is not valid",
            Code::Serial => "the serial does not follow",
            Code::Unexpected => "a frame that is not expected here",
            Code::SessionUnknown => "the session is unknown or was forgotten",
            Code::TopologyMismatch => "the server was filled with another list of servers",
            Code::Denied => "the proof of the token is wrong",
            Code::Busy => "the server has no room for this connection",
            Code::TooSlow => "a frame was not complete in time",
            Code::Unsupported => "the server does not offer this operation",
            Code::ReplyGone => "the reply to a repeated batch is not kept any more",
            Code::Resumed => "another connection has resumed the session",
            Code::Ending => "the server ends",
            Code::Other => "an unknown reason",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason why bytes are not a frame, and the place in the frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed {
    pub code: Code,
    pub offset: u32,
}

impl Malformed {
    pub(super) fn at(code: Code, offset: usize) -> Malformed {
        let offset = u32::try_from(offset).expect("a frame is shorter");
        Malformed { code, offset }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {} of the frame", self.code, self.offset)
    }
}

impl std::error::Error for Malformed {}
