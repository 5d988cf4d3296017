use expect_test::expect;

use super::*;

fn source(text: &str) -> Source {
    Source::new("my.yaml", text.to_owned())
}

fn at(line: usize, column: usize, length: usize) -> Option<Location> {
    Some(Location::Text { line, column, length })
}

#[test]
fn a_value_is_found_behind_its_key_only_and_as_a_whole_word() {
    let source = source(
        "about: 9 servers # 9\n\
         where: {roles: {load: {cpus: 0-3}}, port: 19101, other: 9}\n\
         needs:\n  - geo-cache\n  - \"geo\"\n\
         names: [ä, geo, 9]\n",
    );
    assert_eq!(source.find("port:", "9"), None);
    assert_eq!(source.find("load:", "9"), None);
    assert_eq!(source.find("cpus:", "3"), None);
    assert_eq!(source.find("cpus:", "0-3"), at(2, 30, 3));
    assert_eq!(source.find("load:", "0-3"), at(2, 30, 3));
    assert_eq!(source.find("other", "9"), at(2, 57, 1));
    assert_eq!(source.find("needs:", "geo"), at(5, 6, 3));
    assert_eq!(source.find("names:", "geo"), at(6, 12, 3));
    assert_eq!(source.find("absent:", "9"), None);
}

#[test]
fn a_key_is_found_where_it_is_least_deep_and_a_variable_anywhere() {
    let source = source(
        "where: {roles: {load: {cpus: 0}}}\nload:\n  rate: 5/s\n\
         workload: {get: \"/${vars.a}/${vars.ab}\"}\n",
    );
    assert_eq!(source.find("load:", "load"), at(2, 1, 4));
    assert_eq!(source.find("load:", "load:"), at(2, 1, 5));
    assert_eq!(source.key(&["load", "rate"]), at(3, 3, 4));
    assert_eq!(source.key(&["roles", "load"]), at(1, 17, 4));
    assert_eq!(source.find("${vars.ab", "${vars.ab"), at(4, 29, 9));
    assert_eq!(source.find("get:", "get"), at(4, 12, 3));
    // It is a word of a value, and no key.
    assert_eq!(source.find("vars:", "vars"), None);
    assert_eq!(source.inside("/${vars.a}/${vars.ab}", "${vars.a}"), at(4, 19, 9));
    assert_eq!(source.inside("another", "${vars.a}"), None);
}

#[test]
fn only_what_is_in_effect_is_found() {
    let text = "search: {range: [1/s, 2/s]}\n\
                profiles:\n  quick: {search: {range: [3/s, 4/s]}, load: {rate: 7/s}}\n\
                \x20 rate: {load: {model: open}}\n";
    let base = source(text);
    assert_eq!(base.key(&["load", "rate"]), None);
    assert_eq!(base.find("rate:", "rate"), None);
    assert_eq!(base.find("range:", "range"), at(1, 10, 5));
    let quick = source(text).with(Some("quick"), &[]);
    assert_eq!(quick.find("range:", "range"), at(3, 20, 5));
    assert_eq!(quick.find("range:", "2/s"), at(1, 23, 3));
    assert_eq!(quick.key(&["load", "rate"]), at(3, 47, 4));
    assert_eq!(quick.key(&["profiles", "quick"]), at(3, 3, 5));
}

#[test]
fn what_a_setting_says_is_found_there() {
    let text = "load: {rate: 5/s, connections: 9}\nport: 19101\n";
    let set =
        ["where.roles.load.cpus=9", "load.rate=100/s", "sut={endpoint: \"http://u:secret@a/\"}"];
    let set = set.map(str::to_owned);
    let source = source(text).with(None, &set);
    assert_eq!(source.find("load:", "9"), Some(Location::Setting(0)));
    assert_eq!(source.find("rate:", "rate"), Some(Location::Setting(1)));
    assert_eq!(source.find("rate:", "5/s"), None, "it is replaced");
    assert_eq!(source.find("connections:", "9"), at(1, 32, 1));
    assert_eq!(source.find("roles:", "roles"), Some(Location::Setting(0)));
    expect![[r#"
        role load needs CPU 9
         --> --set where.roles.load.cpus=9
          = CPUs here: 0"#]]
    .assert_eq(
        &source
            .error("role load needs CPU 9", Some(Location::Setting(0)), "CPUs here: 0")
            .to_string(),
    );
    let shown = source.error("x", Some(Location::Setting(2)), "").to_string();
    assert!(shown.contains("--set sut=") && !shown.contains("secret"), "{shown}");
}

#[test]
fn what_an_alias_stands_for_is_found_where_it_is_written() {
    let source = source("names: &a [x, geo]\nneeds: *a\nother: {path: &b \"9\"}\nport: *b\n");
    assert_eq!(source.find("needs:", "geo"), at(1, 15, 3));
    assert_eq!(source.find("port:", "9"), at(3, 19, 1));
}

/// It is only read when there is an error, which must not become another one.
#[test]
fn a_text_that_is_no_document_has_no_places() {
    assert_eq!(source("a: [").find("a:", "a"), None);
}

#[test]
fn an_error_of_a_setting_shows_no_other_part_of_the_spec() {
    use crate::spec::tests::{read, spec};
    let text = spec(
        "slo: [{metric: p99, max: 10ms}]\nsearch: {range: [1/s, 2/s]}\n\
         profiles:\n  other: {load: {rate: 7/s}, search: {range: [3/s, 4/s]}}\n",
    );
    let text = text.replace(", rate: 500/s", "");
    let error = |profile, set: &[&str]| read(&text, profile, set).unwrap_err().to_string();
    expect![[r#"
        the rate is both fixed and searched
         --> --set load.rate=100/s
          = remove load.rate or search"#]]
    .assert_eq(&error(None, &["load.rate=100/s"]));
    expect![[r#"
        the rate is both fixed and searched
          --> my.yaml:10:18
           |
        10 |   other: {load: {rate: 7/s}, search: {range: [3/s, 4/s]}}
           |                  ^^^^ remove load.rate or search"#]]
    .assert_eq(&error(Some("other"), &["name=x"]));
}
