use super::*;

const TWO: &[u8] = b"{\"trial\":1}\n{\"trial\":2}\n";
const THREE: &[u8] = b"{\"trial\":1}\n{\"trial\":2}\n{\"trial\":3}\n";

#[test]
fn an_incomplete_line_does_not_count() {
    assert_eq!(complete(b"{\"trial\":1}\n{\"tri"), b"{\"trial\":1}\n");
    assert_eq!(complete(b"{\"tri"), b"");
    assert_eq!(count(THREE), 3);
}

#[test]
fn a_continued_journal_goes_on_where_it_was() {
    assert_eq!(faults(TWO, THREE), Vec::<String>::new());
    assert_eq!(faults(b"", THREE), Vec::<String>::new());
    assert_eq!(faults(THREE, THREE), Vec::<String>::new());
}

#[test]
fn lost_changed_repeated_and_incomplete_trials_are_faults() {
    assert_eq!(faults(THREE, TWO).len(), 1, "lost");
    assert_eq!(faults(TWO, b"{\"trial\":1,\"a\":0}\n{\"trial\":2}\n").len(), 1, "changed");
    assert_eq!(faults(TWO, &[TWO, b"{\"trial\":2}\n"].concat()).len(), 1, "repeated");
    assert_eq!(
        faults(TWO, &[TWO, b"{\"tri"].concat()).len(),
        2,
        "incomplete, and without a number"
    );
}

#[test]
fn a_trial_that_was_there_at_a_fault_is_there_at_the_end() {
    assert_eq!(changed(TWO, THREE, "at the fault"), None);
    assert_eq!(changed(b"", TWO, "at the fault"), None);
    let lost = "the journal does not begin as it was at the fault";
    for later in [&TWO[..12], b"", b"{\"trial\":1,\"a\":0}\n{\"trial\":2}\n"] {
        assert_eq!(changed(TWO, later, "at the fault").as_deref(), Some(lost));
    }
}

#[test]
fn every_trial_has_its_files() {
    let nowhere = Path::new("/nonexistent");
    assert_eq!(trials_without_files(TWO, nowhere).len(), 2);
    assert_eq!(trials_without_files(b"", nowhere), Vec::<String>::new());
}
