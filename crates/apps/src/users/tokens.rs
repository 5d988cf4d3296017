//! The tokens of a login: JSON web tokens signed with HMAC-SHA-256 by a shared secret.
//!
//! An access token ends; a refresh token does not, but holds the number of its login, and only the
//! last login of a user counts. Neither passes for the other: their audiences differ.

use std::time::Duration;

use anyhow::ensure;
use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

#[cfg(test)]
mod tests;

const ISSUER: &str = "users-service";
const ACCESS: &str = "access";
const REFRESH: &str = "refresh";
/// The shortest secret: that of the digest (RFC 7518, 3.2).
const SHORTEST_SECRET: usize = 32;

/// Signs and checks tokens.
pub struct Tokens {
    signing: EncodingKey,
    checking: DecodingKey,
    lifetime: Duration,
}

/// The contents of a token.
#[derive(Debug, Deserialize, Serialize)]
struct Claims {
    sub: String,
    iss: String,
    aud: String,
    iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
}

impl Tokens {
    /// Uses a secret; draws one if there is none.
    pub fn new(secret: Option<&str>, lifetime: Duration) -> anyhow::Result<Self> {
        // It is the same for every caller.
        let _ = PROVIDER.install_default();
        let drawn = random()?;
        let secret = secret.map_or(&drawn[..], str::as_bytes);
        ensure!(
            SHORTEST_SECRET <= secret.len(),
            "the secret has {} bytes; it needs at least {SHORTEST_SECRET}: openssl rand -hex 32",
            secret.len()
        );
        let (signing, checking) =
            (EncodingKey::from_secret(secret), DecodingKey::from_secret(secret));
        Ok(Tokens { signing, checking, lifetime })
    }

    pub fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Returns a new access token at this time, in seconds since 1970.
    pub fn access(&self, username: &str, now: u64) -> Result<String, Error> {
        let end = now.saturating_add(self.lifetime.as_secs());
        self.signed(username, ACCESS, now, Some(end), None)
    }

    /// Returns the refresh token of a login.
    pub fn refresh(&self, username: &str, login: &str, now: u64) -> Result<String, Error> {
        self.signed(username, REFRESH, now, None, Some(login.to_owned()))
    }

    fn signed(
        &self,
        username: &str,
        audience: &str,
        iat: u64,
        exp: Option<u64>,
        jti: Option<String>,
    ) -> Result<String, Error> {
        let (sub, iss, aud) = (username.to_owned(), ISSUER.to_owned(), audience.to_owned());
        let claims = Claims { sub, iss, aud, iat, exp, jti };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.signing)
    }

    /// Returns the bearer of an access token that is valid now.
    pub fn bearer(&self, token: &str) -> Option<String> {
        self.checked(token, ACCESS, &["aud", "exp", "iss", "sub"]).map(|claims| claims.sub)
    }

    /// Returns the user and the login of a refresh token.
    pub fn login(&self, token: &str) -> Option<(String, String)> {
        let claims = self.checked(token, REFRESH, &["aud", "iss", "sub"])?;
        Some((claims.sub, claims.jti?))
    }

    fn checked(&self, token: &str, audience: &str, required: &[&str]) -> Option<Claims> {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.leeway = 0;
        validation.set_audience(&[audience]);
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(required);
        jsonwebtoken::decode(token, &self.checking, &validation).ok().map(|data| data.claims)
    }
}

/// Returns the number of a new login, which nobody can guess.
pub fn new_login() -> anyhow::Result<String> {
    Ok(random()?.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

fn random() -> anyhow::Result<[u8; SHORTEST_SECRET]> {
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
