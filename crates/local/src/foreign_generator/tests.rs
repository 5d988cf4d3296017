//! The outputs of other generators. The texts of wrk were recorded; those of wrk2, hey and fortio are in
//! the layouts of their documentation.

use expect_test::{Expect, expect};
use lab::spec::Expressions;
use lab::spec::generator::Arguments;
use measure::pace::Think;

use super::*;

const WRK: &str = include_str!("tests/wrk.txt");
const WRK_OVERLOADED: &str = include_str!("tests/wrk-overloaded.txt");

/// wrk2's percentiles leave out its calibration.
const WRK2: &str = "\
Running 20s test @ http://127.0.0.1:8080/
  2 threads and 32 connections
  Thread calibration: mean lat.: 1.234ms, rate sampling interval: 10ms
  Thread calibration: mean lat.: 1.240ms, rate sampling interval: 10ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.12ms  510.33us   9.87ms   78.00%
    Req/Sec     2.64k   210.00     3.44k    80.00%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.05ms
 75.000%    1.40ms
 90.000%    1.80ms
 99.000%    3.10ms
 99.900%    6.20ms
 99.990%    8.90ms
 99.999%    9.80ms
100.000%    9.87ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.123     0.000000            1         1.00
       1.050     0.500000         4990         2.00
#[Mean    =        1.120, StdDeviation   =        0.510]
#[Max     =        9.872, Total count    =         9980]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
  20020 requests in 20.00s, 2.99MB read
  Socket errors: connect 0, read 2, write 0, timeout 31
Requests/sec:   1001.02
Transfer/sec:    153.48KB
";

const HEY: &str = "
Summary:
  Total:\t10.0435 secs
  Slowest:\t0.1857 secs
  Fastest:\t0.0031 secs
  Average:\t0.0311 secs
  Requests/sec:\t641.6073
  
  Total data:\t143294217 bytes
  Size/request:\t22236 bytes

Response time histogram:
  0.003 [1]\t|
  0.186 [6443]\t|■■■■■■■■■■

Latency distribution:
  10%% in 0.0088 secs
  25%% in 0.0133 secs
  50%% in 0.0260 secs
  75%% in 0.0423 secs
  90%% in 0.0613 secs
  95%% in 0.0760 secs
  99%% in 0.1077 secs

Details (average, fastest, slowest):
  DNS+dialup:\t0.0000 secs, 0.0031 secs, 0.1857 secs
  resp read:\t0.0001 secs, 0.0000 secs, 0.0062 secs

Status code distribution:
  [200]\t6442 responses
  [404]\t2 responses

Error distribution:
  [3]\tGet \"http://127.0.0.1:8080/\": dial tcp 127.0.0.1:8080: connect: connection refused
";

const FORTIO: &str = r#"
{
  "RunType": "HTTP",
  "RequestedQPS": "800",
  "RequestedDuration": "5s",
  "ActualQPS": 800.2,
  "ActualDuration": 5000000000,
  "NumThreads": 8,
  "Version": "1.60.3",
  "DurationHistogram": {
    "Count": 4001, "Min": 0.0011, "Max": 0.0124, "Sum": 7.6, "Avg": 0.0019, "StdDev": 0.0003,
    "Data": [{"Start": 0.0011, "End": 0.0124, "Percent": 100, "Count": 4001}],
    "Percentiles": [
      {"Percentile": 50, "Value": 0.0018},
      {"Percentile": 99.9, "Value": 0.0121},
      {"Percentile": 99, "Value": 0.0052}
    ]
  },
  "Exactly": 0,
  "RetCodes": {"200": 3990, "503": 10, "-1": 1},
  "URL": "http://127.0.0.1:8080/"
}
"#;

fn made(parse: Parse, words: &[&str], rate: Option<f64>) -> ForeignLoad {
    let command = words.iter().map(|&word| word.to_owned()).collect();
    ForeignLoad { warm_up: None, command, parse, rate, limit: Some(Nanos::from_millis(100)) }
}

fn drive() -> Drive {
    Drive {
        targets: vec!["http://127.0.0.1:8080/".to_owned()],
        rate: None,
        think: Think::NONE,
        opening: Nanos::ZERO,
        warm_up: Nanos::ZERO,
        measure: Nanos::from_secs(5),
        drain: Nanos::ZERO,
        interval: None,
        seed: 1,
        arguments: Arguments::default(),
        secrets: Default::default(),
        foreign: None,
    }
}

fn read(made: &ForeignLoad, output: &str) -> Result<Load, String> {
    let at = |seconds| Instant(Nanos::from_secs(seconds).0);
    document(&drive(), made, output, (at(1), at(2), at(7)))
}

