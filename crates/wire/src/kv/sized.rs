//! Batches of operations on keys and values of any length, and their results.

use super::bytes::{pad, padded, u16_at, u32_at, u64_at};
use super::{
    Code, HEADER_BYTES, Header, MOST_KEY_BYTES, MOST_RESULT_BYTES, MOST_SCANNED, MOST_VALUE_BYTES,
    Malformed, Opcode, Status,
};

/// The bytes of an item before its key.
const ITEM_BYTES: usize = 8;

/// One operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Item<'a> {
    pub opcode: Opcode,
    /// The place in the value at which READ_AT and WRITE_AT begin; 1 if SCAN begins behind its key;
    /// otherwise 0.
    pub offset: u32,
    /// The bytes that READ_AT wants, those of WRITE_AT, or the records that SCAN wants; otherwise 0.
    pub length: u32,
    pub key: &'a [u8],
    /// The value of UPSERT, the bytes of WRITE_AT, or the number of ADD; otherwise empty.
    pub value: &'a [u8],
}

impl<'a> Item<'a> {
    /// Takes an item off a body, and checks it.
    fn take(bytes: &mut &'a [u8]) -> Result<Item<'a>, Code> {
        let head = bytes.get(..ITEM_BYTES).ok_or(Code::Length)?;
        let opcode = Opcode::of(head[0]).ok_or(Code::Opcode)?;
        if head[1] != 0 {
            return Err(Code::Flags);
        }
        let (key, value) = (usize::from(u16_at(head, 2)), u32_at(head, 4) as usize);
        if !(1..=MOST_KEY_BYTES).contains(&key) || MOST_VALUE_BYTES < value {
            return Err(Code::Field);
        }
        let part = if opcode.is_partial() { 8 } else { 0 };
        let item = take_padded(bytes, ITEM_BYTES + part + key + value)?;
        let (offset, length) = match part {
            0 => (0, 0),
            _ => (u32_at(item, ITEM_BYTES), u32_at(item, ITEM_BYTES + 4)),
        };
        let (key, value) = item[ITEM_BYTES + part..].split_at(key);
        let item = Item { opcode, offset, length, key, value };
        if item.is_sound() { Ok(item) } else { Err(Code::Field) }
    }

    /// True if the lengths are those of its operation.
    fn is_sound(&self) -> bool {
        let Item { offset, length, value, .. } = *self;
        match self.opcode {
            Opcode::Read | Opcode::Delete => value.is_empty(),
            Opcode::Upsert => true,
            Opcode::Add => value.len() == 8,
            Opcode::ReadAt => value.is_empty() && length as usize <= MOST_VALUE_BYTES,
            Opcode::WriteAt => value.len() == length as usize,
            Opcode::Scan => value.is_empty() && offset <= 1 && (1..=MOST_SCANNED).contains(&length),
        }
    }
}

/// The operations of a REQUEST.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Items<'a> {
    bytes: &'a [u8],
}

impl<'a> Items<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<Items<'a>, Malformed> {
        check_all(header, body, |bytes| Item::take(bytes).map(drop))?;
        Ok(Items { bytes: body })
    }

    /// The bytes of the operations that were not taken yet, from which [`Items::rest_of`] goes on.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the operations of what [`Items::rest`] has returned.
    pub fn rest_of(bytes: &'a [u8]) -> Items<'a> {
        Items { bytes }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let Items { bytes, .. } = self;
        (!bytes.is_empty()).then(|| Item::take(bytes).expect("the frame was checked"))
    }
}

/// Appends an operation to a REQUEST.
pub fn encode_item(item: &Item<'_>, out: &mut Vec<u8>) {
    let Item { opcode, offset, length, key, value } = *item;
    let part = if opcode.is_partial() { 8 } else { 0 };
    out.extend_from_slice(&[opcode as u8, 0]);
    out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    if opcode.is_partial() {
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
    }
    out.extend_from_slice(key);
    out.extend_from_slice(value);
    pad(ITEM_BYTES + part + key.len() + value.len(), out);
}

/// The result of one operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Answer<'a> {
    pub status: Status,
    /// The value of a successful READ, READ_AT, ADD or SCAN; otherwise empty.
    pub value: &'a [u8],
}

