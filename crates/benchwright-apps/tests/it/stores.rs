//! The checks that hold with every store and every cache, with two replicas of everything; and the
//! behaviour when a foreign one fails.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::application::{Application, Kept};
use crate::instance::{Instance, now, sleep};
use crate::tools::{Memcached, Postgres};

const MADE: &str = "{\"message\":\"Reserve successfully!\"}\n";
const FULL: &str = "{\"message\":\"Failed. Already reserved. \"}\n";
const LOGGED_IN: &str = "{\"message\":\"Login successfully!\"}\n";
const NOT_LOGGED_IN: &str = "{\"message\":\"Failed. Please check your username and password. \"}\n";
const SEARCH: &str = "/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095";

#[test]
fn the_checks_hold_with_the_embedded_store() {
    check(&Application::start(&Kept::default(), 2));
}

#[test]
fn the_checks_hold_with_memcached() {
    const TEST: &str = "the_checks_hold_with_memcached";
    let (Some(one), Some(other)) = (Memcached::start(TEST), Memcached::start(TEST)) else { return };
    let cache = Some(format!("memcached://{},{}", one.address(), other.address()));
    let hotel = Application::start(&Kept { cache, ..Kept::default() }, 2);
    check(&hotel);
    check_cache(&hotel);
}

#[test]
fn the_checks_hold_with_postgresql_and_memcached() {
    const TEST: &str = "the_checks_hold_with_postgresql_and_memcached";
    let (Some(store), Some(cache)) = (Postgres::start(TEST), Memcached::start(TEST)) else {
        return;
    };
    let cache = Some(format!("memcached://{}/first", cache.address())).zip(Some(cache));
    let (cache, _memcached) = cache.unzip();
    let hotel = Application::start(&Kept { store: Some(store.url()), cache }, 2);
    check(&hotel);
    check_cache(&hotel);
}

/// Checks that documents come from the cache after their first use.
fn check_cache(hotel: &Application) {
    let lookups =
        |outcome| hotel.counted(&format!("hotel_cache_lookups_total{{outcome=\"{outcome}\""));
    let (hits, misses, errors) = (lookups("hit"), lookups("miss"), lookups("error"));
    assert_eq!(errors, 0);
    // Two replicas may miss the same document of the 80 at the same time.
    assert!(misses <= 2 * 2 * 80 && 20 * misses < hits, "{hits} hits, {misses} misses");
}

/// Runs all checks on one application; each leaves the state as it was.
fn check(hotel: &Application) {
    let counts = hotel.frontends[0].get("/counts");
    assert!(counts.1.contains("\"hotels\":80,") && counts.1.contains("\"users\":501}"));
    check_answers(hotel);
    check_calls(hotel);
    reset(hotel, &counts);
    check_that_a_reservation_is_seen(hotel);
    reset(hotel, &counts);
    check_the_last_rooms(hotel);
    reset(hotel, &counts);
}

/// Returns to the seeded data quickly (within a second on an idle machine), through either
/// frontend.
fn reset(hotel: &Application, seeded: &(u16, String)) {
    let digest = |counts: &str| {
        let counts: serde_json::Value = serde_json::from_str(counts).unwrap();
        counts["digest"].as_str().unwrap().to_owned()
    };
    let [first, second] = &hotel.frontends[..] else { panic!("two frontends") };
    let (_, before) = first.get("/counts");
    assert_ne!(digest(&before), digest(&seeded.1));
    let began = now();
    assert_eq!(&second.ask("POST", "/reset"), seeded);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(&first.get("/counts"), seeded);
}

