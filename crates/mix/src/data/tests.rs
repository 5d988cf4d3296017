use super::*;

/// Compares the cells, separated by `|` with one line per row, or the error.
fn check(text: &str, expected: &str) {
    let shown = match Data::read("d.csv", text) {
        Err(error) => error.to_string(),
        Ok(data) => {
            let columns = data.columns().join("|");
            let cells = |row| (0..data.columns().len()).map(move |column| (row, column));
            let row = |row| {
                let cells: Vec<&str> = cells(row).map(|(r, c)| data.cell(r, c)).collect();
                format!("{}: {}", data.lines[row], cells.join("|"))
            };
            [vec![columns], (0..data.rows()).map(row).collect()].concat().join("\n")
        }
    };
    assert_eq!(shown, expected, "{text:?}");
}

#[test]
fn tables_are_read_as_in_rfc_4180() {
    check("id,name\n1,Ann\n2,Bob\n", "id|name\n2: 1|Ann\n3: 2|Bob");
    check("id,name\r\n1,Ann\r\n2,Bob", "id|name\n2: 1|Ann\n3: 2|Bob");
    check("\u{feff}id\n\n\r\n1\n\n2\n\n", "id\n4: 1\n6: 2");
    check("a,b\n,\n\"\",x", "a|b\n2: |\n3: |x");
    check(
        "a,b\n\"x, \"\"y\"\"\",\"two\r\nlines\"\nlast,\n",
        "a|b\n2: x, \"y\"|two\r\nlines\n4: last|",
    );
    check("\"a b\",\"c,d\"\nümlaut, spaced \r", "a b|c,d\n2: ümlaut| spaced ");
    check("a\nx\ry\n", "a\n2: x\ry");
}

#[test]
fn an_invalid_table_is_refused_with_the_place_and_the_remedy() {
    for (text, error) in [
        ("", "1:1: the header is missing; name the columns in the first line"),
        ("id\n\n", "3:1: the rows are missing; write some below the header"),
        (
            "a,,b\n1,2,3",
            "1:1: a column has no name; name each in the first line, such as `id,name`",
        ),
        ("a,b,a\n1,2,3", "1:1: two columns are named `a`; name each differently"),
        (
            "a,b\n1,2\n3\n",
            "3:1: cells in this row: 1, columns in the header: 2; put a cell with a comma in quotes",
        ),
        (
            "a\n1,2\n",
            "2:1: cells in this row: 2, columns in the header: 1; put a cell with a comma in quotes",
        ),
        ("a,b\nä,\"x\ny", "2:3: this quote is not closed; end the cell with another"),
        (
            "a\n\"x\"y\n",
            "2:4: text after a closing quote; write a quote inside a quoted cell twice",
        ),
        ("a\nx\"y\n", "2:2: a quote inside a cell; put the cell in quotes and double this one"),
    ] {
        check(text, &format!("d.csv:{error}"));
    }
}

#[test]
fn a_table_beyond_the_bound_is_refused() {
    assert!(Data::read_up_to(5, "d.csv", "a\n1\n2").is_ok());
    assert_eq!(
        Data::read_up_to(4, "d.csv", "a\n1\n2").unwrap_err().to_string(),
        "d.csv:1:1: is longer than 4 bytes, the maximum that is kept in memory; use fewer rows or \
         columns",
    );
}

#[test]
fn rows_are_used_in_turn() {
    let data = Data::read("d.csv", "a\nx\ny\nz").unwrap();
    let rows: Vec<usize> = (0..7).map(|number| data.row_of(number)).collect();
    assert_eq!(rows, [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn arbitrary_tables_never_panic() {
    let mut random = measure::Random::new(5);
    for _ in 0..100_000 {
        let pieces = ["a", "\"", ",", "\n", "\r", "ü", "\u{feff}", " ", "b\n"];
        let text: String =
            (0..random.below(20)).map(|_| pieces[random.below(9) as usize]).collect();
        if let Ok(data) = Data::read("d", &text) {
            let cells = data.columns().len() * data.rows();
            assert_eq!(data.ends.len(), cells, "{text:?}");
        }
    }
}

/// The time for the header line grows with its length, and not with its square.
#[test]
fn a_table_of_very_many_columns_is_read() {
    let names: Vec<String> = (0..300_000).map(|column| format!("c{column}")).collect();
    let cells = vec!["1"; names.len()];
    let data = Data::read("d.csv", &format!("{}\n{}\n", names.join(","), cells.join(",")));
    assert_eq!(data.unwrap().columns().len(), names.len());
}
