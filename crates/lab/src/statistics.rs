//! A component's self-reported statistics: a file that it rewrites twice a second with one line of
//! integers that only grow. The file is read instead of sending requests, which would be a load.
//!
//! The mean number of requests in it between two readings is Δ`in_service_ns` / Δ`at_ns`; of these
//! Δ`in_others_ns` / Δ`at_ns` waited for services and stores that it called. The rest is queued in
//! the component itself (Little's law).

use std::path::Path;

use results::regular;
use serde::Deserialize;

/// The most bytes of statistics; a real line is far shorter.
const MOST_BYTES: usize = 4096;

/// One line of statistics. Fields of later versions are ignored.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
pub struct Reading {
    /// The time on the host's monotonic clock.
    pub at_ns: u64,
    pub calls: u64,
    pub in_service_ns: u64,
    pub in_others_ns: u64,
    /// The number that is open now.
    pub connections: u64,
    /// The calls refused because a bound was reached.
    pub refused: u64,
}

impl Reading {
    /// Parses a line; `None` if it is not whole: it may just be being written.
    pub fn parse(bytes: &[u8]) -> Option<Reading> {
        (bytes.len() <= MOST_BYTES).then(|| serde_json::from_slice(bytes).ok()).flatten()
    }

    pub fn read(path: &Path) -> Option<Reading> {
        Reading::parse(&regular::read(path, MOST_BYTES as u64).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_whole_or_not_at_all() {
        let line = br#"{"at_ns":7,"calls":1,"in_service_ns":9,"in_others_ns":4,"connections":2,"refused":0,"new":1}
"#;
        let read = Reading {
            at_ns: 7,
            calls: 1,
            in_service_ns: 9,
            in_others_ns: 4,
            connections: 2,
            refused: 0,
        };
        assert_eq!(Reading::parse(line), Some(read));
        for torn in 0..line.len() - 2 {
            assert_eq!(Reading::parse(&line[..torn]), None, "{torn} bytes");
        }
        assert_eq!(Reading::parse(&vec![b' '; MOST_BYTES + 1]), None);
        // A component may make anything there: a FIFO would wait for its other end.
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("x.statistics");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert_eq!(Reading::read(&fifo), None);
    }
}
