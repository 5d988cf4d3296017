use super::*;

#[test]
fn vectors_of_keys() {
    for (number, expected) in [
        (0, 6_284_781_860_667_377_211),
        (1, 8_517_097_267_634_966_620),
        (2, 1_820_151_046_732_198_393),
        (3, 4_052_466_453_699_787_802),
        (1_000, 5_952_875_239_596_136_740),
        (1 << 31, 5_860_980_763_039_959_109),
        (3_000_000_000, 4_396_946_494_927_717_697),
        (10_000_000_000, 1_201_321_332_300_452_516),
        (i64::MAX as u64, 8_289_549_613_075_766_851),
    ] {
        assert_eq!(key(number), expected, "{number}");
    }
}

#[test]
fn every_key_has_one_server_and_all_have_about_as_many() {
    for servers in [1, 2, 3, 7, 64] {
        let mut counts = vec![0; usize::from(servers)];
        for number in 0..20_000 {
            let owners: Vec<u16> =
                (0..servers).filter(|&server| Share { server, servers }.has(key(number))).collect();
            assert_eq!(owners.len(), 1);
            counts[usize::from(owners[0])] += 1;
        }
        if servers < 10 {
            let even = 20_000 / i32::from(servers);
            assert!(
                counts.iter().all(|count: &i32| (count - even).abs() < even / 10),
                "{counts:?}"
            );
        }
    }
}

#[test]
fn the_first_rank_of_the_zipf_distribution_has_its_share() {
    let mut random = Random::new(1);
    let draws = 100_000;
    let hot = key(0) % 1_000_000;
    let drawn = (0..draws).filter(|_| Distribution::Zipfian.draw(1_000_000, &mut random) == hot);
    // 1 / ζ = 0.03778, within six standard deviations.
    assert!((3_418..4_140).contains(&drawn.count()));
}
