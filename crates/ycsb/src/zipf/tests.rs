use super::*;

/// The values of u of YCSB's vectors.
const US: [f64; 7] = [0.05, 0.06, 0.2, 0.25, 0.5, 0.75, 0.9];

#[test]
fn zeta_is_the_sum_of_its_terms() {
    for theta in [0.5, 0.98, 0.99] {
        let zeta = Zeta::new(theta);
        let mut sum = 0.0;
        for n in 1..=10_000_u64 {
            sum += (n as f64).powf(-theta);
            assert!((zeta.of(n) / sum - 1.0).abs() < 1e-12, "{n}: {} {sum}", zeta.of(n));
        }
    }
}

#[test]
fn vectors_of_the_constants() {
    let thousand = Zipf::new(1000, &Zeta::default());
    assert_eq!(thousand.alpha, 99.999_999_999_999_91);
    assert!((thousand.eta / 0.074_806_086_706_898_05 - 1.0).abs() < 1e-12, "{}", thousand.eta);
    assert_eq!((SCRAMBLED.alpha, SCRAMBLED.half), (thousand.alpha, thousand.half));
    let computed = Zipf { zeta: SCRAMBLED.zeta, ..Zipf::new(SCRAMBLED.items, &Zeta::default()) };
    let eta = (1.0 - (2.0 / SCRAMBLED.items as f64).powf(1.0 - THETA))
        / (1.0 - Zeta::default().of(2) / SCRAMBLED.zeta);
    assert_eq!((computed.half, eta), (SCRAMBLED.half, SCRAMBLED.eta));
}

#[test]
fn vectors_of_ranks() {
    let ranks = US.map(|u| SCRAMBLED.rank(u));
    assert_eq!(ranks, [1, 2, 83, 296, 134_552, 42_924_421, 1_170_869_537]);
    let hundred = Zipf::new(100, &Zeta::default());
    assert_eq!(US.map(|u| 1 + hundred.rank(u)), [1, 1, 2, 2, 7, 26, 59]);
}

#[test]
fn multiplications_change_hardly_any_rank() {
    let mut random = measure::Random::new(1);
    let mut changed = 0;
    for _ in 0..1_000_000 {
        let u = random.unit();
        let base = SCRAMBLED.eta * u - SCRAMBLED.eta + 1.0;
        let by_powf = (SCRAMBLED.items as f64 * base.powf(ALPHA)) as u64;
        let rank = SCRAMBLED.rank(u);
        if 1 < rank && rank != by_powf {
            assert_eq!(rank.abs_diff(by_powf), 1, "{u}");
            changed += 1;
        }
    }
    assert!(changed <= 10, "{changed}");
}

#[test]
fn ranks_in_blocks_are_those_of_one_at_a_time() {
    let zeta = Zeta::default();
    let mut random = measure::Random::new(2);
    for zipf in [SCRAMBLED, Zipf::new(1, &zeta), Zipf::new(3, &zeta), Zipf::new(1000, &zeta)] {
        for _ in 0..2_000 {
            let mut uniform = std::array::from_fn(|_| random.unit());
            uniform[0] = 1.0 - f64::EPSILON / 2.0;
            uniform[1] = 0.0;
            assert_eq!(zipf.ranks(&uniform), uniform.map(|u| zipf.rank(u)));
        }
    }
    let other = Zipf::new(1000, &Zeta::new(0.98));
    let uniform = [0.7; BLOCK];
    assert_eq!(other.ranks(&uniform), uniform.map(|u| other.rank(u)));
}

#[test]
fn a_rank_is_below_the_number_of_items() {
    let largest = 1.0 - f64::EPSILON / 2.0;
    for items in [1, 2, 3, 100, 1 << 40] {
        let zipf = Zipf::new(items, &Zeta::default());
        assert!(zipf.rank(largest) < items, "{items}");
        assert_eq!(zipf.rank(0.0), 0);
    }
    assert_eq!(SCRAMBLED.rank(1.0), 10_000_000_000);
}
