use super::*;

#[test]
fn keys_are_numbers_of_eight_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    // More than one piece, and a key in two of them.
    let long = "x".repeat(PIECE - 20);
    let lines = format!("{long}\nINSERT usertable user258 [ field0=a ]\nREAD usertable user3");
    std::fs::write(&input, lines).unwrap();
    let exit = convert(&Convert { input, output: output.clone() }).unwrap();
    assert_eq!(exit, Exit::Answered);
    assert_eq!(std::fs::read(output).unwrap(), [2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_file_that_is_not_there_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let refused = convert(&Convert { input, output: output.clone() }).unwrap_err();
    assert_eq!(refused.exit, Exit::Question);
    let message = refused.error.to_string();
    let expected = "/in: No such file or directory (os error 2); name a file with lines";
    assert!(message.ends_with(expected), "{message}");
    assert!(!output.exists());
}

#[test]
fn lines_without_a_key_are_refused_and_replace_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    for (lines, counts) in [
        ("", "has no key: 0 other lines\n"),
        ("READ user1\n[OVERALL]\n", "has no key: 2 other lines\n"),
        (
            "READ usertable user18446744073709551616\nx",
            "has no key: 1 other lines, 1 lines with a number of 2^64 or more, which is not a key\n",
        ),
    ] {
        std::fs::write(&input, lines).unwrap();
        let asked = Convert { input: input.clone(), output: output.clone() };
        let refused = convert(&asked).unwrap_err();
        let message = refused.error.to_string();
        assert_eq!(refused.exit, Exit::Question);
        assert!(
            message.contains(counts) && message.contains("`benchwright ycsb load basic`"),
            "{message}"
        );
        assert!(!output.exists());
        std::fs::write(&output, "keys of another file").unwrap();
        convert(&asked).unwrap_err();
        assert_eq!(std::fs::read(&output).unwrap(), b"keys of another file");
        std::fs::remove_file(&output).unwrap();
    }
}

#[test]
fn a_place_that_cannot_be_written_to_has_one_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    std::fs::write(&input, "READ usertable user1").unwrap();
    let output = PathBuf::from("/proc/none/keys");
    let message = convert(&Convert { input, output }).unwrap_err().error.to_string();
    assert_eq!(message.matches("name another file").count(), 1, "{message}");
}
