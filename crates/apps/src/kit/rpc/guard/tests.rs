use super::*;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
const HEADERS: [u8; 12] = [0, 0, 3, 1, 4, 0, 0, 0, 1, 0x82, 0x86, 0x84];
const DATA: [u8; 11] = [0, 0, 2, 0, 0, 0, 0, 0, 1, 7, 7];
const EMPTY: [u8; 9] = [0, 0, 0, 0, 0, 0, 0, 0, 1];

#[test]
fn frames_are_classified_however_they_are_split() {
    let bytes =
        [&[b'x'; PREFACE][..], &PING, &HEADERS, &DATA, &EMPTY, &[0, 0, 0, 0, 1, 0, 0, 0, 1]]
            .concat();
    let expected = [Kind::Idle, Kind::Call, Kind::Data, Kind::Idle, Kind::Data];
    for length in 1..=bytes.len() {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        bytes.chunks(length).for_each(|chunk| frames.read(chunk, |kind| found.push(kind)));
        assert_eq!(found, expected, "in chunks of {length}");
    }
}

/// Returns how many bytes pass when these bytes are sent.
fn sent(bytes: &[u8]) -> io::Result<usize> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (mut peer, stream) = tokio::io::duplex(bytes.len());
        peer.write_all(bytes).await.unwrap();
        drop(peer);
        let mut guarded = Guarded::new(stream, Arc::default());
        guarded.read_to_end(&mut Vec::new()).await
    })
}

#[test]
fn frames_that_ask_for_nothing_are_tolerated_up_to_a_number() {
    let pings = |count| [&[b'x'; PREFACE][..], &PING.repeat(count)].concat();
    let most = IDLE_FRAMES as usize;
    assert!(sent(&pings(most)).is_ok());
    assert_eq!(sent(&pings(most + 1)).unwrap_err().to_string(), "a flood of frames");
    let calls = [&HEADERS[..], &DATA, &PING, &PING, &PING, &PING].concat().repeat(2 * most);
    assert!(sent(&[&[b'x'; PREFACE][..], &calls].concat()).is_ok());
}

#[test]
fn a_peer_that_waits_may_send_as_many_again() {
    let begun = Instant::now();
    let mut allowance = Allowance { left: 0, since: begun };
    assert!(!allowance.begins_anew(begun + IN / 2));
    assert!(allowance.begins_anew(begun + IN));
    assert_eq!(allowance.left, IDLE_FRAMES);
}
