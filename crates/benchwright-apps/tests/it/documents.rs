//! The social network with its documents in PostgreSQL: answers as with the store, several replicas,
//! and a database that dies or is full.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use scopeguard::{defer, guard};
use serde_json::{Value, json};

use crate::instance::{Instance, now, sleep};
use crate::network::{Answer, Network, ask};
use crate::services::wait_for;
use crate::tools::{Postgres, Redis};

const LONG: Duration = Duration::from_secs(30);

fn post(front: &Instance, path: &str, form: &str) -> Answer {
    ask(front, "POST", &format!("/wrk2-api/{path}"), "", form)
}

fn compose(front: &Instance, text: &str) -> Answer {
    post(front, "post/compose", &format!("username=username_0&user_id=0&text={text}&post_type=0"))
}

/// Reads the newest posts of the home timeline of user 1, a follower of user 0.
fn home(front: &Instance) -> (u16, String) {
    front.get("/wrk2-api/home-timeline/read?user_id=1&start=0&stop=100")
}

/// Returns the texts of the posts of a page, in its order.
fn texts(page: &str) -> Vec<String> {
    let page: Value = serde_json::from_str(page).unwrap();
    let text = |post: &Value| post["text"].as_str().unwrap().to_owned();
    page.as_array().into_iter().flatten().map(text).collect()
}

fn counts(front: &Instance) -> Value {
    serde_json::from_str(&front.get("/counts").1).unwrap()
}

#[test]
fn documents_in_postgresql_are_those_of_the_store() {
    const TEST: &str = "documents_in_postgresql_are_those_of_the_store";
    let (Some(database), Some(redis)) = (Postgres::start(TEST), Redis::start(TEST)) else { return };
    check(&Network::of_services(2, &[]));
    check(&Network::with_documents(Some(&database.url()), 2, &[]));
    database.run("DROP SCHEMA social CASCADE");
    let redis = ["--redis", &redis.address()].map(str::to_owned);
    let redis: Vec<&str> = redis.iter().map(String::as_str).collect();
    let options = ["home-timeline", "user-timeline", "front"].map(|name| (name, &redis[..]));
    check(&Network::with_documents(Some(&database.url()), 2, &options));
}

/// Checks an empty network of two replicas of everything.
fn check(network: &Network) {
    let [first, second] = &network.services["front"][..] else { panic!("two fronts") };
    network.register(4);
    check_names(first, second);
    check_follows(first, second);
    check_posts(first, second);
    check_reset(first, second);
}

fn check_names(first: &Instance, second: &Instance) {
    let register = |front, name: &str, number: u32| {
        let form = format!("first_name=a&last_name=b&username={name}&password=c&user_id={number}");
        post(front, "user/register", &form).body
    };
    let taken = |name| format!("User registration failure: User {name} already existed\n");
    // Neither the name nor the number is given twice, and any text is a name.
    assert_eq!(register(second, "username_0", 7), taken("username_0"));
    assert_eq!(register(second, "other", 0), taken("other"));
    assert_eq!(register(first, "a%00%27b", 8), "Success!\n");
    assert_eq!(register(second, "a%00%27b", 9), taken("a\0'b"));
    let login = |front, form| ask(front, "POST", "/api/user/login", "", form).code;
    assert_eq!(login(second, "username=a%00%27b&password=c"), 302);
    assert_eq!(login(second, "username=a%00%27b&password=d"), 500);
    assert_eq!(login(first, "username=a%00&password=c"), 500);
}

fn check_follows(first: &Instance, second: &Instance) {
    let follow = |front, form| post(front, "user/follow", form).body;
    for form in ["user_id=1&followee_id=0", "user_name=username_2&followee_name=username_0"] {
        // The second time changes nothing.
        assert_eq!(follow(first, form), "Success!\n");
        assert_eq!(follow(second, form), "Success!\n");
    }
    assert_eq!(
        follow(second, "user_name=username_2&followee_name=nobody"),
        "Follow Failed: User: nobody is not registered\n"
    );
    assert_eq!(counts(second)["follows"], 2);
    let unfollow = |front| post(front, "user/unfollow", "user_id=2&followee_id=0").body;
    assert_eq!((unfollow(second), unfollow(first)), ("Success!\n".into(), "Success!\n".into()));
    assert_eq!(counts(first)["follows"], 1);
}

fn check_posts(first: &Instance, second: &Instance) {
    for number in 0..20 {
        let front = [first, second][number % 2];
        // Users 1 and 3 get it, user 2 does not follow any more.
        let text = format!("{number}%00 @username_3 @nobody http://a.b");
        assert_eq!(compose(front, &text).body, "Successfully upload post\n");
        // What was acknowledged is in the next page, whoever answers.
        for front in [first, second] {
            let (code, page) = home(front);
            let found = texts(&page);
            assert_eq!((code, found.len()), (200, number + 1), "{page}");
            assert!(found[0].starts_with(&format!("{number}\0 @username_3")), "{found:?}");
        }
    }
    let page = |user, start, stop| {
        let range = format!("user_id={user}&start={start}&stop={stop}");
        texts(&second.get(&format!("/wrk2-api/home-timeline/read?{range}")).1).len()
    };
    assert_eq!([page(3, 0, 100), page(2, 0, 100), page(3, 15, 100)], [20, 0, 5]);
    assert_eq!(
        counts(first),
        json!({
            "follows": 1, "home_timeline_entries": 40, "posts": 20, "urls": 20,
            "user_timeline_entries": 20, "users": 5
        })
    );
}

