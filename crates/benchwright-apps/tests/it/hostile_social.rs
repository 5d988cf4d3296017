//! Hostile requests at every route of the social network, and hostile calls at every port of its
//! services: whatever is sent, it is refused, a well-behaved person can still write, and the most
//! memory that a process ever had is bounded.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use apps::kit::jwt::Secret;
use apps::social::api::common::Account;
use apps::social::session;
use bytes::Bytes;

use crate::grpc::{Grpc, framed};
use crate::instance::now;
use crate::network::{Network, ask};
use crate::raw::{LONG, Unfinished, head, pour};
use crate::services::{Caller, wait_for};

const ROUTES: [&str; 22] = [
    "/wrk2-api/user/register",
    "/wrk2-api/user/follow",
    "/wrk2-api/user/unfollow",
    "/wrk2-api/post/compose",
    "/wrk2-api/home-timeline/read",
    "/wrk2-api/user-timeline/read",
    "/api/user/register",
    "/api/user/login",
    "/api/user/follow",
    "/api/user/unfollow",
    "/api/user/get_follower",
    "/api/user/get_followee",
    "/api/post/compose",
    "/api/home-timeline/read",
    "/api/user-timeline/read",
    "/",
    "/social.js",
    "/nowhere",
    "/healthz",
    "/metrics",
    "/counts",
    "/snapshot",
];

/// The routes that need a session, with a query and a form for all of them.
const OF_SESSIONS: [&str; 5] = [
    "/api/user/get_follower",
    "/api/user/get_followee",
    "/api/post/compose",
    "/api/home-timeline/read",
    "/api/user-timeline/read",
];

/// The definitions of the calls of each service.
const CALLS: [(&str, &str); 17] = [
    ("compose-post", include_str!("../../../apps/proto/social/compose_post.proto")),
    ("home-timeline", include_str!("../../../apps/proto/social/home_timeline.proto")),
    ("user-timeline", include_str!("../../../apps/proto/social/user_timeline.proto")),
    ("social-graph", include_str!("../../../apps/proto/social/social_graph.proto")),
    ("post-storage", include_str!("../../../apps/proto/social/post_storage.proto")),
    ("user", include_str!("../../../apps/proto/social/user.proto")),
    ("text", include_str!("../../../apps/proto/social/text.proto")),
    ("url-shorten", include_str!("../../../apps/proto/social/url_shorten.proto")),
    ("user-mention", include_str!("../../../apps/proto/social/user_mention.proto")),
    ("media", include_str!("../../../apps/proto/social/media.proto")),
    ("unique-id", include_str!("../../../apps/proto/social/unique_id.proto")),
    ("store", include_str!("../../../apps/proto/social/stored_graph.proto")),
    ("store", include_str!("../../../apps/proto/social/stored_posts.proto")),
    ("store", include_str!("../../../apps/proto/social/stored_state.proto")),
    ("store", include_str!("../../../apps/proto/social/stored_timelines.proto")),
    ("store", include_str!("../../../apps/proto/social/stored_urls.proto")),
    ("store", include_str!("../../../apps/proto/social/stored_users.proto")),
];

const SECRET: &str = "placeholder for tests, of 32 bytes or more";

/// The most memory that a process may ever have here. The front keeps at most 64 MiB of bodies, in
/// buffers that double as they grow.
const MOST_RESIDENT: u64 = 256 << 20;

const GIGABYTE: usize = 1 << 30;

fn network() -> Network {
    let network = Network::of_services(1, &[("user", &["--secret", SECRET])]);
    network.register(2);
    network
}

/// Checks that user 0 can write, that user 1 can read it, and the most memory of every process.
fn check(network: &Network, after: &str) {
    let began = now();
    let form = format!("username=username_0&user_id=0&text=@username_1 {after}&post_type=0");
    network.must("post/compose", &form);
    let page = "/wrk2-api/home-timeline/read?user_id=1&start=0&stop=1";
    let (code, body) = network.front().get(page);
    assert!(code == 200 && body.contains(after), "after {after}: {code} {body}");
    assert!(began.elapsed() < LONG, "after {after}: {:?}", began.elapsed());
    for (service, replicas) in &network.services {
        let most = replicas[0].most_resident();
        assert!(most <= MOST_RESIDENT, "after {after}: {service} had {most} bytes");
    }
}

