//! Batches of operations on keys and values of 8 bytes, in columns.

use super::bytes::{numbers, pad, padded, put_numbers};
use super::{Checksums, Code, HEADER_BYTES, Header, Kind, Malformed, Opcode, Opening, Status};

/// A batch of operations: READ, UPSERT, ADD, DELETE.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RequestFixed<'a> {
    /// Valid opcodes, one for each operation.
    pub opcodes: &'a [u8],
    keys: &'a [u8],
    values: &'a [u8],
}

impl<'a> RequestFixed<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<RequestFixed<'a>, Malformed> {
        let (opcodes, columns) = bytes_of(header, body)?;
        let is_known = |opcode: &u8| (Opcode::Read as u8..=Opcode::Delete as u8).contains(opcode);
        if let Some(place) = opcodes.iter().position(|opcode| !is_known(opcode)) {
            return Err(Malformed::at(Code::Opcode, HEADER_BYTES + place));
        }
        let has_value = |opcode: &&u8| has_operand(**opcode);
        let values = opcodes.iter().filter(has_value).count();
        let keys = 8 * header.count;
        if columns.len() != keys + 8 * values {
            return Err(Malformed::at(Code::Length, 4));
        }
        let (keys, values) = columns.split_at(keys);
        Ok(RequestFixed { opcodes, keys, values })
    }

    /// The keys, one for each operation.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = u64> + Clone + 'a {
        numbers(self.keys)
    }

    /// The values of UPSERT and the numbers of ADD, one for each of these.
    pub fn values(&self) -> impl ExactSizeIterator<Item = u64> + Clone + 'a {
        numbers(self.values)
    }
}

/// The results of a batch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReplyFixed<'a> {
    /// Valid statuses, one for each operation.
    pub statuses: &'a [u8],
    values: &'a [u8],
}

impl<'a> ReplyFixed<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<ReplyFixed<'a>, Malformed> {
        let (statuses, values) = bytes_of(header, body)?;
        if let Some(place) = statuses.iter().position(|status| Status::of(*status).is_none()) {
            return Err(Malformed::at(Code::Status, HEADER_BYTES + place));
        }
        let successes = statuses.iter().filter(|status| **status == Status::Ok as u8).count();
        if 8 * successes < values.len() {
            return Err(Malformed::at(Code::Length, 4));
        }
        Ok(ReplyFixed { statuses, values })
    }

    /// The values of successful READs and ADDs, one for each of these.
    pub fn values(&self) -> impl ExactSizeIterator<Item = u64> + Clone + 'a {
        numbers(self.values)
    }

    /// True if there is a value for each successful READ and ADD of the request.
    pub fn fits(&self, opcodes: &[u8]) -> bool {
        let returns = |opcode| opcode == Opcode::Read as u8 || opcode == Opcode::Add as u8;
        let pairs = self.statuses.iter().zip(opcodes);
        let values =
            pairs.filter(|&(status, opcode)| *status == Status::Ok as u8 && returns(*opcode));
        self.statuses.len() == opcodes.len() && 8 * values.count() == self.values.len()
    }
}

/// True if the operation has a value in its column.
#[inline]
fn has_operand(opcode: u8) -> bool {
    opcode == Opcode::Upsert as u8 || opcode == Opcode::Add as u8
}

/// Splits off the column of bytes that both kinds begin with.
fn bytes_of(header: Header, body: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let count = header.count;
    if count == 0 {
        return Err(Malformed::at(Code::Count, 12));
    }
    let Some((column, rest)) = body.split_at_checked(padded(count)) else {
        return Err(Malformed::at(Code::Length, 4));
    };
    let (column, padding) = column.split_at(count);
    if padding.iter().any(|byte| *byte != 0) {
        return Err(Malformed::at(Code::Padding, HEADER_BYTES + count));
    }
    Ok((column, rest))
}

/// Appends a REQUEST_FIXED. There is a value for each UPSERT and each ADD.
pub fn encode_request_fixed(
    (view, serial): (u32, u64),
    opcodes: &[u8],
    keys: &[u64],
    values: &[u64],
    checksums: Checksums,
    out: &mut Vec<u8>,
) {
    let frame = Opening::begin(Kind::RequestFixed, view, serial, checksums, out);
    put_column(opcodes, out);
    put_numbers(keys, out);
    put_numbers(values, out);
    frame.finish(opcodes.len(), out);
}

/// Appends a REPLY_FIXED. There is a value, of eight bytes, for each successful READ and each successful
/// ADD.
pub fn encode_reply_fixed(
    (view, serial): (u32, u64),
    statuses: &[u8],
    values: &[u8],
    checksums: Checksums,
    out: &mut Vec<u8>,
) {
    let frame = Opening::begin(Kind::ReplyFixed, view, serial, checksums, out);
    put_column(statuses, out);
    out.extend_from_slice(values);
    frame.finish(statuses.len(), out);
}

fn put_column(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    pad(bytes.len(), out);
}
