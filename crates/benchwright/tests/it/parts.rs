//! One load by several generators, which begin together.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;

use crate::support::{Scratch, Server, machine, run, run_while};

const PARTS: usize = 3;

/// The arguments of the whole load; `name` is that of its files.
fn arguments(command: &mut Command, url: &str, name: &str) {
    command.args(["load", url, "--rate", "3k/s", "--seed", "5", "--duration", "2s"]);
    command.args(["--connections", "14", "--shards", "1", "--mix", "mix.jsonl"]);
    command.args(["--samples", &format!("{name}.csv"), &format!("--json={name}.json")]);
}

/// A generator that waits for its start.
struct Generator {
    child: Child,
    stdin: ChildStdin,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Generator {
    fn new(scratch: &Scratch, url: &str, part: &str, name: &str) -> Generator {
        let mut command = scratch.benchwright();
        arguments(&mut command, url, name);
        command.args(["--part", part, "--start", "stdin", "--progress", "lines"]);
        let command = command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stderr) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
        Generator { child, stdin, lines: BufReader::new(stderr).lines() }
    }

    /// Returns its next line, which is of this phase.
    fn says(&mut self, phase: &str) -> Value {
        let line: Value = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["phase"], phase, "{line}");
        line
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Reads what it still prints, and waits for its end.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        drop(self.stdin);
        let lines = self.lines.map(Result::unwrap).collect();
        (self.child.wait().unwrap().code(), lines)
    }
}

fn document(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the intended times of a load after the beginning of its measurement, in nanoseconds.
fn intended(scratch: &Scratch, name: &str) -> Vec<u64> {
    let start = document(&scratch.path().join(format!("{name}.json")));
    let start = start["clock"]["measurement_start_ns"].as_u64().unwrap();
    let samples = std::fs::read_to_string(scratch.path().join(format!("{name}.csv"))).unwrap();
    let time = |row: &str| row.split(',').next().unwrap().parse::<u64>().unwrap() - start;
    samples.lines().skip(1).map(time).collect()
}

/// Returns the targets that the server saw, in order.
fn seen(log: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(log).unwrap();
    let number = |line: &str| line.split('\t').nth(1).unwrap()[1..].parse().unwrap();
    let mut numbers: Vec<u64> = text.lines().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn parts_that_start_together_are_the_undivided_load() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("mix.jsonl", r#"{"target": "/{{seq}}"}"#);
    let logs = ["whole", "parts"].map(|name| scratch.path().join(format!("{name}.log")));
    let servers = logs.each_ref().map(|log| Server::reference(&["--log", log.to_str().unwrap()]));
    let mut command = scratch.benchwright();
    arguments(&mut command, &servers[0].url, "whole");
    let whole = run_while(&mut command, |_| {});
    assert!([0, 3].contains(&whole.code), "{whole:#?}");

    let names: Vec<String> = (1..=PARTS).map(|part| format!("part-{part}")).collect();
    let mut generators: Vec<Generator> = names
        .iter()
        .zip(1..)
        .map(|(name, part)| {
            Generator::new(&scratch, &servers[1].url, &format!("{part}/{PARTS}"), name)
        })
        .collect();
    for generator in &mut generators {
        generator.says("ready");
        let before = net::clock::now().0;
        generator.tell("clock");
        let clock = generator.says("clock")["now_ns"].as_u64().unwrap();
        assert!((before..=net::clock::now().0).contains(&clock), "it is this machine's clock");
        generator.tell("go");
        assert_eq!(
            generator.says("not understood")["why"],
            "`go` is neither `clock` nor for example `start in 2s`"
        );
    }
    let told = net::clock::now().0;
    generators.iter_mut().for_each(|generator| generator.tell("start in 500ms"));
    let starts: Vec<u64> = generators
        .iter_mut()
        .map(|generator| generator.says("start")["start_ns"].as_u64().unwrap())
        .collect();
    let heard = net::clock::now().0;
    let begins = told + 500_000_000..=heard + 500_000_000;
    assert!(starts.iter().all(|start| begins.contains(start)), "{starts:?} in {begins:?}");
    for (generator, (name, start)) in generators.into_iter().zip(names.iter().zip(starts)) {
        let (code, lines) = generator.end();
        assert!(matches!(code, Some(0 | 3)), "{code:?} {lines:#?}");
        let document = document(&scratch.path().join(format!("{name}.json")));
        assert_eq!(document["clock"]["start_ns"], start);
    }
    servers.into_iter().for_each(|server| drop(server.end()));

    // The same requests at the same times, to the nanosecond.
    let mut times: Vec<u64> = names.iter().flat_map(|name| intended(&scratch, name)).collect();
    times.sort_unstable();
    let mut of_whole = intended(&scratch, "whole");
    of_whole.sort_unstable();
    assert_eq!(times, of_whole);
    let [numbers, of_parts] = logs.map(|log| seen(&log));
    assert_eq!(numbers, of_parts);
    assert_eq!(numbers, (0..times.len() as u64).collect::<Vec<_>>());

    let file = |name: &str| scratch.path().join(format!("{name}.json")).display().to_string();
    let files: Vec<String> = names.iter().map(|name| file(name)).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let merged = run(&[&["merge", "--json"], &files[..]].concat()).json();
    let whole = document(&scratch.path().join("whole.json"));
    assert_eq!(merged["counts"]["intended"], whole["counts"]["intended"]);
    assert_eq!(merged["rates_per_s"]["asked"], whole["rates_per_s"]["asked"]);
    assert_eq!(
        merged["connections"],
        serde_json::json!({
            "asked": 14, "reached": 14, "opening_s": merged["connections"]["opening_s"],
        })
    );
    assert_eq!(merged["response_time"]["count"].as_u64(), Some(times.len() as u64));
    let lacking = run(&["merge", files[0], files[2]]);
    assert_eq!(lacking.code, 2, "{lacking:#?}");
    assert!(lacking.stderr.contains("part 2/3 of the load is missing"), "{}", lacking.stderr);
}

#[test]
fn a_part_without_a_start_ends_and_says_why() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let scratch = Scratch::new();
    scratch.file("mix.jsonl", r#"{"target": "/"}"#);
    let mut generator = Generator::new(&scratch, &server.url, "1/2", "part");
    generator.says("ready");
    let (code, lines) = generator.end();
    assert_eq!(code, Some(3));
    let why = "error: standard input ended before a line said `start in TIME`";
    assert_eq!(lines, [why]);

    let url = server.url.as_str();
    let ran = run(&["load", url, "--closed", "--connections", "2", "--part", "3/3"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("part 3/3 has no connection"), "{}", ran.stderr);
}
