use super::*;

#[test]
fn bytes_that_are_not_a_document_are_refused() {
    assert!(Load::read(b"").unwrap_err().starts_with("its document cannot be read: "));
    assert!(Load::read(b"{\"schema\": \"x\"}").is_err());
}
