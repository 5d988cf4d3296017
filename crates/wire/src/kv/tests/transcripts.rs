//! Conversations of a client and a server, byte by byte. The tests of the program have an independent
//! client hold them with a real server.

use std::fmt::Write;

use expect_test::expect_file;

use super::*;

/// A conversation: what happens in it, and its frames.
struct Transcript {
    name: &'static str,
    frames: Vec<(Side, Vec<u8>)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Client,
    Server,
}

fn transcripts() -> Vec<Transcript> {
    let on = Checksums::On;
    let ok = |value| Answer { status: Status::Ok, value };
    let not_found = Answer { status: Status::NotFound, value: b"" };
    let wrong_type = Answer { status: Status::WrongType, value: b"" };
    let pending = Answer { status: Status::Pending, value: b"" };
    let scan = Item { length: 1, ..item(Opcode::Scan, b"scanned", b"") };
    let reply_fixed = |serial, statuses: &[u8], values: &[u64]| {
        let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        written(|out| encode_reply_fixed((1, serial), statuses, &values, on, out))
    };
    let refused =
        |code: Code, offset| written(|out| encode_error(code, offset, code.as_str(), on, out));
    let client = |frame| (Side::Client, frame);
    let server = |frame| (Side::Server, frame);
    let negative = (-1i64).cast_unsigned();
    let (one, two) = (1u64.to_le_bytes(), 2u64.to_le_bytes());
    let sized = [
        item(Opcode::Upsert, b"name", b"value"),
        item(Opcode::Read, b"name", b""),
        Item { offset: 1, length: 3, ..item(Opcode::ReadAt, b"name", b"") },
        item(Opcode::WriteAt, b"name", b"V"),
        item(Opcode::Read, b"name", b""),
        item(Opcode::Add, b"name", &one),
        item(Opcode::Add, b"number", &two),
        Item { offset: 5, length: 1, ..item(Opcode::ReadAt, b"name", b"") },
        item(Opcode::Delete, b"name", b""),
        item(Opcode::Read, b"name", b""),
        item(Opcode::Upsert, b"name", b""),
        item(Opcode::Read, b"name", b""),
    ];
    let sized_answers = [
        ok(b""),
        ok(b"value"),
        ok(b"alu"),
        ok(b""),
        ok(b"Value"),
        wrong_type,
        ok(&two),
        wrong_type,
        ok(b""),
        not_found,
        ok(b""),
        ok(b""),
    ];
    let read_1 = [(Opcode::Read, 1, None)];
    let mut bad_opcode = request_fixed(1, 1, &read_1);
    bad_opcode[32] = 9;
    reseal(&mut bad_opcode);
    let mut bad_checksum = request_fixed(1, 1, &read_1);
    bad_checksum[28] ^= 1;
    let greeted = |frames: Vec<(Side, Vec<u8>)>| {
        let hello = written(|out| encode_hello(&HELLO, out));
        let welcome = written(|out| encode_welcome(1, &welcome(), &ALL, &[], out));
        [vec![client(hello), server(welcome)], frames].concat()
    };
    vec![
        Transcript {
            name: "numbers: 1 gets 5, 2 gets 7, 1 loses 1 and is deleted",
            frames: greeted(vec![
                client(request_fixed(
                    1,
                    1,
                    &[
                        (Opcode::Add, 1, Some(5)),
                        (Opcode::Read, 1, None),
                        (Opcode::Read, 2, None),
                        (Opcode::Upsert, 2, Some(7)),
                    ],
                )),
                server(reply_fixed(1, &[0, 0, 1, 0], &[5, 5])),
                client(request_fixed(
                    5,
                    1,
                    &[
                        (Opcode::Read, 2, None),
                        (Opcode::Add, 1, Some(negative)),
                        (Opcode::Delete, 1, None),
                        (Opcode::Read, 1, None),
                    ],
                )),
                server(reply_fixed(5, &[0, 0, 0, 1], &[7, 4])),
            ]),
        },
        Transcript {
            name: "names: values of any length, parts of them, and values of the wrong type",
            frames: greeted(vec![
                client(request(1, 1, &sized)),
                server(reply(1, 1, &sized_answers)),
            ]),
        },
        Transcript {
            name: "a batch of another view is not executed, and may be sent again",
            frames: greeted(vec![
                client(request_fixed(1, 9, &read_1)),
                server(written(|out| encode_wrong_view(1, 1, &ALL, on, out))),
                client(request_fixed(1, 1, &read_1)),
                server(reply_fixed(1, &[1], &[])),
            ]),
        },
        Transcript {
            name: "a repeated batch is answered, and not executed again",
            frames: greeted(vec![
                client(request_fixed(1, 1, &[(Opcode::Add, 3, Some(1))])),
                server(reply_fixed(1, &[0], &[1])),
                client(request_fixed(1, 1, &[(Opcode::Add, 3, Some(1))])),
                server(reply_fixed(1, &[0], &[1])),
            ]),
        },
        Transcript {
            name: "a scan is pending, and its records follow",
            frames: greeted(vec![
                client(request(1, 1, &[item(Opcode::Upsert, b"scanned", b"value")])),
                server(reply(1, 1, &[ok(b"")])),
                client(request(2, 1, &[scan])),
                server(reply(2, 1, &[pending])),
                server(written(|out| {
                    let frame = super::Opening::begin(Kind::Completions, 1, 0, on, out);
                    let answer = ok(b"\x07\0\0\0\x05\0\0\0scannedvalue\0\0\0\0");
                    encode_completion(&Completion { serial: 2, answer }, out);
                    frame.finish(1, out);
                })),
            ]),
        },
        Transcript {
            name: "a serial that does not follow ends the connection",
            frames: greeted(vec![
                client(request_fixed(2, 1, &read_1)),
                server(refused(Code::Serial, 16)),
            ]),
        },
        Transcript {
            name: "an unknown opcode ends the connection",
            frames: greeted(vec![client(bad_opcode), server(refused(Code::Opcode, 32))]),
        },
        Transcript {
            name: "a wrong checksum ends the connection",
            frames: greeted(vec![client(bad_checksum), server(refused(Code::Checksum, 28))]),
        },
        Transcript {
            name: "a batch before HELLO ends the connection",
            frames: vec![
                client(request_fixed(1, 1, &read_1)),
                server(refused(Code::Unexpected, 3)),
            ],
        },
        Transcript {
            name: "what is not a frame ends the connection",
            frames: vec![
                client(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
                server(refused(Code::Magic, 0)),
            ],
        },
    ]
}

/// The bytes of a frame in hexadecimal digits, with `??` for those that differ each time: the session
/// and the nonce of a WELCOME, and so its checksum.
fn shown(frame: &[u8]) -> String {
    let is_welcome = Kind::of(frame[3]) == Some(Kind::Welcome);
    let differs =
        |at: usize| is_welcome && [28..32, 48..56, 72..88].iter().any(|r| r.contains(&at));
    let mut text = String::new();
    for (at, byte) in frame.iter().enumerate() {
        match differs(at) {
            true => text.push_str("??"),
            false => write!(text, "{byte:02x}").unwrap(),
        }
    }
    text
}

#[test]
fn the_transcripts_are_those_of_the_file() {
    let mut text = "# Conversations with an empty server of one shard with the id 1: `>` is what the client\n\
                    # sends, `<` what the server sends, `??` any byte. Each begins with a new connection.\n"
        .to_owned();
    for Transcript { name, frames } in transcripts() {
        writeln!(text, "\n# {name}").unwrap();
        for (side, frame) in frames {
            let sign = if side == Side::Client { '>' } else { '<' };
            writeln!(text, "{sign} {}", shown(&frame)).unwrap();
        }
    }
    expect_file!["transcripts.txt"].assert_eq(&text);
}

#[test]
fn what_the_server_sends_in_a_transcript_is_read() {
    for Transcript { name, frames } in transcripts() {
        let (mut decoder, mut last) = (Decoder::default(), None);
        for (_, frame) in frames.iter().filter(|(side, _)| *side == Side::Server) {
            last = decoder.next(&mut &frame[..]).unwrap().map(|frame| frame.header.kind);
        }
        assert_eq!(last == Some(Kind::Error), name.contains("ends the connection"), "{name}");
    }
}
