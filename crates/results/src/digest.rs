//! The digest by which a file is known again.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
