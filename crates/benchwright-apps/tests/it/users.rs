//! The users service: every route, replicas that share their users, and overload.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::instance::{Instance, now};
use crate::services::wait_for;
use crate::tools::Postgres;

const SECRET: &str = "placeholder for benchmarks, of 32 bytes or more";
const JSON: &str = "Content-Type: application/json\r\n";

/// Starts the service with the cheapest hashing.
fn service(arguments: &[&str]) -> Instance {
    let cheap = ["--cost", "4", "--secret", SECRET];
    Instance::of("users", &[&cheap, arguments].concat())
}

/// Returns the status, the head and the body of the response.
fn exchange(one: &Instance, method: &str, path: &str, fields: &str, body: &str) -> Answer {
    let length = body.len();
    let answer = one.exchange(format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{fields}\
         Content-Length: {length}\r\n\r\n{body}",
        one.address
    ));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    Answer { code: head[9..12].parse().unwrap(), head: head.to_owned(), body: body.to_owned() }
}

struct Answer {
    code: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    fn is(&self, code: u16, document: &Value) {
        assert_eq!((self.code, &self.json()), (code, document));
    }
}

fn post(one: &Instance, path: &str, document: &Value) -> Answer {
    exchange(one, "POST", path, JSON, &document.to_string())
}

fn with_token(one: &Instance, method: &str, path: &str, token: &str, body: &str) -> Answer {
    exchange(one, method, path, &format!("Authorization: Bearer {token}\r\n{JSON}"), body)
}

fn ann() -> Value {
    json!({"username": "ann", "password": "12341234"})
}

fn register(one: &Instance) {
    post(one, "/auth/register", &ann()).is(200, &json!({"username": "ann"}));
}

/// Logs in and returns the access and the refresh token.
fn login(one: &Instance) -> (String, String) {
    let answer = post(one, "/auth/login", &ann());
    assert_eq!(answer.code, 200, "{}", answer.body);
    let answer = answer.json();
    let fields: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["username", "access_token", "refresh_token", "token_type", "expires_in"]);
    assert_eq!((&answer["token_type"], &answer["username"]), (&json!("Bearer"), &json!("ann")));
    assert_eq!(answer["expires_in"], 3600);
    let text = |field: &str| answer[field].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

/// Checks every route, with the users of `first` at `second`.
fn check(first: &Instance, second: &Instance) {
    let full = json!({"username": "bob", "password": "p", "email": "bob@example.org",
        "description": "tall", "profilePicture": "data:,"});
    let shown = json!({"username": "bob", "email": "bob@example.org", "description": "tall",
        "profilePicture": "data:,"});
    post(first, "/auth/register", &full).is(200, &shown);
    post(second, "/auth/register", &full).is(409, &json!({"username": "bob"}));
    register(first);
    for (user, password, why) in [
        ("ann", "wrong", "Credentials Do Not Match"),
        (
            "ann",
            "12341234 and more than the 72 bytes that bcrypt reads: it would ignore the rest",
            "Credentials Do Not Match",
        ),
        ("nobody", "12341234", "User Not Found"),
        ("a\0n", "12341234", "User Not Found"),
    ] {
        let wrong = json!({"username": user, "password": password});
        post(second, "/auth/login", &wrong).is(401, &json!({"message": why}));
    }

    let (access, refresh) = login(second);
    let renew = |token: &str| {
        post(
            first,
            "/oauth/access_token",
            &json!({"grant_type": "refresh_token", "refresh_token": token}),
        )
    };
    let renewed = renew(&refresh);
    assert_eq!((renewed.code, &renewed.json()["refresh_token"]), (200, &json!(refresh)));
    let (_, last) = login(first);
    for invalid in [&refresh, &access, "x"] {
        let refused = renew(invalid);
        assert_eq!((refused.code, &refused.json()["error"]), (400, &json!("invalid_grant")));
    }
    assert_eq!(renew(&last).code, 200);
    let other = json!({"grant_type": "password", "refresh_token": last});
    assert_eq!(post(first, "/oauth/access_token", &other).code, 400);

    for one in [first, second] {
        with_token(one, "GET", "/whoami", &access, "").is(200, &json!({"username": "ann"}));
        with_token(one, "GET", "/users/bob", &access, "").is(200, &shown);
        let nobody = with_token(one, "GET", "/users/no%20body", &access, "");
        nobody.is(404, &json!({"username": "no body"}));
        for token in [&refresh, "", "x.y.z"] {
            assert_eq!(with_token(one, "GET", "/whoami", token, "").code, 401);
        }
        assert_eq!(one.get("/whoami").0, 401);
        let again = with_token(one, "POST", "/auth/register", &access, &ann().to_string());
        assert_eq!(again.code, 403);
    }
    let change =
        |path: &str, body: &Value| with_token(first, "PUT", path, &access, &body.to_string());
    let described = json!({"username": "ann", "description": "small"});
    change("/profile/description", &json!({"description": "small"})).is(200, &described);
    assert_eq!(change("/profile/description", &json!({"description": "x".repeat(5000)})).code, 400);
    let whole = json!({"username": "ann", "description": "small", "profilePicture": "data:,x"});
    change("/profile/photo", &json!({"profilePicture": "data:,x"})).is(200, &whole);
    with_token(second, "GET", "/whoami", &access, "").is(200, &whole);
    assert_eq!(second.get("/nowhere").0, 404);
    assert_eq!(second.get("/auth/login").0, 405);
}

