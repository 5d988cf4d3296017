use super::*;

#[test]
fn each_line_is_read_as_it_was_written_and_a_message_is_none() {
    let tick = Tick {
        phase: Phase::Drain,
        elapsed_s: 2.5,
        completed_per_s: Some(90.0),
        last: Quantiles { p99_ns: Some(7), ..Quantiles::default() },
        errors: BTreeMap::from([("timeout".to_owned(), 1)]),
        ..Tick::default()
    };
    for said in [
        Said::Ready { now_ns: 5 },
        Said::Clock { now_ns: 5 },
        Said::Start { now_ns: 5, start_ns: 6 },
        Said::NotUnderstood { now_ns: 5, why: "why".to_owned() },
        Said::Tick(tick),
    ] {
        let line = serde_json::to_string(&said).unwrap();
        assert_eq!(Said::read(&line), Some(said), "{line}");
    }
    for message in ["", "error: x", "{}", r#"{"phase":"asleep"}"#, r#"{"level":"warn","msg":"x"}"#]
    {
        assert_eq!(Said::read(message), None, "{message}");
    }
}

fn labelled(label: &str, completed_per_s: f64, mean_ns: Option<u64>) -> Labelled {
    Labelled { label: label.to_owned(), completed_per_s, failed: 1, mean_ns }
}

#[test]
fn labels_of_one_generator_alone_stay() {
    let of = |labels: Vec<Labelled>| Tick { labels, ..Tick::default() };
    let [a, b] = [labelled("a", 1.0, Some(5)), labelled("b", 0.0, None)];
    let all = Tick::together([of(vec![a.clone()]), of(Vec::new()), of(vec![b.clone()])].iter());
    assert_eq!(all.labels, [a.clone(), b]);
    let none = Labelled { mean_ns: None, ..a.clone() };
    let all = Tick::together([of(vec![a]), of(vec![none])].iter());
    assert_eq!(all.labels[0].mean_ns, Some(5));
}

#[test]
fn the_progress_of_several_generators_is_one_line() {
    let tick = |elapsed_s: f64, completed: f64, p99_ns: u64| Tick {
        phase: Phase::Measurement,
        elapsed_s,
        asked_per_s: Some(100.0),
        completed_per_s: Some(completed),
        last: Quantiles { p99_ns: Some(p99_ns), ..Quantiles::default() },
        in_flight: Some(3),
        failed: 1,
        errors: BTreeMap::from([("timeout".to_owned(), 1)]),
        labels: vec![labelled("login", completed, Some(p99_ns))],
        ..Tick::default()
    };
    let all = Tick::together([tick(1.0, 90.0, 5), tick(2.0, 80.0, 7)].iter());
    let errors = BTreeMap::from([("timeout".to_owned(), 2)]);
    let (asked_per_s, in_flight, failed) = (Some(200.0), Some(6), 2);
    // 90/s of 5 ns and 80/s of 7 ns.
    let labels = vec![Labelled { failed: 2, ..labelled("login", 170.0, Some(5)) }];
    let expected = Tick { asked_per_s, in_flight, failed, errors, labels, ..tick(2.0, 170.0, 7) };
    assert_eq!(all, expected);
}
