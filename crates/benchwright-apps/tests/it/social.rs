//! The social network: the answers of its contract, as processes and in one, what it keeps over a
//! kill, and hostile input.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::instance::{Instance, now, sleep};
use crate::network::{Answer, Network, ask};
use crate::services::wait_for;

const TEXT: &str = "application/octet-stream";
const JSON: &str = "application/json; charset=utf-8";

/// A request and its exact answer. `{session}` is the cookie of ann, who logs in first.
struct Row {
    method: &'static str,
    target: &'static str,
    cookie: &'static str,
    form: &'static str,
    code: u16,
    /// The type of the content; or where a redirection leads.
    header: &'static str,
    body: &'static str,
}

const fn row(
    [method, target, cookie, form]: [&'static str; 4],
    code: u16,
    header: &'static str,
    body: &'static str,
) -> Row {
    Row { method, target, cookie, form, code, header, body }
}

const fn post(
    target: &'static str,
    form: &'static str,
    code: u16,
    header: &'static str,
    body: &'static str,
) -> Row {
    row(["POST", target, "", form], code, header, body)
}

const fn get(target: &'static str, code: u16, header: &'static str, body: &'static str) -> Row {
    row(["GET", target, "", ""], code, header, body)
}

const INCOMPLETE: &str = "Incomplete arguments\n";
const SUCCESS: &str = "Success!\n";
const COMPOSED: &str = "Successfully upload post\n";

const REGISTER: &str = "/wrk2-api/user/register";
const FOLLOW: &str = "/wrk2-api/user/follow";
const UNFOLLOW: &str = "/wrk2-api/user/unfollow";
const COMPOSE: &str = "/wrk2-api/post/compose";
const ANNS: &str = "login_token={session}";

/// The post of user 0 in the contract, with its numbers as `N` and its random letters as `?`.
const SAMPLE: &str = r#"[{"urls":[{"expanded_url":"http:\/\/abcdef","shortened_url":"http:\/\/short-url\/??????????"}],"req_id":"N","post_id":"N","creator":{"username":"username_0","user_id":"0"},"media":[{"media_id":"N","media_type":"png"},{"media_id":"2","media_type":"png"}],"post_type":0,"timestamp":"N","text":"hello @username_1 http:\/\/short-url\/??????????","user_mentions":[{"username":"username_1","user_id":"1"}]}]"#;
/// A post by ann, with markup, in her session.
const ANNS_POST: &str = r#"[{"urls":{},"req_id":"N","post_id":"N","creator":{"username":"ann","user_id":"N"},"media":{},"post_type":2,"timestamp":"N","text":"<script>alert(\"1\")<\/script> + & = % ü @username_2","user_mentions":[{"username":"username_2","user_id":"2"}]}]"#;

/// The table, in the order of the requests. Users 0, 1 and 2 are registered by it.
const TABLE: [Row; 76] = [
    // Registration.
    post(
        REGISTER,
        "first_name=a&last_name=b&username=username_0&password=p&user_id=0",
        200,
        TEXT,
        SUCCESS,
    ),
    post(
        REGISTER,
        "user_id=1&password=p&username=username%5F1&last_name=b&first_name=a+a",
        200,
        TEXT,
        SUCCESS,
    ),
    post(
        REGISTER,
        "first_name=a&last_name=b&username=username_2&password=p&user_id=2",
        200,
        TEXT,
        SUCCESS,
    ),
    post(
        REGISTER,
        "first_name=a&last_name=b&username=username_0&password=p&user_id=9",
        500,
        TEXT,
        "User registration failure: User username_0 already existed\n",
    ),
    post(
        REGISTER,
        "first_name=a&last_name=b&username=username_9&password=p&user_id=0",
        500,
        TEXT,
        "User registration failure: User username_9 already existed\n",
    ),
    post(
        REGISTER,
        "first_name=a&last_name=b&username=username_3&password=p",
        400,
        TEXT,
        INCOMPLETE,
    ),
    post(
        REGISTER,
        "first_name=a&last_name=b&username=username_3&password=&user_id=3",
        400,
        TEXT,
        INCOMPLETE,
    ),
    post(REGISTER, "", 400, TEXT, INCOMPLETE),
    post(
        REGISTER,
        "first_name=a&last_name=b&username=u&password=p&user_id=x",
        400,
        TEXT,
        "Invalid arguments: user_id is not an integer of 64 bits\n",
    ),
    post(
        REGISTER,
        "first_name=a&last_name=b&username=u&password=p&user_id=-3",
        400,
        TEXT,
        "Invalid arguments: user_id is not the number of a user\n",
    ),
    get("/wrk2-api/user/register", 400, TEXT, INCOMPLETE),
    // Following, by numbers and by names.
    post(FOLLOW, "user_id=1&followee_id=0", 200, TEXT, SUCCESS),
    post(FOLLOW, "user_id=1&followee_id=0", 200, TEXT, SUCCESS),
    post(FOLLOW, "user_name=username_2&followee_name=username_0", 200, TEXT, SUCCESS),
    post(
        FOLLOW,
        "user_name=username_99&followee_name=username_0",
        500,
        TEXT,
        "Follow Failed: User: username_99 is not registered\n",
    ),
    post(
        FOLLOW,
        "user_name=username_0&followee_name=username_99",
        500,
        TEXT,
        "Follow Failed: User: username_99 is not registered\n",
    ),
    post(FOLLOW, "user_id=1&followee_name=username_0", 400, TEXT, INCOMPLETE),
    post(FOLLOW, "", 400, TEXT, INCOMPLETE),
    post(UNFOLLOW, "user_name=username_2&followee_name=username_0", 200, TEXT, SUCCESS),
    post(UNFOLLOW, "user_id=2&followee_id=0", 200, TEXT, SUCCESS),
    post(
        UNFOLLOW,
        "user_name=username_99&followee_name=username_0",
        500,
        TEXT,
        "Unfollow Failed: User: username_99 is not registered\n",
    ),
    post(UNFOLLOW, "user_id=2", 400, TEXT, INCOMPLETE),
    // Empty timelines.
    get("/wrk2-api/home-timeline/read?user_id=1&start=0&stop=10", 200, JSON, "{}"),
    get("/wrk2-api/user-timeline/read?user_id=0&start=0&stop=10", 200, JSON, "{}"),
    get("/wrk2-api/home-timeline/read?user_id=777&start=0&stop=10", 200, JSON, "{}"),
    // Composing: unencoded as by the workloads, encoded as by the initialiser.
    post(
        COMPOSE,
        r#"username=username_0&user_id=0&text=hello @username_1 http://abcdef&media_ids=["123456789012345678","2"]&media_types=["png","png"]&post_type=0"#,
        200,
        TEXT,
        COMPOSED,
    ),
    post(
        COMPOSE,
        "username=username_962&user_id=962&text=%40username_2+%40nobody&media_ids=%5B%5D&media_types=%5B%5D&post_type=0",
        200,
        TEXT,
        COMPOSED,
    ),
    post(
        COMPOSE,
        r#"username=username_0&user_id=0&text=x&media_ids=["1","2"]&media_types=["png"]&post_type=0"#,
        500,
        TEXT,
        "compost_post failure: The lengths of media_id list and media_type list are not equal\n",
    ),
    post(
        COMPOSE,
        r#"username=username_0&user_id=0&text=x&media_ids=[1]&media_types=["png"]&post_type=0"#,
        400,
        TEXT,
        "Invalid arguments: media_ids is not a JSON list of strings\n",
    ),
    post(
        COMPOSE,
        r#"username=username_0&user_id=0&text=x&media_ids=["x"]&media_types=["png"]&post_type=0"#,
        400,
        TEXT,
        "Invalid arguments: media_ids is not an integer of 64 bits\n",
    ),
    post(
        COMPOSE,
        "username=username_0&user_id=0&text=x&post_type=4",
        400,
        TEXT,
        "Invalid arguments: post_type is not 0, 1, 2 or 3\n",
    ),
    post(COMPOSE, "username=username_0&user_id=0&text=x", 400, TEXT, INCOMPLETE),
    post(COMPOSE, "username=username_0&user_id=0&text=&post_type=0", 400, TEXT, INCOMPLETE),
    post(COMPOSE, "user_id=0&text=x&post_type=0", 400, TEXT, INCOMPLETE),
    post(COMPOSE, "username=username_0&text=x&post_type=0", 400, TEXT, INCOMPLETE),
    // Timelines: of the followers and of the mentioned, not of the author; by any method.
    get("/wrk2-api/home-timeline/read?user_id=1&start=0&stop=10", 200, JSON, SAMPLE),
    get(
        "http://localhost:8080/wrk2-api/home-timeline/read?user_id=1&start=0&stop=1",
        200,
        JSON,
        SAMPLE,
    ),
    post("/wrk2-api/home-timeline/read?user_id=1&start=0&stop=10", "", 200, JSON, SAMPLE),
    get("/wrk2-api/home-timeline/read?user_id=0&start=0&stop=10", 200, JSON, "{}"),
    get("/wrk2-api/user-timeline/read?user_id=0&start=0&stop=10", 200, JSON, SAMPLE),
    get("/wrk2-api/home-timeline/read?user_id=1&start=1&stop=10", 200, JSON, "{}"),
    get("/wrk2-api/user-timeline/read?user_id=0&start=1&stop=11", 200, JSON, "{}"),
    get("/wrk2-api/home-timeline/read?user_id=1&start=10&stop=0", 200, JSON, "{}"),
    get("/wrk2-api/home-timeline/read?user_id=1&start=0&stop=0", 200, JSON, "{}"),
    get("/wrk2-api/home-timeline/read?user_id=1&start=-1&stop=10", 200, JSON, "{}"),
    get(
        "/wrk2-api/home-timeline/read?user_id=1&start=9223372036854775800&stop=9223372036854775807",
        200,
        JSON,
        "{}",
    ),
    get(
        "/wrk2-api/home-timeline/read?user_id=1&start=0&stop=101",
        500,
        TEXT,
        "Get home-timeline failure: at most 100 posts at once, not 101\n",
    ),
    get(
        "/wrk2-api/user-timeline/read?user_id=1&start=0&stop=9223372036854775807",
        500,
        TEXT,
        "Get user-timeline failure: at most 100 posts at once, not N\n",
    ),
    get(
        "/wrk2-api/home-timeline/read?user_id=1&start=0&stop=9223372036854775808",
        400,
        TEXT,
        "Invalid arguments: stop is not an integer of 64 bits\n",
    ),
    get(
        "/wrk2-api/home-timeline/read?user_id=x&start=0&stop=1",
        400,
        TEXT,
        "Invalid arguments: user_id is not an integer of 64 bits\n",
    ),
    get("/wrk2-api/home-timeline/read?user_id=1&start=0", 400, TEXT, INCOMPLETE),
    get("/wrk2-api/home-timeline/read?start=0&stop=1", 400, TEXT, INCOMPLETE),
    get("/wrk2-api/user-timeline/read", 400, TEXT, INCOMPLETE),
    // Pages: signing up and logging in.
    post(
        "/api/user/register",
        "first_name=a&last_name=b&username=bob&password=q",
        302,
        "../../index.html",
        "",
    ),
    post(
        "/api/user/register",
        "first_name=a&last_name=b&username=ann&password=q",
        500,
        TEXT,
        "User registration failure: User ann already existed\n",
    ),
    post("/api/user/register", "first_name=a&last_name=b&username=eve", 400, TEXT, INCOMPLETE),
    post("/api/user/login", "username=bob&password=q", 302, "../../main.html?username=bob", ""),
    post(
        "/api/user/login",
        "username=bob&password=Q",
        500,
        TEXT,
        "User login failure: Incorrect username or password\n",
    ),
    post(
        "/api/user/login",
        "username=x&password=q",
        500,
        TEXT,
        "User login failure: User: x is not registered\n",
    ),
    post("/api/user/login", "username=bob", 400, TEXT, "Incomplete arguments\n127.0.0.1\n"),
    // Pages: following needs no login, everything else does.
    post(
        "/api/user/follow",
        "user_name=bob&followee_name=username_0",
        302,
        "../../contact.html",
        "",
    ),
    post(
        "/api/user/unfollow",
        "user_name=bob&followee_name=username_0",
        302,
        "../../contact.html",
        "",
    ),
    post(
        "/api/user/follow",
        "user_name=username_2&followee_name=ann",
        302,
        "../../contact.html",
        "",
    ),
    row(["GET", "/api/user/get_follower", ANNS, ""], 200, JSON, r#"[{"follower_id":"2"}]"#),
    row(["GET", "/api/user/get_followee", ANNS, ""], 200, JSON, "{}"),
    get("/api/user/get_follower", 401, TEXT, "Not logged in\n"),
    row(
        ["GET", "/api/user/get_followee", "login_token=x.y.z", ""],
        401,
        TEXT,
        "Invalid login token, please log in again\n",
    ),
    row(
        [
            "POST",
            "/api/post/compose",
            "a=b; login_token={session}; c",
            "text=<script>alert(\"1\")</script> %2B %26 %3D % \u{fc} @username_2&post_type=2",
        ],
        200,
        TEXT,
        COMPOSED,
    ),
    post("/api/post/compose", "text=x&post_type=0", 302, "../../index.html", ""),
    row(["GET", "/api/user-timeline/read?start=0&stop=10", ANNS, ""], 200, JSON, ANNS_POST),
    row(["GET", "/api/home-timeline/read?start=0&stop=10", ANNS, ""], 200, JSON, "{}"),
    get("/api/home-timeline/read?start=0&stop=10", 401, TEXT, "Not logged in\n"),
    row(["OPTIONS", "/api/user/login", "", ""], 204, "", ""),
    row(["OPTIONS", "/", "", ""], 204, "", ""),
    // The rest.
    get("/healthz", 200, "text/plain; charset=utf-8", "ok"),
    get("/wrk2-api/nowhere", 404, TEXT, "404 Not Found\n"),
];

/// Replaces what differs from run to run: numbers of ten digits and more by `N`, and the letters of
/// short URLs by `?`.
fn masked(body: &str) -> String {
    let mut masked = String::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if 10 < digits {
            masked.push('N');
            rest = &rest[digits..];
        } else if let Some(after) = rest.strip_prefix(r"short-url\/") {
            masked.push_str(r"short-url\/??????????");
            assert!(after[..10].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{after}");
            rest = &after[10..];
        } else {
            masked.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    masked
}

/// Checks a whole response, its headers included.
fn check(row: &Row, answer: &Answer) {
    let place = format!("{} {} {}", row.method, row.target, row.form);
    assert_eq!((answer.code, masked(&answer.body).as_str()), (row.code, row.body), "{place}");
    let expected = (!row.header.is_empty()).then_some(row.header);
    let header = if row.code == 302 { "Location" } else { "Content-Type" };
    assert_eq!(answer.header(header), expected, "{place}");
    let is_page = row.target.starts_with("/api/") || row.code == 204;
    let origins = answer.header("Access-Control-Allow-Origin");
    assert_eq!(origins, is_page.then_some("*"), "{place}");
    let methods = answer.header("Access-Control-Allow-Methods");
    assert_eq!(methods, (row.code == 204).then_some("GET, POST, OPTIONS"), "{place}");
    let sniffed = answer.header("X-Content-Type-Options");
    assert_eq!(sniffed, (400 <= row.code).then_some("nosniff"), "{place}");
}

/// Registers ann, and returns her session.
fn log_in(front: &Instance) -> String {
    let form = "first_name=a&last_name=n&username=ann&password=q";
    assert_eq!(ask(front, "POST", "/api/user/register", "", form).code, 302);
    let form = "username=ann&password=q";
    let answer = ask(front, "POST", "/api/user/login", "", form);
    assert_eq!(answer.header("Location"), Some("../../main.html?username=ann"), "{answer:?}");
    let cookie = answer.header("Set-Cookie").unwrap();
    let (session, attributes) = cookie.split_once("; ").unwrap();
    let expires = attributes.strip_prefix("Path=/; Expires=").unwrap();
    let expires = expires.strip_suffix("; HttpOnly; SameSite=Lax").unwrap();
    assert!(expires.len() == 29 && expires.ends_with(" GMT"), "{cookie}");
    session.strip_prefix("login_token=").unwrap().to_owned()
}

fn check_table(network: &Network) {
    let front = network.front();
    let session = log_in(front);
    for row in &TABLE {
        let cookie = row.cookie.replace("{session}", &session);
        let cookie = if cookie.is_empty() { cookie } else { format!("Cookie: {cookie}\r\n") };
        check(row, &ask(front, row.method, row.target, &cookie, row.form));
    }
    let counts = ask(front, "GET", "/counts", "", "").body;
    let expected = "{\"follows\":2,\"home_timeline_entries\":3,\"posts\":3,\"urls\":1,\
                    \"user_timeline_entries\":3,\"users\":5}\n";
    assert_eq!(counts, expected);
    check_pipelining(front);
}

/// Sends requests as the workloads do: many at once, with absolute targets.
fn check_pipelining(front: &Instance) {
    let host = "Host: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    let read = format!(
        "GET http://localhost:8080/wrk2-api/home-timeline/read?user_id=1&start=0&stop=10 \
         HTTP/1.1\r\n{host}\r\n"
    );
    let form = "username=username_1&user_id=1&text=a b @c [\"d\"] http://e&post_type=0";
    let length = form.len();
    let compose = format!(
        "POST http://localhost:8080/wrk2-api/post/compose HTTP/1.1\r\n{host}\
         Content-Length: {length}\r\n\r\n{form}"
    );
    let last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answers = front.exchange([read, compose].concat().repeat(20) + last);
    let bodies: Vec<_> = answers
        .split("HTTP/1.1 200 OK\r\n")
        .skip(1)
        .map(|one| masked(one.split_once("\r\n\r\n").unwrap().1))
        .collect();
    assert_eq!(bodies[..40], [SAMPLE, COMPOSED].repeat(20));
    assert_eq!(bodies[40..], ["ok"]);
}

#[test]
fn the_services_answer_as_the_contract_says() {
    check_table(&Network::of_services(1, &[]));
}

#[test]
fn replicas_of_every_service_answer_as_one_does() {
    let network = Network::of_services(2, &[]);
    check_table(&network);
    for (service, replicas) in &network.services {
        for one in replicas.iter().filter(|_| !["front", "store"].contains(service)) {
            let (_, metrics) = one.get("/metrics");
            let counted =
                format!("social_calls_answered_total{{service=\"{}\"", service.replace('-', "_"));
            assert!(metrics.contains(&counted), "both replicas of {service} are called: {metrics}");
            assert_eq!(one.get("/healthz"), (200, "ok".into()));
        }
    }
}

#[test]
fn all_in_one_answers_as_the_contract_says() {
    check_table(&Network::in_one(&[]));
}

#[test]
fn the_originals_false_successes_and_lost_texts_need_flags() {
    let flags = ["--false-successes", "--lose-tail", "--secret", "secret"];
    for network in [
        Network::in_one(&flags),
        Network::of_services(
            1,
            &[
                ("front", &["--false-successes"]),
                ("text", &["--lose-tail"]),
                ("user", &["--secret", "secret"]),
            ],
        ),
    ] {
        network.register(1);
        network.register(1);
        let form =
            "username=username_0&user_id=0&text=x&media_ids=[\"1\"]&media_types=[]&post_type=0";
        network.must("post/compose", form);
        let front = network.front();
        let login =
            ask(front, "POST", "/api/user/login", "", "username=username_0&password=password_0");
        assert_eq!(login.code, 302, "{login:?}");
        let page = "/wrk2-api/user-timeline/read?user_id=0&start=0&stop=9";
        assert_eq!(front.get(page), (200, "{}".into()), "the refused post is not stored");
        network.must("post/compose", "username=u&user_id=0&text=a http://b c&post_type=0");
        let (_, body) = front.get(page);
        assert!(masked(&body).contains(r#""text":"a http:\/\/short-url\/??????????","#), "{body}");
        let failed = ask(front, "POST", "/wrk2-api/user/follow", "", "user_name=a&followee_name=b");
        assert_eq!(failed.code, 500, "the original reports these");
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let mut network = Network::in_one(&[]);
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    for post in 0..5 {
        let form = format!("username=username_0&user_id=0&text=post {post}&post_type=0");
        network.must("post/compose", &form);
    }
    let session = log_in(network.front());
    let cookie = format!("Cookie: login_token={session}\r\n");
    let page = "/wrk2-api/home-timeline/read?user_id=1&start=0&stop=10";
    let before = (network.front().get(page), network.front().get("/counts"));
    assert!(before.0.1.contains("post 0"), "{before:?}");

    network.services.remove("front").unwrap().remove(0).kill();
    let data = ["all-in-one", "--data", network.folder.path().to_str().unwrap()];
    let again = Instance::of("social", &data);
    assert_eq!((again.get(page), again.get("/counts")), before);
    let own = ask(&again, "GET", "/api/user-timeline/read?start=0&stop=1", &cookie, "");
    assert_eq!((own.code, own.body.as_str()), (200, "{}"), "the session goes on");
    assert_eq!(again.terminate(), Some(0));
}

#[test]
fn a_service_that_is_gone_gives_errors_and_its_return_is_noticed() {
    let mut network = Network::of_services(1, &[]);
    network.register(1);
    let gone = network.services.remove("compose-post").unwrap();
    let address = gone[0].address.to_string();
    drop(gone);
    let form = "username=username_0&user_id=0&text=x&post_type=0";
    let failed = ask(network.front(), "POST", "/wrk2-api/post/compose", "", form);
    assert_eq!(failed.code, 500, "{failed:?}");
    assert!(failed.body.starts_with("compost_post failure: "), "{failed:?}");
    let is_down = || network.front().get("/healthz").0 == 503;
    wait_for("it notices", Duration::from_secs(10), is_down);
    let called =
        ["text", "user", "media", "unique-id", "post-storage", "user-timeline", "home-timeline"];
    let called: Vec<_> =
        called.iter().flat_map(|one| [format!("--{one}"), network.addresses(one)]).collect();
    let mut arguments = vec!["compose-post", "--listen", &address];
    arguments.extend(called.iter().map(String::as_str));
    let _again = Instance::of("social", &arguments);
    let is_up = || network.front().get("/healthz").0 == 200;
    wait_for("it is called again", Duration::from_secs(10), is_up);
    network.must("post/compose", form);
}

/// Sends a post without waiting for its response.
fn begin_post(network: &Network, text: &str) -> TcpStream {
    let form = format!("username=username_0&user_id=0&text={text}&post_type=0");
    let mut stream = network.front().connect();
    let head = "POST /wrk2-api/post/compose HTTP/1.1\r\nHost: x\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{form}", form.len()).unwrap();
    stream
}

/// Waits until all posts are in both timelines: user 1 follows user 0, who composes them.
fn wait_for_both_timelines(network: &Network, least: u64) {
    let are_in_both = || {
        let counts: Value = serde_json::from_str(&network.front().get("/counts").1).unwrap();
        let posts = &counts["posts"];
        Some(least) <= posts.as_u64()
            && *posts == counts["user_timeline_entries"]
            && *posts == counts["home_timeline_entries"]
    };
    wait_for("posts are in both timelines", Duration::from_secs(10), are_in_both);
}

#[test]
fn a_post_whose_author_goes_away_is_in_both_timelines() {
    let network = Network::of_services(
        1,
        &[("user-timeline", &["--delay", "1s"]), ("compose-post", &["--max-calls", "1"])],
    );
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    let gone = begin_post(&network, "x");
    let is_stored = || network.front().get("/counts").1.contains("\"posts\":1,");
    wait_for("it is stored", Duration::from_secs(10), is_stored);
    drop(gone);
    let form = "username=username_0&user_id=0&text=y&post_type=0";
    let is_bounded = || {
        let answer = ask(network.front(), "POST", COMPOSE, "", form);
        answer.body.contains("too many posts at once")
    };
    wait_for("its delivery still counts", Duration::from_secs(10), is_bounded);
    wait_for_both_timelines(&network, 1);
}

#[test]
fn posts_whose_authors_go_away_at_any_moment_are_in_both_timelines_or_in_none() {
    let network = Network::in_one(&[]);
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    for post in 0..200_u64 {
        let gone = begin_post(&network, &format!("post {post}"));
        sleep(Duration::from_micros(post % 20 * 250));
        drop(gone);
    }
    wait_for_both_timelines(&network, 50);
}

#[test]
fn a_snapshot_is_returned_to_within_two_seconds() {
    let network = Network::in_one(&[]);
    network.register(30);
    for user in 1..30 {
        network.must("user/follow", &format!("user_id={user}&followee_id=0"));
    }
    let front = network.front();
    assert_eq!(front.get("/reset").0, 405);
    let noted = front.ask("POST", "/snapshot");
    for post in 0..50 {
        let form = format!("username=username_0&user_id=0&text=post {post}&post_type=0");
        network.must("post/compose", &form);
    }
    let (_, counts) = front.get("/counts");
    assert!(counts.contains("\"posts\":50,") && counts.contains("entries\":1450,"), "{counts}");
    let began = now();
    assert_eq!(front.ask("POST", "/reset"), noted);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    let page = "/wrk2-api/home-timeline/read?user_id=1&start=0&stop=10";
    assert_eq!(front.get(page), (200, "{}".into()));
}

#[test]
fn a_timeline_keeps_its_newest_posts() {
    let network = Network::in_one(&["--max-timeline", "3"]);
    for post in 0..5 {
        network.must("post/compose", &format!("username=u&user_id=0&text=post {post}&post_type=0"));
    }
    let (_, body) = network.front().get("/wrk2-api/user-timeline/read?user_id=0&start=0&stop=9");
    let kept: Vec<_> = (0..5).filter(|post| body.contains(&format!("post {post}"))).collect();
    assert_eq!(kept, [2, 3, 4], "{body}");
    assert!(body.find("post 4") < body.find("post 2"), "{body}");
}

#[test]
fn texts_beyond_the_bounds_are_refused_and_nothing_is_stored() {
    let network = Network::of_services(1, &[]);
    network.register(1);
    let front = network.front();
    let compose = |text: String, more: &str| {
        let form = format!("username=username_0&user_id=0&text={text}&post_type=0{more}");
        let answer = ask(front, "POST", COMPOSE, "", form);
        (answer.code, answer.body)
    };
    let many_media = format!(
        "&media_ids=[{}]&media_types=[{}]",
        ["\"1\""; 101].join(","),
        ["\"png\""; 101].join(",")
    );
    for (text, more, why) in [
        ("x".repeat(10_001), "", "a post has at most 10000 bytes\n"),
        // Larger than a message between services may be.
        ("x".repeat(900_000), "", "compost_post failure: "),
        ("\"".repeat(6_000), "", "a post has at most 10000 bytes as JSON, not "),
        ("@a ".repeat(101), "", "a post has at most 100 mentions, and as many URLs\n"),
        ("http://a ".repeat(101), "", "a post has at most 100 mentions, and as many URLs\n"),
        ("x".into(), many_media.as_str(), "a post has at most 100 media\n"),
    ] {
        let (code, body) = compose(text, more);
        assert!(code == 500 && body.contains(why), "{code} {body}");
    }
    let name = "x".repeat(129);
    let forms = [
        format!("first_name=a&last_name=b&username={name}&password=p&user_id=7"),
        format!("first_name={name}&last_name=b&username=u&password=p&user_id=7"),
        format!("first_name=a&last_name=b&username=u&password={name}&user_id=7"),
    ];
    for form in forms {
        let answer = ask(front, "POST", REGISTER, "", form);
        assert!(answer.code == 500 && answer.body.contains("must have 1 to"), "{answer:?}");
    }
    let (_, counts) = front.get("/counts");
    assert!(counts.contains("\"posts\":0,") && counts.contains("\"users\":1}"), "{counts}");
    assert_eq!(compose("x".repeat(9_000), "").0, 200);
}

#[test]
fn readers_and_writers_at_once_see_whole_pages() {
    let network = Network::of_services(2, &[]);
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    let front = network.front();
    thread::scope(|scope| {
        for writer in 0..4 {
            let network = &network;
            scope.spawn(move || {
                for post in 0..25 {
                    let text = format!("post {writer}-{post}");
                    let form = format!("username=username_0&user_id=0&text={text}&post_type=0");
                    network.must("post/compose", &form);
                    // The writer's next read shows what was acknowledged.
                    let (code, page) = network
                        .front()
                        .get("/wrk2-api/home-timeline/read?user_id=1&start=0&stop=100");
                    assert!(code == 200 && page.contains(&text), "{code} {text}");
                }
            });
        }
    });
    let (_, page) = front.get("/wrk2-api/home-timeline/read?user_id=1&start=0&stop=100");
    assert_eq!(page.matches("\"post_id\"").count(), 100);
}

#[test]
fn the_help_teaches() {
    let help = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
        let output = command.args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for (arguments, words) in [
        (
            &["social", "--help"][..],
            &["front", "home-timeline", "all-in-one", "--post-storage"][..],
        ),
        (
            &["social", "all-in-one", "--help"],
            &["curl", "/snapshot", "--false-successes", "--max-timeline"],
        ),
        (&["social", "user", "--help"], &["--password-hash", "Never for people", "--secret"]),
    ] {
        let text = help(arguments);
        for word in words {
            assert!(text.contains(word), "{word} is not in\n{text}");
        }
    }
}
