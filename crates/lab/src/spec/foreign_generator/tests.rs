use expect_test::{Expect, expect};

use super::super::tests::{check, read};
use super::*;

const WRK: &str =
    "exec: [wrk, -c, '${connections}', -d, '${duration}', --latency, '${url}'], parse: wrk";

fn spec(workload: &str, load: &str, further: &str) -> String {
    format!(
        "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: [\"http://a:1\"]}}\n\
         workload: {{{workload}}}\nload: {{{load}}}\nphases: {{measure: {{time: 5s}}}}\n{further}"
    )
}

fn refuses(workload: &str, load: &str, further: &str, expected: Expect) {
    check(&spec(workload, load, further), expected);
}

#[test]
fn the_workload_of_another_generator_is_written_as_it_is_read() {
    let regex = "exec: [mine, '${url}', '${duration_s}', '${rate}', '${vars.x}'], path: /a, \
                 parse: {regex: {requests: 'n=(\\d+)', failed: 'e=(\\d+)', since: intended, \
                 times: {p99: 'p=(?<ms>\\d+)'}}}";
    for (workload, load) in [(WRK, "model: closed"), (regex, "model: open, rate: 5/s")] {
        let text = spec(workload, load, "vars: {x: y}\n");
        let resolved = read(&text, None, &[]).unwrap();
        assert_eq!(read(&resolved.to_yaml(), None, &[]).unwrap().spec, resolved.spec);
        assert_eq!(read(&text, None, &["seed=7", "seed=null"]).unwrap().spec, resolved.spec);
    }
}

#[test]
fn a_level_may_name_another_generator() {
    let levels = format!(
        "factors:\n  generator:\n    levels:\n      - {{name: ours, set: {{workload: {{get: /}}}}}}\n      \
         - {{name: wrk, set: {{workload: {{get: null, {WRK}}}}}}}\n"
    );
    let resolved = read(&spec("get: /", "model: closed", &levels), None, &[]).unwrap();
    let (_, questions) = super::super::questions(&resolved).unwrap();
    let foreign: Vec<bool> = questions
        .iter()
        .map(|question| question.resolved.spec.workload.foreign().is_some())
        .collect();
    assert_eq!(foreign, [false, true]);
}

#[test]
fn the_placeholders_are_replaced_in_each_load() {
    let workload = "exec: [mine, '${url}', '${duration}', '${duration_s}', 'r=${rate}', \
                    '${connections}', '${vars.x}'], parse: fortio";
    let text = spec(workload, "model: open, rate: 5/s", "vars: {x: y}\n");
    let resolved = read(&text, None, &[]).unwrap();
    let command = &resolved.spec.workload.foreign().unwrap().exec;
    let rate = Rate::per_second(1_234.56);
    let length = Nanos::from_secs(7);
    let values = Values { url: Some("http://a:1/"), length, rate, connections: 8 };
    let words = filled(&resolved, command, &values);
    assert_eq!(words, ["mine", "http://a:1/", "7s", "7", "r=1235", "8", "y"]);
}

#[test]
fn the_parts_of_the_url_are_without_its_query() {
    let workload = "exec: [mine, '${address}', '${host}', '${port}', '${duration}'], parse: fortio";
    let resolved = read(&spec(workload, "model: closed", ""), None, &[]).unwrap();
    let command = &resolved.spec.workload.foreign().unwrap().exec;
    let (url, length) = (Some("http://me@a:1?x=1"), Nanos::SECOND);
    let values = Values { url, length, rate: None, connections: 8 };
    assert_eq!(filled(&resolved, command, &values), ["mine", "a:1", "a", "1", "1s"]);
}

#[test]
fn a_path_that_no_url_can_have_is_refused_before_anything_starts() {
    let text = spec(&format!("{WRK}, path: '/a b'"), "model: closed", "");
    let error = read(&text, None, &[]).unwrap_err().to_string();
    assert!(error.starts_with("`/a b` is not a valid path: ' ' is not allowed"), "{error}");
    assert!(error.contains("my.yaml:4:"), "{error}");
}

