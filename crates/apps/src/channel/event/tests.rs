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
async fn shown(event: &Event) -> (Vec<String>, String) {
    let target = Target::new(&"http://127.0.0.1:81/in".parse().unwrap());
    let (head, body) = event.request(&target).into_parts();
    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/in"));
    let fields = head.headers.iter();
    let fields = fields.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
    (fields.collect(), String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_binary_event_passes_through_unchanged() {
    let event = Event::read(&headers(&BINARY), "hello".into()).unwrap();
    let (mut fields, body) = shown(&event).await;
    fields.sort();
    assert_eq!(
        fields,
        [
            "ce-comexampleextension1: value",
            "ce-id: A234-1234-1234",
            "ce-source: /mycontext",
            "ce-specversion: 1.0",
            "ce-type: com.example.someevent",
            "content-type: text/plain",
            "host: 127.0.0.1:81",
        ]
    );
    assert_eq!(body, "hello");
}

/// The example of the JSON format's section 3.2, with a value that must be encoded.
#[tokio::test]
async fn a_structured_event_becomes_a_binary_one() {
    let event = read_structured(
        r#"{"specversion" : "1.0", "type" : "com.example.someevent", "source" : "/mycontext",
            "subject": null, "id" : "C234-1234-1234", "time" : "2018-04-05T17:31:00Z",
            "comexampleextension1" : "a \"b\" 5% €", "comexampleothervalue" : 5, "flag": true,
            "data" : {"n": 1.0e5, "big": 123456789012345678901234567890}}"#,
    );
    let (fields, body) = shown(&event.unwrap()).await;
    assert_eq!(
        fields,
        [
            "host: 127.0.0.1:81",
            "ce-specversion: 1.0",
            "ce-type: com.example.someevent",
            "ce-source: /mycontext",
            "ce-id: C234-1234-1234",
            "ce-time: 2018-04-05T17:31:00Z",
            "ce-comexampleextension1: a%20%22b%22%205%25%20%E2%82%AC",
            "ce-comexampleothervalue: 5",
            "ce-flag: true",
            "content-type: application/json",
        ]
    );
    assert_eq!(body, r#"{"n": 1.0e5, "big": 123456789012345678901234567890}"#);
}

#[tokio::test]
async fn data_is_json_text_or_base64() {
    let with = |rest: &str| {
        read_structured(&format!(
            r#"{{"specversion": "1.0", "type": "t", "source": "s", "id": "1", {rest}}}"#
        ))
    };
    let body = async |rest: &str| shown(&with(rest).unwrap()).await.1;
    assert_eq!(body(r#""data": "x""#).await, "\"x\"");
    assert_eq!(body(r#""datacontenttype": "text/plain", "data": "x\n""#).await, "x\n");
    assert_eq!(body(r#""datacontenttype": "application/x+json", "data": [1]"#).await, "[1]");
    assert_eq!(body(r#""data_base64": "aGVsbG8=""#).await, "hello");
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
