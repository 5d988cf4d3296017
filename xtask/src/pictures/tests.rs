use super::*;

fn run() -> Run {
    Run { text: "$ run a & b\n  2  <ok>\n\n".to_owned(), page: "<p>~</p>".to_owned() }
}

#[test]
fn a_terminal_has_a_line_for_each_line_at_its_place() {
    let [(path, svg), _] = drawn(&run());
    assert_eq!(path, TERMINAL);
    let lines: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text")).collect();
    assert_eq!(
        lines,
        [
            "<text x=\"16.0\" y=\"29.0\" textLength=\"85.8\" xml:space=\"preserve\" fill=\"#8fd18f\">$ run a &amp; \
             b</text>",
            "<text x=\"31.6\" y=\"47.0\" textLength=\"54.6\" xml:space=\"preserve\">2  &lt;ok&gt;</text>",
        ]
    );
    assert!(svg.starts_with("<svg ") && svg.contains("viewBox=\"0 0 118 86\""), "{svg}");
}

#[test]
fn the_digest_changes_with_the_page_alone() {
    let [_, (path, digest)] = drawn(&run());
    assert_eq!((path, digest.len()), (DIGEST, 65));
    let other = Run { text: String::new(), ..run() };
    assert_eq!(drawn(&other)[1].1, digest);
    let other = Run { page: "<p>.</p>".to_owned(), ..run() };
    assert_ne!(drawn(&other)[1].1, digest);
}

#[test]
fn the_page_of_the_book_gets_the_text() {
    let page = "# A\n<!-- measured: terminal -->\nold\n<!-- end -->\nB\n";
    let filled = filled(page, &run()).unwrap();
    assert_eq!(
        filled,
        "# A\n<!-- measured: terminal -->\n\n```text\n$ run a & b\n  2  <ok>\n\n```\n\n<!-- end -->\nB\n"
    );
    assert!(super::filled("# A\n", &run()).is_err());
}

#[test]
fn the_folder_of_a_run_has_a_path_of_one_length() {
    let lengths = ["/tmp/a", "/var/folders/of/a/user"].map(|folder| lengthened(Path::new(folder)));
    assert_eq!(lengths.map(|folder| folder.as_os_str().len()), [120, 120]);
}

#[test]
fn a_page_does_not_show_where_the_run_was() {
    let page = without("<dd>/tmp/x7/experiments</dd>", Path::new("/tmp/x7"));
    assert_eq!(page, "<dd>~/benchwright/experiments</dd>");
}

#[test]
fn wrong_words_are_refused() {
    assert_eq!(read(&[]), Some(None));
    assert!(read(&["--program", "x"]).unwrap().unwrap().ends_with("x"));
    assert_eq!(read(&["--program"]), None);
    assert_eq!(read(&["report"]), None);
}
