use clap::Parser;
use ycsb::properties::Place;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    run: Run,
}

fn parsed(words: &str) -> Result<Run, String> {
    let line = Line::try_parse_from(format!("x {words}").split_whitespace());
    line.map(|line| line.run).map_err(|error| error.to_string())
}

/// The workloads that ship, by their letters.
const SHIPPED: [(char, &str); 6] = [
    ('a', include_str!("../../../../../../experiments/ycsb/workloada")),
    ('b', include_str!("../../../../../../experiments/ycsb/workloadb")),
    ('c', include_str!("../../../../../../experiments/ycsb/workloadc")),
    ('d', include_str!("../../../../../../experiments/ycsb/workloadd")),
    ('e', include_str!("../../../../../../experiments/ycsb/workloade")),
    ('f', include_str!("../../../../../../experiments/ycsb/workloadf")),
];

#[test]
fn the_binding_is_that_of_the_command_line_or_of_the_class() {
    let binding = |words: &str, class: &str| {
        let mut properties = Properties::default();
        if !class.is_empty() {
            properties.set("db", class, Place::Argument("-db".into()));
        }
        parsed(words).unwrap().binding(&properties)
    };
    for (words, class, expected) in [
        ("", "", Binding::Basic),
        ("redis", "", Binding::Redis),
        ("kv", "", Binding::Kv),
        ("", "site.ycsb.BasicDB", Binding::Basic),
        ("", "com.yahoo.ycsb.db.RedisClient", Binding::Redis),
        ("redis", "basic", Binding::Basic),
    ] {
        assert_eq!(binding(words, class).unwrap(), expected, "{words} {class}");
    }
    let refused = binding("", "site.ycsb.db.MongoDbClient").unwrap_err();
    assert_eq!(
        refused.error.to_string(),
        "-db: the property `db` is `site.ycsb.db.MongoDbClient`, which is not a binding here; write \
         site.ycsb.BasicDB or site.ycsb.db.RedisClient, or name the binding: basic, kv, redis"
    );
}

#[test]
fn a_client_is_one_of_several() {
    let client = |text: &str| parsed(&format!("basic --client {text}")).map(|run| run.client);
    assert_eq!(client("1/3"), Ok(Some(Part { number: 1, of: 3 })));
    for text in ["3/3", "1", "-1/2", "a/b", "0/0"] {
        let refused = client(text).unwrap_err();
        assert!(refused.contains("write 0/2 and 1/2"), "{text}: {refused}");
    }
}

#[test]
fn the_workloads_that_ship_are_those_of_ycsb() {
    let mut text = String::new();
    for (letter, content) in SHIPPED {
        let mut properties = Properties::default();
        properties.read("w", content.as_bytes()).unwrap();
        assert_eq!(properties.warnings(basic::PROPERTIES), [""; 0]);
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths are in a file"))
            .unwrap();
        text += &format!("{letter}:");
        for (name, value) in properties.resolved(&[]) {
            if value.place != Place::Default && name != "workload" {
                text += &format!(" {name}={}", value.text);
            }
        }
        text.push('\n');
    }
    expect_test::expect![[r#""#]].assert_eq(&text);
}

#[test]
fn every_property_has_its_default() {
    let resolved = Properties::default().resolved(basic::PROPERTIES);
    let lines = resolved.iter().map(|(name, value)| format!("{name}={}\n", value.text));
    expect_test::expect![[r#""#]].assert_eq(&lines.collect::<String>());
}
