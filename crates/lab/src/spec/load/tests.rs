use expect_test::{Expect, expect};

use super::super::tests::{check, read, spec};

/// Returns the smallest spec with this load.
fn with(load: &str) -> String {
    spec("").replace("model: open, rate: 500/s", load)
}

/// Returns a spec of an external service.
fn external(endpoint: &str, load: &str, further: &str) -> String {
    format!(
        "name: demo\nwhere: {{backend: external}}\nsut: {{endpoint: {endpoint}{further}}}\n\
         load: {{model: open, rate: 500/s, {load}}}\n"
    )
}

fn refuses(load: &str, expected: Expect) {
    check(&with(load), expected);
}

#[test]
fn all_fields_are_written_as_they_are_read() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let text = format!(
        "name: demo\nwhere: {{backend: external}}\nsut: {{endpoint: \"https://a.example/\"}}\n\
         load:\n  {{model: open, rate: 500/s, arrivals: normal, connections: {{per_rate: 0.1}},\n  \
         timeout: 3s, connect_timeout: 2s, backlog: 10k, max_body: 1MiB, keep_alive: 9,\n  \
         pipeline: 8, open_rate: 1k/s, address: first, source: [10.0.0.7], shards: 2, pin: off,\n  \
         io: epoll, timer: spin, congestion_control: reno, kernel_timestamps: true,\n  \
         tls: {{cert: {file}, key: {file}, sni: b.example, insecure: true, version: 1.3,\n  \
         resume: false}}}}\n"
    );
    let resolved = read(&text, None, &[]).unwrap();
    let yaml = resolved.to_yaml().replace(file, "FILE");
    let (_, load) = yaml.split_once("load:\n").unwrap();
    let (load, _) = load.split_once("phases:").unwrap();
    expect![[r#"
          get: /
        load:
          model: open
          arrivals: normal:0.25
          rate: 500/s
          connections:
            per_rate: 0.1
          timeout: 3s
          connect_timeout: 2s
          backlog: "10000"
          max_body: 1MiB
          keep_alive: 9
          pipeline: 8
          open_rate: 1000/s
          address: first
          source:
          - "10.0.0.7"
          tls:
            cert: FILE
            key: FILE
            sni: b.example
            insecure: true
            version: "1.3"
            resume: false
          shards: 2
          pin: "off"
          io: epoll
          timer: spin
          congestion_control: reno
          kernel_timestamps: true
    "#]]
    .assert_eq(load);
    assert_eq!(read(&resolved.to_yaml(), None, &[]).unwrap().spec, resolved.spec);
    // A setting is a patch of the same document.
    let patched = read(&text, None, &["seed=7", "seed=null"]).unwrap();
    assert_eq!(patched.spec, resolved.spec);
}

#[test]
fn loads_without_a_rate_are_written_as_they_are_read() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for load in [
        "model: closed, think: 'exp:10ms'",
        "model: open, shape: '1k/s 2s, ->5k/s 3s', arrivals: 'bursts:7'",
        &format!("model: open, trace: {file}, speed: 2.5"),
    ] {
        let text = with(load).replace("backend: simulated", "backend: external")
            + "sut: {endpoint: \"http://a/\"}\n";
        let resolved = read(&text, None, &[]).unwrap();
        assert_eq!(read(&resolved.to_yaml(), None, &[]).unwrap().spec, resolved.spec, "{load}");
        let patched = read(&text, None, &["load.connections=7"]).unwrap();
        assert_eq!(patched.spec.load.connections_at(None), 7, "{load}");
    }
}

