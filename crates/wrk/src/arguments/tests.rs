use super::*;
use expect_test::{Expect, expect, expect_file};
use measure::Random;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn command(name: &str, line: &str) -> Command {
    parse(name, &words(line)).unwrap_or_else(|refusal| panic!("{line}: {refusal:?}"))
}

/// The text on stderr.
fn refused(name: &str, line: &str) -> String {
    match parse(name, &words(line)) {
        Ok(command) => panic!("{line}: {command:?}"),
        Err(refusal) => {
            assert_eq!(refusal.code(), 1);
            assert!(refusal.stdout("", "").starts_with("Usage: wrk <options> <url>"));
            refusal.stderr()
        }
    }
}

const URL: &str = "http://h:8080/a?b=1";

#[test]
fn defaults_are_the_originals() {
    let wrk = command("wrk", URL);
    assert_eq!((wrk.compatibility, wrk.threads, wrk.connections), (Compatibility::Wrk, 2, 10));
    assert_eq!((wrk.duration, wrk.timeout), (Nanos::from_secs(10), Nanos::from_secs(2)));
    assert_eq!((wrk.rate, wrk.distribution, wrk.latency), (None, Distribution::Fixed, false));
    assert_eq!((wrk.urls, wrk.arguments), (vec![URL.to_owned()], vec![]));
    assert_eq!(wrk.native, Native::default());
}

#[test]
fn every_way_to_write_an_option_is_read() {
    let want = Command { threads: 4, connections: 64, latency: true, ..command("wrk", URL) };
    for line in [
        "-t4 -c64 -L URL",
        "-t 4 -c 64 -L URL",
        "-Lt4 -c64 URL",
        "URL --threads=4 --connections 64 --latency",
        "--thr 4 URL --conn=64 --lat",
        "-t9 URL -t4 -c64 -L -L",
        "-L -t 4 -c 64 -- URL",
    ] {
        let line = line.replace("URL", URL);
        assert_eq!(command("wrk", &line), want, "{line}");
    }
}

#[test]
fn the_name_and_the_arguments_decide_the_program() {
    let two = "http://a http://b";
    let vectors = [
        ("wrk", URL.to_owned(), Compatibility::Wrk),
        ("wrk", format!("{URL} argument"), Compatibility::Wrk),
        ("wrk", format!("{URL} -R 5"), Compatibility::Wrk2),
        ("wrk", format!("{URL} -UR5"), Compatibility::Wrk2),
        ("wrk", format!("{URL} -R 5 --batch_latency"), Compatibility::Wrk2),
        ("/usr/bin/wrk2", format!("{URL} --rate 5"), Compatibility::Wrk2),
        ("wrk", format!("{URL} -R 5 -D exp"), Compatibility::Dsb),
        ("wrk2", format!("{URL} -R 5 -P"), Compatibility::Dsb),
        ("wrk", format!("{URL} -R 5 -p"), Compatibility::Dsb),
        ("wrk", format!("{URL} -R 5 --separate"), Compatibility::Dsb),
        ("wrk", format!("{URL} -R 5 -r"), Compatibility::Dsb),
        ("wrk", format!("{two} -R 5"), Compatibility::Dsb),
        ("wrk2", format!("{two} -R 5"), Compatibility::Dsb),
        ("wrk", format!("{two} --compatibility wrk"), Compatibility::Wrk),
        ("wrk", format!("{URL} -R 5 --compatibility=dsb"), Compatibility::Dsb),
        ("wrk", format!("{URL} -R 5 --flavour=dsb"), Compatibility::Dsb),
        ("wrk", format!("{URL} -- http://b -R 5"), Compatibility::Wrk),
    ];
    for (name, line, compatibility) in vectors {
        assert_eq!(command(name, &line).compatibility, compatibility, "{name} {line}");
    }
}

#[test]
fn free_words_go_to_the_script_but_with_dsb_they_are_urls() {
    let vectors = [
        ("http://a x -t2 y -- -z", vec!["http://a"], vec!["x", "y", "-z"]),
        ("-- http://a x", vec!["http://a"], vec!["x"]),
        ("-R1 http://a x", vec!["http://a"], vec!["x"]),
        ("-R1 http://a http://b", vec!["http://a", "http://b"], vec!["http://b"]),
        ("-R1 http://a http://b -- 5 x", vec!["http://a", "http://b"], vec!["5", "x"]),
        ("-R1 -Dexp -- http://a http://b", vec!["http://a", "http://b"], vec!["http://b"]),
    ];
    for (line, urls, arguments) in vectors {
        let command = command("wrk", line);
        assert_eq!((command.urls, command.arguments), (own(urls), own(arguments)), "{line}");
    }
}

