//! The receiver, the sender and the join of events as programs of their own.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use results::notes::{self, Header, Note};
use serde_json::Value;
use tempfile::TempDir;
use wire::http1::{RequestDecoder, RequestEvent};

use crate::support::{
    Ran, Server, apps, benchwright, machine, run, run_while, signal, sleep, until,
};

fn receiver(arguments: &[&str]) -> Server {
    Server::start(Command::new(benchwright()).arg("receive").args(arguments))
}

/// Starts a channel with one subscriber.
fn app(subscriber: &str, arguments: &[&str]) -> Server {
    let mut command = Command::new(apps());
    Server::start(command.args(["channel", "--subscriber", subscriber]).args(arguments))
}

fn send(url: &str, notes: &str, more: &[&str]) -> Ran {
    let fixed = ["load", url, "--events", "binary", "--notes", notes, "--connections", "16"];
    let how = ["--warm-up", "200ms", "--progress", "never", "--json"];
    run(&[&fixed[..], &how, more].concat())
}

fn join(files: &[&str]) -> Ran {
    run(&[&["join", "--json"][..], files].concat())
}

fn count(joined: &Value, field: &str) -> u64 {
    joined["events"][field].as_u64().unwrap_or_else(|| panic!("no {field} in {joined:#}"))
}

fn summary(rest: &str) -> Value {
    serde_json::from_str(rest).unwrap_or_else(|error| panic!("{error}: {rest}"))
}

/// A folder with files of notes.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn two_senders_and_two_receivers_are_joined_exactly() {
    let _machine = machine();
    let folder = Folder::new();
    let [a, b, one, two] = ["a", "b", "one", "two"].map(|name| folder.file(name));
    let receivers = [&one, &two].map(|notes| receiver(&["--notes", notes, "--json"]));
    let channels = [app(&receivers[0].url, &[]), app(&receivers[1].url, &[])];
    // The second sender sends through both channels, as two targets.
    let first = send(&channels[0].url, &a, &["--rate", "300/s", "--duration", "1s"]).json();
    let how = [&*channels[1].url, "--events", "structured", "--rate", "400/s", "--duration", "1s"];
    let second = send(&channels[0].url, &b, &how).json();
    let taken = |channel: &Server| channel.metric("channel_deliveries_total{outcome=\"taken\"}");
    let accepted = |channel: &Server| channel.metric("channel_events_total{outcome=\"accepted\"}");
    for channel in &channels {
        until("all are delivered", || 0.0 < taken(channel) && taken(channel) == accepted(channel));
    }
    let arrivals: u64 = receivers
        .map(|receiver| {
            let summary = summary(&receiver.end());
            assert_eq!(summary["ended"], "interrupted");
            assert_eq!((&summary["unnoted"], &summary["wrong"]), (&0.into(), &0.into()));
            summary["noted"].as_u64().unwrap()
        })
        .iter()
        .sum();
    let ran = join(&[&one, &a, &two, &b]);
    let joined = ran.json();
    let sent = |load: &Value| load["counts"]["sent"].as_u64().unwrap();
    assert_eq!(count(&joined, "sent"), sent(&first) + sent(&second));
    assert!(500 < count(&joined, "sent") && count(&joined, "sent") < arrivals, "{joined:#}");
    for (field, expected) in [
        ("accepted", count(&joined, "sent")),
        ("delivered", count(&joined, "sent")),
        ("lost", 0),
        ("duplicated", 0),
        ("unknown", 0),
        ("unnoted", 0),
    ] {
        assert_eq!(count(&joined, field), expected, "{field}: {joined:#}");
    }
    assert_eq!((ran.code, &joined["complete"]), (0, &true.into()));
    assert_eq!(joined["clock_error_ns"], 0, "one host, one clock");
    let times = &joined["events"]["delivery_time"];
    assert_eq!(times["count"], count(&joined, "sent"));
    assert!(times["p50_ns"].as_u64().unwrap() < 100_000_000, "{times}");
    assert_eq!(joined["events"]["source"].as_str().unwrap().split(' ').count(), 3);
    // Without the second sender, its events are unknown.
    let ran = join(&[&one, &two, &a]);
    assert_eq!(count(&ran.json(), "sent"), sent(&first));
    assert!(sent(&second) <= count(&ran.json(), "unknown"), "{ran:#?}");
    let text = run(&["join", &a, &one]).stdout;
    assert!(text.starts_with("1 sender · 1 receiver · one clock\nevents: "), "{text}");
}

