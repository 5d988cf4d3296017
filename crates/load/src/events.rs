//! Events: each request carries a CloudEvent 1.0, whose id is the number of the request.

use wire::http1::{Expect, asks_to_close, encode_request};

use crate::driver::Fault;
use crate::driver::http1::{Expected, HttpWorkload, Origin, Outgoing};

#[cfg(test)]
mod tests;

/// The form of an event in HTTP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Attributes are header fields, and the body is the data.
    Binary,
    /// The body is a JSON document with attributes and data.
    Structured,
}

/// The events of one target.
#[derive(Clone, Debug)]
pub struct Template<'a> {
    pub mode: Mode,
    /// The attribute `source`: it is written as it is, so it has neither quotes nor spaces.
    pub source: &'a str,
    /// The attribute `type`, under the same condition.
    pub kind: &'a str,
    /// The bytes of the data, a JSON string with its quotes; at least 2.
    pub size: usize,
    pub target: &'a str,
    /// Further fields of each request, such as `Host`.
    pub fields: &'a [(&'a str, &'a str)],
}

/// A workload of events, which differ only in their ids. Sending one allocates nothing.
#[derive(Clone, Debug)]
pub struct Events {
    /// The pieces of a request between its numbers.
    pieces: Vec<Vec<u8>>,
    numbers: &'static [Number],
    /// The bytes of a body without its id.
    body: usize,
    expected: Expected,
}

/// A number in a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Number {
    Id,
    /// The length of the body, which contains the id.
    Length,
}

/// The mark that stands for a number while a request is cut into pieces; it occurs in no field.
const CUT: &str = "\u{1}";

impl Events {
    pub fn new(template: &Template<'_>) -> Events {
        let Template { mode, source, kind, size, target, fields } = *template;
        let expected = Expected { body: Expect::Body, tag: 0, closes: asks_to_close(fields) };
        let mut fields = fields.to_vec();
        let data = format!("\"{}\"", "x".repeat(size.saturating_sub(2)));
        let (body, numbers): (String, &[Number]) = match mode {
            Mode::Binary => {
                fields.extend([
                    ("Ce-Specversion", "1.0"),
                    ("Ce-Type", kind),
                    ("Ce-Source", source),
                    ("Ce-Id", CUT),
                    ("Content-Type", "application/json"),
                ]);
                (data, &[Number::Id])
            }
            Mode::Structured => {
                fields.push(("Content-Type", "application/cloudevents+json"));
                fields.push(("Content-Length", CUT));
                let attributes =
                    format!(r#""specversion":"1.0","type":"{kind}","source":"{source}""#);
                let body = format!(r#"{{{attributes},"id":"{CUT}","data":{data}}}"#);
                (body, &[Number::Length, Number::Id])
            }
        };
        let mut request = Vec::new();
        encode_request("POST", target, &fields, body.as_bytes(), &mut request);
        let pieces = request.split(|byte| [*byte] == *CUT.as_bytes()).map(<[u8]>::to_vec);
        let pieces: Vec<_> = pieces.collect();
        assert_eq!(pieces.len(), numbers.len() + 1, "no field has a control character");
        Events { pieces, numbers, body: body.len() - CUT.len(), expected }
    }
}

impl HttpWorkload for Events {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        let mut id = Digits::default();
        let id = id.of(of.number);
        let mut length = Digits::default();
        for (piece, number) in self.pieces.iter().zip(self.numbers) {
            request.wire.extend_from_slice(piece);
            request.wire.extend_from_slice(match number {
                Number::Id => id,
                Number::Length => length.of((self.body + id.len()) as u64),
            });
        }
        request.wire.extend_from_slice(self.pieces.last().expect("there is one more piece"));
        request.expected.push(self.expected);
        Ok(())
    }
}

/// A number in decimal digits.
#[derive(Default)]
struct Digits([u8; 20]);

impl Digits {
    fn of(&mut self, mut number: u64) -> &[u8] {
        let mut begin = self.0.len();
        loop {
            begin -= 1;
            self.0[begin] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return &self.0[begin..];
            }
        }
    }
}
