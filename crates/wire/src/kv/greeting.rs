//! The frames with which a connection begins: HELLO, WELCOME, PROVE.

use super::bytes::{put_numbers, u16_at, u32_at, u64_at};
use super::notice::Serials;
use super::{
    Checksums, Code, HEADER_BYTES, Header, Kind, MOST_EXCEPTED, MOST_PIPELINE, Malformed, Opening,
    SLICES, Token, VERSION,
};

const HELLO_BYTES: usize = 24;
const WELCOME_BYTES: usize = 64;
const RANGE_BYTES: usize = 8;
/// The number that asks for any shard.
const ANY_SHARD: u32 = u32::MAX;
const WITHOUT_CHECKSUMS: u8 = 1;
const PROOF_WANTED: u8 = 2;
/// The last serial with which a session can go on: one that has executed more would run out of serials.
const MOST_EXECUTED: u64 = 1 << 63;

/// The client's first frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hello {
    /// The lowest and the highest version that the client speaks.
    pub versions: (u8, u8),
    /// `Off` if the client agrees to do without checksums.
    pub checksums: Checksums,
    /// The most frames of the client whose replies are outstanding.
    pub pipeline: u8,
    /// The shard that is to own the connection; `None` leaves it to the server.
    pub shard: Option<u32>,
    /// The session to be resumed; `None` begins a new one.
    pub session: Option<u64>,
    /// The server's position in the client's list, and the length of the list; `None` if the client
    /// has none.
    pub position: Option<(u16, u16)>,
}

impl Hello {
    /// Asks any shard for a new session, with checksums and this many outstanding frames.
    pub fn new(pipeline: u8) -> Hello {
        Hello {
            versions: (VERSION, VERSION),
            checksums: Checksums::On,
            pipeline,
            shard: None,
            session: None,
            position: None,
        }
    }

    pub(super) fn read(header: Header, body: &[u8]) -> Result<Hello, Malformed> {
        header.expect_count(0)?;
        if body.len() != HELLO_BYTES {
            return Err(Malformed::at(Code::Length, 4));
        }
        let refuse = |offset| Err(Malformed::at(Code::Field, HEADER_BYTES + offset));
        let (lowest, highest, flags, pipeline) = (body[0], body[1], body[2], body[3]);
        if highest < lowest {
            return refuse(0);
        }
        if flags & !WITHOUT_CHECKSUMS != 0 {
            return Err(Malformed::at(Code::Flags, HEADER_BYTES + 2));
        }
        if !(1..=MOST_PIPELINE).contains(&pipeline) {
            return refuse(3);
        }
        let (place, servers) = (u16_at(body, 16), u16_at(body, 18));
        if SLICES < servers || servers.max(1) <= place {
            return refuse(16);
        }
        if u32_at(body, 20) != 0 {
            return Err(Malformed::at(Code::Padding, HEADER_BYTES + 20));
        }
        Ok(Hello {
            versions: (lowest, highest),
            checksums: checksums_of(flags),
            pipeline,
            shard: Some(u32_at(body, 4)).filter(|shard| *shard != ANY_SHARD),
            session: Some(u64_at(body, 8)).filter(|session| *session != 0),
            position: (servers != 0).then_some((place, servers)),
        })
    }
}

/// Appends a HELLO.
pub fn encode_hello(hello: &Hello, out: &mut Vec<u8>) {
    let Hello { versions, checksums, pipeline, shard, session, position } = *hello;
    let frame = Opening::begin(Kind::Hello, 0, 0, Checksums::On, out);
    out.extend_from_slice(&[versions.0, versions.1, flag_of(checksums), pipeline]);
    out.extend_from_slice(&shard.unwrap_or(ANY_SHARD).to_le_bytes());
    out.extend_from_slice(&session.unwrap_or(0).to_le_bytes());
    let (place, servers) = position.unwrap_or((0, 0));
    out.extend_from_slice(&place.to_le_bytes());
    out.extend_from_slice(&servers.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    frame.finish(0, out);
}

/// The server's answer. If it wants a proof of the token, it sends one without a session, and after
/// the proof another one with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Welcome<'a> {
    pub version: u8,
    pub checksums: Checksums,
    /// True if PROVE is expected next.
    pub wants_proof: bool,
    /// The server's id.
    pub id: u16,
    pub shards: u16,
    /// The shard that owns the connection.
    pub shard: u16,
    /// The seed of the hash.
    pub seed: u64,
    pub session: u64,
    /// The last serial of the session that was executed; 0 before the first.
    pub executed: u64,
    /// All serials up to this one are durable, but the excepted ones.
    pub through: u64,
    pub nonce: [u8; 16],
    pub owners: Owners<'a>,
    pub except: Serials<'a>,
}

