//! The figures by label in the view.

use results::said::Labelled;

use super::*;

/// Returns an interval of a mix of which one label fails.
pub(super) fn by_label(elapsed_s: f64) -> Tick {
    let label = |label: &str, completed_per_s: f64, failed: u64, ms: u64| Labelled {
        label: label.to_owned(),
        completed_per_s,
        failed,
        mean_ns: Some(1_000_000 * ms),
    };
    let labels = vec![
        label("login", 400.0, 0, 38),
        label("items of a category", 2_400.0, 0, 1),
        label("buy", 200.0, 2, 9),
        label("logout", 100.0, 0, 1),
    ];
    Tick { labels, ..tick(Phase::Measurement, elapsed_s) }
}

#[test]
fn requests_with_labels_have_lines_of_their_own() {
    check("labels", USUAL, expect![[r#""#]]);
    check("labels of a load", USUAL, expect![[r#""#]]);
}
