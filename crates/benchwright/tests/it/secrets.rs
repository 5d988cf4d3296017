//! Secrets stay secret: whole runs and loads with canaries, and a search for them in every byte that
//! is left or shown.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use scopeguard::guard;

use crate::support::{Ran, Scratch, journal, machine, now, run_while, sleep, tool, until};

const CANARY: &str = "canary-";
const TOKEN: &str = "canary-token \"1";
const PASSWORD: &str = "canary-password";

const SPEC: &str = r#"
name: guarded
vars: {session: canary-session}
sut:
  deploy:
    - process:
        name: guarded
        command: [python3, guarded.py, "${port}"]
        port: auto
        environment:
          PASSWORD: ${env.BW_PASSWORD}
          WANTED: Bearer ${env.BW_TOKEN}
          DATABASE: postgres://u:canary-database@db/x
  endpoint: guarded
  smoke:
    - get: /smoke?key=${env.BW_TOKEN}
      send: {headers: {Authorization: "Bearer ${env.BW_TOKEN}"}}
      body: Bearer ${env.BW_TOKEN}
workload:
  get: /page?key=${env.BW_TOKEN}
  headers:
    Authorization: Bearer ${env.BW_TOKEN}
    Cookie: session=${vars.session}
load: {model: open, rate: 50/s, connections: 2}
phases: {warm_up: {fixed: 0s}, measure: {time: 1s}, drain: 2s}
budget: {invalid_attempts: 0}
doctor: {level: off}
slo: [{metric: p99, max: 10s}]
"#;

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs");
    std::fs::copy(programs.join("guarded.py"), scratch.path().join("guarded.py")).unwrap();
    scratch.file("guarded.yaml", SPEC);
    scratch
}

fn benchwright(scratch: &Scratch) -> Command {
    let mut command = scratch.benchwright();
    command.env("BW_TOKEN", TOKEN).env("BW_PASSWORD", PASSWORD);
    command
}

/// The command lines of all generators under a process, and the environments of these, as they were
/// seen while the process ran.
fn seen_of(runner: u32, is_over: &AtomicBool) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    while !is_over.load(Ordering::Relaxed) {
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let file = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
            let text = |name: &str| String::from_utf8_lossy(&file(name)).replace('\0', " ");
            let parent = text("stat");
            let parent = parent.rsplit_once(')').and_then(|(_, behind)| behind.split(' ').nth(2));
            let command = text("cmdline");
            if parent == Some(&runner.to_string()) && command.contains(" load ") {
                seen.insert(format!("{command}\n{}", text("environ")));
            }
        }
        sleep(std::time::Duration::from_millis(5));
    }
    seen
}

/// Runs a command; asserts that neither it nor its generators show a canary.
fn shows_no_canary(command: &mut Command) -> (Ran, BTreeSet<String>) {
    let is_over = AtomicBool::new(false);
    let (ran, seen) = std::thread::scope(|scope| {
        let (sender, pid) = std::sync::mpsc::channel();
        let is_over = &is_over;
        let watcher = scope.spawn(move || seen_of(pid.recv().unwrap(), is_over));
        let end = guard(is_over, |is_over| is_over.store(true, Ordering::Relaxed));
        let ran = run_while(command, |pid| sender.send(pid).unwrap());
        drop(end);
        (ran, watcher.join().unwrap())
    });
    for (what, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        assert!(!text.contains(CANARY), "{what} of {command:?}:\n{text}");
    }
    let shown = seen.iter().find(|text| text.contains(CANARY));
    assert!(shown.is_none(), "a process of {command:?}:\n{}", shown.unwrap());
    (ran, seen)
}

/// Asserts that no file in a folder has a canary.
fn holds_no_canary(folder: &Path) {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            holds_no_canary(&entry.path());
            continue;
        }
        files += 1;
        let bytes = std::fs::read(entry.path()).unwrap();
        let found = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
        assert!(!found, "{}", entry.path().display());
    }
    assert!(0 < files || folder.ends_with("trials"), "{}", folder.display());
}

