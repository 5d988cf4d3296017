//! Arbitrary bytes on a connection of the receiver: no panic, and the same notes and answers however
//! they are sliced. The first byte selects the length of the slices, the second a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::receiver::{Connection, Desk, How, Next, Notes, Refusal};
use measure::Instant;

fuzz_target!(|data: &[u8]| {
    let [size, refusal, bytes @ ..] = data else { return };
    let refusal = match refusal % 4 {
        0 => None,
        1 => Some(Refusal { how: How::Status(503), times: 1 }),
        2 => Some(Refusal { how: How::Close, times: 1 }),
        _ => Some(Refusal { how: How::Hang, times: 1 }),
    };
    let whole = take(bytes, usize::MAX, refusal);
    let sliced = take(bytes, 1 + usize::from(*size), refusal);
    assert_eq!(whole, sliced);
});

#[derive(Default, Debug, PartialEq)]
struct Seen {
    events: Vec<(Vec<u8>, Vec<u8>)>,
    documents: Vec<Vec<u8>>,
    wrong: u64,
}

impl Notes for Seen {
    fn note(&mut self, source: &[u8], id: &[u8], _at: Instant) -> u64 {
        assert!(!source.is_empty() && !id.is_empty());
        let event = (source.to_vec(), id.to_vec());
        let before = self.events.iter().filter(|other| **other == event).count();
        self.events.push(event);
        before as u64
    }

    fn note_structured(&mut self, document: &[u8], _at: Instant) -> Option<u64> {
        self.documents.push(document.to_vec());
        document.starts_with(b"{").then_some(0)
    }

    fn wrong(&mut self) {
        self.wrong += 1;
    }
}

fn take(bytes: &[u8], size: usize, refusal: Option<Refusal>) -> (Seen, Vec<u8>, Next) {
    let mut desk = Desk::new(Some("a-b"), refusal);
    let (mut connection, mut seen, mut answers) =
        (Connection::default(), Seen::default(), Vec::new());
    let mut next = Next::Open;
    for piece in bytes.chunks(size) {
        next = connection.take(piece, Instant(7), &mut seen, &mut desk, &mut answers);
        if next != Next::Open {
            break;
        }
    }
    connection.end(&mut desk);
    (seen, answers, next)
}
