use super::*;

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
    let zipfian = Draws::new(Distribution::Zipfian, 1_000_000);
    let drawn = (0..draws / BLOCK).flat_map(|_| zipfian.next(&mut random));
    // 1 / ζ = 0.03778, within six standard deviations.
    assert!((3_418..4_140).contains(&drawn.filter(|number| *number == hot).count()));
}

#[test]
fn keys_in_blocks_are_those_of_one_at_a_time() {
    let mut random = Random::new(1);
    for bits in 0..=64 {
        let most = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        let mut numbers: Block = std::array::from_fn(|_| random.next_u64() & most);
        numbers[0] = most;
        assert_eq!(keys(&numbers), numbers.map(key), "{bits}");
    }
}

#[test]
fn remainders_are_those_of_a_division() {
    let mut random = Random::new(1);
    let most = 1 << 63;
    let sizes = (0..64).flat_map(|bits: u32| [1 << bits, (1 << bits) - 1, (1 << bits) + 1]);
    for divisor in sizes.chain([10_000_000, 250_000_000, u64::MAX]).filter(|divisor| 0 < *divisor) {
        let remainder = Remainder::by(divisor);
        let multiples = (0..20).map(|times| divisor.saturating_mul(times));
        let near = multiples.flat_map(|all| [all.saturating_sub(1), all, all.saturating_add(1)]);
        let drawn: Vec<u64> = (0..1_000).map(|_| random.next_u64() >> 1).collect();
        for number in near.chain(drawn).chain([most, most - 1]).filter(|number| *number <= most) {
            assert_eq!(remainder.of(number), number % divisor, "{number} by {divisor}");
        }
    }
}
