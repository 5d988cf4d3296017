//! The schema of experiment files, as an editor with the YAML language server applies it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Scratch, experiments, run_while, skip, tool};

/// Returns the language server, beside cargo's scratch folder in the target folder; if it is
/// missing, reports the test as skipped.
fn server(test: &str) -> Option<PathBuf> {
    if !tool(test, "node") {
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("node/node_modules");
    let server = folder.join("yaml-language-server/bin/yaml-language-server");
    if !server.is_file() {
        skip(test, "yaml-language-server in the target folder, where `cargo xtask ci` installs it");
        return None;
    }
    Some(server)
}

/// Opens documents in an editor, and returns what it shows of each.
fn opened(server: &Path, documents: &[Value]) -> Vec<Value> {
    let scratch = Scratch::new();
    scratch.file("documents.json", json!(documents).to_string());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/editor.mjs");
    let mut editor = Command::new("node");
    editor.arg(script).arg(server);
    editor.stdin(fs::File::open(scratch.path().join("documents.json")).unwrap());
    let shown = editor.stderr(Stdio::inherit()).output().unwrap();
    assert!(shown.status.success(), "{shown:?}");
    serde_json::from_slice(&shown.stdout).unwrap()
}

/// Returns a document beside the shipped specs.
fn document(name: &str, text: &str) -> Value {
    json!({"uri": format!("file://{}/{name}", experiments().display()), "text": text})
}

/// Returns a spec that begins as every shipped one, and the place of the mark `|` in it.
fn spec(name: &str, marked: &str) -> Value {
    let text = format!("# yaml-language-server: $schema=experiment.schema.json\n{marked}");
    let before = text.split('|').next().unwrap();
    let line = before.matches('\n').count();
    let character = before.len() - before.rfind('\n').unwrap() - 1;
    let mut document = document(name, &text.replace('|', ""));
    document["at"] = json!({"line": line, "character": character});
    document
}

#[test]
fn an_editor_finds_nothing_wrong_in_a_shipped_spec() {
    let Some(server) = server("an_editor_finds_nothing_wrong_in_a_shipped_spec") else { return };
    let files = fs::read_dir(experiments()).unwrap().map(|file| file.unwrap().path());
    let specs: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let documents: Vec<Value> = specs
        .iter()
        .map(|path| document(&name(path), &fs::read_to_string(path).unwrap()))
        .collect();
    for (path, shown) in specs.iter().zip(opened(&server, &documents)) {
        assert_eq!(shown["diagnostics"], json!([]), "{}", path.display());
    }
}

#[test]
fn an_editor_marks_errors_completes_fields_and_explains_them() {
    const TEST: &str = "an_editor_marks_errors_completes_fields_and_explains_them";
    let Some(server) = server(TEST) else { return };
    let shown = opened(
        &server,
        &[
            spec("field.yaml", "name: x\nload: {model: open}\nphases: {}\nbudgets: {}|\n"),
            spec("choice.yaml", "name: x\nload:\n  model: open\n  arrivals: poison|\n"),
            spec("profile.yaml", "name: x\nload: {model: open}\nprofiles:\n  ci:\n    lod: {}|\n"),
            spec("time.yaml", "name: x\nload: {model: open, timeout: 5 secs}|\n"),
            spec("fields.yaml", "name: x\nload:\n  model: open\n  |\n"),
            spec("choices.yaml", "name: x\nload:\n  model: open\n  arrivals: |\n"),
            spec("mix.yaml", "name: x\nload: {model: open}\nworkload:\n  mix: a.jsonl\n  |\n"),
            spec("get.yaml", "name: x\nload: {model: open}\nworkload:\n  get: /\n  |\n"),
            spec("hover.yaml", "name: x\nload:\n  mod|el: open\n"),
            spec("closed.yaml", "name: x\nload:\n  model: closed\n  |\n"),
        ],
    );
    let lines = |shown: &Value| -> Vec<u64> {
        let found = shown["diagnostics"].as_array().unwrap();
        found.iter().map(|found| found["line"].as_u64().unwrap()).collect()
    };
    assert_eq!(lines(&shown[0]), [4], "{}", shown[0]);
    assert_eq!(lines(&shown[1]), [4], "{}", shown[1]);
    assert_eq!(lines(&shown[2]), [5], "{}", shown[2]);
    assert_eq!(lines(&shown[3]), [2], "{}", shown[3]);
    let message = &shown[3]["diagnostics"][0]["message"];
    assert_eq!(message, "write for example 10ms or 1.5s or 2m");
    let offered = |shown: &Value| -> Vec<String> {
        let offered = shown["completions"].as_array().unwrap();
        offered.iter().map(|label| label.as_str().unwrap().to_owned()).collect()
    };
    let fields = offered(&shown[4]);
    for field in ["arrivals", "rate", "connections", "tls"] {
        assert!(fields.iter().any(|offered| offered == field), "{field}: {fields:?}");
    }
    assert!(!fields.iter().any(|offered| offered == "model"), "it is there already: {fields:?}");
    let choices = offered(&shown[5]);
    assert!(choices.iter().any(|offered| offered == "poisson"), "{choices:?}");
    assert_eq!(offered(&shown[6]), ["data", "headers"], "those of a mix alone");
    let mut of_a_get = offered(&shown[7]);
    of_a_get.sort();
    assert_eq!(of_a_get, ["body", "body_file", "check", "headers", "method", "path"]);
    let of_a_closed_loop = offered(&shown[9]);
    assert!(of_a_closed_loop.iter().any(|offered| offered == "think"), "{of_a_closed_loop:?}");
    assert!(!of_a_closed_loop.iter().any(|offered| offered == "rate"), "{of_a_closed_loop:?}");
    let hover = shown[8]["hover"].as_str().unwrap();
    assert!(hover.contains("decides when requests start"), "{hover}");
}

#[test]
fn the_command_prints_the_schema_that_is_shipped() {
    let scratch = Scratch::new();
    let ran = run_while(scratch.benchwright().arg("schema"), |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    let shipped = fs::read_to_string(experiments().join("experiment.schema.json")).unwrap();
    assert!(ran.stdout == shipped, "not the schema of this build");
}
