//! The proof that a client knows the server's token.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A server's token.
#[derive(Clone)]
pub(crate) struct Token(Vec<u8>);

impl Token {
    pub(crate) fn new(token: &[u8]) -> Token {
        Token(token.to_vec())
    }

    /// The proof of a client that knows the token.
    pub(crate) fn proof(&self, nonce: &[u8; 16]) -> [u8; 32] {
        self.mac(nonce).finalize().into_bytes().into()
    }

    /// Compares a proof in a time that does not depend on it.
    pub(crate) fn is_proven(&self, nonce: &[u8; 16], proof: &[u8; 32]) -> bool {
        self.mac(nonce).verify_slice(proof).is_ok()
    }

    fn mac(&self, nonce: &[u8; 16]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        mac.update(nonce);
        mac
    }
}
