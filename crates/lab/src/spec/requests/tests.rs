use std::path::Path;

use expect_test::{Expect, expect};

use crate::spec::{Resolved, SpecError, from_bytes};

fn read(sut: &str, workload: &str) -> Result<Resolved, SpecError> {
    let load = "load: {model: closed}\n";
    let text = format!("name: x\n{sut}workload: {{{workload}}}\n{load}");
    from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[])
}

/// Another generator, which speaks any protocol.
const EXEC: &str = "exec: [redis-benchmark, -h, '${host}', -p, '${port}', '${duration_s}'], \
                    parse: {regex: {requests: '(\\d+) requests', failed: '(\\d+) failed'}}";

/// A load of a store, by a file that is there.
const YCSB: &str = "ycsb: Cargo.toml";

/// A store that is not HTTP, in front of it a web server, with this field of the system.
fn shop(store: &str, field: &str) -> String {
    format!(
        "sut:\n  deploy:\n    - process: {{name: store, command: [store, \"${{port}}\"], port: auto, \
         scheme: redis{store}}}\n    - process: {{name: web, command: [web, \"${{urls.store}}\"]}}\n{field}"
    )
}

fn refuses(sut: &str, workload: &str, expected: Expect) {
    let error = read(sut, workload).map(|resolved| resolved.to_yaml()).unwrap_err();
    expected.assert_eq(&format!("{error}\n"));
}

