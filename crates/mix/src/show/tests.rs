use std::sync::Arc;

use expect_test::expect;

use super::*;
use crate::{Data, Source};

#[test]
fn requests_are_shown_as_they_are_sent_with_placeholders_for_what_is_captured() {
    let text = r#"{"label":"login","method":"POST","target":"/login","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":"user={{row.name}}","redirects":2,"capture":{"token":"json:/token"}}
{"label":"items","target":"/items?t={{session.token url}}","headers":{"Authorization":"Bearer {{session.token}}"}}
{"session":"reader","steps":["login","think exp:500ms","items"]}"#;
    let data = Some(Arc::new(Data::read("d.csv", "name\nAnn\nBob\n").unwrap()));
    let fields = [("Host".to_owned(), "h".to_owned())];
    let body_file = |_: &str| Ok(Vec::new());
    let source = Source { file: "m", text, data, fields: &fields, body_file: &body_file };
    let mix = Mix::read(&source).unwrap_or_else(|error| panic!("{error}"));
    let mut text = String::new();
    for Shown { label, number, step, bytes, captures, redirects } in show(&mix, 3, 1, || 0) {
        let step = step.map(|step| (step.session, step.step, step.of, step.think));
        text += &format!("--- {label} {number} {step:?} {captures:?} {redirects}\n");
        text += &String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        text += "\n";
    }
    expect![[r#"
        --- login 0 Some(("reader", 1, 2, None)) ["token from json:/token"] 2
        POST /login HTTP/1.1
        Host: h
        Content-Type: application/x-www-form-urlencoded
        Content-Length: 8

        user=Ann
        --- items 0 Some(("reader", 2, 2, Some("exp:500 ms"))) [] 0
        GET /items?t={{session.token url}} HTTP/1.1
        Host: h
        Authorization: Bearer {{session.token}}
        Cookie: {{cookies}}


        --- login 1 Some(("reader", 1, 2, None)) ["token from json:/token"] 2
        POST /login HTTP/1.1
        Host: h
        Content-Type: application/x-www-form-urlencoded
        Content-Length: 8

        user=Bob
    "#]]
    .assert_eq(&text);
}
