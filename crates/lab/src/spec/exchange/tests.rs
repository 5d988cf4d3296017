use expect_test::{Expect, expect};

use super::*;

fn read(text: &str) -> Result<Exchange, String> {
    serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())
}

/// Checks how an exchange is written again.
fn check(text: &str, expected: Expect) {
    let exchange = read(text).unwrap();
    let written = serde_saphyr::to_string(&exchange).unwrap();
    expected.assert_eq(&written);
    assert_eq!(read(&written), Ok(exchange));
}

#[test]
fn an_exchange_states_what_is_sent_and_what_is_expected() {
    check(
        "{get: /healthz, body: ok}",
        expect![[r#"
        get: /healthz
        status: 200
        body: ok
    "#]],
    );
    check(
        "{post: /auth/register, to: users, send: {json: {name: manuandru, password: \"12341234\"}, \
         headers: {X-Key: abc}}, status: [200, 201, 409], body_equals: 7, timeout: 30s}",
        expect![[r#"
            post: /auth/register
            to: users
            send:
              headers:
                X-Key: abc
              json:
                name: manuandru
                password: "12341234"
            status:
            - 200
            - 201
            - 409
            body_equals: "7"
            timeout: 30s
        "#]],
    );
}

#[test]
fn a_body_is_sent_in_the_encoding_of_its_kind() {
    let body = |text: &str| {
        let body = read(text).unwrap().send.body.unwrap();
        format!("{}: {body}", body.content_type())
    };
    expect![[r#"application/json: {"name":"a b","n":1}"#]]
        .assert_eq(&body("{post: /, send: {json: {name: a b, n: 1}}}"));
    expect!["application/x-www-form-urlencoded: a=1+2&b%26=%C3%A4"]
        .assert_eq(&body("{post: /, send: {form: {a: 1 2, \"b&\": ä}}}"));
    expect!["text/plain; charset=utf-8: hello"].assert_eq(&body("{post: /, send: {text: hello}}"));
}

#[test]
fn every_text_of_an_exchange_may_have_variables() {
    let exchange = read(
        "{post: \"/a\", send: {json: {x: [b, {y: c}], n: 1}, headers: {H: d}}, body: e, body_equals: f}",
    );
    let exchange = exchange.unwrap();
    let mut texts = exchange.texts();
    texts.sort_unstable();
    assert_eq!(texts, ["/a", "b", "c", "d", "e", "f"]);
    let twice = exchange.with_texts(&|text| text.repeat(2));
    let mut texts = twice.texts();
    texts.sort_unstable();
    assert_eq!(texts, ["/a/a", "bb", "cc", "dd", "ee", "ff"]);
}

#[test]
fn an_exchange_that_cannot_be_sent_is_refused() {
    let refused = |text: &str, reason: &str| {
        let error = read(text).unwrap_err();
        assert!(error.contains(reason), "{error}");
    };
    refused("{get: /, post: /}", "a request is either `get: /path` or `post: /path`");
    refused("{get: /, send: {text: x}}", "a GET sends no body");
    refused("{post: /, send: {text: x, json: 1}}", "one of `json`, `form` and `text`");
    refused(
        "{post: /, send: {headers: {\"a b\": x}}}",
        "`a b` is not a valid name of a header field",
    );
    refused("{post: /, send: {headers: {a: \"x\\ny\"}}}", "the header field `a` has");
    refused("{get: /, status: []}", "the list of statuses is empty");
    refused("{get: /, status: 20}", "`20` is not a valid status");
    refused("{get: /, status: [200, ok]}", "`ok` is not a valid status");
    refused("{get: /, timeout: 0s}", "a timeout must be longer than zero");
}

#[test]
fn several_statuses_are_listed_in_words() {
    let statuses = |text: &str| read(text).unwrap().status.to_string();
    assert_eq!(statuses("{get: /}"), "200");
    assert_eq!(statuses("{get: /, status: 404}"), "404");
    assert_eq!(statuses("{get: /, status: [200, 201]}"), "200 or 201");
    assert_eq!(statuses("{get: /, status: [200, 201, 409]}"), "200, 201 or 409");
}
