//! The pace of a load: the distribution of the gaps between requests, the change of their rate over
//! time, the think time of users, and the division between generators. Each is parsed from its text; nothing here reads a clock.

mod distribution;
mod list;
mod portion;
mod shape;
mod think;

pub use distribution::{Distribution, UnitProcess};
pub use portion::Portion;
pub use shape::{Segment, Shape, Walk};
pub use think::Think;