#[test]
fn what_is_no_form_is_refused_at_every_route() {
    let network = network();
    let front = network.front();
    let bodies: [&[u8]; 7] =
        [b"\0", b"%", b"&&&&====", b"\xff\xfe\xc3", b"{\"a\":1}", &[b'%'; 5000], &[b'&'; 50_000]];
    for path in ROUTES {
        // Pages and the state need no form.
        let allowed: &[u16] = match path.contains("api/") || path == "/nowhere" {
            true => &[302, 400, 401, 404],
            false => &[200],
        };
        for body in bodies {
            let answer = ask(front, "POST", path, "Cookie: \u{fc}=\"; login_token=;;==,\r\n", body);
            assert!(allowed.contains(&answer.code), "{path}: {answer:?}");
        }
        let queries = ["%zz&start=%&stop=%00".to_owned(), "a&".repeat(9000)];
        for target in queries.map(|query| format!("{path}?{query}")) {
            let answer = ask(front, "POST", &target, "", "");
            assert!(allowed.contains(&answer.code), "{path}: {answer:?}");
        }
    }
    check(&network, "no forms");
}

#[test]
fn wrong_numbers_are_refused_and_extreme_ones_are_read() {
    let network = network();
    let mut caller = Caller::new(network.front().address);
    let long = "9".repeat(4000);
    let numbers = [
        "0",
        "-1",
        "-0",
        "007",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "18446744073709551616",
        "1.0",
        "1e9",
        "0x10",
        "NaN",
        "",
        "%20",
        "%00",
        "1%00",
        "%EF%BC%91",
        "--1",
        &long,
    ];
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    for timeline in ["/wrk2-api/home-timeline/read", "/wrk2-api/user-timeline/read"] {
        for start in numbers {
            for stop in numbers {
                for user in ["0", start] {
                    let target = format!("{timeline}?user_id={user}&start={start}&stop={stop}");
                    let (code, body) = caller.ask("GET", &target).unwrap();
                    let is_valid = [user, start, stop].into_iter().all(is_number)
                        && !user.starts_with("-1")
                        && !user.starts_with("-9");
                    let expected: &[u16] = if is_valid { &[200, 500] } else { &[400] };
                    assert!(expected.contains(&code), "{target}: {code} {body}");
                    assert_eq!(code == 500, body.contains("at most 100 posts at once"), "{body}");
                }
            }
        }
    }
    check(&network, "numbers");
}

#[test]
fn forged_sessions_are_refused_at_every_route_that_takes_one() {
    let network = network();
    let front = network.front();
    let account = || Account { user_id: 0, username: "username_0".into() };
    let signed = |secret: &str, at: u64| {
        session::begin(&Secret::new(secret.as_bytes()), account(), at).unwrap()
    };
    let valid = signed(SECRET, seconds());
    let [head, claims, signature] = valid.split('.').collect::<Vec<_>>()[..] else { panic!() };
    // {"typ":"JWT","alg":"none"}, {"typ":"JWT","alg":"HS512"} and {"typ":"JWT","alg":"RS256"}
    let [none, longer, asymmetric] = [
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0",
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzUxMiJ9",
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9",
    ];
    let forged = [
        format!("{none}.{claims}."),
        format!("{none}.{claims}.{signature}"),
        format!("{longer}.{claims}.{signature}"),
        format!("{asymmetric}.{claims}.{signature}"),
        format!("{head}.{claims}."),
        format!("{head}.{claims}"),
        format!("{head}.{}.{signature}", &claims[..claims.len() - 4]),
        format!("{valid}x"),
        signed("secret", seconds()),
        signed("another secret, also of 32 bytes or more", seconds()),
        signed(SECRET, seconds() - 2 * 3600),
        "a.b.c".into(),
        String::new(),
        ".".repeat(10_000),
        "A".repeat(50_000),
        "\u{fc}".into(),
    ];
    for path in OF_SESSIONS {
        let target = format!("{path}?start=0&stop=10");
        let send = |token: &str| {
            let cookie = format!("Cookie: a=b; login_token={token}; c\r\n");
            ask(front, "POST", &target, &cookie, "text=forged&post_type=0")
        };
        for token in &forged {
            let answer = send(token);
            let expected = if path == "/api/post/compose" { 302 } else { 401 };
            assert_eq!(answer.code, expected, "{path}, {token}: {answer:?}");
        }
        assert_eq!(send(&valid).code, 200, "{path}");
    }
    let (_, page) = front.get("/wrk2-api/user-timeline/read?user_id=0&start=0&stop=10");
    assert_eq!(page.matches("forged").count(), 1, "only the valid session wrote: {page}");
    check(&network, "forged sessions");
}

