//! The schema compared with the reader: `assert_accepts` is called for each spec that the reader
//! accepts in any test of this crate.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use expect_test::{Expect, expect, expect_file};
use jsonschema::Validator;

use super::super::tests::spec;
use super::super::{Resolved, from_bytes, read, workload};
use super::*;

mod reference;

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&schema()).expect("it is a valid schema"));

/// Returns what the schema refuses in a text, each with its path.
fn refusals(text: &str) -> Vec<String> {
    let document: Value = serde_saphyr::from_str_with_options(text, read::options()).unwrap();
    let refused = |error: jsonschema::ValidationError<'_>| {
        format!("{}: {error}", error.instance_path().as_str())
    };
    VALIDATOR.iter_errors(&document).map(refused).collect()
}

/// Asserts that the schema accepts a spec as it is written, and as the results state it.
pub(in crate::spec) fn assert_accepts(resolved: &Resolved) {
    for text in [&resolved.source.text, &resolved.to_yaml()] {
        let refused = refusals(text);
        assert!(
            refused.is_empty(),
            "the reader accepts this, not the schema: {refused:#?}\n{text}"
        );
    }
}

#[test]
fn the_schema_is_the_file_beside_the_shipped_specs() {
    let text = serde_json::to_string_pretty(&schema()).unwrap();
    expect_file!["../../../../../experiments/experiment.schema.json"]
        .assert_eq(&format!("{text}\n"));
}

#[test]
fn the_schema_accepts_every_shipped_spec_with_each_profile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let specs: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    assert!(!specs.is_empty());
    for path in specs {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(refusals(&text), [""; 0], "{}", path.display());
        let begins = "# yaml-language-server: $schema=experiment.schema.json\n";
        assert!(text.starts_with(begins), "{} has no schema for editors", path.display());
        let document: Value = serde_saphyr::from_str(&text).unwrap();
        let profiles = document["profiles"].as_object().into_iter().flat_map(Map::keys);
        for profile in profiles {
            // This asserts that the schema accepts the patched spec, too.
            super::super::load(&path, Some(profile), &[]).unwrap();
        }
    }
}

#[track_caller]
fn check(further: &str, expected: Expect) {
    let text = spec(further);
    let profile = further.contains("ci:").then_some("ci");
    let read = from_bytes("my.yaml", text.as_bytes(), Path::new("."), profile, &[]);
    assert!(read.is_err(), "the reader accepts it: {further}");
    expected.assert_eq(&(refusals(&text).join("\n") + "\n"));
}

