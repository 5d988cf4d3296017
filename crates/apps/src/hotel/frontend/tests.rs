use super::*;

use http_body_util::BodyExt;

use redb::Database;
use redb::backends::InMemoryBackend;

use crate::hotel::all_in_one;
use crate::hotel::store::Embedded;

fn frontend() -> Frontend {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let store = Arc::new(Embedded::over(database).unwrap());
    wait(all_in_one::assemble(store, Health::default(), Arc::default())).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Returns the status and the body of the response for a target.
fn ask(frontend: &Frontend, target: &str) -> (u16, String) {
    let request = hyper::Request::get(target).body(Bytes::new()).unwrap();
    wait(async {
        let response = frontend.answer(request).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.into()).unwrap())
    })
}

fn check(target: &str, code: u16, body: &str) {
    assert_eq!(ask(&frontend(), target), (code, format!("{body}\n")), "{target}");
}

const LAT_LON: &str = "lat=38.0235&lon=-122.095";

#[test]
fn parameters_are_checked_in_the_order_of_the_original() {
    let no_dates = "Please specify inDate/outDate params";
    let no_place = "Please specify location params";
    check("/hotels", 400, no_dates);
    check("/hotels?inDate=2015-04-09&lat=1&lon=1", 400, no_dates);
    check("/hotels?inDate=a&outDate=b", 400, no_place);
    check("/hotels?inDate=a&outDate=b&lat=1", 400, no_place);
    check("/recommendations", 400, no_place);
    check("/recommendations?require=dis&lat=1", 400, no_place);
    check("/recommendations?lat=1&lon=1", 400, "Please specify require params");
    check("/recommendations?lat=1&lon=1&require=best", 400, "Please specify require params");
    check("/user?username=Cornell_1", 400, "Please specify username and password");

    let dates = "/reservation?inDate=2015-04-09&outDate=2015-04-10";
    let bad_format = "Please check inDate/outDate format (YYYY-MM-DD)";
    check("/reservation", 400, no_dates);
    check("/reservation?inDate=2015-4-9&outDate=2015-04-10", 400, bad_format);
    check("/reservation?inDate=2015-04-09&outDate=2015-04-31", 400, bad_format);
    check(dates, 400, "Please specify hotelId params");
    check(&format!("{dates}&hotelId=1"), 400, "Please specify customerName params");
    check(
        &format!("{dates}&hotelId=1&customerName=a&username=b"),
        400,
        "Please specify username and password",
    );
}

#[test]
fn a_search_without_hits_is_an_empty_collection() {
    let empty = r#"{"features":[],"type":"FeatureCollection"}"#;
    check("/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=x&lon=y", 200, empty);
    check("/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=NaN&lon=inf", 200, empty);
    check(&format!("/hotels?inDate=soon&outDate=later&{LAT_LON}"), 200, empty);
    check(&format!("/hotels?inDate=2015-04-10&outDate=2015-04-10&{LAT_LON}"), 200, empty);
    assert_eq!(empty.len() + 1, 43);
}

#[test]
fn recommendations_have_the_sizes_of_the_original() {
    let frontend = frontend();
    for (require, bytes, ids) in [
        ("dis", 217, &["40"][..]),
        ("rate", 902, &["9", "24", "39", "54", "69"]),
        ("price", 204, &["2"]),
    ] {
        let target = format!("/recommendations?require={require}&{LAT_LON}");
        let (_, body) = ask(&frontend, &target);
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let found: Vec<_> = json["features"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap())
            .collect();
        assert_eq!((body.len(), found.as_slice()), (bytes, ids), "{require}");
    }
}

#[test]
fn the_page_and_its_style_have_the_sizes_of_the_original() {
    let frontend = frontend();
    assert_eq!(ask(&frontend, "/").1.len(), 1507);
    assert_eq!(ask(&frontend, "/stylesheets/main.css").1.len(), 92);
    assert_eq!(ask(&frontend, "/nowhere"), (404, "404 page not found\n".into()));
}

#[test]
fn every_user_of_the_workload_can_log_in_and_no_one_else() {
    let frontend = frontend();
    let login = |name: &str, password: &str| {
        ask(&frontend, &format!("/user?username={name}&password={password}")).1
    };
    for number in 0..=500 {
        let password = number.to_string().repeat(10);
        assert_eq!(login(&format!("Cornell_{number}"), &password), LOGGED_IN);
    }
    assert_eq!(login("Cornell_501", &"501".repeat(10)), NOT_LOGGED_IN);
    assert_eq!(login("Cornell_7", "777777777"), NOT_LOGGED_IN);
    assert_eq!(LOGGED_IN.len(), 34);
}

