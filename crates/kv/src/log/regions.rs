//! The regions of the log: `Begin ≤ Head ≤ SafeReadOnly ≤ ReadOnly ≤ Tail`.
//!
//! Records from ReadOnly on are updated in place. Those below SafeReadOnly are not changed by
//! anybody: a session that has not seen the newest ReadOnly may still update those between. Below
//! Head records are only in the storage, and below Begin they are gone.

use crate::address::Address;
use crate::sync::{AtomicU64, Ordering};

/// The first address that is not that of no record.
const FIRST: u64 = 1;

/// The borders that all sessions read, on one cache line, and the tail, which all of them write, on
/// another.
#[derive(Debug)]
pub(super) struct Regions {
    shared: Shared,
    tail: Tail,
}

#[derive(Debug)]
#[repr(align(128))]
struct Shared {
    begin: AtomicU64,
    head: AtomicU64,
    safe_read_only: AtomicU64,
    read_only: AtomicU64,
}

#[derive(Debug)]
#[repr(align(128))]
struct Tail(AtomicU64);

/// The borders as a session saw them after it last refreshed its epoch, by which it acts until the
/// next time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Borders {
    pub(crate) begin: Address,
    pub(crate) head: Address,
    pub(crate) safe_read_only: Address,
    pub(crate) read_only: Address,
}

impl Regions {
    /// Makes the regions of an empty log, all of which is mutable.
    pub(super) fn new() -> Regions {
        // Behind the address that means no record: it is below Begin.
        let border = || AtomicU64::new(FIRST);
        let shared = Shared {
            begin: border(),
            head: border(),
            safe_read_only: border(),
            read_only: border(),
        };
        Regions { shared, tail: Tail(AtomicU64::new(0)) }
    }

    #[inline]
    pub(super) fn borders(&self) -> Borders {
        // Read from the least to the greatest, so that they are in order even if all of them move.
        let read = |border: &AtomicU64| Address::new(border.load(Ordering::Acquire));
        let Shared { begin, head, safe_read_only, read_only } = &self.shared;
        Borders {
            begin: read(begin),
            head: read(head),
            safe_read_only: read(safe_read_only),
            read_only: read(read_only),
        }
    }

    #[inline]
    pub(super) fn tail(&self) -> &AtomicU64 {
        &self.tail.0
    }

    /// Moves ReadOnly. The bytes before it are not safe until all sessions have seen it. False if
    /// another session has moved it from `from`.
    pub(super) fn move_read_only(&self, from: Address, to: Address) -> bool {
        exchange(&self.shared.read_only, from, to)
    }

    /// Begins with a log of which all is in the storage.
    pub(super) fn resume(&self, begin: u64, tail: u64) {
        let Shared { begin: first, head, safe_read_only, read_only } = &self.shared;
        first.store(begin.max(FIRST), Ordering::Release);
        for border in [head, safe_read_only, read_only] {
            border.store(tail.max(FIRST), Ordering::Release);
        }
        self.tail.0.store(tail, Ordering::Release);
    }

    pub(super) fn move_begin(&self, to: u64) {
        self.shared.begin.fetch_max(to, Ordering::AcqRel);
    }

    /// Makes all before an address read-only at once. No session may be changing a record.
    pub(super) fn end_mutable(&self, at: u64) {
        self.shared.read_only.fetch_max(at, Ordering::AcqRel);
        self.shared.safe_read_only.fetch_max(at, Ordering::AcqRel);
    }

    pub(super) fn move_safe_read_only(&self, to: Address) {
        self.shared.safe_read_only.fetch_max(to.get(), Ordering::AcqRel);
    }

    /// Moves Head; as [`Regions::move_read_only`].
    pub(super) fn move_head(&self, from: Address, to: Address) -> bool {
        exchange(&self.shared.head, from, to)
    }
}

fn exchange(border: &AtomicU64, from: Address, to: Address) -> bool {
    debug_assert!(from < to, "borders only rise");
    let success = Ordering::AcqRel;
    border.compare_exchange(from.get(), to.get(), success, Ordering::Relaxed).is_ok()
}