impl<'a> Welcome<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<Welcome<'a>, Malformed> {
        header.expect_count(0)?;
        let Some((fields, rest)) = body.split_at_checked(WELCOME_BYTES) else {
            return Err(Malformed::at(Code::Length, 4));
        };
        let flags = fields[1];
        if flags & !(WITHOUT_CHECKSUMS | PROOF_WANTED) != 0 {
            return Err(Malformed::at(Code::Flags, HEADER_BYTES + 1));
        }
        let (owners, except) = (u32_at(fields, 56) as usize, u32_at(fields, 60) as usize);
        if usize::from(SLICES) < owners || MOST_EXCEPTED < except {
            return Err(Malformed::at(Code::Field, HEADER_BYTES + 56));
        }
        if rest.len() != RANGE_BYTES * owners + 8 * except {
            return Err(Malformed::at(Code::Length, 4));
        }
        let executed = u64_at(fields, 24);
        if MOST_EXECUTED < executed {
            return Err(Malformed::at(Code::Field, HEADER_BYTES + 24));
        }
        let (owners, except) = rest.split_at(RANGE_BYTES * owners);
        Ok(Welcome {
            version: fields[0],
            checksums: checksums_of(flags),
            wants_proof: flags & PROOF_WANTED != 0,
            id: u16_at(fields, 2),
            shards: u16_at(fields, 4),
            shard: u16_at(fields, 6),
            seed: u64_at(fields, 8),
            session: u64_at(fields, 16),
            executed,
            through: u64_at(fields, 32),
            nonce: fields[40..56].try_into().expect("sixteen bytes"),
            owners: Owners::read(owners, HEADER_BYTES + WELCOME_BYTES)?,
            except: Serials::of(except),
        })
    }
}

/// The step of a client after a WELCOME.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Greeted {
    /// The client has its session.
    Ready,
    /// The proof was appended; another WELCOME follows.
    Proving,
    /// The server wants a proof, and the client has no token.
    WantsToken,
}

impl Welcome<'_> {
    /// Appends what a client with this token answers.
    pub fn answer(&self, token: Option<&Token>, out: &mut Vec<u8>) -> Greeted {
        match (self.wants_proof, token) {
            (false, _) => Greeted::Ready,
            (true, None) => Greeted::WantsToken,
            (true, Some(token)) => {
                encode_prove(&token.proof(&self.nonce), out);
                Greeted::Proving
            }
        }
    }
}

/// Appends a WELCOME whose lists are given apart.
pub fn encode_welcome(
    view: u32,
    welcome: &Welcome<'_>,
    owners: &[Range],
    except: &[u64],
    out: &mut Vec<u8>,
) {
    let frame = Opening::begin(Kind::Welcome, view, 0, Checksums::On, out);
    let proof = if welcome.wants_proof { PROOF_WANTED } else { 0 };
    out.extend_from_slice(&[welcome.version, flag_of(welcome.checksums) | proof]);
    for number in [welcome.id, welcome.shards, welcome.shard] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    put_numbers(&[welcome.seed, welcome.session, welcome.executed, welcome.through], out);
    out.extend_from_slice(&welcome.nonce);
    out.extend_from_slice(&(owners.len() as u32).to_le_bytes());
    out.extend_from_slice(&(except.len() as u32).to_le_bytes());
    owners.iter().for_each(|range| range.put(out));
    put_numbers(except, out);
    frame.finish(0, out);
}

/// Appends the proof of a token: its HMAC-SHA256 of the nonce.
pub fn encode_prove(proof: &[u8; 32], out: &mut Vec<u8>) {
    let frame = Opening::begin(Kind::Prove, 0, 0, Checksums::On, out);
    out.extend_from_slice(proof);
    frame.finish(0, out);
}

/// Slices that follow each other and have the same owner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Range {
    pub first: u16,
    /// The last slice, which belongs to the range.
    pub last: u16,
    /// The id of the server that owns them.
    pub owner: u16,
}

impl Range {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        for number in [self.first, self.last, self.owner, 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn of(bytes: &[u8]) -> Range {
        Range { first: u16_at(bytes, 0), last: u16_at(bytes, 2), owner: u16_at(bytes, 4) }
    }
}

/// The owners of slices, in ascending order. Slices that are in no range have none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Owners<'a>(&'a [u8]);

impl<'a> Owners<'a> {
    /// Checks the ranges, which begin at this byte of their frame.
    pub(super) fn read(bytes: &'a [u8], start: usize) -> Result<Owners<'a>, Malformed> {
        let mut next = 0;
        for (place, bytes) in bytes.chunks_exact(RANGE_BYTES).enumerate() {
            let range = Range::of(bytes);
            let is_ascending = next <= range.first && range.first <= range.last;
            if !is_ascending || SLICES <= range.last || u16_at(bytes, 6) != 0 {
                return Err(Malformed::at(Code::Field, start + RANGE_BYTES * place));
            }
            next = range.last + 1;
        }
        Ok(Owners(bytes))
    }

    pub fn ranges(self) -> impl Iterator<Item = Range> + 'a {
        self.0.chunks_exact(RANGE_BYTES).map(Range::of)
    }
}

fn checksums_of(flags: u8) -> Checksums {
    if flags & WITHOUT_CHECKSUMS != 0 { Checksums::Off } else { Checksums::On }
}

fn flag_of(checksums: Checksums) -> u8 {
    match checksums {
        Checksums::On => 0,
        Checksums::Off => WITHOUT_CHECKSUMS,
    }
}
