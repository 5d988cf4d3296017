//! The digest by which a file is known again.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// The bytes that are read at once.
const PART: usize = 1 << 20;

/// Returns the SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    written(&Sha256::digest(bytes))
}

/// Returns that of all that follows, however long it is.
pub fn sha256_of(mut input: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut part = vec![0; PART];
    loop {
        match input.read(&mut part) {
            Ok(0) => return Ok(written(&digest.finalize())),
            Ok(length) => digest.update(&part[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn written(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
