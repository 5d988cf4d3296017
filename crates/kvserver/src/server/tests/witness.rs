//! An independent client, written in Python from the page of the book alone: server and generator share
//! their codec, so a fault in it would not be seen by our own clients.

use std::path::Path;
use std::process::Command;

use super::*;

/// Runs the client, and returns what it says. `None` without Python: then the test is recorded as skipped.
fn python(test: &str, server: &Server, words: &[&str]) -> Option<String> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/tests/kv_client.py");
    let (what, rest) = words.split_first().unwrap();
    let address = server.address().to_string();
    let mut command = Command::new("python3");
    let ran = command.arg(client).args([what, &*address]).args(rest).output();
    let Ok(ran) = ran else {
        skip(test, "python3");
        return None;
    };
    let (told, error) = (String::from_utf8(ran.stdout), String::from_utf8(ran.stderr));
    assert!(ran.status.success(), "{}", error.unwrap());
    Some(told.unwrap())
}

fn skip(test: &str, needs: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs {needs}").unwrap();
    }
}

#[test]
fn an_independent_client_holds_the_conversations_of_the_transcripts() {
    let server = serve(1);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/src/kv/tests/transcripts.txt");
    let test = "an_independent_client_holds_the_conversations_of_the_transcripts";
    let held = python(test, &server, &["transcripts", file.to_str().unwrap()]);
    if let Some(held) = held {
        assert_eq!(held, "23 frames as expected\n");
    }
}

#[test]
fn an_independent_client_agrees_about_random_sessions() {
    for (seed, shards) in [("1", 1), ("2", 2)] {
        let server = serve(shards);
        let test = "an_independent_client_agrees_about_random_sessions";
        let Some(told) = python(test, &server, &["session", seed, "60"]) else { return };
        assert!(told.ends_with(" operations as expected\n"), "{told}");
        let all = |event| (0..shards).map(|shard| server.counts(shard).of(event)).sum::<u64>();
        assert!(all(Counted::Repeated) > 0);
        let scans = |shard| server.counts(shard).operations(Opcode::Scan, Status::Pending);
        assert!((0..shards).map(scans).sum::<u64>() > 10);
        assert_eq!((all(Counted::Malformed), all(Counted::WrongViews)), (0, 0));
    }
}
