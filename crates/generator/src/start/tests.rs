use super::*;

#[test]
fn a_line_says_when_to_start_or_asks_for_the_clock() {
    assert_eq!(understand("start in 2s"), Ok(Told::StartIn(Nanos::from_secs(2))));
    assert_eq!(understand(" start in 500ms \r"), Ok(Told::StartIn(Nanos::from_millis(500))));
    assert_eq!(understand("clock"), Ok(Told::Clock));
    for line in ["", "start", "start in", "start in 2", "start in -1s", "begin"] {
        let why = understand(line).unwrap_err();
        assert_eq!(why, format!("`{line}` is neither `clock` nor for example `start in 2s`"));
    }
    let why = understand("start in 2h").unwrap_err();
    assert_eq!(why, "`start in 2h`: a start lies at most 1 h 0 min ahead");
}

#[test]
fn an_end_of_the_input_is_no_start() {
    let (sender, lines) = mpsc::sync_channel(1);
    drop(sender);
    let ended = Lines(Mutex::new(lines)).await_start(&AtomicBool::new(false)).unwrap_err();
    let Failure::Machine(why) = ended else { panic!("{ended:?}") };
    assert_eq!(why, "standard input ended before a line said `start in TIME`");
    let (_sender, lines) = mpsc::sync_channel(1);
    let interrupted = Lines(Mutex::new(lines)).await_start(&AtomicBool::new(true));
    assert_eq!(interrupted, Err(Failure::Interrupted));
}
