//! Small sources of the shapes that are found, and hostile ones.

use crate::{Described, Kind, Wanted, detect, mix, one_line, read};

mod har;
mod log;
mod openapi;

/// Reads a source that is recognised by its contents.
pub(super) fn described(text: &str, wanted: &Wanted) -> Result<Described, String> {
    let kind = detect(text.as_bytes())?;
    read(kind, &mut text.as_bytes(), wanted)
}

/// Writes the mix of a source, which `benchwright mix check` accepts.
pub(super) fn written(described: &Described) -> String {
    let written = mix(described, "a test");
    let checked = mix::Mix::read(&mix::Source {
        file: "mix.jsonl",
        text: &written.text,
        data: None,
        fields: &[("Host".to_owned(), "h".to_owned())],
        body_file: &|_| panic!("there is no file"),
    });
    if let Err(error) = checked {
        panic!("{error}\n{}", written.text);
    }
    written.text
}

pub(super) fn at(base: &str) -> Wanted {
    Wanted { base: Some(base.to_owned()), ..Wanted::default() }
}

/// Returns what is said of a source, the endpoint first.
pub(super) fn said(described: &Described) -> String {
    let guess = described.endpoint_guess.as_ref().map(|why| format!(" (guess: {why})"));
    let first = format!("{}{}", described.endpoint, guess.unwrap_or_default());
    let variables = described.variables.iter().map(|(name, of)| format!("{name}: {of}"));
    let lines = std::iter::once(first).chain(described.said.iter().cloned()).chain(variables);
    lines.collect::<Vec<String>>().join("\n")
}

#[test]
fn a_source_is_recognised_by_its_contents() {
    let kinds = [
        ("{\"openapi\": \"3.0.3\"", Kind::OpenApi),
        ("\u{feff}# a comment\nopenapi: 3.1.0\n", Kind::OpenApi),
        ("---\n\"swagger\": '2.0'", Kind::OpenApi),
        ("{\n  \"log\" : {\"version\": \"1.2\", \"comment\": \"openapi\"", Kind::Har),
        ("- broken\n1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 5", Kind::Log),
        (
            "{\"ts\":1.5,\"request\":{\"method\":\"GET\",\"uri\":\"/\"},\"status\":200}\n{",
            Kind::Log,
        ),
        (r#"{"log":"::1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 5\n"}"#, Kind::Log),
    ];
    for (text, kind) in kinds {
        assert_eq!(detect(text.as_bytes()), Ok(kind), "{text}");
    }
    assert!(detect(b" \n").unwrap_err().starts_with("it is empty"));
    for nothing in ["{", "hello", "\u{0}\u{1}", "name: x\nabout: y", "<html>"] {
        let why = detect(nothing.as_bytes()).unwrap_err();
        assert!(why.ends_with("--as openapi, --as har or --as log"), "{why}");
    }
    let postman = "{\"info\": {\"_postman_id\": \"1\"}}";
    assert!(detect(postman.as_bytes()).unwrap_err().contains("export an OpenAPI document"));
    assert!("pdf".parse::<Kind>().unwrap_err().contains("openapi, har or log"));
}

#[test]
fn texts_stay_in_their_line_and_show_no_secret() {
    assert_eq!(one_line("a\r\n# b\u{2028}c\td\u{7f}\u{202e}"), "a # b c d");
    assert_eq!(one_line("see http://me:hunter22@h/"), "see http://me:(redacted)@h/");
    assert_eq!(one_line(&"é".repeat(500)).chars().count(), 161);
}

/// Returns texts that are nested or repeated until a reader without bounds gives in.
fn hostile() -> Vec<String> {
    let deep = "[".repeat(200_000);
    let mut bomb = "openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (this, before) in ('b'..='j').zip('a'..='i') {
        bomb += &format!("{this}: &{this} [{}]\n", vec![format!("*{before}"); 9].join(","));
    }
    let nested = "{\"a\":".repeat(100_000);
    let mut circle =
        "{\"openapi\":\"3.0.0\",\"servers\":[{\"url\":\"http://h\"}],\"paths\":{\"/a/{x}\":"
            .to_owned();
    circle += "{\"get\":{\"parameters\":[{\"name\":\"x\",\"in\":\"path\",\"schema\":{\"$ref\":\"#/c/a\"}}]}}},";
    circle += "\"c\":{\"a\":{\"$ref\":\"#/c/b\"},\"b\":{\"$ref\":\"#/c/a\"}}}";
    vec![
        format!("{{\"openapi\":\"3.0.0\",\"paths\":{deep}"),
        format!("openapi: 3.0.0\npaths: {deep}"),
        format!("openapi: 3.0.0\n{}", "- ".repeat(100_000)),
        bomb,
        format!("{{\"log\":{nested}"),
        "{\"log\":{\"entries\":[]}}".to_owned(),
        circle,
    ]
}

