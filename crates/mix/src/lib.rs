//! Requests without Lua: a file of weighted requests, a table of data, rules for answers.
//!
//! A [`Mix`] is read from text of one JSON object a line; empty lines and those that begin with `#`
//! are passed over:
//!
//! ```text
//! {"weight":60,"label":"search","target":"/hotels?lat={{uniform 37.78 38.26 4}}","check":"status=200"}
//! {"weight":40,"method":"POST","target":"/users","headers":{"X-Id":"{{uuid}}"},"body":"{\"name\":\"{{row.name}}\"}"}
//! ```
//!
//! | key | default | meaning |
//! |---|---|---|
//! | `weight` | 1 | how often, in proportion to the sum of all |
//! | `label` | method and target without query | what its figures stand under; no two are equal |
//! | `method` | `GET` | |
//! | `target` | | begins with `/`, or is absolute |
//! | `headers` | | instead of those of the same name that all requests have |
//! | `body` or `body_file` | none | a text, or the file's bytes as they are, without placeholders |
//! | `check` | status below 400 | see [`Checks`] |
//!
//! In `target`, `body` and the values of `headers` may stand:
//!
//! | placeholder | becomes |
//! |---|---|
//! | `{{seq}}` | the arrival's number: 0, 1, 2, … |
//! | `{{int A B}}` | a whole number from A to B, all alike |
//! | `{{uniform A B [DECIMALS]}}` | a number from A to B, with so many decimals, else 6 |
//! | `{{zipf A B [S]}}` | a whole number from A to B, the k-th with probability ∝ k^−S, S = 1 |
//! | `{{hex N}}` | N hexadecimal digits |
//! | `{{uuid}}` | a random one (version 4) |
//! | `{{time_ms}}` | milliseconds since 1970 |
//! | `{{connection}}` | the number of the connection, from 1 on, over the whole load |
//! | `{{row.COLUMN}}` | a cell of [`Data`], in the row of the arrival's number modulo the rows |
//!
//! In a target, what cannot stand there in a cell's text is percent-encoded; reserved characters
//! such as `&` stay what they are. Elsewhere cells are put in unchanged.
//!
//! **The same seed, target and number give the same bytes**, however many shards there are, in
//! whatever order and on whichever connection they leave: all randomness comes from a generator seeded by
//! these three. The exceptions are `time_ms`, which is the time of sending, and `connection`.
//!
//! Nothing here performs I/O or reads a clock; both are passed in. Once its buffers have grown,
//! making a request allocates nothing, and neither does checking an answer, but for `json:` rules on
//! bodies with nested values.
#![forbid(unsafe_code)]

mod check;
mod data;
mod error;
mod line;
mod mixture;
mod template;
mod workload;
mod zipf;

pub use check::Checks;
pub use data::{Data, MOST_DATA_BYTES};
pub use error::Error;
pub use mixture::{Mix, Source};
pub use workload::{Checked, Clock, Mixed, Pool};
