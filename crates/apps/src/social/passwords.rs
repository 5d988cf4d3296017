//! The hashes of passwords. Each names its algorithm, so that a store may have both kinds.

use clap::{Args, ValueEnum};
use sha2::{Digest, Sha256};
use tonic::Status;

use super::random;

#[cfg(test)]
mod tests;

/// The algorithm for new passwords.
#[derive(Args, Clone, Copy, Debug)]
pub struct Hashing {
    /// The algorithm for the passwords of new users.
    #[arg(long = "password-hash", value_enum, default_value_t = Algorithm::Bcrypt)]
    algorithm: Algorithm,

    /// The cost of bcrypt: each step doubles the time. 10 takes about 60 ms, 4 about 1 ms.
    #[arg(long = "password-cost", value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(4..=31))]
    cost: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    /// Slow, so that a stolen password is not found by guessing.
    Bcrypt,
    /// The original's SHA-256 of the password and a salt: for comparisons with it, and for users
    /// whose passwords protect nothing, such as those of an initialiser. Never for people.
    SaltedSha256,
}

/// The beginning of a hash by [`Algorithm::SaltedSha256`]; salt and digest follow.
const SALTED: &str = "$salted-sha256$";
const SALT: usize = 32;

impl Hashing {
    /// Returns the hash of a new password. It takes milliseconds.
    pub fn hash(&self, password: &str) -> Result<String, Status> {
        match self.algorithm {
            Algorithm::Bcrypt => bcrypt::hash(password, self.cost).map_err(broken),
            Algorithm::SaltedSha256 => {
                let salt = random::alphanumeric(SALT)?;
                Ok(format!("{SALTED}{salt}${}", digest(password, &salt)))
            }
        }
    }
}

/// Returns true if a hash is that of this password. It takes milliseconds.
pub fn is_correct(password: &str, hash: &str) -> Result<bool, Status> {
    match hash.strip_prefix(SALTED).and_then(|rest| rest.split_once('$')) {
        Some((salt, expected)) => Ok(digest(password, salt) == expected),
        None => bcrypt::verify(password, hash).map_err(broken),
    }
}

fn digest(password: &str, salt: &str) -> String {
    let digest = Sha256::new_with_prefix(password).chain_update(salt).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn broken(error: bcrypt::BcryptError) -> Status {
    Status::internal(error.to_string())
}
