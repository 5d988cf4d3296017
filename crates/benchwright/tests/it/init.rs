//! A first experiment of a service, which `plan` accepts.

use std::fs;
use std::net::TcpListener;

use crate::support::{Scratch, Server, run_while, signal, until_it_listens_to_ctrl_c};

const CANARY: &str = "canary-token";

#[test]
fn a_url_becomes_an_experiment_by_a_few_requests() {
    let scratch = Scratch::new();
    let out = tempfile::tempdir().unwrap();
    let log = out.path().join("log");
    let server = Server::reference(&["--log", &log.display().to_string(), "--log-bytes"]);
    let init = || {
        let mut init = scratch.benchwright();
        init.args(["init", &format!("{}/x?y=1", server.url), "-H", &format!("X-Token: {CANARY}")]);
        init
    };
    let ran = run_while(&mut init(), |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(ran.stdout, "benchwright plan experiment.yaml\nbenchwright run experiment.yaml\n");
    assert!(ran.stderr.contains("seen     10 requests one after the other in "), "{}", ran.stderr);
    assert!(ran.stderr.contains("with keep-alive"), "{}", ran.stderr);
    let yaml = fs::read_to_string(scratch.path().join("experiment.yaml")).unwrap();
    assert!(
        yaml.contains("path: \"/x?y=1\"") && yaml.contains("# guess: one connection completes "),
        "{yaml}"
    );
    assert!(yaml.contains("range: ["), "{yaml}");
    assert!(!yaml.contains(CANARY) && !ran.stderr.contains(CANARY) && !ran.stdout.contains(CANARY));
    let planned = run_while(scratch.benchwright().args(["plan", "experiment.yaml"]), |_| {});
    assert_eq!(planned.code, 0, "{planned:#?}");
    let again = run_while(&mut init(), |_| {});
    assert_eq!(again.code, 2, "{again:#?}");
    assert!(again.stderr.contains("replace it with --force"), "{}", again.stderr);
    server.end();
    let sent = fs::read_to_string(&log).unwrap();
    assert_eq!(sent.matches("GET /x?y=1 ").count(), 10, "the second one sent nothing: {sent}");
    assert!(sent.contains(CANARY), "the service gets it");
}

/// A service that answers nothing accepts what the kernel accepts for it.
#[test]
fn what_is_interrupted_writes_no_experiment() {
    let scratch = Scratch::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let ran = run_while(scratch.benchwright().args(["init", &url]), |pid| {
        until_it_listens_to_ctrl_c(pid);
        signal(pid, "TERM");
    });
    assert_eq!(ran.code, 130, "{ran:#?}");
    assert!(ran.stderr.contains("interrupted"), "{ran:#?}");
    assert!(!scratch.path().join("experiment.yaml").exists(), "{ran:#?}");
}

#[test]
fn a_program_is_started_asked_and_ended() {
    let scratch = Scratch::new();
    let document = "openapi: 3.0.0\npaths: {\"/items/{id}\": {get: {}, delete: {}}}\n";
    scratch.file("service.yaml", document);
    for source in [&[][..], &["service.yaml", "--out", "mine.yaml"]] {
        let mut init = scratch.benchwright();
        init.arg("init").args(source);
        init.args(["--", "benchwright", "reference", "--listen", "127.0.0.1:{port}"]);
        let ran = run_while(&mut init, |_| {});
        assert_eq!(ran.code, 0, "{ran:#?}");
        assert!(ran.stderr.contains("seen     10 requests"), "{}", ran.stderr);
        let out = source.last().unwrap_or(&"experiment.yaml");
        let yaml = fs::read_to_string(scratch.path().join(out)).unwrap();
        assert!(yaml.contains("\"127.0.0.1:${port}\"]"), "{yaml}");
        let planned = run_while(scratch.benchwright().args(["plan", *out]), |_| {});
        assert_eq!(planned.code, 0, "{planned:#?}");
    }
    let mix = fs::read_to_string(scratch.path().join("mine.jsonl")).unwrap();
    assert!(mix.contains("# not sent: it may change data\n"), "{mix}");
    let mut fails = scratch.benchwright();
    fails.args(["init", "--force", "--", "sh", "-c", "echo no {port}; exit 3"]);
    let ran = run_while(&mut fails, |_| {});
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert_eq!(scratch.remains(), [""; 0]);
}
