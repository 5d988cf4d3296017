use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::instance::{Instance, now, run, sleep};

const MADE: &str = "{\"message\":\"Reserve successfully!\"}\n";
const FULL: &str = "{\"message\":\"Failed. Already reserved. \"}\n";
const LOGGED_IN: &str = "{\"message\":\"Login successfully!\"}\n";
const NOT_LOGGED_IN: &str = "{\"message\":\"Failed. Please check your username and password. \"}\n";
const SEARCH: &str = "/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095";
const TWO_HOTELS: &str = concat!(
    r#"{"features":[{"geometry":{"coordinates":[-122.09801,38.0175],"type":"Point"},"id":"39","#,
    r#""properties":{"name":"St. Regis San Francisco","phone_number":"(415) 284-4039"},"#,
    r#""type":"Feature"},{"geometry":{"coordinates":[-122.074005,38.0355],"type":"Point"},"#,
    r#""id":"42","properties":{"name":"St. Regis San Francisco","#,
    r#""phone_number":"(415) 284-4042"},"type":"Feature"}],"type":"FeatureCollection"}"#,
    "\n"
);

fn reservation(hotel: &str, dates: [&str; 2], rooms: u32) -> String {
    let [in_date, out_date] = dates;
    format!(
        "/reservation?inDate={in_date}&outDate={out_date}&lat=nil&lon=nil&hotelId={hotel}\
         &customerName=Cornell_7&username=Cornell_7&password=7777777777&number={rooms}"
    )
}

fn close(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: hotel\r\nConnection: close\r\n\r\n")
}

/// Replaces the date in responses, which changes from second to second.
fn undated(answer: &str) -> String {
    let line = |line: &str| match line.strip_prefix("Date: ") {
        Some(date) => {
            assert_eq!(date.len(), "Sat, 21 Nov 2026 10:46:03 GMT\r\n".len(), "{date}");
            "Date: …\r\n".to_owned()
        }
        None => line.to_owned(),
    };
    answer.split_inclusive('\n').map(line).collect()
}

#[test]
fn answers_are_those_of_the_original_byte_for_byte() {
    let hotel = Instance::start(&[]);
    let request = format!("GET {SEARCH} HTTP/1.1\r\nHost: hotel\r\nConnection: close\r\n\r\n");
    assert_eq!(
        undated(&hotel.exchange(request)),
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Access-Control-Allow-Origin: *\r\nConnection: close\r\nContent-Length: 387\r\n\
             Date: …\r\n\r\n{TWO_HOTELS}"
        )
    );
    assert_eq!(
        undated(&hotel.exchange(close("/user?username=Cornell_1"))),
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Access-Control-Allow-Origin: *\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\nContent-Length: 37\r\nDate: …\r\n\r\n\
         Please specify username and password\n"
    );
    assert_eq!(hotel.get("/user?username=Cornell_1&password=1111111111"), (200, LOGGED_IN.into()));
    assert_eq!(hotel.get("/user?username=Cornell_1&password=1"), (200, NOT_LOGGED_IN.into()));
    assert_eq!(hotel.get("/healthz"), (200, "ok".into()));
}

#[test]
fn real_generators_are_understood() {
    let hotel = Instance::start(&[]);
    let absolute = format!("http://localhost:5000{SEARCH}");
    assert_eq!(hotel.get(&absolute), (200, TWO_HOTELS.into()));

    // Posts have neither body nor length; requests are pipelined.
    let post = "POST http://localhost:5000/user?username=Cornell_2&password=2222222222 HTTP/1.1\r\n\
        Host: hotel\r\n\r\n";
    let search = format!("GET {absolute} HTTP/1.1\r\nHost: hotel\r\n\r\n");
    let with_body = "POST /user?username=a&password=b HTTP/1.1\r\nHost: hotel\r\n\
        Content-Length: 5\r\n\r\nhello";
    let many = [post, &search, with_body].concat().repeat(50) + &close("/nowhere");
    let answers = hotel.exchange(many);
    let messages: Vec<_> = answers
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|one| one.split_once("\r\n\r\n").unwrap().1)
        .collect();
    let expected = [LOGGED_IN, TWO_HOTELS, NOT_LOGGED_IN].repeat(50);
    assert_eq!(messages[..150], expected);
    assert_eq!(messages[150..], ["404 page not found\n"]);

    let long = format!("{SEARCH}&padding={}", "x".repeat(8 << 10));
    assert_eq!(hotel.get(&long), (200, TWO_HOTELS.into()));
}

