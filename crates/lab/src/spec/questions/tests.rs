use std::path::Path;

use super::*;
use crate::spec;

const BASE: &str = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open}
slo: [{metric: p99, max: 20ms}]
";

fn read(text: &str) -> Result<Resolved, SpecError> {
    spec::from_bytes("my.yaml", format!("{BASE}{text}").as_bytes(), Path::new("."), None, &[])
}

fn all(text: &str) -> (Vec<Cell>, Vec<Question>) {
    let resolved = read(text).unwrap();
    // What is written into a results directory gives the same questions again.
    let again = spec::from_bytes("again", resolved.to_yaml().as_bytes(), Path::new("."), None, &[]);
    let (cells, again) = questions(&again.unwrap()).unwrap();
    let (_, first) = questions(&resolved).unwrap();
    let specs = |questions: &[Question]| -> Vec<Spec> {
        questions.iter().map(|question| question.resolved.spec.clone()).collect()
    };
    assert_eq!(specs(&first), specs(&again));
    (cells, first)
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn every_combination_of_levels_is_a_cell_and_each_search_is_put_to_it() {
    let (cells, questions) = all("
factors:
  servers: {path: simulated.servers, levels: [1, 2]}
  arrivals:
    levels:
      - {name: smooth, set: {load: {arrivals: constant}}}
      - {name: bursty, set: {load: {arrivals: poisson}}}
searches:
  sweep: {range: [100/s, 200/s], step: 50/s}
  closed: {strategy: fixed, load: {model: closed}, phases: {settle: 3s}}
");
    let names: Vec<String> = cells.iter().filter_map(Cell::name).collect();
    assert_eq!(
        names,
        [
            "servers=1, arrivals=smooth",
            "servers=1, arrivals=bursty",
            "servers=2, arrivals=smooth",
            "servers=2, arrivals=bursty",
        ]
    );
    assert_eq!(questions.len(), 8);
    let last = &questions[7];
    assert_eq!((last.cell, last.search.as_deref()), (3, Some("closed")));
    let spec = &last.resolved.spec;
    assert_eq!(spec.simulated.as_ref().unwrap().servers.0, 2);
    assert!(spec.search.is_none() && spec.load.is_closed());
    assert_eq!(*spec.phases.settle, measure::Nanos::from_secs(3));
    let before = &questions[6].resolved.spec;
    let arrivals = |load: &spec::Load| load.arrivals().to_string();
    assert!(before.search.is_some() && arrivals(&before.load) == "poisson");
    assert_eq!(arrivals(&questions[4].resolved.spec.load), "constant");
}

#[test]
fn a_spec_without_factors_is_one_question() {
    let (cells, questions) = all("search: {range: [100/s, 200/s], step: 50/s}\n");
    assert_eq!((cells[0].name(), questions.len()), (None, 1));
    assert_eq!(questions[0].search, None);
}

#[test]
fn the_order_of_the_file_is_kept_also_by_a_profile() {
    let resolved = spec::from_bytes(
        "my.yaml",
        format!(
            "{BASE}factors:\n  z: {{path: simulated.servers, levels: [4, 1]}}\n\
             searches:\n  second: {{range: [1/s, 2/s], step: 1/s}}\n  first: {{load: {{rate: 5/s}}}}\n\
             profiles:\n  few: {{factors: {{z: {{levels: [3, 2]}}}}}}\n"
        )
        .as_bytes(),
        Path::new("."),
        Some("few"),
        &["searches.first.load.rate=7/s".to_owned()],
    );
    let (cells, questions) = questions(&resolved.unwrap()).unwrap();
    assert_eq!(cells[0].name().as_deref(), Some("z=3"));
    let names: Vec<&str> = questions.iter().filter_map(|q| q.search.as_deref()).collect();
    assert_eq!(names, ["second", "first", "second", "first"]);
    let rate = questions[1].resolved.spec.load.rate().and_then(Offered::rate);
    assert_eq!(rate, measure::Rate::per_second(7.0));
}

#[test]
fn what_cannot_be_understood_is_an_error_with_its_remedy() {
    let sweep = "searches: {s: {range: [1/s, 2/s], step: 1/s}}\n";
    for (text, expected) in [
        (
            "factors: {a: {levels: []}}\nsearch: {range: [1/s, 2/s], step: 1/s}\n".to_owned(),
            "a factor has 1 to 1000 levels",
        ),
        (
            format!("{sweep}factors: {{a: {{levels: [1]}}}}\n"),
            "or one value if the factor has a `path`",
        ),
        (
            format!("{sweep}factors: {{a: {{path: simulated.servers, levels: [1, 1]}}}}\n"),
            "the level `1` is given twice",
        ),
        (
            format!("{sweep}factors: {{a: {{levels: [{{name: x, set: {{budget: {{}}}}}}]}}}}\n"),
            "the level `x` of `a` cannot change `budget`",
        ),
        (
            format!(
                "{sweep}factors: {{a: {{levels: [{{name: x, set: {{workload.get: /slow}}}}]}}}}\n"
            ),
            "a path is written as mappings: workload: {get: …}",
        ),
        (
            format!("{sweep}phases: {{warm_up.fixed: 1s}}\n"),
            "a path is written as mappings: warm_up: {fixed: …}",
        ),
        (
            format!("{sweep}factors: {{a: {{path: where.backend, levels: [local]}}}}\n"),
            "the level `local` of `a` cannot change the backend",
        ),
        (
            format!(
                "{sweep}factors:\n  a: {{path: simulated.servers, levels: [1]}}\n  \
                 b: {{path: simulated.servers, levels: [2]}}\n"
            ),
            "the factors `a` (simulated.servers) and `b` (simulated.servers) set the same value",
        ),
        (
            format!(
                "{sweep}factors:\n  a: {{path: vars.x.y, levels: [1]}}\n  \
                 b: {{path: vars.x, levels: [2]}}\n"
            ),
            "the factors `a` (vars.x.y) and `b` (vars.x) set the same value",
        ),
        (
            format!("{sweep}factors: {{a: {{path: simulated.servers, levels: [two]}}}}\n"),
            "a=two, s: simulated.servers:",
        ),
        (
            format!("{sweep}factors: {{a: {{path: simulated.srvers, levels: [2]}}}}\n"),
            "unknown field `srvers`; did you mean `servers`?",
        ),
        (
            format!("{sweep}search: {{range: [1/s, 2/s], step: 1/s}}\n"),
            "both `search` and `searches` are given",
        ),
        ("searches: {s: 5}\n".to_owned(), "the search `s` is not a mapping"),
        (
            "searches: {s: {strategy: fixed, step: 5%}}\n".to_owned(),
            "the search `s` measures one load, and has no `step`",
        ),
        ("searches: {s: {strategy: fixed}}\n".to_owned(), "s: an open loop needs a rate"),
        (
            "searches: {h: {load: {rate: {share: 50%, of: c}}}}\n".to_owned(),
            "no search is called `c`",
        ),
        (
            "searches: {h: {load: {rate: {share: 50%, of: c}}}, c: {load: {rate: 5/s}}}\n"
                .to_owned(),
            "`c` finds no capacity",
        ),
        (
            "searches: {h: {load: {rate: {share: 0%, of: c}}}}\n".to_owned(),
            "a share of a capacity must be above zero",
        ),
    ] {
        let error = error(&text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn levels_multiply_within_a_bound() {
    let factor = |name: &str| {
        let levels: Vec<String> = (1..=100).map(|i| i.to_string()).collect();
        format!("  {name}: {{path: vars.{name}, levels: [{}]}}\n", levels.join(", "))
    };
    let text = format!(
        "search: {{range: [1/s, 2/s], step: 1/s}}\nfactors:\n{}{}{}",
        factor("a"),
        factor("b"),
        factor("c")
    );
    let expected = "more than 10000 searches: levels, searches and repetitions multiply";
    assert!(error(&text).contains(expected), "{}", error(&text));
    let sweep = "search: {range: [1/s, 2/s], step: 1/s}\nrepeat: ";
    let text = format!("{sweep}{{searches: 10001}}\n");
    assert!(error(&text).contains(expected), "{}", error(&text));
    let text = format!("{sweep}{{order: {{blocks: 1001}}}}\n");
    assert!(error(&text).contains("a block of more than 1000 trials"), "{}", error(&text));
}

/// Each question is a spec of its own.
#[test]
fn questions_of_a_long_spec_are_fewer() {
    let about =
        format!("about: \"{}\"\nsearch: {{range: [1/s, 2/s], step: 1/s}}\n", "x".repeat(300_000));
    let of = |levels: u32| {
        let levels: Vec<String> = (1..=levels).map(|i| i.to_string()).collect();
        format!("{about}factors: {{a: {{path: vars.a, levels: [{}]}}}}\n", levels.join(", "))
    };
    let error = error(&of(1_000));
    assert!(error.starts_with("1000 questions of a spec as long as this one have 60"), "{error}");
    assert!(error.contains("they have at most 256 MiB; remove some"), "{error}");
    read(&of(100)).unwrap();
}