fn own(words: Vec<&str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn command_lines_of_the_guides_are_read_completely() {
    let four = "-D exp -t 48 -c 100 -d 60 -L -s ./s.lua http://a:5000 http://b:5000 \
                http://c:5000/x http://d:5000 -R 2000";
    let four = command("wrk", four);
    assert_eq!(
        (four.compatibility, four.urls.len(), four.separate),
        (Compatibility::Dsb, 4, false)
    );
    assert_eq!((four.distribution, four.rate), (Distribution::Exp, Rate::per_second(2000.0)));
    let guide_2 = command("wrk", "-t4 -c64 -d 60s -L -s s.lua http://127.0.0.1:8080 -R 1.5k");
    assert_eq!(
        (guide_2.compatibility, guide_2.duration),
        (Compatibility::Wrk2, Nanos::from_secs(60))
    );
    assert_eq!(guide_2.rate, Rate::per_second(1500.0));
    let guide_4 = command("wrk", "-t10 -c150 -d30s http://127.0.0.1:8080/wrk2-api -s s.lua");
    assert_eq!(
        (guide_4.compatibility, guide_4.script.as_deref()),
        (Compatibility::Wrk, Some("s.lua"))
    );
}

#[test]
fn flags_mean_what_they_mean_in_the_originals() {
    let wrk2 = command("wrk2", "-R2k -UB http://a");
    assert!(wrk2.latency && wrk2.uncorrected && wrk2.batch);
    let dsb = command("wrk", "-R2k -D zipf -SrPpB http://a http://b");
    assert!(dsb.separate && dsb.sent && dsb.each_latency && dsb.stretches && dsb.batch);
    assert!(!dsb.latency && dsb.distribution == Distribution::Zipf);
    assert!(command("wrk", "-R1 -Dexp http://a").separate, "one target is shown alone");
}

#[test]
fn one_connection_for_each_thread_is_enough() {
    assert_eq!(command("wrk", "-t10 http://a").threads, 10);
    assert_eq!(command("wrk", "-t64 -c64 http://a").connections, 64);
}

#[test]
fn headers_keep_their_order_and_need_no_space() {
    let headers = ["-H", "A: b: c", "-HX:y", "--header=Empty:", URL].map(str::to_owned);
    let pairs = [("A", "b: c"), ("X", "y"), ("Empty", "")];
    let want: Vec<(String, String)> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(parse("wrk", &headers).unwrap().headers, want);
}

#[test]
fn numbers_and_times_have_units_in_either_case() {
    let count = |text: &str| amount::whole(text).ok();
    let counts = [
        ("12", Some(12)),
        ("1k", Some(1000)),
        ("1K", Some(1000)),
        ("2M", Some(2_000_000)),
        ("1g", Some(1_000_000_000)),
        ("1T", Some(1_000_000_000_000)),
        ("1p", Some(1_000_000_000_000_000)),
        ("1.5k", Some(1500)),
        ("1.5", None),
        ("", None),
        (".", None),
        ("k", None),
        ("-1", None),
        ("1x", None),
        ("1e3", None),
        ("10P", None),
        ("99999999999999999999", None),
        ("1ä", None),
    ];
    for (text, number) in counts {
        assert_eq!(count(text), number, "{text}");
    }
    let ms = Nanos::from_millis;
    let times = [
        ("10", Some(ms(10_000))),
        ("10s", Some(ms(10_000))),
        ("10 S", Some(ms(10_000))),
        ("2m", Some(ms(120_000))),
        ("1H", Some(ms(3_600_000))),
        ("500ms", Some(ms(500))),
        ("250us", Some(Nanos::from_micros(250))),
        ("0.5", Some(ms(500))),
        ("0", Some(Nanos::ZERO)),
        ("10x", None),
        ("inf", None),
        ("1000000h", None),
    ];
    for (text, time) in times {
        assert_eq!(amount::time(text).ok(), time, "{text}");
    }
}

#[test]
fn a_url_names_a_scheme_and_a_host() {
    for url in ["http://a", "https://a.b:1/c?d#e", "http://[::1]:80/", "http+unix://%2Fa/b"] {
        assert!(url::is_url(url), "{url}");
    }
    for word in ["a", "a/b", "://a", "http://", "http:///a", "http://:80", "http://a:b", "4a://b"] {
        assert!(!url::is_url(word), "{word}");
    }
    assert!(!url::is_url("http://a/b c"));
}

#[test]
fn native_flags_work_everywhere_and_stay_as_they_were_written() {
    let line = "--json --csv a --hlog=b --samples c --report d --seed 7 --strict --timer spin \
                --io uring --shards 2 --pin 0,1 http://a";
    let native = command("wrk", line).native;
    assert_eq!((native.json, native.strict), (Some(Destination::Stdout), true));
    let rest = [
        native.csv,
        native.hlog,
        native.samples,
        native.report,
        native.seed,
        native.timer,
        native.io,
        native.shards,
        native.pin,
    ];
    let want = ["a", "b", "c", "d", "7", "spin", "uring", "2", "0,1"];
    assert_eq!(rest.map(Option::unwrap), want);
    let json = command("wrk2", "--json=f.json -R1 http://a").native.json;
    assert_eq!(json, Some(Destination::File("f.json".to_owned())));
    assert_eq!(command("wrk", "--json http://a").urls, ["http://a"]);
}

fn check(name: &str, lines: &[&str], golden: Expect) {
    let texts: Vec<String> = lines.iter().map(|line| refused(name, line)).collect();
    golden.assert_eq(&texts.concat());
}

#[test]
fn errors_are_printed_and_exit_1() {
    let lines = [
        "",
        "-t2",
        "no-url",
        "-t 0 http://a",
        "-d 0 http://a",
        "-t 12 http://a",
        "-c x http://a",
        "--duration=1y http://a",
        "-T -1 http://a",
        "-c 1.5 http://a",
        "-H nothing http://a",
        "-x http://a",
        "-ü http://a",
        "--nothing http://a",
        "--= http://a",
        "--latency=1 http://a",
        "--t 1 http://a",
        "http://a -c",
        "http://a --connections",
        "--compatibility k6 http://a",
        "-R 5 --compatibility wrk http://a",
        "--rate 5 --compatibility wrk http://a",
        "-U http://a",
        "-R 0 http://a",
        "-D gauss -R 1 http://a",
        "-UD exp -R 1 http://a",
        "-D exp -R 1 http://a b",
        "-D exp -R 1 http://a http://",
    ];
    check(
        "wrk",
        &lines,
        expect![[r#"
        wrk: the URL is missing; write for example http://127.0.0.1:8080/
        wrk: the URL is missing; write for example http://127.0.0.1:8080/
        wrk: invalid URL: no-url
        wrk: -t: at least 1 thread is needed
        wrk: -d: the duration must be above 0
        wrk: -c: 10 connections are too few for 12 threads, each of which needs one; raise -c or lower -t
        wrk: -c: `x` is not a valid number; write for example 100, 1k or 1.5M
        wrk: --duration: `1y` is not a valid length of time; write for example 10s, 2m or 500ms
        wrk: -T: `-1` is not a valid length of time; write for example 10s, 2m or 500ms
        wrk: -c: `1.5` is not a whole number
        wrk: -H: `nothing` is not a valid header; write for example 'Accept: text/html'
        wrk: invalid option -- 'x'
        wrk: invalid option -- 'ü'
        wrk: unrecognized option '--nothing'
        wrk: unrecognized option '--'
        wrk: option '--latency' doesn't allow an argument
        wrk: option '--t' is ambiguous; possibilities: '--threads' '--timeout'
        wrk: option requires an argument -- 'c'
        wrk: option '--connections' requires an argument
        wrk: --compatibility: `k6` is not a valid mode; there are wrk, wrk2 and dsb
        wrk: invalid option -- 'R'
        wrk: unrecognized option '--rate'
        wrk: -R: the rate is required; write for example -R 1000
        wrk: -R: the rate is required; write for example -R 1000
        wrk: -D: `gauss` is not a valid distribution; there are fixed, exp, norm and zipf
        wrk: invalid option -- 'U'
        wrk: invalid URL: b
        wrk: invalid URL: http://
    "#]],
    );
}

#[test]
fn help_and_version_exit_0_and_print_to_stdout() {
    for (line, first) in [
        ("-h", "Usage: wrk <options> <url> [-- <script arguments>]"),
        ("--help -x", "Usage: wrk <options> <url> [-- <script arguments>]"),
        ("-t2 -v http://a", "wrk 1.2.3 [epoll] Benchwright as wrk"),
        ("--vers -R 1", "wrk 1.2.3 [epoll] Benchwright as wrk2"),
    ] {
        let refusal = parse("wrk", &words(line)).unwrap_err();
        assert_eq!((refusal.code(), refusal.stderr()), (0, String::new()), "{line}");
        assert_eq!(refusal.stdout("1.2.3", "epoll").lines().next(), Some(first), "{line}");
    }
    assert_eq!(parse("wrk", &words("-x -h")).unwrap_err().code(), 1, "the first one counts");
}

#[test]
fn usage_texts() {
    expect_file!["golden/wrk.txt"].assert_eq(&usage::text(Compatibility::Wrk));
    expect_file!["golden/wrk2.txt"].assert_eq(&usage::text(Compatibility::Wrk2));
    expect_file!["golden/dsb.txt"].assert_eq(&usage::text(Compatibility::Dsb));
}

#[test]
fn usage_names_every_option_of_the_mode_and_no_other() {
    for compatibility in Compatibility::ALL {
        let text = usage::text(compatibility);
        for (written, modes) in options::written() {
            let is_there = text.contains(&written);
            assert_eq!(
                is_there,
                modes.contains(&compatibility),
                "{} {written}",
                compatibility.name()
            );
        }
    }
}

/// Parts of command lines, valid and invalid.
const FRAGMENTS: [&str; 64] = [
    "-",
    "--",
    "-t",
    "-c",
    "-d",
    "-s",
    "-H",
    "-L",
    "-T",
    "-R",
    "-U",
    "-B",
    "-D",
    "-S",
    "-r",
    "-P",
    "-p",
    "-v",
    "-h",
    "-?",
    "-x",
    "-ü",
    "--threads",
    "--connections",
    "--duration=",
    "--rate",
    "--dist",
    "--t",
    "--lat",
    "--json",
    "--json=",
    "--seed",
    "--compatibility",
    "--compatibility=",
    "=",
    "wrk",
    "wrk2",
    "dsb",
    "http://a",
    "http://b:1/",
    "http://",
    "://",
    "é://x",
    "http://a:99999",
    "1",
    "2",
    "0",
    "-1",
    "1k",
    "1.5",
    "1e9",
    "99999999999999999999",
    "k",
    "10s",
    "2m",
    "ms",
    "A: b",
    ":",
    " ",
    "exp",
    "zipf",
    "\u{0}",
    "ß=",
    "\n",
];

/// Words that turn some of them into valid command lines.
const USUAL: [&[&str]; 5] =
    [&[], &["http://a"], &["http://a", "-R5"], &["http://a", "-R5", "-Dexp"], &["-R5", "-S"]];

fn random_arguments(random: &mut Random) -> Vec<String> {
    let pick = |random: &mut Random| FRAGMENTS[random.below(64) as usize];
    (0..random.below(9))
        .map(|_| match random.below(3) {
            0 => pick(random).to_owned() + pick(random),
            _ => pick(random).to_owned(),
        })
        .collect()
}

#[test]
fn no_command_line_panics_and_what_is_accepted_can_be_run() {
    let mut random = Random::new(5);
    let (mut accepted, mut refused) = ([0; 3], 0);
    for i in 0..100_000 {
        let mut arguments = random_arguments(&mut random);
        for word in USUAL[i % USUAL.len()] {
            let at = random.below(arguments.len() as u64 + 1) as usize;
            arguments.insert(at, (*word).to_owned());
        }
        match parse(if i % 3 == 0 { "wrk2" } else { "wrk" }, &arguments) {
            Ok(command) => {
                accepted[command.compatibility as usize] += 1;
                check_invariants(&command);
            }
            Err(refusal) => {
                refused += 1;
                let is_wrong = matches!(refusal, Refusal::Wrong(..));
                assert_eq!(refusal.stderr().is_empty(), !is_wrong);
            }
        }
    }
    assert!(accepted.iter().all(|&count| 50 < count), "{accepted:?}");
    assert!(10_000 < refused, "{refused}");
}

fn check_invariants(command: &Command) {
    assert!(0 < command.threads && command.threads <= command.connections, "{command:?}");
    assert!(Nanos::ZERO < command.duration, "{command:?}");
    assert!(command.urls.iter().all(|url| url::is_url(url)), "{command:?}");
    let (is_wrk, is_dsb) =
        (command.compatibility == Compatibility::Wrk, command.compatibility == Compatibility::Dsb);
    assert_eq!(command.rate.is_none(), is_wrk, "{command:?}");
    assert!(command.urls.len() == 1 || is_dsb && 1 < command.urls.len(), "{command:?}");
    assert!(!command.uncorrected || command.latency, "{command:?}");
}
