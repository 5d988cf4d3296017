use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use clap::Parser;
use lab::{experiment, spec};

use super::*;
use crate::cli::{Cli, Command};

fn arguments(words: &[&str]) -> Init {
    let first = ["benchwright", "init"];
    let cli = Cli::try_parse_from(first.iter().chain(words)).unwrap_or_else(|e| panic!("{e}"));
    match cli.command {
        Command::Init(init) => *init,
        other => panic!("{other:?}"),
    }
}

/// Writes the experiment of a file with this content; returns the experiment, and the mix.
fn of_file(name: &str, content: &str, words: &[&str]) -> Result<(String, String), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, content).unwrap();
    let out = folder.path().join("mine.yaml");
    let (file, out_name) = (file.display().to_string(), out.display().to_string());
    let arguments = arguments(&[&[&*file, "--out", &*out_name][..], words].concat());
    written(&arguments, &out)
}

fn written(arguments: &Init, out: &Path) -> Result<(String, String), String> {
    let in_words = |failure: Failure| format!("{:#}", failure.error);
    let mix = out.with_extension("jsonl");
    let made = draft(arguments, &mix).map_err(in_words)?;
    write(arguments, &mix, &made).map_err(in_words)?;
    let planned = spec::load(out, None, &[]).unwrap_or_else(|error| panic!("{error}"));
    experiment::plan(&planned).unwrap();
    Ok((fs::read_to_string(out).unwrap(), fs::read_to_string(mix).unwrap_or_default()))
}

/// The fields that a user states, or that state the question itself.
const STATED: [&str; 17] = [
    "name",
    "about",
    "sut",
    "deploy",
    "- process",
    "command",
    "port",
    "workload",
    "path",
    "mix",
    "load",
    "model",
    "headers",
    "tls",
    "slo",
    "- {metric",
    "\"X-A\"",
];

/// Returns the fields of an experiment that are neither stated nor marked as a guess.
fn unmarked(yaml: &str, stated: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_guess = false;
    for line in yaml.lines().map(str::trim) {
        if line.starts_with('#') || line.is_empty() {
            is_guess = line.starts_with("# guess:") || is_guess && !line.is_empty();
            continue;
        }
        let field = line.split(':').next().unwrap_or_default();
        if !is_guess && !stated.contains(&field) {
            found.push(field.to_owned());
        }
        is_guess = false;
    }
    found
}

const OPENAPI: &str = "openapi: 3.0.0\ninfo: {title: Shop}\nservers: [{url: 'http://127.0.0.1:7/v1'}, {url: 'http://b/'}]\n\
    paths: {\"/items/{id}\": {get: {}, delete: {}}}\n";
const HAR: &str = r#"{"log":{"entries":[{"request":{"method":"GET","url":"http://127.0.0.1:7/a"},"response":{"status":200}}]}}"#;
const LOG: &str = "::1 - - [24/Nov/2026:10:00:05 +0000] \"GET /a HTTP/1.1\" 200 5\n";

#[test]
fn what_describes_a_service_becomes_an_experiment_that_can_be_planned() {
    let sources: [(&str, &str, &[&str]); 3] = [
        ("openapi.yaml", OPENAPI, &[]),
        ("a.har", HAR, &[]),
        ("access.log", LOG, &["--base", "http://127.0.0.1:7/"]),
    ];
    for (name, content, words) in sources {
        let (yaml, mix) = of_file(name, content, words).unwrap();
        assert!(
            yaml.starts_with(&format!("# Written by `benchwright init` from {name}, ")),
            "{yaml}"
        );
        assert!(yaml.contains("mix: \"mine.jsonl\""), "{yaml}");
        assert!(yaml.contains("sut: {endpoint: \"http://127.0.0.1:7\"}"), "{yaml}");
        assert!(mix.contains("\n{\"weight\":1,\"label\":\"GET /"), "{mix}");
        assert_eq!(unmarked(&yaml, &[&STATED[..], &["where"]].concat()), ["slo"; 0], "{yaml}");
        // A guess that is not marked would be found.
        let without = yaml.replace("# guess:", "#");
        let mut all = unmarked(&without, &[&STATED[..], &["where"]].concat());
        all.sort();
        assert_eq!(all, ["arrivals", "connections", "phases", "search", "timeout"]);
        assert!(yaml.contains("# guess: what users hardly notice"), "{yaml}");
    }
}

#[test]
fn what_the_user_states_is_no_guess() {
    let words = ["--slo", "p99<=30ms", "--range", "50/s..500/s", "-H", "X-A: b"];
    let (yaml, _) = of_file("a.har", HAR, &words).unwrap();
    assert!(yaml.contains("range: [50/s, 500/s]") && yaml.contains("max: \"30ms\""), "{yaml}");
    assert!(yaml.contains("\"X-A\": \"b\"") && !yaml.contains("hardly notice"), "{yaml}");
    assert!(!yaml.contains("# guess: the first of"), "{yaml}");
    let (yaml, _) = of_file("openapi.yaml", OPENAPI, &[]).unwrap();
    assert!(yaml.contains("# guess: the first of the document's 2 servers\nsut:"), "{yaml}");
}

