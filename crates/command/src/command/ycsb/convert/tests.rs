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
