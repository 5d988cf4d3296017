//! The tokens of a login: JSON web tokens signed with HMAC-SHA-256 by a shared secret.
//!
//! An access token ends; a refresh token does not, but holds the number of its login, and only the
//! last login of a user counts. Neither passes for the other: their audiences differ.

use std::time::Duration;

use anyhow::ensure;
use jsonwebtoken::Validation;
use jsonwebtoken::errors::Error;
use serde::{Deserialize, Serialize};

use crate::kit::jwt::{self, SHORTEST_SECRET, Secret};

#[cfg(test)]
mod tests;

const ISSUER: &str = "users-service";
const ACCESS: &str = "access";
const REFRESH: &str = "refresh";

/// Signs and checks tokens.
pub struct Tokens {
    secret: Secret,
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
        let drawn = jwt::drawn()?;
        let secret = secret.map_or(&drawn[..], str::as_bytes);
        ensure!(
            SHORTEST_SECRET <= secret.len(),
            "the secret has {} bytes; it needs at least {SHORTEST_SECRET}: openssl rand -hex 32",
            secret.len()
        );
        Ok(Tokens { secret: Secret::new(secret), lifetime })
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
        self.secret.signed(&claims)
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
        let mut validation = Validation::new(jwt::ALGORITHM);
        validation.leeway = 0;
        validation.set_audience(&[audience]);
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(required);
        self.secret.checked(token, &validation)
    }
}

/// Returns the number of a new login, which nobody can guess.
pub fn new_login() -> anyhow::Result<String> {
    Ok(jwt::drawn()?.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}