fn check_answers(hotel: &Application) {
    for frontend in &hotel.frontends {
        assert_eq!(frontend.get("/healthz"), (200, "ok".into()));
        // Each replica of a service is called at least once.
        for _ in 0..2 {
            assert_eq!(ids(&frontend.get(SEARCH).1), ["39", "42"]);
            let by_rate = "/recommendations?require=rate&lat=38.0&lon=-122.0";
            assert_eq!(ids(&frontend.get(by_rate).1), ["9", "24", "39", "54", "69"]);
            let login = |name: &str, password: &str| {
                frontend.ask("POST", &format!("/user?username={name}&password={password}")).1
            };
            assert_eq!(login("Cornell_0", "0000000000"), LOGGED_IN);
            assert_eq!(login("Cornell_500", &"500".repeat(10)), LOGGED_IN);
            assert_eq!(login("Cornell_501", &"501".repeat(10)), NOT_LOGGED_IN);
            assert_eq!(login("Cornell_7%00", "7777777777"), NOT_LOGGED_IN);
            let known = "username=Cornell_1&password=1111111111";
            for (path, hotel, answer) in [
                ("review", "1", "{\"message\":\"Have reviews = 4\"}\n"),
                ("review", "2", "{\"message\":\"Have reviews = 2\"}\n"),
                ("review", "3", "{\"message\":\"Failed. No Reviews. \"}\n"),
                ("restaurants", "1", "{\"message\":\"Have restaurants = 5\"}\n"),
                ("museums", "1", "{\"message\":\"Have museums = 5\"}\n"),
                ("cinema", "1", "{\"message\":\"Failed. No Cinemas. \"}\n"),
            ] {
                let target = format!("/{path}?{known}&hotelId={hotel}");
                assert_eq!(frontend.get(&target), (200, answer.into()), "{target}");
            }
            let nowhere = reservation("81", ["2015-04-09", "2015-04-10"], 1);
            let unknown = "rpc error: code = NotFound desc = unknown hotel \"81\"\n";
            assert_eq!(frontend.ask("POST", &nowhere), (500, unknown.into()));
            let long = reservation("9", ["2015-01-01", "2016-01-03"], 1);
            let too_long =
                "rpc error: code = InvalidArgument desc = a stay is at most 366 nights\n";
            assert_eq!(frontend.ask("POST", &long), (500, too_long.into()));
            let none = reservation("9", ["2015-01-01", "2015-01-01"], 1);
            assert_eq!(frontend.ask("POST", &none), (200, MADE.into()));
        }
    }
}

/// Checks the shares of the workload's mix, and the exact number of service calls per request.
fn check_calls(hotel: &Application) {
    const ROUNDS: u64 = 4;
    let shares =
        |found: usize| hotel.counted(&format!("hotel_search_results_total{{hotels=\"{found}\""));
    let calls = || hotel.counted("hotel_service_calls_total");
    let (before, found_before) = (calls(), [0, 1, 2].map(shares));
    thread::scope(|scope| {
        for (number, frontend) in hotel.frontends.iter().enumerate() {
            scope.spawn(move || {
                let mut client = Client::of(frontend);
                let mut randomness = Randomness(number as u64 + 1);
                for _ in 0..ROUNDS / 2 {
                    (0..1000).for_each(|coin| client.ask(&mixed(coin, &mut randomness)));
                }
            });
        }
    });
    let per_request = (calls() - before) as f64 / (1000 * ROUNDS) as f64;
    assert_eq!(per_request, 3.795);
    let found = [0, 1, 2].map(shares);
    for ((found, before), percent) in found.iter().zip(found_before).zip([49.0, 17.5, 33.5]) {
        let share = 100.0 * (found - before) as f64 / (600 * ROUNDS) as f64;
        // 2,400 searches of a fixed sequence: one standard deviation is a point.
        assert!(f64::abs(share - percent) < 2.5, "{share} is not {percent} %");
    }
}

/// Returns a request of the workload; `coin` is from 0 to 999, each with equal probability.
fn mixed(coin: u32, randomness: &mut Randomness) -> String {
    let lat = 38.0235 + (f64::from(randomness.up_to(481)) - 240.5) / 1000.0;
    let lon = -122.095 + (f64::from(randomness.up_to(325)) - 157.0) / 1000.0;
    let arrival = 9 + randomness.up_to(14);
    let dates =
        |departure: u32| format!("inDate=2015-04-{arrival:02}&outDate=2015-04-{departure:02}");
    let user = randomness.up_to(500);
    let login = format!("username=Cornell_{user}&password={}", user.to_string().repeat(10));
    match coin {
        0..600 => {
            let departure = arrival + 1 + randomness.up_to(23 - arrival);
            format!("GET /hotels?{}&lat={lat}&lon={lon}", dates(departure))
        }
        600..990 => {
            let require = ["dis", "rate", "price"][coin as usize % 3];
            format!("GET /recommendations?require={require}&lat={lat}&lon={lon}")
        }
        990..995 => format!("POST /user?{login}"),
        _ => {
            let (dates, hotel) =
                (dates(arrival + 1 + randomness.up_to(4)), 1 + randomness.up_to(79));
            format!(
                "POST /reservation?{dates}&lat=nil&lon=nil&hotelId={hotel}\
                 &customerName=Cornell_{user}&{login}&number=1"
            )
        }
    }
}

