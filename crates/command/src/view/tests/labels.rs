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

/// Those with the most requests come first.
#[test]
fn requests_with_labels_have_lines_of_their_own() {
    for (scene, lines) in [
        ("labels", &["label", "items of a ca", "2,400/s", "1.00 ms", "and 3 more labels"][..]),
        ("labels of a load", &["items of a ca", "login", "400/s", "38.0 ms", "and 2 more labels"]),
    ] {
        let picture = picture(scene, USUAL);
        for line in lines {
            assert!(picture.contains(line), "{line}\n{picture}");
        }
    }
}
