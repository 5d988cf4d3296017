use clap::Parser;
use expect_test::expect;

use generator::ycsb::Silent;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    bench: Bench,
}

fn parsed(arguments: &[&str]) -> Result<Bench, String> {
    let line = Line::try_parse_from([&["bench"], arguments].concat());
    line.map(|line| line.bench).map_err(|error| error.to_string())
}

/// The figures of a phase that had nothing to do.
const NONE: Figures = Figures {
    operations: 0,
    ok: 0,
    failed: 0,
    why: None,
    unfinished: 0,
    unwritten: 0,
    sent_again: 0,
    unconnected: 0,
    silent: None,
    window: Nanos::ZERO,
    median: None,
    p99: None,
    interrupted: false,
};

#[test]
fn the_line_of_the_original_is_written_with_its_numbers() {
    for words in [
        "--servers 10.0.0.30 --keys 250M --transactions 1B --seconds 360 --threads 48",
        // The options of the original's script.
        "--servers 10.0.0.30 --nKeys 250000000 --nTxns 1000000000 --seconds 360 --threads 48",
    ] {
        let bench = parsed(&words.split(' ').collect::<Vec<_>>()).unwrap();
        the_first_line_is_that_of_the_guide(&bench);
    }
}

fn the_first_line_is_that_of_the_guide(bench: &Bench) {
    expect!["Running client with 48 threads. Each thread will run YCSB-F with 250000000 keys and 1000000000 transactions for 360 seconds. Requests will be issued in batches of 32768 B with a pipeline of size 2"]
        .assert_eq(&bench.told(&bench.files().unwrap()));
}

#[test]
fn servers_are_a_list_with_or_without_ports() {
    let bench = parsed(&["--servers", "10.0.0.30,10.0.0.31:7721"]).unwrap();
    let servers = bench
        .load(None, Lists::default())
        .servers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    assert_eq!(servers, ["10.0.0.30:7720", "10.0.0.31:7721"]);
}

#[test]
fn what_is_not_valid_is_refused_with_the_remedy() {
    for (words, remedy) in [
        ("--keys 0", "write 1000, 10M or 1B"),
        ("--keys many", "write 1000, 10M or 1B"),
        ("--batch 64", "its unit is missing: write for example 64B"),
        ("--batch x", "write 64B to 2MiB"),
        ("--batch 4MiB", "write 64B to 2MiB"),
        ("--pipeline 65", "65 is not in 1..=64"),
        ("--mix g", "possible values: rmw, a, b, c, d, e, f"),
        ("--keys 1000000B", "write 1000, 10M or 1B"),
        ("--client 2/2", "write 0/2 and 1/2"),
        ("--distribution latest", "possible values: uniform, zipfian"),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let refusal = parsed(&[&["--servers", "127.0.0.1"], &words[..]].concat()).unwrap_err();
        assert!(refusal.contains(remedy), "{words:?}: {refusal}");
    }
    assert!(parsed(&[]).unwrap_err().contains("--servers"));
}

#[test]
fn files_that_a_mix_or_a_phase_cannot_use_are_refused_with_the_remedy() {
    for (words, remedy) in [
        ("--mix e --load-file a", "leave it out with --mix e"),
        ("--mix e --transactions-file a --phase run", "leave it out with --mix e"),
        ("--mix d --load-file a", "name --transactions-file, too"),
        ("--transactions-file a", "name --load-file, too"),
        ("--load-file nowhere/keys", "make such a file with `benchwright ycsb convert`"),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let bench = parsed(&[&["--servers", "127.0.0.1"], &words[..]].concat()).unwrap();
        let refusal = format!("{:#}", bench.files().unwrap_err().error);
        assert!(refusal.contains(remedy), "{words:?}: {refusal}");
    }
    // A phase that needs no file does not look at it.
    for words in ["--phase fill --transactions-file nowhere/keys", "--phase fill --mix e"] {
        let words: Vec<_> = words.split(' ').collect();
        let bench = parsed(&[&["--servers", "127.0.0.1"], &words[..]].concat()).unwrap();
        assert!(bench.files().is_ok(), "{words:?}");
    }
}

