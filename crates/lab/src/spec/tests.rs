use std::path::Path;

use expect_test::{Expect, expect};
use measure::{Nanos, Share};

use super::*;

mod settings;

/// Returns the smallest spec, with further lines at its end.
pub(super) fn spec(further: &str) -> String {
    format!(
        "name: demo\n\
         where: {{backend: simulated}}\n\
         simulated: {{service_time: 100us}}\n\
         workload: {{get: /}}\n\
         load: {{model: open, rate: 500/s}}\n\
         phases: {{measure: {{time: 5s}}}}\n\
         {further}"
    )
}

pub(super) fn read(text: &str, profile: Option<&str>, set: &[&str]) -> Result<Resolved, SpecError> {
    let set: Vec<String> = set.iter().map(|&setting| setting.to_owned()).collect();
    from_bytes("my.yaml", text.as_bytes(), Path::new("."), profile, &set)
}

pub(super) fn check(text: &str, expected: Expect) {
    let error = read(text, None, &[]).map(|resolved| resolved.to_yaml()).unwrap_err();
    expected.assert_eq(&format!("{error}\n"));
}

fn check_set(profile: Option<&str>, set: &[&str], expected: Expect) {
    let text = spec(
        "profiles:\n  ci:\n    phases: {measure: {time: 5}}\n  short: {repeat: {trials: 0}}\n",
    );
    let error = read(&text, profile, set).map(|resolved| resolved.to_yaml()).unwrap_err();
    expected.assert_eq(&format!("{error}\n"));
}