fn check_reset(first: &Instance, second: &Instance) {
    let told = |front: &Instance, path| {
        let began = now();
        let (code, counts) = front.ask("POST", path);
        assert_eq!(code, 200, "{counts}");
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        counts
    };
    let followees = |front| {
        let form = "username=username_1&password=password_1";
        let login = ask(front, "POST", "/api/user/login", "", form);
        let cookie = login.header("Set-Cookie").unwrap().split(';').next().unwrap().to_owned();
        ask(front, "GET", "/api/user/get_followee", &format!("Cookie: {cookie}\r\n"), "").body
    };
    let noted = told(first, "/snapshot");
    let page = home(first);
    for front in [first, second] {
        sleep(Duration::from_millis(2));
        assert_eq!(compose(front, "later http://c.d").code, 200);
        // One that was there goes and comes back, one is new, and one only goes.
        for (path, form) in [
            ("user/unfollow", "user_id=1&followee_id=0"),
            ("user/follow", "user_id=1&followee_id=0"),
            ("user/follow", "user_id=1&followee_id=3"),
            ("user/unfollow", "user_id=1&followee_id=0"),
        ] {
            assert_eq!(post(front, path, form).code, 200);
        }
        assert_eq!(followees(second), r#"[{"followee_id":"3"}]"#);
        assert_eq!(told(front, "/reset"), noted);
        assert_eq!((home(first), home(second)), (page.clone(), page.clone()));
        assert_eq!(followees(front), r#"[{"followee_id":"0"}]"#);
    }
    // What is noted now has the new post, also after a reset.
    assert_eq!(compose(first, "later").code, 200);
    let later = told(second, "/snapshot");
    assert_ne!(later, noted);
    sleep(Duration::from_millis(2));
    assert_eq!(compose(first, "last").code, 200);
    assert_eq!(told(second, "/reset"), later);
    assert_eq!(texts(&home(second).1).len(), 21);
}

#[test]
fn a_reset_without_a_snapshot_empties_postgresql() {
    let Some(database) = Postgres::start("a_reset_without_a_snapshot_empties_postgresql") else {
        return;
    };
    let network = Network::with_documents(Some(&database.url()), 1, &[]);
    let front = network.front();
    for _ in 0..2 {
        let empty = front.get("/counts");
        network.register(2);
        network.must("user/follow", "user_id=1&followee_id=0");
        assert_eq!(compose(front, "one").code, 200);
        assert_eq!(texts(&home(front).1), ["one"]);
        assert_eq!(front.ask("POST", "/reset"), empty);
        assert_eq!(home(front), (200, "{}".into()));
    }
}

/// Everybody writes while the state is noted and reset: each write is in the noted state or gone.
#[test]
fn writes_in_progress_are_noted_or_removed() {
    let Some(database) = Postgres::start("writes_in_progress_are_noted_or_removed") else { return };
    let network = Network::with_documents(Some(&database.url()), 1, &[]);
    let front = network.front();
    let documents = |counts: &str| {
        let counts: Value = serde_json::from_str(counts).unwrap();
        ["users", "follows", "posts", "urls"].map(|kind| counts[kind].clone())
    };
    network.register(1);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        defer! { is_over.store(true, Ordering::Relaxed) }
        for writer in 1..5 {
            let is_over = &is_over;
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let user = 10 * number + writer;
                    let form = format!("first_name=a&last_name=b&username=n{user}&password=c");
                    let form = format!("{form}&user_id={user}");
                    // Unlike a post, none of these is more than one write.
                    assert_eq!(post(front, "user/register", &form).code, 200);
                    let edge = format!("user_id={writer}&followee_id={}", number % 5);
                    let change = ["user/unfollow", "user/follow"][number / 5 % 2];
                    assert_eq!(post(front, change, &edge).code, 200);
                }
            });
        }
        for _ in 0..5 {
            let noted = front.ask("POST", "/snapshot");
            for _ in 0..5 {
                let reset = front.ask("POST", "/reset");
                assert_eq!((noted.0, reset.0), (200, 200), "{noted:?} {reset:?}");
                assert_eq!(documents(&noted.1), documents(&reset.1));
            }
        }
    });
}

