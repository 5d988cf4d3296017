use super::*;

#[test]
fn times_fall_into_the_first_bucket_that_holds_them() {
    assert_eq!([0, 1, 1000, 1001, 2000, 2001, 4001].map(bucket), [0, 0, 0, 1, 1, 2, 3]);
    assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    assert_eq!(end_of_bucket(0), "0.000001");
    assert_eq!(end_of_bucket(10), "0.001024");
}
