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
    let expected = [(0, "0"), (1, "1.00 s"), (1, "0")].map(|(e, t)| (e, t.to_owned()));
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
    expect_test::expect![[r#"
        {"session":"s","steps":["b"]}
          m:3:25: `b` uses {{session.t}}, which no step before it captures; put the step that captures it first
        {"session":"s","steps":["a","x"]}
          m:3:29: no request has the label `x`; write one of a, b, or a think time such as "think 1s"
        {"session":"s","steps":["think 1s","a"]}
          m:3:25: a think time stands between two steps; leave this one out
        {"session":"s","steps":["a","think 1s"]}
          m:3:24: there is no step behind the last think time; leave it out. In a closed loop, --think is the time between two sessions
        {"session":"s","steps":["a","think soon","b"]}
          m:3:29: `soon` is not a valid length of time; write for example 10ms, 1.5s or 2m, such as "think exp:200ms"
        {"session":"s","steps":[]}
          m:3:24: a session has 1 to 256 steps, and this one 0; write the labels of requests
        {"session":"s","steps":"a"}
          m:3:24: `steps` is not a list; write it as ["login","think 1s","items"]
        {"session":"s","steps":[1]}
          m:3:25: `steps` is not a text; put it in quotes: "…"
        {"session":"s"}
          m:3:12: `steps` is missing; write for example "steps":["login","items"]
        {"session":"","steps":["a","b"]}
          m:3:12: the name of a session is a text of one line; write for example "user"
        {"session":"s","steps":["a","b"],"target":"/"}
          m:3:43: `target` belongs to a request; write the request in a line of its own, and its label in `steps`
        {"session":"s","steps":["a","b"],"cookies":1}
          m:3:44: `cookies` is 1; write true or false
        {"steps":["a","b"]}
          m:3:10: `steps` belongs to a session; write "session":"NAME", too
        {"arrivals":"sessions"}
          m:3:1: `arrivals` says what arrivals are in a mix with sessions, and there is none; leave it out, or write a line such as {"session":"user","steps":["login"]}
        {"session":"s","steps":["a","b"]} 
          m:4:13: `users` does not arrive; write "sessions" or "requests"
        {"label":"c","target":"/{{session.u}}"}
          m:3:25: no line captures `u`; write one of t
        {"label":"c","target":"/{{session.t}}"}
          m:3:1: no session has `c` as a step, so there is no {{session.t}}; write a line such as {"session":"user","steps":["c"]}
        {"label":"c","target":"/{{session.t hex}}"}
          m:3:25: `hex` is not a form of a captured value; write {{session.t}}, or with `url` or `json` behind the name
        {"label":"c","target":"/","capture":{"1":"json:/t"}}
          m:3:42: `1` is not a valid name; write a word such as "token"
        {"label":"c","target":"/","capture":{"t":"xml:/t"}}
          m:3:43: `xml:/t` is not a source of a value; write one of json:/POINTER, header:NAME, cookie:NAME, form:FIELD, regex:PATTERN
        {"label":"c","target":"/","redirects":99}
          m:3:39: `redirects` is 99; write a number up to 20, such as 3
          m:1:36: this request is a step of a session; write the weight in the line of the session
          m:3:12: there is already a session "s"; write another name
          m:4:13: there is already a line with `arrivals`; leave one of them out
          m:1:35: no line captures `t`; write for example "capture":{"t":"json:/t"} in the line of an earlier step
    "#]].assert_eq(&wrong);
}
