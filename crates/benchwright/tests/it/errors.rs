//! Wrong arguments and specs: each is refused with the place, the reason and the remedy and exits
//! with 2, and nothing is left behind.

use crate::support::{Scratch, machine, run, run_while};

#[test]
fn wrong_arguments_are_refused_with_the_remedy() {
    let _machine = machine();
    for (arguments, hint) in [
        (&["load", "http://127.0.0.1:1/"][..], "--closed"),
        (&["load", "http://127.0.0.1:1/", "--rate", "5000"], "write for example 5000/s"),
        (&["load", "http://127.0.0.1:1/", "--rate", "0/s"], "rate above zero"),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--duration", "10"],
            "10ms, 1.5s or 2m",
        ),
        (&["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--duration", "0s"], "longer than 0s"),
        (&["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--timer", "spinning"], "hybrid"),
        (&["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--header", "X"], "Name: value"),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--method", "GET\r\nX: y"],
            "`GET\\r\\nX: y` is not a valid method; write one word",
        ),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--method", "A B"],
            "`A B` is not a valid method; write one word",
        ),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--method", ""],
            "`` is not a valid method; write one word",
        ),
        (
            &[
                "load",
                "http://127.0.0.1:1/",
                "--closed",
                "--body",
                "four",
                "-H",
                "Content-Length: 3",
            ],
            "contradicts the body, which has 4 bytes; leave the field out",
        ),
        (
            &["load", "http://127.0.0.1:1/", "--closed", "-H", "Transfer-Encoding: chunked"],
            "`Transfer-Encoding` follows from the body, which is sent with its length; leave it out",
        ),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--connections", "4000000"],
            "open files",
        ),
        (&["load", "127.0.0.1:1", "--rate", "1k/s"], "http://"),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--script", "missing.lua"],
            "missing.lua",
        ),
        (&["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--sni", "a"], "--sni is for TLS"),
        (&["load", "https://127.0.0.1:1/", "--rate", "1k/s", "--ca", "no.pem"], "--ca no.pem"),
        (
            &["load", "https://127.0.0.1:1/", "--rate", "1k/s", "--sni", "a b"],
            "not a host name or an IP address",
        ),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--report", "missing/x.html"],
            "--report missing/x.html: there is no folder missing; make it first (mkdir -p missing)",
        ),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--json=missing/x.json"],
            "--json missing/x.json: there is no folder missing",
        ),
        (
            &["load", "http://127.0.0.1:1/", "--rate", "1k/s", "--samples", "/proc/x"],
            "--samples /proc/x: the folder /proc cannot be written to",
        ),
        (
            &["load", "--self-test", "--json=missing/x.json"],
            "--json missing/x.json: there is no folder missing",
        ),
        (
            &["merge", "missing.json", "--report", "missing/x.html"],
            "--report missing/x.html: there is",
        ),
        (&["receive", "--notes", "missing/x"], "--notes missing/x: there is no folder missing"),
        (&["reference", "--log", "missing/x"], "--log missing/x: there is no folder missing"),
        (&["run", "missing.yaml"], "missing.yaml"),
        (&["resume", "missing"], "not a results directory"),
        (&["report", "missing"], "not a results directory"),
        (&["merge"], "<FILE>"),
        (&["merge", "missing.json"], "missing.json: No such file"),
        (&["merge", "Cargo.toml"], "Cargo.toml is not a document of `benchwright load --json`"),
        (&["load", "http://127.0.0.1:1/", "--closed", "--pin", "cpu0"], "auto, off or 0,2-3"),
        (&["load", "http://127.0.0.1:1/", "--closed", "--pin", "8000"], "may not run on CPU 8000"),
        (&["reference", "--delay", "normal:1ms"], "exponential:1ms"),
        (&["fly"], "unrecognized subcommand"),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:#?}");
        assert!(ran.stderr.contains(hint), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

/// As `benchwright report *` in somebody else's folder.
#[test]
fn an_argument_that_is_quoted_tells_a_terminal_nothing() {
    let _machine = machine();
    for word in ["\u{1b}[2J", "a\u{202e}b", "\u{7}"] {
        let option = format!("--{word}");
        for arguments in [&["report", &option][..], &[word], &["load", "--rate", word]] {
            let ran = run(arguments);
            assert_eq!(ran.code, 2, "{ran:#?}");
            assert!(!ran.stderr.contains(word), "{ran:#?}");
            let is_obeyed = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
            assert!(!ran.stderr.contains(is_obeyed), "{ran:#?}");
        }
    }
}

#[test]
fn without_arguments_the_first_steps_are_shown() {
    let _machine = machine();
    let ran = run(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("benchwright run experiments/hello.yaml"), "{}", ran.stderr);
}

const SUT: &str = "name: t\nphases: {measure: {time: 1s}}\n\
    sut: {deploy: [process: {name: a, command: [benchwright, reference]}]}\n";

#[test]
fn wrong_specs_are_refused_with_file_line_and_remedy() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("bad.lua", "function request(\n");
    scratch.file("four.txt", "four");
    let asking =
        |what: &str, rest: &str| format!("{SUT}workload: {{{what}}}\n{rest}\n").into_bytes();
    let with = |rest: &str| asking("get: /", rest);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &(0..12)
            .map(|i| {
                let (from, to) = ((b'a' + i) as char, (b'b' + i) as char);
                format!("{to}: &{to} [{}]\n", vec![format!("*{from}"); 10].join(","))
            })
            .collect::<String>();
    for (name, bytes, hints) in [
        (
            "unknown field",
            with("lod: {model: open, rate: 1/s}"),
            &[":5:", "did you mean `load`"][..],
        ),
        (
            "duplicate key",
            with("load: {model: open, rate: 1/s}\nload: {model: open, rate: 1/s}"),
            &[":6:", "given twice"],
        ),
        ("wrong unit", with("load: {model: open, rate: 1000}"), &[":5:", "1000/s"]),
        (
            "unknown variable",
            asking("get: \"/${vars.nope}\"", "load: {model: open, rate: 1/s}"),
            &[":4:", "nope"],
        ),
        (
            "impossible CPUs",
            with("where: {roles: {sut: {cpus: 4095}}}\nload: {model: open, rate: 1/s}"),
            &[":5:", "4095"],
        ),
        (
            "no CPUs",
            with("where: {roles: {sut: {cpus: 3-1}}}\nload: {model: open, rate: 1/s}"),
            &[":5:"],
        ),
        (
            "missing script",
            asking("script: none.lua", "load: {model: open, rate: 1/s}"),
            &[":4:", "none.lua"],
        ),
        (
            "method of two words",
            asking("path: /, method: A B", "load: {model: open, rate: 1/s}"),
            &[":4:", "a method is one word"],
        ),
        (
            "another length than that of the body",
            asking(
                "path: /, body: four, headers: {Content-Length: '3'}",
                "load: {model: open, rate: 1/s}",
            ),
            &[":4:", "the body, which has 4 bytes; leave the field out"],
        ),
        (
            "another length than that of the file",
            asking(
                "path: /, body_file: four.txt, headers: {Content-Length: '3'}",
                "load: {model: open, rate: 1/s}",
            ),
            &["the body, which has 4 bytes; leave the field out"],
        ),
        (
            "coding",
            asking(
                "get: /, headers: {Transfer-Encoding: chunked}",
                "load: {model: open, rate: 1/s}",
            ),
            &[":4:", "is sent with its length; leave it out"],
        ),
        ("Lua syntax", asking("script: bad.lua", "load: {model: open, rate: 1/s}"), &["bad.lua:"]),
        ("neither open nor closed", with("load: {rate: 1/s}"), &[":5:", "model"]),
        ("R = 0", with("load: {model: open, rate: 0/s}"), &[":5:", "above zero"]),
        ("no repetition", with("load: {model: open, rate: 1/s}\nrepeat: {trials: 0}"), &[":6:"]),
        (
            "empty range",
            with("load: {model: open}\nsearch: {strategy: sweep, range: [20/s, 10/s], step: 1/s}"),
            &[":6:"],
        ),
        (
            "negative step",
            with("load: {model: open}\nsearch: {strategy: sweep, range: [10/s, 20/s], step: -5%}"),
            &[":6:"],
        ),
        ("empty", Vec::new(), &["empty"]),
        ("binary", vec![0, 159, 146, 150, 0, 1], &["spec.yaml"]),
        ("deeply nested", vec![b'['; 100_000], &["spec.yaml"]),
        ("alias bomb", bomb.into_bytes(), &["spec.yaml"]),
    ] {
        scratch.file("spec.yaml", &bytes);
        let ran = run_while(scratch.benchwright().args(["run", "spec.yaml"]), |_| {});
        assert_eq!(ran.code, 2, "{name}: {ran:#?}");
        for hint in hints {
            assert!(ran.stderr.contains(hint), "{name}, {hint}:\n{}", ran.stderr);
        }
        assert!(ran.took.as_secs() < 15, "{name}: {:?}", ran.took);
        assert_eq!(scratch.remains(), [""; 0], "{name}");
        assert!(!scratch.path().join("results").exists(), "{name}");
    }
}

#[test]
fn results_of_a_newer_tool_are_refused() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("manifest.json", r#"{"schema": "benchwright.results", "version": 99}"#);
    for command in ["resume", "report"] {
        let ran = run(&[command, scratch.path().to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.contains("update benchwright"), "{}", ran.stderr);
    }
}
