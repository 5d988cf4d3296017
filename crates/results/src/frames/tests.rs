use super::*;

/// Returns the document that these lines are, in this order.
fn read<'a>(lines: impl IntoIterator<Item = &'a String>) -> Result<Option<String>, String> {
    let mut frames = Frames::default();
    let mut document = None;
    for line in lines {
        document = frames.take(line)?.or(document);
    }
    Ok(document)
}

#[test]
fn a_document_is_whole_in_any_order_and_among_other_lines() {
    for document in ["", "{}", &"ä\"\\\n{}".repeat(5_000)] {
        let lines = lines(document);
        assert!(lines.iter().all(|line| line.len() < 16 * 1024 && !line.contains('\n')));
        assert_eq!(read(&lines), Ok(Some(document.to_owned())));
        assert_eq!(read(lines.iter().rev()), Ok(Some(document.to_owned())));
        let twice = lines.iter().chain(&lines);
        assert_eq!(read(twice), Ok(Some(document.to_owned())));
        let other = "{\"phase\":\"drain\"}".to_owned();
        let mixed = lines.iter().flat_map(|line| [&other, line]);
        assert_eq!(read(mixed), Ok(Some(document.to_owned())));
        assert_eq!(read(&lines[1..]), Ok(None));
    }
}

#[test]
fn damaged_and_foreign_lines_are_refused() {
    let document = "x".repeat(20_000);
    let whole = lines(&document);
    let cut = whole[0][..100].to_owned();
    assert!(read([&cut]).unwrap_err().starts_with("a line of the document is damaged"));
    let foreign = lines(&"y".repeat(20_000));
    assert_eq!(read([&whole[0], &foreign[1]]).unwrap_err(), "a line is of another document");
    let changed = whole[1].replacen("xx", "xz", 1);
    let lines: Vec<&String> = [&whole[0], &changed].into_iter().chain(&whole[2..]).collect();
    assert_eq!(read(lines).unwrap_err(), "the document does not have its digest");
    let endless = whole[0].replace("\"of\":4", "\"of\":99999999");
    assert_ne!(endless, whole[0]);
    assert_eq!(read([&endless]).unwrap_err(), "a document of 99999999 lines");
}
