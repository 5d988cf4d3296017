//! The social network with its timelines in Redis: answers as with the store, replicas that lag, and
//! a primary that dies; and with a cache of its posts.

use std::fs;
use std::time::Duration;

use crate::instance::sleep;
use crate::network::{Network, ask};
use crate::services::wait_for;
use crate::tools::{Memcached, Redis};

const HOME: &str = "/wrk2-api/home-timeline/read?user_id=1&start=0&stop=100";
const LONG: Duration = Duration::from_secs(30);

/// Starts a network with timelines in Redis, where user 1 follows user 0.
fn network(primary: &Redis, replicas: &[&Redis], of_home: &[&str]) -> Network {
    let primary = primary.address();
    let replicas: Vec<String> = replicas.iter().map(|one| one.address()).collect();
    let (replicas, mut options) = (replicas.join(","), vec!["--redis", &primary]);
    if !replicas.is_empty() {
        options.extend(["--redis-replicas", &replicas]);
    }
    let home = [&options[..], of_home].concat();
    let options = &options[..];
    let network = Network::of_services(
        1,
        &[("home-timeline", &home), ("user-timeline", options), ("front", options)],
    );
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    network
}

/// Composes a post of user 0; returns true if it was acknowledged.
fn compose(network: &Network, text: &str) -> bool {
    let form = format!("username=username_0&user_id=0&text={text};&post_type=0");
    ask(network.front(), "POST", "/wrk2-api/post/compose", "", form).code == 200
}

/// Returns true if this is a page with exactly these posts, the newest first.
fn is_page(page: &str, texts: &[String]) -> bool {
    let places: Vec<_> = texts.iter().map(|text| page.find(&format!("\"{text};\""))).collect();
    page.matches("\"post_id\"").count() == texts.len()
        && places.iter().all(Option::is_some)
        && places.is_sorted_by(|one, next| one > next)
}

fn texts(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("post {number}")).collect()
}

#[test]
fn timelines_in_redis_are_those_of_the_store() {
    let Some(redis) = Redis::start("timelines_in_redis_are_those_of_the_store") else { return };
    let network = network(&redis, &[], &[]);
    let front = network.front();
    assert_eq!(front.get(HOME), (200, "{}".into()));
    // What was acknowledged is in the next page: the primary is read.
    for number in 0..50 {
        assert!(compose(&network, &format!("post {number}")));
        let (code, page) = front.get(HOME);
        assert!(code == 200 && is_page(&page, &texts(0..number + 1)), "{code} {page}");
    }
    let part = HOME.replace("start=0&stop=100", "start=2&stop=5");
    assert!(is_page(&front.get(&part).1, &texts(45..48)));
    for nothing in ["start=50&stop=60", "start=5&stop=5", "start=-1&stop=3"] {
        let target = HOME.replace("start=0&stop=100", nothing);
        assert_eq!(front.get(&target), (200, "{}".into()), "{nothing}");
    }
    let own = HOME.replace("home", "user").replace("user_id=1", "user_id=0");
    assert!(is_page(&front.get(&own).1, &texts(0..50)));
    // A reset returns to the noted posts, in the store and in Redis.
    let noted = front.ask("POST", "/snapshot");
    assert!(noted.1.contains("\"home_timeline_entries\":50,"), "{noted:?}");
    sleep(Duration::from_millis(2));
    assert!(compose(&network, "post 50"));
    assert_ne!(front.get("/counts"), noted);
    assert_eq!(front.ask("POST", "/reset"), noted);
    assert!(is_page(&front.get(HOME).1, &texts(0..50)));
}

#[test]
fn a_full_redis_refuses_posts() {
    let Some(redis) = Redis::start("a_full_redis_refuses_posts") else { return };
    let network = network(&redis, &[], &[]);
    assert!(compose(&network, "post 0"));
    assert_eq!(redis.tell("CONFIG SET maxmemory 1"), "+OK");
    let form = "username=username_0&user_id=0&text=x&post_type=0";
    let refused = ask(network.front(), "POST", "/wrk2-api/post/compose", "", form);
    assert!(refused.code == 500 && refused.body.contains("maxmemory"), "{refused:?}");
    assert_eq!(redis.tell("CONFIG SET maxmemory 0"), "+OK");
    assert!(is_page(&network.front().get(HOME).1, &texts(0..1)));
}