#[test]
fn the_secrets_of_a_source_are_variables_of_both_files() {
    let har = HAR.replace(
        "\"url\":\"http://127.0.0.1:7/a\"",
        r#""url":"http://127.0.0.1:7/a","headers":[{"name":"Authorization","value":"Bearer canary"}]"#,
    );
    let (yaml, mix) = of_file("a.har", &har, &["-H", "Cookie: sid=canary2"]).unwrap();
    assert!(!yaml.contains("canary") && !mix.contains("canary"), "{yaml}\n{mix}");
    assert!(mix.contains("Bearer ${env.HEADER_AUTHORIZATION}"), "{mix}");
    assert!(
        yaml.contains(
            "#   export HEADER_AUTHORIZATION=…    what follows `Bearer ` in the header field Authorization\n"
        ),
        "{yaml}"
    );
    assert!(yaml.contains("#   export HEADER_COOKIE=…"), "{yaml}");
}

#[test]
fn an_experiment_of_a_secured_service_can_be_planned_with_what_its_certificate_needs() {
    let words = ["--base", "https://127.0.0.1:7/v1", "--insecure"];
    let (yaml, _) = of_file("openapi.yaml", OPENAPI, &words).unwrap();
    assert!(yaml.contains("sut: {endpoint: \"https://127.0.0.1:7\"}"), "{yaml}");
    assert!(yaml.contains("  tls: {insecure: true}"), "{yaml}");
}

/// The user of the recording thinks for 3.9 s between the two requests.
#[test]
fn the_phases_of_a_journey_have_room_for_its_session() {
    let entry = |second: &str| {
        format!(
            r#"{{"startedDateTime":"2026-11-24T10:00:0{second}Z","time":50,"request":{{"method":"GET","url":"http://127.0.0.1:7/a"}},"response":{{"status":200}}}}"#
        )
    };
    let har = format!(r#"{{"log":{{"entries":[{},{}]}}}}"#, entry("0.000"), entry("4.000"));
    let (yaml, mix) = of_file("a.har", &har, &["--journey"]).unwrap();
    assert!(mix.contains("think 3900ms"), "{mix}");
    assert!(yaml.contains("phases: {warm_up: {fixed: 4s}, measure: {time: 12s}, "), "{yaml}");
    assert!(yaml.contains("# guess: the warm-up is as long as the longest session"), "{yaml}");
    let (yaml, _) = of_file("a.har", &har, &[]).unwrap();
    assert!(yaml.contains("phases: {warm_up: {fixed: 1s}, measure: {time: 5s}, "), "{yaml}");
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let (har, out) = (folder.path().join("a.har"), folder.path().join("mine.yaml"));
    fs::write(&har, HAR).unwrap();
    fs::write(folder.path().join("mine.jsonl"), "of the user").unwrap();
    let names = [har.display().to_string(), out.display().to_string()];
    let words = [&*names[0], "--out", &*names[1]];
    let mix = out.with_extension("jsonl");
    let refused = check_places(&arguments(&words), &mix).unwrap_err();
    assert_eq!(refused.exit, Exit::Question);
    assert!(
        format!("{:#}", refused.error).contains("mine.jsonl: there is such a file"),
        "{refused:?}"
    );
    let forced = arguments(&[&words[..], &["--force"]].concat());
    check_places(&forced, &mix).unwrap();
    written(&forced, &out).unwrap();
    assert_ne!(fs::read_to_string(mix).unwrap(), "of the user");
    let named = arguments(&[&*names[0], "--out", "a.jsonl"]);
    assert!(check_places(&named, Path::new("a.jsonl")).is_err());
}

#[test]
fn what_is_wrong_with_a_source_is_said_with_its_name() {
    let why = of_file("a.txt", "hello", &[]).unwrap_err();
    assert!(why.contains("a.txt: its beginning is that of no OpenAPI document"), "{why}");
    let why = of_file("access.log", LOG, &[]).unwrap_err();
    assert!(why.ends_with("add --base http://HOST:PORT"), "{why}");
    let out = Path::new("/nowhere/x.yaml");
    let why = written(&arguments(&["/nowhere/a.har"]), out).unwrap_err();
    assert!(why.contains("/nowhere/a.har: ") && why.contains("name a file, or a URL"), "{why}");
    let why = written(&arguments(&["/"]), out).unwrap_err();
    assert!(why.contains("it is a folder"), "{why}");
    let why = written(&arguments(&["--", "./service"]), out).unwrap_err();
    assert!(why.contains("write {port} there"), "{why}");
    let why = written(&arguments(&["--path", "x", "--", "s", "{port}"]), out).unwrap_err();
    assert!(why.contains("write --path /x"), "{why}");
}

/// Answers each request with this response; returns the URL.
fn serve(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1 << 10];
            while stream.read(&mut request).is_ok_and(|count| 0 < count) {
                if stream.write_all(response.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    url
}

#[test]
fn a_service_without_a_success_gets_no_experiment_and_the_reason_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("mine.yaml");
    let name = out.display().to_string();
    for (response, why) in [
        (
            "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
            "401 for 10 of 10 requests to /a; give it",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "malformed response ("),
    ] {
        let arguments = arguments(&[&*serve(response), "--out", &*name]);
        let Err(failure) = draft(&arguments, &mix_beside(&out)) else { panic!("{response}") };
        assert_eq!(failure.exit, Exit::NoAnswer);
        let told = format!("{:#}", failure.error);
        assert!(told.starts_with("no request succeeded, so nothing is written: "), "{told}");
        assert!(told.contains(why), "{told}");
        assert!(!out.exists());
    }
}

#[test]
fn a_header_field_with_the_name_of_a_session_is_a_secret() {
    let (yaml, _) = of_file("a.har", HAR, &["-H", "X-Session: canary-1"]).unwrap();
    assert!(yaml.contains("\"X-Session\": \"${env.HEADER_X_SESSION}\""), "{yaml}");
    assert!(!yaml.contains("canary"), "{yaml}");
}