#[test]
fn a_reservation_is_refused_clearly_and_changes_nothing() {
    let frontend = frontend();
    let reserve = |rest: &str| {
        let login = "customerName=a&username=Cornell_1&password=1111111111";
        ask(&frontend, &format!("/reservation?{login}&{rest}"))
    };
    let text = |text: &str| (500, format!("rpc error: code = {text}\n"));
    let dates = "inDate=2015-04-09&outDate=2015-04-10";
    assert_eq!(
        reserve(&format!("{dates}&hotelId=x%0Ay&number=1")),
        text("NotFound desc = unknown hotel \"x\\ny\"")
    );
    assert_eq!(
        reserve(&format!("{dates}&hotelId=1&number=-1")),
        text("InvalidArgument desc = the number of rooms must not be negative")
    );
    assert_eq!(
        reserve("inDate=0001-01-01&outDate=9999-12-31&hotelId=1&number=1"),
        text("InvalidArgument desc = a stay is at most 366 nights")
    );
    assert_eq!(reserve(&format!("{dates}&hotelId=1&number=201")), (200, FULL.into()));
    assert_eq!(reserve(&format!("{dates}&hotelId=1&number=many")), (200, RESERVED.into()));
    assert_eq!(reserve("inDate=2015-04-10&outDate=2015-04-09&hotelId=1"), (200, RESERVED.into()));
    let failed = ask(
        &frontend,
        &format!("/reservation?{dates}&hotelId=1&customerName=a&username=b&password=c&number=1"),
    );
    assert_eq!(failed, (200, NOT_LOGGED_IN.into()));
    let counts = wait(frontend.store.counts(tonic::Request::new(Nothing {}))).unwrap();
    assert_eq!(counts.into_inner().reservations, 1, "nothing was reserved");
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

/// The size of the headers of a success, without the digits of the length.
const HEADERS: usize = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Access-Control-Allow-Origin: *\r\nContent-Length: \r\n\
    Date: Sat, 21 Nov 2026 10:46:03 GMT\r\n\r\n"
    .len();

#[test]
fn the_workload_sees_the_statistics_of_the_original() {
    let frontend = frontend();
    let mut randomness = Randomness(1);
    let mut place = || {
        let lat = 38.0235 + (f64::from(randomness.up_to(481)) - 240.5) / 1000.0;
        let lon = -122.095 + (f64::from(randomness.up_to(325)) - 157.0) / 1000.0;
        (randomness.up_to(999), lat, lon)
    };
    let (mut searches, mut bytes, mut requests) = ([0_u32; 3], 0, 0);
    for _ in 0..100_000 {
        let (coin, lat, lon) = place();
        let target = match coin {
            ..600 => format!("/hotels?inDate=2015-04-09&outDate=2015-04-10&lat={lat}&lon={lon}"),
            600..990 => {
                let require = ["dis", "rate", "price"][coin as usize % 3];
                format!("/recommendations?require={require}&lat={lat}&lon={lon}")
            }
            _ => "/user?username=Cornell_3&password=3333333333".into(),
        };
        let query = Query::new(target.split_once('?').map(|(_, query)| query));
        let answer = match coin {
            ..600 => wait(frontend.hotels(query)),
            600..990 => wait(frontend.recommendations(query)),
            _ => wait(frontend.user(query)),
        };
        let body = answer.ok().unwrap().body;
        if coin < 600 {
            let features = body.windows(9).filter(|text| *text == b"\"Feature\"").count();
            searches[features] += 1;
        }
        bytes += HEADERS + body.len().to_string().len() + body.len();
        requests += 1;
    }
    let all = f64::from(searches.iter().sum::<u32>());
    for (found, percent) in searches.iter().zip([49.0, 17.5, 33.5]) {
        let share = 100.0 * f64::from(*found) / all;
        assert!((share - percent).abs() < 1.0, "{searches:?}");
    }
    let mean = bytes as f64 / f64::from(requests);
    assert!((mean - 433.5).abs() < 5.0, "{mean} bytes");
}