#[expect(clippy::disallowed_methods, reason = "sessions end by the calendar")]
fn seconds() -> u64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn bodies_and_heads_without_end_are_refused_at_every_route() {
    let network = network();
    let address = network.front().address;
    let zeros = vec![b'0'; 64 << 10];
    let chunk = [format!("{:x}\r\n", zeros.len()).as_bytes(), &zeros, b"\r\n"].concat();
    let fields = b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(1000);
    for path in ROUTES {
        let announced = head("POST", path, &format!("Content-Length: {GIGABYTE}\r\n"));
        let chunked = head("POST", path, "Transfer-Encoding: chunked\r\n");
        let one_chunk = [&chunked[..], b"40000000\r\n"].concat();
        let begun = format!("GET {path} HTTP/1.1\r\n").into_bytes();
        let line = format!("GET {path}?").into_bytes();
        for (head, again, code) in [
            (announced, &zeros, "413"),
            (chunked, &chunk, "413"),
            (one_chunk, &zeros, "413"),
            (begun, &fields, "431"),
            (line, &zeros, "431"),
        ] {
            let (sent, answer) = pour(address, &head, again, GIGABYTE);
            // What the kernel has in its buffers is sent, too.
            assert!(sent < 64 << 20, "{path} took {sent} bytes");
            let expected = format!("HTTP/1.1 {code}");
            assert!(answer.is_empty() || answer.starts_with(&expected), "{path}: {answer}");
        }
    }
    check(&network, "a gigabyte");
}

#[test]
fn bodies_that_come_slowly_take_their_connections_and_bounded_memory() {
    let network = network();
    let front = network.front();
    let unfinished = (1 << 20) - 1;
    let fields = format!("Content-Length: {}\r\n", unfinished + 1);
    // Together they have more than may be kept: the rest is refused.
    let slow: Vec<Unfinished> = (0..90)
        .map(|at| [head("POST", ROUTES[at % 15], &fields), vec![b'x'; unfinished]].concat())
        .map(|bytes| Unfinished::send(front.address, &bytes))
        .collect();
    let are_refused = || slow.iter().any(Unfinished::is_refused);
    wait_for("bodies beyond those that are kept are refused", LONG, are_refused);
    assert_eq!(front.get("/healthz").0, 200);
    drop(slow);
    let large = format!("text={}", "x".repeat(unfinished - 5));
    let has_room = || ask(front, "POST", "/wrk2-api/post/compose", "", &large).code == 400;
    wait_for("there is room again", LONG, has_room);
    check(&network, "slow bodies");
}

