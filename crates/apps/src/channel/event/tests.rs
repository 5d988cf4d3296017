use hyper::header::HeaderName;

use super::*;

fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers
            .append(HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
    }
    headers
}

const BINARY: [(&str, &str); 6] = [
    ("Content-Type", "text/plain"),
    ("Ce-Specversion", "1.0"),
    ("Ce-Id", "A234-1234-1234"),
    ("Ce-Source", "/mycontext"),
    ("Ce-Type", "com.example.someevent"),
    ("Ce-Comexampleextension1", "value"),
];

fn read_structured(document: &str) -> Result<Event, Refused> {
    let headers = headers(&[("content-type", "application/cloudevents+json; charset=UTF-8")]);
    Event::read(&headers, document.to_owned().into())
}

/// Returns the fields and the body of the request that delivers it.
fn shown(event: &Event) -> (Vec<String>, String) {
    let mut request = Vec::new();
    event.write_request(b"POST /in HTTP/1.1\r\nHost: x\r\n", &mut request);
    let request = String::from_utf8(request).unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let fields = head.strip_prefix("POST /in HTTP/1.1\r\nHost: x\r\n").unwrap();
    let (fields, length) = fields.split_once("\r\nContent-Length: ").unwrap();
    assert_eq!(length, body.len().to_string());
    (fields.split("\r\n").map(str::to_owned).collect(), body.to_owned())
}

#[test]
fn a_binary_event_passes_through_unchanged() {
    let event = Event::read(&headers(&BINARY), "hello".into()).unwrap();
    let (mut fields, body) = shown(&event);
    fields.sort();
    assert_eq!(
        fields,
        [
            "Ce-Comexampleextension1: value",
            "Ce-Id: A234-1234-1234",
            "Ce-Source: /mycontext",
            "Ce-Specversion: 1.0",
            "Ce-Type: com.example.someevent",
            "Content-Type: text/plain",
        ]
    );
    assert_eq!(body, "hello");
}

#[test]
fn attributes_get_other_values() {
    let event = Event::read(&headers(&BINARY), "hello".into()).unwrap();
    let name = "Ce-Comexampleextension1";
    let other = event.with([(name, "a b".into()), ("Ce-New", "1".into()), ("Ce-Id", "2".into())]);
    let (mut fields, _) = shown(&other);
    fields.sort();
    assert_eq!(fields[..3], ["Ce-Comexampleextension1: a%20b", "Ce-Id: 2", "Ce-New: 1"]);
    assert_eq!(fields.len(), 7);
}

/// The example of the JSON format's section 3.2, with a value that must be encoded.
#[test]
fn a_structured_event_becomes_a_binary_one() {
    let event = read_structured(
        r#"{"specversion" : "1.0", "type" : "com.example.someevent", "source" : "/mycontext",
            "subject": null, "id" : "C234-1234-1234", "time" : "2018-04-05T17:31:00Z",
            "comexampleextension1" : "a \"b\" 5% €", "comexampleothervalue" : 5, "flag": true,
            "data" : {"n": 1.0e5, "big": 123456789012345678901234567890}}"#,
    );
    let (fields, body) = shown(&event.unwrap());
    assert_eq!(
        fields,
        [
            "Ce-Specversion: 1.0",
            "Ce-Type: com.example.someevent",
            "Ce-Source: /mycontext",
            "Ce-Id: C234-1234-1234",
            "Ce-Time: 2018-04-05T17:31:00Z",
            "Ce-Comexampleextension1: a%20%22b%22%205%25%20%E2%82%AC",
            "Ce-Comexampleothervalue: 5",
            "Ce-Flag: true",
            "Content-Type: application/json",
        ]
    );
    assert_eq!(body, r#"{"n": 1.0e5, "big": 123456789012345678901234567890}"#);
}