#[test]
fn figures_are_printed_as_text_and_as_a_document() {
    let figures = Figures {
        operations: 30_000_000,
        ok: 30_000_100,
        failed: 2,
        why: Some("FULL".to_owned()),
        unfinished: 5,
        unwritten: 0,
        sent_again: 3,
        unconnected: 4,
        silent: Some(Silent {
            servers: vec!["10.0.0.30:7720".parse().unwrap()],
            why: "connection refused".to_owned(),
        }),
        window: Nanos::from_secs(10),
        median: Some(Nanos(250_000)),
        p99: Some(Nanos(900_500)),
        interrupted: false,
    };
    let phases = [(FILL, None), (RUN, Some(figures))];
    expect![[r#"
        run: 3.000 Mops/s over 10.0 s, 30,000,000 operations; a batch took 250.0 µs (median), 900.5 µs (p99)
        run: 2 operations failed
        run: 5 operations had no answer at the end
        run: 3 batches were sent again after broken connections
        run: 4 batches had no connection to their server
        run: the reason of most failures: FULL
    "#]]
    .assert_eq(&text(&phases));
    expect![[r#"{"schema":"benchwright.ycsb-bench/2","run":{"operations":30000000,"ok":30000100,"failed":2,"why":"FULL","unfinished":5,"batches_sent_again":3,"batches_without_connection":4,"servers_without_answer":["10.0.0.30:7720"],"window_ns":10000000000,"operations_per_s":3000000.0,"batch_p50_ns":250000,"batch_p99_ns":900500,"interrupted":false}}"#]]
        .assert_eq(&document(&phases, None).to_string());
}

#[test]
fn figures_that_were_not_measured_are_absent() {
    // A client of several may have no key of the fill.
    assert!(NONE.is_whole());
    let phases = [(FILL, Some(NONE)), (RUN, None)];
    expect![[r#"
        fill: 0 operations
    "#]]
    .assert_eq(&text(&phases));
    assert!(document(&phases, None)["fill"]["operations_per_s"].is_null());
}

fn silent(servers: &[&str], why: &str) -> Option<Silent> {
    let servers = servers.iter().map(|server| server.parse().unwrap()).collect();
    Some(Silent { servers, why: why.to_owned() })
}

#[test]
fn a_phase_that_is_not_whole_names_what_it_lacks_the_servers_and_the_remedy() {
    let [one, two] = ["10.0.0.30:7720", "10.0.0.31:7720"];
    let gone = silent(&[one], "connection refused");
    let done = Figures { operations: 9, ok: 9, ..NONE };
    let fills = [
        Figures { unwritten: 1234, silent: gone.clone(), ..done.clone() },
        Figures { failed: 5, why: Some("FULL".to_owned()), ..done.clone() },
        Figures { unfinished: 7, silent: silent(&[one, two], "no answer"), ..done.clone() },
    ];
    let runs = [
        Figures { unconnected: 2, silent: gone, ..done.clone() },
        Figures { failed: 5, silent: silent(&[], "no answer"), ..done.clone() },
        Figures { ok: 9, ..NONE },
    ];
    let mut told = String::new();
    for (name, all) in [(FILL, fills), (RUN, runs)] {
        for figures in all {
            told += &format!("{}\n", lacks(name, &figures).unwrap());
        }
        assert_eq!(lacks(name, &done), None);
        assert_eq!(lacks(name, &NONE), None);
    }
    expect![[r#"
        the fill has ended early, as the server 10.0.0.30:7720 did not answer everything: connection refused
          1,234 keys were not written; look at the servers and their logs, and fill again
        the fill is not whole, as operations failed: FULL
          5 keys may not be written; look at the servers and their logs, and fill again
        the fill is not whole, as the servers 10.0.0.30:7720, 10.0.0.31:7720 did not answer everything: no answer
          7 keys may not be written; look at the servers and their logs, and fill again
        the run is not whole, as the server 10.0.0.30:7720 did not answer everything: connection refused
          look at the servers and their logs, and run again
        the run is not whole, as a server did not answer everything: no answer
          look at the servers and their logs, and run again
        nothing was answered within the time of the run, which has no throughput
          use more --seconds, a smaller --batch or a smaller --pipeline
    "#]]
    .assert_eq(&told);
    // The log of a run that failed has its reason already.
    let failed = Figures { failed: 5, why: Some("FULL".to_owned()), ..done };
    assert_eq!(lacks(RUN, &failed), None);
}

#[test]
fn the_exit_code_tells_failed_operations_from_servers_that_do_not_answer() {
    let done = || Figures { operations: 9, ok: 9, ..NONE };
    let gone = silent(&["10.0.0.30:7720"], "connection refused");
    for (fill, run, expected) in [
        (None, Some(done()), Exit::Answered),
        (Some(NONE), None, Exit::Answered),
        (None, Some(Figures { failed: 1, ..done() }), Exit::No),
        // All were answered, and none as hoped.
        (None, Some(Figures { failed: 9, ..NONE }), Exit::No),
        (Some(Figures { unwritten: 1, ..done() }), None, Exit::No),
        (Some(Figures { unwritten: 1, silent: gone.clone(), ..done() }), None, Exit::NoAnswer),
        (Some(done()), Some(Figures { silent: gone, ..done() }), Exit::NoAnswer),
        // All answers came after the window.
        (None, Some(Figures { ok: 9, ..NONE }), Exit::NoAnswer),
    ] {
        let phases = [(FILL, fill), (RUN, run)];
        assert_eq!(exit(&phases), expected, "{phases:?}");
    }
}

#[test]
fn a_run_of_which_nothing_was_answered_in_time_has_no_throughput() {
    let late = Figures { ok: 9, window: Nanos::SECOND, median: Some(Nanos(5_000)), ..NONE };
    assert_eq!(late.per_second(), None);
    assert_eq!(text(&[(FILL, None), (RUN, Some(late))]), "run: 0 operations\n");
}

#[test]
fn a_server_that_is_named_twice_is_refused() {
    let bench = parsed(&["--servers", "127.0.0.1,127.0.0.1:7720"]).unwrap();
    let refusal = bench.check_servers().unwrap_err().error.to_string();
    assert!(refusal.contains("names a server twice"), "{refusal}");
    assert!(parsed(&["--servers", "127.0.0.1,127.0.0.1:7721"]).unwrap().check_servers().is_ok());
}
