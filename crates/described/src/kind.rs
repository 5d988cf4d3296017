//! The kind of a source, by its contents.

use std::fmt;
use std::str::FromStr;

use crate::line;

/// A kind of source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    OpenApi,
    Har,
    Log,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::OpenApi, Kind::Har, Kind::Log];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::OpenApi => "openapi",
            Kind::Har => "har",
            Kind::Log => "log",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::OpenApi => "an OpenAPI document",
            Kind::Har => "a HAR of a browser",
            Kind::Log => "an access log",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            format!("`{}` is not a kind of source; write openapi, har or log", text.escape_debug())
        })
    }
}

/// The lines at the beginning of a log that are looked at: the first ones may be cut off, or of another program.
const LINES: usize = 20;

/// Returns what a source is by its first bytes.
pub fn detect(head: &[u8]) -> Result<Kind, String> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        return Err("it is empty; name a file with contents".to_owned());
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines().take(LINES).any(|line| line::parse(line).is_some()) {
        return Ok(Kind::Log);
    }
    if let Some(object) = text.strip_prefix('{') {
        let object = object.trim_start();
        if object.strip_prefix("\"log\"").is_some_and(|rest| rest.trim_start().starts_with(':')) {
            return Ok(Kind::Har);
        }
        if ["\"openapi\"", "\"swagger\""].iter().any(|key| object.contains(key)) {
            return Ok(Kind::OpenApi);
        }
        if object.contains("_postman_id") || object.contains("getpostman.com") {
            return Err(
                "it is a collection of Postman, which is not read; export an OpenAPI document, \
                        or record a HAR"
                    .to_owned(),
            );
        }
    }
    let is_key = |line: &str| {
        let line = line.trim_start_matches(['"', '\'']);
        ["openapi", "swagger"].iter().any(|key| {
            let rest = line.strip_prefix(key).unwrap_or_default();
            rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':')
        })
    };
    if lines().any(is_key) {
        return Ok(Kind::OpenApi);
    }
    Err("its beginning is that of no OpenAPI document, HAR or access log (combined, or a JSON object on each \
         line); if it is one, say which: --as openapi, --as har or --as log"
        .to_owned())
}
