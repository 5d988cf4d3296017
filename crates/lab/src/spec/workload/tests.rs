use expect_test::{Expect, expect};

use super::super::tests::{check, read, spec};
use super::*;

fn refuses(workload: &str, expected: Expect) {
    check(&spec("").replace("get: /", workload), expected);
}

#[test]
fn all_fields_are_written_as_they_are_read() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for workload in [
        "path: /orders, method: PUT, body: \"a\\nb\", check: status=2xx, \
         headers: {Accept: [a, b], X-Id: '7'}",
        &format!("get: '/?q=${{instance}}', body_file: {file}"),
        &format!("mix: {file}, data: {file}, headers: {{Cookie: a=b}}"),
        &format!("script: {file}, path: /x, method: POST, body: x, args: [a]"),
        "path: /in, events: {mode: structured, type: a.b, size: 2KiB, receive: '127.0.0.1:9', \
         within: 2s, refuse: '503:2'}",
        "events: {}",
        &format!("ycsb: {file}, properties: {{recordcount: '1000', table: t}}"),
    ] {
        let text = spec("").replace("get: /", workload);
        let resolved = read(&text, None, &[]).unwrap();
        assert_eq!(read(&resolved.to_yaml(), None, &[]).unwrap().spec, resolved.spec, "{workload}");
        let patched = read(&text, None, &["seed=7", "seed=null"]).unwrap();
        assert_eq!(patched.spec, resolved.spec, "{workload}");
    }
}

