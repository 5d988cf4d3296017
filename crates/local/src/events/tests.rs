use super::*;

#[test]
fn a_state_lasts_until_the_next_line_about_the_same_replica() {
    let text = concat!(
        "{\"at_ns\":10,\"of\":\"replica 127.0.0.1:1\",\"state\":\"not ready: no answer\"}\n",
        "{\"at_ns\":20,\"of\":\"replica 127.0.0.1:2\",\"state\":\"not ready: 503\"}\n",
        "{\"at_ns\":30,\"of\":\"replica 127.0.0.1:1\",\"state\":null}\n",
        "{\"at_ns\":40,\"of\":\"replica 127.0.0.1:1\",\"sta",
    );
    let names = [("127.0.0.1:1".to_owned(), "users-1.1".to_owned())].into_iter().collect();
    let happened = |from, to, what: &str| Happened {
        from: Instant(from),
        to: Instant(to),
        what: what.to_owned(),
    };
    let expected = [
        happened(10, 30, "users-1.1 not ready: no answer"),
        happened(20, u64::MAX, "replica 127.0.0.1:2 not ready: 503"),
    ];
    assert_eq!(states(text, &names), expected);
    assert_eq!(states("", &names), []);
}

#[test]
fn an_application_without_events_has_none() {
    assert_eq!(written(Path::new("/nonexistent/x.statistics"), &BTreeMap::new()), []);
    assert_eq!(beside(Path::new("/a/b.statistics")), Path::new("/a/b.statistics.events"));
    // Nor has one that makes something else there: a FIFO would wait for its other end.
    let folder = tempfile::tempdir().unwrap();
    let statistics = folder.path().join("x.statistics");
    let mkfifo = std::process::Command::new("mkfifo").arg(beside(&statistics)).status();
    assert!(mkfifo.unwrap().success());
    assert_eq!(written(&statistics, &BTreeMap::new()), []);
}
