use std::fmt::Write;

use expect_test::expect;

use super::{at, described, said, written};
use crate::{Described, Wanted, line};

fn read(text: &str) -> Described {
    described(text, &at("http://127.0.0.1:8080/ignored")).unwrap()
}

/// The shape of the combined format, with what such logs have: scans, bots, a query with a token, other lines.
fn combined() -> String {
    let mut log = String::new();
    let mut add = |minute: usize, request: &str, status: u16| {
        let _ = writeln!(
            log,
            "203.0.113.7 - ann [24/Nov/2026:10:{minute:02}:05 +0100] \"{request}\" {status} 512 \
             \"https://shop.example/?q=\\\"x\\\"\" \"Mozilla/5.0 (X11)\""
        );
    };
    for minute in 0..10 {
        for _ in 0..=(minute % 4) * 60 {
            add(minute, "GET /items/1 HTTP/1.1", 200);
        }
        for item in 1..=12 {
            add(minute, &format!("GET /items/{item}?sort=up HTTP/2.0"), 200);
        }
        add(minute, &format!("GET /users/{}/avatar HTTP/1.1", 1_000_000 * (minute + 1)), 304);
        add(minute, "GET /orders/0e8dd6fe-4f0a-4c3c-9a5b-7f1e2d3c4b5a HTTP/1.1", 200);
        add(minute, "POST /orders HTTP/1.1", 201);
        add(minute, "GET /feed?access_token=canary-token HTTP/1.1", 200);
        add(minute, "GET /wp-login.php HTTP/1.1", 404);
        add(minute, "GET /static/app.js HTTP/1.1", 200);
        add(minute, "OPTIONS / HTTP/1.1", 204);
        add(minute, "\\x16\\x03\\x01", 400);
    }
    log + "not a line of a log\n"
}