impl<'a> Answer<'a> {
    fn take(bytes: &mut &'a [u8]) -> Result<Answer<'a>, Code> {
        let head = bytes.get(..ITEM_BYTES).ok_or(Code::Length)?;
        let status = Status::of(head[0]).ok_or(Code::Status)?;
        if head[1] != 0 {
            return Err(Code::Flags);
        }
        let value = u32_at(head, 4) as usize;
        if u16_at(head, 2) != 0 || MOST_RESULT_BYTES < value {
            return Err(Code::Field);
        }
        if status != Status::Ok && 0 < value {
            return Err(Code::Field);
        }
        let answer = take_padded(bytes, ITEM_BYTES + value)?;
        Ok(Answer { status, value: &answer[ITEM_BYTES..] })
    }

    /// The bytes that it takes in a frame.
    pub fn bytes(&self) -> usize {
        padded(ITEM_BYTES + self.value.len())
    }
}

/// The results of a REQUEST, in the order of its operations.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Answers<'a>(&'a [u8]);

impl<'a> Answers<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<Answers<'a>, Malformed> {
        check_all(header, body, |bytes| Answer::take(bytes).map(drop))?;
        Ok(Answers(body))
    }
}

impl<'a> Iterator for Answers<'a> {
    type Item = Answer<'a>;

    fn next(&mut self) -> Option<Answer<'a>> {
        (!self.0.is_empty()).then(|| Answer::take(&mut self.0).expect("the frame was checked"))
    }
}

/// Appends a result to a REPLY.
pub fn encode_answer(answer: &Answer<'_>, out: &mut Vec<u8>) {
    let Answer { status, value } = *answer;
    out.extend_from_slice(&[status as u8, 0, 0, 0]);
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
    pad(ITEM_BYTES + value.len(), out);
}

/// The result of an operation that was pending.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Completion<'a> {
    pub serial: u64,
    pub answer: Answer<'a>,
}

impl<'a> Completion<'a> {
    fn take(bytes: &mut &'a [u8]) -> Result<Completion<'a>, Code> {
        let (serial, rest) = bytes.split_at_checked(8).ok_or(Code::Length)?;
        *bytes = rest;
        let answer = Answer::take(bytes)?;
        if answer.status == Status::Pending {
            return Err(Code::Status);
        }
        Ok(Completion { serial: u64_at(serial, 0), answer })
    }

    /// The bytes that it takes in a frame.
    pub fn bytes(&self) -> usize {
        8 + self.answer.bytes()
    }
}

/// The results of operations that were pending, in any order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Completions<'a>(&'a [u8]);

impl<'a> Completions<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<Completions<'a>, Malformed> {
        check_all(header, body, |bytes| Completion::take(bytes).map(drop))?;
        Ok(Completions(body))
    }
}

impl<'a> Iterator for Completions<'a> {
    type Item = Completion<'a>;

    fn next(&mut self) -> Option<Completion<'a>> {
        (!self.0.is_empty()).then(|| Completion::take(&mut self.0).expect("the frame was checked"))
    }
}

/// Appends a result to COMPLETIONS.
pub fn encode_completion(completion: &Completion<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&completion.serial.to_le_bytes());
    encode_answer(&completion.answer, out);
}

/// Takes so many bytes and their padding, and returns them without it.
fn take_padded<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], Code> {
    let (taken, rest) = bytes.split_at_checked(padded(length)).ok_or(Code::Field)?;
    *bytes = rest;
    let (taken, padding) = taken.split_at(length);
    if padding.iter().any(|byte| *byte != 0) {
        return Err(Code::Padding);
    }
    Ok(taken)
}

/// Checks that a body consists of as many parts as the header says, and names the place of the first
/// that is wrong.
fn check_all(
    header: Header,
    body: &[u8],
    mut take: impl FnMut(&mut &[u8]) -> Result<(), Code>,
) -> Result<(), Malformed> {
    if header.count == 0 {
        return Err(Malformed::at(Code::Count, 12));
    }
    let mut rest = body;
    for _ in 0..header.count {
        let offset = HEADER_BYTES + body.len() - rest.len();
        take(&mut rest).map_err(|code| Malformed::at(code, offset))?;
    }
    if rest.is_empty() { Ok(()) } else { Err(Malformed::at(Code::Length, 4)) }
}
