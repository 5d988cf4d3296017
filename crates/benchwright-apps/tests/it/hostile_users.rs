//! Hostile requests at every route of the users service, at its port for probes and through the
//! balancer: whatever is sent, it is refused, a well-behaved login still works, and the most memory
//! that a process ever had is bounded.

use std::net::SocketAddr;
use std::time::Duration;

use apps::users::tokens::Tokens;
use serde_json::{Value, json};

use crate::instance::{Instance, now};
use crate::raw::{LONG, Unfinished, head, pour};
use crate::services::wait_for;

const SECRET: &str = "placeholder for benchmarks, of 32 bytes or more";
const HOUR: Duration = Duration::from_secs(3600);

const ROUTES: [(&str, &str); 11] = [
    ("POST", "/auth/register"),
    ("POST", "/auth/login"),
    ("POST", "/oauth/access_token"),
    ("GET", "/whoami"),
    ("GET", "/users/ann"),
    ("PUT", "/profile/description"),
    ("PUT", "/profile/photo"),
    ("GET", "/health/readiness"),
    ("GET", "/health/liveness"),
    ("GET", "/metrics"),
    ("POST", "/nowhere"),
];
const OF_BALANCER: [(&str, &str); 2] = [("GET", "/balancer/ready"), ("GET", "/balancer/metrics")];

/// The most memory that a process may ever have here; 215 MB were measured. It keeps 64 MiB of bodies
/// and a piece of each, in buffers that double as they grow, and reads ahead from 300 connections.
const MOST_RESIDENT: u64 = 256 << 20;

const GIGABYTE: usize = 1 << 30;

/// A service with a user, its port for probes, and a balancer before it.
struct System {
    service: Instance,
    balancer: Instance,
    probes: SocketAddr,
}

impl System {
    fn start() -> System {
        let service = Instance::of("users", &["--cost", "4", "--secret", SECRET]);
        let backend = service.address.to_string();
        let probes = ["--probe-every", "50ms", "--probe-timeout", "10s"];
        let balancer =
            Instance::of("balancer", &[&["--backends", &*backend], &probes[..]].concat());
        wait_for("the balancer is ready", LONG, || balancer.get("/balancer/ready").0 == 200);
        let redirect = talk(service.address, &head("GET", "/health/readiness", ""));
        let location = redirect.lines().find_map(|line| line.strip_prefix("Location: http://"));
        let probes = location.unwrap().split('/').next().unwrap().parse().unwrap();
        let system = System { service, balancer, probes };
        let registered = post(system.service.address, "/auth/register", "", &ann());
        assert!(registered.starts_with("HTTP/1.1 200"), "{registered}");
        system
    }

    /// Returns every route with an address at which it is served.
    fn routes(&self) -> Vec<(SocketAddr, &'static str, &'static str)> {
        let straight = ROUTES.map(|(method, path)| (self.service.address, method, path));
        let of_probes = ROUTES[7..9].iter().map(|&(method, path)| (self.probes, method, path));
        let passed = ROUTES.map(|(method, path)| (self.balancer.address, method, path));
        let own = OF_BALANCER.map(|(method, path)| (self.balancer.address, method, path));
        straight.into_iter().chain(of_probes).chain(passed).chain(own).collect()
    }

    /// Checks that a login works at both addresses, and the most memory so far.
    fn check(&self, after: &str) {
        for address in [self.service.address, self.balancer.address] {
            let began = now();
            let answer = post(address, "/auth/login", "", &ann());
            assert!(answer.starts_with("HTTP/1.1 200"), "after {after}: {answer}");
            assert!(began.elapsed() < LONG, "after {after}: {:?}", began.elapsed());
        }
        let most = [&self.service, &self.balancer].map(Instance::most_resident);
        assert!(most.iter().all(|bytes| *bytes <= MOST_RESIDENT), "after {after}: {most:?} bytes");
    }
}

fn ann() -> Value {
    json!({"username": "ann", "password": "12341234"})
}