#[test]
fn hostile_bytes_are_refused_and_do_no_harm() {
    let hotel = Instance::start(&[]);
    let bystander = hotel.connect();
    assert!(hotel.exchange("\0\u{1}garbage\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(hotel.exchange([0xff; 4096]).starts_with("HTTP/1.1 400 "));
    assert!(
        hotel.exchange("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n").starts_with("HTTP/1.1 400 ")
    );
    assert_eq!(hotel.get("/hotels?inDate=%zz&outDate=%").0, 400);
    assert_eq!(hotel.get("/hotels?inDate=a&outDate=b&lat=1e999&lon=-nan").0, 200);

    // A refusal may be lost when the connection is closed with unread bytes.
    let long = format!("GET /?{} HTTP/1.1\r\nHost: hotel\r\n\r\n", "x".repeat(80 << 10));
    let answer = hotel.exchange(long);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    let headers = format!("GET / HTTP/1.1\r\nHost: hotel\r\nX: {}\r\n\r\n", "x".repeat(80 << 10));
    let answer = hotel.exchange(headers);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");

    let body = "POST / HTTP/1.1\r\nHost: hotel\r\nContent-Length: 3000000\r\n\r\n".to_owned();
    let answer = hotel.exchange(body + &"x".repeat(3_000_000));
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413 "), "{answer}");

    let mut randomness = 1_u64;
    for _ in 0..200 {
        let mut bytes = close(SEARCH).into_bytes();
        for _ in 0..8 {
            randomness = randomness.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = (randomness >> 33) as usize % bytes.len();
            bytes[place] = (randomness >> 25) as u8;
        }
        let mut stream = hotel.connect();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }

    let mut bystander = bystander;
    bystander.write_all(close("/healthz").as_bytes()).unwrap();
    let mut answer = String::new();
    bystander.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
}

#[test]
fn connections_beyond_the_limit_are_closed_and_counted() {
    let hotel = Instance::start(&["--max-connections", "2"]);
    let mut first = hotel.connect();
    first.write_all(b"GET /healthz HTTP/1.1\r\nHost: hotel\r\n\r\n").unwrap();
    BufReader::new(&first).read_line(&mut String::new()).unwrap();
    let second = hotel.connect();
    assert_eq!(hotel.exchange(close("/healthz")), "");
    drop(second);
    // Until the server notices the end of `second`, further connections are refused as well.
    let mut refused = 1;
    let began = now();
    let metrics = loop {
        let answer = hotel.exchange(close("/metrics"));
        if !answer.is_empty() {
            break answer;
        }
        refused += 1;
        assert!(began.elapsed() < Duration::from_secs(20), "there is room again");
        sleep(Duration::from_millis(10));
    };
    let counted = format!("hotel_refused_connections_total {refused}\n");
    assert!(metrics.contains(&counted), "{counted}{metrics}");
}

#[test]
fn a_reservation_is_seen_by_the_next_search() {
    let hotel = Instance::start(&[]);
    let night = ["2015-04-09", "2015-04-10"];
    assert_eq!(hotel.ask("POST", &reservation("39", night, 200)), (200, MADE.into()));
    let (_, found) = hotel.get(SEARCH);
    assert!(!found.contains("\"39\"") && found.contains("\"42\""), "{found}");
    assert_eq!(hotel.ask("POST", &reservation("39", night, 1)), (200, FULL.into()));
    let other_night = SEARCH.replace("-04-10", "-04-11").replace("-04-09", "-04-10");
    assert_eq!(hotel.get(&other_night), (200, TWO_HOTELS.into()));
}

#[test]
fn the_last_rooms_of_a_night_go_to_exactly_as_many_as_there_are() {
    let hotel = Instance::start(&[]);
    let night = ["2015-04-12", "2015-04-13"];
    assert_eq!(hotel.ask("POST", &reservation("9", night, 163)).1, MADE);
    let together = Barrier::new(200);
    let guest = || {
        let mut stream = hotel.connect();
        together.wait();
        let target = reservation("9", night, 1);
        write!(stream, "POST {target} HTTP/1.1\r\nHost: hotel\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let answers: Vec<String> = thread::scope(|scope| {
        let guests: Vec<_> = (0..200).map(|_| scope.spawn(guest)).collect();
        guests.into_iter().map(|guest| guest.join().unwrap()).collect()
    });
    let counted = |message| answers.iter().filter(|answer| *answer == message).count();
    assert_eq!((counted(MADE), counted(FULL)), (37, 163));
    let (_, metrics) = hotel.get("/metrics");
    assert!(metrics.contains("hotel_reservations_total{outcome=\"made\"} 38\n"), "{metrics}");
}

#[test]
fn acknowledged_reservations_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let data = ["--data", folder.path().to_str().unwrap()];
    let mut acknowledged = 0;
    for round in 1..=5 {
        let hotel = Instance::start(&data);
        let counted: usize = thread::scope(|scope| {
            let guests: Vec<_> = (0..4)
                .map(|_| {
                    let mut stream = hotel.connect();
                    scope.spawn(move || {
                        let target = reservation("7", ["2015-04-12", "2015-04-13"], 1);
                        let request = format!("POST {target} HTTP/1.1\r\nHost: hotel\r\n\r\n");
                        let mut reader = BufReader::new(stream.try_clone().unwrap());
                        let (mut made, mut line) = (0, String::new());
                        while stream.write_all(request.as_bytes()).is_ok() && made < 8 {
                            line.clear();
                            while !line.ends_with("}\n") {
                                match reader.read_line(&mut line) {
                                    Ok(length) if length > 0 => {}
                                    _ => return made,
                                }
                            }
                            made += usize::from(line.ends_with(MADE));
                        }
                        made
                    })
                })
                .collect();
            sleep(Duration::from_millis(round));
            hotel.kill();
            guests.into_iter().map(|guest| guest.join().unwrap()).sum()
        });
        acknowledged += counted;
        let hotel = Instance::start(&data);
        let (_, counts) = hotel.get("/counts");
        let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
        let kept = counts["reservations"].as_u64().unwrap() as usize - 1;
        // Reservations that were written but not yet acknowledged may be there as well: one per
        // guest and round.
        let most = acknowledged + 4;
        assert!((acknowledged..=most).contains(&kept), "{kept} of {acknowledged}");
        acknowledged = kept;
        assert_eq!(hotel.terminate(), Some(0));
    }
    assert!(folder.path().join("hotel.redb").exists());
}

#[test]
fn a_reset_returns_to_the_same_bytes_within_a_second() {
    let hotel = Instance::start(&[]);
    let seeded = hotel.get("/counts");
    assert!(
        seeded.1.contains("\"hotels\":80,") && seeded.1.contains("\"users\":501}"),
        "{seeded:?}"
    );
    let took = [(); 3].map(|()| {
        for id in 1..=80 {
            hotel.ask("POST", &reservation(&id.to_string(), ["2015-04-09", "2015-05-09"], 1));
        }
        let (_, full) = hotel.get("/counts");
        assert!(full.contains("\"reservations\":2401,"), "{full}");
        assert_eq!(hotel.get("/reset").0, 405);
        let began = now();
        assert_eq!(hotel.ask("POST", "/reset"), seeded);
        let took = began.elapsed();
        assert_eq!(hotel.get("/counts"), seeded);
        took
    });
    // The fastest of them: others use this machine too.
    assert!(took.iter().min() < Some(&Duration::from_secs(1)), "{took:?}");
}

#[test]
fn it_ends_on_sigterm_and_leaves_nothing() {
    let hotel = Instance::start(&[]);
    let folder = hotel.temporary_folder();
    assert!(folder.join("hotel.redb").exists());
    let idle = hotel.connect();
    let began = now();
    assert_eq!(hotel.terminate(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(8));
    assert!(!folder.exists());
    drop(idle);
}

#[test]
fn the_folder_of_a_killed_instance_is_removed_by_the_next() {
    let temporary = tempfile::tempdir().unwrap();
    let first = Instance::start_in(temporary.path(), &[]);
    let folder = first.temporary_folder();
    let living = Instance::start_in(temporary.path(), &[]);
    first.kill();
    assert!(folder.exists());
    let _next = Instance::start_in(temporary.path(), &[]);
    assert!(!folder.exists());
    assert!(living.temporary_folder().exists());
}

#[test]
fn a_wrong_command_line_is_explained() {
    for (arguments, explanation) in [
        (&["--listen", "nowhere"][..], "write ADDRESS:PORT, for example 127.0.0.1:5000"),
        (&["--max-connections", "0"], "0 is not in 1.."),
        (&["--frobnicate"], "unexpected argument '--frobnicate'"),
        // A terminal obeys control characters.
        (&["--\u{1b}[2J"], "unexpected argument '--"),
    ] {
        let output = run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(explanation) && !stderr.contains('\u{1b}'), "{stderr}");
    }
}

#[test]
fn a_server_that_cannot_start_prints_why() {
    let hotel = Instance::start(&[]);
    let output = run(&["--listen", &hotel.address.to_string()]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("listening on 127.0.0.1:") && stderr.contains("in use"), "{stderr}");
    let output = run(&["--data", "/dev/null/hotel"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("creating /dev/null/hotel"), "{stderr}");
}

#[test]
fn the_help_names_the_options_and_an_example() {
    let help = run(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    for word in ["--listen <ADDRESS:PORT>", "--data <FOLDER>", "--fsync", "/metrics", "curl"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let mut rate = Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    rate.args(["hotel", "rate", "--help"]);
    let text = String::from_utf8(rate.output().unwrap().stdout).unwrap();
    for word in ["postgres://USER@HOST:PORT/DATABASE", "memcached://127.0.0.1:11211"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let bare = Command::new(env!("CARGO_BIN_EXE_benchwright-apps")).output().unwrap();
    assert_eq!(bare.status.code(), Some(2));
}
