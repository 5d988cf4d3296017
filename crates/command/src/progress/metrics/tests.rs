use std::io::{Read, Write};
use std::net::TcpStream;

use expect_test::expect;
use lab::course::{Ending, Outline, Trial};
use lab::progress::Stage;
use measure::Nanos;
use results::journal::Status;
use results::said::Phase;

use super::*;

fn text(figures: &Figures) -> String {
    let mut text = String::new();
    encode(&mut text, &figures.registry()).unwrap();
    // The help and the types are in the code; labels have no order.
    let is_shown = |line: &&str| !line.starts_with('#') && !line.ends_with("\"} 0");
    let mut lines: Vec<&str> = text.lines().filter(is_shown).collect();
    lines.sort_unstable();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_interval_is_shown_and_forgotten_with_its_load() {
    let mut figures = Figures::new();
    figures.trial.set(7);
    figures.tick(&Tick {
        phase: Phase::Measurement,
        offered_per_s: Some(410.5),
        completed_per_s: Some(400.0),
        operations_per_s: Some(6_400.0),
        last: Quantiles { p50_ns: Some(1_500_000), p99_ns: Some(9_000_000), p999_ns: None },
        in_flight: Some(3),
        lateness_p99_ns: Some(20_000),
        errors: [("timeout".to_owned(), 2)].into(),
        ..Tick::default()
    });
    expect![[r#"
        benchwright_asked_requests_per_second NaN
        benchwright_completed_operations_per_second 6400.0
        benchwright_completed_requests_per_second 400.0
        benchwright_failed_requests_total{outcome="timeout"} 2
        benchwright_lateness_p99_seconds 0.00002
        benchwright_needed_seconds NaN
        benchwright_offered_requests_per_second 410.5
        benchwright_outstanding_requests 3.0
        benchwright_response_time_seconds{quantile="0.5"} 0.0015
        benchwright_response_time_seconds{quantile="0.99"} 0.009
        benchwright_response_time_seconds{quantile="0.999"} NaN
        benchwright_trial 7
    "#]]
    .assert_eq(&text(&figures));
    figures.ended(&entry(1, 7, Status::Valid));
    figures.forget();
    expect![[r#"
        benchwright_asked_requests_per_second NaN
        benchwright_completed_operations_per_second NaN
        benchwright_completed_requests_per_second NaN
        benchwright_failed_requests_total{outcome="timeout"} 2
        benchwright_lateness_p99_seconds NaN
        benchwright_needed_seconds NaN
        benchwright_offered_requests_per_second NaN
        benchwright_outstanding_requests NaN
        benchwright_trial 0
        benchwright_trials_total{status="valid"} 1
    "#]]
    .assert_eq(&text(&figures));
}

fn entry(strand: u32, trial: u32, status: Status) -> Entry {
    let text = format!(
        r#"{{"trial": {trial}, "key": "", "purpose": "trial", "strand": {strand},
            "asked_per_s": 5, "asked_per_target_per_s": 5, "repetition": 1, "attempt": 1,
            "seed": 7, "status": "{}", "reasons": [], "observed": null, "findings": [],
            "warnings": [], "files": {{}}}}"#,
        status.name()
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_goes_on_and_how_far_the_plan_is_are_shown() {
    let mut figures = Figures::new();
    let strand = |replicas: u32| Outlined {
        level: Some(format!("replicas={replicas}")),
        search: Some("capacity".to_owned()),
        fewest: 5,
        usual: Some(12),
        most: 30,
        trial: Nanos::from_secs(8),
        ..Outlined::default()
    };
    let (name, strands) = ("users".to_owned(), vec![strand(1), strand(2)]);
    let outline = Outline { name, strands, ..Outline::default() };
    // An earlier run of this plan made a trial.
    let journal = [entry(2, 1, Status::Valid)];
    figures.take(&Event::Planned { outline, journal: &journal });
    let plan = |figures: &Figures| -> String {
        let text = text(figures);
        let of_plan = |line: &&str| !line.contains("NaN") && !line.contains("trial 0");
        text.lines().filter(of_plan).map(|line| format!("{line}\n")).collect()
    };
    expect![[r#"
        benchwright_needed_seconds 184.0
        benchwright_now{experiment="users",stage="prepare"} 1
        benchwright_plan_searches{state="open"} 2
        benchwright_plan_trials{part="done"} 1
        benchwright_plan_trials{part="needed"} 23
        benchwright_plan_trials{part="possible"} 36
        benchwright_trials_total{status="valid"} 1
    "#]]
    .assert_eq(&plan(&figures));

    let (repetition, attempt, seed, place) = (1, 1, 7, Default::default());
    let (number, purpose, asked) = (2, Purpose::Trial, Rate::per_second(5.0));
    let trial = Trial { number, purpose, asked, repetition, attempt, seed, place };
    figures.take(&Event::Begins { trial: &trial, strand: 1 });
    let now = |figures: &Figures| -> String {
        let text = text(figures);
        text.lines().find(|line| line.contains("_now")).unwrap().to_owned()
    };
    let of_trial = |stage| {
        format!(
            "benchwright_now{{experiment=\"users\",stage=\"{stage}\",level=\"replicas=2\",\
             search=\"capacity\"}} 1"
        )
    };
    assert_eq!(now(&figures), of_trial("prepare"));
    figures.take(&Event::Stage(Stage::Deploy));
    assert_eq!(now(&figures), of_trial("deploy"));
    let tick = Tick { phase: Phase::WarmUp, ..Tick::default() };
    figures.take(&Event::Tick { trial: &trial, tick });
    assert_eq!(now(&figures), of_trial("warm_up"));

    let ended = entry(2, 2, Status::Valid);
    let (label, without_rate, speed, again) = (String::new(), "closed", None, None);
    let conclusion = None;
    figures.take(&Event::Ended { entry: &ended, conclusion, label, without_rate, speed, again });
    let ending = Some(Ending::Answered("enough".to_owned()));
    figures.take(&Event::Stands { strand: 1, near: None, ending });
    figures.take(&Event::Stage(Stage::WaitForCalm));
    expect![[r#"
        benchwright_needed_seconds 96.0
        benchwright_now{experiment="users",stage="wait for a calm machine"} 1
        benchwright_plan_searches{state="ended"} 1
        benchwright_plan_searches{state="open"} 1
        benchwright_plan_trials{part="done"} 2
        benchwright_plan_trials{part="needed"} 12
        benchwright_plan_trials{part="possible"} 18
        benchwright_trials_total{status="valid"} 2
    "#]]
    .assert_eq(&plan(&figures));
}

#[test]
fn a_failure_is_counted_from_zero() {
    let page = |figures: &Figures| {
        let mut text = String::new();
        encode(&mut text, &figures.registry()).unwrap();
        text
    };
    let text = page(&Figures::new());
    assert!(text.contains("benchwright_failed_requests_total{outcome=\"timeout\"} 0\n"), "{text}");
    assert!(!text.contains("outcome=\"ok\""), "{text}");
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{request}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_figures_are_served_until_the_end_and_nothing_else_is() {
    let metrics = Metrics::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = metrics._server.address();
    metrics.figures.trial.set(3);
    let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: a");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("\nbenchwright_trial 3\n"), "{page}");
    assert!(page.contains("application/openmetrics-text"), "{page}");
    assert!(ask(address, "GET /x HTTP/1.1\r\nHost: a").starts_with("HTTP/1.1 404"));
    assert!(
        ask(address, "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0")
            .starts_with("HTTP/1.1 405")
    );
    // A client that says nothing must not keep the others waiting.
    let _silent = TcpStream::connect(address).unwrap();
    assert!(ask(address, "GET /metrics HTTP/1.1\r\nHost: a").starts_with("HTTP/1.1 200"));
    let taken = Metrics::listen(address).err().unwrap();
    assert!(taken.error.to_string().contains("choose another address"), "{}", taken.error);
    drop(metrics);
    TcpStream::connect(address).unwrap_err();
}

/// Whoever reaches the port must not be able to end, delay or fill a run.
#[test]
fn what_peers_send_and_withhold_has_bounds() {
    let metrics = Metrics::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = metrics._server.address();
    // Bodies of any announced length, which never come: they are not waited for, and nothing is kept for them.
    for length in ["5", "99999999999", "18446744073709551615"] {
        let request = format!("GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: {length}");
        let answer = ask(address, &request);
        // The last one is too long to be a length.
        let statuses = ["HTTP/1.1 200", "HTTP/1.1 431"];
        assert!(statuses.iter().any(|status| answer.starts_with(status)), "{answer}");
    }
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked";
    assert!(ask(address, chunked).starts_with("HTTP/1.1 405"));
    // A head without an end.
    let mut stream = TcpStream::connect(address).unwrap();
    // The kernel's buffers take some megabytes before a busy server says anything.
    let endless = (0..16_000).all(|_| stream.write_all(&[b'x'; 4096]).is_ok());
    assert!(!endless, "64 MB of a head were taken");
    // More connections than it serves are closed at once; those that say nothing leave no room for others only for
    // a while.
    let connect = |longest| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(longest))).unwrap();
        stream
    };
    let is_closed = |mut stream: &TcpStream| matches!(stream.read(&mut [0]), Ok(0));
    let served: Vec<_> = (0..server::MOST_CONNECTIONS).map(|_| connect(60)).collect();
    // In less time than a connection has. The place of the one above may be free only now.
    let closed = (0..10).filter(|_| is_closed(&connect(3))).count();
    assert!(9 <= closed, "{closed} of 10 were closed");
    assert!(served.iter().all(is_closed));
    let answers = || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut text = Vec::new();
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        let _ = stream.read_to_end(&mut text);
        text.starts_with(b"HTTP/1.1 200")
    };
    assert!((0..1_000).any(|_| answers()));
    // The end waits for none of these: unfinished heads, and a response that is not read.
    let mut open: Vec<_> = (0..10).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stream in &mut open {
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n").unwrap();
    }
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(metrics);
        sender.send(()).unwrap();
    });
    ended.recv_timeout(std::time::Duration::from_secs(4)).expect("the end waits for no peer");
}
