use expect_test::expect;

use super::*;
use crate::{Label, Session};

fn sent(mode: Mode, size: usize, number: u64) -> String {
    let mut events = Events::new(&Template {
        mode,
        source: "/benchwright/7",
        kind: "measured",
        size,
        target: "/in",
        fields: &[("Host", "x")],
    });
    let (mut wire, mut expected) = (Vec::new(), Vec::new());
    let origin = Origin { number, label: Label::NONE, session: Session::NONE, connection: 0 };
    let mut request = Outgoing { wire: &mut wire, expected: &mut expected, label: Label::NONE };
    events.next(origin, &mut request).unwrap();
    assert_eq!(expected.len(), 1);
    String::from_utf8(wire).unwrap().replace('\r', "")
}

#[test]
fn a_binary_event_has_its_number_as_id() {
    expect![[r#"
        POST /in HTTP/1.1
        Host: x
        Ce-Specversion: 1.0
        Ce-Type: measured
        Ce-Source: /benchwright/7
        Ce-Id: 18446744073709551615
        Content-Type: application/json
        Content-Length: 10

        "xxxxxxxx""#]]
    .assert_eq(&sent(Mode::Binary, 10, u64::MAX));
}

#[test]
fn a_structured_event_has_a_length_that_counts_its_id() {
    expect![[r#"
        POST /in HTTP/1.1
        Host: x
        Content-Type: application/cloudevents+json
        Content-Length: 88

        {"specversion":"1.0","type":"measured","source":"/benchwright/7","id":"0","data":"xxxx"}"#]]
    .assert_eq(&sent(Mode::Structured, 6, 0));
    for number in [9, 10, 123_456] {
        let text = sent(Mode::Structured, 100, number);
        let (head, body) = text.split_once("\n\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{text}");
        assert!(body.contains(&format!("\"id\":\"{number}\"")), "{text}");
    }
}