#[test]
fn a_resolved_spec_states_every_default_and_reads_as_itself() {
    let resolved = read(&spec(""), None, &[]).unwrap();
    let yaml = resolved.to_yaml();
    expect![[r#"
        name: demo
        where:
          backend: simulated
          roles: {}
        sut:
          instances: 1
          replicas: 1
          ready:
            within: 30s
        simulated:
          service_time: 100us
          distribution: constant
          servers: 1
        workload:
          get: /
        load:
          model: open
          arrivals: poisson
          rate: 500/s
          connections: 32
          timeout: 10s
        phases:
          settle: 0s
          warm_up:
            fixed: 1s
          measure:
            time: 5s
            min_tail_samples: 100
          drain: 1s
        reset:
          between: never
        repeat:
          trials: 1
        budget:
          trials: 100
          invalid_attempts: 5
          slow_attempts: 1
    "#]]
    .assert_eq(&yaml);
    let again = read(&yaml, None, &[]).unwrap();
    assert_eq!(again.spec, resolved.spec);
}

#[test]
fn a_minimal_spec_needs_only_an_address_and_a_load() {
    let text = "name: mine\n\
                where: {backend: external}\n\
                sut: {endpoint: \"http://127.0.0.1:8080\"}\n\
                load: {model: open, rate: 500/s}\n";
    let spec = read(text, None, &[]).unwrap().spec;
    assert_eq!(spec.workload.describe(), "GET /");
    let phases = &spec.phases;
    assert_eq!(*phases.settle, Nanos::ZERO);
    assert_eq!(*phases.warm_up.fixed, Nanos::SECOND);
    assert_eq!(*phases.measure.time, Nanos::from_secs(10));
    assert_eq!(*phases.drain, Nanos::SECOND);

    let longer = read(text, None, &["phases.warm_up.fixed=5s"]).unwrap().spec.phases;
    assert_eq!(*longer.warm_up.fixed, Nanos::from_secs(5));
    assert_eq!(longer.measure, phases.measure);

    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let script = format!("workload.script={file}");
    assert_eq!(read(text, None, &[&script]).unwrap().spec.workload.describe(), file);
}

#[test]
fn an_unknown_field_is_named_with_the_nearest_known_one() {
    check(
        &spec("").replace("measure", "mesure"),
        expect![[r#"
            unknown field `mesure`; did you mean `measure`?
             --> my.yaml:6:10
              |
            6 | phases: {mesure: {time: 5s}}
              |          ^^^^^^ fields here: settle, warm_up, measure, drain, cool_down
        "#]],
    );
    check(
        &spec("serach: {}\n"),
        expect![[r#"
            unknown field `serach`; did you mean `search`?
             --> my.yaml:7:1
              |
            7 | serach: {}
              | ^^^^^^ fields here: name, about, seed, vars, where, sut, simulated, workload, load, phases, slo, factors, search, searches, reset, repeat, budget, compare, scaling_law, reproducibility, doctor, monitor, profiles
        "#]],
    );
    check(
        &spec("zzz: 1\n"),
        expect![[r#"
            unknown field `zzz`
             --> my.yaml:7:1
              |
            7 | zzz: 1
              | ^^^ fields here: name, about, seed, vars, where, sut, simulated, workload, load, phases, slo, factors, search, searches, reset, repeat, budget, compare, scaling_law, reproducibility, doctor, monitor, profiles
        "#]],
    );
}

#[test]
fn a_duplicate_key_is_an_error_with_its_place() {
    check(
        &spec("seed: 1\nseed: 2\n"),
        expect![[r#"
        `seed` is given twice
         --> my.yaml:8:1
          |
        8 | seed: 2
          | ^^^^ remove one of them
    "#]],
    );
}

#[test]
fn a_wrong_unit_shows_how_it_is_written() {
    check(
        &spec("").replace("500/s", "500"),
        expect![[r#"
        `500` is not a valid rate; write for example 500/s
         --> my.yaml:5:27
          |
        5 | load: {model: open, rate: 500}
          |                           ^^^
    "#]],
    );
    check(
        &spec("").replace("5s", "5 seconds"),
        expect![[r#"
        `5 seconds` is not a valid length of time; write for example 10ms, 1.5s or 2m
         --> my.yaml:6:26
          |
        6 | phases: {measure: {time: 5 seconds}}
          |                          ^
    "#]],
    );
}

#[test]
fn an_unknown_variable_is_found_in_the_text() {
    let text = spec("vars: {delay: 1ms}\n").replace("get: /", "get: \"/${vars.dealy}\"");
    check(
        &text,
        expect![[r#"
        unknown variable `vars.dealy`; did you mean `vars.delay`?
         --> my.yaml:4:19
          |
        4 | workload: {get: "/${vars.dealy}"}
          |                   ^^^^^^^^^^^^ variables here: vars.delay, instance, env.NAME
    "#]],
    );
}

#[test]
fn an_impossible_cpu_list_shows_how_it_is_written() {
    let text = spec("").replace("simulated}\n", "simulated, roles: {sut: {cpus: 3-1}}}\n");
    check(
        &text,
        expect![[r#"
        `3-1` is not a valid list of CPUs; write for example 0, 0-3 or 0,2-3
         --> my.yaml:2:49
          |
        2 | where: {backend: simulated, roles: {sut: {cpus: 3-1}}}
          |                                                 ^^^
    "#]],
    );
}

#[test]
fn a_missing_script_is_named_with_its_line() {
    check(
        &spec("").replace("get: /", "script: nowhere.lua"),
        expect![[r#"
        the script ./nowhere.lua does not exist
         --> my.yaml:4:20
          |
        4 | workload: {script: nowhere.lua}
          |                    ^^^^^^^^^^^ paths are relative to the spec's folder
    "#]],
    );
}

#[test]
fn a_load_is_open_or_closed() {
    check(
        &spec("").replace("model: open, ", ""),
        expect![[r#"
        neither open nor closed; write `model: open` (the clock decides when a request starts) or `model: closed` (a completion does)
         --> my.yaml:5:7
          |
        5 | load: {rate: 500/s}
          |       ^
    "#]],
    );
    check(
        &spec("").replace("model: open", "model: opne"),
        expect![[r#"
        unknown choice `opne`; did you mean `open`?
         --> my.yaml:5:15
          |
        5 | load: {model: opne, rate: 500/s}
          |               ^^^^ choices here: open, closed
    "#]],
    );
    check(
        &spec("").replace("model: open", "model: closed"),
        expect![[r#"
        a closed loop has neither rate nor arrivals: completions decide
         --> my.yaml:5:7
          |
        5 | load: {model: closed, rate: 500/s}
          |       ^
    "#]],
    );
    check(
        &spec("").replace(", rate: 500/s", ""),
        expect![[r#"
        an open loop needs a rate
         --> my.yaml:5:1
          |
        5 | load: {model: open}
          | ^^^^ add load.rate, for example 500/s, or a search
    "#]],
    );
}

#[test]
fn no_repetitions_an_empty_range_and_a_negative_step_are_errors() {
    let sweep = |search: &str| spec(&format!("search:\n  {search}\n")).replace(", rate: 500/s", "");
    check(
        &spec("repeat: {trials: 0}\n"),
        expect![[r#"
        `0` is too few or too many; write a number from 1 to 1000000
         --> my.yaml:7:18
          |
        7 | repeat: {trials: 0}
          |                  ^
    "#]],
    );
    check(
        &sweep("range: [900/s, 500/s]\n  step: 5%"),
        expect![[r#"
        the range from 900/s to 500/s is empty; write the lower rate first
         --> my.yaml:8:3
          |
        8 |   range: [900/s, 500/s]
          |   ^^^^^
    "#]],
    );
    check(
        &sweep("range: [500/s, 900/s]\n  step: -5%"),
        expect![[r#"
        `-5%` is not a valid step above zero; write for example 5% or 100/s
         --> my.yaml:9:9
          |
        9 |   step: -5%
          |         ^^^
    "#]],
    );
    check(
        &sweep("range: [500/s, 900/s]\n  step: 0/s"),
        expect![[r#"
        `0/s` is not a valid step above zero; write for example 5% or 100/s
         --> my.yaml:9:9
          |
        9 |   step: 0/s
          |         ^^^
    "#]],
    );
    check(
        &sweep("start: {probe: 0.6}\n  step: 5%"),
        expect![[r#"
        a sweep without a range needs a stop rule; write for example `stop: [{rule: no_new_max, window: 6, by: 1%}]`
         --> my.yaml:8:3
          |
        8 |   start: {probe: 0.6}
          |   ^^^^^
    "#]],
    );
    check(
        &sweep("step: 5%"),
        expect![[r#"
            a search begins with `range: [500/s, 2000/s]`, with `start: 500/s` or with `start: {probe: 0.6}`
             --> my.yaml:8:3
              |
            8 |   step: 5%
              |   ^^^^
        "#]],
    );
    check(
        &sweep("range: [500/s, 900/s]\n  step: 5%\n  stop: [{rule: no_new_mx}]"),
        expect![[r#"
            unknown choice `no_new_mx`; did you mean `no_new_max`?
              --> my.yaml:10:17
               |
            10 |   stop: [{rule: no_new_mx}]
               |                 ^^^^^^^^^ choices here: no_new_max, slo_violated
        "#]],
    );
}

/// Returns a sweep with a rule, so that it may begin in any way.
fn sweep(begins: &str) -> String {
    let stop = "stop: [{rule: no_new_max, window: 6}]";
    spec(&format!("search:\n  {begins}\n  step: 5%\n  {stop}\n")).replace(", rate: 500/s", "")
}

#[test]
fn a_sweep_begins_at_a_rate_or_with_a_probe() {
    let rate = |per_second| Start::At(measure::Rate::per_second(per_second).unwrap());
    let begins = |text: &str, set: &[&str]| {
        let resolved = read(text, None, set).unwrap();
        assert_eq!(read(&resolved.to_yaml(), None, &[]).unwrap().spec, resolved.spec);
        let search = resolved.spec.search.unwrap();
        assert_eq!(search.to, None);
        search.start
    };
    let probed = sweep("start: {probe: 0.6}");
    assert_eq!(begins(&probed, &[]), Start::Probe(Share(0.6)));
    assert_eq!(begins(&probed, &["search.start=1.5k/s"]), rate(1500.0));
    assert_eq!(begins(&probed, &["search.start.probe=0.5"]), Start::Probe(Share(0.5)));
    let fixed = sweep("start: 500/s");
    assert_eq!(begins(&fixed, &[]), rate(500.0));
    assert_eq!(begins(&fixed, &["search.start=30/m"]), rate(0.5));
    assert_eq!(begins(&fixed, &["search.start={probe: 60%}"]), Start::Probe(Share(0.6)));
    assert_eq!(begins(&fixed, &["search.start.probe=0.5"]), Start::Probe(Share(0.5)));
    let range = sweep("range: [500/s, 900/s]");
    assert_eq!(begins(&range, &["search={range: null, start: 300/s}"]), rate(300.0));
}

#[test]
fn a_sweep_without_one_valid_beginning_is_an_error() {
    check(
        &sweep("start: 500"),
        expect![[r#"
        `500` is not a valid rate; write for example 500/s
         --> my.yaml:8:10
          |
        8 |   start: 500
          |          ^^^
    "#]],
    );
    check(
        &sweep("start: 0.6"),
        expect![[r#"
        `0.6` is not a valid rate; write for example 0.6/s
         --> my.yaml:8:10
          |
        8 |   start: 0.6
          |          ^^^
    "#]],
    );
    check(
        &sweep("start: [500/s]"),
        expect![[r#"
        a rate (`500/s`) or `{probe: 0.6}` is expected here, not sequence
         --> my.yaml:8:3
          |
        8 |   start: [500/s]
          |   ^^^^^
    "#]],
    );
    check(
        &sweep("start: {prob: 0.6}"),
        expect![[r#"
        unknown field `prob`; did you mean `probe`?
         --> my.yaml:8:11
          |
        8 |   start: {prob: 0.6}
          |           ^^^^ fields here: probe
    "#]],
    );
    check(
        &sweep("start: {probe: 6}"),
        expect![[r#"
        `6` is not a valid share from 0 to 1; write for example 5% or 0.05
         --> my.yaml:8:18
          |
        8 |   start: {probe: 6}
          |                  ^
    "#]],
    );
    check(
        &sweep("start: {probe: 0}"),
        expect![[r#"
        a probe's share must be above zero
         --> my.yaml:8:10
          |
        8 |   start: {probe: 0}
          |          ^
    "#]],
    );
    check(
        &sweep("start: 500/s\n  range: [500/s, 900/s]"),
        expect![[r#"
            `range` and `start` both set where the search begins; remove one of them
             --> my.yaml:8:3
              |
            8 |   start: 500/s
              |   ^^^^^
        "#]],
    );
    let error = read(&sweep("start: {probe: 0.6}"), None, &["search.start=500"]).unwrap_err();
    expect![[r#"
        --set search.start=500: search.start: `500` is not a valid rate; write for example 500/s
         --> my.yaml"#]]
    .assert_eq(&error.to_string());
}

#[test]
fn a_file_that_is_not_a_spec_is_an_error() {
    check(
        "",
        expect![[r#"
        this spec is empty
         --> my.yaml
          = begin with `name:`
    "#]],
    );
    check(
        "# only a comment\n\n",
        expect![[r#"
        this spec is empty
         --> my.yaml
          = begin with `name:`
    "#]],
    );
    check(
        "name: \0\u{1}\n",
        expect![[r#"
        not a text file
         --> my.yaml
          = a spec is YAML, in UTF-8
    "#]],
    );
    check(
        "just words\n",
        expect![[r#"
        a mapping (`field: value`) is expected here
         --> my.yaml:1:1
          |
        1 | just words
          | ^^^^
    "#]],
    );
    check(
        "name: [\n",
        expect![[r#"
        a text is expected here
         --> my.yaml:1:7
          |
        1 | name: [
          |       ^
    "#]],
    );
    let error = from_bytes("my.yaml", &[0xff, 0xfe, 0x00], Path::new("."), None, &[]).unwrap_err();
    expect![[r#"
        not a text file
         --> my.yaml
          = a spec is YAML, in UTF-8"#]]
    .assert_eq(&error.to_string());
}

#[test]
fn hostile_documents_end_in_an_error() {
    let deep = format!("name: {}{}\n", "[".repeat(10_000), "]".repeat(10_000));
    check(
        &deep,
        expect![[r#"
        a text is expected here
         --> my.yaml:1:7
          |
        1 | name: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
          |       ^
    "#]],
    );
    check(
        &deep.replace("name: ", "profiles: "),
        expect![[r#"
        a mapping (`field: value`) is expected here
         --> my.yaml:1:11
          |
        1 | profiles: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
          |           ^
    "#]],
    );
    let in_profile = format!("profiles: {{a: {}{}}}\n", "[".repeat(100), "]".repeat(100));
    check(
        &in_profile,
        expect![[r#"
        more nodes, aliases or levels than a spec has
         --> my.yaml:1:45
          |
        1 | profiles: {a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
          |                                             ^ a spec nests at most 32 levels
    "#]],
    );
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 8].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    check(
        &format!("profiles:\n  {}", bomb.replace('\n', "\n  ")),
        expect![[r#"
        its aliases expand to far more than a spec needs
         --> my.yaml:6:22
          |
        6 |   a4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]
          |                      ^^^ write the values out
    "#]],
    );
    check(
        &bomb,
        expect![[r#"
            unknown field `a0`
             --> my.yaml:1:1
              |
            1 | a0: &a0 [x, x, x, x, x, x, x, x]
              | ^^ fields here: name, about, seed, vars, where, sut, simulated, workload, load, phases, slo, factors, search, searches, reset, repeat, budget, compare, scaling_law, reproducibility, doctor, monitor, profiles
        "#]],
    );
}

#[test]
fn an_error_in_a_profile_or_a_setting_is_named() {
    check_set(
        Some("ci"),
        &[],
        expect![[r#"
        profile `ci`, phases.measure.time: `5` is not a valid length of time; write for example 10ms, 1.5s or 2m
         --> my.yaml:8:3
          |
        8 |   ci:
          |   ^^
    "#]],
    );
    check_set(
        Some("short"),
        &[],
        expect![[r#"
        profile `short`, repeat.trials: `0` is too few or too many; write a number from 1 to 1000000
          --> my.yaml:10:3
           |
        10 |   short: {repeat: {trials: 0}}
           |   ^^^^^
    "#]],
    );
    check_set(
        Some("sort"),
        &[],
        expect![[r#"
        no profile `sort`; did you mean `short`?
         --> my.yaml:7:1
          |
        7 | profiles:
          | ^^^^^^^^ profiles here: ci, short
    "#]],
    );
    check_set(
        None,
        &["load.rate"],
        expect![[r#"
        --set load.rate: `=` is missing
         --> my.yaml
          = write --set path=value
    "#]],
    );
    check_set(
        None,
        &["load.rate=5"],
        expect![[r#"
        --set load.rate=5: load.rate: `5` is not a valid rate; write for example 5/s
         --> my.yaml
    "#]],
    );
    check_set(
        None,
        &["load.rte=5/s"],
        expect![[r#"
            --set load.rte=5/s: load.rte: unknown field `rte`; did you mean `rate`?
             --> my.yaml
              = fields here: model, arrivals, rate, shape, trace, speed, think, connections, script_threads, timeout, connect_timeout, backlog, max_body, keep_alive, pipeline, open_rate, address, source, tls, shards, pin, io, timer, congestion_control, kernel_timestamps
        "#]],
    );
    check_set(
        None,
        &["budget={trials:5}"],
        expect![[r#"
        --set budget={trials:5}: budget.trials:5: unknown field `trials:5`; did you mean `trials`?
         --> my.yaml
          = fields here: trials, invalid_attempts, slow_attempts, time, disturbance
    "#]],
    );
    check_set(
        None,
        &["workload.headers={Authorization: \"Bearer s3cret-value\""],
        expect![[r#"
            --set workload.headers={Authorization: "Bearer (redacted)": its value is not a YAML word, list or object; is a bracket or a quote open?
             --> my.yaml
              = write --set path=value
        "#]],
    );
    check_set(
        None,
        &["workload.headers.Authorization:Bearer s3cret-value"],
        expect![[r#"
        --set workload.headers.Authorization:Bearer (redacted): `=` is missing
         --> my.yaml
          = write --set path=value
    "#]],
    );
    check_set(
        None,
        &["simulated.service_time=null"],
        expect![[r#"
        --set simulated.service_time=null: simulated: the field `service_time` is missing
         --> my.yaml
          = in this mapping
    "#]],
    );
}

#[test]
fn a_check_that_the_backend_does_not_have_is_refused() {
    let text = spec("doctor: {level: strict, require: [same_kubelets], allow: [no_hpa]}\n");
    let resolved = read(&text, None, &[]).unwrap();
    let check = |known: &[&str]| resolved.spec.doctor.check(known, &resolved);
    assert_eq!(check(&["no_hpa", "same_kubelets"]).map_err(|e| e.to_string()), Ok(()));
    let error = check(&["same_kubelets"]).unwrap_err().to_string();
    assert!(error.contains("there is no check `no_hpa`"), "{error}");
    assert!(error.contains("checks and their parts: same_kubelets"), "{error}");
    let error = check(&[]).unwrap_err().to_string();
    assert!(error.contains("has no checks"), "{error}");
}

#[test]
fn several_profiles_apply_in_their_order() {
    let text = spec("profiles: {a: {seed: 4, about: a}, b: {seed: 5}}\n");
    let seed = |profiles| {
        let resolved = read(&text, Some(profiles), &[]).unwrap();
        assert_eq!(resolved.profile.as_deref(), Some(profiles));
        (resolved.seed(), resolved.spec.about)
    };
    assert_eq!(seed("a+b"), (5, Some("a".to_owned())));
    assert_eq!(seed("b+a"), (4, Some("a".to_owned())));
    let error = read(&text, Some("a+c"), &[]).unwrap_err().to_string();
    assert!(error.contains("no profile `c`"), "{error}");
}

#[test]
fn settings_apply_after_the_profile_and_words_stay_words() {
    let text = spec("profiles: {ci: {phases: {measure: {time: 1s}}, seed: 4}}\n");
    let set = ["phases.measure.time=2s", "vars.port=8080", "load.connections=7"];
    let resolved = read(&text, Some("ci"), &set).unwrap();
    assert_eq!(*resolved.spec.phases.measure.time, Nanos::from_secs(2));
    assert_eq!(resolved.spec.vars["port"], "8080");
    assert_eq!(resolved.spec.load.connections, Connections::Fixed(AtLeastOne(7)));
    assert_eq!(resolved.seed(), 4);
    assert!(resolved.spec.profiles.is_empty());
}

#[test]
fn a_text_with_any_character_survives_a_setting_and_the_copy_of_the_spec() {
    let body = "\t\u{7f}\u{85}\u{2028}\u{feff}\u{1F600}\r\n'\"\\";
    let json = serde_json::to_string(body).unwrap().replace('\u{7f}', "\\u007f");
    let json = json
        .replace('\u{2028}', "\\u2028")
        .replace('\u{85}', "\\u0085")
        .replace('\u{feff}', "\\ufeff");
    let text = spec("").replace("get: /", &format!("method: POST, path: /, body: {json}"));
    let resolved = read(&text, None, &["seed=4"]).unwrap();
    let body_of = |resolved: &Resolved| {
        serde_json::to_value(&resolved.spec.workload).unwrap()["body"].as_str().map(str::to_owned)
    };
    assert_eq!(body_of(&resolved).as_deref(), Some(body));
    let again = read(&resolved.to_yaml(), None, &[]).unwrap();
    assert_eq!(body_of(&again).as_deref(), Some(body));
}

const WRK: &str =
    "exec: [wrk, -c, '${connections}', -d, '${duration}', --latency, '${url}'], parse: wrk";

#[test]
fn a_patch_that_chooses_otherwise_drops_what_belongs_to_the_choice_before() {
    let slo = "slo: [{metric: p99, max: 9ms}]\n";
    let searching =
        |search: &str| spec(&format!("search: {search}\n{slo}")).replace(", rate: 500/s", "");
    let sweep = searching("{range: [500/s, 900/s], step: 5%, stop: [{rule: slo_violated}]}");
    let adaptive = searching("{range: [500/s, 900/s], precision: 1%, confirm: 3}");
    let from_start = searching("{strategy: adaptive, start: 500/s, step: 25%}");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let external = "where: {backend: external}\nsut: {endpoint: \"http://a:1\"}";
    let plain = spec("").replace("where: {backend: simulated}", external);
    let workload = |workload: &str| plain.replace("get: /", workload);
    let load = |load: &str| plain.replace("rate: 500/s", load);
    let closed = |of: &str| workload(of).replace("model: open, rate: 500/s", "model: closed");
    let local = spec("").replace("backend: simulated", "backend: local, roles: {sut: {cpus: 0}}")
        + "sut: {deploy: [process: {name: x, command: [x]}], replicas: 2}\n";
    let from_file = |set: &str| set.replace("FILE", file);
    let mut all = String::new();
    for (text, set) in [
        (&sweep, "search={strategy: adaptive, range: [100/s, 2000/s]}"),
        (&sweep, "search.strategy=bisect"),
        (&sweep, "search.start=300/s"),
        (&adaptive, "search={strategy: sweep, step: 5%}"),
        (&adaptive, "search.strategy=bisect"),
        (&adaptive, "search.strategy=mlr"),
        (&adaptive, "search.start={probe: 0.6}"),
        (&from_start, "search={strategy: sweep, range: [500/s, 900/s], step: 10/s}"),
        (&from_start, "search={strategy: bisect, range: [500/s, 900/s], step: null}"),
        (&plain, "load={model: closed, think: 1ms}"),
        (&plain, "load.shape=1k/s 5s"),
        (&plain, "load={trace: FILE, speed: 2}"),
        (&load("shape: 1k/s 5s"), "load.rate=5/s"),
        (&load(&from_file("trace: FILE, speed: 2")), "load.rate=5/s"),
        (&load(&from_file("trace: FILE")), "load.shape=1k/s 5s"),
        (&plain, "workload.script=FILE"),
        (&plain, "workload={mix: FILE, data: FILE}"),
        (&plain, "workload.path=/x"),
        (&plain, "workload={method: POST, body: x}"),
        (&plain, "workload.body=x"),
        (&plain, "workload.events={size: 2KiB}"),
        (&workload(&from_file("script: FILE, args: [a], path: /x")), "workload.get=/"),
        (&workload(&from_file("script: FILE, args: [a]")), "workload={mix: FILE}"),
        (&workload(&from_file("mix: FILE, data: FILE")), "workload.script=FILE"),
        (&workload(&from_file("mix: FILE, data: FILE")), "workload={method: PUT, path: /}"),
        (&workload("method: PUT, path: /, body: x"), "workload.get=/"),
        (&workload("method: PUT, path: /, body: x"), "workload.body_file=FILE"),
        (&workload("events: {}"), "workload.get=/"),
        (&closed("get: /, check: body~x"), &format!("workload={{{WRK}}}")),
        (&closed(WRK), "workload.get=/"),
        (&local, "where={backend: external}"),
    ] {
        let set = [&*from_file(set), "sut.endpoint=\"http://a:1\""];
        let set = &set[..if text == &local { 2 } else { 1 }];
        // A resolved spec states every default, and is changed in the same way.
        let resolved = read(text, None, &[]).unwrap().to_yaml();
        let read = [text, &resolved].map(|text| read(text, None, set));
        let refused =
            read.into_iter().filter_map(Result::err).map(|error| format!("{set:?}: {error}\n"));
        all.extend(refused);
    }
    expect![""].assert_eq(&all);

    // What both choices have stays, and so does what the patch itself says.
    let search = |text: &str, set: &[&str]| read(text, None, set).unwrap().spec.search.unwrap();
    let Strategy::Bracket(bracket) = search(&adaptive, &["search.strategy=mlr"]).strategy else {
        panic!("it bisects");
    };
    assert_eq!(bracket.precision, Share(0.01));
    let posted = read(&workload("get: /x"), None, &["workload.method=POST"]).unwrap().spec.workload;
    assert_eq!(posted.describe(), "POST /x");
}

#[test]
fn a_search_has_only_the_fields_of_its_strategy() {
    let wrong = |search: &str| {
        let text = spec(&format!("search: {search}\n")).replace(", rate: 500/s", "");
        let error = read(&text, None, &[]).unwrap_err().to_string();
        format!("{search}\n  {}\n", error.lines().next().unwrap_or_default())
    };
    let texts: String = [
        "{strategy: adaptive, range: [500/s, 900/s], stop: [{rule: slo_violated}]}",
        "{strategy: adaptive, range: [500/s, 900/s], step: 5%}",
        "{strategy: adaptive, start: 500/s, step: 100/s}",
        "{strategy: adaptive, start: 500/s, result: maximum_throughput}",
        "{strategy: bisect, start: 500/s, confirm: 2}",
        "{start: 500/s, confirm: 11}",
        "{start: 500/s, precision: 0.01%}",
        "{strategy: sweep, range: [500/s, 900/s], step: 5%, precision: 1%}",
        "{strategy: sweep, range: [500/s, 900/s]}",
        "{}",
        "{start: 500/s}",
    ]
    .into_iter()
    .map(wrong)
    .collect();
    expect![[r#"
        {strategy: adaptive, range: [500/s, 900/s], stop: [{rule: slo_violated}]}
          `stop` belongs to `strategy: sweep`; this one ends at its `precision`
        {strategy: adaptive, range: [500/s, 900/s], step: 5%}
          a range is bisected: remove `step`, or write `start` instead of `range`
        {strategy: adaptive, start: 500/s, step: 100/s}
          the first step is a share; write for example step: 25%
        {strategy: adaptive, start: 500/s, result: maximum_throughput}
          this strategy looks for the capacity; write `strategy: sweep` for the maximum throughput
        {strategy: bisect, start: 500/s, confirm: 2}
          `bisect` believes each trial; write `strategy: mlr` to confirm them
        {start: 500/s, confirm: 11}
          `confirm` is at most 10
        {start: 500/s, precision: 0.01%}
          a precision is at least 0.1 %: trials differ more
        {strategy: sweep, range: [500/s, 900/s], step: 5%, precision: 1%}
          `precision` and `confirm` belong to the strategies that bisect; a sweep has `step`
        {strategy: sweep, range: [500/s, 900/s]}
          a sweep needs its step; write for example step: 5%
        {}
          a search begins with `range: [500/s, 2000/s]`, with `start: 500/s` or with `start: {probe: 0.6}`
        {start: 500/s}
          a capacity needs an SLO
    "#]].assert_eq(&texts);
}

#[test]
fn a_warm_up_until_steady_has_times_that_can_show_it() {
    let error = |until: &str, load: &str| {
        let text = format!(
            "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: \"http://a:1\"}}\n\
             workload: {{get: /}}\nload: {{model: open, {load}}}\n\
             phases:\n  measure: {{time: 5s}}\n  warm_up:\n    until_steady: {until}\n"
        );
        let read = from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
        read.map(|read| read.to_yaml()).map_err(|error| error.to_string())
    };
    let (rate, shape) = ("rate: 5/s", "shape: \"1/s 5s\"");
    let yaml = error("{min: 10s, max: 60s}", rate).unwrap();
    assert!(yaml.contains("until_steady"), "{yaml}");
    for (until, load, expected) in [
        ("{min: 2s, max: 60s}", rate, "less than 10 s cannot show a steady state"),
        ("{min: 20s, max: 15s}", rate, "`max` is shorter than `min`"),
        ("{min: 10s, max: 60s}", shape, "my.yaml:9:5"),
        ("{min: 10s, max: 60s}", shape, "remove it, or use load.rate in place of load.shape"),
    ] {
        let message = error(until, load).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_is_not_a_spec_at_all_is_refused_with_the_command_that_takes_it() {
    let refused = |path: &std::path::Path| super::load(path, None, &[]).unwrap_err().to_string();
    let of_url = refused("http://127.0.0.1:8080/".as_ref());
    assert!(of_url.contains("`benchwright init URL` writes one"), "{of_url}");
    let of_folder = refused(&std::env::temp_dir());
    assert!(of_folder.contains("`benchwright resume DIR`"), "{of_folder}");
    assert!(
        refused("nothing.yaml".as_ref())
            .starts_with("cannot read this spec: no such file or directory\n")
    );
}
