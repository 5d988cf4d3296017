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
//! | `redirects` | 0 | the number of redirects to the same host that are followed, each as a request with the label `… redirected` |
//! | `capture` | | what the steps behind it in a session need of the response, `{"NAME":"SOURCE"}` |
//!
//! Requests that follow from each other's responses are the steps of a session:
//!
//! ```text
//! {"label":"login","method":"POST","target":"/login","body":"user={{row.name}}","capture":{"token":"json:/token"}}
//! {"label":"items","target":"/items","headers":{"Authorization":"Bearer {{session.token}}"}}
//! {"session":"reader","weight":3,"steps":["login","think exp:500ms","items","items"]}
//! ```
//!
//! | key | default | meaning |
//! |---|---|---|
//! | `session` | | its name; unique |
//! | `weight` | 1 | the share of sessions, also relative to requests that are no steps |
//! | `steps` | | labels of requests, and between them think times, fixed or with a mean (`think exp:1s`) |
//! | `cookies` | true | cookies of responses are sent with the session's next requests |
//!
//! | source | is |
//! |---|---|
//! | `json:/POINTER` | the value in a JSON body to which the pointer (RFC 6901) leads |
//! | `header:NAME` | the value of a header field |
//! | `cookie:NAME` | the value of a cookie that this response sets |
//! | `form:FIELD` | the value of a field in a form of an HTML body |
//! | `regex:PATTERN` | the first group of the first match in the body, or the whole match |
//!
//! A session ends with its last step, or with the first one that fails: no later one is sent then. A
//! line `{"arrivals":"requests"}` makes the arrivals of an open loop requests, each the next of the
//! session that has been ready for the longest time, or the first of a new one. Otherwise they are
//! sessions.
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
//! | `{{session.NAME [url\|json]}}` | a value that an earlier step of the session has captured; encoded for a query or a form, or escaped for a text in JSON |
//!
//! In a session, the number is that of the session: its steps have the same row.
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
//! rules on bodies with nested values, and for captures by `regex:` or of escaped texts.
#![forbid(unsafe_code)]

mod capture;
mod check;
mod data;
mod entry;
mod error;
mod interned;
mod jar;
mod journeys;
mod json;
mod line;
mod mixture;
mod outline;
mod redirect;
mod show;
mod source;
mod steps;
mod template;
mod workload;
mod zipf;

pub use check::Checks;
pub use data::{Data, MOST_DATA_BYTES};
pub use error::Error;
pub use journeys::Journeys;
pub use mixture::Mix;
pub use show::{Shown, StepOf, show};
pub use source::Source;
pub use template::Clock;
pub use workload::{Checked, Mixed, Pool};

use interned::interned;
