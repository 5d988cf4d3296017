use super::*;

fn noise(cpu: f64) -> Noise {
    let (burst, spell) = (Duration::from_millis(1), Duration::from_secs(5));
    Noise { cpu, burst, spell, seed: 1 }
}

/// Returns the share of time in bursts of so many spells, one after the other.
fn used(noise: &Noise, spells: u64) -> f64 {
    let (mut time, mut busy, mut number) = (Duration::ZERO, Duration::ZERO, 0);
    while time < noise.spell * spells as u32 {
        time += noise.pause(time, number);
        number += 1;
        (time, busy) = (time + noise.burst, busy + noise.burst);
    }
    busy.as_secs_f64() / time.as_secs_f64()
}

#[test]
fn the_noise_uses_its_share_on_average_and_another_one_in_each_spell() {
    let noise = noise(0.3);
    let share = used(&noise, 400);
    assert!((0.27..0.33).contains(&share), "{share}");
    let shares: Vec<f64> = (0..400).map(|n| noise.share_at(noise.spell * n)).collect();
    let (least, most) = shares
        .iter()
        .fold((1.0_f64, 0.0_f64), |(low, high), share| (low.min(*share), high.max(*share)));
    assert!(least < 0.02 && 0.58 < most && most <= 0.6, "{least} {most}");
}

#[test]
fn a_spell_is_the_same_after_a_restart_and_another_one_with_another_seed() {
    let noise = noise(0.2);
    let late_in_it = Duration::from_secs(17) + Duration::from_millis(999);
    assert_eq!(noise.share_at(Duration::from_secs(15)), noise.share_at(late_in_it));
    assert_ne!(noise.share_at(Duration::from_secs(15)), noise.share_at(Duration::from_secs(20)));
    let other = Noise { seed: 2, ..noise };
    assert_ne!(noise.share_at(Duration::from_secs(15)), other.share_at(Duration::from_secs(15)));
}

#[test]
fn a_pause_has_a_bound_even_without_noise() {
    let quiet = noise(1e-12);
    assert_eq!(quiet.pause(Duration::ZERO, 0), LONGEST);
}
