//! The vectors that the Java client of YCSB computes, too.

use crate::keys::key;
use crate::properties::{Place, Properties};
use crate::workload::{Part, Workload, hash_code};
use crate::zipf::Zeta;

const VECTORS: &str = include_str!("tests/vectors.txt");

fn name(record: u64, padding: &str, order: &str) -> String {
    let mut properties = Properties::default();
    for (name, value) in [
        ("workload", "site.ycsb.workloads.CoreWorkload"),
        ("recordcount", "1000"),
        ("operationcount", "1"),
        ("zeropadding", padding),
        ("insertorder", order),
    ] {
        properties.set(name, value, Place::Default);
    }
    let workload = Workload::new(&properties, Part::WHOLE, |_| unreachable!()).unwrap();
    let mut name = Vec::new();
    workload.name(record, &mut name);
    String::from_utf8(name).unwrap()
}

#[test]
fn vectors_of_the_original() {
    let vectors = VECTORS.lines().filter(|line| !line.starts_with('#'));
    let mut kinds = Vec::new();
    for vector in vectors {
        let words: Vec<&str> = vector.split(' ').collect();
        let number = |text: &str| text.parse::<u64>().unwrap();
        let agrees = match words[..] {
            ["hash", of, expected] => key(number(of)) == number(expected),
            ["name", record, padding, order, expected] => {
                name(number(record), padding, order) == expected
            }
            ["zeta", items, expected] => {
                let expected: f64 = expected.parse().unwrap();
                (Zeta::default().of(number(items)) / expected - 1.0).abs() < 1e-12
            }
            ["code", text, expected] => hash_code(0, text.as_bytes()).to_string() == expected,
            _ => panic!("{vector}"),
        };
        assert!(agrees, "{vector}");
        kinds.push(words[0]);
    }
    kinds.dedup();
    assert_eq!(kinds, ["hash", "name", "zeta", "code"]);
}