#[test]
fn callers_who_read_nothing_do_not_use_up_the_memory() {
    let network = Network::in_one(&[]);
    let front = network.front();
    let text = "x".repeat(9_000);
    for _ in 0..100 {
        network.must("post/compose", &format!("username=u&user_id=0&text={text}&post_type=0"));
    }
    let page = "/wrk2-api/user-timeline/read?user_id=0&start=0&stop=100";
    let (code, body) = front.get(page);
    assert!(code == 200 && 900_000 < body.len(), "{code}, {} bytes", body.len());
    // Each asks for many pages of 900 KB, of which the kernel takes a few.
    let request = format!("GET {page} HTTP/1.1\r\nHost: x\r\n\r\n").repeat(50);
    let lazy: Vec<_> = (0..600)
        .map(|_| {
            let mut stream = front.connect();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let has_refused = || {
        let (code, body) = front.get(page);
        code == 503 && body == "too many responses at once\n"
    };
    wait_for("the bound is reached", Duration::from_secs(30), has_refused);
    assert_eq!(front.get("/healthz").0, 200, "small answers have room");
    assert!(front.most_resident() < 800 << 20, "{} bytes", front.most_resident());
    drop(lazy);
    let has_room = || front.get(page).0 == 200;
    wait_for("there is room again", Duration::from_secs(30), has_room);
}

/// Sends bytes that are no request to every service: they go on.
#[test]
fn random_bytes_at_every_service_do_no_harm() {
    let network = network();
    let mut randomness = 1_u64;
    for one in network.services.values().flatten() {
        for beginning in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
            let mut bytes = beginning.to_vec();
            bytes.extend((0..4096).map(|_| {
                randomness = randomness.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (randomness >> 33) as u8
            }));
            let mut stream = one.connect();
            let _ = stream.write_all(&bytes);
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
        assert_eq!(one.get("/healthz"), (200, "ok".into()));
    }
    check(&network, "random bytes");
}

/// Returns the paths of all calls in a definition.
fn paths(definition: &'static str) -> Vec<String> {
    let word = |line: &str, keyword: &str| {
        let name = line.trim().strip_prefix(keyword)?.split(['(', ' ', ';']).next()?;
        Some(name.to_owned())
    };
    let find = |keyword| definition.lines().find_map(|line| word(line, keyword)).unwrap();
    let (package, service) = (find("package "), find("service "));
    let methods = definition.lines().filter_map(|line| word(line, "rpc "));
    methods.map(|method| format!("/{package}.{service}/{method}")).collect()
}

/// Returns messages that can be decoded, with the same value in each of the first eight fields: the
/// largest and the smallest numbers, long texts, and lists of many numbers and of many empty items.
fn extreme() -> Vec<Vec<u8>> {
    let of_fields = |kind: u8, value: &[u8]| -> Vec<u8> {
        (1..=8).flat_map(|field| [&[field << 3 | kind], value].concat()).collect()
    };
    let varint = |ninth: u8, last: u8| [&[ninth; 9][..], &[last]].concat();
    let long = |byte: u8| [&[0xd8, 0x36][..], &[byte; 7000]].concat();
    let mut messages = vec![
        of_fields(0, &varint(0xff, 1)),
        of_fields(0, &varint(0x80, 1)),
        of_fields(0, &varint(0xff, 0)),
        of_fields(2, &long(b'x')),
        of_fields(2, &long(b'@')),
        of_fields(2, &long(1)),
        of_fields(2, &[0]),
    ];
    messages.extend((1..=8_u8).map(|field| [field << 3 | 2, 0].repeat(30_000)));
    messages.extend((1..=8_u8).map(|field| [field << 3 | 2, 1, b'x'].repeat(20_000)));
    messages
}

#[test]
fn hostile_messages_at_every_call_of_every_service_are_answered() {
    let network = network();
    let is_listed = |name: &str| CALLS.iter().any(|(service, _)| *service == name);
    assert!(network.services.keys().all(|name| *name == "front" || is_listed(name)));
    let too_long = framed(0, 300 << 10, &[0; 300 << 10]);
    for (service, definition) in CALLS {
        let grpc = Grpc::connect(network.services[service][0].address);
        for path in paths(definition) {
            for (body, code) in [
                (framed(0, u32::MAX, b"x"), 8),
                (too_long.clone(), 8),
                (framed(1, 4, b"1234"), 13),
                (framed(7, 4, b"1234"), 13),
                (framed(0, 9, b"1234"), 13),
                (framed(0, 4, &[0xff; 4]), 13),
                (Bytes::new(), 13),
            ] {
                let answer = grpc.end(grpc.send(&path, body, None));
                assert_eq!(answer.code, code, "{path}: {answer:?}");
            }
            for message in extreme() {
                let body = framed(0, message.len() as u32, &message);
                grpc.end(grpc.send(&path, body, None));
            }
            let unknown = format!("{path}x");
            assert_eq!(grpc.end(grpc.send(&unknown, framed(0, 0, b""), None)).code, 12);
        }
        assert_eq!(network.services[service][0].get("/healthz").0, 200, "{service}");
    }
    check(&network, "messages");
}
