use super::*;

/// A load with 10 requests of which 2 failed and 3 are unfinished, in its total, its target, its label and
/// its segment; and in its series.
fn unfinished() -> Load {
    let counts = Counts { intended: 10, ok: 5, failed: 2, unfinished: 3, ..Counts::default() };
    let part = Part { counts, ..Part::default() };
    let outcomes = [("ok", 5), ("status", 2), (UNFINISHED, 3)];
    let outcomes = outcomes.map(|(name, count)| (name.to_owned(), count));
    let group = Group {
        completed: 7,
        failed: 2,
        outcomes: BTreeMap::from(outcomes),
        reasons: BTreeMap::new(),
        ok_statuses: BTreeMap::new(),
        response_time: None,
        service_time: None,
    };
    let segment = Segment { name: "all".into(), begin_s: 0.0, end_s: 1.0, group: group.clone() };
    let interval = |t_s, failed| Interval { t_s, length_s: 1.0, failed, ..Interval::default() };
    Load {
        total: part.clone(),
        targets: vec![Target { url: "http://a/".into(), path: None, part }],
        labels: BTreeMap::from([("read".into(), group)]),
        segments: vec![segment],
        series: vec![interval(0.0, 2), interval(1.0, 0)],
        ..Load::empty("benchwright")
    }
}

#[test]
fn an_older_version_counted_unfinished_requests_as_failed() {
    let now = unfinished();
    let mut older = Load { schema: OLDER[1].to_owned(), ..now.clone() };
    older.total.counts.failed += 3;
    older.targets[0].part.counts.failed += 3;
    older.labels.get_mut("read").unwrap().failed += 3;
    older.segments[0].group.failed += 3;
    older.series[1].failed += 3;
    let read = |load: &Load| Load::read(&serde_json::to_vec(load).unwrap()).unwrap();
    assert_eq!(read(&now), now);
    assert_eq!(Load { schema: SCHEMA.to_owned(), ..read(&older) }, now);
}

#[test]
fn bytes_that_are_not_a_document_are_refused() {
    assert!(Load::read(b"").unwrap_err().starts_with("its document cannot be read: "));
    assert!(Load::read(b"{\"schema\": \"x\"}").is_err());
}

#[test]
fn a_document_with_counts_that_no_load_has_is_refused() {
    let mut load = unfinished();
    (load.total.counts.failed, load.total.counts.unfinished) = (u64::MAX, u64::MAX);
    let why = Load::read(&serde_json::to_vec(&load).unwrap()).unwrap_err();
    assert_eq!(why, "18446744073709551615 is not a valid number of a load");
}
