//! One connection of a receiver: bytes in, notes and answers out, the same for any slicing.

use ::measure::Instant;
use wire::http1::{After, RequestDecoder, RequestEvent, encode_response};

use super::{CLOCK_PATH, How, Notes, Refusal};

/// The longest document of a structured event, in bytes.
const MOST_DOCUMENT: usize = 1 << 20;

/// The most bytes of all documents that are arriving.
const MOST_DOCUMENTS: usize = 64 << 20;

/// The largest buffer that a connection keeps for its next event.
const MOST_KEPT: usize = 4096;

/// The answers and the room that all connections of a receiver share.
pub struct Desk {
    refusal: Option<Refusal>,
    /// The name of the clock as JSON.
    clock: String,
    accepted: Vec<u8>,
    wrong: Vec<u8>,
    busy: Vec<u8>,
    refused: Vec<u8>,
    /// The bytes that documents may still take.
    room: usize,
}

impl Desk {
    pub fn new(clock: Option<&str>, refusal: Option<Refusal>) -> Desk {
        let answer = |status: u16| {
            let mut answer = Vec::new();
            encode_response(status, &[], &[], &mut answer);
            answer
        };
        let refused = match refusal {
            Some(Refusal { how: How::Status(status), .. }) => answer(status),
            _ => Vec::new(),
        };
        // A boot id has neither quotes nor backslashes.
        let clock = clock.map_or("null".to_owned(), |clock| format!("\"{clock}\""));
        let (accepted, wrong, busy) = (answer(202), answer(400), answer(503));
        Desk { refusal, clock, accepted, wrong, busy, refused, room: MOST_DOCUMENTS }
    }
}

/// The future of a connection after some bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    Open,
    /// It is to be closed, as the peer or a refusal wants.
    Closed,
    /// It is to be closed, since its bytes are not HTTP.
    Malformed,
}

#[derive(Default)]
pub struct Connection {
    decoder: RequestDecoder,
    arriving: Arriving,
    /// True once an event is never answered: later answers cannot overtake this one.
    hangs: bool,
}

/// The parts of a request that matter.
#[derive(Default)]
struct Arriving {
    id: Vec<u8>,
    source: Vec<u8>,
    is_structured: bool,
    /// An attribute occurs twice.
    is_double: bool,
    is_clock: bool,
    document: Vec<u8>,
    /// A document is longer than one may be, or than there is room for.
    is_too_long: bool,
    finds_no_room: bool,
}

/// The answer to a request.
enum Response {
    Accepted,
    Wrong,
    Busy,
    Clock,
    Refused(How),
}

impl Connection {
    /// Notes each event that is completed by these bytes, which were read at `now`, and appends the
    /// answers.
    pub fn take(
        &mut self,
        bytes: &[u8],
        now: Instant,
        notes: &mut impl Notes,
        desk: &mut Desk,
        answers: &mut Vec<u8>,
    ) -> Next {
        let mut bytes = bytes;
        let Connection { decoder, arriving, hangs } = self;
        loop {
            let event = decoder.next_with(&mut bytes, |name, value| arriving.field(name, value));
            let after = match event {
                Ok(None) => return Next::Open,
                Err(_) => return Next::Malformed,
                Ok(Some(RequestEvent::Head(head))) => {
                    arriving.is_clock = head.method == "GET" && head.target == CLOCK_PATH;
                    continue;
                }
                Ok(Some(RequestEvent::Body(piece))) => {
                    arriving.body(piece, &mut desk.room);
                    continue;
                }
                Ok(Some(RequestEvent::End(after))) => after,
            };
            let answer = arriving.end(now, notes, desk);
            if *hangs {
                continue;
            }
            match answer {
                Response::Accepted => answers.extend_from_slice(&desk.accepted),
                Response::Wrong => answers.extend_from_slice(&desk.wrong),
                Response::Busy => answers.extend_from_slice(&desk.busy),
                Response::Clock => {
                    let body = format!("{{\"clock\":{},\"now_ns\":{}}}\n", desk.clock, now.0);
                    let json = [("Content-Type", "application/json")];
                    encode_response(200, &json, body.as_bytes(), answers);
                }
                Response::Refused(How::Status(_)) => answers.extend_from_slice(&desk.refused),
                Response::Refused(How::Hang) => *hangs = true,
                Response::Refused(How::Close) => return Next::Closed,
            }
            if after == After::Close && !*hangs {
                return Next::Closed;
            }
        }
    }

    /// Gives back the memory of a connection that has ended.
    pub fn end(self, desk: &mut Desk) {
        desk.room += self.arriving.document.len();
    }
}

impl Arriving {
    fn field(&mut self, name: &str, value: &[u8]) {
        // Comparing lengths first excludes most fields cheaply.
        let attribute = match name.len() {
            5 if name.eq_ignore_ascii_case("ce-id") => &mut self.id,
            9 if name.eq_ignore_ascii_case("ce-source") => &mut self.source,
            12 if name.eq_ignore_ascii_case("content-type") => {
                let structured = b"application/cloudevents+json";
                let begin = value.get(..structured.len());
                self.is_structured =
                    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(structured));
                return;
            }
            _ => return,
        };
        self.is_double |= !attribute.is_empty();
        attribute.clear();
        attribute.extend_from_slice(value);
    }

    fn body(&mut self, piece: &[u8], room: &mut usize) {
        if !self.is_structured || self.is_too_long || self.finds_no_room {
            return;
        }
        self.is_too_long = MOST_DOCUMENT < self.document.len() + piece.len();
        self.finds_no_room = *room < piece.len();
        if !self.is_too_long && !self.finds_no_room {
            *room -= piece.len();
            self.document.extend_from_slice(piece);
        }
    }

    /// Notes the event of a complete request.
    fn end(&mut self, now: Instant, notes: &mut impl Notes, desk: &mut Desk) -> Response {
        let answer = self.judge(now, notes, desk.refusal);
        if matches!(answer, Response::Wrong | Response::Busy) {
            notes.wrong();
        }
        desk.room += self.document.len();
        for buffer in [&mut self.id, &mut self.source, &mut self.document] {
            buffer.clear();
            buffer.shrink_to(MOST_KEPT);
        }
        self.is_structured = false;
        self.is_double = false;
        self.is_clock = false;
        self.is_too_long = false;
        self.finds_no_room = false;
        answer
    }

    fn judge(&self, now: Instant, notes: &mut impl Notes, refusal: Option<Refusal>) -> Response {
        let before = match self.is_structured {
            _ if self.is_clock => return Response::Clock,
            _ if self.finds_no_room => return Response::Busy,
            _ if self.is_too_long || self.is_double => None,
            true => notes.note_structured(&self.document, now),
            false if self.id.is_empty() || self.source.is_empty() => None,
            false => Some(notes.note(&self.source, &self.id, now)),
        };
        match (before, refusal) {
            (None, _) => Response::Wrong,
            (Some(before), Some(Refusal { how, times })) if before < times => {
                Response::Refused(how)
            }
            (Some(_), _) => Response::Accepted,
        }
    }
}