#[test]
fn the_schema_refuses_an_unknown_field_a_wrong_type_and_a_misspelled_choice() {
    check(
        "budgets: {trials: 3}\n",
        expect![[r#"
        : Additional properties are not allowed ('budgets' was unexpected)
    "#]],
    );
    check(
        "reset: {betwen: trials}\n",
        expect![[r#"
        /reset: Additional properties are not allowed ('betwen' was unexpected)
    "#]],
    );
    check(
        "reset: {between: trial}\n",
        expect![[r#"
        /reset/between: "trial" is not valid under any of the schemas listed in the 'oneOf' keyword
    "#]],
    );
    check(
        "repeat: 3\n",
        expect![[r#"
        /repeat: 3 is not of types "null", "object"
    "#]],
    );
    check(
        "repeat: {trials: many}\n",
        expect![[r#"
        /repeat/trials: "many" does not match "^\s*[-+]?[0-9.][-+0-9A-Fa-f_.xo]*\s*$"
    "#]],
    );
    check(
        "repeat: {trials: 0}\n",
        expect![[r#"
        /repeat/trials: 0 is less than the minimum of 1
    "#]],
    );
    check(
        "budget: {time: 5}\n",
        expect![[r#"
        /budget/time: 5 is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]],
    );
    check(
        "sut: {deploy: [proces: {name: x, command: [y]}]}\n",
        expect![[r#"
        /sut/deploy/0: {"proces":{"name":"x","command":["y"]}} is not valid under any of the schemas listed in the 'oneOf' keyword
    "#]],
    );
    check(
        "sut: {smoke: [{get: /, statuses: 200}]}\n",
        expect![[r#"
        /sut/smoke/0: Additional properties are not allowed ('statuses' was unexpected)
    "#]],
    );
    check(
        "slo: [{metric: p99}]\n",
        expect![[r#"
        /slo/0: "max" is a required property
    "#]],
    );
}

#[test]
fn the_schema_refuses_the_same_in_profiles_levels_and_searches() {
    check(
        "profiles: {ci: {phases: {measur: {time: 1s}}}}\n",
        expect![[r#"
        /profiles/ci/phases: {"measur":{"time":"1s"}} is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]],
    );
    check(
        "profiles: {ci: {load: {arrivals: poison}}}\n",
        expect![[r#"
        /profiles/ci/load: {"arrivals":"poison"} is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]],
    );
    check(
        "factors: {v: {levels: [{name: a, set: {load: {rat: 1/s}}}]}}\n",
        expect![[r#"
        /factors/v/levels/0: {"name":"a","set":{"load":{"rat":"1/s"}}} is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]],
    );
    check(
        "factors: {v: {levels: [{name: a, set: {budget: {trials: 2}}}]}}\n",
        expect![[r#"
        /factors/v/levels/0: {"name":"a","set":{"budget":{"trials":2}}} is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]],
    );
    check(
        "searches: {a: {strategy: swep}}\n",
        expect![[r#"
        /searches/a/strategy: "swep" is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]],
    );
    check(
        "searches: {a: {steps: 5%}}\n",
        expect![[r#"
        /searches/a: Additional properties are not allowed ('steps' was unexpected)
    "#]],
    );
}

/// Forms that YAML allows and nobody expects.
#[test]
fn the_schema_accepts_what_the_reader_takes_for_the_same() {
    for further in [
        "repeat: {trials: \"2\"}\n",
        "repeat:\n",
        "about: 2026\n",
        "slo:\n",
        "seed: 0x10\n",
        "vars: {a: 1, b: true, c: 1.5}\n",
        "sut: {ready: {http: /}}\n",
        "sut: {deploy: [process: {name: a, command: [b, \"${port}\"], port: auto, ready: {tcp: }}]}\n",
        "doctor: {level: strict, allow: [1]}\n",
        "search:\n",
        "budget: {trials: 1_000}\n",
        "reproducibility: {target: {metric: p99.9, rsd: 0.01}}\n",
    ] {
        let text = spec(further);
        // The reader accepts it, and `assert_accepts` was called.
        from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    }
}

/// A spec with most fields of a load.
const FULL: &str = "\
name: full
where: {backend: external, roles: {load: {cpus: 0-1}}}
sut: {endpoint: 'https://a.example/', ready: {within: 5s}}
workload: {path: /, method: PUT, headers: {A: [b, c]}, body: x, check: status=2xx}
load:
  {model: open, rate: 5/s, arrivals: 'normal:0.5', connections: {per_rate: 0.1}, timeout: 1s,
   connect_timeout: 2s, backlog: 10k, max_body: 1MiB, keep_alive: 9, pipeline: 8, open_rate: 1k/s,
   address: first, source: [127.0.0.1], shards: 2, pin: off, io: epoll, timer: spin,
   kernel_timestamps: true, congestion_control: reno,
   tls: {sni: b.example, insecure: true, version: 1.3, resume: false}}
phases: {settle: 1s, warm_up: {fixed: 1s, until_steady: {min: 10s, max: 60s}},
  measure: {time: 5s, min_tail_samples: 10}, cool_down: {trials: 1s, until_idle: {below: 0.2, max: 1s}}}
slo: [{metric: p99, max: 1s}, {metric: failures, max: 0.1%}]
repeat: {trials: 2, order: {blocks: 4}, until: {metric: p99, ci_rel: 5%, max: 9}}
budget: {trials: 9, invalid_attempts: 1, time: 5m}
doctor: {level: strict, allow: [x]}
";

/// Each value of some specs is replaced by nothing, by a text and by a number: what the reader then
/// accepts, it compares with the schema by `assert_accepts`.
#[test]
fn the_schema_accepts_each_change_that_the_reader_accepts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let shipped = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let mut accepted = 0;
    for text in [FULL.to_owned(), shipped("levels.yaml"), shipped("users.yaml")] {
        let mut document: Value =
            serde_saphyr::from_str_with_options(&text, read::options()).unwrap();
        document.as_object_mut().unwrap().shift_remove("profiles");
        let read = |document: &Value| {
            from_bytes("my.yaml", document.to_string().as_bytes(), &folder, None, &[]).is_ok()
        };
        assert!(read(&document));
        for path in paths(&document, "") {
            let before = document.pointer(&path).unwrap().clone();
            let text = before.as_str().map_or(before.to_string(), str::to_owned);
            for changed in [Value::Null, json!(text), json!(2)] {
                if changed.is_null() && path.starts_with("/workload/") {
                    continue; // Without its key, a workload is of another kind.
                }
                *document.pointer_mut(&path).unwrap() = changed;
                accepted += usize::from(read(&document));
            }
            *document.pointer_mut(&path).unwrap() = before;
        }
    }
    assert!(100 < accepted, "{accepted}");
}

/// Returns the paths of all values in a document.
fn paths(value: &Value, path: &str) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, of)| (name.clone(), of)).collect(),
        Value::Array(items) => (0..).map(|n: usize| n.to_string()).zip(items).collect(),
        _ => Vec::new(),
    };
    let below = inner.into_iter().flat_map(|(name, of)| {
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        let below = paths(of, &path);
        std::iter::once(path).chain(below)
    });
    below.collect()
}

#[test]
fn a_patch_needs_no_field_and_may_remove_each() {
    let text = spec(
        "profiles:\n  a: {load: {rate: null}, search: {start: 5/s}, simulated: {servers: 2}, slo: null, \
         vars: {x: null}, factors: {n: null}, phases: null}\n",
    );
    assert_eq!(refusals(&text), [""; 0]);
}

/// A workload of each kind, and with each field that only others have.
#[test]
fn a_workload_has_the_fields_of_its_kind_alone() {
    let value = |field: &str| match field {
        "events" => json!({}),
        "headers" | "properties" => json!({"a": "b"}),
        "exec" | "args" => json!(["a"]),
        "parse" => json!("wrk"),
        _ => json!("/"),
    };
    let mut document: Value = serde_saphyr::from_str(&spec("")).unwrap();
    let mut is_accepted = |fields: &[&str]| {
        document["workload"] =
            fields.iter().map(|field| ((*field).to_owned(), value(field))).collect();
        VALIDATOR.is_valid(&document)
    };
    let mut refused = 0;
    // The path of a request is that of other kinds, too.
    for (key, others) in workload::choices().filter(|(key, _)| *key != "path") {
        let own: &[&str] =
            if ["exec", "parse"].contains(&key) { &["exec", "parse"] } else { &[key] };
        assert!(is_accepted(own), "{key}");
        for other in others {
            assert!(!is_accepted(&[own, &[other]].concat()), "{key} with {other}");
            refused += 1;
        }
    }
    assert!(40 < refused, "{refused}");
}

#[test]
fn a_load_has_the_fields_of_its_kind_alone() {
    let kinds = [("open", "rate"), ("open", "shape"), ("open", "trace"), ("closed", "think")];
    let mut document: Value = serde_saphyr::from_str(&spec("")).unwrap();
    let mut is_accepted = |load: Value| {
        document["load"] = load;
        VALIDATOR.is_valid(&document)
    };
    let value = |field| if field == "think" { "1ms" } else { "1/s" };
    for (model, own) in kinds {
        for (_, other) in kinds {
            let load =
                json!({"model": model, "timeout": "1s", own: value(own), other: value(other)});
            assert_eq!(is_accepted(load.clone()), own == other, "{load}");
        }
    }
    for load in
        [json!({"model": "closed", "arrivals": "zipf"}), json!({"model": "open", "speed": 2})]
    {
        assert!(!is_accepted(load.clone()), "{load}");
    }
}

/// Every field says what it is, wherever it is.
#[test]
fn every_field_has_a_description() {
    let schema = schema();
    let mut silent = Vec::new();
    let definitions = schema["$defs"].as_object().unwrap();
    let all = definitions.iter().map(|(name, definition)| (name.as_str(), definition));
    for (name, definition) in all.chain([("the file", &schema)]) {
        let fields = definition["properties"].as_object();
        for (field, of) in fields.into_iter().flatten() {
            if !of["description"].is_string() {
                silent.push(format!("{name}: {field}"));
            }
        }
    }
    assert_eq!(silent, [""; 0], "write a doc comment");
}
