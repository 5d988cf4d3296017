//! The bounds of a server, each of which is counted when it is reached.

use measure::Nanos;

/// The most connections of a shard, if there are descriptors for them.
pub const MOST_CONNECTIONS: usize = 4096;
/// The fewest, for which a server is started.
pub const LEAST_CONNECTIONS: usize = 8;
/// The bytes of replies that may wait on a connection before it is not read any more.
pub const MOST_WAITING: usize = 4 * 64 * 1024;
/// The most pending operations of a connection before it is not read any more.
pub const MOST_PENDING: usize = 4096;
/// The most sessions of clients. The one that was idle for the longest time is forgotten first.
pub const MOST_SESSIONS: usize = 64_000;
/// The most shards. Each has a session of its own in the store, which has at most 65,536.
pub const MOST_SHARDS: usize = 1024;
/// The bytes of replies that a session keeps to answer repeated batches.
pub const MOST_KEPT: usize = 1 << 20;
/// The bytes of replies that idle sessions keep together.
pub const MOST_KEPT_IDLE: usize = 64 << 20;
/// The bytes that the connections of a shard hold together: frames that arrive, replies that wait, and
/// replies that are kept. Beyond them the connection that holds most is closed.
pub const MOST_HELD: usize = 64 << 20;
/// The most memory that a shard takes beside what its connections hold: its buffers.
pub const SHARD_BUFFERS: usize = 8 << 20;

/// The longest time until a connection has a session.
pub const GREETING: Nanos = Nanos::from_secs(5);
/// The longest time from the first to the last byte of a frame, and in which a peer reads nothing.
pub const STALLED: Nanos = Nanos::from_secs(30);
/// The time for which a refused connection is still read, so that its ERROR arrives.
pub const FAREWELL: Nanos = Nanos::from_secs(1);
/// The longest time in which a server that ends sends its last replies.
pub const ENDING: Nanos = Nanos::from_secs(2);