#[test]
fn a_killed_receiver_leaves_the_notes_that_it_has_written() {
    let _machine = machine();
    let folder = Folder::new();
    let [sent, received] = ["sent", "received"].map(|name| folder.file(name));
    let receiver = receiver(&["--notes", &received]);
    let arguments = ["load", &receiver.url, "--events", "binary", "--notes", &sent];
    let how = ["--rate", "500/s", "--duration", "3s", "--progress", "never"];
    run_while(Command::new(benchwright()).args(arguments).args(how), |_| {
        sleep(Duration::from_millis(2500));
        signal(receiver.pid(), "KILL");
    });
    let ran = join(&[&sent, &received]);
    let joined = ran.json();
    assert_eq!((ran.code, &joined["complete"]), (3, &false.into()));
    assert!(joined["receivers"][0]["unnoted"].is_null());
    assert!(joined["warnings"].to_string().contains("has no end: its program was killed"));
    let (accepted, lost) = (count(&joined, "accepted"), count(&joined, "lost"));
    // Blocks are written every 500 ms, and the machine may pause.
    assert!(500 < accepted && lost < 600, "{joined:#}");
    assert_eq!(joined["outcomes"]["accepted"], accepted);
    assert_eq!(count(&joined, "sent"), accepted + count(&joined, "refused"));
}

#[test]
fn a_receiver_ends_as_it_was_told() {
    let event = "POST / HTTP/1.1\r\nHost: x\r\nCe-Id: 1\r\nCe-Source: s\r\n\r\n";
    let post = |receiver: &Server, count: usize| {
        let mut stream = TcpStream::connect(receiver.url.trim_start_matches("http://")).unwrap();
        stream.write_all(event.repeat(count).as_bytes()).unwrap();
        stream
    };
    let expecting = receiver(&["--expect", "3", "--json"]);
    let _stream = post(&expecting, 3);
    let (code, rest) = expecting.ended();
    let summary = summary(&rest);
    assert_eq!((code, &summary["ended"], &summary["arrivals"]), (0, &"expected".into(), &3.into()));
    assert!(summary.get("notes").is_none() && summary["noted"] == 0, "{summary}");

    let quiet = receiver(&["--expect", "3", "--until-quiet", "200ms"]);
    let _stream = post(&quiet, 2);
    let (code, rest) = quiet.ended();
    assert_eq!(code, 1, "fewer than expected: {rest}");
    assert!(rest.starts_with("received 2 events"), "{rest}");
}

