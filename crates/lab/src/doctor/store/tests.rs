use std::path::Path;

use super::*;
use crate::spec;

fn read(line: &str) -> Option<Store> {
    Store::of_words(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn the_sizes_of_a_store_are_read_from_its_command_line() {
    let store =
        read("benchwright kv serve --ip ${listen} --memory=1GiB --buckets 1M --storage /data/kv");
    let expected = Store {
        log: Some(1 << 30),
        buckets: Some(1 << 20),
        folder: Some(PathBuf::from("/data/kv")),
        ..Store::default()
    };
    assert_eq!(store, Some(expected));
    // What the server chooses, and folders that only the run knows.
    for line in
        ["benchwright kv serve", "kv serve", "/opt/benchwright kv serve --storage ${folder}/kv"]
    {
        assert_eq!(read(line), Some(Store::default()), "{line}");
    }
    for line in ["benchwright kv stats 127.0.0.1", "memcached kv serve", "benchwright"] {
        assert_eq!(read(line), None, "{line}");
    }
}

#[test]
fn the_least_memory_of_a_store_is_its_log_and_its_index() {
    let least = |log, buckets, limit| Store { log, buckets, ..Store::default() }.least(limit);
    assert_eq!(least(Some(1 << 30), None, 8 << 30), (1 << 30) + (1 << 28));
    assert_eq!(least(Some(1 << 20), Some(1 << 20), 8 << 30), (1 << 20) + (64 << 20));
    // 40 % of the limit, and a quarter of that, but 16 GiB at most.
    assert_eq!(least(None, None, 10 << 30), 5 << 30);
    assert_eq!(least(None, None, 1 << 40), 20 << 30);
}

#[test]
fn the_stores_of_an_experiment_are_those_of_its_components_with_their_variables() {
    let resolved = spec::from_bytes(
        "my.yaml",
        b"name: x\nvars: {memory: 64MiB}\n\
         sut:\n  replicas: 2\n  deploy:\n\
         \x20   - process: {name: kv, command: [benchwright, kv, serve, --memory, \"${vars.memory}\", --ip, \"${listen}\"], memory_limit: 1GiB}\n\
         \x20   - process: {name: web, command: [nginx]}\n\
         workload: {get: /}\nload: {model: open, rate: 10/s, connections: 1}\n",
        Path::new("."),
        None,
        &[],
    )
    .unwrap();
    let (log, limit) = (Some(64 << 20), Some(1 << 30));
    let kv = Store { name: "kv".to_owned(), copies: 2, log, limit, ..Store::default() };
    assert_eq!(of(&resolved), [kv]);
}
