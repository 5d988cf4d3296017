use clap::Parser;
use expect_test::expect;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    serve: Serve,
}

fn parsed(arguments: &[&str]) -> Serve {
    Line::try_parse_from([&["serve"], arguments].concat()).unwrap().serve
}

fn refused(arguments: &[&str]) -> String {
    Line::try_parse_from([&["serve"], arguments].concat()).unwrap_err().to_string()
}

#[test]
fn an_address_needs_no_port() {
    let address = |text: &str| text.parse::<Address>().map(|address| address.0.to_string());
    assert_eq!(address("10.0.0.30").unwrap(), "10.0.0.30:7720");
    assert_eq!(address("10.0.0.30:0").unwrap(), "10.0.0.30:0");
    assert_eq!(address("::1").unwrap(), "[::1]:7720");
    assert_eq!(address("localhost").unwrap(), "127.0.0.1:7720");
    expect!["`example.org` is not a valid address; write 10.0.0.30 or 10.0.0.30:7720"]
        .assert_eq(&address("example.org").unwrap_err());
}

#[test]
fn the_line_of_the_original_is_written_with_its_sizes() {
    let arguments =
        parsed(&["--threads", "48", "--buckets", "128M", "--memory", "16GiB", "--id", "1"]);
    let sizes = Sizes::choose(&arguments, Some(64 << 30)).unwrap();
    expect!["Running server with 48 worker threads, 128 M hash buckets, 16 GB hybrid log stored at storage, with a mutable fraction of 0.90, and sampled set of 128 KB"]
        .assert_eq(&sizes.told(&arguments));
}

#[test]
fn what_was_recovered_is_called_what_it_counts() {
    // A thousand keys, each written before three checkpoints.
    let recovered = Recovered { version: 3, records: 3000, sessions: 4, ..Recovered::default() };
    expect!["Recovered checkpoint 3: 3000 versions of records in its log, 4 sessions"]
        .assert_eq(&told(&recovered));
}

#[test]
fn sizes_are_chosen_by_what_the_process_may_use() {
    let sizes = |arguments: &[&str], limit| {
        let Sizes { buckets, memory, .. } = Sizes::choose(&parsed(arguments), limit).unwrap();
        (buckets, memory)
    };
    // 40 % of the limit, and a bucket for 256 B of it.
    assert_eq!(sizes(&["--threads", "1"], Some(10 << 30)), (1 << 24, 4 << 30));
    assert_eq!(sizes(&["--threads", "1"], Some(100 << 30)), (1 << 26, 16 << 30));
    assert_eq!(sizes(&["--memory", "1MiB"], None), (4096, 1 << 20));
    assert_eq!(sizes(&["--memory", "1MiB", "--buckets", "5000"], None), (8192, 1 << 20));
    // Half of the log is on disk, where it can be compacted.
    let limited = sizes(&["--threads", "1", "--log-limit", "1GiB"], Some(10 << 30));
    assert_eq!(limited, (1 << 21, 512 << 20));
}

#[test]
fn a_sum_beyond_the_limit_is_refused() {
    let arguments = parsed(&["--memory", "16GiB", "--threads", "1"]);
    let refusal = Sizes::choose(&arguments, Some(16 << 30)).unwrap_err();
    assert_eq!(refusal.exit, Exit::Question);
    assert!(refusal.error.to_string().contains("for the log (--memory)"));
}

#[test]
fn what_is_not_valid_is_refused_with_the_remedy() {
    for (arguments, remedy) in [
        (["--id", "0"], "0 is not in 1..=65535"),
        (["--id", "65536"], "65536 is not in 1..=65535"),
        (["--threads", "0"], "0 is not in 1..=1024"),
        (["--buckets", "many"], "write 4096 or 128M"),
        (["--mutable-fraction", "0.96"], "write for example 0.9 (at most 0.95)"),
        (["--memory", "16"], "write for example 64KiB or 10MB"),
        (["--ip", "example.org"], "write 10.0.0.30"),
    ] {
        let refusal = refused(&arguments);
        assert!(refusal.contains(remedy), "{arguments:?}: {refusal}");
    }
}