fn check_that_a_reservation_is_seen(hotel: &Application) {
    let [first, second] = &hotel.frontends[..] else { panic!("two frontends") };
    let night = ["2015-04-09", "2015-04-10"];
    assert_eq!(first.ask("POST", &reservation("39", night, 199)).1, MADE);
    assert_eq!(ids(&second.get(SEARCH).1), ["39", "42"]);
    assert_eq!(first.ask("POST", &reservation("39", night, 1)).1, MADE);
    // Twice as many searches as replicas of reservation, which are called in turn.
    for frontend in [second, second, first, first] {
        assert_eq!(ids(&frontend.get(SEARCH).1), ["42"]);
        assert_eq!(frontend.ask("POST", &reservation("39", night, 1)).1, FULL);
    }
    // The first night is full: no night of a longer stay is reserved.
    assert_eq!(second.ask("POST", &reservation("39", ["2015-04-08", "2015-04-12"], 1)).1, FULL);
    let later = SEARCH.replace("-04-10", "-04-12").replace("-04-09", "-04-10");
    assert_eq!(ids(&first.get(&later).1), ["39", "42"]);
    assert_eq!(second.ask("POST", &reservation("39", ["2015-04-10", "2015-04-12"], 200)).1, MADE);
    assert_eq!(ids(&first.get(&later).1), ["42"]);
}

fn check_the_last_rooms(hotel: &Application) {
    let night = ["2015-04-12", "2015-04-13"];
    assert_eq!(hotel.frontends[0].ask("POST", &reservation("9", night, 163)).1, MADE);
    let together = Barrier::new(200);
    let guest = |number: usize| {
        let mut client = Client::of(&hotel.frontends[number % 2]);
        together.wait();
        client.answer(&format!("POST {}", reservation("9", night, 1)))
    };
    let answers: Vec<String> = thread::scope(|scope| {
        let guest = &guest;
        let guests: Vec<_> = (0..200).map(|number| scope.spawn(move || guest(number))).collect();
        guests.into_iter().map(|guest| guest.join().unwrap()).collect()
    });
    let counted = |message| answers.iter().filter(|answer| *answer == message).count();
    assert_eq!((counted(MADE), counted(FULL)), (37, 163));
}

