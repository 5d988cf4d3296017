use super::*;

#[test]
fn only_a_code_of_the_table_is_expected() {
    let exit = |code: i32| ExitStatus::from_raw(code << 8);
    let is_wrong = |status, fault, said| unexpected(status, fault, said).is_some();
    for code in [0, 1, 2, 3, 130] {
        assert!(!is_wrong(exit(code), Fault::Stopped, ""));
        assert!(is_wrong(exit(code), Fault::Stopped, "thread 'main' panicked at src/lib.rs:1"));
    }
    assert!(is_wrong(exit(101), Fault::Stopped, ""));
    let killed = ExitStatus::from_raw(9);
    assert!(!is_wrong(killed, Fault::Signal("KILL"), ""));
    assert!(is_wrong(killed, Fault::Signal("TERM"), ""));
}

#[test]
fn each_fault_is_drawn_by_a_short_name() {
    let mut names: Vec<String> = Fault::ALL.into_iter().map(Fault::name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), Fault::ALL.len());
    assert_eq!(run(&["--faults", "many"]), None);
    assert_eq!(run(&["kv", "--kills", "many"]), None);
}

#[test]
fn a_run_starts_with_one_stream_closed() {
    for (number, closed) in [(0, "<&-"), (1, ">&-"), (2, "2>&-")] {
        assert!(Fault::ALL.contains(&Fault::Without(closed)));
        let has_it = |closed| {
            let mut shell = without(closed, Path::new("sh"));
            shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            done(shell.args(["-c", &format!("test -e /proc/$$/fd/{number}")]))
        };
        assert!(has_it(None), "{number}");
        assert!(!has_it(Some(closed)), "{number}");
    }
}
