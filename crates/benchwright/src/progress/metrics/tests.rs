use std::io::{Read, Write};
use std::net::TcpStream;

use expect_test::expect;

use super::*;

fn text(figures: &Figures) -> String {
    let mut text = String::new();
    encode(&mut text, &figures.registry()).unwrap();
    // The help and the types are in the code; labels have no order.
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_interval_is_shown_and_forgotten_with_its_load() {
    let figures = Figures::default();
    figures.forget();
    figures.trial.set(7);
    figures.tick(&Tick {
        phase: "measurement".to_owned(),
        offered_per_s: Some(410.5),
        completed_per_s: Some(400.0),
        last: Quantiles { p50_ns: Some(1_500_000), p99_ns: Some(9_000_000), p999_ns: None },
        in_flight: Some(3),
        lateness_p99_ns: Some(20_000),
        errors: [("timeout".to_owned(), 2)].into(),
        ..Tick::default()
    });
    expect![[r#"
        benchwright_asked_requests_per_second NaN
        benchwright_completed_requests_per_second 400.0
        benchwright_failed_requests_total{outcome="timeout"} 2
        benchwright_lateness_p99_seconds 0.00002
        benchwright_offered_requests_per_second 410.5
        benchwright_outstanding_requests 3.0
        benchwright_response_time_seconds{quantile="0.5"} 0.0015
        benchwright_response_time_seconds{quantile="0.99"} 0.009
        benchwright_response_time_seconds{quantile="0.999"} NaN
        benchwright_trial 7
    "#]]
    .assert_eq(&text(&figures));
    figures.ended(Status::Valid);
    figures.forget();
    expect![[r#"
        benchwright_asked_requests_per_second NaN
        benchwright_completed_requests_per_second NaN
        benchwright_failed_requests_total{outcome="timeout"} 2
        benchwright_lateness_p99_seconds NaN
        benchwright_offered_requests_per_second NaN
        benchwright_outstanding_requests NaN
        benchwright_trial 0
        benchwright_trials_total{status="valid"} 1
    "#]]
    .assert_eq(&text(&figures));
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
    let address = metrics.server.server_addr().to_ip().unwrap();
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
    // The thread that accepts ends soon after.
    let mut looks = 0..1_000_000;
    while TcpStream::connect(address).is_ok() {
        assert!(looks.next().is_some(), "it still listens");
        std::thread::yield_now();
    }
}
