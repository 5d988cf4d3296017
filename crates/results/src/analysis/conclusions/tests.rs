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
    expect![[r#"
        p99: the RSD is 3.20 % (1.92 … 9.20 %) at configured, 0.65 % (0.39 … 1.86 %) at pinned, 0.26 % (0.16 … 0.76 %) at limited. More reproducible: configured → limited (RSD × 0.08, p = 0.0286). No difference is shown: configured → pinned (RSD × 0.20, p = 0.2286), pinned → limited (RSD × 0.41, p = 0.3143).
        p99.9: the RSD is 3.41 % (2.04 … 9.80 %) at configured, 3.63 % (2.18 … 10.43 %) at pinned, 3.27 % (1.96 … 9.40 %) at limited. No difference is shown: configured → limited (RSD × 0.96, p = 0.5714), configured → pinned (RSD × 1.06, p = 0.6000), pinned → limited (RSD × 0.90, p = 0.7714).
        p99.99: the RSD is 2.88 % (1.72 … 8.26 %) at configured, 6.92 % (4.14 … 19.87 %) at pinned, 8.76 % (5.25 … 25.18 %) at limited. No difference is shown: configured → limited (RSD × 3.05, p = 0.9714), configured → pinned (RSD × 2.40, p = 0.4857), pinned → limited (RSD × 1.27, p = 0.9143).
        ! p99.9 of 15,000 requests rests on 15.0 beyond it: it is only an indication, 100 are needed for a decision
        ! p99.9 at limited: trial 13 lies apart
        ! p99.99 of 15,000 requests rests on 1.5 beyond it: it is unsupported, at least 10 are needed for an indication (100,000 requests)
        ! p99.99 at limited: trial 13 lies apart
        ! no p50 is given beside p99: a high percentile that hardly differs from trial to trial may be that of a timer (flat times with a sharp edge), and say nothing of the system; look at the p50 and at the shape
        ! the levels ran one after the other: a drift of the machine looks like a difference between them; run them in turn (repeat.order: interleaved)"#]].assert_eq(&text);
}
