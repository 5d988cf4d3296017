//! The requests that are sent.

use serde::{Deserialize, Serialize};

/// The requests that are sent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenWorkload")]
pub struct Workload {
    /// A Lua file in wrk's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// A single request that is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload { script: None, args: Vec::new(), get: Some("/".to_owned()) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWorkload {
    script: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    get: Option<String>,
}

impl TryFrom<WrittenWorkload> for Workload {
    type Error = &'static str;
    fn try_from(written: WrittenWorkload) -> Result<Workload, &'static str> {
        let WrittenWorkload { script, args, get } = written;
        match (&script, &get) {
            (Some(_), None) => {}
            (None, Some(_)) if args.is_empty() => {}
            (None, Some(_)) => return Err("`args` belong to a script"),
            (Some(_), Some(_)) => {
                return Err(
                    "a workload is either a script or one GET, which is `get: /` by default; \
                            remove one of them (a patch removes by `get: null`)",
                );
            }
            (None, None) => return Err("a workload is either `script: file.lua` or `get: /path`"),
        }
        Ok(Workload { script, args, get })
    }
}