fn with_body(method: &str, path: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let fields = format!("{fields}Content-Length: {}\r\n", body.len());
    [head(method, path, &fields), body.to_vec()].concat()
}

fn post(address: SocketAddr, path: &str, fields: &str, document: &Value) -> String {
    talk(address, &with_body("POST", path, fields, document.to_string().as_bytes()))
}

/// Sends bytes and returns the response.
fn talk(address: SocketAddr, bytes: &[u8]) -> String {
    pour(address, bytes, &[], 0).1
}

#[test]
fn bodies_without_end_are_refused_at_every_route() {
    let system = System::start();
    let zeros = vec![b'0'; 64 << 10];
    let chunk = [format!("{:x}\r\n", zeros.len()).as_bytes(), &zeros, b"\r\n"].concat();
    for (address, method, path) in system.routes() {
        let announced = head(method, path, &format!("Content-Length: {GIGABYTE}\r\n"));
        let chunked = head(method, path, "Transfer-Encoding: chunked\r\n");
        let one_chunk = [&chunked[..], b"40000000\r\n"].concat();
        for (head, again) in [(announced, &zeros), (chunked, &chunk), (one_chunk, &zeros)] {
            let (sent, answer) = pour(address, &head, again, GIGABYTE);
            // What the kernel has in its buffers is sent, too.
            assert!(sent < 64 << 20, "{method} {path} took {sent} bytes");
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{path}: {answer}");
        }
    }
    system.check("bodies of a gigabyte");
}

#[test]
fn bodies_that_come_slowly_take_their_connections_and_bounded_memory() {
    let system = System::start();
    let unfinished = (1 << 20) - 1;
    let body = vec![b' '; unfinished];
    let fields = format!("Content-Length: {}\r\n", unfinished + 1);
    // Together they have more than may be kept: the rest is refused.
    let slow: Vec<(SocketAddr, Unfinished)> = (0..12)
        .flat_map(|_| system.routes())
        .map(|(address, method, path)| {
            let bytes = [head(method, path, &fields), body.clone()].concat();
            // It is kept here, as a connection that was cut off does not know it any more.
            (address, Unfinished::send(address, &bytes))
        })
        .collect();
    for address in [system.service.address, system.balancer.address] {
        let are_refused = || slow.iter().any(|(to, sent)| *to == address && sent.is_refused());
        wait_for("bodies beyond those that are kept are refused", LONG, are_refused);
    }
    system.check("slow bodies, which still come");
    drop(slow);
    let body = [&body[..], b" "].concat();
    let has_room = || {
        let answer = talk(system.balancer.address, &with_body("POST", "/auth/login", "", &body));
        answer.starts_with("HTTP/1.1 400")
    };
    wait_for("there is room again", LONG, has_room);
    system.check("slow bodies, which are gone");
}

#[test]
fn bodies_that_are_not_documents_change_nothing_at_any_route() {
    let system = System::start();
    let tokens = Tokens::new(Some(SECRET), HOUR).unwrap();
    let access = tokens.access("ann", seconds()).unwrap();
    let bearer = format!("Authorization: Bearer {access}\r\nContent-Type: application/json\r\n");
    let deep = "[".repeat(200_000);
    let long =
        json!({"username": "a".repeat(1 << 19), "password": "p".repeat(1 << 18)}).to_string();
    let not_utf8 = b"{\"username\": \"\xff\xfe\", \"password\": \"x\"}";
    let bodies: [&[u8]; 12] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"ann\"",
        b"\0",
        b"{\"username\": 7, \"password\": [], \"description\": {}, \"profilePicture\": 1}",
        b"{\"username\": \"a\", \"username\": \"b\", \"password\": \"c\"}",
        b"{\"grant_type\": 1e999, \"refresh_token\": -0}",
        deep.as_bytes(),
        long.as_bytes(),
        not_utf8,
    ];
    for (address, method, path) in system.routes() {
        for body in bodies {
            let answer = talk(address, &with_body(method, path, &bearer, body));
            let code: u16 =
                answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or_default();
            // A GET has no use for its body.
            let allowed: &[u16] = match (method, path) {
                (_, "/nowhere") => &[404],
                ("GET", _) => &[200, 307],
                _ => &[400, 401, 403],
            };
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]);
            assert!(allowed.contains(&code), "{method} {path} with {shown}: {answer}");
        }
    }
    let changed = talk(system.service.address, &head("GET", "/whoami", &bearer));
    assert!(changed.ends_with("{\"username\":\"ann\"}"), "nothing was kept: {changed}");
    system.check("bodies that are not documents");
}

