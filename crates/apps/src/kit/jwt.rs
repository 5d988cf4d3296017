//! JSON web tokens that are signed with HMAC-SHA-256 by a shared secret. Their contents are the
//! application's.

use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

/// The only algorithm that is signed with and accepted.
pub const ALGORITHM: Algorithm = Algorithm::HS256;

/// The shortest secret that cannot be guessed: as long as the digest (RFC 7518, 3.2).
pub const SHORTEST_SECRET: usize = 32;

/// A secret that signs tokens and checks them.
pub struct Secret {
    signing: EncodingKey,
    checking: DecodingKey,
}

impl Secret {
    pub fn new(secret: &[u8]) -> Self {
        // It is the same for every caller.
        let _ = PROVIDER.install_default();
        let (signing, checking) =
            (EncodingKey::from_secret(secret), DecodingKey::from_secret(secret));
        Secret { signing, checking }
    }

    pub fn signed(&self, claims: &impl Serialize) -> Result<String, Error> {
        jsonwebtoken::encode(&Header::new(ALGORITHM), claims, &self.signing)
    }

    /// Returns the claims of a token that this secret signed and that is valid.
    pub fn checked<C: DeserializeOwned>(&self, token: &str, validation: &Validation) -> Option<C> {
        jsonwebtoken::decode(token, &self.checking, validation).ok().map(|data| data.claims)
    }
}

/// Returns bytes that nobody can guess.
pub fn drawn() -> anyhow::Result<[u8; SHORTEST_SECRET]> {
    let mut bytes = [0; SHORTEST_SECRET];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("drawing randomness: {error}"))?;
    Ok(bytes)
}

/// The only algorithm: those that come with the library bring RSA and elliptic curves with them.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| match algorithm {
        Algorithm::HS256 => Ok(Box::new(Sha256Mac(keyed(key.as_bytes())?))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    verifier_factory: |algorithm, key| match algorithm {
        Algorithm::HS256 => Ok(Box::new(Sha256Mac(keyed(key.try_get_as_bytes()?)?))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    key_utils: KeyUtils::new_unimplemented(),
};

struct Sha256Mac(Hmac<Sha256>);

fn keyed(secret: &[u8]) -> Result<Hmac<Sha256>, Error> {
    Hmac::new_from_slice(secret).map_err(|_| ErrorKind::InvalidKeyFormat.into())
}

impl Signer<Vec<u8>> for Sha256Mac {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(self.0.clone().chain_update(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Sha256Mac {
    /// Compares in constant time.
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let mac = self.0.clone().chain_update(message);
        mac.verify_slice(signature).map_err(|_| signature::Error::new())
    }
}

impl JwtSigner for Sha256Mac {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Sha256Mac {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}