#[test]
fn a_workload_is_one_of_its_kinds() {
    refuses(
        "script: Cargo.toml, mix: Cargo.toml",
        expect![[r#"
        a workload is either a script or a mix; remove one of them
         --> my.yaml:4:11
          |
        4 | workload: {script: Cargo.toml, mix: Cargo.toml}
          |           ^
    "#]],
    );
    refuses(
        "mix: Cargo.toml, get: /",
        expect![[r#"
            a workload is either a mix or one GET; remove one of them
             --> my.yaml:4:11
              |
            4 | workload: {mix: Cargo.toml, get: /}
              |           ^
        "#]],
    );
    refuses(
        "method: POST",
        expect![[r#"
            a workload is `get: /path`, a `method` with its `path`, `mix: file.jsonl`, `script: file.lua`, `ycsb: FILE`, `events: {…}`, or `exec: [wrk, …]` with `parse: wrk`
             --> my.yaml:4:11
              |
            4 | workload: {method: POST}
              |           ^
        "#]],
    );
    refuses(
        "get: /, method: POST",
        expect![[r#"
            `get` is a path with the method GET; for another method write `method` and `path`
             --> my.yaml:4:11
              |
            4 | workload: {get: /, method: POST}
              |           ^
        "#]],
    );
    refuses(
        "get: /, path: /",
        expect![[r#"
            `get` is a path with the method GET; for another method write `method` and `path`
             --> my.yaml:4:11
              |
            4 | workload: {get: /, path: /}
              |           ^
        "#]],
    );
    refuses(
        "mix: Cargo.toml, path: /",
        expect![[r#"
        each line of a mix has its own method, target, body and check; remove method, path, body, body_file and check here
         --> my.yaml:4:11
          |
        4 | workload: {mix: Cargo.toml, path: /}
          |           ^
    "#]],
    );
}

#[test]
fn fields_belong_to_their_kind_of_workload() {
    refuses(
        "get: /, args: [a]",
        expect![[r#"
        `args` belong to a script
         --> my.yaml:4:11
          |
        4 | workload: {get: /, args: [a]}
          |           ^
    "#]],
    );
    refuses(
        "get: /, data: Cargo.toml",
        expect![[r#"
        `data` is the table of a mix; add `mix: file.jsonl`
         --> my.yaml:4:11
          |
        4 | workload: {get: /, data: Cargo.toml}
          |           ^
    "#]],
    );
    refuses(
        "script: Cargo.toml, check: status=2xx",
        expect![[r#"
        a script checks responses itself, in its function `response`; remove `check`
         --> my.yaml:4:11
          |
        4 | workload: {script: Cargo.toml, check: status=2xx}
          |           ^
    "#]],
    );
    refuses(
        "mix: Cargo.toml, check: status=2xx",
        expect![[r#"
        each line of a mix has its own method, target, body and check; remove method, path, body, body_file and check here
         --> my.yaml:4:11
          |
        4 | workload: {mix: Cargo.toml, check: status=2xx}
          |           ^
    "#]],
    );
    refuses(
        "mix: Cargo.toml, body: x",
        expect![[r#"
        each line of a mix has its own method, target, body and check; remove method, path, body, body_file and check here
         --> my.yaml:4:11
          |
        4 | workload: {mix: Cargo.toml, body: x}
          |           ^
    "#]],
    );
    refuses(
        "get: /, body: x, body_file: Cargo.toml",
        expect![[r#"
        `body` and `body_file` both set the body; remove one of them
         --> my.yaml:4:11
          |
        4 | workload: {get: /, body: x, body_file: Cargo.toml}
          |           ^
    "#]],
    );
}

#[test]
fn a_wrong_method_or_header_field_is_refused() {
    refuses(
        "path: /, method: GET /",
        expect![[r#"
        a method is one word; write for example PUT
         --> my.yaml:4:11
          |
        4 | workload: {path: /, method: GET /}
          |           ^
    "#]],
    );
    refuses(
        "get: /, headers: {X-Id: 7}",
        expect![[r#"
        `7` is not a text; write it in quotes: "7"
         --> my.yaml:4:36
          |
        4 | workload: {get: /, headers: {X-Id: 7}}
          |                                    ^
    "#]],
    );
    refuses(
        r#"get: /, headers: {"X Id": "7"}"#,
        expect![[r#"
            `X Id` is not a valid name of a header field; write for example X-Request-Id
             --> my.yaml:4:29
              |
            4 | workload: {get: /, headers: {"X Id": "7"}}
              |                             ^
        "#]],
    );
    refuses(
        r#"get: /, headers: {X-Id: "a\nb"}"#,
        expect![[r#"
            the value of the header field `X-Id` has '\n', which is not allowed there; leave it out
             --> my.yaml:4:29
              |
            4 | workload: {get: /, headers: {X-Id: "a\nb"}}
              |                             ^
        "#]],
    );
    refuses(
        "get: /, headers: [X-Id]",
        expect![[r#"
        a mapping (`field: value`) is expected here
         --> my.yaml:4:29
          |
        4 | workload: {get: /, headers: [X-Id]}
          |                             ^
    "#]],
    );
}

#[test]
fn what_would_be_read_as_another_request_is_refused_in_a_spec() {
    for (workload, remedy) in [
        (r#"path: /, method: "GET\r\nX: y""#, "a method is one word"),
        ("path: /, method: A B", "a method is one word"),
        ("path: /, method: ''", "a method is one word"),
        ("script: Cargo.toml, method: A B", "a method is one word"),
        (
            "path: /, body: four, headers: {Content-Length: '3'}",
            "contradicts the body, which has 4 bytes; leave the field out",
        ),
        ("get: /, headers: {content-length: '3'}", "contradicts the body, which has 0 bytes"),
        (
            "path: /, body: four, headers: {Content-Length: ['4', '4']}",
            "a request has one `Content-Length`",
        ),
        ("get: /, headers: {Transfer-Encoding: chunked}", "is sent with its length; leave it out"),
        (
            "path: /, body_file: Cargo.toml, headers: {Transfer-Encoding: chunked}",
            "is sent with its length; leave it out",
        ),
        ("mix: Cargo.toml, headers: {Content-Length: '4'}", "is sent with its length"),
        ("path: /, events: {}, headers: {Transfer-Encoding: chunked}", "is sent with its length"),
    ] {
        let text = spec("").replace("get: /", workload);
        let error = read(&text, None, &[]).map(|read| read.to_yaml()).unwrap_err().to_string();
        assert!(error.contains(remedy) && error.contains("my.yaml:4:"), "{workload}: {error}");
    }
    for workload in [
        "path: /, body: four, headers: {Content-Length: '4'}",
        // Their lengths are not known here.
        "path: /, body: '${vars.body}', headers: {Content-Length: '5'}",
        "path: /, body_file: Cargo.toml, headers: {Content-Length: '5'}",
        "path: /, body: four, headers: {Content-Length: '${vars.length}'}",
    ] {
        let text = spec("vars: {body: hello, length: '4'}\n").replace("get: /", workload);
        read(&text, None, &[]).unwrap();
    }
}

#[test]
fn missing_files_and_unknown_variables_are_named_with_their_line() {
    refuses(
        "mix: nowhere.jsonl",
        expect![[r#"
        the mix ./nowhere.jsonl does not exist
         --> my.yaml:4:17
          |
        4 | workload: {mix: nowhere.jsonl}
          |                 ^^^^^^^^^^^^^ paths are relative to the spec's folder
    "#]],
    );
    refuses(
        "get: /, body_file: nowhere.bin",
        expect![[r#"
        the file ./nowhere.bin does not exist
         --> my.yaml:4:31
          |
        4 | workload: {get: /, body_file: nowhere.bin}
          |                               ^^^^^^^^^^^ paths are relative to the spec's folder
    "#]],
    );
    refuses(
        r#"mix: Cargo.toml, data: "${vars.data}""#,
        expect![[r#"
        unknown variable `vars.data`
         --> my.yaml:4:36
          |
        4 | workload: {mix: Cargo.toml, data: "${vars.data}"}
          |                                    ^^^^^^^^^^^ variables here: instance, env.NAME
    "#]],
    );
    refuses(
        r#"get: /, headers: {X-Id: "${instance}"}"#,
        expect![[r#"
        `${instance}` is not allowed here
         --> my.yaml:4:37
          |
        4 | workload: {get: /, headers: {X-Id: "${instance}"}}
          |                                     ^^^^^^^^^^^ all instances get the same requests; only their paths may differ
    "#]],
    );
}

#[test]
fn a_workload_can_be_replaced_by_a_patch() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let set = format!("workload={{get: null, mix: {file}}}");
    let workload = read(&spec(""), None, &[&set]).unwrap().spec.workload;
    assert_eq!(
        workload,
        Workload::Mix(mix::Mix { mix: file.to_owned(), data: None, headers: Headers::default() })
    );
}

#[test]
fn events_are_the_only_requests_and_their_refusal_needs_a_receiver() {
    refuses(
        "events: {}, get: /",
        expect![[r#"
            `events` are the requests of a workload; beside them only `path` and `headers` are possible
             --> my.yaml:4:11
              |
            4 | workload: {events: {}, get: /}
              |           ^
        "#]],
    );
    refuses(
        "path: /, events: {refuse: '503:2'}",
        expect![[r#"
        `within` and `refuse` are of a receiver; add `receive: ADDRESS:PORT`
         --> my.yaml:4:11
          |
        4 | workload: {path: /, events: {refuse: '503:2'}}
          |           ^
    "#]],
    );
}
