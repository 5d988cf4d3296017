//! The ends that an operation can have.

/// The end of an operation, with its number on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Status {
    Ok = 0,
    NotFound = 1,
    /// The operation has not ended: its completion follows from [`Session::poll`](crate::Session::poll).
    Pending = 2,
    /// The key's slice of the hash space is not in this store.
    NotOwner = 3,
    /// The value has not the form that the operation needs, or a key or a value exceeds its bound;
    /// nothing was changed.
    WrongType = 4,
    /// The log or the index has no room; nothing was changed.
    Full = 5,
    StorageFailed = 6,
    /// A bound on operations in progress is reached; nothing was changed.
    Busy = 7,
}

/// The answer to one operation outside a batch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    Done(Status),
    /// The completion of the operation with this serial follows.
    Pending(u64),
}
