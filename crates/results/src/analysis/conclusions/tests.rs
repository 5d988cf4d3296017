use expect_test::expect;

use crate::analysis::{analyse, guides};

/// METHOD: the headline survives, and its fine print does not.
#[test]
fn of_guide_3_only_the_p99_became_more_reproducible() {
    let analysis = analyse(&guides::guide_3(), Some(15_000), 0.03);
    let mut text = analysis.conclusions().join("\n");
    for warning in &analysis.warnings {
        text += &format!("\n! {}", warning.text);
    }
    expect![[r#""#]].assert_eq(&text);
}
