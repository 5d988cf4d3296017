//! Guide 1's own script, unmodified, run by wrk and by us against the hotel application.

use std::process::Command;

use crate::support::{Server, machine, peers, run, run_while, tool};

const SCRIPT: &str =
    "deathstarbench/hotelReservation/wrk2/scripts/hotel-reservation/mixed-workload_type_1.lua";

/// Checks the application's own counts of the mixed workload.
fn check_what_was_asked(server: &Server) {
    let searches = ["0", "1", "2"]
        .map(|n| server.metric(&format!("hotel_search_results_total{{hotels=\"{n}\"}}")));
    let all: f64 = searches.iter().sum();
    for (found, share) in searches.iter().zip([49.0, 17.5, 33.5]) {
        let percent = 100.0 * found / all;
        // The shares are rounded, and randomness allows five standard deviations.
        let bound = 0.3 + 5.0 * (share * (100.0 - share) / all).sqrt();
        assert!((percent - share).abs() <= bound, "{percent} % for {share} % of {all} searches");
    }
    let logins = |outcome| server.metric(&format!("hotel_logins_total{{outcome=\"{outcome}\"}}"));
    assert!(0.0 < logins("ok"));
    assert_eq!(logins("failed"), 0.0, "every login succeeds");
}

#[test]
fn wrk_runs_the_original_script_against_the_application() {
    let test = "wrk_runs_the_original_script_against_the_application";
    let (Some(peers), true) = (peers(test), tool(test, "wrk")) else { return };
    let _machine = machine();
    let server = Server::hotel();
    let script = peers.join(SCRIPT);
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", "-c32", "-d10s", "-s"]).arg(script).arg(&server.url);
    let ran = run_while(&mut wrk, |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(!ran.stdout.contains("Non-2xx") && !ran.stdout.contains("Socket errors"), "{ran:#?}");
    check_what_was_asked(&server);
}

#[test]
fn we_run_the_original_script_against_the_application() {
    let test = "we_run_the_original_script_against_the_application";
    let Some(peers) = peers(test) else { return };
    let _machine = machine();
    let server = Server::hotel();
    let script = peers.join(SCRIPT);
    let (url, script) = (server.url.as_str(), script.to_str().unwrap());
    let more = ["--closed", "--connections", "32", "--shards", "1", "--duration", "10s", "--json"];
    let ran = run(&[&["load", url, "--script", script][..], &more].concat());
    let document = ran.json();
    let counts = &document["counts"];
    assert_eq!(
        counts["ok"], counts["intended"],
        "no failure of any kind: {}",
        document["outcomes"]
    );
    let completed = counts["completed_inside"].as_f64().unwrap();
    let bytes = counts["bytes_received"].as_f64().unwrap() / completed;
    // Five standard deviations; responses differ by some 250 bytes.
    let bound = 1.0 + 5.0 * 250.0 / completed.sqrt();
    assert!((bytes - 433.5).abs() <= bound, "{bytes} bytes per response");
    check_what_was_asked(&server);
}
