use expect_test::expect;

use super::*;

fn sender() -> Header {
    let compared = Compared {
        address: "10.0.0.2:8080".to_owned(),
        clock: "b".to_owned(),
        before: Ahead { ahead_ns: -100, error_ns: 7 },
        after: Some(Ahead { ahead_ns: -120, error_ns: 9 }),
    };
    let sender = Sender {
        sources: vec!["/a".to_owned(), "/b".to_owned()],
        outcomes: vec!["accepted".to_owned(), "timeout".to_owned()],
        from_ns: 5,
        to_ns: 50,
        compared: vec![compared],
    };
    Header { tool: "test".to_owned(), ..Header::new(Some("a".to_owned()), Side::Sender(sender)) }
}

fn receiver() -> Header {
    Header { tool: "test".to_owned(), ..Header::new(None, Side::Receiver) }
}

/// Returns the header, a line for each note, and what follows.
fn lines(mut file: &[u8]) -> Result<(Header, Vec<String>, Rest), String> {
    let header = Header::read(&mut file)?;
    let mut lines = Vec::new();
    let rest = read(&mut file, |note| {
        lines.push(match note {
            Note::Source(source) => format!("source {}", source.escape_ascii()),
            Note::Arrival { source, id, at } => {
                format!("{source} {} at {}", id.escape_ascii(), at.0)
            }
            Note::Sent { source, sent } => {
                format!("{source} sent {} outcome {}", sent.number(), sent.outcome())
            }
        });
        Ok(())
    })?;
    Ok((header, lines, rest))
}

fn of_receiver() -> Vec<u8> {
    let mut arrivals = Arrivals::default();
    let mut file = receiver().line();
    for (source, id, at) in [("/a", "0", 5), ("/b", "0", 6), ("/a", "é", 7)] {
        assert!(arrivals.note(source.as_bytes(), id.as_bytes(), Instant(at)));
    }
    file.extend(arrivals.close().bytes);
    assert!(arrivals.note(b"/c", b"", Instant(8)));
    file.extend(arrivals.close().bytes);
    assert_eq!(arrivals.close(), Blocks::default());
    file.extend(end(End { noted: 4, unnoted: 1, until_ns: Some(9) }));
    file
}