#[test]
fn no_byte_of_a_run_shows_a_secret_of_its_spec() {
    const TEST: &str = "no_byte_of_a_run_shows_a_secret_of_its_spec";
    if !tool(TEST, "python3") {
        return;
    }
    let _machine = machine();
    let scratch = scratch();
    let (planned, _) = shows_no_canary(benchwright(&scratch).args(["plan", "guarded.yaml"]));
    assert_eq!(planned.code, 0, "{planned:#?}");
    assert!(planned.stdout.contains("Bearer ${env.BW_TOKEN}"), "{}", planned.stdout);

    let mut run = benchwright(&scratch);
    run.args(["run", "guarded.yaml", "--out", "out", "--set", "vars.session=canary-set"]);
    let (ran, seen) = shows_no_canary(&mut run);
    let out = scratch.path().join("out");
    assert!(!seen.is_empty(), "a generator was seen");
    assert!(seen.iter().all(|text| text.contains("Authorization: Bearer ${env.BW_TOKEN}")));
    let entries = journal(&out);
    // The service answers 401 to all who do not know the token.
    let load = std::fs::read_to_string(out.join("trials/1/load.json")).unwrap();
    let load: serde_json::Value = serde_json::from_str(&load).unwrap();
    assert_eq!(
        load["statuses"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["200"],
        "{ran:#?}"
    );
    assert!(load["arguments"].to_string().contains("${env.BW_TOKEN}"), "{load:#}");
    assert_eq!(entries.len(), 1);
    let log = std::fs::read_to_string(out.join("components/guarded.log")).unwrap();
    assert!(log.contains("password ${env.BW_PASSWORD}"), "{log}");
    holds_no_canary(&out);

    for command in ["report", "explain", "advise", "resume", "rerun"] {
        let mut command_of = benchwright(&scratch);
        command_of.args([command, "out"]);
        let (ran, _) = shows_no_canary(&mut command_of);
        if ["resume", "rerun"].contains(&command) {
            // Its session was written plainly.
            assert_eq!(ran.code, 2, "{ran:#?}");
            assert!(ran.stderr.contains("written plainly and is not kept"), "{}", ran.stderr);
        } else {
            assert_ne!(ran.code, 2, "{ran:#?}");
        }
    }
    shows_no_canary(benchwright(&scratch).args(["compare", "out", "out"]));
    holds_no_canary(&out);
    assert_eq!(scratch.remains(), [""; 0]);
}

#[test]
fn a_run_whose_secrets_are_variables_is_resumed_where_they_are_set_and_refused_elsewhere() {
    const TEST: &str =
        "a_run_whose_secrets_are_variables_is_resumed_where_they_are_set_and_refused_elsewhere";
    if !tool(TEST, "python3") {
        return;
    }
    let _machine = machine();
    let scratch = scratch();
    let plain = [
        "\n    Cookie: session=${vars.session}",
        "\n          DATABASE: postgres://u:canary-database@db/x",
    ];
    let spec = plain.iter().fold(SPEC.to_owned(), |spec, line| spec.replace(line, ""));
    let spec = spec.replace("vars: {session: canary-session}\n", "");
    scratch.file("guarded.yaml", spec + "repeat: {trials: 2}\n");
    let refused = run_while(scratch.benchwright().args(["run", "guarded.yaml"]), |_| {});
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(
        refused.stderr.contains("BW_PASSWORD, BW_TOKEN are not set in the environment"),
        "{}",
        refused.stderr
    );
    assert!(!scratch.path().join("results").exists(), "nothing was started");
    let planned = run_while(scratch.benchwright().args(["plan", "guarded.yaml"]), |_| {});
    assert_eq!(planned.code, 0, "{planned:#?}");
    assert!(planned.stdout.contains("BW_TOKEN (not set here)"), "{}", planned.stdout);

    let mut run = benchwright(&scratch);
    run.args(["run", "guarded.yaml", "--out", "out", "--set", "budget.invalid_attempts=20"]);
    let out = scratch.path().join("out");
    let interrupted = run_while(&mut run, |pid| {
        until("a first trial", || !journal(&out).is_empty());
        crate::support::signal(pid, "INT");
    });
    assert_eq!(interrupted.code, 130, "{interrupted:#?}");
    let refused = run_while(scratch.benchwright().args(["resume", "out"]), |_| {});
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(refused.stderr.contains("spec.yaml:"), "{}", refused.stderr);
    let before = journal(&out).len();
    let (resumed, _) = shows_no_canary(benchwright(&scratch).args(["resume", "out"]));
    assert!(before < journal(&out).len(), "{resumed:#?}");
    holds_no_canary(&out);
}

#[test]
fn neither_a_failing_check_nor_a_generator_that_fails_shows_a_secret() {
    const TEST: &str = "neither_a_failing_check_nor_a_generator_that_fails_shows_a_secret";
    if !tool(TEST, "python3") {
        return;
    }
    let _machine = machine();
    let scratch = scratch();
    // The answer, which echoes the request, is part of the message.
    scratch
        .file("smoke.yaml", SPEC.replace("body: Bearer ${env.BW_TOKEN}", "body_equals: nothing"));
    let (ran, _) =
        shows_no_canary(benchwright(&scratch).args(["run", "smoke.yaml", "--out", "smoke"]));
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert!(ran.stderr.contains("${env.BW_TOKEN}"), "{}", ran.stderr);
    holds_no_canary(&scratch.path().join("smoke"));

    // A script tells what it was given, and then fails.
    scratch.file("fails.lua", "function init(args) print(args[1]); error('with ' .. args[1]) end");
    let spec = SPEC.replace(
        "  get: /page?key=${env.BW_TOKEN}\n",
        "  get: null\n  script: fails.lua\n  args: [\"${env.BW_TOKEN}\"]\n",
    );
    scratch.file("script.yaml", spec);
    let (ran, _) =
        shows_no_canary(benchwright(&scratch).args(["run", "script.yaml", "--out", "script"]));
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("with ${env.BW_TOKEN}"), "{}", ran.stderr);
}

