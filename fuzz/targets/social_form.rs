//! Arbitrary forms of the social network: whatever is read from one is the same after encoding, and
//! numbers and lists are refused or valid.
#![no_main]

use apps::social::front::form::{self, Form};
use form_urlencoded::Serializer;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 5] = ["text", "user_id", "media_ids", "", "a+%20b"];

fuzz_target!(|bytes: &[u8]| {
    let read = Form::read(bytes);
    let pairs = NAMES.map(|name| (name, read.get(name)));
    let encoded = Serializer::new(String::new()).extend_pairs(pairs).finish();
    let again = Form::read(encoded.as_bytes());
    let is_complete = pairs.iter().all(|(_, value)| !value.is_empty());
    assert_eq!(read.required(NAMES).is_ok(), is_complete);
    for (name, value) in pairs {
        assert_eq!(again.get(name), value);
        if !value.contains(['&', '+', '%']) && !name.contains('+') {
            // Workloads do not encode.
            let raw = format!("x=&{name}={value}");
            assert_eq!(Form::read(raw.as_bytes()).get(name), value);
        }
        let number = form::number(name, value).ok();
        assert_eq!(form::user_id(name, value).ok(), number.filter(|id| 0 <= *id));
        if let Ok(items) = form::list(name, value) {
            let json = serde_json::to_string(&items).expect("strings are JSON");
            assert_eq!(form::list(name, &json), Ok(items));
        }
    }
});
