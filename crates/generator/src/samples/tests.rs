use load::Outcome;
use load::observe::Of;

use super::*;

#[test]
fn no_cell_is_a_formula_and_each_is_quoted_where_it_must_be() {
    let cells = [
        ("plain", "plain"),
        ("", ""),
        ("a=1", "a=1"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "\"'\r=1\""),
        ("a,b", "\"a,b\""),
        ("=a\"b", "\"'=a\"\"b\""),
    ];
    let labels: Vec<String> = cells.iter().map(|(label, _)| (*label).to_owned()).collect();
    for (index, (label, cell)) in (0..).zip(cells) {
        let row = Completion {
            of: Of::default(),
            intended: Instant(1),
            number: 0,
            label: Label(index),
            start: None,
            done: Instant(5),
            outcome: Outcome::Ok,
            status: 200,
            answers: 1,
            bad: 0,
            bytes: 7,
            why: "",
        };
        let mut text = Vec::new();
        write_row(&mut text, 3, &row, &labels).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            format!("1,,,5,ok,200,7,{cell},,3\n"),
            "{label:?}"
        );
    }
}
