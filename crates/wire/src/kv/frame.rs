//! A frame that was checked as a whole.

use super::fixed::{ReplyFixed, RequestFixed};
use super::greeting::{Hello, Owners, Welcome};
use super::notice::{self, Durable, Error, Verb};
use super::sized::{Answers, Completions, Items};
use super::{Checksums, Code, HEADER_BYTES, Header, Kind, Malformed};

/// A frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame<'a> {
    pub header: Header,
    pub body: Body<'a>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Body<'a> {
    Hello(Hello),
    Welcome(Welcome<'a>),
    /// The HMAC-SHA256 of the nonce, with the token as the key.
    Prove(&'a [u8; 32]),
    Operate(Verb),
    /// A JSON document.
    Report(&'a str),
    RequestFixed(RequestFixed<'a>),
    Request(Items<'a>),
    ReplyFixed(ReplyFixed<'a>),
    Reply(Answers<'a>),
    Completions(Completions<'a>),
    /// Nothing of the batch was executed: the view was another one. The map is the current one.
    WrongView(Owners<'a>),
    Durable(Durable<'a>),
    Error(Error<'a>),
}

impl<'a> Frame<'a> {
    /// Reads and checks a frame, whose header was read.
    pub(super) fn read(
        header: Header,
        frame: &'a [u8],
        checksums: Checksums,
    ) -> Result<Frame<'a>, Malformed> {
        header.check(frame, checksums)?;
        let body = &frame[HEADER_BYTES..];
        let body = match header.kind {
            Kind::Hello => Body::Hello(Hello::read(header, body)?),
            Kind::Welcome => Body::Welcome(Welcome::read(header, body)?),
            Kind::Prove => Body::Prove(proof(header, body)?),
            Kind::Operate => Body::Operate(Verb::read(header, body)?),
            Kind::Report => Body::Report(notice::read_report(header, body)?),
            Kind::RequestFixed => Body::RequestFixed(RequestFixed::read(header, body)?),
            Kind::Request => Body::Request(Items::read(header, body)?),
            Kind::ReplyFixed => Body::ReplyFixed(ReplyFixed::read(header, body)?),
            Kind::Reply => Body::Reply(Answers::read(header, body)?),
            Kind::Completions => Body::Completions(Completions::read(header, body)?),
            Kind::WrongView => Body::WrongView(notice::read_wrong_view(header, body)?),
            Kind::Durable => Body::Durable(Durable::read(header, body)?),
            Kind::Error => Body::Error(Error::read(header, body)?),
        };
        Ok(Frame { header, body })
    }
}

fn proof(header: Header, body: &[u8]) -> Result<&[u8; 32], Malformed> {
    header.expect_count(0)?;
    body.try_into().map_err(|_| Malformed::at(Code::Length, 4))
}