/// Returns the response of the port that a probe is redirected to.
fn probe(one: &Instance, path: &str) -> String {
    let redirect = exchange(one, "GET", path, "", "");
    assert_eq!(redirect.code, 307, "{}", redirect.head);
    let location = redirect.head.lines().find_map(|line| line.strip_prefix("Location: http://"));
    let address = location.unwrap().strip_suffix(path).unwrap();
    assert_ne!(address, one.address.to_string());
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_service_with_its_own_store_keeps_users_over_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let data = ["--data", folder.path().to_str().unwrap()];
    let one = service(&data);
    check(&one, &one);
    for path in ["/health/readiness", "/health/liveness"] {
        assert!(probe(&one, path).ends_with("{\"status\":\"UP\"}"), "{path}");
    }
    let (access, _) = login(&one);
    one.kill();
    let again = service(&data);
    assert_eq!(post(&again, "/auth/register", &ann()).code, 409);
    login(&again);
    assert_eq!(with_token(&again, "GET", "/whoami", &access, "").code, 200);
    assert_eq!(again.terminate(), Some(0));
}

#[test]
fn replicas_share_the_users_of_a_store_process() {
    let store = Instance::of("users", &["store"]);
    let address = store.address.to_string();
    let replica = || service(&["--store", &address]);
    let (first, second) = (replica(), replica());
    check(&first, &second);

    let calls = |one: &Instance| {
        let (_, metrics) = one.get("/metrics");
        let mut lines = metrics.lines();
        let line =
            lines.find_map(|one| one.strip_prefix("users_service_calls_total{service=\"store\"} "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let before = calls(&first);
    login(&first);
    assert_eq!(calls(&first) - before, 5, "four reads and one write");

    store.kill();
    let is_down = || probe(&first, "/health/readiness").contains("{\"status\":\"DOWN\"}");
    wait_for("it notices", Duration::from_secs(10), is_down);
    assert!(probe(&first, "/health/liveness").contains("200 OK"));
    assert_eq!(post(&first, "/auth/login", &ann()).code, 503);
}

#[test]
fn replicas_share_the_users_in_postgresql() {
    let Some(postgres) = Postgres::start("replicas_share_the_users_in_postgresql") else { return };
    let url = postgres.url();
    let replica = || service(&["--postgres", &url]);
    let (first, second) = thread::scope(|scope| {
        let both = [scope.spawn(replica), scope.spawn(replica)];
        let [first, second] = both.map(|one| one.join().unwrap());
        (first, second)
    });
    check(&first, &second);
    assert_eq!(post(&service(&["--postgres", &url]), "/auth/login", &ann()).code, 200);
}

#[test]
fn replicas_without_a_common_secret_are_refused() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_benchwright-apps"))
        .args(["users", "--store", "127.0.0.1:1"])
        .env_remove("BENCHWRIGHT_USERS_SECRET")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("BENCHWRIGHT_USERS_SECRET"), "{error}");
}

/// Sends this many logins at once; returns the statuses, and those of probes meanwhile.
fn overload(one: &Instance, logins: usize) -> Vec<Answer> {
    thread::scope(|scope| {
        let all: Vec<_> =
            (0..logins).map(|_| scope.spawn(|| post(one, "/auth/login", &ann()))).collect();
        all.into_iter().map(|login| login.join().unwrap()).collect()
    })
}

const LOGINS: usize = 12;
/// One thread hashes, for tens of milliseconds or more.
const SLOW: [&str; 6] = ["--cost", "10", "--secret", SECRET, "--hashing-threads", "1"];

#[test]
fn logins_beyond_the_queue_are_refused_at_once() {
    let one = Instance::of("users", &[&SLOW[..], &["--queue", "1"]].concat());
    register(&one);
    let answers = overload(&one, LOGINS);
    let refused: Vec<_> = answers.iter().filter(|answer| answer.code != 200).collect();
    assert!(!refused.is_empty() && refused.len() < LOGINS, "{}", refused.len());
    for answer in refused {
        assert!(answer.code == 503 && answer.head.contains("Retry-After: 1"), "{}", answer.head);
    }
    login(&one);
}

#[test]
fn logins_wait_if_wanted_and_probes_of_the_same_port_wait_behind_them() {
    let arguments = [&SLOW[..], &["--overload", "queue", "--health-on-service-port"]].concat();
    let one = Instance::of("users", &arguments);
    register(&one);
    let began = now();
    assert_eq!(one.get("/health/readiness"), (200, "{\"status\":\"UP\"}".into()));
    let alone = began.elapsed();
    thread::scope(|scope| {
        let logins = scope.spawn(|| overload(&one, LOGINS));
        let is_full = || {
            let queued = |line: &str| line.strip_prefix("users_hashing_queue ")?.parse().ok();
            one.get("/metrics").1.lines().find_map(queued).is_some_and(|queued: usize| 6 <= queued)
        };
        wait_for("logins wait", Duration::from_secs(20), is_full);
        let began = now();
        assert_eq!(one.get("/health/readiness").0, 200);
        let behind = began.elapsed();
        assert!(2 * alone < behind, "{alone:?} alone, {behind:?} behind logins");
        assert!(logins.join().unwrap().iter().all(|answer| answer.code == 200));
    });
}
