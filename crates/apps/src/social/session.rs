//! The sessions of logged-in users: JSON web tokens whose claims are the original's, all of them
//! strings.

use jsonwebtoken::Validation;
use serde::{Deserialize, Serialize};
use tonic::Status;

use super::api::common::Account;
use crate::kit::jwt::{self, Secret};

#[cfg(test)]
mod tests;

/// The seconds that a session is valid.
const TTL: u64 = 3600;

#[derive(Debug, Deserialize, Serialize)]
struct Claims {
    user_id: String,
    username: String,
    /// In seconds since 1970.
    timestamp: String,
    /// In seconds.
    ttl: String,
}

/// Returns the token of a new session, at a time in seconds since 1970.
pub fn begin(secret: &Secret, account: Account, now: u64) -> Result<String, Status> {
    let Account { user_id, username } = account;
    let (user_id, timestamp, ttl) = (user_id.to_string(), now.to_string(), TTL.to_string());
    let token = secret.signed(&Claims { user_id, username, timestamp, ttl });
    token.map_err(|error| Status::internal(error.to_string()))
}

/// Returns the user of a session that is valid now.
pub fn user(secret: &Secret, token: &str, now: u64) -> Result<Account, Status> {
    let mut validation = Validation::new(jwt::ALGORITHM);
    // The session ends by claims of its own.
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    let invalid = || Status::unauthenticated("Invalid login token, please log in again");
    let claims: Claims = secret.checked(token, &validation).ok_or_else(invalid)?;
    let user_id = claims.user_id.parse().map_err(|_| invalid())?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| invalid());
    let end = number(&claims.timestamp)?.saturating_add(number(&claims.ttl)?);
    if end < now {
        return Err(Status::unauthenticated("Login token expired, please log in again"));
    }
    Ok(Account { user_id, username: claims.username })
}