/// Compares the figures of a load, without what does not depend on the output.
fn shows(made: &ForeignLoad, output: &str, expected: Expect) {
    let load = read(made, output).unwrap();
    let part = &load.total;
    let printed = serde_json::to_string(&part.printed).unwrap();
    let mut text = format!(
        "{:.4} s: {:?} {:?} {:?}\n{:?}\n{printed}\n",
        load.measured_s, load.pacing, part.outcomes, part.statuses, part.rates_per_s
    );
    let sentences = load.findings.iter().chain(&load.warnings);
    sentences.for_each(|sentence| text += &format!("{sentence}\n"));
    expected.assert_eq(&text);
    assert_eq!(part.outcomes.values().sum::<u64>(), part.counts.intended, "one outcome each");
}

#[test]
fn the_text_of_wrk_gives_its_figures() {
    let made = made(Parse::Wrk, &["wrk", "-c32", "--latency"], None);
    shows(
        &made,
        WRK,
        expect![[r#"
            3.1001 s: Closed { think_ns: 0 } {"ok": 18865} {}
            Rates { asked: None, offered: 6085.319999189183, completed: 6085.32, sustained: Some(6085.319999189183), succeeded: Some(6085.32), goodput: 6085.319999189183 }
            {"since":"sent","count":18865,"timeout_ns":2000000000,"mean_ns":1640000,"max_ns":12210000,"percentiles":[{"level":0.5,"time_ns":1160000},{"level":0.75,"time_ns":2270000},{"level":0.9,"time_ns":3800000},{"level":0.99,"time_ns":7830000}]}
            wrk is a closed loop: it sends less while answers are slow; for the requests that it did not send, its percentiles hold estimates (coordinated omission)
        "#]],
    );
}

#[test]
fn answers_beyond_the_timeout_of_wrk_are_counted_as_missing() {
    let made = made(Parse::Wrk, &["wrk", "-T", "1s", "--latency"], None);
    shows(
        &made,
        WRK_OVERLOADED,
        expect![[r#"
            4.0187 s: Closed { think_ns: 0 } {"reset": 16, "status": 103, "write": 16969} {}
            Rates { asked: None, offered: 4252.091650551902, completed: 25.63, sustained: Some(25.63), succeeded: Some(0.0), goodput: 0.0 }
            {"since":"sent","count":93,"missing":10,"timeout_ns":1000000000,"mean_ns":347110000,"max_ns":988910000,"percentiles":[{"level":0.5,"time_ns":297980000},{"level":0.75,"time_ns":514470000},{"level":0.9,"time_ns":708100000},{"level":0.99,"time_ns":988910000}]}
            10 answers took longer than 1 s and are missing in these percentiles
            wrk is a closed loop: it sends less while answers are slow; for the requests that it did not send, its percentiles hold estimates (coordinated omission)
        "#]],
    );
}

/// The first run of guide 4 at one replica: its published figures in wrk's layout.
const WRK_GUIDE_4: &str = "\
Running 1m test @ http://localhost:10000/auth/login
  10 threads and 150 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    13.50ms   70.11ms   1.99s    98.70%
    Req/Sec   292.10    110.35   630.00     71.20%
  174606 requests in 1.00m, 54.33MB read
  Socket errors: connect 0, read 0, write 0, timeout 562
  Non-2xx or 3xx responses: 174000
Requests/sec:   2906.81
Transfer/sec:      0.90MB
";

#[test]
fn the_connections_of_wrk_show_what_its_times_leave_out() {
    let made = made(Parse::Wrk, &["wrk", "-t10", "-c150", "-d60s"], None);
    shows(
        &made,
        WRK_GUIDE_4,
        expect![[r#"
            60.0679 s: Closed { think_ns: 0 } {"ok": 606, "status": 174000} {}
            Rates { asked: None, offered: 2906.8100000139684, completed: 2906.81, sustained: Some(2906.81), succeeded: Some(10.088581492044947), goodput: 0.0 }
            {"since":"sent","count":174044,"missing":562,"timeout_ns":2000000000,"mean_ns":13500000,"max_ns":1990000000,"percentiles":[]}
            562 answers took longer than 2 s and are missing in these percentiles: about 11.9 s each, by Little's law
            wrk is a closed loop: it sends less while answers are slow; for the requests that it did not send, its percentiles hold estimates (coordinated omission)
            Little's law: 150 in progress, and 2,907/s × 13.5 ms account for 39.2: 73.8 % apart; the times of wrk leave out the rest, and a request took 51.6 ms on average
        "#]],
    );
    let odd = WRK_GUIDE_4.replace("150 connections", "157 connections");
    assert_eq!(read(&made, &odd).unwrap().total.in_progress, Some(150.0), "15 of each thread");
    let lost = WRK_GUIDE_4.replace("read 0", "read 1");
    assert_eq!(read(&made, &lost).unwrap().total.in_progress, None, "one had no answer");
    for unknown in ["10 threads", "0 threads and 150 connections", "x threads and 1 connections"] {
        let text = WRK_GUIDE_4.replace("10 threads and 150 connections", unknown);
        assert_eq!(read(&made, &text).unwrap().total.in_progress, None, "{unknown}");
    }
}

#[test]
fn fortio_never_rests_if_it_was_asked_for_the_most() {
    let rests = made(Parse::Fortio, &["fortio", "load"], None);
    let answered = FORTIO.replace(", \"-1\": 1", "");
    let connections = |text: &str| read(&rests, text).unwrap().total.in_progress;
    assert_eq!(connections(&answered), None);
    let most = answered.replace("\"800\"", "\"max\"");
    assert_eq!(connections(&most), Some(8.0));
}

#[test]
fn the_timeout_of_wrk_is_that_of_its_command_or_two_seconds() {
    let missing = WRK_OVERLOADED;
    for (words, timeout) in [
        (&["wrk"][..], "2 s"),
        (&["wrk", "-T", "5s"], "5 s"),
        (&["wrk", "-T4"], "4 s"),
        (&["wrk", "--timeout", "3s"], "3 s"),
        (&["wrk", "--timeout=1m"], "60 s"),
    ] {
        let load = read(&made(Parse::Wrk, words, None), missing).unwrap();
        let finding = &load.findings[0];
        assert!(
            finding.contains(&format!("took longer than {timeout} and are missing")),
            "{finding}"
        );
    }
}

#[test]
fn the_text_of_wrk2_gives_its_figures() {
    let made = made(Parse::Wrk2, &["wrk2", "-R1000", "--latency"], Some(1_000.0));
    shows(
        &made,
        WRK2,
        expect![[r#"
            19.9996 s: Open { arrivals: "wrk2's own" } {"ok": 20020, "reset": 2} {}
            Rates { asked: Some(1000.0), offered: 1000.0, completed: 1001.02, sustained: Some(1000.0), succeeded: Some(1001.02), goodput: 1001.0199999791917 }
            {"since":"intended","count":20020,"mean_ns":1120000,"max_ns":9870000,"percentiles":[{"level":0.5,"time_ns":1050000},{"level":0.75,"time_ns":1400000},{"level":0.9,"time_ns":1800000},{"level":0.99,"time_ns":3100000},{"level":0.999,"time_ns":6200000},{"level":0.9999,"time_ns":8900000},{"level":0.99999,"time_ns":9800000}]}
            wrk2 saw answers beyond its timeout 31 times; it looks several times at the same one
            the percentiles of wrk2 leave out 10,040 of 20,020 answers, most of them of its calibration
        "#]],
    );
}

#[test]
fn the_text_of_hey_gives_its_figures() {
    shows(
        &made(Parse::Hey, &["hey"], None),
        HEY,
        expect![[r#"
            10.0435 s: Closed { think_ns: 0 } {"error": 3, "ok": 6442, "status": 2} {"200": 6442, "404": 2}
            Rates { asked: None, offered: 641.9077014984816, completed: 641.6090008463185, sustained: Some(641.6090008463185), succeeded: Some(641.4098670782098), goodput: 609.3493304127047 }
            {"since":"sent","count":6444,"mean_ns":31100000,"max_ns":185700000,"percentiles":[{"level":0.1,"time_ns":8800000},{"level":0.25,"time_ns":13300000},{"level":0.5,"time_ns":26000000},{"level":0.75,"time_ns":42300000},{"level":0.9,"time_ns":61300000},{"level":0.95,"time_ns":76000000},{"level":0.99,"time_ns":107700000}]}
            hey is a closed loop: it sends less while answers are slow, and its percentiles leave out what would have waited (coordinated omission)
        "#]],
    );
}

#[test]
fn the_json_of_fortio_gives_its_figures() {
    shows(
        &made(Parse::Fortio, &["fortio", "load"], Some(800.0)),
        FORTIO,
        expect![[r#"
            5.0000 s: Open { arrivals: "fortio's own" } {"error": 1, "ok": 3990, "status": 10} {"200": 3990, "503": 10}
            Rates { asked: Some(800.0), offered: 800.0, completed: 800.0, sustained: Some(800.0), succeeded: Some(798.0), goodput: 798.0 }
            {"since":"sent","count":4001,"mean_ns":1900000,"max_ns":12400000,"percentiles":[{"level":0.5,"time_ns":1800000},{"level":0.99,"time_ns":5200000},{"level":0.999,"time_ns":12100000}]}
            fortio counts a time from sending: a request that waits for a connection is not seen (coordinated omission), and its times are lower bounds of the response times
        "#]],
    );
}

fn expressions(yaml: &str) -> Parse {
    Parse::Regex(serde_saphyr::from_str::<Expressions>(yaml).unwrap())
}

#[test]
fn expressions_read_the_figures_of_any_other_generator() {
    let text = "sent 1200 in 3.5s\nlost 3 by timeout\nlost 4 by reset\nmedian 0.25 ms\np99=1.5ms\n";
    let parse = expressions(
        r"{requests: 'sent (\d+)', failed: 'lost (\d+)', duration: 'in (\S+)', since: sent,
           times: {p50: 'median (?<ms>[\d.]+)', p99: 'p99=(\S+)'}}",
    );
    shows(
        &made(parse, &["/opt/bench/mine"], None),
        text,
        expect![[r#"
            3.5000 s: Closed { think_ns: 0 } {"ok": 1193, "status": 7} {}
            Rates { asked: None, offered: 342.85714285714283, completed: 342.85714285714283, sustained: Some(342.85714285714283), succeeded: Some(340.85714285714283), goodput: 337.42857142857144 }
            {"since":"sent","count":1200,"percentiles":[{"level":0.5,"time_ns":250000},{"level":0.99,"time_ns":1500000}]}
        "#]],
    );
    let short = expressions(r"{requests: 'sent (\d+)', failed: 'lost (\d+)'}");
    let load = read(&made(short, &["mine"], None), "sent 10").unwrap();
    assert_eq!((load.measured_s, load.total.counts.failed), (5.0, 0), "the length that was asked");
    assert_eq!(load.total.printed, None);
}

#[test]
fn an_output_that_cannot_be_read_says_what_is_missing() {
    let regex = expressions(r"{requests: 'sent (\d+)', failed: 'lost (\S+)'}");
    for (parse, text, why) in [
        (Parse::Wrk, "unable to connect", "it printed no line `… requests in …`"),
        (Parse::Wrk, "  x requests in 3.00s, 1MB read", "it printed no line `… requests in …`"),
        (Parse::Wrk, "  5 requests in eternity", "it printed no length of its run"),
        (Parse::Hey, "Summary:\n", "it printed no `Total: … secs`"),
        (Parse::Hey, "  Total:\t5.0 secs\n", "it printed no answer and no error"),
        (Parse::Fortio, "All done", "it printed no JSON; add `-json -` to its command"),
        (regex.clone(), "done", r"it printed nothing that `sent (\d+)` matches"),
        (regex.clone(), "sent 5 lost x", r"`x`, found by `lost (\S+)`, is not a number"),
        (regex, "sent 5 lost 6", "it printed 6 failures of 5 requests"),
    ] {
        assert_eq!(read(&made(parse, &["tool"], None), text).unwrap_err(), why);
    }
    let error = read(&made(Parse::Fortio, &["fortio"], None), "{\"ActualQPS\": 5}").unwrap_err();
    assert!(error.starts_with("its JSON cannot be read: missing field"), "{error}");
}

/// A generator that failed may print anything.
#[test]
fn an_output_cut_off_anywhere_is_refused_or_read_but_never_a_panic() {
    for (parse, text) in [
        (Parse::Wrk, WRK_OVERLOADED),
        (Parse::Wrk2, WRK2),
        (Parse::Hey, HEY),
        (Parse::Fortio, FORTIO),
    ] {
        let made = made(parse, &["tool"], None);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let _ = read(&made, &text[..end]);
            let _ = read(&made, &text[end..]);
        }
        let _ = read(&made, &text.replace(char::is_numeric, "9"));
        let _ = read(&made, &text.replace(char::is_numeric, "nan"));
    }
}

#[test]
fn nothing_that_is_unknown_is_zero_or_passed() {
    let load = read(&made(Parse::Wrk, &["wrk", "--latency"], None), WRK).unwrap();
    let validity = &load.validity;
    assert!(validity.gates.is_empty(), "no gate is passed: {validity:?}");
    let unknown: Vec<String> = validity.unknown.iter().map(|gate| gate.name.to_string()).collect();
    assert_eq!(unknown, ["late", "lost", "disturbed", "busy"]);
    let total = &load.total;
    assert_eq!((&total.response_time, &total.service_time, &total.lateness), (&None, &None, &None));
    assert_eq!((load.saturated, load.connections, load.series.len()), (None, None, 0));
}

#[test]
fn a_rate_that_was_not_reached_is_nobodys_fault() {
    let made = made(Parse::Wrk2, &["wrk2"], Some(1_100.0));
    let load = read(&made, WRK2).unwrap();
    let text = "1001.0/s of 1100.0/s completed: the system did not keep up, or wrk2 did not; which \
                one is unknown";
    assert!(load.warnings.iter().any(|warning| warning == text), "{:?}", load.warnings);
}
