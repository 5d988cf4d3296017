use expect_test::expect;

use super::*;

#[test]
fn a_sum_that_is_too_large_is_refused_with_its_parts() {
    let sum = Sum { index: 8 << 30, log: 16 << 30, connections: 200 << 20 };
    assert_eq!(sum.refusal(32 << 30), None);
    expect![[r#"
        the store would take 26.0 GB: 8.59 GB for the index (--buckets), 17.2 GB for the log (--memory), 210 MB for buffers and connections (--threads); 90 % of the 25.8 GB that this process may use are 23.2 GB
          choose less --memory, fewer --buckets or fewer --threads"#]]
    .assert_eq(&sum.refusal(24 << 30).unwrap());
}
