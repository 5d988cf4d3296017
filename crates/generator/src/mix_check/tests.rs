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
    expect![[""]].assert_eq(&text("m.jsonl", &mix, &shown));
    expect![[""]].assert_eq(&output::json(&document(&mix, &shown[..1])));
}
