//! YCSB's operations on a key-value store.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Given, Kind, KindOf, Protocol, Set, Sets, Workload, sets};

/// The operations of a YCSB workload, on a store at `kv://` or `redis://`. Its records must be there: fill the
/// store by `benchwright ycsb load`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ycsb {
    /// A file of properties, such as YCSB's workloada.
    pub ycsb: String,
    /// Properties in place of those of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

pub(super) const KIND: KindOf = KindOf {
    keys: &["ycsb"],
    name: "YCSB's operations",
    written: "`ycsb: FILE`",
    fields: &["ycsb", "properties"],
    options: || Sets::names(SETS),
    refuses: |_| {
        Some("`ycsb` names the operations of a workload; beside it only `properties` are possible")
    },
    own: &[("properties", "`properties` are of YCSB; add `ycsb: workloada.properties`")],
    read: |fields| Ok(Workload::Ycsb(super::read(fields))),
};

const SETS: &[Sets<Ycsb>] = &[
    sets("--ycsb", "workload.ycsb", |load| vec![Given::File(&load.ycsb)]),
    sets("--ycsb-property", "workload.properties", |load| {
        load.properties.iter().map(|(name, text)| given(name, text)).collect()
    }),
];

/// The property with the path of the token of the servers.
const TOKEN_FILE: &str = "kv.tokenfile";

fn given<'a>(name: &'a str, text: &'a str) -> Given<'a> {
    match name {
        TOKEN_FILE => Given::Private(name, text),
        _ => Given::Property(name, text),
    }
}

impl Kind for Ycsb {
    fn path(&self) -> Option<&str> {
        None
    }

    fn protocol(&self) -> Protocol {
        Protocol::Store
    }

    fn set(&self) -> Vec<Set<'_>> {
        Sets::all(SETS, self)
    }

    fn describe(&self) -> String {
        format!("YCSB's {}", self.ycsb)
    }
}