#[test]
fn a_component_of_another_scheme_gets_no_request() {
    refuses(
        &shop(", ready: {get: /ping}", ""),
        "get: /",
        expect![[r#"
        the runner's own requests are plain HTTP, and `store` is at redis://
         --> my.yaml:4:99
          |
        4 |     - process: {name: store, command: [store, "${port}"], port: auto, scheme: redis, ready: {get: /ping}}
          |                                                                                                   ^^^^^ remove it: a component is ready by its line `ready <url>`, or with a port by `tcp` or `log`
    "#]],
    );
    refuses(
        &shop("", "  smoke: [{get: /count, to: store}]\n"),
        "get: /",
        expect![[r#"
        the runner's own requests are plain HTTP, and `store` is at redis://
         --> my.yaml:6:17
          |
        6 |   smoke: [{get: /count, to: store}]
          |                 ^^^^^^ remove it, or send it to an HTTP component by `to`
    "#]],
    );
    refuses(
        &shop("", "  initialise: {steps: [http: {post: /fill, to: store}]}\n"),
        "get: /",
        expect![[r#"
            the runner's own requests are plain HTTP, and `store` is at redis://
             --> my.yaml:6:37
              |
            6 |   initialise: {steps: [http: {post: /fill, to: store}]}
              |                                     ^^^^^ remove it, or send it to an HTTP component by `to`
        "#]],
    );
    refuses(
        &shop(
            "",
            "reset: {between: trials, steps: [wait: {until: {http: {get: /x, to: store}}}]}\n",
        ),
        "get: /",
        expect![[r#"
            the runner's own requests are plain HTTP, and `store` is at redis://
             --> my.yaml:6:61
              |
            6 | reset: {between: trials, steps: [wait: {until: {http: {get: /x, to: store}}}]}
              |                                                             ^^ remove it, or send it to an HTTP component by `to`
        "#]],
    );
    refuses(
        &shop("", "  endpoint: store\n  ready: {get: /ping}\n"),
        EXEC,
        expect![[r#"
        the runner's own requests are plain HTTP, and `store` is at redis://
         --> my.yaml:7:16
          |
        7 |   ready: {get: /ping}
          |                ^^^^^ remove it: a component is ready by its line `ready <url>`, or with a port by `tcp` or `log`
    "#]],
    );
    read(&shop("", "  smoke: [{get: /count}]\n  ready: {get: /ping}\n"), "get: /").unwrap();
    read(&shop(", ready: {tcp: true}", "  endpoint: store\n"), EXEC).unwrap();
}

#[test]
fn a_load_of_our_generator_goes_where_its_protocol_is_spoken() {
    refuses(
        &shop("", "  endpoint: store\n"),
        "get: /",
        expect![[r#"
        this workload sends HTTP requests, and `store` is at redis://
         --> my.yaml:4:79
          |
        4 |     - process: {name: store, command: [store, "${port}"], port: auto, scheme: redis}
          |                                                                               ^^^^^ choose another endpoint, or a generator of this protocol by `exec`
    "#]],
    );
    let no_scheme = shop("", "  endpoint: store\n").replace(", scheme: redis", "");
    refuses(
        &no_scheme,
        YCSB,
        expect![[r#"
        this workload sends operations to kv:// or redis://, and `store` is at http://
         --> my.yaml:4:23
          |
        4 |     - process: {name: store, command: [store, "${port}"], port: auto}
          |                       ^^^^^ state the protocol of this component, such as scheme: redis
    "#]],
    );
    read(&shop("", "  endpoint: store\n"), YCSB).unwrap();
    let https = shop("", "").replace("scheme: redis", "scheme: https");
    read(&(https + "  endpoint: store\n"), "get: /").unwrap();
}

#[test]
fn a_service_elsewhere_may_speak_another_protocol_to_another_generator_alone() {
    let external = |url: &str, more: &str| {
        format!("where: {{backend: external}}\nsut: {{endpoint: '{url}'{more}}}\n")
    };
    read(&external("redis://10.0.0.7/0", ""), EXEC).unwrap();
    read(&external("redis://10.0.0.7/0", ""), YCSB).unwrap();
    read(&external("kv://10.0.0.7:7720", ""), YCSB).unwrap();
    refuses(
        &external("http://10.0.0.7/", ""),
        YCSB,
        expect![[r#"
        `http://10.0.0.7/`: `http` is not a store; write redis://HOST:PORT or kv://HOST:PORT
         --> my.yaml:3:18
          |
        3 | sut: {endpoint: 'http://10.0.0.7/'}
          |                  ^^^^^^^^^^^^^^^^ correct it; write for example redis://127.0.0.1:6379
    "#]],
    );
    let reset = "reset: {between: trials, steps: [run: {command: [redis-cli, flushall]}]}\n";
    read(&(external("redis://10.0.0.7/0", "") + reset), EXEC).unwrap();
    refuses(
        &external("redis://10.0.0.7/0", ""),
        "get: /",
        expect![[r#"
        `redis://10.0.0.7/0`: `redis` is a store, which needs a workload of YCSB or commands; for HTTP there are `http`, `https` and `http+unix`
         --> my.yaml:3:18
          |
        3 | sut: {endpoint: 'redis://10.0.0.7/0'}
          |                  ^^^^^^^^^^^^^^^^^^ correct it; write for example http://127.0.0.1:8080
    "#]],
    );
    refuses(
        &external("nats://10.0.0.7", ""),
        EXEC,
        expect![[r#"
        `nats://10.0.0.7`: it names no port, and `nats` has no usual one; write nats://10.0.0.7:PORT
         --> my.yaml:3:18
          |
        3 | sut: {endpoint: 'nats://10.0.0.7'}
          |                  ^^^^^^^^^^^^^^^ correct it; write for example http://127.0.0.1:8080
    "#]],
    );
    refuses(
        &external("redis://10.0.0.7", ", smoke: [{get: /ping}]"),
        EXEC,
        expect![[r#"
        the runner's own requests are plain HTTP, and the endpoint is at redis://
         --> my.yaml:3:51
          |
        3 | sut: {endpoint: 'redis://10.0.0.7', smoke: [{get: /ping}]}
          |                                                   ^^^^^ remove it, or name an HTTP endpoint
    "#]],
    );
    refuses(
        &external("redis://10.0.0.7", ", ready: {get: /ping}"),
        EXEC,
        expect![[r#"
        the runner's own requests are plain HTTP, and the endpoint is at redis://
         --> my.yaml:3:50
          |
        3 | sut: {endpoint: 'redis://10.0.0.7', ready: {get: /ping}}
          |                                                  ^^^^^ remove it, or name an HTTP endpoint
    "#]],
    );
}

#[test]
fn the_path_of_a_workload_does_not_follow_a_query() {
    let external = "where: {backend: external}\nsut: {endpoint: 'http://10.0.0.7/x?y=1'}\n";
    refuses(
        external,
        "get: /a",
        expect![[r#"
        an endpoint with a query, and a workload with a path of its own
         --> my.yaml:3:18
          |
        3 | sut: {endpoint: 'http://10.0.0.7/x?y=1'}
          |                  ^^^^^^^^^^^^^^^^^^^^^ move the query to the path of the workload
    "#]],
    );
    read(external, "get: /").unwrap();

    let sut = "sut: {deploy: [process: {name: store, command: [store]}, \
               process: {name: web, command: [web]}]}\n";
    let with_query = "http://127.0.0.1:1/x?y=1";
    let resolved = read(sut, "get: /a").unwrap();
    let why = resolved.check_requests("web", with_query).unwrap_err();
    expect![[r#"
        `web` is ready at a URL with a query, and the workload has a path of its own
         --> my.yaml:3:17
          |
        3 | workload: {get: /a}
          |                 ^^ move the query to this path, and let the component print its URL without it
    "#]]
    .assert_eq(&format!("{why}\n"));
    // The load goes to another component.
    resolved.check_requests("store", with_query).unwrap();
    resolved.check_requests("web", "http://127.0.0.1:1/x").unwrap();
    // A fragment is not sent.
    resolved.check_requests("web", "http://127.0.0.1:1/x#?").unwrap();
    read(sut, "get: /").unwrap().check_requests("web", with_query).unwrap();
    let why = resolved.check_requests("web", "http://127.0.0.1:65536").unwrap_err().to_string();
    assert!(why.contains("`65536` is not a valid port"), "{why}");
}

#[test]
fn a_scheme_is_what_is_before_the_address() {
    for scheme in ["Redis", "redis://", "7", "redis+unix"] {
        let sut = shop("", "").replace("scheme: redis", &format!("scheme: '{scheme}'"));
        let error = read(&sut, "get: /").map(drop).unwrap_err().to_string();
        assert!(error.contains("is not a valid scheme; write what is before `://`"), "{error}");
    }
}