#[test]
fn clocks_are_compared_before_and_after_the_load() {
    let _machine = machine();
    let folder = Folder::new();
    let [sent, received] = ["sent", "received"].map(|name| folder.file(name));
    let receiver = receiver(&["--notes", &received]);
    let address = receiver.url.trim_start_matches("http://").to_owned();
    let how = ["--rate", "200/s", "--duration", "1s", "--compare-clock", &address];
    let ran = send(&receiver.url, &sent, &how);
    assert_eq!(ran.json()["warnings"].to_string().matches("clock").count(), 0, "{ran:#?}");
    receiver.end();
    let joined = join(&[&sent, &received]).json();
    assert_eq!((&joined["clock_error_ns"], count(&joined, "lost")), (&0.into(), 0));
    let exact = joined["events"]["delivery_time"]["p50_ns"].as_u64().unwrap();

    // The same notes, as if the receiver had been on another host.
    let own = net::host::clock_name().unwrap();
    let rename = |file: &str, field: &str| {
        let bytes = std::fs::read(file).unwrap();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let header: Header = serde_json::from_slice(&bytes[..end]).unwrap();
        let line = String::from_utf8(header.line()).unwrap();
        assert!(line.contains(&format!("{field}\"{own}\"")), "{line}");
        let line = line.replacen(&format!("{field}\"{own}\""), &format!("{field}\"there\""), 1);
        std::fs::write(file, [line.as_bytes(), &bytes[end + 1..]].concat()).unwrap();
    };
    rename(&received, "\"clock\":");
    rename(&sent, &format!("\"address\":\"{address}\",\"clock\":"));
    let joined = join(&[&sent, &received]).json();
    let error = joined["clock_error_ns"].as_u64().unwrap();
    assert!(0 < error && error < 50_000_000, "{error}");
    let ahead = joined["clocks"][1]["ahead_ns"].as_i64().unwrap();
    assert!(ahead.unsigned_abs() <= error, "they are the same clock: {ahead} ± {error}");
    assert!(joined["events"].get("delivery_time").is_none());
    let times = &joined["delivery_by_clocks"];
    match times["p50_ns"].as_u64() {
        Some(p50) => assert!(p50.abs_diff(exact) <= error + exact / 500, "{p50} {exact} ± {error}"),
        None => assert!(exact < 20 * (error + 1) + error, "{exact} ± {error}: {times}"),
    }

    let url = format!("http://{address}/");
    let ran = send(&url, &sent, &["--rate", "1/s", "--compare-clock", "127.0.0.1:9"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("give the address of a `benchwright receive`"), "{ran:#?}");
}

#[test]
fn files_that_cannot_be_joined_are_refused_with_the_reason() {
    let folder = Folder::new();
    let received = folder.file("received");
    receiver(&["--notes", &received]).end();
    let junk = folder.file("junk");
    std::fs::write(&junk, "junk").unwrap();
    for (files, why) in [
        (&[&*received][..], "none of the files has the notes of a sender"),
        (&[&junk], "does not begin with the header of a file of notes"),
        (&["missing"], "missing: No such file"),
    ] {
        let ran = join(files);
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.contains(why), "{ran:#?}");
    }
    let nowhere = run(&["receive", "--notes", "/nowhere/r.notes"]);
    assert!(
        nowhere.code == 2 && nowhere.stderr.contains("--notes /nowhere/r.notes"),
        "{nowhere:#?}"
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let busy = run(&["receive", "--listen", &address]);
    assert!(busy.code == 2 && busy.stderr.contains("with a free port"), "{busy:#?}");
}

/// The attributes, the type of the content and the body of an event.
type Seen = (Vec<(String, String)>, Vec<u8>);

/// Returns a request as the sender of Knative's performance image writes it, by Go's HTTP client.
fn upstream(version: &str, number: u32, kind: &str, source: &str, body: Option<&str>) -> String {
    let id = match kind {
        "measure.perf-test" | "warmup.perf-test" => format!("6ba7b810{number:024x}"),
        // The SDK writes these two.
        _ => format!("6ba7b810-9dad-11d1-80b4-{number:012x}"),
    };
    let body = body.unwrap_or_default();
    let content_type = match (body, version) {
        ("", "0.2") => "",
        _ => "Content-Type: application/json\r\n",
    };
    format!(
        "POST / HTTP/1.1\r\nHost: broker\r\nUser-Agent: Go-http-client/1.1\r\n\
         Content-Length: {}\r\nCe-Id: {id}\r\nCe-Source: {source}\r\nCe-Specversion: {version}\r\n\
         Ce-Type: {kind}\r\n{content_type}Accept-Encoding: gzip\r\n\r\n{body}",
        body.len()
    )
}

/// Returns what that sender sends for a pace list with two paces.
fn sequence(version: &str) -> Vec<String> {
    let body = format!("\"{}\"", "aZ".repeat(49));
    let (pod, warm_up) = ("perf-sender-6c9f-xk2pl", "perf-test-event-source");
    let mut numbers = 1..;
    let mut next = |kind: &str, source: &str, body: Option<&str>| {
        upstream(version, numbers.next().unwrap(), kind, source, body)
    };
    let mut all = Vec::new();
    all.extend((0..3).map(|_| next("warmup.perf-test", warm_up, Some(&body))));
    for _ in 0..2 {
        all.extend((0..5).map(|_| next("measure.perf-test", pod, Some(&body))));
        all.push(next("gc.perf-test", pod, None));
    }
    all.push(next("end.perf-test", pod, None));
    all
}

/// Returns the fields that matter, sorted, and the body of each request.
fn seen(mut bytes: &[u8]) -> Vec<Seen> {
    let mut decoder = RequestDecoder::default();
    let mut all: Vec<Seen> = Vec::new();
    let mut fields = Vec::new();
    loop {
        let event = decoder.next_with(&mut bytes, |name, value| {
            let name = name.to_ascii_lowercase();
            if name.starts_with("ce-") || name == "content-type" {
                fields.push((name, String::from_utf8(value.to_vec()).unwrap()));
            }
        });
        match event.unwrap() {
            None => return all,
            Some(RequestEvent::Head(_)) => {
                fields.sort();
                all.push((std::mem::take(&mut fields), Vec::new()));
            }
            Some(RequestEvent::Body(piece)) => all.last_mut().unwrap().1.extend_from_slice(piece),
            Some(RequestEvent::End(_)) => {}
        }
    }
}

/// Sends the requests on one connection, and checks that each is accepted before the next.
fn replay(url: &str, requests: &[String]) {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    for request in requests {
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read_head(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}\nto {request}");
    }
}

fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (String::new(), [0]);
    while !head.ends_with("\r\n\r\n") {
        std::io::Read::read_exact(stream, &mut byte).unwrap();
        head.push(byte[0].into());
    }
    head
}