#[test]
fn a_cache_that_dies_or_hangs_costs_only_misses() {
    const TEST: &str = "a_cache_that_dies_or_hangs_costs_only_misses";
    let Some(cache) = Memcached::start(TEST) else { return };
    let store = Instance::service("store", &[]);
    let (store_address, url) =
        (store.address.to_string(), format!("memcached://{}", cache.address()));
    let rate = ["--store", &store_address, "--cache", &url, "--cache-timeout", "500ms"];
    let rate = Instance::service("rate", &rate);
    let geo = Instance::service("geo", &["--store", &store_address]);
    let (rates, geos) = (rate.address.to_string(), geo.address.to_string());
    let search = Instance::service("search", &["--geo", &geos, "--rate", &rates]);
    let in_memory = |name| Instance::service(name, &["--store", &store_address]);
    let others =
        ["profile", "recommendation", "user", "reservation"].map(|name| (name, in_memory(name)));
    let mut arguments = vec!["--search".into(), search.address.to_string()];
    for (name, service) in &others {
        arguments.extend([format!("--{name}"), service.address.to_string()]);
    }
    arguments.extend(["--store".into(), store_address.clone()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let frontend = Instance::service("frontend", &arguments);
    let lookups = |outcome: &str| {
        let (_, metrics) = rate.get("/metrics");
        let name = format!("hotel_cache_lookups_total{{outcome=\"{outcome}\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
        value.unwrap().parse::<u64>().unwrap()
    };
    let search = || {
        let began = now();
        assert_eq!(ids(&frontend.get(SEARCH).1), ["39", "42"]);
        began.elapsed()
    };
    search();
    assert_eq!((lookups("hit"), lookups("miss"), lookups("error")), (0, 5, 0));
    search();
    assert_eq!((lookups("hit"), lookups("miss"), lookups("error")), (5, 5, 0));

    cache.freeze();
    let took = search();
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!((lookups("hit"), lookups("error")), (5, 5));
    cache.thaw();
    let began = now();
    while lookups("hit") == 5 {
        assert!(began.elapsed() < Duration::from_secs(20), "it is used again when it is back");
        sleep(Duration::from_millis(20));
        search();
    }

    drop(cache);
    sleep(Duration::from_millis(50));
    let errors = lookups("error");
    for _ in 0..10 {
        let took = search();
        assert!(took < Duration::from_secs(8), "{took:?}");
    }
    assert_eq!(lookups("error"), errors + 50);
}

#[test]
fn a_restart_of_postgresql_loses_nothing_acknowledged_and_seeds_nothing() {
    const TEST: &str = "a_restart_of_postgresql_loses_nothing_acknowledged_and_seeds_nothing";
    let Some(mut database) = Postgres::start(TEST) else { return };
    let kept = Kept { store: Some(database.url()), ..Kept::default() };
    let hotel = Application::start(&kept, 1);
    let frontend = &hotel.frontends[0];
    let night = ["2015-04-09", "2015-04-10"];
    assert_eq!(frontend.ask("POST", &reservation("39", night, 200)).1, MADE);
    let counts = frontend.get("/counts");

    database.stop();
    let (code, why) = frontend.get(SEARCH);
    assert_eq!(code, 500);
    assert!(why.starts_with("rpc error: code = Unavailable desc = "), "{why}");
    let began = now();
    while frontend.get("/healthz").0 == 200 {
        assert!(began.elapsed() < Duration::from_secs(20), "its health shows that it is gone");
        sleep(Duration::from_millis(20));
    }

    database.resume();
    let began = now();
    while frontend.get(SEARCH).0 != 200 || frontend.get("/healthz").0 != 200 {
        assert!(began.elapsed() < Duration::from_secs(20), "it is connected again");
        sleep(Duration::from_millis(20));
    }
    assert_eq!(ids(&frontend.get(SEARCH).1), ["42"]);
    assert_eq!(frontend.get("/counts"), counts);
    drop(hotel);
    let hotel = Application::start(&kept, 1);
    assert_eq!(hotel.frontends[0].get("/counts"), counts);
}

#[test]
fn postgresql_is_seeded_once_and_reset_among_bookings() {
    const TEST: &str = "postgresql_is_seeded_once_and_reset_among_bookings";
    let Some(database) = Postgres::start(TEST) else { return };
    let url = database.url();
    // All find the database empty; one of them fills it.
    let first = || Instance::service("geo", &["--store", &url]);
    thread::scope(|scope| {
        let together: Vec<_> = (0..8).map(|_| scope.spawn(first)).collect();
        together.into_iter().for_each(|one| drop(one.join().unwrap()));
    });
    let hotel = Application::start(&Kept { store: Some(url), ..Kept::default() }, 1);
    let frontend = &hotel.frontends[0];
    let seeded = frontend.get("/counts");
    assert!(seeded.1.contains("\"hotels\":80,") && seeded.1.contains("\"reservations\":1,"));

    let book = |guest: usize| {
        let mut client = Client::of(frontend);
        for number in 0..50 {
            let hotel = (1 + (guest + number) % 80).to_string();
            let stay = ["2015-04-09", "2015-05-09"];
            assert_eq!(client.answer(&format!("POST {}", reservation(&hotel, stay, 1))), MADE);
        }
    };
    thread::scope(|scope| {
        let book = &book;
        let guests: Vec<_> = (0..8).map(|guest| scope.spawn(move || book(guest))).collect();
        while guests.iter().any(|guest| !guest.is_finished()) {
            assert_eq!(frontend.ask("POST", "/reset"), seeded);
        }
    });
    book(0);
    assert_eq!(frontend.ask("POST", "/reset"), seeded);
    assert_eq!(frontend.get("/counts"), seeded);
}

fn reservation(hotel: &str, dates: [&str; 2], rooms: u32) -> String {
    let [in_date, out_date] = dates;
    format!(
        "/reservation?inDate={in_date}&outDate={out_date}&hotelId={hotel}\
         &customerName=Cornell_7&username=Cornell_7&password=7777777777&number={rooms}"
    )
}

/// Returns the hotels of a response, in its order.
fn ids(answer: &str) -> Vec<String> {
    let json: serde_json::Value =
        serde_json::from_str(answer).unwrap_or_else(|_| panic!("not an answer: {answer}"));
    let features = json["features"].as_array().unwrap();
    features.iter().map(|feature| feature["id"].as_str().unwrap().to_owned()).collect()
}

/// A connection that is kept.
struct Client(BufReader<TcpStream>);

impl Client {
    fn of(frontend: &Instance) -> Self {
        let stream = frontend.connect();
        stream.set_nodelay(true).unwrap();
        Client(BufReader::new(stream))
    }

    /// Sends a request, which must succeed.
    fn ask(&mut self, request: &str) {
        self.answer(request);
    }

    /// Returns the body of the response to `METHOD TARGET`.
    fn answer(&mut self, request: &str) -> String {
        let text = format!("{request} HTTP/1.1\r\nHost: hotel\r\n\r\n");
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
        let mut length = 0;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            assert!(!line.starts_with("HTTP/1.1") || line.starts_with("HTTP/1.1 200"), "{line}");
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().unwrap();
            }
            assert!(!line.is_empty(), "{request}: the connection was closed");
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }
}

/// A small random generator of our own: tests must not depend on a library's choice of sequence.
struct Randomness(u64);

impl Randomness {
    /// Returns a number that is evenly distributed over `0..=most`.
    fn up_to(&mut self, most: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 >> 32) as u32;
        ((u64::from(mixed) * (u64::from(most) + 1)) >> 32) as u32
    }
}