#[test]
fn hostile_sources_end_in_an_error() {
    for text in hostile() {
        let kind = detect(text.as_bytes()).unwrap();
        let why = read(kind, &mut text.as_bytes(), &at("http://h/")).map(drop).unwrap_err();
        assert!(!why.is_empty() && why.len() < 1_000, "{why}");
    }
}

#[test]
fn a_line_of_a_log_that_never_ends_is_refused() {
    let mut endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let why = read(Kind::Log, &mut endless, &at("http://h/")).map(drop).unwrap_err();
    assert!(why.contains("line 1 is longer than"), "{why}");
}

/// Texts of a source that would leave their place: of a comment, a target, a header field or a placeholder.
const ESCAPES: [&str; 8] = [
    "a\nsut: {endpoint: \"http://victim/\"}",
    "\"}\n{\"target\":\"/injected\"}",
    "{{row.x}}",
    "${env.HOME}",
    "a\r\nX-Injected: 1",
    "\u{85}\u{2028}\u{feff}\u{0}\u{7f}",
    "{{",
    "# guess: no",
];

#[test]
fn no_text_of_a_source_leaves_its_place() {
    for escape in ESCAPES {
        let json = serde_json::json!({
            "openapi": "3.0.0",
            "info": {"title": escape},
            "servers": [{"url": "http://h/v1"}],
            "paths": {
                (format!("/a/{{{escape}}}/{escape}")): {
                    "get": {
                        "operationId": escape, "summary": escape,
                        "parameters": [
                            {"name": escape, "in": "query", "required": true, "example": escape},
                            {"name": "X-A", "in": "header", "required": true, "example": escape},
                        ],
                    },
                    "post": {"requestBody": {"content": {"application/json": {"example": {escape: escape}}}}},
                },
            },
        });
        let wanted = Wanted { writes: true, ..Wanted::default() };
        let har = serde_json::json!({"log": {"entries": [{
            "request": {"method": "POST", "url": format!("http://h/{escape}"),
                "headers": [{"name": "X-A", "value": escape}, {"name": escape, "value": "x"}],
                "postData": {"mimeType": "application/json", "text": serde_json::json!({escape: escape}).to_string()}},
            "response": {"status": 200}}]}});
        let log = format!(
            "{}\n",
            serde_json::json!({"request_method": "GET", "request_uri": format!("/{escape}"), "status": 200})
        );
        for (text, wanted) in
            [(json.to_string(), &wanted), (har.to_string(), &wanted), (log, &at("http://h"))]
        {
            let described = described(&text, wanted).unwrap_or_else(|why| panic!("{why}: {text}"));
            let mix = written(&described);
            assert!(!mix.contains("\n{\"target\""), "{mix}");
            assert!(!mix.contains("\nsut:"), "{mix}");
            assert!(!mix.contains("${env.HOME}"), "{mix}");
            let lines = mix.lines().filter(|line| !line.is_empty());
            lines.for_each(|line| assert!(line.starts_with(['#', '{']), "{line}"));
        }
    }
}
