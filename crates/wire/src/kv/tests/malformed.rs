//! Frames that are refused, each with its reason and its place.

use super::*;

/// A frame with other bytes at a place, and the checksum for them.
fn with(frame: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    if HEADER_BYTES <= frame.len() {
        reseal(&mut frame);
    }
    frame
}

/// A frame with so many bytes removed from its end, or added to it.
fn resized(frame: &[u8], by: isize) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.resize(frame.len().checked_add_signed(by).unwrap(), 0);
    let length = (frame.len() as u32).to_le_bytes();
    with(&frame, 4, &length)
}

fn kind(kind: Kind) -> Vec<u8> {
    let place = Kind::ALL.iter().position(|other| *other == kind).unwrap();
    every_kind().swap_remove(place)
}

#[test]
fn a_header_that_is_not_valid_is_refused() {
    let frame = kind(Kind::RequestFixed);
    let number = |number: u32| number.to_le_bytes();
    for (at, bytes, code) in [
        (0, &b"GE"[..], Code::Magic),
        (2, &[2], Code::Version),
        (3, &[0], Code::Kind),
        (3, &[0x20], Code::Kind),
        (4, &number(24), Code::Length),
        (4, &number(65), Code::Length),
        (4, &number(MOST_FRAME_BYTES as u32 + 8), Code::Length),
        (4, &number(u32::MAX), Code::Length),
        (12, &number(0), Code::Count),
        (12, &number(MOST_COUNT as u32 + 1), Code::Count),
        (24, &number(1), Code::Flags),
        (16, &[255; 8], Code::Serial),
    ] {
        let mut frame = frame.clone();
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        // The header alone is enough, before the rest has arrived, unless the count depends on the kind.
        let told = match code {
            Code::Count => malformed(&with(&frame, at, bytes)),
            _ => Decoder::default().next(&mut &frame[..HEADER_BYTES]).unwrap_err(),
        };
        assert_eq!(told, Malformed { code, offset: at as u32 });
    }
}

#[test]
fn a_flipped_bit_is_seen_wherever_it_is() {
    for frame in every_kind() {
        for bit in 0..8 * frame.len() {
            let mut frame = frame.clone();
            frame[bit / 8] ^= 1 << (bit % 8);
            let mut decoder = Decoder::default();
            // A longer length only means that more is to come.
            if let Some(frame) = decoder.next(&mut &frame[..]).unwrap_or(None) {
                panic!("bit {bit}: {frame:?}");
            }
        }
    }
}

#[test]
fn a_batch_of_fixed_operations_that_is_not_valid_is_refused() {
    let frame = kind(Kind::RequestFixed);
    for (frame, code, offset) in [
        (with(&frame, 33, &[0]), Code::Opcode, 33),
        (with(&frame, 33, &[5]), Code::Opcode, 33),
        (with(&frame, 33, &[255]), Code::Opcode, 33),
        (with(&frame, 39, &[1]), Code::Padding, 34),
        // An operation of which there is a value too much, or too little.
        (with(&frame, 33, &[1]), Code::Length, 4),
        (with(&frame, 32, &[2]), Code::Length, 4),
        (with(&frame, 12, &[1]), Code::Padding, 33),
        (with(&frame, 12, &[200]), Code::Length, 4),
        (resized(&frame, 8), Code::Length, 4),
        (resized(&frame, -8), Code::Length, 4),
        (resized(&frame, -32), Code::Length, 4),
    ] {
        assert_eq!(malformed(&frame), Malformed { code, offset });
    }
}

#[test]
fn a_reply_of_fixed_operations_that_is_not_valid_is_refused() {
    let frame = kind(Kind::ReplyFixed);
    for (frame, code, offset) in [
        (with(&frame, 33, &[8]), Code::Status, 33),
        (with(&frame, 35, &[1]), Code::Padding, 35),
        (resized(&frame, 16), Code::Length, 4),
        (with(&frame, 12, &[0]), Code::Count, 12),
    ] {
        assert_eq!(malformed(&frame), Malformed { code, offset });
    }
}

#[test]
fn an_operation_that_is_not_valid_is_refused() {
    let value_of_9 = [0; 9];
    let read = item(Opcode::Read, b"key", b"");
    let scan = Item { length: 1, ..item(Opcode::Scan, b"key", b"") };
    for wrong in [
        item(Opcode::Read, b"", b""),
        item(Opcode::Read, &[0; MOST_KEY_BYTES + 1], b""),
        item(Opcode::Read, b"key", b"value"),
        item(Opcode::Delete, b"key", b"value"),
        item(Opcode::Upsert, b"key", &[0; MOST_VALUE_BYTES + 1]),
        item(Opcode::Add, b"key", b""),
        item(Opcode::Add, b"key", &value_of_9),
        item(Opcode::ReadAt, b"key", b"value"),
        Item { length: MOST_VALUE_BYTES as u32 + 1, ..item(Opcode::ReadAt, b"key", b"") },
        Item { length: 4, ..item(Opcode::WriteAt, b"key", b"value") },
        item(Opcode::Scan, b"key", b""),
        Item { offset: 2, ..scan },
        Item { length: MOST_SCANNED + 1, ..scan },
    ] {
        let frame = request(1, 1, &[read, wrong]);
        let told = malformed(&frame);
        assert_eq!(told, Malformed { code: Code::Field, offset: 48 }, "{wrong:?}");
    }
    let frame = request(1, 1, &[read, read]);
    for (frame, code, offset) in [
        (with(&frame, 48, &[0]), Code::Opcode, 48),
        (with(&frame, 48, &[8]), Code::Opcode, 48),
        (with(&frame, 49, &[1]), Code::Flags, 48),
        (with(&frame, 63, &[1]), Code::Padding, 48),
        // A key or a value that goes beyond the frame.
        (with(&frame, 50, &[100]), Code::Field, 48),
        (with(&frame, 12, &[1]), Code::Length, 4),
        (with(&frame, 12, &[3]), Code::Length, 64),
        (resized(&frame, -8), Code::Field, 48),
        (resized(&frame, 8), Code::Length, 4),
    ] {
        assert_eq!(malformed(&frame), Malformed { code, offset });
    }
}