#[test]
fn another_address_than_loopback_without_a_token_is_warned_about() {
    let warned = |arguments: &[&str], has_token| {
        let arguments = parsed(arguments);
        let sizes = Sizes::choose(&arguments, None).unwrap();
        warnings(&arguments, &sizes, has_token).len()
    };
    assert_eq!(warned(&["--ip", "127.0.0.1"], false), 0);
    assert_eq!(warned(&["--ip", "10.0.0.30"], false), 1);
    assert_eq!(warned(&["--ip", "10.0.0.30"], true), 0);
    assert_eq!(warned(&["--buckets", "5000"], false), 1);
}

#[test]
fn a_server_with_a_folder_is_durable_unless_told() {
    let chosen = |arguments: &[&str]| durability(&parsed(arguments)).ok();
    assert_eq!(chosen(&[]), Some(Durability::Checkpoint));
    assert_eq!(chosen(&["--durability", "none"]), Some(Durability::None));
    assert_eq!(chosen(&["--storage", "none"]), Some(Durability::None));
    let refused = durability(&parsed(&["--storage", "none", "--durability", "checkpoint"]));
    expect!["--durability checkpoint needs a folder: give one with --storage"]
        .assert_eq(&refused.unwrap_err().error.to_string());
    let refused = durability(&parsed(&["--storage", "none", "--log-limit", "1GiB"])).unwrap_err();
    assert!(refused.error.to_string().contains("leave it out"));
}

#[test]
fn a_size_that_a_store_refuses_is_told_by_its_option() {
    let refused = |arguments: &[&str]| {
        let arguments = parsed(arguments);
        let sizes = Sizes::choose(&arguments, None).unwrap();
        let opened = open(&arguments, &sizes, None, Durability::None);
        opened.unwrap_err().error.to_string()
    };
    expect!["--memory 1 KiB is not valid; choose 8 MiB or more, below 128 TiB"]
        .assert_eq(&refused(&["--storage", "none", "--memory", "1KiB"]));
}

#[test]
fn a_checkpoint_that_ends_before_the_next_look_is_not_begun_again_at_once() {
    let at = |ms: u64| Instant(0) + Nanos::from_millis(ms);
    let mut schedule = Schedule { every: Nanos::from_millis(1000), next: at(1000) };
    let begun: Vec<u64> =
        (0..4000).step_by(50).filter(|ms| schedule.is_due(false, at(*ms))).collect();
    assert_eq!(begun, [1000, 2000, 3000]);
    // The time counts from the end of one that takes long.
    let mut schedule = Schedule { every: Nanos::from_millis(1000), next: at(1000) };
    let is_running = |ms: u64| (1050..1500).contains(&ms);
    let due = |ms: &u64| schedule.is_due(is_running(*ms), at(*ms));
    assert_eq!((0..3000).step_by(50).filter(due).collect::<Vec<u64>>(), [1000, 2450]);
}

#[test]
fn an_id_is_counted_from_one_or_as_pods_are_from_zero() {
    let id = |text: &str| parsed(&["--id", text]).id;
    assert_eq!(["1", "65535", "#0", "#65534"].map(id), [1, 65535, 1, 65535]);
    for text in ["0", "65536", "#65535", "#-1", "#", "one"] {
        let refusal = refused(&["--id", text]);
        assert!(refusal.contains("is not in 1..=65535, nor in #0..=#65534"), "{refusal}");
    }
}

#[test]
fn a_server_with_room_for_few_connections_says_so() {
    let told = |files| few_connections(server::connections(files, 2).unwrap() * 2, files);
    expect!["There is room for 40 connections, since this process may have 64 open files: `ulimit -n` raises this limit"]
        .assert_eq(&told(64).unwrap());
    assert_eq!(told(1 << 20), None);
}
