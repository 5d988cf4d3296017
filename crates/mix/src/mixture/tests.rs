use std::io;

use expect_test::{Expect, expect};

use super::*;
use crate::entry::without_query;
use crate::template::{Captured, Filling};

fn read(text: &str) -> Result<Mix, Error> {
    let data =
        Data::read("d.csv", "id,name,path,url\n7,Ann,/a,http://h/\n8,Bob,b,http://h:0/\n").unwrap();
    let fields = [("Host".to_owned(), "h:80".to_owned()), ("X-All".to_owned(), "1".to_owned())];
    let body_file = |path: &str| match path {
        "there.bin" => Ok(b"\x00{{seq}}\xff".to_vec()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    };
    let data = Some(Arc::new(data));
    Mix::read(&Source { file: "m.jsonl", text, data, fields: &fields, body_file: &body_file })
}

/// Prints each entry's label and the request that it makes with number 9.
fn check(text: &str, expected: Expect) {
    let mix = read(text).unwrap_or_else(|error| panic!("{error}"));
    let mut shown = String::new();
    for (entry, sum) in mix.entries.iter().zip(&mix.sums) {
        let mut filling = Filling {
            number: 9,
            connection: 1,
            random: Random::new(1),
            data: mix.data(),
            clock: || 0,
            captured: Captured::None,
            begin: 0,
        };
        let (mut wire, mut body) = (Vec::new(), b"old".to_vec());
        entry.write(&mut filling, &mut body, &mut wire);
        let wire = wire.escape_ascii().to_string().replace(r"\r\n", "\n").replace(r#"\""#, "\"");
        shown += &format!("--- up to {sum}: {} ({:?})\n{wire}\n", entry.label, entry.expect);
    }
    expected.assert_eq(&shown);
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_skipped() {
    let mix = read("\u{feff}{\"target\":\"/\"}\n").unwrap();
    assert_eq!(mix.labels().collect::<Vec<_>>(), ["GET /"]);
}

#[test]
fn a_line_whose_requests_end_their_connection_says_so() {
    for (headers, closes) in [
        (r#"{}"#, false),
        (r#"{"Connection":"close"}"#, true),
        (r#"{"connection":"a, Close"}"#, true),
        (r#"{"Connection":"keep-alive"}"#, false),
    ] {
        let mix = read(&format!(r#"{{"target":"/","headers":{headers}}}"#)).unwrap();
        assert_eq!(mix.entries[0].closes, closes, "{headers}");
    }
}

#[test]
fn common_fields_are_checked_with_those_of_the_line() {
    for (field, own) in [
        ("Content-Length", ""),
        ("transfer-encoding", ""),
        ("Host", r#","headers":{"X":"1","Host":"a","host":"b"}"#),
        ("A b", ""),
    ] {
        let fields = [(field.to_owned(), "5".to_owned())];
        let text = format!(r#"{{"target":"/"{own}}}"#);
        let (file, data, body_file) = ("m.jsonl", None, &|_: &str| Ok(Vec::new()));
        let read = Mix::read(&Source { file, text: &text, data, fields: &fields, body_file });
        assert!(read.is_err(), "{field} {own}");
    }
}

#[test]
fn lines_become_requests() {
    check(
        r##"# what users do

{"weight":60,"label":"search","method":"GET","target":"/hotels?lat={{uniform 37.78 38.26 4}}","headers":{},"check":"status=200"}
  # and what else
{"target":"/users/{{int 1 5}}?q={{row.name}}"}
{"weight":0.5,"method":"POST","target":"/users","headers":{"X-Id":"{{seq}}","x-all":"2","X-Id":"b"},"body":"{\"name\":\"{{row.name}}\"}"}
{"method":"POST","target":"/fixed","body":"grüß"}
{"method":"PUT","target":"/file","body_file":"there.bin"}
{"method":"POST","target":"/empty"}
{"method":"PATCH","target":"/void","body":""}
{"method":"HEAD","target":"http://proxied/{{row.id}}","headers":{"Host":"other"}}
{"method":"OPTIONS","target":"*"}
"##,
        expect![[r#"
            --- up to 60: search (Body)
            GET /hotels?lat=38.1696 HTTP/1.1
            Host: h:80
            X-All: 1


            --- up to 61: GET /users/{{int 1 5}} (Body)
            GET /users/5?q=Bob HTTP/1.1
            Host: h:80
            X-All: 1


            --- up to 61.5: POST /users (Body)
            POST /users HTTP/1.1
            Host: h:80
            X-Id: 9
            x-all: 2
            X-Id: b
            Content-Length: 14

            {"name":"Bob"}
            --- up to 62.5: POST /fixed (Body)
            POST /fixed HTTP/1.1
            Host: h:80
            X-All: 1
            Content-Length: 6

            gr\xc3\xbc\xc3\x9f
            --- up to 63.5: PUT /file (Body)
            PUT /file HTTP/1.1
            Host: h:80
            X-All: 1
            Content-Length: 9

            \x00{{seq}}\xff
            --- up to 64.5: POST /empty (Body)
            POST /empty HTTP/1.1
            Host: h:80
            X-All: 1
            Content-Length: 0


            --- up to 65.5: PATCH /void (Body)
            PATCH /void HTTP/1.1
            Host: h:80
            X-All: 1
            Content-Length: 0


            --- up to 66.5: HEAD http://proxied/{{row.id}} (NoBody)
            HEAD http://proxied/8 HTTP/1.1
            X-All: 1
            Host: other


            --- up to 67.5: OPTIONS * (Body)
            OPTIONS * HTTP/1.1
            Host: h:80
            X-All: 1


        "#]],
    );
}

#[test]
fn a_default_label_ends_before_the_query_but_not_inside_a_placeholder() {
    for (target, label) in [
        ("/a?b=c?d", "/a"),
        ("/a{{row.x?y}}/{b?c", "/a{{row.x?y}}/{b"),
        ("/{{seq}}", "/{{seq}}"),
        ("/{{seq", "/{{seq"),
    ] {
        assert_eq!(without_query(target), label);
    }
}

#[test]
fn an_error_is_reported_with_its_place_and_the_remedy() {
    let mut shown = String::new();
    for text in [
        "# nothing",
        "{\"target\":\"/\"}\n{\"weight\":\"60\",\"target\":\"/\"}",
        r#"{"weight":0,"target":"/"}"#,
        r#"{"weight":1e999,"target":"/"}"#,
        "{\"weight\":1e308,\"target\":\"/a\"}\n{\"weight\":1e308,\"target\":\"/b\"}",
        r#"{"label":"ä","wieght":1,"target":"/"}"#,
        r#"{"target":"/","target":"/"}"#,
        r#"{"target":"/""#,
        r#"{"target":"/",}"#,
        r#"  [1]"#,
        r#"[null,null,null,"/",null,null,null,null]"#,
        r#"{"target":"/"} {}"#,
        r#"{"method":"GET"}"#,
        r#"{"target":5}"#,
        r#"{"target":"hotels"}"#,
        r#"{"target":"{{seq}}"}"#,
        r#"{"target":"{{row.path}}"}"#,
        r#"{"target":"http:///x"}"#,
        r#"{"target":"https://h:99999/{{seq}}"}"#,
        r#"{"target":"{{row.url}}"}"#,
        r#"{"label":"ä","target":"/a b"}"#,
        r#"{"target":"/\"\u0041 b"}"#,
        r#"{"target":"/{{rand}}"}"#,
        r#"{"target":"/{{row.nam}}"}"#,
        r#"{"method":"GE T","target":"/"}"#,
        r#"{"label":"","target":"/"}"#,
        r#"{"target":"/","headers":["a"]}"#,
        r#"{"target":"/","headers":{"A":1}}"#,
        r#"{"target":"/","headers":{"A:":"x"}}"#,
        r#"{"target":"/","headers":{"A":"{{hex}}"}}"#,
        r#"{"target":"/","headers":{"content-length":"5"}}"#,
        r#"{"target":"/","headers":{"Connection":"{{row.name}}"}}"#,
        r#"{"target":"/","body":{"a":1}}"#,
        r#"{"target":"/","body":"x{{int 2 1}}"}"#,
        r#"{"target":"/","body":"x","body_file":"there.bin"}"#,
        r#"{"target":"/","body_file":"gone.bin"}"#,
        r#"{"target":"/","check":"stauts=200"}"#,
        "{\"target\":\"/a?1\"}\n\n{\"target\":\"/a?2\"}",
        "{\"target\":\"/a\",\"label\":\"x\"}\n{\"target\":\"/b\",\"label\":\"x\"}",
    ] {
        let error = read(text).expect_err(text);
        shown += &format!("{error}\n");
    }
    let many: String = (0..=MOST_LABELS).map(|n| format!("{{\"target\":\"/{n}\"}}\n")).collect();
    shown += &format!("{}\n", read(&many).expect_err("one label too many"));
    expect![[r#"
        m.jsonl:1:1: the file contains no request; write one per line, such as {"target":"/"}
        m.jsonl:2:11: `weight` is "60"; write a number above 0, such as 60
        m.jsonl:1:11: `weight` is 0; write a number above 0, such as 60
        m.jsonl:1:11: `weight` is 1e999; write a number above 0, such as 60
        m.jsonl:2:1: the sum of the weights is not a finite number; write smaller weights
        m.jsonl:1:21: unknown field `wieght`, expected one of `weight`, `label`, `method`, `target`, `headers`, `body`, `body_file`, `check`, `capture`, `redirects`, `session`, `steps`, `cookies`, `arrivals`; correct it, or leave it out
        m.jsonl:1:22: duplicate field `target`; correct it, or leave it out
        m.jsonl:1:13: EOF while parsing an object; write the whole object on one line
        m.jsonl:1:15: trailing comma; write an object such as {"weight":2,"target":"/"}
        m.jsonl:1:3: this is not an object; write an object such as {"weight":2,"target":"/"}
        m.jsonl:1:1: this is not an object; write an object such as {"weight":2,"target":"/"}
        m.jsonl:1:16: trailing characters; write an object such as {"weight":2,"target":"/"}
        m.jsonl:1:1: `target` is missing; write for example "target":"/hotels"
        m.jsonl:1:11: `target` is not a text; put it in quotes: "…"
        m.jsonl:1:11: a target begins with `/`, or is absolute; write for example "/hotels?id=1"
        m.jsonl:1:11: a target begins with `/`, or is absolute; write for example "/hotels?id=1"
        m.jsonl:1:11: `path` does not begin with `/` at d.csv:3, but a target must; write it there, or before {{
        m.jsonl:1:11: `http:///x`: it names no host; write for example 127.0.0.1:8080
        m.jsonl:1:11: `https://h:99999/`: `99999` is not a valid port; write a number from 1 to 65535, or leave out the colon
        m.jsonl:1:11: `url` is not a valid URL at d.csv:3; write http://HOST:PORT/PATH there
        m.jsonl:1:26: ' ' is not allowed here; write it percent-encoded, such as %20 for a space
        m.jsonl:1:11: ' ' is not allowed here; write it percent-encoded, such as %20 for a space
        m.jsonl:1:13: `{{rand}}` is not a placeholder; write one of seq, int, uniform, zipf, hex, uuid, time_ms, connection, row.COLUMN, session.NAME
        m.jsonl:1:13: the data has no column `nam`; write one of id, name, path, url
        m.jsonl:1:11: `GE T` is not a valid method; write one word, such as PUT
        m.jsonl:1:10: a label is a text of one line; write for example "search"
        m.jsonl:1:25: `headers` is not an object; write it as {"Name":"value"}
        m.jsonl:1:30: `headers.A` is not a text; put it in quotes: "…"
        m.jsonl:1:31: `A:` is not a valid name of a header field; write for example X-Request-Id
        m.jsonl:1:31: `{{hex}}` is not valid; write {{hex N}}, N from 1 to 65536
        m.jsonl:1:43: `content-length` follows from the body, which is sent with its length; leave it out
        m.jsonl:1:39: `Connection` is the same for all requests of a line; write another line
        m.jsonl:1:22: `body` is not a text; put it in quotes: "…"
        m.jsonl:1:24: `{{int 2 1}}` is not valid; write {{int A B}}, whole numbers with A not above B
        m.jsonl:1:38: there is a `body` too; write either `body` or `body_file`
        m.jsonl:1:27: cannot read `gone.bin`: no such file; paths are relative to the mix's folder
        m.jsonl:1:24: `stauts=200` is not a rule; the rules are status=200,2xx body=TEXT body~TEXT bytes>=N header:NAME=VALUE json:/POINTER=VALUE
        m.jsonl:3:1: there is already a `GET /a`; give each request a different `label`
        m.jsonl:2:24: there is already a `x`; give each request a different `label`
        m.jsonl:65:1: there are more than 64 requests; combine some with a placeholder, such as {{row.path}} with --data
    "#]].assert_eq(&shown);
}

#[test]
fn the_maximum_number_of_labels_is_accepted() {
    let many: String = (0..MOST_LABELS).map(|n| format!("{{\"target\":\"/{n}\"}}\n")).collect();
    assert_eq!(read(&many).unwrap().labels().count(), MOST_LABELS);
}

/// Builds lines from pieces of good and bad ones and then damages them: the parser accepts or
/// refuses each, and each accepted one can be written.
#[test]
fn arbitrary_mixes_never_panic() {
    const MEMBERS: [&str; 12] = [
        r#""target":"/{{int 1 2}}?{{row.path}}""#,
        r#""target":"{{row.name}}""#,
        r#""weight":0.5"#,
        r#""label":"a""#,
        r#""method":"POST""#,
        r#""method":"HEAD""#,
        r#""headers":{"A":"{{seq}} {{row.id}}","Host":"{{connection}}"}"#,
        r#""body":"{{uuid}} {{hex 3}} {{zipf 1 9 1.5}} {{uniform 0 1 3}}""#,
        r#""body":"""#,
        r#""body_file":"there.bin""#,
        r#""check":"status=200,2xx body~'a' bytes>=1 json:/a=1 header:a=b""#,
        r#""check":"body=""#,
    ];
    const DAMAGE: [&str; 16] = [
        "{", "}", "\"", ":", ",", "[", "{{", "}}", " ", "\n", "#", "\\", "ü", "\0", "\\u00e9", "-1",
    ];
    let mut random = Random::new(11);
    let mut good = 0;
    for _ in 0..100_000 {
        let mut pick = |from: &[&'static str]| from[random.below(from.len() as u64) as usize];
        let members = [r#""target":"/a""#, pick(&MEMBERS), pick(&MEMBERS), pick(&MEMBERS)];
        let mut text = format!("{{{}}}", members[random.below(4) as usize..].join(","));
        for _ in 0..random.below(3) {
            let at = random.below(text.len() as u64 + 1) as usize;
            let at = (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            if random.below(3) == 0 && at < text.len() {
                text.remove(at);
            } else {
                text.insert_str(at, DAMAGE[random.below(DAMAGE.len() as u64) as usize]);
            }
        }
        let Ok(mix) = read(&text) else { continue };
        good += 1;
        for entry in &mix.entries {
            let mut filling = Filling {
                number: 1,
                connection: 1,
                random: random.clone(),
                data: mix.data(),
                clock: || 5,
                captured: Captured::None,
                begin: 0,
            };
            let mut wire = Vec::new();
            entry.write(&mut filling, &mut Vec::new(), &mut wire);
            let mut decoder = wire::http1::RequestDecoder::default();
            let mut bytes = wire.as_slice();
            while let Some(event) =
                decoder.next(&mut bytes).unwrap_or_else(|e| panic!("{e}: {text}"))
            {
                if matches!(event, wire::http1::RequestEvent::End(_)) {
                    break;
                }
            }
            assert!(bytes.is_empty(), "one request, and nothing after it: {text}");
        }
    }
    assert!(5_000 < good, "{good} of them were mixes");
}

#[test]
fn an_arrival_of_sessions_brings_the_steps_of_one() {
    let steps = r#"{"label":"a","target":"/a"}
{"label":"b","target":"/b"}
{"session":"short","steps":["a"],"weight":3}
{"session":"long","steps":["a","b","a"]}
"#;
    let of = |text: &str| read(text).unwrap().requests_of_an_arrival();
    assert_eq!(of(&format!("{steps}{{\"arrivals\":\"sessions\"}}")), (3.0 + 3.0) / 4.0);
    assert_eq!(of(&format!("{steps}{{\"arrivals\":\"requests\"}}")), 1.0);
    assert_eq!(of(r#"{"target":"/a"}"#), 1.0, "requests that stand alone");
}

#[test]
fn the_longest_session_is_that_with_the_most_time_to_think() {
    let text = r#"{"label":"a","target":"/a"}
{"label":"b","target":"/b"}
{"session":"short","steps":["a","think 1s","a","b"],"weight":9}
{"session":"long","steps":["a","think exp:3s","b","think 900ms","a"]}
"#;
    assert_eq!(read(text).unwrap().longest_session(), Nanos::from_millis(3_900));
    assert_eq!(read(r#"{"target":"/a"}"#).unwrap().longest_session(), Nanos::ZERO);
}