#[test]
fn a_command_is_told_all_that_it_needs() {
    refuses(
        "exec: [wrk, '${url}'], parse: wrk",
        "model: closed",
        "",
        expect![[r#"
            wrk is not told how long it measures
             --> my.yaml:4:12
              |
            4 | workload: {exec: [wrk, '${url}'], parse: wrk}
              |            ^^^^ add "${duration}" (10s) or "${duration_s}" (10) to its command
        "#]],
    );
    refuses(
        "exec: [wrk, -d, '${duration}'], parse: wrk",
        "model: closed",
        "",
        expect![[r#"
            wrk is not told where the system is
             --> my.yaml:4:12
              |
            4 | workload: {exec: [wrk, -d, '${duration}'], parse: wrk}
              |            ^^^^ add "${url}" to its command
        "#]],
    );
    refuses(
        "exec: [wrk, '${ulr}', '${duration}'], parse: wrk",
        "model: closed",
        "",
        expect![[r#"
            unknown variable `ulr`; did you mean `url`?
             --> my.yaml:4:25
              |
            4 | workload: {exec: [wrk, '${ulr}', '${duration}'], parse: wrk}
              |                         ^^^^^ variables here: url, address, host, port, duration, duration_s, rate, connections
        "#]],
    );
    refuses(
        "exec: [wrk2, '${url}', '${duration}'], parse: wrk2",
        "model: open, rate: 5/s",
        "",
        expect![[r#"
            wrk2 is not told the rate of an open loop
             --> my.yaml:4:12
              |
            4 | workload: {exec: [wrk2, '${url}', '${duration}'], parse: wrk2}
              |            ^^^^ add "${rate}" to its command, in requests per second
        "#]],
    );
    refuses(
        "exec: [wrk, '${url}']",
        "model: closed",
        "",
        expect![[r#"
        `exec` needs the reader of its output; add parse: wrk, wrk2, fortio, hey, or {regex: {…}}
         --> my.yaml:4:11
          |
        4 | workload: {exec: [wrk, '${url}']}
          |           ^
    "#]],
    );
    refuses(
        "parse: wrk",
        "model: closed",
        "",
        expect![[r#"
        `parse` reads the output of `exec`; add exec: [wrk, …, "${url}"]
         --> my.yaml:4:11
          |
        4 | workload: {parse: wrk}
          |           ^
    "#]],
    );
    refuses(
        &format!("{WRK}, get: /"),
        "model: closed",
        "",
        expect![[r#"
            the generator of `exec` sends its own requests; remove script, args, mix, data, get, check, method, headers, body and body_file
             --> my.yaml:4:11
              |
            4 | workload: {exec: [wrk, -c, '${connections}', -d, '${duration}', --latency, '${url}'], parse: wrk, get: /}
              |           ^
        "#]],
    );
}

#[test]
fn a_generator_makes_only_its_own_model_of_load() {
    refuses(
        WRK,
        "model: open, rate: 5/s",
        "",
        expect![[r#"
        wrk does not make an open loop
         --> my.yaml:5:8
          |
        5 | load: {model: open, rate: 5/s}
          |        ^^^^^ it sends the next request after an answer; write load: {model: closed}
    "#]],
    );
    let wrk2 = "exec: [wrk2, '${url}', '${duration}'], parse: wrk2";
    refuses(
        wrk2,
        "model: closed",
        "",
        expect![[r#"
        wrk2 does not make a closed loop
         --> my.yaml:5:8
          |
        5 | load: {model: closed}
          |        ^^^^^ it sends by the clock; write load: {model: open, rate: 500/s}, or a search
    "#]],
    );
    let fortio = "exec: [fortio, '${url}', '${duration}', '${rate}'], parse: fortio";
    refuses(
        fortio,
        "model: closed",
        "",
        expect![[r#"
        a closed loop has no rate
         --> my.yaml:4:53
          |
        4 | workload: {exec: [fortio, '${url}', '${duration}', '${rate}'], parse: fortio}
          |                                                     ^^^^^^^ remove ${rate}, or write load: {model: open, rate: 500/s}
    "#]],
    );
    refuses(
        WRK,
        "model: closed, think: 5ms",
        "",
        expect![[r#"
        `load.think` has no effect: wrk makes this load
         --> my.yaml:5:23
          |
        5 | load: {model: closed, think: 5ms}
          |                       ^^^^^ remove it, or say it in the command (a patch removes by null)
    "#]],
    );
}

#[test]
fn what_needs_our_generator_is_refused() {
    let is_external = "where: {backend: external}\nsut: {endpoint: [\"http://a:1\"]}";
    let elsewhere = |place: &str| spec(WRK, "model: closed", "").replace(is_external, place);
    check(
        &elsewhere("where: {backend: simulated}\nsimulated: {service_time: 1ms}"),
        expect![[r#"
            wrk cannot make the load on backend simulated
             --> my.yaml:2:9
              |
            2 | where: {backend: simulated}
              |         ^^^^^^^ a simulation sends nothing: choose backend: local
        "#]],
    );
    let app = "sut: {deploy: [app: {name: hotel, run: hotel all-in-one}]}";
    let cluster = "where: {backend: kubernetes, cluster: {image: 'a:1'}}\n";
    check(
        &elsewhere(&format!("{cluster}{app}")),
        expect![[r#"
        wrk cannot make the load on backend kubernetes
         --> my.yaml:2:9
          |
        2 | where: {backend: kubernetes, cluster: {image: 'a:1'}}
          |         ^^^^^^^ its program is not in the image: choose backend: local or external, or a workload of our generator
    "#]],
    );
    check(
        &elsewhere("where: {backend: external}\nsut: {endpoint: ['http://a:1', 'http://b:1']}"),
        expect![[r#"
            wrk loads one URL, and there are several
             --> my.yaml:4:12
              |
            4 | workload: {exec: [wrk, -c, '${connections}', -d, '${duration}', --latency, '${url}'], parse: wrk}
              |            ^^^^ write one endpoint, and one instance
        "#]],
    );
    let replicas = "sut: {deploy: [app: {name: hotel, replicas: 2, run: hotel all-in-one}]}";
    check(
        &elsewhere(replicas),
        expect![[r#"
        wrk loads one URL, and `hotel` has replicas
         --> my.yaml:3:12
          |
        3 | workload: {exec: [wrk, -c, '${connections}', -d, '${duration}', --latency, '${url}'], parse: wrk}
          |            ^^^^ put `app: balancer` before them as the endpoint, or write replicas: 1
    "#]],
    );
    let closed = spec(WRK, "model: closed", "");
    check(
        &closed.replace("time: 5s", "time: 2500ms"),
        expect![[r#"
        wrk is told whole seconds, not 2500ms
         --> my.yaml:6:10
          |
        6 | phases: {measure: {time: 2500ms}}
          |          ^^^^^^^ write whole seconds, for example 10s or 0s
    "#]],
    );
    let steady = "{warm_up: {until_steady: {min: 10s, max: 20s}}, measure: {time: 5s}}";
    check(
        &closed.replace("{measure: {time: 5s}}", steady),
        expect![[r#"
        nothing shows when a system is steady while wrk loads it
         --> my.yaml:6:20
          |
        6 | phases: {warm_up: {until_steady: {min: 10s, max: 20s}}, measure: {time: 5s}}
          |                    ^^^^^^^^^^^^ remove it, and write warm_up: {fixed: 10s}
    "#]],
    );
    refuses(
        "exec: [wrk2, --latency, '${url}', '${duration}', '${rate}'], parse: wrk2",
        "model: open",
        "search: {start: {probe: 0.5}}\nslo: [{metric: p99, max: 5ms}]\n",
        expect![[r#"
            the probe is a closed loop, which wrk2 does not make here
             --> my.yaml:7:10
              |
            7 | search: {start: {probe: 0.5}}
              |          ^^^^^ begin the search with a rate: start: 500/s
        "#]],
    );
}

#[test]
fn a_percentile_that_is_not_printed_cannot_be_asked_for() {
    refuses(
        WRK,
        "model: closed",
        "slo: [{metric: p99.9, max: 5ms}]\n",
        expect![[r#"
        wrk does not print the p99.9
         --> my.yaml:7:1
          |
        7 | slo: [{metric: p99.9, max: 5ms}]
          | ^^^ it prints p50, p75, p90, p99
    "#]],
    );
    refuses(
        "exec: [wrk, '${url}', '${duration}'], parse: wrk",
        "model: closed",
        "slo: [{metric: p99, max: 5ms}]\n",
        expect![[r#"
            wrk does not print the p99
             --> my.yaml:7:1
              |
            7 | slo: [{metric: p99, max: 5ms}]
              | ^^^ add --latency to its command
        "#]],
    );
    refuses(
        WRK,
        "model: closed",
        "repeat: {trials: 2, until: {metric: p99.9, ci_rel: 5%, max: 9}}\n",
        expect![[r#"
            wrk does not print the p99.9
             --> my.yaml:7:21
              |
            7 | repeat: {trials: 2, until: {metric: p99.9, ci_rel: 5%, max: 9}}
              |                     ^^^^^ it prints p50, p75, p90, p99
        "#]],
    );
    let fortio = "exec: [fortio, -p, '50,99', '${url}', '${duration}'], parse: fortio";
    refuses(
        fortio,
        "model: closed",
        "slo: [{metric: p90, max: 5ms}]\n",
        expect![[r#"
        fortio does not print the p90
         --> my.yaml:7:1
          |
        7 | slo: [{metric: p90, max: 5ms}]
          | ^^^ it prints p50, p99: see its option -p
    "#]],
    );
    let open = "exec: [fortio, '${url}', '${duration}', '${rate}'], parse: fortio";
    refuses(
        open,
        "model: open, rate: 5/s",
        "slo: [{metric: p99, max: 5ms}]\n",
        expect![[r#"
        fortio counts times from sending, which are not the response times of an open loop
         --> my.yaml:7:1
          |
        7 | slo: [{metric: p99, max: 5ms}]
          | ^^^ ask for failures or rates only, or use wrk2 or our generator
    "#]],
    );
    let failures = spec(open, "model: open, rate: 5/s", "slo: [{metric: failures, max: 1%}]\n");
    read(&failures, None, &[]).unwrap();
}

#[test]
fn an_expression_has_one_figure_with_a_unit_that_is_known() {
    for (expressions, why) in [
        ("requests: 'n=\\d+', failed: 'e=(\\d+)'", "`n=\\d+` needs one group"),
        ("requests: '(n)=(\\d+)', failed: 'e=(\\d+)'", "needs one group"),
        (
            "requests: '(\\d+)', failed: '(\\d+)', since: sent, times: {p50: '(?<min>\\d+)'}",
            "is named by the unit of its figure: ns, us, ms or s",
        ),
        (
            "requests: '(\\d+)', failed: '(\\d+)', since: sent, times: {median: '(\\d+)'}",
            "`median` is not a time",
        ),
        (
            "requests: '(\\d+)', failed: '(\\d+)', times: {p50: '(\\d+)'}",
            "from when does the generator count its times?",
        ),
    ] {
        let workload = format!(
            "exec: [mine, '${{url}}', '${{duration}}'], parse: {{regex: {{{expressions}}}}}"
        );
        let error = read(&spec(&workload, "model: closed", ""), None, &[]).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn the_options_of_go_are_found_in_all_their_forms() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (command, value) in [
        ("fortio load -p 50,99 http://a", Some("50,99")),
        ("fortio load -p=90 http://a", Some("90")),
        ("fortio load --p 90 http://a", Some("90")),
        ("fortio load -payload x http://a", None),
        ("fortio load -p", None),
    ] {
        assert_eq!(of_go(&words(command), "p"), value, "{command}");
    }
}
