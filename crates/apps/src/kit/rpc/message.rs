//! Messages in gRPC's format: a flag for compression, the length, the bytes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use tonic::Status;

#[cfg(test)]
mod tests;

/// The length of the part before a message: the compression flag, and the length.
pub(super) const PREFIX: usize = 5;

/// Returns the bytes of one message.
pub fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(length).expect("messages are shorter than 4 GB"));
    message.encode_raw(&mut bytes);
    bytes.freeze()
}

/// Reads one message, which must be whole.
pub fn read<M: Message + Default>(mut bytes: Bytes) -> Result<M, Status> {
    let Some(&[flag, a, b, c, d]) = bytes.first_chunk::<PREFIX>() else {
        return Err(Status::internal("the message is missing"));
    };
    match flag {
        0 => {}
        1 => {
            return Err(Status::internal(
                "the message is compressed, but grpc-encoding is missing",
            ));
        }
        other => {
            return Err(Status::internal(format!("a message must begin with 0 or 1, not {other}")));
        }
    }
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    bytes.advance(PREFIX);
    if bytes.len() != length {
        let text = format!("a message of {length} bytes was announced, and {} came", bytes.len());
        return Err(Status::internal(text));
    }
    M::decode(bytes).map_err(|error| Status::internal(error.to_string()))
}
