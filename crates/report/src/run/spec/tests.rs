use super::*;

#[test]
fn the_question_is_read_however_it_is_folded() {
    for spec in [
        "name: x\nabout: How much?\nseed: 1\n",
        "about: \"How much?\"\n",
        "about: >\n  How\n  much?\nname: x\n",
        "about: How\n  much?\nname: x\n",
    ] {
        assert_eq!(about(spec).as_deref(), Some("How much?"), "{spec}");
    }
    assert_eq!(about("name: x\n"), None);
}

#[test]
fn the_limit_of_p99_is_read_in_block_and_in_flow_style() {
    for spec in [
        "slo:\n  - {metric: p99, max: 100ms}\n",
        "slo: [{metric: p99, max: 100ms}]\nload: {}\n",
        "slo:\n- metric: failures\n  max: 0.1%\n- metric: p99\n  max: 100ms\n",
        "slo:\n  - \"metric\": \"p99\"\n    \"max\": \"100ms\"\n",
    ] {
        assert_eq!(p99_limit(spec), Some(Nanos::from_millis(100)), "{spec}");
    }
}

#[test]
fn other_limits_are_not_those_of_p99() {
    assert_eq!(p99_limit("slo: [{metric: p99.9, max: 100ms}]\n"), None);
    assert_eq!(p99_limit("load: {metric: p99, max: 100ms}\n"), None);
    assert_eq!(p99_limit(""), None);
}

#[test]
fn the_limit_is_read_from_the_answers_words() {
    let limit = p99_limit_in_words("failures ≤ 0.1 % and p99 ≤ 100 ms");
    assert_eq!(limit, Some(Nanos::from_millis(100)));
    assert_eq!(p99_limit_in_words("p99.9 ≤ 100 ms"), None);
}
