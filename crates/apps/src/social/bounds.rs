//! The bounds of what one user can make the application keep or answer with. The original has none of
//! them.

/// The most bytes of a user's name, and of a first and a last name.
pub const LONGEST_NAME: usize = 128;

/// The most bytes of a password: bcrypt ignores what follows.
pub const LONGEST_PASSWORD: usize = 72;

/// The most bytes of a post as JSON; those of the workloads have about 1,200.
pub const LARGEST_POST: usize = 10_000;

/// The most mentions, URLs or media of one post.
pub const MOST_PARTS: usize = 100;

/// The most posts of one page of a timeline: together they fit into one message between services.
pub const LARGEST_PAGE: u64 = 100;

/// The most users that one may follow, and the most followers: they fit into one message.
pub const MOST_EDGES: usize = 20_000;
