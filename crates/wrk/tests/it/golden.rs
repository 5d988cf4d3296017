//! Our golden texts, which the layouts' own tests compare byte for byte.

use crate::expressions::{numbers, read};

const GOLDEN: [(&str, &str); 3] = [
    ("latency", include_str!("../../src/layout/golden/wrk-latency.txt")),
    ("failing", include_str!("../../src/layout/golden/wrk-failing.txt")),
    ("nothing", include_str!("../../src/layout/golden/wrk-nothing.txt")),
];

#[test]
fn every_line_of_our_layouts_is_read() {
    for (name, text) in GOLDEN {
        let lines = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for kind in ["run", "threads", "head", "latency", "rates", "total", "requests/s", "bytes/s"]
        {
            assert_eq!(lines[kind].len(), 1, "{name}: {kind}");
        }
        assert!(!text.contains("nan"), "{name}");
    }
    let failing = read(GOLDEN[1].1).unwrap();
    assert_eq!(numbers(&failing["errors"][0]), [1, 22, 0, 333]);
    assert_eq!(numbers(&failing["statuses"][0]), [2, 3, 4444]);
    assert_eq!(read(GOLDEN[0].1).unwrap()["percentile"].len(), 4);
}

#[test]
fn a_column_that_is_moved_is_not_read() {
    let text = GOLDEN[0].1;
    for (right, wrong) in [
        ("    Latency    19.63ms", "    Latency   19.63ms"),
        ("  12.26k ", "  12.26k"),
        ("  237004 requests", " 237004 requests"),
        ("   10.69ms", "   10.6ms"),
        ("   10.69ms", "  10.69 ms"),
        (" 23692.78", "23692.78"),
        ("5.85MB", "5.85 MB"),
        ("Stdev     Max", "Stdev     99%"),
        ("2 threads", "two threads"),
    ] {
        assert!(text.contains(right), "{right}");
        let text = text.replacen(right, wrong, 1);
        assert!(read(&text).is_err(), "{right:?} became {wrong:?}");
    }
}
