//! Samples of each format, with invented figures in the shape that each tool writes.

use std::fmt::Write;
use std::io::BufReader;

use expect_test::{Expect, expect};
use measure::{Histogram, Random};
use results::{Load, Times, times};

use measure::Nanos;
use results::Foreign;
use results::foreign::Loop;
use results::printed::Since;

use super::*;

mod failing;
mod formats;
mod labels;
mod shapes;

/// Returns a line of k6's `--out json` with these tags.
fn k6_point(metric: &str, value: u32, tags: &str) -> String {
    format!(
        "{{\"metric\":\"{metric}\",\"type\":\"Point\",\"data\":{{\"time\":\"2026-11-24T10:12:00Z\",\"value\":{value},\
         \"tags\":{{{tags}}}}}}}\n"
    )
}

/// The samples with the names of their formats and what has to be said about them.
fn samples() -> Vec<(&'static str, String, Asked)> {
    macro_rules! sample {
        ($name:literal, $file:literal) => {
            ($name, include_str!(concat!("tests/samples/", $file)).to_owned(), Asked::default())
        };
    }
    let of_unit = Asked { unit: Some(Unit::Milliseconds), ..Asked::default() };
    let (_, hgrm, _) = sample!("hgrm", "table.hgrm");
    let (_, csv, _) = sample!("csv", "any.csv");
    let of_rows =
        Asked { rows_are_requests: true, column: Some("latency".to_owned()), ..of_unit.clone() };
    let of_log = Asked {
        unit: Some(Unit::Nanoseconds),
        tag: Some("response".to_owned()),
        ..Asked::default()
    };
    vec![
        sample!("k6", "k6-export.json"),
        sample!("k6", "k6-data.json"),
        sample!("k6", "k6-results.json"),
        sample!("k6-json", "k6-lines.json"),
        sample!("vegeta-json", "vegeta.jsonl"),
        sample!("vegeta-csv", "vegeta.csv"),
        sample!("vegeta", "vegeta-report.json"),
        sample!("oha", "oha.json"),
        sample!("oha-csv", "oha.csv"),
        sample!("fortio", "fortio.json"),
        sample!("ghz", "ghz.json"),
        sample!("ghz", "ghz-short.json"),
        sample!("wrk", "wrk.txt"),
        sample!("wrk2", "wrk2.txt"),
        sample!("hey", "hey.txt"),
        sample!("hey-csv", "hey.csv"),
        sample!("locust", "locust_stats.csv"),
        sample!("locust-history", "locust_stats_history.csv"),
        sample!("jmeter", "jmeter.jtl"),
        sample!("gatling", "simulation.log"),
        ("hgrm", hgrm, of_unit),
        ("hlog", log(), of_log),
        ("csv", csv, of_rows),
        ("load", load(), Asked::default()),
    ]
}

fn log() -> String {
    let mut histogram = Histogram::new();
    (1..=200).for_each(|us| histogram.record(Nanos::from_micros(us * 10)));
    let lines = [
        times::log_line("response", (0.0, 1.0), &histogram),
        times::log_line("service", (0.0, 1.0), &histogram),
        times::log_line("response", (1.0, 1.0), &histogram),
    ];
    times::log_header().to_owned() + &lines.concat()
}

fn load() -> String {
    let mut histogram = Histogram::new();
    (1..=1_000).for_each(|us| histogram.record(Nanos::from_micros(us)));
    let mut load = Load::empty("benchwright 0.1.0");
    load.pacing = results::load::Pacing::Open { arrivals: "poisson".to_owned() };
    load.measured_s = 10.0;
    load.total.counts.intended = 1_000;
    (load.total.counts.sent, load.total.counts.completed) = (1_000, 1_000);
    load.total.rates_per_s.asked = Some(100.0);
    load.total.rates_per_s.completed = 100.0;
    load.total.response_time = Times::of(&histogram);
    serde_json::to_string(&load).unwrap()
}

fn read_bytes(bytes: &[u8], asked: &Asked) -> Result<Foreign, String> {
    // A small buffer, so that what is looked at in advance is not all there is.
    read("a file", &mut BufReader::with_capacity(512, bytes), asked)
}

