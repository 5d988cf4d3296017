//! Arbitrary command lines, with one argument per line and the program's name first: accepted ones
//! are consistent, and refused ones give a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wrk::arguments::{Compatibility, Refusal, parse};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n').map(str::to_owned);
    let name = match lines.next() {
        Some(name) if name.ends_with("wrk2") => "wrk2",
        _ => "wrk",
    };
    let arguments: Vec<String> = lines.collect();
    match parse(name, &arguments) {
        Ok(command) => {
            assert!(0 < command.threads && command.threads <= command.connections);
            assert!(!command.urls.is_empty() && 0 < command.duration.0);
            assert_eq!(command.rate.is_none(), command.compatibility == Compatibility::Wrk);
        }
        Err(refusal) => {
            assert!(refusal.code() <= 1);
            assert!(!refusal.stdout("0", "epoll").is_empty());
            let is_wrong = matches!(refusal, Refusal::Wrong(..));
            assert_eq!(is_wrong, 1 < refusal.stderr().len());
        }
    }
});
