//! HTTP/1.1: one request at a time on a connection.

use net::Closed;
use wire::http1::{After, Ended, Expect, ResponseDecoder, ResponseEvent};

use super::{Done, Driver, Fault, Next, Outcome, Seat, Token};

#[cfg(test)]
mod tests;

/// Which request next?
pub trait HttpWorkload {
    /// Appends one complete request to `wire`, and says whether its answer may have a body.
    fn next(&mut self, wire: &mut Vec<u8>) -> Result<Expect, Fault>;
}

impl<W: HttpWorkload + ?Sized> HttpWorkload for Box<W> {
    fn next(&mut self, wire: &mut Vec<u8>) -> Result<Expect, Fault> {
        (**self).next(wire)
    }
}

/// The same request again and again, prepared once.
#[derive(Clone, Debug)]
pub struct Static {
    request: Vec<u8>,
    expect: Expect,
}

impl Static {
    pub fn new(method: &str, target: &str, fields: &[(&str, &str)], body: &[u8]) -> Static {
        let mut request = Vec::new();
        wire::http1::encode_request(method, target, fields, body, &mut request);
        let expect = if method == "HEAD" { Expect::NoBody } else { Expect::Body };
        Static { request, expect }
    }
}

impl HttpWorkload for Static {
    fn next(&mut self, wire: &mut Vec<u8>) -> Result<Expect, Fault> {
        wire.extend_from_slice(&self.request);
        Ok(self.expect)
    }
}

#[derive(Debug)]
pub struct Http1<W> {
    workload: W,
    seats: Vec<State>,
}

#[derive(Debug, Default)]
struct State {
    decoder: ResponseDecoder,
    outstanding: Option<Outstanding>,
}

#[derive(Debug)]
struct Outstanding {
    token: Token,
    expect: Expect,
    /// 0 until the head of the answer has arrived.
    status: u16,
}

impl<W> Http1<W> {
    pub fn new(seats: usize, workload: W) -> Http1<W> {
        Http1 { workload, seats: (0..seats).map(|_| State::default()).collect() }
    }

    fn state(&mut self, seat: Seat) -> &mut State {
        &mut self.seats[seat.0 as usize]
    }
}

impl<W: HttpWorkload> Driver for Http1<W> {
    fn room(&self, seat: Seat) -> usize {
        usize::from(self.seats[seat.0 as usize].outstanding.is_none())
    }

    fn start(&mut self, seat: Seat, token: Token, wire: &mut Vec<u8>) -> Result<(), Fault> {
        let expect = self.workload.next(wire)?;
        let state = self.state(seat);
        assert!(state.outstanding.is_none(), "a seat without room was given a request");
        state.outstanding = Some(Outstanding { token, expect, status: 0 });
        Ok(())
    }

    fn receive(&mut self, seat: Seat, bytes: &[u8], completed: &mut Vec<Done>) -> Next {
        let State { decoder, outstanding } = self.state(seat);
        let mut bytes = bytes;
        loop {
            let Some(request) = outstanding else {
                // Bytes that nobody asked for: what follows them cannot be matched to a request.
                return if bytes.is_empty() { Next::Continue } else { Next::Close };
            };
            match decoder.next(&mut bytes, request.expect) {
                Ok(None) => return Next::Continue,
                Ok(Some(ResponseEvent::Head(head))) => request.status = head.status,
                Ok(Some(ResponseEvent::Body(_))) => {}
                Ok(Some(ResponseEvent::End(after))) => {
                    completed.push(request.answered());
                    *outstanding = None;
                    if after == After::Close {
                        return Next::Close;
                    }
                }
                Err(_) => {
                    completed.push(request.failed(Outcome::Malformed));
                    *outstanding = None;
                    return Next::Close;
                }
            }
        }
    }

    fn closed(&mut self, seat: Seat, how: Closed, completed: &mut Vec<Done>) {
        let State { decoder, outstanding } = std::mem::take(self.state(seat));
        let mut decoder = decoder;
        if let Some(request) = outstanding {
            let complete = how == Closed::ByPeer && decoder.close() == Ended::Complete;
            completed.push(if complete {
                request.answered()
            } else {
                request.failed(Outcome::Reset)
            });
        }
    }
}

impl Outstanding {
    fn answered(&self) -> Done {
        let outcome = if self.status < 400 { Outcome::Ok } else { Outcome::Status };
        Done { token: self.token, outcome, status: self.status }
    }

    fn failed(&self, outcome: Outcome) -> Done {
        Done { token: self.token, outcome, status: self.status }
    }
}