#[test]
fn data_is_json_text_or_base64() {
    let with = |rest: &str| {
        read_structured(&format!(
            r#"{{"specversion": "1.0", "type": "t", "source": "s", "id": "1", {rest}}}"#
        ))
    };
    let body = |rest: &str| shown(&with(rest).unwrap()).1;
    assert_eq!(body(r#""data": "x""#), "\"x\"");
    assert_eq!(body(r#""datacontenttype": "text/plain", "data": "x\n""#), "x\n");
    assert_eq!(body(r#""datacontenttype": "application/x+json", "data": [1]"#), "[1]");
    assert_eq!(body(r#""data_base64": "aGVsbG8=""#), "hello");
    let why = |rest: &str| with(rest).unwrap_err().why;
    assert_eq!(why(r#""data_base64": "!""#), "data_base64 is not base64");
    assert_eq!(
        why(r#""data": 1, "data_base64": "aGVsbG8=""#),
        "data and data_base64 exclude each other"
    );
    assert_eq!(
        why(r#""datacontenttype": "text/plain", "data": 1"#),
        "data that is not JSON must be a string"
    );
    // A subscriber would read the data as another event.
    for format in ["application/cloudevents+json", " Application/CloudEvents-batch+JSON; a=b"] {
        assert_eq!(
            why(&format!(r#""datacontenttype": "{format}", "data": {{"id": "2"}}"#)),
            "datacontenttype says that the data is an event, not its data"
        );
    }
}

#[test]
fn a_message_that_is_not_an_event_is_refused() {
    let why = |headers: HeaderMap| Event::read(&headers, Bytes::new()).unwrap_err();
    for name in ["Ce-Specversion", "Ce-Id", "Ce-Source", "Ce-Type"] {
        let mut without = headers(&BINARY);
        without.remove(name);
        let missing = name.to_lowercase();
        assert_eq!(
            why(without.clone()).why,
            format!("{missing} is missing: a CloudEvent needs it")
        );
        without.insert(HeaderName::try_from(name).unwrap(), HeaderValue::from_static(""));
        assert_eq!(why(without).status, 400);
    }
    let with = |name: &str, value: &[u8]| {
        let mut more = headers(&BINARY);
        more.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_bytes(value).unwrap());
        why(more).why
    };
    assert_eq!(with("ce-id", b"again"), "ce-id occurs twice");
    assert_eq!(with("ce-x-y", b"1"), "an attribute's name has 1 to 64 letters a-z and digits");
    assert_eq!(with("ce-x", b"\xff"), "ce-x has other than ASCII: percent-encode it");
    assert!(with("ce-datacontenttype", b"a/b").contains("Content-Type"));
    let mut many = headers(&BINARY);
    for n in 0..60 {
        many.insert(
            HeaderName::try_from(format!("ce-x{n}")).unwrap(),
            HeaderValue::from_static(""),
        );
    }
    assert_eq!(why(many).why, "there are too many attributes: at most 64, and 60 KiB");
    let batch = headers(&[("content-type", "application/cloudevents-batch+json")]);
    assert_eq!(why(batch).status, 415);
    let mut newer = headers(&BINARY);
    newer.insert("ce-specversion", HeaderValue::from_static("2.0"));
    assert_eq!(why(newer).why, "this version of CloudEvents is unknown; send 1.0");
}

#[test]
fn hostile_documents_are_refused() {
    let deep = format!(r#"{{"specversion": "1.0", "data": {}"#, "[".repeat(100_000));
    let long = format!(
        r#"{{"specversion": "1.0", "type": "t", "source": "s", "id": "{}"}}"#,
        "€".repeat(50_000)
    );
    let many: String = (0..1000).map(|n| format!(r#""a{n}": 1, "#)).collect();
    for document in [
        "",
        "[]",
        "{",
        "null",
        "\u{0}",
        &deep,
        &long,
        &format!("{{{many} \"id\": 1}}"),
        r#"{"specversion": "1.0", "type": "t", "source": "s", "id": "1"} more"#,
        r#"{"specversion": "1.0", "type": "t", "source": "s", "id": "1", "id": "2"}"#,
        r#"{"specversion": "1.0", "type": "t", "source": "s", "id": {"a": 1}}"#,
        r#"{"specversion": "1.0", "type": "t", "source": "s", "id": 1.5}"#,
        r#"{"specversion": 1.0, "type": "t", "source": "s", "id": "1"}"#,
        r#"{"specversion": "1.0", "type": "t", "source": "s", "id": "1", "Big": "1"}"#,
        r#"{"specversion": "1.0", "type": "t", "source": "s", "id": "1", "datacontenttype": "a\n"}"#,
        &format!(
            r#"{{"specversion": "1.0", "type": "t", "source": "s", "id": "1",
                     "datacontenttype": "{}"}}"#,
            "x".repeat(70_000)
        ),
    ] {
        let refused = read_structured(document).unwrap_err();
        assert_eq!(refused.status, 400, "{}: {document:.80}", refused.why);
    }
}

#[test]
fn the_log_returns_what_it_was_given() {
    let event = Event::read(&headers(&BINARY), "hello".into()).unwrap();
    let mut bytes = Vec::new();
    event.encode(&mut bytes);
    assert_eq!(Event::decode(Bytes::from(bytes.clone())).unwrap(), event);
    // Any beginning is another event or none, and never a panic.
    for length in 0..bytes.len() {
        assert_ne!(Event::decode(Bytes::copy_from_slice(&bytes[..length])).as_ref(), Some(&event));
    }
}
