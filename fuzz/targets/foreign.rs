//! Arbitrary files of load generators. The first byte chooses the format, or leaves it to the contents: what is
//! read has a page and can be merged with itself, and what is not is refused with a reason.
#![no_main]

use std::io::BufReader;

use foreign::{Asked, FORMATS, Question, Unit, merged};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [choice, file @ ..] = data else { return };
    let format = FORMATS.get(usize::from(*choice));
    let is_asked = |question| format.is_some_and(|format| format.asks.contains(&question));
    let asked = Asked {
        format: format.map(|format| format.name),
        unit: is_asked(Question::Unit).then_some(Unit::Milliseconds),
        column: is_asked(Question::Column).then(|| "1".to_owned()),
        rows_are_requests: is_asked(Question::Rows),
        ..Asked::default()
    };
    match foreign::read("a file", &mut BufReader::with_capacity(64, file), &asked) {
        Ok(found) => {
            let text = serde_json::to_string(&found).expect("a document is plain data");
            assert!(!text.contains("null"), "a number is not finite");
            assert!(report::foreign::render(&[found.clone()]).ends_with("</html>\n"));
            let _ = merged(&[found.clone(), found]);
        }
        Err(error) => assert!(!error.is_empty()),
    }
});