/// A subscriber that keeps the bytes of each request.
fn subscriber() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (found, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, found) = (stream.unwrap(), found.clone());
            std::thread::spawn(move || {
                let (mut bytes, mut buffer) = (Vec::new(), [0; 65_536]);
                while let Ok(count @ 1..) = std::io::Read::read(&mut stream, &mut buffer) {
                    bytes.extend_from_slice(&buffer[..count]);
                    if is_complete(&bytes) {
                        stream
                            .write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                            .unwrap();
                        found.send(std::mem::take(&mut bytes)).unwrap();
                    }
                }
            });
        }
    });
    (url, requests)
}

fn is_complete(mut bytes: &[u8]) -> bool {
    let mut decoder = RequestDecoder::default();
    while let Some(event) = decoder.next(&mut bytes).unwrap() {
        if matches!(event, RequestEvent::End(_)) {
            return true;
        }
    }
    false
}

/// Returns source and id of each arrival in a file of notes.
fn noted(file: &str) -> Vec<(String, String)> {
    let bytes = std::fs::read(Path::new(file)).unwrap();
    let mut bytes = bytes.as_slice();
    Header::read(&mut bytes).unwrap();
    let (mut sources, mut all) = (Vec::new(), Vec::new());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let read = notes::read(&mut bytes, |note| {
        match note {
            Note::Source(source) => sources.push(text(source)),
            Note::Arrival { source, id, .. } => {
                all.push((sources[usize::from(source)].clone(), text(id)));
            }
            Note::Sent { .. } => panic!("a receiver sends nothing"),
        }
        Ok(())
    });
    assert!(read.unwrap().end.is_some());
    all
}

fn value<'a>(event: &'a Seen, name: &str) -> &'a str {
    let field = event.0.iter().find(|(known, _)| known == name);
    field.map_or("", |(_, value)| value)
}

#[test]
fn what_knatives_sender_sends_passes_through_channel_and_receiver_unmodified() {
    let folder = Folder::new();
    for version in ["0.2", "1.0"] {
        let requests = sequence(version);
        let sent = seen(requests.concat().as_bytes());
        assert_eq!(sent.len(), 16);
        let ids: Vec<(String, String)> = sent
            .iter()
            .map(|event| (value(event, "ce-source").to_owned(), value(event, "ce-id").to_owned()))
            .collect();

        // Through the channel to a subscriber that keeps the bytes.
        let (url, delivered) = subscriber();
        let channel = app(&url, &["--ordered"]);
        replay(&channel.url, &requests);
        let delivered: Vec<Seen> = (0..sent.len())
            .flat_map(|_| seen(&delivered.recv_timeout(Duration::from_secs(30)).unwrap()))
            .collect();
        assert_eq!(delivered, sent, "{version}");

        // Through the channel, and straight, to our receiver.
        let file = folder.file(version);
        let ours = receiver(&["--notes", &file, "--json"]);
        let channel = app(&ours.url, &["--ordered"]);
        replay(&channel.url, &requests);
        let taken = || channel.metric("channel_deliveries_total{outcome=\"taken\"}");
        until("all are delivered", || taken() == sent.len() as f64);
        replay(&ours.url, &requests);
        let summary = summary(&ours.end());
        assert_eq!((&summary["arrivals"], &summary["wrong"]), (&32.into(), &0.into()));
        assert_eq!(noted(&file), [&ids[..], &ids].concat(), "{version}");
    }
}
