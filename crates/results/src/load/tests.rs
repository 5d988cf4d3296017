use super::*;

#[test]
fn what_is_no_document_is_refused() {
    assert!(Load::read(b"").unwrap_err().starts_with("its document cannot be read: "));
    assert!(Load::read(b"{\"schema\": \"x\"}").is_err());
}
