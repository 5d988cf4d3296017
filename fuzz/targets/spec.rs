//! Arbitrary experiment files: refused with a place and a reason, or read to the same experiment again from the
//! text that is kept with the results.
#![no_main]

use std::path::Path;

use lab::{experiment, spec};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = Path::new("/nonexistent");
    // The first line may set a field, as the command line does.
    let set = bytes.strip_prefix(b"--set ").and_then(|rest| {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        Some((std::str::from_utf8(&rest[..end]).ok()?.to_owned(), &rest[end + 1..]))
    });
    let (set, bytes) = match set {
        Some((set, rest)) => (vec![set], rest),
        None => (Vec::new(), bytes),
    };
    let resolved = match spec::from_bytes("fuzzed.yaml", bytes, folder, None, &set) {
        Ok(resolved) => resolved,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let kept = resolved.to_yaml();
    match experiment::plan(&resolved) {
        Ok(plan) => assert!(!plan.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    // Secrets that are written plainly are not kept.
    if resolved.secrets.plain() == 0 {
        let again = spec::from_bytes("spec.yaml", kept.as_bytes(), folder, None, &[]);
        let again = again.unwrap_or_else(|error| panic!("{error}\n{kept}"));
        assert_eq!(again.to_yaml(), kept);
    }
});
