//! The client of an operator: one question, one answer. It blocks, and is on no data path.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use measure::{Instant, Nanos};
use net::clock;
use wire::kv::{
    Body, Checksums, Code, Decoder, Greeted, Hello, Malformed, Token, Verb, encode_hello,
    encode_operate,
};

/// The longest time until the whole answer is there.
const LONGEST: Nanos = Nanos::from_secs(10);

/// Returns the schema of the document that answers a verb.
pub fn schema(verb: Verb) -> &'static str {
    match verb {
        Verb::Stats => "benchwright.kv-stats/1",
        Verb::Checkpoint => "benchwright.kv-checkpoint/1",
        Verb::Compact => "benchwright.kv-compact/1",
        Verb::Grow => "benchwright.kv-grow/1",
    }
}

/// The reason why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    Connection(io::Error),
    /// The server wants a proof, and there is no token.
    WantsToken,
    /// The server has refused.
    Refused(Code, String),
    NotAServer(Malformed),
    Unexpected,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Of a read that has waited for the longest time.
            Unanswered::Connection(error) if error.kind() == io::ErrorKind::WouldBlock => {
                write!(f, "no key-value store answers there within {LONGEST}")
            }
            Unanswered::Connection(error) => write!(f, "{error}"),
            Unanswered::WantsToken => {
                f.write_str("the server wants a token; give it with --token-file")
            }
            Unanswered::Refused(_, text) => write!(f, "the server refuses: {text}"),
            Unanswered::NotAServer(why) => {
                write!(f, "what answers is not a key-value store of this version: {why}")
            }
            Unanswered::Unexpected => {
                f.write_str("the server has sent a frame that belongs to no request")
            }
        }
    }
}

impl std::error::Error for Unanswered {}

/// Asks a server, and returns the JSON document that it answers.
pub fn ask(at: SocketAddr, verb: Verb, token: Option<&Token>) -> Result<String, Unanswered> {
    answer(at, verb, token, clock::now() + LONGEST)
}

fn answer(
    at: SocketAddr,
    verb: Verb,
    token: Option<&Token>,
    until: Instant,
) -> Result<String, Unanswered> {
    let left = || match until.saturating_since(clock::now()) {
        Nanos::ZERO => Err(Unanswered::Connection(io::ErrorKind::WouldBlock.into())),
        left => Ok(Duration::from_nanos(left.0)),
    };
    let mut connection =
        TcpStream::connect_timeout(&at, left()?).map_err(Unanswered::Connection)?;
    connection.set_write_timeout(Some(left()?)).map_err(Unanswered::Connection)?;
    let mut out = Vec::new();
    let hello = Hello::new(1);
    encode_hello(&hello, &mut out);
    let (mut decoder, mut buffer) = (Decoder::default(), vec![0; 64 * 1024]);
    loop {
        connection.write_all(&out).map_err(Unanswered::Connection)?;
        out.clear();
        connection.set_read_timeout(Some(left()?)).map_err(Unanswered::Connection)?;
        let count = connection.read(&mut buffer).map_err(Unanswered::Connection)?;
        if count == 0 {
            return Err(Unanswered::Connection(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut bytes = &buffer[..count];
        while let Some(frame) = decoder.next(&mut bytes).map_err(Unanswered::NotAServer)? {
            match frame.body {
                Body::Welcome(welcome) => match welcome.answer(token, &mut out) {
                    Greeted::Ready => encode_operate(verb, Checksums::On, &mut out),
                    Greeted::Proving => {}
                    Greeted::WantsToken => return Err(Unanswered::WantsToken),
                },
                Body::Report(text) => return Ok(text.to_owned()),
                Body::Error(error) => {
                    return Err(Unanswered::Refused(error.code, error.text.to_owned()));
                }
                _ => return Err(Unanswered::Unexpected),
            }
        }
    }
}
