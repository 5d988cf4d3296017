//! The ids of operations, by which completions are recognised.

use crate::io::ConnectionId;

const GENERATION_BITS: u32 = 24;

/// An operation on a connection, in one use of its id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    pub(super) generation: u32,
    pub(super) id: ConnectionId,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Connect,
    Accept,
    Receive,
    Send,
    Writable,
    Cancel,
    /// A call on a file: its id is the number of the operation that it belongs to.
    File,
}

impl Kind {
    pub(super) const ALL: [Kind; 7] = [
        Kind::Connect,
        Kind::Accept,
        Kind::Receive,
        Kind::Send,
        Kind::Writable,
        Kind::Cancel,
        Kind::File,
    ];
}

/// The packed id of the call of an operation on a file. It needs no generation: the number is not
/// used again before the call has completed.
pub(super) fn of_file(number: u32) -> u64 {
    Operation { kind: Kind::File, generation: 0, id: ConnectionId(number) }.pack()
}

impl Operation {
    /// The generation of the next use of an id. It wraps around: by then no operation of the first
    /// uses is left, since each ends with its use or a turn later.
    pub(super) fn next_generation(generation: u32) -> u32 {
        (generation + 1) % (1 << GENERATION_BITS)
    }

    pub(super) fn pack(self) -> u64 {
        let Operation { kind, generation, id } = self;
        (kind as u64) << 56 | u64::from(generation) << 32 | u64::from(id.0)
    }

    pub(super) fn unpack(name: u64) -> Operation {
        let kind = Kind::ALL[(name >> 56) as usize];
        let generation = (name >> 32) as u32 % (1 << GENERATION_BITS);
        Operation { kind, generation, id: ConnectionId(name as u32) }
    }
}
