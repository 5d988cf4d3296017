use super::*;

#[test]
fn samples_that_cannot_be_written_are_told_after_all_else() {
    let full = Path::new("/dev/full");
    let mut outputs = Outputs::default().begin(Some(full), Vec::new()).unwrap();
    let samplers = outputs.samplers(1);
    assert_eq!(outputs.finish(samplers), 0, "the file was not too slow");
    let failure = outputs.unsampled.expect("the device is always full");
    let text = failure.error.to_string();
    assert!(text.starts_with("writing --samples /dev/full: No space left on device"), "{text}");
}
