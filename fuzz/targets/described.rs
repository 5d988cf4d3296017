//! Arbitrary descriptions of a service. The first byte chooses the kind, or leaves it to the contents: what is read
//! becomes a mix that a load accepts, and what is not is refused with a reason.
#![no_main]

use described::{Kind, Wanted, detect, mix, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [choice, source @ ..] = data else { return };
    let base = (choice & 8 == 0).then(|| "http://h/base".to_owned());
    let (writes, journey) = (choice & 16 != 0, choice & 32 != 0);
    let wanted = Wanted { writes, files: true, journey, base, from: None };
    let Some(kind) = Kind::ALL.get(usize::from(choice & 7)).copied().or(detect(source).ok()) else { return };
    let found = match read(kind, &mut &source[..], &wanted) {
        Ok(found) => found,
        Err(error) => return assert!(!error.is_empty()),
    };
    let mix = mix(&found, "a file");
    let read = mix::Mix::read(&mix::Source {
        file: "mix.jsonl",
        text: &mix.text,
        data: None,
        fields: &[("Host".to_owned(), "h".to_owned())],
        body_file: &|_| Err(std::io::Error::other("there is none")),
    });
    if let Err(error) = read {
        panic!("{error}\n{}", mix.text);
    }
});