fn read_text(text: &str) -> Result<Foreign, String> {
    read_bytes(text.as_bytes(), &Asked::default())
}

/// The figures in short.
fn shown(read: &Result<Foreign, String>) -> String {
    let Foreign { format, tool, facts, limits, .. } = match read {
        Ok(foreign) => foreign,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut text = String::new();
    let since = facts.since.map_or("?".to_owned(), |since| format!("{since:?}"));
    let pacing = facts.pacing.map_or("?".to_owned(), |pacing| format!("{pacing:?}"));
    let _ = writeln!(text, "{format} of {tool}: since {since}, loop {pacing}");
    let _ = writeln!(
        text,
        "  requests {:?} failed {:?} unanswered {:?} not sent {:?} in {:?} s at {:?}/s of {:?}/s",
        facts.requests,
        facts.failed,
        facts.unanswered,
        facts.not_sent,
        facts.measured_s.map(|s| (s * 1e4).round() / 1e4),
        facts.completed_per_s.map(|rate| (rate * 1e3).round() / 1e3),
        facts.asked_per_s
    );
    let quantile = |level: f64| facts.quantile_ns(measure::Quantile::new(level).unwrap());
    let _ = writeln!(
        text,
        "  times of {:?}: mean {:?} p50 {:?} p90 {:?} p99 {:?} p99.9 {:?} max {:?}; statuses {:?}",
        facts.count(),
        facts.mean().map(|ns| ns.0),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        facts.max().map(|ns| ns.0),
        facts.statuses
    );
    let codes: Vec<String> = limits.iter().map(|limit| format!("{:?}", limit.code)).collect();
    let _ = writeln!(text, "  {}", codes.join(" "));
    text.replace("Some(", "").replace(')', "").replace("None", "–")
}

fn check(format: &str, expected: &Expect) {
    let shown: String = samples()
        .iter()
        .filter(|(name, ..)| *name == format || name.starts_with(&format!("{format}-")))
        .map(|(_, text, asked)| shown(&read_bytes(text.as_bytes(), asked)))
        .collect();
    expected.assert_eq(&shown);
}

#[test]
fn each_format_is_recognised_by_its_contents_alone() {
    for (name, text, asked) in samples() {
        let found =
            read_bytes(text.as_bytes(), &asked).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(found.format, name);
        // A mark of the encoding changes nothing.
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        assert_eq!(read_bytes(&marked, &asked).as_ref(), Ok(&found), "{name}");
        let named = Asked { format: Some(format(name).unwrap()), ..asked };
        assert_eq!(read_bytes(text.as_bytes(), &named).as_ref(), Ok(&found), "{name}");
    }
    let tested: Vec<&str> = samples().iter().map(|(name, ..)| *name).collect();
    assert!(FORMATS.iter().all(|format| tested.contains(&format.name)));
}

#[test]
fn every_file_says_what_it_does_not_support() {
    for (name, text, asked) in samples() {
        let found = read_bytes(text.as_bytes(), &asked).unwrap();
        let has = |code| found.limits.iter().any(|limit| limit.code == code);
        assert!(name == "load" || has(results::foreign::Code::GeneratorUnknown), "{name}");
        assert!(
            !found.supports.is_empty() && found.limits.iter().all(|limit| !limit.text.is_empty())
        );
    }
}

#[test]
fn what_is_not_recognised_is_refused_with_what_is() {
    let error = read_text("certainly no figures\n").unwrap_err();
    assert!(error.starts_with("its format is not recognised; known are\n  load "), "{error}");
    assert!(FORMATS.iter().all(|format| error.contains(format.what)), "{error}");
    let unknown = format("jtl").unwrap_err();
    assert!(
        unknown.starts_with("`jtl` is not a format; write one of load, k6-json, k6, "),
        "{unknown}"
    );
}

#[test]
fn known_files_that_cannot_be_read_are_refused_with_the_remedy() {
    let gob = b"\x0f\xff\x81\x03\x01\x01\x06Result\x01\xff\x82\0\x01\x01\x06Attack\x01\x0c\0\x01\x03Seq\x01\x06\0\x01\x07Latency";
    let gatling = b"\0\0\0\0\x063.13.0\0\0\0\0\x05basic";
    let files: [&[u8]; 9] = [
        gob,
        gatling,
        b"",
        b" \n",
        b"\x1f\x8b\x08\0",
        b"\x28\xb5\x2f\xfd",
        b"<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">",
        b"<!doctype html>",
        b"a\0b",
    ];
    let errors: String = files.map(|file| shown(&read_bytes(file, &Asked::default()))).concat();
    expect![[r#"
        error: it is vegeta's binary format: write `vegeta encode FILE | benchwright analyse /dev/stdin`
        error: it is the binary log that Gatling writes from 3.13 on: turn it into a CSV file with a line for each request, and add --rows requests --column NAME --unit ms
        error: it is empty
        error: it is empty
        error: it is compressed: write `gunzip -c FILE | benchwright analyse /dev/stdin`
        error: it is compressed: write `zstd -dc FILE | benchwright analyse /dev/stdin`
        error: it is JMeter's XML: run JMeter with -Jjmeter.save.saveservice.output_format=csv
        error: it is a page or XML, not a file of figures; take the tool's JSON or CSV
        error: it is binary; take the tool's JSON, CSV or text
    "#]].assert_eq(&errors);
}

#[test]
fn what_a_tool_prints_for_people_is_refused_with_the_form_that_is_read() {
    let summary = |first: &str| {
        format!(
            "Summary:\n  {first}\n  Total:\t5.0026 secs\n  Slowest:\t0.0456 secs\n  Fastest:\t0.0001 secs\n  \
             Average:\t0.0031 secs\n  Requests/sec:\t3200.0000\n\nStatus code distribution:\n  [200] 16000 responses\n"
        )
    };
    let texts = [
        "Requests      [total, rate, throughput]         1200, 60.04, 60.03\nDuration      [total, attack, wait]  \
         20s, 20s, 1ms\nLatencies     [min, mean, 50, 90, 95, 99, max]  1ms, 2ms, 2ms, 3ms, 4ms, 5ms, 6ms\n"
            .to_owned(),
        "Bucket           #     %       Histogram\n[0s,     1ms]    5     100%    ####\n".to_owned(),
        summary("Success rate:\t100.00%"),
        summary("Count:\t16000"),
        "     http_req_duration..............: avg=130.19ms min=1ms med=2ms\n     http_reqs......: 1 1.5/s\n"
            .to_owned(),
        "Fortio 1.60.3 running at 1000 queries per second\n# target 50% 0.0003\n".to_owned(),
        "summary =   1000 in 00:00:10 =  100.0/s Avg:     5 Min:     1 Max:    20 Err:     0 (0.00%)\n".to_owned(),
    ];
    let errors: String = texts.iter().map(|text| shown(&read_text(text))).collect();
    expect![[r#"
        error: it is vegeta's report as text: write `vegeta report -type=json`, or `vegeta encode` for each request
        error: it is vegeta's report as text: write `vegeta report -type=json`, or `vegeta encode` for each request
        error: it is oha's text: run oha with `--output-format json`
        error: it is ghz's text: run ghz with `--format json`
        error: it is k6's text: run k6 with `--summary-export=FILE`, or with `--out json=FILE` for each request
        error: it is fortio's text: run fortio with `-json FILE`
        error: it is JMeter's text: read the file of its option `-l`
    "#]].assert_eq(&errors);
    // The same without a line of another tool.
    assert_eq!(read_text(&summary("")).unwrap().format, "hey");
}

#[test]
fn an_option_that_would_change_nothing_is_refused() {
    let (hey, hgrm) =
        (include_str!("tests/samples/hey.txt"), include_str!("tests/samples/table.hgrm"));
    let unit = Asked { unit: Some(Unit::Seconds), ..Asked::default() };
    let tag = Asked { tag: Some("a".to_owned()), ..unit.clone() };
    let since = Asked { since: Some(Since::Intended), ..Asked::default() };
    let pacing = Asked { pacing: Some(Loop::Open), ..Asked::default() };
    let errors: String =
        [(hey, &unit), (hgrm, &tag), (hey, &since), (hey, &pacing), (hgrm, &pacing)]
            .map(|(text, asked)| shown(&read_bytes(text.as_bytes(), asked)))
            .concat();
    expect![[r#"
        error: a file of the format hey says this itself: leave out --unit, or name another format by --format
        error: a file of the format hgrm says this itself: leave out --tag, or name another format by --format
        error: the times of hey count from another moment: leave out --since
        error: this file of the format hey says another loop: leave out --loop
        error: its values have no unit: say it by --unit (ns as a rule, and in logs of `benchwright load --hlog`; us in wrk2's own histograms; ms)
    "#]].assert_eq(&errors);
}

#[test]
fn what_the_user_says_about_a_loop_decides_what_is_supported() {
    let text = include_str!("tests/samples/vegeta.jsonl");
    let codes = |pacing, since| {
        let asked = Asked { pacing, since, ..Asked::default() };
        let found = read_bytes(text.as_bytes(), &asked).unwrap();
        // Most of these requests failed, which comes first.
        found.limits[1].code
    };
    use results::foreign::Code;
    assert_eq!(codes(None, None), Code::LoopUnknown);
    assert_eq!(codes(Some(Loop::Open), None), Code::FromSending);
    assert_eq!(codes(Some(Loop::Closed), Some(Since::Sent)), Code::ClosedLoop);
}

#[test]
fn a_file_that_ends_in_the_middle_has_what_came_before_and_says_so() {
    let lines =
        ["k6-json", "vegeta-json", "vegeta-csv", "hey-csv", "oha-csv", "jmeter", "gatling", "hlog"];
    for (name, text, asked) in samples().into_iter().filter(|(name, ..)| lines.contains(name)) {
        let text = text.trim_end();
        let last = text.rfind('\n').unwrap() + 1;
        let half = &text[..last + if name == "gatling" { 9 } else { (text.len() - last) / 3 }];
        let found = read_bytes(half.as_bytes(), &asked);
        let is_marked = |found: &Foreign| {
            found.limits.iter().any(|limit| limit.code == results::foreign::Code::Incomplete)
        };
        // The last line of Gatling's log is not a request.
        assert!(name == "gatling" || found.as_ref().is_ok_and(is_marked), "{name}: {found:?}");
    }
}

/// Only a last line without an end may be cut off: one with its end was written so.
#[test]
fn a_wrong_last_line_that_has_its_end_is_refused() {
    let (_, _, asked) = samples().into_iter().find(|(name, ..)| *name == "csv").unwrap();
    let read = |text: &str| read_bytes(text.as_bytes(), &asked);
    let wrong = "line 4: `NaN` is not a time; rows without one cannot be left out";
    for end in ["\n", "\r\n", "\n3\n"] {
        let error = read(&format!("latency\n1\n2\nNaN{end}")).unwrap_err();
        assert!(error.contains(wrong), "{error}");
    }
    let found = read("latency\n1\n2\nNaN").unwrap();
    let is_marked =
        |limit: &results::foreign::Limit| limit.code == results::foreign::Code::Incomplete;
    assert!(found.limits.iter().any(is_marked), "{found:?}");
}

#[test]
fn a_wrong_line_is_named() {
    let samples = samples();
    let text = |name: &str| &samples.iter().find(|(known, ..)| *known == name).unwrap().1;
    let with = |name: &str, line: &str| {
        let (first, rest) = text(name).split_once('\n').unwrap();
        shown(&read_text(&format!("{first}\n{line}\n{rest}")))
    };
    let errors = [
        with("k6-json", "{\"metric\":"),
        with("vegeta-json", "{}"),
        with("vegeta-csv", "a,b,c"),
        with("hey-csv", "fast,,"),
        with("oha-csv", "fast,,"),
        with("jmeter", "1764000000000,soon"),
        with("gatling", "REQUEST\thome\t5\t3\tOK"),
        with("gatling", "REQUEST\thome"),
    ];
    expect![[r#"
        error: line 2 is not one of k6: it ends in the middle: EOF while parsing a value at line 1 column 10; was the tool interrupted?
        error: line 2 is not one of vegeta: its JSON cannot be read: missing field `code` at line 1 column 2
        error: line 2 is not one of vegeta's CSV files
        error: line 2: `fast` is not a time of hey's CSV file
        error: line 2 has no begin, duration and status of a request
        error: line 2: the row is not complete, or `soon` in column `elapsed` is not a time
        error: line 2 has no begin, end and result of a request
        error: line 2 has no begin, end and result of a request
    "#]].assert_eq(&errors.concat());
}

#[test]
fn a_measured_time_is_written_with_its_unit() {
    let row = |ms: u64| format!("REQUEST\t\thome\t5\t{}\tOK\t\n", 5 + ms);
    let lines: String = (0..200).map(|n| row(10 + n % 11)).collect();
    let found = read_text(&format!("RUN\ta\tb\t1764000000000\t3.9.5\n{lines}")).unwrap();
    let is_coarse =
        |limit: &&results::foreign::Limit| limit.code == results::foreign::Code::CoarseTimes;
    let coarse = found.limits.iter().find(is_coarse).unwrap();
    assert_eq!(
        coarse.text,
        "the times are in steps of 1 ms, and the p50 is 15.0 ms: smaller differences cannot be seen"
    );
}

#[test]
fn parts_of_a_load_merge_if_they_have_distributions() {
    let (hey, text) =
        (include_str!("tests/samples/hey.csv"), include_str!("tests/samples/hey.txt"));
    let part =
        |text: &str, file: &str| Foreign { file: file.to_owned(), ..read_text(text).unwrap() };
    let both = merged(&[part(hey, "a.csv"), part(hey, "b.csv")]).unwrap();
    assert_eq!((both.file.as_str(), both.facts.requests), ("a.csv + b.csv", Some(6)));
    assert_eq!(both.facts.completed_per_s, Some(3.0));
    assert_eq!(both.facts.count(), Some(6));
    assert_eq!(both.facts.max(), part(hey, "a").facts.max());
    let refused = merged(&[part(hey, "a.csv"), part(text, "b.txt")]).unwrap_err();
    assert!(
        refused.starts_with("b.txt has no distribution, and percentiles of parts"),
        "{refused}"
    );
    let open = read_text(include_str!("tests/samples/vegeta.jsonl")).unwrap();
    let refused = merged(&[part(hey, "a.csv"), open]).unwrap_err();
    assert_eq!(
        refused,
        "a.csv and a file have times of different meaning, which do not belong together"
    );
}

#[test]
fn no_bytes_make_a_reader_panic() {
    let mut random = Random::new(38);
    let asked_of = |asked: &Asked, format: &'static Format| {
        let given = |question: Question| format.asks.contains(&question);
        Asked {
            format: Some(format.name),
            unit: asked.unit.or(Some(Unit::Seconds)).filter(|_| given(Question::Unit)),
            column: asked.column.clone().filter(|_| given(Question::Column)),
            rows_are_requests: given(Question::Rows),
            tag: asked.tag.clone().filter(|_| given(Question::Tag)),
            ..Asked::default()
        }
    };
    let mut tried = 0;
    for (_, text, asked) in samples() {
        let bytes = text.as_bytes();
        let step = (bytes.len() / 40).max(1);
        for end in (0..bytes.len()).step_by(step) {
            let mut cut = bytes[..end].to_vec();
            let _ = read_bytes(&cut, &asked);
            for _ in 0..3.min(cut.len()) {
                let place = random.below(cut.len() as u64) as usize;
                cut[place] = MARKS[random.below(MARKS.len() as u64) as usize];
            }
            let _ = read_bytes(&cut, &asked);
        }
        for format in FORMATS {
            let _ = read_bytes(bytes, &asked_of(&asked, format));
        }
        tried += 1;
    }
    assert_eq!(tried, samples().len());
}

/// Bytes that decide in these formats.
const MARKS: &[u8] = b"\0\n\t,;:\"{}[]9-.eE\xff<# ";

#[test]
fn figures_beyond_all_bounds_are_refused_or_stay_finite() {
    for (name, text, asked) in samples() {
        for (from, to) in [("1", "99999999999999999999"), ("2", "-7"), ("0", "1e308"), ("4", "nan")]
        {
            if let Ok(found) = read_bytes(text.replace(from, to).as_bytes(), &asked) {
                let text = serde_json::to_string(&found).unwrap();
                assert!(!text.contains("null"), "{name}: a number is not finite in {text}");
            }
        }
    }
}
