use expect_test::{Expect, expect};

use crate::spec::tests::{check, read, spec};

/// Checks the error of a spec whose load and phases are these.
fn refused(load: &str, phases: &str, further: &str, expected: Expect) {
    let text = spec(further)
        .replace("{model: open, rate: 500/s}", load)
        .replace("{measure: {time: 5s}}", phases);
    check(&text, expected);
}

const SHORT: &str = "{warm_up: {fixed: 100ms}, measure: {time: 400ms}}";

#[test]
fn a_load_that_no_memory_holds_is_refused_with_its_rate_its_time_and_the_remedy() {
    let open = "{model: open}";
    refused(
        open,
        SHORT,
        "slo: [{metric: p99, max: 10ms}]\n\
         search: {strategy: sweep, range: [1M/s, 1G/s], step: 1M/s}\n",
        expect![[r#"
            1,000,000,000/s for 500 ms has 500,000,000 requests, and a simulation keeps at most 20,000,000 in memory
             --> my.yaml:8:27
              |
            8 | search: {strategy: sweep, range: [1M/s, 1G/s], step: 1M/s}
              |                           ^^^^^ lower the rate, or shorten the warm-up and the measurement
        "#]],
    );
    refused(
        open,
        SHORT,
        "slo: [{metric: p99, max: 10ms}]\nsearch: {range: [1/s, 1G/s]}\n",
        expect![[r#"
            1,000,000,000/s for 500 ms has 500,000,000 requests, and a simulation keeps at most 20,000,000 in memory
             --> my.yaml:8:10
              |
            8 | search: {range: [1/s, 1G/s]}
              |          ^^^^^ lower the rate, or shorten the warm-up and the measurement
        "#]],
    );
    refused(
        "{model: open, rate: 5M/s}",
        "{measure: {time: 5s}}",
        "",
        expect![[r#"
        5,000,000/s for 6.00 s has 30,000,000 requests, and a simulation keeps at most 20,000,000 in memory
         --> my.yaml:5:21
          |
        5 | load: {model: open, rate: 5M/s}
          |                     ^^^^ lower the rate, or shorten the warm-up and the measurement
    "#]],
    );
    refused(
        "{model: open, shape: \"1k/s 1s, ->20M/s 4s\"}",
        "{measure: {time: 5s}}",
        "",
        expect![[r#"
            6,667,333/s for 6.00 s has 40,004,000 requests, and a simulation keeps at most 20,000,000 in memory
             --> my.yaml:5:21
              |
            5 | load: {model: open, shape: "1k/s 1s, ->20M/s 4s"}
              |                     ^^^^^ lower the rate, or shorten the warm-up and the measurement
        "#]],
    );
    refused(
        "{model: open, rate: 1/s, arrivals: 'bursts:4294967295'}",
        SHORT,
        "",
        expect![[r#"
        1.00/s in bursts:4294967295 for 500 ms has 4,294,967,295 requests, and a simulation keeps at most 20,000,000 in memory
         --> my.yaml:5:21
          |
        5 | load: {model: open, rate: 1/s, arrivals: 'bursts:4294967295'}
          |                     ^^^^ lower the rate, or shorten the warm-up and the measurement
    "#]],
    );
    refused(
        "{model: open, rate: 1/s}",
        "{measure: {time: 1000h}}",
        "",
        expect![[r#"
        a simulated load takes at most 27 h 46 min, and this one 1000 h 0 min
         --> my.yaml:5:21
          |
        5 | load: {model: open, rate: 1/s}
          |                     ^^^^ shorten the warm-up and the measurement
    "#]],
    );
    refused(
        "{model: open, rate: 1M/s}",
        "{warm_up: {until_steady: {min: 10s, max: 60s}}, measure: {time: 1s}}",
        "",
        expect![[r#"
            1,000,000/s for 60.0 s has 60,000,000 requests, and a simulation keeps at most 20,000,000 in memory
             --> my.yaml:5:21
              |
            5 | load: {model: open, rate: 1M/s}
              |                     ^^^^ lower the rate, or shorten the warm-up and the measurement
        "#]],
    );
}

#[test]
fn a_closed_loop_is_refused_by_what_its_servers_answer() {
    let endless = |text: &str| text.replace("100us", "0s");
    let closed = spec("").replace("{model: open, rate: 500/s}", "{model: closed}");
    check(
        &endless(&closed),
        expect![[r#"
        a closed loop of 32 connections (service and think time: 0) never comes to an end
         --> my.yaml:5:8
          |
        5 | load: {model: closed}
          |        ^^^^^ lengthen the service time or the think time, or shorten the warm-up and the measurement
    "#]],
    );
    let thinks = closed.replace("model: closed", "model: closed, think: 1us");
    check(
        &endless(&thinks),
        expect![[r#"
        a closed loop of 32 connections (service and think time: 1.00 µs) for 6.00 s has 192,000,000 requests, and a simulation keeps at most 20,000,000 in memory
         --> my.yaml:5:8
          |
        5 | load: {model: closed, think: 1us}
          |        ^^^^^ lengthen the service time or the think time, or shorten the warm-up and the measurement
    "#]],
    );
    // One server answers 10,000/s, however many connections there are.
    let many = closed.replace("model: closed", "model: closed, connections: 1000000");
    read(&many, None, &[]).unwrap();
    let probe = spec(
        "search: {start: {probe: 0.6}, result: maximum_throughput, step: 5%, stop: [{rule: no_new_max, window: 6}]}\n",
    );
    let probe = probe.replace(", rate: 500/s", "");
    read(&probe, None, &[]).unwrap();
    check(
        &endless(&probe),
        expect![[r#"
        a closed loop of 32 connections (service and think time: 0) never comes to an end
         --> my.yaml:7:10
          |
        7 | search: {start: {probe: 0.6}, result: maximum_throughput, step: 5%, stop: [{rule: no_new_max, window: 6}]}
          |          ^^^^^ lengthen the service time or the think time, or shorten the warm-up and the measurement
    "#]],
    );
}

#[test]
fn the_largest_load_is_accepted() {
    let load = "{model: open, rate: 40M/s}";
    let text = spec("").replace("{model: open, rate: 500/s}", load);
    read(&text.replace("{measure: {time: 5s}}", SHORT), None, &[]).unwrap();
}
