//! Texts that live as long as the process.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// Returns a text that lives as long as the process, so that a request can carry it without a copy. Equal
/// texts are kept once; there are as many as the workload has rules.
pub(crate) fn interned(text: &str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().expect("no holder of the lock panics");
    match texts.get(text) {
        Some(known) => known,
        None => {
            let text: &'static str = text.to_owned().leak();
            texts.insert(text);
            text
        }
    }
}
