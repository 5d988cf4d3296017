//! Requests without Lua: a file of weighted requests, a table of data, rules for responses.
//!
//! A [`Mix`] is read from text with one JSON object per line; empty lines and those that begin with
//! `#` are skipped:
//!
//! ```text
//! {"weight":60,"label":"search","target":"/hotels?lat={{uniform 37.78 38.26 4}}","check":"status=200"}
//! {"weight":40,"method":"POST","target":"/users","headers":{"X-Id":"{{uuid}}"},"body":"{\"name\":\"{{row.name}}\"}"}
//! ```
//!
//! | key | default | meaning |
//! |---|---|---|
//! | `weight` | 1 | the share of requests, relative to the sum of all weights |
//! | `label` | method and target without query | the name of its statistics; unique |
//! | `method` | `GET` | |
//! | `target` | | begins with `/`, or is absolute |
//! | `headers` | | replace the common ones of the same name |
//! | `body` or `body_file` | none | a text, or the file's unchanged bytes, without placeholders |
//! | `check` | status below 400 | see [`Checks`] |
//!
//! `target`, `body` and the values of `headers` may contain:
//!
//! | placeholder | is replaced by |
//! |---|---|
//! | `{{seq}}` | the arrival's number: 0, 1, 2, … |
//! | `{{int A B}}` | a whole number from A to B, uniformly distributed |
//! | `{{uniform A B [DECIMALS]}}` | a number from A to B, with this many decimals (default 6) |
//! | `{{zipf A B [S]}}` | a whole number from A to B, the k-th with probability ∝ k^−S; S is 1 by default |
//! | `{{hex N}}` | N hexadecimal digits |
//! | `{{uuid}}` | a random one (version 4) |
//! | `{{time_ms}}` | milliseconds since 1970 |
//! | `{{connection}}` | the number of the connection, from 1, over the whole load |
//! | `{{row.COLUMN}}` | a cell of [`Data`], row = the arrival's number modulo the number of rows |
//!
//! In a target, characters of a cell that are not allowed there are percent-encoded; reserved
//! characters such as `&` stay unchanged. Elsewhere cells are inserted unchanged.
//!
//! **The same seed, target and number give the same bytes**, whatever the number of shards, the
//! order and the connection: all randomness comes from a generator seeded by these three. The
//! exceptions are `time_ms`, which is the time of sending, and `connection`.
//!
//! Nothing here performs I/O or reads a clock; both are passed in. Once its buffers have grown,
//! making a request allocates nothing, and neither does checking a response, except for `json:`
//! rules on bodies with nested values.
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
pub use template::Clock;
pub use workload::{Checked, Mixed, Pool};
