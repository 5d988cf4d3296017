//! The source of an instance's state: the store's process, or PostgreSQL.

use std::str::FromStr;

use super::postgres::Database;
use crate::kit::rpc::Addresses;

/// A source as written on a command line: `127.0.0.1:7000`, or
/// `postgres://USER@HOST:PORT/DATABASE`.
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
