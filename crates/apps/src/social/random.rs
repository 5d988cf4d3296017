//! Randomness of the operating system.

use tonic::Status;

const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Returns a number that nobody can guess.
pub fn number() -> Result<u64, Status> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Returns this many letters and digits that nobody can guess.
pub fn alphanumeric(length: usize) -> Result<String, Status> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0; 64];
    while text.len() < length {
        fill(&mut bytes)?;
        // Higher bytes would make the first characters more frequent.
        let even = bytes.iter().filter(|byte| **byte < 4 * 62);
        let characters = even.map(|byte| char::from(ALPHANUMERIC[usize::from(*byte) % 62]));
        text.extend(characters.take(length - text.len()));
    }
    Ok(text)
}

fn fill(bytes: &mut [u8]) -> Result<(), Status> {
    getrandom::fill(bytes).map_err(|error| Status::internal(format!("drawing randomness: {error}")))
}
