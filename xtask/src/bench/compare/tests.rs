use super::*;

fn compared(verdict: &str, blocks: u32) -> Compared {
    let document = format!(
        r#"{{"verdict": "{verdict}", "metrics": [
            {{"metric": "p50", "effect": 1.05, "p": 0.4, "blocks": 5}},
            {{"metric": "p99", "effect": null, "p": 0.03, "blocks": {blocks}}}]}}"#
    );
    Compared::read(&serde_json::from_str(&document).unwrap()).unwrap()
}

#[test]
fn a_comparison_is_read_from_its_document() {
    let expected =
        Compared { verdict: "worse".to_owned(), effect: 1.05, p: 0.03, is_complete: true };
    assert_eq!(compared("worse", 5), expected);
    assert!(!compared("worse", 4).is_complete);
}

#[test]
fn only_complete_comparisons_count() {
    let equals = [compared("equivalent", 5), compared("better", 5), compared("worse", 4)];
    let slower = [compared("worse", 5), compared("better", 5)];
    let findings = findings(&equals, &slower);
    assert_eq!(findings.each_ref().map(|finding| finding.figures[0]), [0.5, 0.5, 0.8]);
    assert!(findings.iter().all(|finding| !finding.is_met()));
}
