use super::super::tests::{read, spec};

const OF_LABEL: &str = "slo: [{metric: p99, max: 1s}, {metric: nope.p99, max: 1s}]\n";

#[test]
fn an_objective_on_a_label_that_no_request_has_is_refused() {
    let external = spec(&format!("{OF_LABEL}sut: {{endpoint: 'http://127.0.0.1:8080'}}\n"))
        .replace("simulated: {service_time: 100us}\n", "")
        .replace("backend: simulated", "backend: external");
    for (text, why) in [
        (spec(OF_LABEL), "requests of a simulated queue have no labels"),
        (external.clone(), "a single request has no labels"),
    ] {
        let error = read(&text, None, &[]).map(|read| read.to_yaml()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("no request has the label `nope`: {why}\n")), "{error}");
        assert!(error.contains("write an objective on all requests"), "{error}");
        assert!(
            error.contains("slo: [{metric: p99, max: 1s}, {metric: nope.p99, max: 1s}]"),
            "{error}"
        );
    }
    // The generator knows what labels these have.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for workload in [format!("mix: {file}"), format!("script: {file}")] {
        read(&external.replace("get: /", &workload), None, &[]).unwrap();
    }
}