#[test]
fn forged_tokens_are_refused_at_every_route_that_takes_one() {
    let system = System::start();
    let own = Tokens::new(Some(SECRET), HOUR).unwrap();
    let foreign = Tokens::new(Some("another secret, also of 32 bytes or more"), HOUR).unwrap();
    let access = own.access("ann", seconds()).unwrap();
    let [head_of, claims, signature] = access.split('.').collect::<Vec<_>>()[..] else { panic!() };
    // {"typ":"JWT","alg":"none"}, {"typ":"JWT","alg":"HS512"} and {"typ":"JWT","alg":"RS256"}
    let [none, longer, asymmetric] = [
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0",
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzUxMiJ9",
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9",
    ];
    // {"sub":"root","iss":"users-service","aud":"access","iat":1,"exp":4102444800}
    let of_root = "eyJzdWIiOiJyb290IiwiaXNzIjoidXNlcnMtc2VydmljZSIsImF1ZCI6ImFjY2VzcyIsImlhdCI6MSwiZXhwIjo0MTAyNDQ0ODAwfQ";
    let forged = [
        format!("{none}.{claims}."),
        format!("{none}.{claims}.{signature}"),
        format!("{longer}.{claims}.{signature}"),
        format!("{asymmetric}.{claims}.{signature}"),
        format!("{head_of}.{of_root}.{signature}"),
        format!("{head_of}.{claims}."),
        format!("{head_of}.{claims}"),
        foreign.access("ann", seconds()).unwrap(),
        foreign.refresh("ann", "7", seconds()).unwrap(),
        own.access("ann", seconds() - 2 * HOUR.as_secs()).unwrap(),
        own.refresh("ann", "7", seconds()).unwrap(),
        "a.b.c".to_owned(),
        ".".repeat(10_000),
        "A".repeat(30_000),
    ];
    let taking = [
        ("POST", "/auth/register"),
        ("GET", "/whoami"),
        ("GET", "/users/ann"),
        ("PUT", "/profile/description"),
        ("PUT", "/profile/photo"),
    ];
    let body =
        br#"{"username": "eve", "password": "p", "description": "d", "profilePicture": "x"}"#;
    for address in [system.service.address, system.balancer.address] {
        for token in &forged {
            for (method, path) in taking {
                let bearer = format!("Authorization: Bearer {token}\r\n");
                let answer = talk(address, &with_body(method, path, &bearer, body));
                assert!(answer.starts_with("HTTP/1.1 401"), "{method} {path}, {token}: {answer}");
            }
            let document = json!({"grant_type": "refresh_token", "refresh_token": token});
            let answer = post(address, "/oauth/access_token", "", &document);
            assert!(answer.starts_with("HTTP/1.1 400"), "{token}: {answer}");
            assert!(answer.contains("invalid_grant"), "{token}: {answer}");
        }
        let bearer = format!("Authorization: Bearer {access}\r\n");
        let valid = talk(address, &head("GET", "/whoami", &bearer));
        assert!(valid.ends_with("{\"username\":\"ann\"}"), "no forgery changed anything: {valid}");
    }
    system.check("forged tokens");
}

#[expect(clippy::disallowed_methods, reason = "tokens end by the calendar")]
fn seconds() -> u64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}
