//! Arbitrary traces: a valid trace has at most as many requests as lines, and they are in order. The
//! first byte is the speed in sixteenths.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::pacing::Trace;

fuzz_target!(|data: &[u8]| {
    let [speed, text @ ..] = data else { return };
    match Trace::read("trace", text, f64::from(*speed) / 16.0) {
        Ok(trace) => {
            let lines = text.split(|&byte| byte == b'\n').count();
            let (length, half) = (trace.length(), trace.length() / 2);
            assert!(trace.count_before(half) <= trace.count_before(length));
            assert!(trace.count_before(length) < lines.max(1));
            assert!(1.0 <= trace.highest_rate() && trace.labels().len() <= lines);
        }
        Err(error) => assert!(!error.is_empty()),
    }
});
