use crate::spec::tests::{check, read, spec};
use expect_test::expect;

use super::{addresses_of, of_step, parts};

#[test]
fn an_address_has_a_url_a_host_and_a_port() {
    let of = |urls: &[&str]| {
        let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
        of_step("db", &urls)
            .into_iter()
            .map(|(name, text)| format!("{name} {text}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of(&["kv://127.0.0.1:7001", "redis://me@[::1]:7/0"]),
        [
            "addresses.db 127.0.0.1:7001,[::1]:7",
            "urls.db kv://127.0.0.1:7001,redis://me@[::1]:7/0",
            "hosts.db 127.0.0.1,::1",
            "ports.db 7001,7",
        ]
    );
    let of_plan = ["addresses.db db", "urls.db http://db", "hosts.db db", "ports.db 80"];
    assert_eq!(of(&["http://db"]), of_plan);
}

/// The rest of a URL is no part of the address, by whatever character it begins.
#[test]
fn the_address_of_a_url_ends_where_its_authority_ends() {
    for (url, address, host, port) in [
        ("http://u:p@h:1/x", "h:1", "h", "1"),
        ("http://h:1?x=1", "h:1", "h", "1"),
        ("http://h:1?x=a@b", "h:1", "h", "1"),
        ("http://h:1#top", "h:1", "h", "1"),
        ("http://h?x=1", "h", "h", "80"),
        ("redis://me@[::1]:7?x", "[::1]:7", "::1", "7"),
        ("redis+unix://%2Frun%2Fa.sock/0", "/run/a.sock", "", ""),
    ] {
        assert_eq!(parts(url).unwrap(), [address, host, port], "{url}");
    }
    assert_eq!(addresses_of(["http://a:1?x=1", "http://b:2/"].into_iter()), "a:1,b:2");
}

/// An empty address would start a component that reaches nobody.
#[test]
fn the_parts_of_what_is_no_url_are_an_error() {
    for (url, why) in [
        ("127.0.0.1:7001", "has no scheme"),
        ("http://h:65536", "is not a valid port"),
        ("http://::1/", "in brackets: [::1]"),
        ("nats://h", "names no port"),
    ] {
        let refusal = parts(url).unwrap_err();
        assert!(refusal.contains(why), "{url}: {refusal}");
    }
}

#[test]
fn a_text_is_measured_before_its_variables_are_replaced() {
    let of = |variable: usize, uses: usize| {
        let vars = format!("vars: {{b: {}}}\n", "b".repeat(variable));
        let path = format!("get: \"/{}\"", "${vars.b}".repeat(uses));
        spec(&vars).replace("get: /", &path)
    };
    let of_a_gigabyte = of(200_000, 5_000);
    let error = read(&of_a_gigabyte, None, &[]).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    expect![[r#"
        this text has 1.00 GB with its variables
         --> my.yaml:4:18
          |
    "#]]
    .assert_eq(&(lines[..3].join("\n") + "\n"));
    assert!(error.ends_with("^ a text has at most 1 MiB; use a file"), "{error}");
    // One byte is the slash.
    assert!(read(&of(1 << 18, 4), None, &[]).is_err());
    let longest = read(&of((1 << 18) - 1, 4), None, &[]).unwrap();
    assert_eq!(longest.text(longest.spec.workload.path().unwrap(), 1).len(), (1 << 20) - 3);
}

/// Each of them is short enough.
#[test]
fn all_texts_together_are_measured_too() {
    let vars = format!("vars: {{b: {}}}\n", "b".repeat(500_000));
    let headers: Vec<String> = (0..40).map(|i| format!("h{i}: \"${{vars.b}}\"")).collect();
    let get = format!("get: /, headers: {{{}}}", headers.join(", "));
    check(
        &spec("").replace("get: /", &get).replace("name: demo\n", &format!("name: demo\n{vars}")),
        expect![[r#"
            the texts of this spec have 20.0 MB with their variables
             --> my.yaml:2:1
              |
            2 | vars: {b: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
              | ^^^^ they have at most 16 MiB; use files
        "#]],
    );
}

#[test]
fn the_values_of_secrets_count_as_well() {
    let uses = (1 << 20) / std::env::var("PATH").unwrap().len() + 1;
    let path = format!("get: \"/{}\"", "${env.PATH}".repeat(uses));
    let error = read(&spec("").replace("get: /", &path), None, &[]).unwrap_err().to_string();
    assert!(error.starts_with("this text has 1.05 MB with its variables"), "{error}");
}
