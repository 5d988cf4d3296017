//! The first question without a file, and the results that it leaves: `capacity`, `list` and `open`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Scratch, Server, experiments, journal, machine, run, run_while, until};

const CANARY: &str = "canary-token";

/// Asserts that no file in a folder has a canary.
fn holds_no_canary(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            holds_no_canary(&entry.path());
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap();
        let found = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
        assert!(!found, "{}", entry.path().display());
    }
}

#[test]
fn a_question_at_a_url_is_an_experiment_that_can_be_planned_and_resumed_without_its_secret() {
    let _machine = machine();
    let scratch = Scratch::new();
    let out = tempfile::tempdir().unwrap();
    let log = out.path().join("log");
    let server = Server::reference(&["--log", &log.display().to_string(), "--log-bytes"]);
    let mut capacity = scratch.benchwright();
    capacity.args(["capacity", &format!("{}/x?y=1", server.url), "--slo", "p99<=2s,failures<=1%"]);
    capacity.args(["--range", "50/s..100/s", "--precision", "50%", "--duration", "500ms"]);
    capacity.args(["-H", &format!("Authorization: Bearer {CANARY}"), "-c", "3", "--time", "1m"]);
    capacity.args(["--save", "mine.yaml", "--out", "out", "--json"]);
    let ran = run_while(&mut capacity, |_| {});
    // A server that could do more, or a machine that others took all the time: never a refusal.
    assert_eq!(ran.code, 3, "{ran:#?}");
    let answer = ran.json();
    assert_eq!(answer["schema"], "benchwright.run/3");
    assert!(ran.stderr.contains("time     in 1 min: usually"), "{}", ran.stderr);
    assert!(ran.stderr.contains("export HEADER_AUTHORIZATION=…"), "{}", ran.stderr);
    assert!(!journal(&scratch.path().join("out")).is_empty(), "{ran:#?}");
    server.end();
    let sent = fs::read_to_string(&log).unwrap();
    assert!(sent.contains(&format!("Authorization: Bearer {CANARY}")), "the service gets it");
    assert!(sent.contains("GET /x?y=1 "), "{}", &sent[..sent.len().min(500)]);
    assert!(!ran.stderr.contains(CANARY) && !ran.stdout.contains(CANARY), "{ran:#?}");
    holds_no_canary(scratch.path());

    let plan = |variable: bool| {
        let mut command = scratch.benchwright();
        command.args(["plan", "mine.yaml"]);
        if variable {
            command.env("HEADER_AUTHORIZATION", CANARY);
        }
        run_while(&mut command, |_| {})
    };
    let planned = plan(true);
    assert_eq!(planned.code, 0, "{planned:#?}");
    assert!(
        planned.stdout.contains("from the environment: HEADER_AUTHORIZATION\n"),
        "{planned:#?}"
    );
    assert!(plan(false).stdout.contains("HEADER_AUTHORIZATION (not set here)"));
    let refused = run_while(scratch.benchwright().args(["resume", "out"]), |_| {});
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(refused.stderr.contains("export HEADER_AUTHORIZATION=…"), "{}", refused.stderr);
    // The same question finds the results in the way, and another one the saved file: both are kept.
    let again = |further: &[&str]| {
        let mut command = scratch.benchwright();
        run_while(command.args(capacity.get_args()).args(further), |_| {})
    };
    let same = again(&[]);
    assert_eq!(same.code, 2, "{same:#?}");
    assert!(same.stderr.contains("out: this folder is not empty"), "{same:#?}");
    let other = again(&["--method", "POST"]);
    assert_eq!(other.code, 2, "{other:#?}");
    assert!(other.stderr.contains("such a file, with another experiment"), "{other:#?}");
    assert_eq!(scratch.remains(), [""; 0]);
}

#[test]
fn results_are_listed_and_opened_in_the_browser_of_the_user() {
    let scratch = Scratch::new();
    let spec = experiments().join("simulated.yaml");
    let mut simulated = scratch.benchwright();
    simulated.arg("run").arg(spec).args(["--profile", "ci", "--out", "results/one"]);
    let ran = run_while(&mut simulated, |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    fs::create_dir(scratch.path().join("results/two")).unwrap();
    scratch.file("results/two/manifest.json", "{\"schema\": \"\u{1b}[2J\"}");

    let listed = run_while(scratch.benchwright().arg("list"), |_| {});
    assert_eq!(listed.code, 0, "{listed:#?}");
    assert!(listed.stdout.starts_with("results/one   "), "{listed:#?}");
    for field in ["  question  ", "  answer    ", "  validity  answered; "] {
        assert!(listed.stdout.contains(field), "{listed:#?}");
    }
    assert!(listed.stderr.starts_with("skipped  results/two: "), "{listed:#?}");
    assert!(!listed.stderr.contains('\u{1b}'), "{listed:#?}");
    let json = run_while(scratch.benchwright().args(["list", "results", "--json"]), |_| {}).json();
    assert_eq!(json["runs"][0]["verdict"], "answered", "{json:#}");
    assert_eq!(json["skipped"][0]["directory"], "results/two", "{json:#}");
    let none = run_while(scratch.benchwright().args(["list", "nowhere"]), |_| {});
    assert_eq!(none.code, 2, "{none:#?}");

    let open = || {
        let mut command = scratch.benchwright();
        command.args(["open", "results/one"]);
        ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].iter().for_each(|name| {
            command.env_remove(name);
        });
        command
    };
    let page = scratch.path().join("results/one/report.html");
    fs::write(&page, "<script>hostile()</script>").unwrap();
    let opened = run_while(&mut open(), |_| {});
    assert_eq!(opened.code, 0, "{opened:#?}");
    assert_eq!(opened.stdout, "results/one/report.html\n");
    assert!(opened.stderr.contains("there is no display here"), "{opened:#?}");
    assert!(!fs::read_to_string(&page).unwrap().contains("hostile"), "it is written again");

    let browser =
        scratch.file("browser", "#!/bin/sh\necho \"$@\" >shown.new; mv shown.new shown\n");
    fs::set_permissions(&browser, PermissionsExt::from_mode(0o755)).unwrap();
    for display in [None, Some(":7")] {
        let shown = scratch.path().join("shown");
        let _ = fs::remove_file(&shown);
        let mut command = open();
        command.env("BROWSER", format!("no-such-browser:{} --tab %s", browser.display()));
        display.iter().for_each(|display| {
            command.env("DISPLAY", display);
        });
        let opened = run_while(&mut command, |_| {});
        assert_eq!((opened.code, opened.stderr.as_str()), (0, ""), "{opened:#?}");
        until("the browser is started", || shown.exists());
        let shown = fs::read_to_string(&shown).unwrap();
        assert!(shown.starts_with("--tab file:///"), "{shown}");
        assert!(shown.ends_with("/results/one/report.html\n"), "{shown}");
    }
}

#[test]
fn options_of_other_tools_and_mistyped_words_are_answered_with_ours() {
    let told = |arguments: &[&str]| {
        let ran = run(arguments);
        assert_eq!(ran.code, 2, "{ran:#?}");
        ran.stderr
    };
    assert_eq!(
        told(&["load", "http://127.0.0.1:1/", "--rate", "1/s", "-d", "30s"]),
        "error: `-d` is the duration in wrk, and the body of the requests in oha, hey and curl; here write \
         `--duration 30s` or `--body TEXT`\n"
    );
    assert!(told(&["laod", "http://127.0.0.1:1/"]).contains("'load'"));
    assert!(
        told(&["load", "http://127.0.0.1:1/", "--conections", "3"]).contains("'--connections'")
    );
}
