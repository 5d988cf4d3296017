//! Refusals: each ends its own connection, and nothing else.

use super::*;

/// Sends bytes on a connection with a session, and expects this refusal, and the end.
fn refused(server: &Server, bytes: &[u8], code: Code, offset: u32) {
    let mut client = Client::greet(server, &HELLO);
    client.send(bytes);
    assert_eq!(client.receive(), Told::Error(code, offset));
    assert_eq!(client.receive(), Told::Ended);
}

#[test]
fn a_malformed_frame_ends_its_connection_and_executes_nothing() {
    let server = serve(1);
    let mut witness = Client::greet(&server, &HELLO);
    let good = fixed(1, &[ADD_1, ADD_1]);
    let with = |at: usize, byte: u8, is_sealed: bool| {
        let mut frame = good.clone();
        frame[at] = byte;
        if is_sealed {
            wire::kv::reseal(&mut frame, Checksums::On);
        }
        frame
    };
    refused(&server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", Code::Magic, 0);
    refused(&server, &with(2, 2, false), Code::Version, 2);
    refused(&server, &with(3, 0x77, false), Code::Kind, 3);
    refused(&server, &with(7, 1, false), Code::Length, 4);
    refused(&server, &with(14, 2, false), Code::Count, 12);
    refused(&server, &with(24, 1, true), Code::Flags, 24);
    refused(&server, &with(40, 9, false), Code::Checksum, 28);
    refused(&server, &with(33, 9, true), Code::Opcode, 33);
    refused(&server, &with(39, 9, true), Code::Padding, 34);
    refused(&server, &with(33, 1, true), Code::Length, 4);
    refused(&server, &with(16, 2, true), Code::Serial, 16);
    refused(&server, &with(16, 0, true), Code::Serial, 16);
    refused(&server, &greeting(&HELLO), Code::Unexpected, 3);
    let counts = server.counts(0);
    assert_eq!((counts.of(Counted::Malformed), counts.of(Counted::Batches)), (13, 0));
    assert_eq!(witness.fixed(&[ADD_1]).1, [1]);
}

#[test]
fn a_batch_behind_a_malformed_one_is_not_executed() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    let mut bad = fixed(2, &[ADD_1]);
    bad[32] = 9;
    wire::kv::reseal(&mut bad, Checksums::On);
    client.send(&[fixed(1, &[ADD_1]), bad, fixed(2, &[ADD_1])].concat());
    assert!(matches!(client.receive(), Told::Fixed(1, ..)));
    assert_eq!(client.receive(), Told::Error(Code::Opcode, 32));
    assert_eq!(client.receive(), Told::Ended);
    assert_eq!(server.counts(0).of(Counted::Batches), 1);
}

#[test]
fn a_batch_of_another_view_is_bounced_and_its_serial_is_free() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    let mut other = fixed(1, &[ADD_1]);
    other[8] = 9;
    wire::kv::reseal(&mut other, Checksums::On);
    client.send(&other);
    assert_eq!(client.receive(), Told::WrongView(VIEW, 1));
    assert_eq!(client.fixed(&[ADD_1]).1, [1]);
}

#[test]
fn a_version_that_the_server_does_not_speak_is_refused() {
    let server = serve(1);
    let mut client = Client::connect(&server);
    client.send(&greeting(&Hello { versions: (2, 3), ..HELLO }));
    assert_eq!(client.receive(), Told::Error(Code::Version, 32));
}

#[test]
fn another_list_of_servers_is_refused_once_there_is_data() {
    let server = serve(1);
    let at = |position| Hello { position, ..HELLO };
    // An empty server takes any.
    Client::greet(&server, &at(Some((1, 3))));
    let mut client = Client::greet(&server, &at(Some((0, 2))));
    client.fixed(&[ADD_1]);
    let mut other = Client::connect(&server);
    other.send(&greeting(&at(Some((1, 2)))));
    assert_eq!(other.receive(), Told::Error(Code::TopologyMismatch, 0));
    Client::greet(&server, &at(Some((0, 2))));
    Client::greet(&server, &at(None));
}

