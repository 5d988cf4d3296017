use expect_test::expect;

use super::*;

fn read(text: &str, by: &str, metrics: &[&str]) -> Result<Trials, String> {
    let metrics: Vec<String> = metrics.iter().map(|metric| (*metric).to_owned()).collect();
    super::read(Path::new("t.csv"), text.as_bytes(), by, &metrics, None)
        .map_err(|f| f.error.to_string())
}

#[test]
fn the_table_and_its_warnings_are_printed() {
    let table =
        "replicas,logins,p99\n1,606,20\n1,623,21\n1,621,22\n2, 1368 ,20\n2,1400,23\n2,1468,26\n";
    let trials = read(table, "replicas", &["logins", "p99"]).unwrap();
    let found = analysis::analyse(&trials, Some(600), 0.03);
    expect![[r#"
        logins
          replicas     n         mean      RSD     95 % interval   Shamos    floor  trend p     slope
          1            3      616.667   1.51 %   0.78 % … 9.47 %   2.53 %        –   1.0000   +1.21 %
          2            3     1412.000   3.62 %  1.88 % … 22.73 %   5.09 %        –   0.3333   +3.57 %
          trend inside the levels: S = 4 of 6, p = 0.2778
          1 → 2: × 2.289 (2.120 … 2.471): higher; RSD × 2.40, p = 0.6667: no difference shown

        p99
          replicas     n         mean      RSD     95 % interval   Shamos    floor  trend p     slope
          1            3       21.000   4.76 %  2.48 % … 29.93 %   4.99 %        –   0.3333   +4.76 %
          2            3       23.000  13.04 %  6.79 % … 81.97 %  13.67 %        –   0.3333  +13.04 %
          trend inside the levels: S = 6 of 6, p = 0.0556
          1 → 2: × 1.090 (0.818 … 1.452): undecided; RSD × 2.74, p = 0.3333: no difference shown

        = logins: the RSD is 1.51 % (0.78 … 9.47 %) at 1, 3.62 % (1.88 … 22.73 %) at 2. No difference is shown: 1 → 2 (RSD × 2.40, p = 0.6667).
        = p99: the RSD is 4.76 % (2.48 … 29.93 %) at 1, 13.04 % (6.79 … 81.97 %) at 2. No difference is shown: 1 → 2 (RSD × 2.74, p = 0.3333).
        ! logins at 1: 3 trials say little of their spread
        ! logins at 2: 3 trials say little of their spread
        ! logins at 2, if it is a throughput: 1.14 times as much as the first level promises: superlinear. Overload, warm-up or a cache; look if requests failed
        ! p99 of 600 requests rests on 6.0 beyond it: it is unsupported, at least 10 are needed for an indication (1,000 requests)
        ! p99 at 1: 3 trials say little of their spread
        ! p99 at 2: 3 trials say little of their spread
        ! no p50 is given beside p99: a high percentile that hardly differs from trial to trial may be that of a timer (flat times with a sharp edge), and say nothing of the system; look at the p50 and at the shape
        ! the levels ran one after the other: a drift of the machine looks like a difference between them; run them in turn (repeat.order: interleaved)
    "#]].assert_eq(&text(&found));
}

/// Spreadsheets begin their files with one.
#[test]
fn a_byte_order_mark_is_no_part_of_the_first_column() {
    let trials = read("\u{feff}stage,p99\nfree,20\nfree,21\n", "stage", &["p99"]).unwrap();
    let levels: Vec<&str> = trials.rows.iter().map(|row| row.level.as_str()).collect();
    assert_eq!(levels, ["free", "free"]);
}

#[test]
fn a_wrong_table_is_an_error_with_its_place_and_the_remedy() {
    let table = "stage,p99\nfree,20\npinned,21ms\n";
    let errors: Vec<String> = [
        read(table, "level", &["p99"]),
        read(table, "stage", &["p50"]),
        read(table, "stage", &["p99"]),
        read("stage,p99\n", "stage", &["p99"]),
        read("stage,p99\nfree\n", "stage", &["p99"]),
        read("", "stage", &["p99"]),
    ]
    .into_iter()
    .map(|result| result.unwrap_err())
    .collect();
    expect![[r#"
        t.csv has no column `level`; columns here: stage, p99
        t.csv has no column `p50`; columns here: stage, p99
        t.csv:3: `21ms` in column `p99` is not a number; write figures without units
        t.csv has no trials
        t.csv: CSV error: record 1 (line: 2, byte: 10): found record with 1 fields, but the previous record has 2 fields
        t.csv has no column `stage`; columns here: 
    "#]].assert_eq(&(errors.join("\n") + "\n"));
}

#[test]
fn a_table_that_can_be_read_in_two_ways_is_refused() {
    let errors: Vec<String> = [
        read("stage,p99,p99\nfree,20,21\n", "stage", &["p99"]),
        read("stage,p99,stage\nfree,20,pinned\n", "stage", &["p99"]),
        read("stage,p99\nfree,20\n", "stage", &["p99", "p99"]),
        read("stage,p99\nfree,20\n,21\n", "stage", &["p99"]),
        read("stage,p99\nfree,1e308\n", "stage", &["p99"]),
        read("stage,p99\nfree,-1e-300\n", "stage", &["p99"]),
    ]
    .into_iter()
    .map(|result| result.unwrap_err())
    .collect();
    expect![[r#"
        t.csv has two columns `p99`, the 2nd and the 3rd; rename one of them
        t.csv has two columns `stage`, the 1st and the 3rd; rename one of them
        --metrics has `p99` twice; write it once
        t.csv:3: column `stage` is empty; write the level of each trial, for example its version
        t.csv:2: `1e308` in column `p99` cannot be computed with; write figures between 1e-100 and 1e100, in another unit
        t.csv:2: `-1e-300` in column `p99` cannot be computed with; write figures between 1e-100 and 1e100, in another unit
    "#]].assert_eq(&(errors.join("\n") + "\n"));
    // Other columns are nobody's business.
    assert!(read("stage,p99,note,note\nfree,20,x,y\n", "stage", &["p99"]).is_ok());
}

/// A table of 1,000 response times looks like one of 1,000 trials.
#[test]
fn many_rows_are_trials_only_if_somebody_says_so() {
    let table = |count: usize, level: fn(usize) -> usize| {
        let rows = (0..count).map(|row| format!("{},{}\n", level(row), 5 + row % 7));
        format!("run,ms\n{}", rows.collect::<String>())
    };
    let read = |text: &str, rows| {
        let metrics = ["ms".to_owned()];
        let read = super::read(Path::new("t.csv"), text.as_bytes(), "run", &metrics, rows);
        read.map(|trials| trials.rows.len()).map_err(|failure| failure.error.to_string())
    };
    let thousand = table(1_000, |_| 1);
    let errors = [
        read(&thousand, None),
        read(&thousand, Some(Rows::Requests)),
        read(&table(10_000, |row| row % 2), Some(Rows::Trials)),
        read(&table(1_000, |row| row), None),
    ]
    .map(|result| result.unwrap_err());
    expect![[r#"
        t.csv has 1,000 rows at `1`: say what a row is. --rows trials if each is the figure of a whole trial; if each is a request: requests of one trial resemble each other, so a test that takes them for trials finds differences that are not there; write a row for each trial, with its p50 and p99
        the rows of t.csv are requests: requests of one trial resemble each other, so a test that takes them for trials finds differences that are not there; write a row for each trial, with its p50 and p99
        t.csv has more than 5,000 rows, which are not trials: requests of one trial resemble each other, so a test that takes them for trials finds differences that are not there; write a row for each trial, with its p50 and p99
        column `run` of t.csv has 1,000 different levels, and 100 are the most; --by names the column that says what was measured, for example a version
    "#]].assert_eq(&(errors.join("\n") + "\n"));
    assert_eq!(read(&thousand, Some(Rows::Trials)), Ok(1_000));
    assert_eq!(read(&table(200, |row| row % 20), None), Ok(200));
}
