//! The proof that a client knows the server's token.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A token, which a server and its clients know. It is never printed.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    pub fn new(token: &[u8]) -> Token {
        Token(token.to_vec())
    }

    /// The proof of a client that knows the token.
    pub fn proof(&self, nonce: &[u8; 16]) -> [u8; 32] {
        self.mac(nonce).finalize().into_bytes().into()
    }

    /// Compares a proof in a time that does not depend on it.
    pub fn is_proven(&self, nonce: &[u8; 16], proof: &[u8; 32]) -> bool {
        self.mac(nonce).verify_slice(proof).is_ok()
    }

    fn mac(&self, nonce: &[u8; 16]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        mac.update(nonce);
        mac
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
