use super::*;

#[test]
fn a_component_is_asked_for_a_moment() {
    let cpu =
        Cpu::parse(r#" { "interval_s": 0.5, "components": {"hotel": [0.25, 1e-1], "b\"": []} } "#);
    let cpu = cpu.unwrap();
    assert_eq!(cpu.at("hotel", 0.0), Some(0.25));
    assert_eq!(cpu.at("hotel", 0.5), Some(0.1));
    assert_eq!(cpu.at("hotel", 1.0), None);
    assert_eq!(cpu.at("b\"", 0.0), None);
    assert_eq!(cpu.at("other", 0.0), None);
}

#[test]
fn anything_else_is_nothing() {
    for text in [
        "",
        "{}",
        "[]",
        "{\"interval_s\": 0, \"components\": {}}",
        "{\"interval_s\": 1, \"components\": {\"a\": [1,]}}",
        "{\"interval_s\": 1, \"components\": {\"a\": [1}}",
        "{\"interval_s\": 1, \"components\": {}} more",
        "{\"interval_s\": 1",
        "{\"interval_s\": 1, \"components\": {\"a",
    ] {
        assert_eq!(Cpu::parse(text), None, "{text}");
    }
}
