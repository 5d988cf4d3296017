//! Calls of every method of every service with the gRPC library of another language.

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;

use crate::application::{Application, Kept};
use crate::instance::Instance;
use crate::tools::{Memcached, Postgres, skip};

#[test]
fn foreign_tools_reach_every_service() {
    let Some(python) = python("foreign_tools_reach_every_service") else { return };
    let hotel = Application::start(&Kept::default(), 1);
    let store = hotel.store.as_ref().expect("it has a store of its own");
    let delayed = ["--store", &store.address.to_string(), "--delay", "300ms"];
    let delayed = Instance::service("geo", &delayed);
    let beside = [("geo-delayed", &delayed), ("store", store)];
    expect_file!["foreign.txt"].assert_eq(&foreign_lines(&python, &hotel, &beside));
}

#[test]
fn foreign_tools_get_the_same_answers_from_foreign_stores() {
    const TEST: &str = "foreign_tools_get_the_same_answers_from_foreign_stores";
    let Some(python) = python(TEST) else { return };
    let Some(database) = Postgres::start(TEST) else { return };
    let Some(cache) = Memcached::start(TEST) else { return };
    let kept = Kept {
        store: Some(database.url()),
        cache: Some(format!("memcached://{}", cache.address())),
    };
    let hotel = Application::start(&kept, 1);
    let is_of_services = |line: &&str| {
        let timeout = ["geo.Geo/Nearby too late", "geo.Geo/Nearby with timeout", "store.Store/"];
        !timeout.iter().any(|other| line.starts_with(other))
    };
    let expected: Vec<_> = include_str!("foreign.txt").lines().filter(is_of_services).collect();
    let lines = foreign_lines(&python, &hotel, &[]);
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
}

/// Returns the Python of the tests, which is beside the scratch folder of cargo in the target
/// folder.
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("python/bin/python");
    if !python.is_file() {
        skip(test, "the Python in the target folder, where `cargo xtask ci` installs it");
        return None;
    }
    Some(python)
}

/// Returns what the foreign client received, a line for each check.
fn foreign_lines(python: &Path, hotel: &Application, beside: &[(&str, &Instance)]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(python);
    command.arg(folder.join("tests/it/foreign.py")).arg(folder.join("../apps/proto/hotel"));
    let services = hotel.services.iter().map(|(name, replicas)| (*name, &replicas[0]));
    let services = services.chain(beside.iter().copied());
    command.args(services.map(|(name, one)| format!("{name}={}", one.address)));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
