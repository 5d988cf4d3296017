use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn figures_that_are_zero_have_no_line() {
    let document = json!({"total": {
        "accepted": 2, "closed": 0, "operations": {"READ.OK": 12345, "ADD.OK": 7},
    }});
    expect![[r#"
        accepted                               2
        READ.OK                           12,345
        ADD.OK                                 7
    "#]]
    .assert_eq(&figures(&document));
}
