//! The workload E of guide 5's client, which is YCSB's own on keys and values of eight bytes.

use std::sync::Arc;

use crate::keys::Distribution;
use crate::properties::{Place, Properties};
use crate::workload::{Part, Workload};

/// Returns the workload: 95 % scans of 1 to 100 keys in the order of the store, and 5 % inserts.
pub fn scans(
    keys: u64,
    transactions: u64,
    distribution: Distribution,
    client: Part,
) -> Arc<Workload> {
    let distribution = match distribution {
        Distribution::Uniform => "uniform",
        Distribution::Zipfian => "zipfian",
    };
    let mut properties = Properties::default();
    for (name, value) in [
        ("workload", "site.ycsb.workloads.CoreWorkload"),
        ("recordcount", &keys.to_string()),
        ("operationcount", &transactions.to_string()),
        ("readproportion", "0"),
        ("updateproportion", "0"),
        ("scanproportion", "0.95"),
        ("insertproportion", "0.05"),
        ("requestdistribution", distribution),
        ("maxscanlength", "100"),
        // One field, which takes two bytes more for its length.
        ("fieldcount", "1"),
        ("fieldlength", "6"),
    ] {
        properties.set(name, value, Place::Default);
    }
    let workload = Workload::new(&properties, client, |_| Err("there is no histogram".to_owned()));
    Arc::new(workload.expect("the properties are valid for every number of keys of a client"))
}
