use super::*;

#[test]
fn the_lines_repeated_at_the_end_are_cargos_own_about_results() {
    let output = "   Compiling measure v0.1.0
     Running unittests src/lib.rs (target/debug/deps/measure-1f)
running 2 tests
test time::tests::time_never_runs_backwards ... ok
test time::tests::time_is_money ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
error: 1 target failed:";
    let kept: Vec<&str> = output.lines().filter(|line| is_result(line)).collect();
    assert_eq!(
        kept,
        [
            "     Running unittests src/lib.rs (target/debug/deps/measure-1f)",
            "test time::tests::time_is_money ... FAILED",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
            "error: 1 target failed:",
        ]
    );
}

#[test]
fn both_streams_are_read_in_order_until_the_last_writer_closes() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo one; echo two >&2; (echo three) ; exit 4"]);
    let mut lines = Vec::new();
    let passed = each_line(command, LONGEST_SILENCE, |line| lines.push(line.to_owned())).unwrap();
    assert_eq!(lines, ["one", "two", "three"]);
    assert!(!passed);
}

#[test]
fn a_program_that_hangs_is_killed_and_the_next_one_runs() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo one; sleep 1000; echo two; exit 4"]);
    let mut lines = Vec::new();
    let short = Nanos::from_millis(300);
    let passed = each_line(command, short, |line| lines.push(line.to_owned())).unwrap();
    assert!(!passed && lines.iter().any(|line| line.starts_with("error: no output for 300 ms")));
    assert_eq!((lines.first().unwrap().as_str(), lines.last().unwrap().as_str()), ("one", "two"));
}

#[test]
fn a_program_that_is_left_running_is_named_and_killed() {
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1234.5 & echo one"]);
    let mut lines = Vec::new();
    let short = Nanos::from_millis(300);
    let passed = each_line(command, short, |line| lines.push(line.to_owned())).unwrap();
    assert!(!passed);
    let [one, left] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(one, "one");
    assert!(left.ends_with(" was left running: sleep 1234.5"), "{left}");
    let words: Vec<&str> = left.split(' ').collect();
    let pid = words[2].parse::<u32>().unwrap();
    while processes::command(pid).contains("sleep") {} // Killed, not yet gone.
}

#[test]
fn a_row_has_a_name_a_time_and_a_remark_only_when_something_is_wrong() {
    assert_eq!(row("clippy", Nanos::from_millis(12_340), ""), "clippy          12.3 s");
    assert_eq!(row("test", Nanos::from_secs(150), "FAILED"), "test         2 min 30 s  FAILED");
}

#[test]
fn the_crates_that_only_compute_are_tested_with_checks_for_overflow() {
    let manifest = std::fs::read_to_string(repository::root().join("Cargo.toml")).unwrap();
    for package in ["load", "measure", "mix", "results", "wire", "wrk"] {
        let checked = format!("[profile.tests.package.{package}]\noverflow-checks = true\n");
        assert!(manifest.contains(&checked), "{package}");
    }
}