#[test]
fn of_two_lists_that_came_to_an_empty_server_one_is_refused() {
    let server = serve(2);
    let at = |position| Hello { position: Some(position), ..HELLO };
    let mut late = Client::greet(&server, &at((1, 2)));
    let mut first = Client::greet(&server, &at((0, 2)));
    first.fixed(&[ADD_1]);
    late.begin(&[ADD_1]);
    assert_eq!(late.receive(), Told::Error(Code::TopologyMismatch, 0));
    // Nothing of it was executed.
    assert_eq!(first.fixed(&[ADD_1]).1, [2]);
}

#[test]
fn a_client_proves_that_it_knows_the_token() {
    let token = Some(Token::new(b"secret"));
    let server = Server::start(Options { token, ..options(2) }, store()).unwrap();
    for (token, is_right) in [(&b"secret"[..], true), (b"guess", false)] {
        let mut client = Client::connect(&server);
        client.send(&greeting(&HELLO));
        let Told::Welcome { session: 0, wants_proof: true, nonce, .. } = client.receive() else {
            panic!("a proof is wanted first")
        };
        let mut proof = Vec::new();
        wire::kv::encode_prove(&Token::new(token).proof(&nonce), &mut proof);
        client.send(&proof);
        match (client.receive(), is_right) {
            (Told::Welcome { wants_proof: false, .. }, true) => {
                assert_eq!(client.fixed(&[ADD_1]).1, [1]);
            }
            (told, false) => assert_eq!(told, Told::Error(Code::Denied, 0)),
            (told, true) => panic!("{told:?}"),
        }
    }
    // Without a proof nothing is executed.
    let mut client = Client::connect(&server);
    client.send(&[greeting(&HELLO), fixed(1, &[ADD_1])].concat());
    assert!(matches!(client.receive(), Told::Welcome { .. }));
    assert_eq!(client.receive(), Told::Error(Code::Unexpected, 3));
    let ask = |token: Option<&[u8]>| {
        let token = token.map(Token::new);
        crate::operator::ask(server.address(), wire::kv::Verb::Stats, token.as_ref())
    };
    assert!(ask(Some(b"secret")).is_ok());
    let refusals = [None, Some(&b"guess"[..])].map(|token| ask(token).unwrap_err().to_string());
    assert_eq!(
        refusals,
        [
            "the server wants a token; give it with --token-file",
            "the server refuses: the proof of the token is wrong"
        ]
    );
}

#[test]
fn the_proof_is_the_one_of_the_standard() {
    // RFC 4231, test case 2, has other data; this was computed with Python's hmac.
    let proof = Token::new(b"key").proof(b"0123456789abcdef");
    let hex: String = proof.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "b0349a882ba44d3701830e212e02401cfd738a51d54fd91a73f6485caa292b26");
}

/// Sends mutated sessions. The number is that of a minute; `BENCHWRIGHT_MUTATIONS` sets another one.
#[test]
fn mutated_sessions_neither_stop_the_server_nor_hang() {
    let number = std::env::var("BENCHWRIGHT_MUTATIONS").map_or(500, |n| n.parse().unwrap());
    let server = serve(2);
    let mut random = measure::Random::new(1);
    let valid = [
        greeting(&HELLO),
        fixed(1, &[ADD_1, (Opcode::Read, 2, None), (Opcode::Upsert, 3, Some(4))]),
        sized(4, &[upsert(b"name", b"value"), read(b"name")]),
        fixed(6, &[ADD_1; 100]),
    ];
    for _ in 0..number {
        let mut frames = valid.clone();
        for _ in 0..1 + random.below(3) {
            let frame = &mut frames[random.below(4) as usize];
            let at = random.below(frame.len() as u64) as usize;
            frame[at] = random.below(256) as u8;
            if random.below(4) != 0 && wire::kv::Kind::ALL.iter().any(|k| *k as u8 == frame[3]) {
                wire::kv::reseal(frame, Checksums::On);
            }
        }
        let mut client = Client::connect(&server);
        let mut bytes = frames.concat();
        bytes.truncate(1 + random.below(bytes.len() as u64) as usize);
        // The server may have closed it already.
        let _ = client.socket.write_all(&bytes);
        let _ = client.socket.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(&mut client.socket, &mut std::io::sink());
    }
    let mut client = Client::greet(&server, &HELLO);
    client.fixed(&[ADD_1]);
    assert!(!server.has_failed());
}
