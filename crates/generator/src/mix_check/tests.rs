use expect_test::expect;

use super::*;

#[test]
fn a_journey_is_shown_step_by_step() {
    let lines = r#"{"label":"login","method":"POST","target":"/login","body":"a=b","capture":{"token":"json:/token"}}
{"label":"items","target":"/items","headers":{"Authorization":"Bearer {{session.token}}"},"redirects":2}
{"session":"reader","steps":["login","think 1s","items"]}"#;
    let fields = [("Host".to_owned(), "h".to_owned())];
    let body_file = |_: &str| Ok(Vec::new());
    let source =
        mix::Source { file: "m", text: lines, data: None, fields: &fields, body_file: &body_file };
    let mix = Mix::read(&source).unwrap();
    let shown = mix::show(&mix, 2, 1, || 0);
    expect![[r#"
        m.jsonl is valid: labels login, items, items redirected
        sessions reader; the arrivals of an open loop are sessions

        1. login · step 1 of 2 of reader, session 0
           POST /login HTTP/1.1
           Host: h
           Content-Length: 3

           a=b
           → token from json:/token

        2. items · step 2 of 2 of reader, session 0, 1.00 s after the response before it
           GET /items HTTP/1.1
           Host: h
           Authorization: Bearer {{session.token}}
           Cookie: {{cookies}}
           → follows up to 2 redirects
    "#]]
    .assert_eq(&text("m.jsonl", &mix, &shown));
    expect![[r#"
        {
          "labels": [
            "login",
            "items",
            "items redirected"
          ],
          "sessions": [
            "reader"
          ],
          "arrivals": "sessions",
          "requests": [
            {
              "label": "login",
              "number": 0,
              "step": {
                "session": "reader",
                "step": 1,
                "of": 2,
                "think": null
              },
              "request": "POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na=b",
              "capture": [
                "token from json:/token"
              ],
              "redirects": 0
            }
          ]
        }
    "#]]
    .assert_eq(&output::json(&document(&mix, &shown[..1])));
}

/// In a body it may be of a template of the service.
#[test]
fn a_name_that_only_seems_to_be_a_reference_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.jsonl");
    let checked = |line: &str| {
        std::fs::write(&path, format!("# ${{NAME}}\n{line}\n")).unwrap();
        longest_session(&path, None).map_err(|failure| format!("{:#}", failure.error))
    };
    let header = r#"{"target":"/","headers":{"Authorization":"Bearer ${MYTOK}"}}"#;
    let why = checked(header).unwrap_err();
    assert!(why.ends_with("m.jsonl:2: `${MYTOK}` is not a reference; write ${env.MYTOK} for the value of a variable of the environment"), "{why}");
    assert!(
        checked(r#"{"target":"/a?b=${vars.x}"}"#).unwrap_err().contains("write ${env.NAME} for")
    );
    checked(&header.replace("${MYTOK}", "${env.MYTOK}")).unwrap();
    checked(r#"{"method":"POST","target":"/","body":"{\"a\":\"${NAME}\"}"}"#).unwrap();
}
