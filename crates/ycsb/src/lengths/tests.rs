use super::*;
use crate::zipf::Zeta;

fn drawn(lengths: &Lengths) -> Vec<u32> {
    let mut random = Random::new(5);
    let mut counts = vec![0; lengths.most() as usize + 1];
    for _ in 0..100_000 {
        counts[lengths.draw(&mut random) as usize] += 1;
    }
    counts
}

#[test]
fn a_histogram_draws_each_bucket_with_its_weight() {
    let text = "BlockSize\t10\n0\t1\n2\t0\n3\t3\n9\t0\n";
    let lengths = Lengths::Histogram(Histogram::read(text).unwrap());
    assert_eq!(lengths.most(), 40);
    let counts = drawn(&lengths);
    assert_eq!(counts[10] + counts[40], 100_000);
    // A quarter, within six standard deviations.
    assert!((24_178..25_822).contains(&counts[10]), "{}", counts[10]);
}

#[test]
fn all_lengths_from_the_least_to_the_most_are_drawn() {
    let uniform = drawn(&Lengths::Uniform { least: 3, most: 12 });
    assert_eq!(uniform[..3], [0; 3]);
    assert!(uniform[3..].iter().all(|count| (9_430..10_570).contains(count)), "{uniform:?}");
    let zipfian = Lengths::Zipfian { least: 1, ranks: Zipf::new(100, &Zeta::default()) };
    assert_eq!(zipfian.most(), 100);
    let zipfian = drawn(&zipfian);
    assert!(zipfian[0] == 0 && zipfian[1..].iter().all(|count| 0 < *count), "{zipfian:?}");
    assert_eq!(drawn(&Lengths::Constant(7))[7], 100_000);
}

#[test]
fn a_wrong_histogram_is_refused_with_its_line() {
    let wrong = |text: &str| Histogram::read(text).map(|_| ()).unwrap_err();
    let cases = [
        "",
        "BlockSize\t0\n0\t1",
        "BlockSize\t1\n0 1",
        "BlockSize\t1\n1\t1\n\n1\t1",
        "BlockSize\t1\n1\t0",
        "BlockSize\t4294967295\n1\t1",
        "BlockSize\t1\n0\t18446744073709551615\n1\t1",
    ];
    expect_test::expect![[r#"
        line 1: `` is not `BlockSize<TAB>` and a size above 0
        line 1: `BlockSize	0` is not `BlockSize<TAB>` and a size above 0
        line 2: `0 1` is not a bucket, a tab and a count
        line 4: `1	1` is not above the bucket before; sort the buckets
        no bucket has a count above 0
        line 2: `1	1` means lengths of more than 4 GiB
        line 3: `1	1` makes the sum too large"#]]
    .assert_eq(&cases.map(wrong).join("\n"));
}
