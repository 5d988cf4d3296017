use super::*;

#[test]
fn ranks_are_drawn_with_the_probabilities_of_the_distribution() {
    const DRAWS: u32 = 200_000;
    for (n, s) in [(1, 1.0), (10, 0.5), (10, 1.0), (100, 1.2), (5, 20.0), (1_000_000, 2.0)] {
        let (distribution, mut random) = (Zipf::new(n, s), Random::new(n));
        let mut counts = vec![0u32; n as usize + 1];
        for _ in 0..DRAWS {
            counts[distribution.draw(&mut random) as usize] += 1;
        }
        assert_eq!(counts[0], 0, "ranks begin at 1");
        let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-s)).collect();
        let sum: f64 = weights.iter().sum();
        for k in (1..=n as usize).take(20) {
            let p = weights[k - 1] / sum;
            let expected = p * f64::from(DRAWS);
            let deviation = (expected * (1.0 - p)).sqrt();
            let off = (f64::from(counts[k]) - expected).abs();
            assert!(off <= 4.0 * deviation + 1.0, "rank {k} of {n}, s {s}: off by {off}");
        }
    }
}

#[test]
fn the_largest_range_and_any_exponent_stay_inside_their_ranks() {
    let mut random = Random::new(1);
    for n in [2, 1000, MOST_RANKS] {
        for s in [1e-9, 1.0 - 1e-12, 1.0 + 1e-12, 20.0] {
            let distribution = Zipf::new(n, s);
            assert!(
                (0..1000).all(|_| (1..=n).contains(&distribution.draw(&mut random))),
                "n {n}, s {s}"
            );
        }
    }
}
