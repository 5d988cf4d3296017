use kv::storage::Folder;
use kv::{Durability, Options, Outcome, Store};
use net::{Epoll, Files, Io, Timer};
use wire::kv::{Body, Decoder, encode_request_fixed};

use super::*;

const COUNT: usize = 6000;

/// Reads the only frame of these bytes.
fn frame(bytes: &[u8], read: impl FnOnce(Header, Body<'_>)) {
    let (mut decoder, mut rest) = (Decoder::default(), bytes);
    let frame = decoder.next(&mut rest).unwrap().expect("a frame");
    read(frame.header, frame.body);
    assert!(rest.is_empty());
}

#[test]
fn a_batch_that_meets_a_cut_has_one_reply() {
    let path = tempfile::tempdir().unwrap();
    let mut io = Epoll::new(Timer::Sleep).unwrap();
    let mut files = Folder::new(io.folder(path.path()).unwrap());
    let options = Options {
        buckets: 1 << 14,
        memory: 6 << 14,
        page: 1 << 14,
        segment: 1 << 20,
        durability: Durability::Checkpoint,
        ..Options::default()
    };
    let store = Store::open(options, &mut files.on(&mut io)).unwrap();
    let (mut other, mut completions) = (store.session(5).unwrap(), kv::Completions::new(1 << 20));
    let mut finish = |other: &mut kv::Session| {
        while {
            other.poll(&mut files.on(&mut io), &mut completions);
            0 < other.pending()
        } {
            let now = io.now();
            io.wait(now + measure::Nanos::from_millis(1));
        }
    };
    for key in 0..9000_u64 {
        other.upsert(&key.to_le_bytes(), &[0; 8]);
        finish(&mut other);
    }
    // An operation that waits for the disk keeps the cut waiting.
    let mut sum = 0;
    assert!(matches!(other.add(&0_u64.to_le_bytes(), 1, &mut sum), Outcome::Pending(_)));
    store.checkpoint().unwrap();

    let mut session = Running::new(store.session(9).unwrap());
    let (mut scratch, counts, mut out) = (Scratch::new(), Counts::default(), Vec::new());
    let keys: Vec<u64> = (0..COUNT as u64).map(|at| 8900 + at % 100).collect();
    let mut request = Vec::new();
    let (opcodes, values) = ([Opcode::Add as u8; COUNT], [1; COUNT]);
    encode_request_fixed((VIEW, 1), &opcodes, &keys, &values, Checksums::On, &mut request);
    frame(&request, |header, body| {
        let Body::RequestFixed(batch) = body else { panic!("{header:?}") };
        session.execute_fixed(header, &batch, &mut scratch, &counts, &mut out);
    });
    assert!(out.is_empty() && session.has_rest());
    finish(&mut other);
    assert!(!store.is_at_cut());
    session.go_on(&mut scratch, &counts, &mut out);
    assert!(!session.has_rest());
    let pending = session.pending;
    frame(&out, |header, body| {
        let Body::ReplyFixed(reply) = body else { panic!("{header:?}") };
        let is_pending = |status: &&u8| **status == Status::Pending as u8;
        assert_eq!((header.serial, header.count), (1, COUNT));
        assert_eq!(reply.statuses.iter().filter(is_pending).count(), pending);
        assert_eq!(reply.values().count(), COUNT - pending);
    });
    assert!(pending > 4000, "{pending}");
    // A repeat is answered from what is kept.
    frame(&request, |header, _| {
        let mut repeated = Vec::new();
        assert_eq!(session.follows(header, &counts, &mut repeated), Ok(false));
        assert_eq!(repeated, out);
    });
}
