use expect_test::expect;
use results::journal::OfLabel;

use super::levels::{figure, rows};
use super::*;

/// A sweep of requests with two labels, one of which is ten times as slow.
fn labelled() -> Fixture {
    let mut fixture = Fixture::new(|manifest| {
        manifest.slo = results::slo::read("login.p99<=50ms,failures<=0.1%").unwrap();
        manifest.state = State::Finished;
    });
    for offered in [1_000.0, 1_000.0, 2_000.0] {
        fixture.push(offered, |entry| {
            let observed = entry.observed.as_mut().unwrap();
            let of = |label: &str, factor: u64| OfLabel {
                label: label.to_owned(),
                completed: observed.requests / 2,
                failed: factor,
                p50_ns: observed.p50_ns.map(|ns| ns * factor),
                p99_ns: observed.p99_ns.map(|ns| ns * factor),
            };
            let labels = vec![of("login", 10), of("search <b>", 1)];
            observed.labels = labels;
        });
    }
    fixture.directory.write_answer(&fixture.answer(Verdict::Answered)).unwrap();
    fixture
}

#[test]
fn labels_have_a_panel_each_and_a_table_of_the_loads_of_the_answer() {
    let page = page(&labelled());
    let labels = figure(&page, "labels");
    assert_eq!(labels.matches("<div class=\"panel\"").count(), 2);
    assert!(labels.contains("<h4>login</h4>") && labels.contains("<h4>search &lt;b&gt;</h4>"));
    assert_eq!(labels.matches(">SLO: p99 ≤ 50 ms</text>").count(), 2, "two scales of one panel");
    expect![[r#"
        label | trial | offered /s | completed | failed | p50 | p99 | 
        login | 1 | 1,000 | 2,500 | 10 | 6.05 ms | 19.7 ms
        login | 2 | 1,000 | 2,500 | 10 | 5.99 ms | 19.3 ms
        login | 3 | 2,000 | 5,000 | 10 | 7.42 ms | 28.7 ms
        search &lt;b&gt; | 1 | 1,000 | 2,500 | 1 | 605 µs | 1.97 ms
        search &lt;b&gt; | 2 | 1,000 | 2,500 | 1 | 599 µs | 1.93 ms
        search &lt;b&gt; | 3 | 2,000 | 5,000 | 1 | 742 µs | 2.87 ms
    "#]]
    .assert_eq(&rows(labels));
    let table = page.split("<h2>Labels</h2>").nth(1).unwrap();
    expect![[r#"
        label | load | asked | p50 | p99 | completed | failed | trials | 
        login | lowest load | 1,000/s | 6.02 ms | 19.5 ms | 2,500 | 10 | 2
        login | capacity and maximum and highest load | 2,000/s | 7.42 ms | 28.7 ms | 5,000 | 10 | 1
        search &lt;b&gt; | lowest load | 1,000/s | 602 µs | 1.95 ms | 2,500 | 1 | 2
        search &lt;b&gt; | capacity and maximum and highest load | 2,000/s | 742 µs | 2.87 ms | 5,000 | 1 | 1
    "#]].assert_eq(&rows(table.split("</section>").next().unwrap()));
}

#[test]
fn requests_of_one_kind_need_no_labels() {
    assert!(!page(&Fixture::sweep()).contains("<h2>Labels</h2>"));
}