#[test]
fn a_load_has_one_thing_that_decides_when_requests_start() {
    refuses(
        "model: open, rate: 500/s, shape: 1k/s 5s",
        expect![[r#"
        `rate` and `shape` both set the rate; remove one of them
         --> my.yaml:5:7
          |
        5 | load: {model: open, rate: 500/s, shape: 1k/s 5s}
          |       ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, trace: Cargo.toml",
        expect![[r#"
            a trace lists every start; remove rate, shape and arrivals
             --> my.yaml:5:7
              |
            5 | load: {model: open, rate: 500/s, trace: Cargo.toml}
              |       ^
        "#]],
    );
    refuses(
        "model: open, arrivals: constant, trace: Cargo.toml",
        expect![[r#"
            a trace lists every start; remove rate, shape and arrivals
             --> my.yaml:5:7
              |
            5 | load: {model: open, arrivals: constant, trace: Cargo.toml}
              |       ^
        "#]],
    );
    refuses(
        "model: open, rate: 500/s, speed: 2",
        expect![[r#"
        `speed` is that of a trace; add `trace: file`
         --> my.yaml:5:7
          |
        5 | load: {model: open, rate: 500/s, speed: 2}
          |       ^
    "#]],
    );
    refuses(
        "model: open, trace: Cargo.toml, speed: 0",
        expect![[r#"
        the speed of a trace must be above zero; write for example 2, for twice as fast
         --> my.yaml:5:7
          |
        5 | load: {model: open, trace: Cargo.toml, speed: 0}
          |       ^
    "#]],
    );
    refuses(
        "model: closed, shape: 1k/s 5s",
        expect![[r#"
        a closed loop has neither shape nor trace: completions decide
         --> my.yaml:5:7
          |
        5 | load: {model: closed, shape: 1k/s 5s}
          |       ^
    "#]],
    );
}

#[test]
fn a_wrong_law_of_the_pace_shows_how_it_is_written() {
    refuses(
        "model: open, rate: 500/s, arrivals: posson",
        expect![[r#"
        `posson` is not a valid arrival distribution; write constant, poisson, uniform-gap, lognormal[:cv], normal[:cv] (cv above 0, at most 10), bursts:n (n from 1) or zipf
         --> my.yaml:5:44
          |
        5 | load: {model: open, rate: 500/s, arrivals: posson}
          |                                            ^^^^^^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, arrivals: 'normal:20'",
        expect![[r#"
        `normal:20` is not a valid arrival distribution; write constant, poisson, uniform-gap, lognormal[:cv], normal[:cv] (cv above 0, at most 10), bursts:n (n from 1) or zipf
         --> my.yaml:5:44
          |
        5 | load: {model: open, rate: 500/s, arrivals: 'normal:20'}
          |                                            ^^^^^^^^^^^
    "#]],
    );
    refuses(
        "model: open, shape: '1k/s 30s, ->5k/s'",
        expect![[r#"
        part 2 of the shape, `->5k/s`: write a hold `1k/s 30s`, a ramp `->5k/s 60s`, a spike `spike 20k/s 2s`, a sine with its period and length `sine 2k/s..8k/s 1h 24h`, or a rest `rest 8s`
         --> my.yaml:5:28
          |
        5 | load: {model: open, shape: '1k/s 30s, ->5k/s'}
          |                            ^^^^^^^^^^^^^^^^^^
    "#]],
    );
    refuses(
        "model: closed, think: 'exp:10'",
        expect![[r#"
        `10` is not a valid length of time; write for example 10ms, 1.5s or 2m
         --> my.yaml:5:30
          |
        5 | load: {model: closed, think: 'exp:10'}
          |                              ^^^^^^^^
    "#]],
    );
}

#[test]
fn connections_are_a_number_or_a_part_of_the_rate() {
    refuses(
        "model: open, rate: 500/s, connections: 0",
        expect![[r#"
            `0` is too few or too many; write a number from 1 to 1000000
             --> my.yaml:5:47
              |
            5 | load: {model: open, rate: 500/s, connections: 0}
              |                                               ^
        "#]],
    );
    refuses(
        "model: open, rate: 500/s, connections: -1",
        expect![[r#"
        `-1` is too few; write a number from 1
         --> my.yaml:5:47
          |
        5 | load: {model: open, rate: 500/s, connections: -1}
          |                                               ^^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, connections: 1.5",
        expect![[r#"
        a number of connections (`32`) or `{per_rate: 0.1}` is expected here, not floating point `1.5`
         --> my.yaml:5:34
          |
        5 | load: {model: open, rate: 500/s, connections: 1.5}
          |                                  ^^^^^^^^^^^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, connections: {per_rate: 0}",
        expect![[r#"
        `0` is not a valid number of connections for each request per second; write for example 0.1
         --> my.yaml:5:58
          |
        5 | load: {model: open, rate: 500/s, connections: {per_rate: 0}}
          |                                                          ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, connections: {per_rat: 0.1}",
        expect![[r#"
        unknown field `per_rat`; did you mean `per_rate`?
         --> my.yaml:5:48
          |
        5 | load: {model: open, rate: 500/s, connections: {per_rat: 0.1}}
          |                                                ^^^^^^^ fields here: per_rate
    "#]],
    );
    refuses(
        "model: closed, connections: {per_rate: 0.1}",
        expect![[r#"
        connections `per_rate` need a rate, which a closed loop does not have; write a number of connections
         --> my.yaml:5:7
          |
        5 | load: {model: closed, connections: {per_rate: 0.1}}
          |       ^
    "#]],
    );
    refuses(
        "model: open, shape: 1k/s 5s, connections: {per_rate: 0.1}",
        expect![[r#"
        connections `per_rate` need one rate; with a shape or a trace write a number of connections
         --> my.yaml:5:7
          |
        5 | load: {model: open, shape: 1k/s 5s, connections: {per_rate: 0.1}}
          |       ^
    "#]],
    );
}

#[test]
fn wrong_settings_of_connections_are_refused_with_the_remedy() {
    refuses(
        "model: open, rate: 500/s, pipeline: 70000",
        expect![[r#"
        at most 65535 requests may be outstanding on one connection
         --> my.yaml:5:7
          |
        5 | load: {model: open, rate: 500/s, pipeline: 70000}
          |       ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, connect_timeout: 0s",
        expect![[r#"
        a timeout must be longer than zero
         --> my.yaml:5:7
          |
        5 | load: {model: open, rate: 500/s, connect_timeout: 0s}
          |       ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, backlog: 0",
        expect![[r#"
        `0` is not a valid count from 1; write for example 1000, 100k or 1M
         --> my.yaml:5:43
          |
        5 | load: {model: open, rate: 500/s, backlog: 0}
          |                                           ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, max_body: 64",
        expect![[r#"
        `64` is not a valid size; write for example 64KiB or 10MB
         --> my.yaml:5:44
          |
        5 | load: {model: open, rate: 500/s, max_body: 64}
          |                                            ^^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, source: [localhost]",
        expect![[r#"
        `localhost` is not a valid IP address; write for example 10.0.0.7
         --> my.yaml:5:43
          |
        5 | load: {model: open, rate: 500/s, source: [localhost]}
          |                                           ^^^^^^^^^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, address: [all, 10.0.0.7]",
        expect![[r#"
        an address is `all`, `first` or a list of IP[:PORT]; write for example address: [10.0.0.7, 10.0.0.8]
         --> my.yaml:5:7
          |
        5 | load: {model: open, rate: 500/s, address: [all, 10.0.0.7]}
          |       ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, tls: {key: key.pem}",
        expect![[r#"
        `key` is the key of a client certificate; add `cert: file.pem`
         --> my.yaml:5:39
          |
        5 | load: {model: open, rate: 500/s, tls: {key: key.pem}}
          |                                       ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, tls: {ca: ca.pem, insecure: true}",
        expect![[r#"
        `insecure` verifies nothing, so `ca` has no effect; remove one of them
         --> my.yaml:5:39
          |
        5 | load: {model: open, rate: 500/s, tls: {ca: ca.pem, insecure: true}}
          |                                       ^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, tls: {version: 1.1}",
        expect![[r#"
        `1.1` is not a valid version of TLS; write 1.2 or 1.3
         --> my.yaml:5:49
          |
        5 | load: {model: open, rate: 500/s, tls: {version: 1.1}}
          |                                                 ^^^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, tls: {verify: false}",
        expect![[r#"
        unknown field `verify`
         --> my.yaml:5:40
          |
        5 | load: {model: open, rate: 500/s, tls: {verify: false}}
          |                                        ^^^^^^ fields here: ca, cert, key, sni, insecure, version, resume
    "#]],
    );
}

#[test]
fn wrong_settings_of_the_generator_are_refused_with_the_remedy() {
    refuses(
        "model: open, rate: 500/s, timer: spinning",
        expect![[r#"
        unknown choice `spinning`
         --> my.yaml:5:41
          |
        5 | load: {model: open, rate: 500/s, timer: spinning}
          |                                         ^^^^^^^^ choices here: hybrid, sleep, spin
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, io: iouring",
        expect![[r#"
        unknown choice `iouring`; did you mean `uring`?
         --> my.yaml:5:38
          |
        5 | load: {model: open, rate: 500/s, io: iouring}
          |                                      ^^^^^^^ choices here: auto, epoll, uring
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, pin: cpu0",
        expect![[r#"
        `cpu0` is not a valid place of shards; write for example auto, off or 0,2-3
         --> my.yaml:5:39
          |
        5 | load: {model: open, rate: 500/s, pin: cpu0}
          |                                       ^^^^
    "#]],
    );
    refuses(
        "model: open, rate: 500/s, shards: 0",
        expect![[r#"
            `0` is too few or too many; write a number from 1 to 1000000
             --> my.yaml:5:42
              |
            5 | load: {model: open, rate: 500/s, shards: 0}
              |                                          ^
        "#]],
    );
}

#[test]
fn a_shape_or_a_trace_is_a_fixed_load() {
    let search = "search: {range: [500/s, 900/s], step: 5%}\n";
    check(
        &(with("model: open, shape: 1k/s 5s") + search),
        expect![[r#"
        the load is both fixed and searched
         --> my.yaml:5:21
          |
        5 | load: {model: open, shape: 1k/s 5s}
          |                     ^^^^^ remove load.shape or search
    "#]],
    );
    check(
        &(with("model: open, trace: Cargo.toml") + search),
        expect![[r#"
        the load is both fixed and searched
         --> my.yaml:5:21
          |
        5 | load: {model: open, trace: Cargo.toml}
          |                     ^^^^^ remove load.trace or search
    "#]],
    );
    refuses(
        "model: open, shape: '1k/s 30s, ->5k/s 60s'",
        expect![[r#"
        the shape takes 90s, and the measurement 5s
         --> my.yaml:5:21
          |
        5 | load: {model: open, shape: '1k/s 30s, ->5k/s 60s'}
          |                     ^^^^^ write phases: {measure: {time: 90s}}
    "#]],
    );
    refuses(
        "model: open, trace: Cargo.toml",
        expect![[r#"
        the simulated backend plays no traces
         --> my.yaml:5:21
          |
        5 | load: {model: open, trace: Cargo.toml}
          |                     ^^^^^ use a rate or a shape, or another backend
    "#]],
    );
    let absent = external("\"http://a/\"", "trace: nowhere.txt", "");
    check(
        &absent.replace("rate: 500/s, ", ""),
        expect![[r#"
        the trace ./nowhere.txt does not exist
         --> my.yaml:4:28
          |
        4 | load: {model: open, trace: nowhere.txt}
          |                            ^^^^^^^^^^^ paths are relative to the spec's folder
    "#]],
    );
}

#[test]
fn a_probe_has_no_rate_for_connections() {
    let probe = "search:\n  start: {probe: 0.6}\n  step: 5%\n  \
                 stop: [{rule: no_new_max, window: 6}]\n";
    check(
        &(with("model: open, connections: {per_rate: 0.1}") + probe),
        expect![[r#"
        the probe is a closed loop, which has no rate for connections `per_rate`
         --> my.yaml:5:35
          |
        5 | load: {model: open, connections: {per_rate: 0.1}}
          |                                   ^^^^^^^^ write a number of connections, or begin the search with a rate: start: 500/s
    "#]],
    );
    let fixed = probe.replace("{probe: 0.6}", "500/s");
    read(&(with("model: open, connections: {per_rate: 0.1}") + &fixed), None, &[]).unwrap();
}

#[test]
fn addresses_and_tls_fit_the_endpoint() {
    refuses(
        "model: open, rate: 500/s, address: first",
        expect![[r#"
        `address` is only for an external service
         --> my.yaml:5:34
          |
        5 | load: {model: open, rate: 500/s, address: first}
          |                                  ^^^^^^^ remove it: here the load goes to all replicas of the endpoint
    "#]],
    );
    let two = "[\"http://a/\", \"http://b/\"]";
    read(&external(two, "address: first", ""), None, &[]).unwrap();
    check(
        &external(two, "address: 10.0.0.7", ""),
        expect![[r#"
        one list of addresses for several endpoints
         --> my.yaml:4:34
          |
        4 | load: {model: open, rate: 500/s, address: 10.0.0.7}
          |                                  ^^^^^^^ name one endpoint, or address: first
    "#]],
    );
    check(
        &external("\"http://a/\"", "tls: {insecure: true}", ""),
        expect![[r#"
        `tls` is for an https endpoint, and there is none
         --> my.yaml:4:34
          |
        4 | load: {model: open, rate: 500/s, tls: {insecure: true}}
          |                                  ^^^ remove it, or write sut: {endpoint: "https://…"}
    "#]],
    );
    let smoke = ", smoke: [{get: /}]";
    check(
        &external("\"https://a/\"", "tls: {insecure: true}", smoke),
        expect![[r#"
        the runner's own requests are plain HTTP, and the endpoint is at https://
         --> my.yaml:3:45
          |
        3 | sut: {endpoint: "https://a/", smoke: [{get: /}]}
          |                                             ^ remove it, or name an HTTP endpoint
    "#]],
    );
    let of_vars = external("\"${vars.url}\"", "tls: {insecure: true}", "");
    read(&(of_vars + "vars: {url: \"https://a/\"}\n"), None, &[]).unwrap();
}
