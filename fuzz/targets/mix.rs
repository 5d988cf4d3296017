//! Arbitrary mixes, each with its table of data after a NUL byte: a valid mix makes one valid HTTP
//! request at a time, and checks that can judge any response. Its sessions go on as long as they can.
#![no_main]

use std::io;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use load::driver::http1::{Response, HttpWorkload, Origin, Outgoing, Wanted};
use load::{Label, Session};
use mix::{Data, Journeys, Mix, Mixed, Pool, Source};
use wire::http1::{RequestDecoder, RequestEvent};

fuzz_target!(|text: &str| {
    let (text, table) = text.split_once('\0').unwrap_or((text, ""));
    let data = Data::read("data.csv", table).ok().map(Arc::new);
    let fields = [("Host".to_owned(), "fuzzed".to_owned())];
    let body_file = |_: &str| -> io::Result<Vec<u8>> { Ok(b"from a file".to_vec()) };
    let source = Source { file: "mix.jsonl", text, data, fields: &fields, body_file: &body_file };
    match Mix::read(&source) {
        Ok(mix) => make(&Arc::new(mix)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

fn make(mix: &Arc<Mix>) {
    let pool = Pool { seed: 1, target: 0, connections_before: 0, is_tls: false };
    let clock = || 1_700_000_000_000;
    let mut workload: Box<dyn HttpWorkload> = match mix.has_sessions() {
        true => Box::new(Journeys::new(mix, pool, clock)),
        false => Box::new(Mixed::new(mix, pool, clock)),
    };
    let session = if mix.has_sessions() { Session(0) } else { Session::NONE };
    for number in 0..8 {
        let (mut wire, mut expected) = (Vec::new(), Vec::new());
        let label = Label::NONE;
        let mut request = Outgoing { wire: &mut wire, expected: &mut expected, label };
        let origin = Origin { number, label, session, connection: 0 };
        workload.next(origin, &mut request).expect("a mix has no script that could fail");
        assert_eq!(requests(&wire), 1, "{}", wire.escape_ascii());
        let answer = Response {
            status: 200,
            head: b"HTTP/1.1 200 OK\r\nContent-Type: a\r\nSet-Cookie: b=c\r\n\r\n",
            body: br#"{"a":[1,{"b":null}]}"#,
            body_length: 20,
            connection: 0,
            tag: expected[0].tag,
        };
        if Wanted::Pieces <= workload.wanted(0, answer.tag) {
            answer.body.chunks(7).for_each(|piece| workload.took(0, answer.tag, piece));
        }
        let judged = workload.answered(&answer);
        let (outcome, _) = judged.expect("a mix has no script that could fail");
        workload.follow(session, outcome);
    }
}

/// Returns the number of complete requests in these bytes.
fn requests(mut bytes: &[u8]) -> usize {
    let mut decoder = RequestDecoder::default();
    let mut ended = 0;
    while let Some(event) = decoder.next(&mut bytes).expect("a mix writes valid requests") {
        ended += usize::from(matches!(event, RequestEvent::End(_)));
    }
    ended
}