#[test]
fn a_frozen_replica_shows_as_lag_and_as_an_event_and_reads_go_on() {
    const TEST: &str = "a_frozen_replica_shows_as_lag_and_as_an_event_and_reads_go_on";
    let Some(primary) = Redis::start(TEST) else { return };
    let (frozen, other) = (primary.replica(), primary.replica());
    let folder = tempfile::tempdir().unwrap();
    let statistics = folder.path().join("statistics");
    let of_home = ["--statistics", statistics.to_str().unwrap(), "--redis-timeout", "300ms"];
    let network = network(&primary, &[&frozen, &other], &of_home);
    let lag = || {
        let (_, metrics) = network.services["home-timeline"][0].get("/metrics");
        let name = format!("social_redis_replica_lag_seconds{{replica=\"{}\"}} ", frozen.address());
        metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok())
    };
    let sees = |posts: usize| {
        let (code, page) = network.front().get(HOME);
        assert_eq!(code, 200, "{page}");
        is_page(&page, &texts(0..posts))
    };
    assert!(compose(&network, "post 0"));
    wait_for("the replicas follow", LONG, || sees(1) && sees(1));
    wait_for("the lag is known", LONG, || lag().is_some_and(|lag| lag < 3));
    frozen.freeze();
    assert!(compose(&network, "post 1"));
    wait_for("the other one follows", LONG, || sees(2));
    // From now on only the other one answers.
    for _ in 0..10 {
        assert!(sees(2));
    }
    wait_for("it lags", LONG, || lag().is_some_and(|lag| 3 <= lag));
    frozen.thaw();
    wait_for("it has followed", LONG, || lag().is_some_and(|lag| lag < 3));
    let of = format!("\"of\":\"replica {}\"", frozen.address());
    let events = || fs::read_to_string(folder.path().join("statistics.events")).unwrap();
    let is_over = || {
        events()
            .lines()
            .rev()
            .find(|line| line.contains(&of))
            .is_some_and(|line| line.contains("null"))
    };
    wait_for("the event has ended", LONG, is_over);
    let events = events();
    assert!(events.lines().any(|line| line.contains(&of) && !line.contains("null")), "{events}");
    for _ in 0..4 {
        assert!(sees(2));
    }
}

#[test]
fn a_killed_primary_gives_errors_and_returns_with_all_that_was_acknowledged() {
    const TEST: &str = "a_killed_primary_gives_errors_and_returns_with_all_that_was_acknowledged";
    let Some(mut primary) = Redis::start(TEST) else { return };
    let replica = primary.replica();
    let network = network(&primary, &[&replica], &[]);
    for number in 0..20 {
        assert!(compose(&network, &format!("post {number}")));
    }
    let front = network.front();
    wait_for("the replica follows", LONG, || is_page(&front.get(HOME).1, &texts(0..20)));
    primary.kill();
    let is_down = || front.get("/healthz").0 == 503;
    wait_for("it notices", LONG, is_down);
    // An error or the whole page, never a part of it.
    let has_page = || {
        let (code, page) = front.get(HOME);
        assert!(code == 500 || code == 200 && is_page(&page, &texts(0..20)), "{code} {page}");
        code == 200
    };
    for number in 20..25 {
        assert!(!compose(&network, &format!("post {number}")), "nothing keeps it");
        has_page();
    }
    primary.resume();
    let is_up = || has_page() && front.get("/healthz").0 == 200;
    wait_for("it is there again", LONG, is_up);
    assert!(compose(&network, "post 20"));
    wait_for("the replica follows again", LONG, || is_page(&front.get(HOME).1, &texts(0..21)));
}

#[test]
fn a_service_has_its_timelines_in_one_place_only() {
    let refused = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
        let output = command.args(["social", "user-timeline"]).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let posts = ["--post-storage", "127.0.0.1:1"];
    for (arguments, why) in [
        (&[][..], "--store <ADDRESSES>"),
        (&["--store", "127.0.0.1:1", "--redis-replicas", "127.0.0.1:1"], "--redis <HOST:PORT>"),
        (&["--redis-replicas", "127.0.0.1:1"], "--redis <HOST:PORT>"),
        (&["--redis", "127.0.0.1:1,127.0.0.1:2"], "is not the address of one server"),
        (&["--redis", "127.0.0.1"], "write HOST:PORT"),
        (&["--redis", "127.0.0.1:1", "--start-within", "100ms"], "cannot be reached"),
        // A Redis wins over the store, so a variable of the environment can change the place.
        (&["--store", "127.0.0.1:1", "--redis", "127.0.0.1:1", "--start-within", "100ms"], "Redis"),
    ] {
        let (code, text) = refused(&[&posts, arguments].concat());
        assert!(code.is_some_and(|code| code != 0) && text.contains(why), "{code:?} {text}");
    }
}

#[test]
fn posts_come_from_their_cache_and_a_frozen_one_costs_only_misses() {
    const TEST: &str = "posts_come_from_their_cache_and_a_frozen_one_costs_only_misses";
    let Some(cache) = Memcached::start(TEST) else { return };
    let url = format!("memcached://{}/first", cache.address());
    let options = ["--cache", &url, "--cache-timeout", "300ms"];
    let network = Network::of_services(1, &[("post-storage", &options)]);
    network.register(2);
    network.must("user/follow", "user_id=1&followee_id=0");
    let lookups = |outcome: &str| {
        let (_, metrics) = network.services["post-storage"][0].get("/metrics");
        let name = format!("social_cache_lookups_total{{outcome=\"{outcome}\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&name));
        count.unwrap().parse::<u64>().unwrap()
    };
    for number in 0..20 {
        assert!(compose(&network, &format!("post {number}")));
    }
    for _ in 0..3 {
        assert!(is_page(&network.front().get(HOME).1, &texts(0..20)));
    }
    assert_eq!(["hit", "miss", "error"].map(lookups), [40, 20, 0]);
    cache.freeze();
    assert!(compose(&network, "post 20"));
    assert!(is_page(&network.front().get(HOME).1, &texts(0..21)));
    assert!(21 <= lookups("error"));
    cache.thaw();
    let hits = || {
        assert!(is_page(&network.front().get(HOME).1, &texts(0..21)));
        lookups("hit") > 40 + 20
    };
    wait_for("it is used again", LONG, hits);
}
