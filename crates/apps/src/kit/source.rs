//! The source of an application's state as written on a command line: a process of its own, or a
//! database.

use std::str::FromStr;

use super::postgres::Database;
use super::rpc::Addresses;

/// A source: `127.0.0.1:7000`, or `postgres://USER@HOST:PORT/DATABASE`.
#[derive(Clone, Debug)]
pub enum Source {
    Process(Addresses),
    Postgres(Database),
}

impl FromStr for Source {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let is_database = ["postgres://", "postgresql://"].iter().any(|one| text.starts_with(one));
        match is_database {
            true => text.parse().map(Source::Postgres),
            false => text.parse().map(Source::Process),
        }
    }
}