#[test]
fn a_result_that_is_not_valid_is_refused() {
    let frame = kind(Kind::Reply);
    for (frame, code, offset) in [
        (with(&frame, 32, &[8]), Code::Status, 32),
        (with(&frame, 33, &[1]), Code::Flags, 32),
        (with(&frame, 34, &[1]), Code::Field, 32),
        (with(&frame, 40, &[1]), Code::Field, 40),
        (with(&frame, 55, &[1]), Code::Padding, 40),
        (with(&frame, 44, &[255, 255, 255]), Code::Field, 40),
    ] {
        assert_eq!(malformed(&frame), Malformed { code, offset });
    }
    let frame = kind(Kind::Completions);
    let pending = with(&frame, 40, &[2]);
    assert_eq!(malformed(&pending), Malformed { code: Code::Field, offset: 32 });
    let pending = with(&frame, 64, &[2]);
    assert_eq!(malformed(&pending), Malformed { code: Code::Status, offset: 56 });
    assert_eq!(malformed(&resized(&frame, -8)).code, Code::Length);
}

#[test]
fn a_greeting_that_is_not_valid_is_refused() {
    let frame = kind(Kind::Hello);
    for (frame, code, offset) in [
        (with(&frame, 12, &[1]), Code::Count, 12),
        (with(&frame, 32, &[2]), Code::Field, 32),
        (with(&frame, 34, &[2]), Code::Flags, 34),
        (with(&frame, 35, &[0]), Code::Field, 35),
        (with(&frame, 35, &[65]), Code::Field, 35),
        (with(&frame, 48, &[2]), Code::Field, 48),
        (with(&frame, 50, &[1, 16]), Code::Field, 48),
        (with(&frame, 52, &[1]), Code::Padding, 52),
        (resized(&frame, 8), Code::Length, 4),
        (resized(&frame, -8), Code::Length, 4),
    ] {
        assert_eq!(malformed(&frame), Malformed { code, offset });
    }
    let frame = kind(Kind::Welcome);
    for (frame, code, offset) in [
        (with(&frame, 33, &[4]), Code::Flags, 33),
        // A session whose serials have come to their end.
        (with(&frame, 56, &[255; 8]), Code::Field, 56),
        (with(&frame, 88, &[1, 16]), Code::Field, 88),
        (with(&frame, 92, &[1, 16]), Code::Field, 88),
        (with(&frame, 88, &[3]), Code::Length, 4),
        // Ranges that overlap, go backwards or beyond the last slice.
        (with(&frame, 104, &[0, 7]), Code::Field, 104),
        (with(&frame, 96, &[0, 8]), Code::Field, 96),
        (with(&frame, 106, &[0, 16]), Code::Field, 104),
        (with(&frame, 110, &[1]), Code::Field, 104),
        (resized(&frame, -8), Code::Length, 4),
        (resized(&frame, -96), Code::Length, 4),
    ] {
        assert_eq!(malformed(&frame), Malformed { code, offset });
    }
    assert_eq!(malformed(&resized(&kind(Kind::Prove), 8)).code, Code::Length);
}

#[test]
fn a_notice_that_is_not_valid_is_refused() {
    let (durable, error, view) = (kind(Kind::Durable), kind(Kind::Error), kind(Kind::WrongView));
    let (operate, report) = (kind(Kind::Operate), kind(Kind::Report));
    for (frame, code, offset) in [
        (with(&durable, 12, &[3]), Code::Length, 4),
        (with(&durable, 12, &[1, 16]), Code::Count, 12),
        (with(&error, 34, &[1, 1]), Code::Field, 34),
        (with(&error, 34, &[1]), Code::Length, 4),
        (with(&error, 34, &[100]), Code::Length, 4),
        (with(&error, 34, &[25]), Code::Padding, 65),
        (with(&error, 40, &[255]), Code::Field, 40),
        (resized(&error, 8), Code::Length, 4),
        (with(&view, 12, &[1]), Code::Length, 4),
        (with(&operate, 32, &[9]), Code::Field, 32),
        (with(&operate, 36, &[1]), Code::Padding, 36),
        (resized(&operate, -8), Code::Length, 4),
        (with(&report, 36, &[1]), Code::Padding, 36),
        (with(&report, 32, &[255]), Code::Length, 4),
    ] {
        assert_eq!(malformed(&frame), Malformed { code, offset });
    }
}

#[test]
fn nothing_is_decoded_after_bytes_that_are_not_a_frame() {
    let mut decoder = Decoder::default();
    let first = decoder.next(&mut &[0; 32][..]).unwrap_err();
    let good = kind(Kind::Hello);
    assert_eq!(decoder.next(&mut &good[..]).unwrap_err(), first);
}

#[test]
fn a_reason_names_the_place() {
    let told = malformed(&with(&kind(Kind::RequestFixed), 33, &[9])).to_string();
    expect_test::expect!["an unknown opcode, at byte 33 of the frame"].assert_eq(&told);
}
