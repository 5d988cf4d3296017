//! The JSON documents of users: those of requests, checked, and those of responses.

use serde::{Deserialize, Serialize};

use super::api::{Changes, User};

#[cfg(test)]
mod tests;

const LONGEST_NAME: usize = 128;
/// Bcrypt ignores what follows.
pub const LONGEST_PASSWORD: usize = 72;
const LONGEST_EMAIL: usize = 254;
const LONGEST_DESCRIPTION: usize = 4 << 10;
/// A message of the store has at most 64 KiB.
const LONGEST_PICTURE: usize = 32 << 10;

/// A new user.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    pub username: String,
    pub password: String,
    pub email: Option<String>,
    pub description: Option<String>,
    pub profile_picture: Option<String>,
}

#[derive(Deserialize)]
pub struct Credentials {
    pub username: String,
    pub password: String,
}

#[derive(Deserialize)]
pub struct Refreshing {
    pub grant_type: String,
    pub refresh_token: String,
}

#[derive(Deserialize)]
pub struct Description {
    pub description: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Photo {
    pub profile_picture: String,
}

/// A user in a response.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown<'a> {
    username: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile_picture: Option<&'a str>,
}

impl<'a> From<&'a User> for Shown<'a> {
    fn from(user: &'a User) -> Self {
        Shown {
            username: &user.username,
            email: user.email.as_deref(),
            description: user.description.as_deref(),
            profile_picture: user.profile_picture.as_deref(),
        }
    }
}

/// Reads the body of a request. The error never repeats it: it may hold a password.
pub fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("the body is not the expected JSON document: see line {line}, column {column}")
    })
}

impl Registration {
    /// Returns the reason why it is refused, if any.
    pub fn wrong(&self) -> Option<String> {
        if !is_name(&self.username) {
            return Some(format!(
                "username must have 1 to {LONGEST_NAME} bytes without control characters"
            ));
        }
        if !(1..=LONGEST_PASSWORD).contains(&self.password.len()) {
            return Some(format!("password must have 1 to {LONGEST_PASSWORD} bytes"));
        }
        wrong_text("email", self.email.as_deref(), LONGEST_EMAIL)
            .or_else(|| wrong_text("description", self.description.as_deref(), LONGEST_DESCRIPTION))
            .or_else(|| {
                wrong_text("profilePicture", self.profile_picture.as_deref(), LONGEST_PICTURE)
            })
    }

    /// Returns the user with the hash of the password.
    pub fn with(self, hash: String) -> User {
        User {
            username: self.username,
            hash,
            email: self.email,
            description: self.description,
            profile_picture: self.profile_picture,
            login: None,
        }
    }
}

/// Returns true if a user may have this name.
pub fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(char::is_control)
}

/// Returns the reason why a change is refused, if any.
pub fn wrong_change(changes: &Changes) -> Option<String> {
    wrong_text("description", changes.description.as_deref(), LONGEST_DESCRIPTION).or_else(|| {
        wrong_text("profilePicture", changes.profile_picture.as_deref(), LONGEST_PICTURE)
    })
}

fn wrong_text(field: &str, text: Option<&str>, most: usize) -> Option<String> {
    // PostgreSQL's texts cannot contain NUL.
    let is_wrong = text.is_some_and(|text| most < text.len() || text.contains('\0'));
    is_wrong.then(|| format!("{field} must have at most {most} bytes, none of them NUL"))
}
