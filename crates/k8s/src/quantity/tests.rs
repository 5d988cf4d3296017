use serde_json::json;

use super::*;

#[test]
fn amounts_of_memory_are_read() {
    assert_eq!(bytes(&json!("8040100Ki")), Some(8_040_100 << 10));
    assert_eq!(bytes(&json!("2Gi")), Some(2 << 30));
    assert_eq!(bytes(&json!("1000")), Some(1_000));
    assert_eq!(bytes(&json!(1000)), Some(1_000));
    assert_eq!(bytes(&json!("2M")), Some(2_000_000));
    for wrong in ["2Xi", "Ki", "", "99999999999Ti"] {
        assert_eq!(bytes(&json!(wrong)), None, "{wrong}");
    }
}
