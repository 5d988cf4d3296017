use clap::Parser;

use super::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    load: Load,
}

/// Returns the number of shards of a load with these options, whose arrivals bring so many requests each.
fn shards(options: &[&str], requests: f64) -> usize {
    let words = [&["load", "http://127.0.0.1:1/"], options].concat();
    let arguments = Command::try_parse_from(words).unwrap().load;
    let Ok(Pacing::Open { load, .. }) = pacing(&arguments) else { panic!("an open loop") };
    shards_for(&load, &arguments, requests)
}

#[test]
fn there_are_as_many_shards_as_the_rate_of_requests_needs() {
    assert_eq!(shards(&["--rate", "5k/s"], 1.0), 1);
    assert_eq!(shards(&["--rate", "50k/s"], 1.0), 3);
    assert_eq!(shards(&["--rate", "50k/s", "--part", "1/2"], 1.0), 2);
    // 5,000 sessions of ten steps a second.
    assert_eq!(shards(&["--rate", "5k/s"], 10.0), 3);
    assert_eq!(shards(&["--shape", "1k/s 10s, ->5k/s 10s"], 8.5), 3);
}

/// An option that says something of another one is refused without it, and with one that excludes that.
#[test]
fn options_without_the_one_that_they_are_about_are_refused() {
    let cases = [
        "--rate 5/s --speed 2",
        "--closed --speed 2",
        "--speed 2",
        "--closed --event-size 10B",
        "--rate 5/s --mix a --event-type a.b",
        "--rate 5/s --script a --data b",
        "--rate 5/s --mix a --script-threads 2",
        "--rate 5/s --mix a --ycsb-property b=c",
        "--closed --notes a",
    ];
    for case in cases {
        let words = ["load", "http://h/"].into_iter().chain(case.split(' '));
        assert!(Command::try_parse_from(words).is_err(), "{case}");
    }
}
