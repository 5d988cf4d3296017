//! Arbitrary files of notes: no panic, no more memory than the file is long, and a join of what can be
//! read. The first byte says how many bytes are cut off the end. With an odd one the bytes are the
//! content of a block whose checksum is right.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use results::joined::{self, Notes};
use results::notes::{self, Header, Note};

fuzz_target!(|data: &[u8]| {
    let [cut, bytes @ ..] = data else { return };
    let file = match cut % 2 {
        0 => bytes.to_vec(),
        _ => in_block(bytes),
    };
    let whole = read(&file);
    let kept = &file[..file.len().saturating_sub(usize::from(cut / 2))];
    if let (Some(whole), Some(begin)) = (&whole, read(kept)) {
        assert!(whole.starts_with(&begin), "a cut file has the same begin");
    }
    if let Ok(notes) = Notes::read("fuzzed", &mut Cursor::new(&file), file.len() as u64) {
        let (senders, receivers) = match notes {
            Notes::Sender(sender) => (vec![sender], Vec::new()),
            Notes::Receiver(receiver) => (Vec::new(), vec![receiver]),
        };
        if let Ok(joined) = joined::join(senders, receivers) {
            let events = joined.events;
            assert_eq!(events.accepted + events.refused, events.sent);
            assert_eq!(events.delivered, 0, "there is only one side");
        }
    }
});

/// Returns a file of a receiver or a sender with one source and a block of any kind.
fn in_block(bytes: &[u8]) -> Vec<u8> {
    let Some((kind, content)) = bytes.split_first() else { return Vec::new() };
    let header: &[u8] = match kind % 2 {
        0 => br#"{"schema":"benchwright.notes/1","tool":"x","role":"receiver"}"#,
        _ => {
            br#"{"schema":"benchwright.notes/1","tool":"x","role":"sender","sources":["/a"],"outcomes":["accepted"],"from_ns":0,"to_ns":9}"#
        }
    };
    let kind = [b'A', b'T', b'S', b'E'][usize::from(kind / 2 % 4)];
    let mut file = [header, b"\n"].concat();
    notes::put_block(b'S', b"/a", &mut file);
    notes::put_block(kind, content, &mut file);
    file
}

/// Returns all notes as text; `None` if the file is refused.
fn read(mut file: &[u8]) -> Option<Vec<String>> {
    Header::read(&mut file).ok()?;
    let mut all = Vec::new();
    let rest = notes::read(&mut file, |note| {
        if let Note::Arrival { id, .. } = note {
            let number = notes::number(id);
            assert!(number.is_none_or(|number| number.to_string().as_bytes() == id));
        }
        all.push(format!("{note:?}"));
        Ok(())
    });
    rest.ok()?;
    assert!(file.is_empty(), "all bytes are read, or counted as torn");
    Some(all)
}