#[test]
fn a_load_sends_secrets_that_no_output_shows() {
    const TEST: &str = "a_load_sends_secrets_that_no_output_shows";
    if !tool(TEST, "python3") {
        return;
    }
    let _machine = machine();
    let scratch = scratch();
    let port = crate::support::free_port();
    let server = |wanted: &str| {
        let mut command = Command::new("python3");
        command.arg(scratch.path().join("guarded.py")).arg(port.to_string()).env("WANTED", wanted);
        command.stdout(std::process::Stdio::null());
        Guarded(command.spawn().unwrap())
    };
    let place = format!("127.0.0.1:{port}");
    let load = |url: &str, more: &[&str]| {
        let begun = now();
        until("the server", || std::net::TcpStream::connect(&place).is_ok());
        let mut command = benchwright(&scratch);
        command.args(["load", url, "--rate", "50/s", "--duration", "500ms", "--connections", "2"]);
        command.args(["--json=load.json", "--report", "load.html", "--csv", "load.csv"]).args(more);
        let (ran, _) = shows_no_canary(&mut command);
        let text = std::fs::read_to_string(scratch.path().join("load.json"));
        let text = text.unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
        for file in ["load.json", "load.html", "load.csv"] {
            let text = std::fs::read_to_string(scratch.path().join(file)).unwrap();
            assert!(!text.contains(CANARY), "{file} after {:?}", now() - begun);
        }
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let statuses = document["statuses"].as_object().unwrap();
        assert_eq!(statuses.keys().collect::<Vec<_>>(), ["200"], "{more:?}: {document:#}");
        std::fs::remove_file(scratch.path().join("load.json")).unwrap();
    };
    let url = format!("http://{place}/");
    {
        let _server = server("Bearer canary-token");
        let bearer = "Authorization: Bearer canary-token";
        load(&url, &["--header", bearer]);
        scratch.file("fields", format!("{bearer}\n\nX-Other: canary-other\n"));
        load(&url, &["--header-file", "fields", "--progress", "lines"]);
        scratch.file("values", r#"{"env.T": "canary-token"}"#);
        load(&url, &["--header", "Authorization: Bearer ${env.T}", "--secrets", "values"]);
        let mix = r#"{"target": "/${env.T}", "headers": {"Authorization": "Bearer ${env.T}"}}"#;
        scratch.file("mix.jsonl", mix);
        load(&url, &["--mix", "mix.jsonl", "--secrets", "values"]);
    }
    {
        // The user information of the URL, as `user:canary-password`.
        let _server = server("Basic dXNlcjpjYW5hcnktcGFzc3dvcmQ=");
        load(&format!("http://user:canary-password@{place}/"), &[]);
        load(&format!("http://user:${{env.BW_PASSWORD}}@{place}/"), &[]);
    }
    let mut absent = scratch.benchwright();
    absent.args(["load", &url, "--rate", "1/s", "--header", "A: ${env.BW_TOKEN}"]);
    let ran = run_while(&mut absent, |_| {});
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("the variable BW_TOKEN is not set"), "{}", ran.stderr);
}

/// A server that ends with the test.
struct Guarded(std::process::Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
