//! Arbitrary PEM texts as certificates of issuers, and as a certificate with its key: accepted, or refused with
//! the name of the file and a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::driver::tls::{Identity, Pem, Terms, Tls, Trust};

fuzz_target!(|bytes: &[u8]| {
    let pem = |name: &str, text: &[u8]| Pem { name: name.to_owned(), text: text.to_vec() };
    let terms = |trust, identity| {
        Tls::new(&Terms { trust, identity, version: None, resume: true, now: || 1_700_000_000 })
    };
    check(terms(Trust::Issuers(pem("--ca fuzzed", bytes)), None));
    // One text for both, or one for each, apart by a NUL byte.
    let at = bytes.iter().position(|byte| *byte == 0);
    let (certificates, key) = at.map_or((bytes, bytes), |at| (&bytes[..at], &bytes[at + 1..]));
    let [certificates, key] =
        [("--cert fuzzed", certificates), ("--key fuzzed", key)].map(|(name, text)| pem(name, text));
    check(terms(Trust::Anyone, Some(Identity { certificates, key })));
});

fn check(tls: Result<Tls, String>) {
    if let Err(why) = tls {
        assert!(why.contains("fuzzed: "), "{why}");
    }
}