#[test]
fn a_combined_log_becomes_a_mix_with_its_rates() {
    let found = read(&combined());
    expect![[r#"
        http://127.0.0.1:8080
        left out: 10 requests without a successful answer (2xx or 3xx)
        left out: 10 requests for files (images, fonts, styles, scripts); --files has them, too
        left out: 10 requests by OPTIONS, CONNECT or TRACE, or with an overlong path
        11 lines of the log could not be read as requests, the first of them line 21
        not sent: 1 request with another method than GET and HEAD, which may change data: in the mix they are comments; --writes sends them, too
        QUERY_ACCESS_TOKEN: the parameter access_token of a URL"#]].assert_eq(&said(&found));
    let mix = written(&found);
    expect![[r##"
        # The requests of a test, one JSON object a line. `benchwright mix check` shows them as they are sent.

        # 910 requests in the log
        # guess: {{int 1 12}}: 12 of the numbers from 1 to 12 were seen, and the others may not exist
        # guess: the query of one of them stands for all
        {"weight":910,"label":"GET /items/*","target":"/items/{{int 1 12}}"}

        # 10 requests in the log
        {"weight":10,"label":"GET /feed","target":"/feed?access_token=${env.QUERY_ACCESS_TOKEN}"}

        # 10 requests in the log
        # guess: one identifier that was seen stands for all
        {"weight":10,"label":"GET /orders/*","target":"/orders/0e8dd6fe-4f0a-4c3c-9a5b-7f1e2d3c4b5a"}

        # 10 requests in the log
        # guess: one identifier that was seen stands for all
        {"weight":10,"label":"GET /users/*/avatar","target":"/users/1000000/avatar"}

        # Not sent. Remove the `#` before a `{` to send one; (NAME) is a secret: write it as a reference to a
        # variable of the environment, as a dollar sign with {env.NAME} behind it.

        # not sent: it may change data
        # 10 requests in the log
        # the log has no body: write it as "body"
        #{"weight":10,"label":"POST /orders","method":"POST","target":"/orders"}
    "##]].assert_eq(&mix);
    assert!(!mix.contains("canary"), "{mix}");
    expect!["Rates { requests: 950, minutes: 8, median_per_s: 2.283333333333333, peak_per_s: 3.283333333333333 }"].assert_eq(&format!("{:?}", found.rates.unwrap()));
}

#[test]
fn lines_of_other_servers_are_read() {
    let lines = [
        // The common format, and one with the virtual host before it.
        r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#,
        r#"shop.example:443 10.0.0.1 - - [24/Nov/2026:10:00:05 +0000] "HEAD http://shop.example/a?b HTTP/1.1" 200 - "-" "curl""#,
        // nginx by `log_format … escape=json`.
        r#"{"time_iso8601":"2026-11-24T10:00:05+00:00","remote_addr":"::1","request":"GET /a?b=c HTTP/1.1","status":"200","body_bytes_sent":"5"}"#,
        r#"{"time_local":"24/Nov/2026:10:00:05 +0000","request_method":"GET","uri":"/a","args":"b=c","status":200}"#,
        r#"{"msec":"1795514405.123","request_method":"GET","request_uri":"/a?b=c","status":"200"}"#,
        // Caddy.
        r#"{"level":"info","ts":1795514405.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"::1","proto":"HTTP/2.0","method":"GET","host":"h","uri":"/a?b=c","headers":{"User-Agent":["curl"]}},"duration":0.0009,"size":5,"status":200}"#,
        // The same for people, and behind the name of its container.
        "2026/11/24 10:00:05.123\t\u{1b}[34mINFO\u{1b}[0m\thttp.log.access.log0\thandled request\t{\"request\": {\"method\": \"GET\", \"uri\": \"/a?b=c\", \"headers\": {\"Cookie\": [\"REDACTED\"]}}, \"size\": 5, \"status\": 200}",
        r#"caddy  | {"ts":1795514405.5,"request":{"method":"GET","uri":"/a?b=c"},"status":200}"#,
        // Traefik.
        r#"{"DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/a?b=c","StartUTC":"2026-11-24T10:00:05.000000Z","level":"info","time":"2026-11-24T10:00:06Z"}"#,
        // A container's.
        r#"{"log":"10.0.0.1 - - [24/Nov/2026:10:00:05 +0000] \"GET /a?b=c HTTP/1.1\" 200 5\n","stream":"stdout","time":"2026-11-24T10:00:05.1Z"}"#,
        r#"{"@timestamp":"2026-11-24T10:00:05.12Z","http":{"request":{"method":"get"},"response":{"status_code":200}},"url":{"path":"/a","query":"b=c"}}"#,
    ];
    let all: Vec<String> = lines.iter().map(|text| format!("{:?}", line::parse(text))).collect();
    expect![[r#"
        Some(Entry { method: "GET", target: "/apache_pb.gif", status: Some(200), second: Some(971211336) })
        Some(Entry { method: "HEAD", target: "/a?b", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })
        Some(Entry { method: "GET", target: "/a?b=c", status: Some(200), second: Some(1795514405) })"#]].assert_eq(&all.join("\n"));
    let none = [
        "",
        "GET / HTTP/1.1",
        "- - - [x] \"GET / HTTP/1.1\" 200",
        "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1",
        "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"\\x16\\x03\" 400 0",
        "[]",
        "{\"a\":1}",
        "{\"method\":\"GET\",\"path\":7}",
        "{\"method\":\"GET\",\"path\":\"no slash\"}",
        "{\"request\":\"GET\"}",
        "2026/11/24 10:00:05.123\tINFO\tserving\t{\"a\":1}",
        "example: {\"method\":\"GET\",\"path\":\"/a\"}",
    ];
    none.iter().for_each(|text| assert_eq!(line::parse(text), None, "{text}"));
}

#[test]
fn a_log_needs_the_url_of_its_service_and_lines_that_are_requests() {
    let why = described(&combined(), &Wanted::default()).map(drop).unwrap_err();
    expect!["a log does not name its server; add --base http://HOST:PORT"].assert_eq(&why);
    let wrong = "hello\n".repeat(5_000);
    let why = crate::read(crate::Kind::Log, &mut wrong.as_bytes(), &at("http://h"));
    expect!["line 1: it is not a request in the combined format, nor a JSON object with a method and a path; set the log's format to one of these, or name what the file is: --as openapi or --as har"].assert_eq(&why.map(drop).unwrap_err());
    let failed = "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 500 5";
    let why = described(failed, &at("http://h")).map(drop).unwrap_err();
    expect!["it has no request that could be sent: left out: 1 request without a successful answer (2xx or 3xx)"].assert_eq(&why);
}

#[test]
fn a_log_of_a_million_different_paths_stays_bounded() {
    let mut log = String::new();
    for number in 0..30_000 {
        let word: String =
            format!("{number:x}").chars().map(|c| char::from(c as u8 % 20 + b'g')).collect();
        let _ = writeln!(
            log,
            "::1 - - [24/Nov/2026:10:00:05 +0000] \"GET /{word}{number}z HTTP/1.1\" 200 5"
        );
    }
    let found = read(&log);
    assert_eq!(found.requests.len(), 128);
    expect![[r#"
        http://127.0.0.1:8080
        left out: 29,872 requests with the rarest paths
        not sent: 64 requests beyond the first 64, the most that a mix can have: there they are comments"#]]
    .assert_eq(&said(&found));
    written(&found);
}

#[test]
fn the_escapes_of_a_log_stand_for_bytes() {
    let line = |target: &str| {
        format!("h - - [28/Nov/2026:10:00:00 +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"-\"\n")
    };
    let targets = [r"/caf\xc3\xa9", r#"/a\"b"#, r"/c\\d", r"/x\x7B\x7bseq}}"];
    let text: String =
        targets.iter().flat_map(|target| std::iter::repeat_n(line(target), 5)).collect();
    let mix = written(&described(&text, &at("http://h")).unwrap());
    for target in [r"/caf%C3%A9", "/a%22b", "/c%5Cd", "/x%7B%7Bseq%7D%7D"] {
        assert!(mix.contains(&format!("\"target\":\"{target}\"")), "{mix}");
    }
}

/// A link that was mailed has a secret in its path; the identifiers of databases are none.
#[test]
fn tokens_in_paths_are_secrets() {
    let paths = [
        "/reset/Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1u",
        "/reset/a1b2c3d4e5f60718293a4b5c6d7e8f9001122334",
        "/i/0189f7a2-1b2c-7d3e-8f40-112233445566",
        "/i/0123456789abcdef0123456789abcdef",
        "/blog/my-long-article-about-the-99-ways-to-measure",
    ];
    let line = |path: &str| {
        format!("h - - [28/Nov/2026:10:00:00 +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"-\"\n")
    };
    let text: String = paths.iter().map(|path| line(path)).collect();
    let found = described(&text, &at("http://h")).unwrap();
    let mix = written(&found);
    let lines: Vec<&str> = mix.lines().filter(|line| line.starts_with('{')).collect();
    expect![[r#"
        {"weight":2,"label":"GET /i/*","target":"/i/0189f7a2-1b2c-7d3e-8f40-112233445566"}
        {"weight":2,"label":"GET /reset/*","target":"/reset/${env.PATH_RESET}"}
        {"weight":1,"label":"GET /blog/my-long-article-about-the-99-ways-to-measure","target":"/blog/my-long-article-about-the-99-ways-to-measure"}"#]].assert_eq(&lines.join("\n"));
}
