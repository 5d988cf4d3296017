//! `kill -9` of the server of the key-value store under load: the long form of the test `kv_kill`.

use std::process::Command;

use crate::programs::Build;
use crate::repository;

const CLIENT: &str = "crates/kvserver/src/server/tests/kv_kill.py";

/// Runs the words after `chaos kv`; `None` if they are wrong.
pub(super) fn run(words: &[&str]) -> Option<bool> {
    let (mut kills, mut seed) = (200_u64, 1_u64);
    for pair in words.chunks(2) {
        match pair {
            ["--kills", number] => kills = number.parse().ok()?,
            ["--seed", number] => seed = number.parse().ok()?,
            _ => return None,
        }
    }
    let passed = ["checkpoint", "none"].map(|durability| killed(kills, seed, durability));
    Some(passed.into_iter().all(|passed| {
        passed.unwrap_or_else(|error| {
            eprintln!("error: {error}");
            false
        })
    }))
}

fn killed(kills: u64, seed: u64, durability: &str) -> Result<bool, String> {
    if !Build::Release.make() {
        return Err("the build failed".to_owned());
    }
    let folder = tempfile::Builder::new().prefix("xtask-chaos-").tempdir();
    let folder = folder.map_err(|error| format!("making a folder: {error}"))?;
    let mut client = Command::new("python3");
    client.arg(repository::root().join(CLIENT)).arg(Build::Release.program("benchwright")?);
    client.arg(folder.path()).args([kills.to_string(), seed.to_string(), durability.to_owned()]);
    let status = client.status().map_err(|error| format!("starting python3: {error}"))?;
    Ok(status.success())
}
