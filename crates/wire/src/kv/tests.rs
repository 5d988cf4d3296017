//! Frames there and back, and everything that is refused.

mod malformed;
mod mutations;
mod transcripts;

use super::*;

/// The example of the protocol's description: READ 1, and ADD 5 to 2, in view 7.
const VECTOR: &str = "424b0110400000000700000002000000640000000000000000000000d53ae5f1\
                      0103000000000000010000000000000002000000000000000500000000000000";

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hands the frame of these bytes to `check`, which they are as a whole.
fn decoded<T>(bytes: &[u8], check: impl FnOnce(Frame<'_>) -> T) -> Result<T, Malformed> {
    let (mut decoder, mut rest) = (Decoder::default(), bytes);
    let frame = decoder.next(&mut rest)?.expect("the frame is complete");
    assert!(rest.is_empty());
    Ok(check(frame))
}

fn malformed(bytes: &[u8]) -> Malformed {
    decoded(bytes, |frame| panic!("{frame:?}")).unwrap_err()
}

/// Gives a frame the checksum that its bytes have now.
fn reseal(frame: &mut [u8]) {
    if Kind::of(frame[3]).is_some() {
        super::reseal(frame, Checksums::On);
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}

const HELLO: Hello = Hello {
    versions: (1, 1),
    checksums: Checksums::On,
    pipeline: 2,
    shard: None,
    session: None,
    position: None,
};

/// The whole hash space, of one server.
const ALL: [Range; 1] = [Range { first: 0, last: SLICES - 1, owner: 1 }];

fn welcome() -> Welcome<'static> {
    Welcome {
        version: 1,
        checksums: Checksums::On,
        wants_proof: false,
        id: 1,
        shards: 1,
        shard: 0,
        seed: 0,
        session: 0x0123_4567_89AB_CDEF,
        executed: 0,
        through: 0,
        nonce: *b"0123456789abcdef",
        owners: Owners::default(),
        except: Serials::default(),
    }
}

fn request_fixed(serial: u64, view: u32, ops: &[(Opcode, u64, Option<u64>)]) -> Vec<u8> {
    let opcodes: Vec<u8> = ops.iter().map(|(opcode, ..)| *opcode as u8).collect();
    let keys: Vec<u64> = ops.iter().map(|(_, key, _)| *key).collect();
    let values: Vec<u64> = ops.iter().filter_map(|(.., value)| *value).collect();
    let write = |out: &mut Vec<u8>| {
        encode_request_fixed((view, serial), &opcodes, &keys, &values, Checksums::On, out);
    };
    written(write)
}

fn request(serial: u64, view: u32, items: &[Item<'_>]) -> Vec<u8> {
    written(|out| {
        let frame = Opening::begin(Kind::Request, view, serial, Checksums::On, out);
        items.iter().for_each(|item| encode_item(item, out));
        frame.finish(items.len(), out);
    })
}

fn reply(serial: u64, view: u32, answers: &[Answer<'_>]) -> Vec<u8> {
    written(|out| {
        let frame = Opening::begin(Kind::Reply, view, serial, Checksums::On, out);
        answers.iter().for_each(|answer| encode_answer(answer, out));
        frame.finish(answers.len(), out);
    })
}

fn item<'a>(opcode: Opcode, key: &'a [u8], value: &'a [u8]) -> Item<'a> {
    let length = if opcode == Opcode::WriteAt { value.len() as u32 } else { 0 };
    Item { opcode, offset: 0, length, key, value }
}

fn items() -> Vec<Item<'static>> {
    vec![
        item(Opcode::Upsert, b"name", b"value"),
        item(Opcode::Read, b"name", b""),
        Item { offset: 1, length: 3, ..item(Opcode::ReadAt, b"name", b"") },
        item(Opcode::WriteAt, b"name", b"V"),
        item(Opcode::Add, b"n", &[2, 0, 0, 0, 0, 0, 0, 0]),
        Item { length: 10, ..item(Opcode::Scan, b"n", b"") },
        item(Opcode::Delete, b"name", b""),
        item(Opcode::Upsert, &[7; MOST_KEY_BYTES], b""),
    ]
}

fn answers() -> Vec<Answer<'static>> {
    vec![
        Answer { status: Status::Ok, value: b"" },
        Answer { status: Status::Ok, value: b"value" },
        Answer { status: Status::Ok, value: b"12345678" },
        Answer { status: Status::NotFound, value: b"" },
        Answer { status: Status::Pending, value: b"" },
    ]
}

/// One frame of each kind.
fn every_kind() -> Vec<Vec<u8>> {
    let on = Checksums::On;
    let hello = Hello { shard: Some(3), session: Some(9), position: Some((1, 2)), ..HELLO };
    let except = [5, 7];
    let halves =
        [Range { first: 0, last: 2047, owner: 1 }, Range { first: 2048, last: 4095, owner: 2 }];
    let completion =
        |serial, status, value| Completion { serial, answer: Answer { status, value } };
    vec![
        written(|out| encode_hello(&hello, out)),
        written(|out| encode_welcome(7, &welcome(), &halves, &except, out)),
        written(|out| encode_prove(&[3; 32], out)),
        written(|out| encode_operate(Verb::Stats, on, out)),
        written(|out| encode_report("{\"é\":1}", on, out)),
        from_hex(VECTOR),
        request(1, 7, &items()),
        written(|out| encode_reply_fixed((7, 100), &[0, 0, 1], &5u64.to_le_bytes(), on, out)),
        reply(1, 7, &answers()),
        written(|out| {
            let frame = Opening::begin(Kind::Completions, 7, 0, on, out);
            encode_completion(&completion(4, Status::Ok, b"late"), out);
            encode_completion(&completion(2, Status::NotFound, b""), out);
            frame.finish(2, out);
        }),
        written(|out| encode_wrong_view(8, 100, &halves, on, out)),
        written(|out| encode_durable(99, &except, on, out)),
        written(|out| encode_error(Code::Serial, 16, Code::Serial.as_str(), on, out)),
    ]
}

#[test]
fn the_example_is_what_the_description_says() {
    let bytes = from_hex(VECTOR);
    let ops = [(Opcode::Read, 1, None), (Opcode::Add, 2, Some(5))];
    assert_eq!(to_hex(&request_fixed(100, 7, &ops)), VECTOR);
    decoded(&bytes, |frame| {
        let Body::RequestFixed(batch) = frame.body else { panic!("{frame:?}") };
        assert_eq!((frame.header.view, frame.header.serial, frame.header.count), (7, 100, 2));
        assert_eq!(batch.opcodes, [1, 3]);
        assert!(batch.keys().eq([1, 2]) && batch.values().eq([5]));
    })
    .unwrap();
}

#[test]
fn a_batch_of_32_kib_holds_1925_writes() {
    let write = (Opcode::Upsert, 1, Some(2));
    assert!(request_fixed(1, 1, &[write; 1925]).len() <= 32 * 1024);
    assert!(32 * 1024 < request_fixed(1, 1, &[write; 1926]).len());
}

#[test]
fn every_kind_goes_there_and_back() {
    let frames = every_kind();
    for (bytes, kind) in frames.iter().zip(Kind::ALL) {
        decoded(bytes, |frame| assert_eq!(frame.header.kind, kind)).unwrap();
        assert_eq!(Kind::of(bytes[3]), Some(kind));
    }
    assert_eq!(frames.len(), Kind::ALL.len());
    decoded(&frames[0], |frame| {
        let hello = Hello { shard: Some(3), session: Some(9), position: Some((1, 2)), ..HELLO };
        assert_eq!(frame.body, Body::Hello(hello));
    })
    .unwrap();
    decoded(&frames[1], |frame| {
        let Body::Welcome(told) = frame.body else { panic!("{frame:?}") };
        assert_eq!(told.owners.ranges().map(|range| range.owner).collect::<Vec<_>>(), [1, 2]);
        assert!(told.except.serials().eq([5, 7]));
        let (owners, except) = (Owners::default(), Serials::default());
        assert_eq!(Welcome { owners, except, ..told }, welcome());
    })
    .unwrap();
    decoded(&frames[4], |frame| assert_eq!(frame.body, Body::Report("{\"é\":1}"))).unwrap();
    decoded(&frames[6], |frame| {
        let Body::Request(told) = frame.body else { panic!("{frame:?}") };
        assert!(told.eq(items()));
    })
    .unwrap();
    decoded(&frames[7], |frame| {
        let Body::ReplyFixed(told) = frame.body else { panic!("{frame:?}") };
        assert!(told.fits(&[1, 4, 1]) && !told.fits(&[1, 3, 1]) && !told.fits(&[1, 4]));
    })
    .unwrap();
    decoded(&frames[8], |frame| {
        let Body::Reply(told) = frame.body else { panic!("{frame:?}") };
        assert!(told.eq(answers()));
    })
    .unwrap();
    decoded(&frames[9], |frame| {
        let Body::Completions(told) = frame.body else { panic!("{frame:?}") };
        let told: Vec<_> = told.map(|done| (done.serial, done.answer.value)).collect();
        assert_eq!(told, [(4, &b"late"[..]), (2, b"")]);
    })
    .unwrap();
    decoded(&frames[12], |frame| {
        let Body::Error(told) = frame.body else { panic!("{frame:?}") };
        assert_eq!(
            (told.code, told.offset, told.text),
            (Code::Serial, 16, "the serial does not follow")
        );
    })
    .unwrap();
}

#[test]
fn a_text_that_is_too_long_is_cut_between_two_characters() {
    let text = "é".repeat(200);
    let bytes = written(|out| encode_error(Code::Other, 0, &text, Checksums::On, out));
    decoded(&bytes, |frame| {
        let Body::Error(told) = frame.body else { panic!("{frame:?}") };
        assert_eq!(told.text, "é".repeat(128));
    })
    .unwrap();
}

#[test]
fn checksums_are_off_only_after_both_have_agreed() {
    let ops = [(Opcode::Read, 1, None)];
    let sealed = request_fixed(1, 1, &ops);
    let mut open = sealed.clone();
    open[28..32].fill(0);
    assert_eq!(malformed(&open), Malformed { code: Code::Checksum, offset: 28 });
    let mut decoder = Decoder::default();
    decoder.agree(Checksums::Off);
    assert!(decoder.next(&mut &open[..]).unwrap().is_some());
    assert_eq!(decoder.next(&mut &sealed[..]).unwrap_err().code, Code::Checksum);
    let mut hello = written(|out| encode_hello(&HELLO, out));
    hello[28..32].fill(0);
    let mut decoder = Decoder::default();
    decoder.agree(Checksums::Off);
    assert_eq!(decoder.next(&mut &hello[..]).unwrap_err().code, Code::Checksum);
    let mut resealed = open;
    reseal(&mut resealed);
    assert_eq!(resealed, sealed);
}

#[test]
fn the_beginning_of_a_frame_takes_no_more_memory_than_it_has_bytes() {
    let mut frame = request_fixed(1, 1, &[(Opcode::Read, 1, None)]);
    frame[4..8].copy_from_slice(&(MOST_FRAME_BYTES as u32).to_le_bytes());
    let mut decoder = Decoder::default();
    assert_eq!(decoder.next(&mut &frame[..40]).unwrap(), None);
    assert!(decoder.held() < 100 && decoder.is_within_frame());
}

#[test]
fn the_memory_of_a_large_frame_in_pieces_is_freed_after_it() {
    let write = (Opcode::Upsert, 1, Some(2));
    let large = request_fixed(1, 1, &[write; 50_000]);
    let mut decoder = Decoder::default();
    assert_eq!(decoder.next(&mut &large[..1000]).unwrap(), None);
    assert!(decoder.next(&mut &large[1000..]).unwrap().is_some());
    assert!(large.len() <= decoder.held() && !decoder.is_within_frame());
    assert_eq!(decoder.next(&mut &[][..]).unwrap(), None);
    assert_eq!(decoder.held(), 0);
}
