use std::sync::Arc;

use crate::{Data, Mix, Source};

fn read(text: &str) -> Result<Mix, String> {
    let data = Some(Arc::new(Data::read("d.csv", "name\nAnn\n").unwrap()));
    let fields = [("Host".to_owned(), "h".to_owned())];
    let body_file = |_: &str| Ok(Vec::new());
    let source = Source { file: "m", text, data, fields: &fields, body_file: &body_file };
    Mix::read(&source).map_err(|error| error.to_string())
}

const LINES: &str = r#"{"label":"a","target":"/a","capture":{"t":"json:/t"}}
{"label":"b","target":"/b","headers":{"X":"{{session.t}}"}}
"#;

#[test]
fn a_line_that_orders_requests_makes_a_session() {
    let mix = read(&format!(
        "{LINES}{}\n{}\n{}",
        r#"{"label":"c","target":"/c","weight":2}"#,
        r#"{"session":"s","weight":3,"steps":["a","think 1s","b","b"],"cookies":false}"#,
        r#"{"arrivals":"requests"}"#,
    ));
    let mix = mix.unwrap();
    assert_eq!(mix.labels().collect::<Vec<_>>(), ["a", "b", "c"]);
    let sessions = mix.sessions().unwrap();
    assert_eq!(sessions.arrivals, load::driver::Arrivals::Requests);
    let [alone, session] = &sessions.journeys[..] else { panic!("{sessions:?}") };
    assert_eq!((&alone.name, alone.steps[0].entry), (&None, 2));
    let steps: Vec<_> = session.steps.iter().map(|s| (s.entry, s.think.to_string())).collect();
    let expected = [(0, "0 ns"), (1, "1 s"), (1, "0 ns")].map(|(e, t)| (e, t.to_owned()));
    assert_eq!(steps, expected);
    assert!(!session.has_cookies);
    assert!(!read(r#"{"target":"/"}"#).unwrap().has_sessions());
}

#[test]
fn a_request_that_follows_redirects_is_a_session_of_its_own() {
    let mix = read(r#"{"target":"/","redirects":3}"#).unwrap();
    assert_eq!(mix.labels().collect::<Vec<_>>(), ["GET /", "GET / redirected"]);
    assert_eq!(mix.sessions().unwrap().journeys.len(), 1);
    assert!(!read(r#"{"target":"/","redirects":0}"#).unwrap().has_sessions());
}

#[test]
fn each_mistake_in_a_session_is_located_and_has_its_remedy() {
    let mut wrong = String::new();
    for line in [
        r#"{"session":"s","steps":["b"]}"#,
        r#"{"session":"s","steps":["a","x"]}"#,
        r#"{"session":"s","steps":["think 1s","a"]}"#,
        r#"{"session":"s","steps":["a","think 1s"]}"#,
        r#"{"session":"s","steps":["a","think soon","b"]}"#,
        r#"{"session":"s","steps":[]}"#,
        r#"{"session":"s","steps":"a"}"#,
        r#"{"session":"s","steps":[1]}"#,
        r#"{"session":"s"}"#,
        r#"{"session":"","steps":["a","b"]}"#,
        r#"{"session":"s","steps":["a","b"],"target":"/"}"#,
        r#"{"session":"s","steps":["a","b"],"cookies":1}"#,
        r#"{"steps":["a","b"]}"#,
        r#"{"arrivals":"sessions"}"#,
        r#"{"session":"s","steps":["a","b"]} "#,
        r#"{"label":"c","target":"/{{session.u}}"}"#,
        r#"{"label":"c","target":"/{{session.t}}"}"#,
        r#"{"label":"c","target":"/{{session.t hex}}"}"#,
        r#"{"label":"c","target":"/","capture":{"1":"json:/t"}}"#,
        r#"{"label":"c","target":"/","capture":{"t":"xml:/t"}}"#,
        r#"{"label":"c","target":"/","redirects":99}"#,
    ] {
        let rest = if line.ends_with(' ') {
            "{\"arrivals\":\"users\"}"
        } else if line.contains("session\"") || line.contains("arrivals") {
            ""
        } else {
            r#"{"session":"s","steps":["a","b"]}"#
        };
        let error = read(&format!("{LINES}{line}\n{rest}")).map(drop).unwrap_err();
        wrong += &format!("{line}\n  {error}\n");
    }
    for text in [
        r#"{"label":"a","target":"/","weight":2}
{"session":"s","steps":["a"]}"#,
        r#"{"label":"a","target":"/"}
{"session":"s","steps":["a"]}
{"session":"s","steps":["a"]}"#,
        r#"{"label":"a","target":"/"}
{"session":"s","steps":["a"]}
{"arrivals":"sessions"}
{"arrivals":"sessions"}"#,
        r#"{"label":"a","target":"/","body":"{{session.t}}"}"#,
    ] {
        wrong += &format!("  {}\n", read(text).map(drop).unwrap_err());
    }
    expect_test::expect![[""]].assert_eq(&wrong);
}
