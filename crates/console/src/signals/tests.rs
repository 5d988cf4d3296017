use super::*;

/// Returns true if this process handles a signal itself, as the kernel says.
fn is_caught(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn signals_of_batch_systems_and_of_limits_end_a_command_in_order() {
    let _flag = interrupted();
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU] {
        assert!(is_caught(signal), "signal {signal} would end the process without a word");
    }
    assert!(!is_interrupted());
}