#[test]
fn a_receivers_notes_are_in_the_order_of_arrival() {
    let (header, lines, rest) = lines(&of_receiver()).unwrap();
    assert_eq!(header, receiver());
    expect![[r#"
        source /a
        source /b
        0 0 at 5
        1 0 at 6
        0 \xc3\xa9 at 7
        source /c
        2  at 8"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(rest, Rest { end: Some(End { noted: 4, unnoted: 1, until_ns: Some(9) }), torn: 0 });
}

#[test]
fn a_senders_notes_are_by_its_sources() {
    let sent = |number, outcome| Sent::new(number, outcome, (Instant(1), Instant(2), Instant(3)));
    let many: Vec<Sent> = (0..2 * SENT_OF_BLOCK as u64 + 1).map(|n| sent(n, 0)).collect();
    let mut file = Vec::new();
    write_sent(&sender(), &[many.clone(), vec![sent(7, 1)]], 3, &mut file).unwrap();
    let (header, lines, rest) = lines(&file).unwrap();
    assert_eq!(header, sender());
    assert_eq!(lines.len(), many.len() + 1);
    assert_eq!(lines[many.len() - 1], format!("0 sent {} outcome 0", many.len() - 1));
    assert_eq!(lines[many.len()], "1 sent 7 outcome 1");
    let end = End { noted: many.len() as u64 + 1, unnoted: 3, until_ns: None };
    assert_eq!(rest, Rest { end: Some(end), torn: 0 });
    let Side::Sender(sender) = header.side else { panic!("it is a sender's") };
    let offset = sender.compared[0].offset().unwrap();
    assert_eq!(offset, Offset { ahead_ns: -110, error: Nanos(29) });
}

#[test]
fn the_begin_of_a_cut_file_is_read() {
    let file = of_receiver();
    let all = lines(&file).unwrap().1;
    let header = receiver().line().len();
    let mut found = Vec::new();
    for length in header..file.len() {
        let (_, some, rest) = lines(&file[..length]).unwrap();
        assert!(all.starts_with(&some) && rest.end.is_none(), "{length}");
        assert!(rest.torn < 70, "{length}: {rest:?}");
        found.push(some.len());
    }
    found.dedup();
    assert_eq!(found, [0, 1, 2, 5, 6, 7]);
}

#[test]
fn nothing_after_a_damaged_block_is_read() {
    let file = of_receiver();
    let (_, all, _) = lines(&file).unwrap();
    for at in receiver().line().len()..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 0x10;
        let (_, some, rest) = lines(&damaged).unwrap();
        assert!(all.starts_with(&some) && some.len() <= all.len(), "{at}");
        assert!(0 < rest.torn && rest.end.is_none(), "{at}: {rest:?}");
    }
    let mut more = file.clone();
    more.extend_from_slice(&end(End::default()));
    assert!(0 < lines(&more).unwrap().2.torn, "nothing follows the end");
}

#[test]
fn a_whole_block_with_a_wrong_content_is_an_error() {
    for (kind, content) in [
        (kind::ARRIVALS, &b"\0\0"[..]),
        (kind::ARRIVALS, b"\x03\0aaaaaaaa\0"),
        (kind::ARRIVALS, b"\0\0aaaaaaaa\x05abc"),
        (kind::SENT, b"\0"),
        (kind::SENT, b"\0\0x"),
        (kind::END, b"[]"),
    ] {
        let mut file = receiver().line();
        put_block(kind::SOURCE, b"/a", &mut file);
        put_block(kind, content, &mut file);
        let error = lines(&file).unwrap_err();
        assert!(error.ends_with("has a wrong content"), "{error}");
    }
    let mut file = receiver().line();
    put_block(b'Z', b"of a later version", &mut file);
    assert_eq!(lines(&file).unwrap().1, [""; 0]);
}

#[test]
fn what_is_not_a_file_of_notes_is_refused_with_the_reason() {
    let why = |file: &[u8]| lines(file).unwrap_err();
    expect!["the file is empty: a sender writes its notes at the end of its load, and this one ended before"]
        .assert_eq(&why(b""));
    expect!["it does not begin with the header of a file of notes"].assert_eq(&why(b"\x7fELF\n"));
    expect!["it is of the format benchwright.notes/2, and this tool reads benchwright.notes/1"]
        .assert_eq(&why(b"{\"schema\": \"benchwright.notes/2\"}\n"));
    let damaged = why(b"{\"schema\": \"benchwright.notes/1\"}\n");
    assert!(damaged.starts_with("its header is damaged: missing field"), "{damaged}");
    assert_eq!(why(&vec![b'{'; 2 << 20]), why(b"{"));
}

#[test]
fn sources_and_ids_have_bounds() {
    let mut arrivals = Arrivals::default();
    assert!(arrivals.note(&[b'a'; arrivals::MOST_SOURCE_BYTES], &[b'1'; 255], Instant(1)));
    assert!(!arrivals.note(&[b'a'; arrivals::MOST_SOURCE_BYTES + 1], b"1", Instant(1)));
    assert!(!arrivals.note(b"a", &[b'1'; 256], Instant(1)));
    for number in 1..arrivals::MOST_SOURCES {
        assert!(arrivals.note(number.to_string().as_bytes(), b"1", Instant(1)), "{number}");
    }
    assert!(!arrivals.note(b"one more", b"1", Instant(1)));
    let before = arrivals.close();
    assert_eq!(before.arrivals, arrivals::MOST_SOURCES as u64);
    let mut more = 0;
    while !arrivals.is_full() {
        assert!(arrivals.note(b"17", b"1", Instant(1)));
        more += 1;
    }
    assert_eq!((arrivals.close().arrivals, arrivals.is_full()), (more, false));
    assert!((1000..10_000).contains(&more), "{more}");
}

#[test]
fn blocks_that_are_given_up_leave_their_sources() {
    let mut arrivals = Arrivals::default();
    assert!(arrivals.note(b"/a", b"1", Instant(1)));
    let blocks = arrivals.close();
    assert!(arrivals.note(b"/b", b"2", Instant(2)));
    arrivals.give_back(blocks);
    let mut file = receiver().line();
    file.extend(arrivals.close().bytes);
    assert_eq!(lines(&file).unwrap().1, ["source /a", "source /b", "1 2 at 2"]);
}

#[test]
fn an_id_of_ours_is_a_plain_number() {
    assert_eq!(number(b"0"), Some(0));
    assert_eq!(number(b"1200"), Some(1200));
    assert_eq!(number(Sent::MOST_NUMBER.to_string().as_bytes()), Some(Sent::MOST_NUMBER));
    let too_large = (Sent::MOST_NUMBER + 1).to_string();
    for other in ["", "01", "+1", "-1", "1 ", "1.0", "a", "99999999999999999999", "é", &too_large]
    {
        assert_eq!(number(other.as_bytes()), None, "{other}");
    }
}