#[test]
fn a_killed_postgresql_gives_errors_and_returns_with_all_that_was_acknowledged() {
    const TEST: &str =
        "a_killed_postgresql_gives_errors_and_returns_with_all_that_was_acknowledged";
    let Some(mut database) = Postgres::start(TEST) else { return };
    let network = Network::with_documents(Some(&database.url()), 1, &[]);
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    let front = network.front();
    let is_over = AtomicBool::new(false);
    // An error or the whole page, never a part of it: a page has no fewer posts than the one before,
    // and all that were acknowledged before it was asked for.
    let has_page = |acknowledged: &[String]| {
        let (code, page) = home(front);
        let found = if code == 200 { texts(&page) } else { Vec::new() };
        assert!(code == 500 || acknowledged.iter().all(|one| found.contains(one)), "{code} {page}");
        code == 200
    };
    let (acknowledged, refused) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut acknowledged, mut refused) = (Vec::new(), 0);
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let text = format!("post {number};");
                match compose(front, &text).code {
                    200 => acknowledged.push(text),
                    500 => refused += 1,
                    code => panic!("{code}"),
                }
                has_page(&acknowledged[acknowledged.len().saturating_sub(50)..]);
            }
            (acknowledged, refused)
        });
        let end = guard(&is_over, |is_over| is_over.store(true, Ordering::Relaxed));
        for _ in 0..3 {
            wait_for("it serves", LONG, || has_page(&[]));
            sleep(Duration::from_millis(100));
            database.kill();
            wait_for("it notices", LONG, || front.get("/healthz").0 == 503);
            assert!(!has_page(&[]) || texts(&home(front).1).is_empty(), "there are no documents");
            database.resume();
            wait_for("it is back", LONG, || front.get("/healthz").0 == 200);
        }
        wait_for("it serves again", LONG, || has_page(&[]));
        drop(end);
        writer.join().unwrap()
    });
    assert!(0 < refused && 3 < acknowledged.len(), "{refused} {acknowledged:?}");
    // All of them, newest first; a refused one may be there as well.
    let mut pages = Vec::new();
    for start in (0..).step_by(100) {
        let range = format!("user_id=1&start={start}&stop={}", start + 100);
        let (code, page) = front.get(&format!("/wrk2-api/home-timeline/read?{range}"));
        assert_eq!(code, 200, "{page}");
        match texts(&page) {
            none if none.is_empty() => break,
            more => pages.extend(more),
        }
    }
    let found: Vec<&String> = pages.iter().rev().filter(|one| acknowledged.contains(one)).collect();
    assert_eq!(found, acknowledged.iter().collect::<Vec<_>>());
}

#[test]
fn a_full_postgresql_takes_nothing_new() {
    let Some(database) = Postgres::start("a_full_postgresql_takes_nothing_new") else { return };
    let small = ["--max-megabytes", "1"];
    let options = [("post-storage", &small[..]), ("social-graph", &small)];
    let network = Network::with_documents(Some(&database.url()), 1, &options);
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    let front = network.front();
    let mut drawn = 1_u32;
    let is_full = || {
        // PostgreSQL compresses a text that repeats itself.
        let letters = std::iter::repeat_with(|| {
            drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'a' + (drawn >> 24) as u8 % 26)
        });
        let answer = compose(front, &letters.take(8000).collect::<String>());
        assert!(answer.code == 200 || answer.body.contains("--max-megabytes"), "{answer:?}");
        answer.code == 500
    };
    wait_for("it is full", LONG, is_full);
    let refused = post(front, "user/follow", "user_id=0&followee_id=1");
    assert!(refused.code == 500 && refused.body.contains("--max-megabytes"), "{refused:?}");
    assert_eq!(home(front).0, 200);
    assert_eq!(post(front, "user/unfollow", "user_id=1&followee_id=0").code, 200);
}

#[test]
fn nobody_follows_more_users_in_postgresql_than_the_bound() {
    const TEST: &str = "nobody_follows_more_users_in_postgresql_than_the_bound";
    let Some(database) = Postgres::start(TEST) else { return };
    let network = Network::with_documents(Some(&database.url()), 1, &[]);
    database.run(
        "INSERT INTO social.follows SELECT 1, n, 0 FROM generate_series(1, 20000) AS n
         UNION SELECT n, 2, 0 FROM generate_series(1, 20000) AS n",
    );
    let follow = |edge| post(network.front(), "user/follow", edge).body;
    let most = "Follow Failed: a user follows at most 20000 users, and has as many followers\n";
    assert_eq!(follow("user_id=1&followee_id=20001"), most);
    assert_eq!(follow("user_id=20001&followee_id=2"), most);
    assert_eq!(follow("user_id=1&followee_id=7"), "Success!\n");
    assert_eq!(follow("user_id=20001&followee_id=3"), "Success!\n");
}

#[test]
fn a_front_over_postgresql_must_know_where_timelines_are() {
    let Some(database) = Postgres::start("a_front_over_postgresql_must_know_where_timelines_are")
    else {
        return;
    };
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    command.args(["social", "front", "--store", &database.url()]);
    for service in ["user", "social-graph", "compose-post", "user-timeline", "home-timeline"] {
        command.args([format!("--{service}"), "127.0.0.1:9".to_owned()]);
    }
    let output = command.output().unwrap();
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("add --timelines or --redis"), "{why}");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    command.args(["social", "url-shorten", "--store", "127.0.0.1:9", "--max-megabytes", "1"]);
    let why = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(why.contains("give it to the store's process"), "{why}");
}
