//! Random mixtures of all scenarios: every invariant holds for each.

use std::rc::Rc;

use ::measure::Random;
use ::measure::pace::Distribution;

use super::load::{LIMITS, Load, Pace, Script};
use super::server::{Conduct, Key, Welcome};
use super::*;
use crate::pacing::Sharing;

/// Returns a load of random parameters on servers of random behaviour, all drawn from one seed.
fn mixture(seed: u64) -> Load {
    let mut random = Random::new(seed);
    let mut below = |bound| random.below(bound);
    let evil = [0, 3, 10, 50][below(4) as usize];
    let clumsy = [2, 10, 50, 100][below(4) as usize];
    let (shards, targets) = (1 + below(3) as u32, 1 + below(3) as u32);
    let pools = shards.max(1 + below(4) as u32);
    let open = below(3) > 0;
    let rate = 50.0 + below(2_000) as f64;
    let sharing = if below(2) == 0 { Sharing::InTurn } else { Sharing::Each };
    let distribution = if below(2) == 0 { Distribution::Poisson } else { Distribution::Constant };
    // Without any think time, a closed loop on virtual time would send requests without end.
    let think = Nanos::from_micros(200 + below(20_000));
    let think =
        if below(2) == 0 { Think::Fixed(think) } else { Think::Exponential { mean: think } };
    let deep = below(3) == 0;
    Load {
        conduct: Rc::new(move |key| conduct(seed, key, evil, clumsy)),
        welcome: Rc::new(move |attempt| welcome(seed, attempt, evil)),
        seed,
        shards,
        targets,
        pools,
        connections: 1 + below(12) as usize,
        pipeline: if deep { 1 + below(16) as usize } else { 1 },
        batch: if below(4) == 0 { 1 + below(4) as u32 } else { 1 },
        limits: Limits {
            timeout: Nanos::from_millis(1 + below(300)),
            overdue: if below(3) == 0 { Overdue::Mark } else { Overdue::Cut },
            backlog: if below(6) == 0 { 1 + below(100) as usize } else { 1_000_000 },
            connect_timeout: Nanos::from_millis(1 + below(300)),
            open_gap: Nanos::from_micros(below(2) * 100),
            keep_alive: [None, None, Some(1), Some(1 + below(5) as u32)][below(4) as usize],
            leaves_backlog: below(4) == 0,
        },
        pace: if open {
            Pace::Open { rate, distribution, sharing }
        } else {
            Pace::Closed { think }
        },
        requests: (below(4) == 0).then(|| 1 + below(600)),
        warm_up: Nanos::from_millis(below(2) * below(300)),
        overload: Nanos::ZERO,
        length: Nanos::from_millis(200 + below(500)),
        drain: Nanos::from_millis(below(600)),
        call_cost: Nanos([0, 0, 50, 3_000][below(4) as usize]),
        script: Script {
            is_scripted: below(3) == 0,
            delay: Nanos::from_micros(below(3) * 500),
            preparations: below(300) as u32,
            enough: (below(6) == 0).then(|| 1 + below(200)),
        },
        held_back: below(3) == 0,
    }
}

/// Returns the treatment of a request; `evil` of a hundred fail, and `clumsy` of a hundred are
/// unusual.
fn conduct(seed: u64, (target, number, part): Key, evil: u64, clumsy: u64) -> Conduct {
    let part_of_seed = number * 64 + u64::from(part * 8 + target);
    let mut random = Random::part(seed, part_of_seed);
    let time = Nanos::from_micros(random.below(40_000));
    let draw = random.below(100);
    if draw < evil {
        return match random.below(10) {
            0 => Conduct::Silence,
            1 => Conduct::Reset,
            2 => Conduct::Broken,
            3 => Conduct::ResetMidway,
            4 => Conduct::CloseMidway,
            5 => Conduct::HalfClose,
            6 => Conduct::Nonsense,
            7 => Conduct::Endless,
            8 => Conduct::Withheld,
            _ => Conduct::Late(time * 10),
        };
    }
    if draw < evil + clumsy {
        return match random.below(11) {
            0 => Conduct::Late(time),
            1 => Conduct::Busy,
            2 => Conduct::NoContent,
            3 => Conduct::Chunked,
            4 => Conduct::Interim,
            5 => Conduct::UntilClose,
            6 => Conduct::LastByHeader,
            7 => Conduct::CloseAfter(time),
            8 => Conduct::Bytewise(Nanos(random.below(2) * 1_000)),
            9 => Conduct::Early(time),
            _ => Conduct::Chatter,
        };
    }
    Conduct::Well
}

fn welcome(seed: u64, attempt: u64, evil: u64) -> Welcome {
    let mut random = Random::part(seed ^ 0x77, attempt);
    let time = Nanos::from_micros(random.below(3) * random.below(5_000));
    match random.below(100) < evil {
        false => Welcome::After(time),
        true => match random.below(4) {
            0 => Welcome::Refused(time),
            1 => Welcome::Ignored,
            2 => Welcome::Dismissed,
            _ => Welcome::Greeted,
        },
    }
}

/// The number of seeds; fewer in unoptimized builds.
const SEEDS: u64 = if cfg!(debug_assertions) { 40 } else { 500 };

#[test]
#[expect(clippy::print_stderr, reason = "the last seed that is printed is that of a failure")]
fn random_mixtures_never_break_an_invariant() {
    for seed in 0..SEEDS {
        eprintln!("seed {seed}");
        mixture(seed).run();
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_same_record() {
    for seed in 0..SEEDS / 10 {
        let [one, other] = [0, 1].map(|_| mixture(seed).run());
        assert_eq!(one.witness.completions, other.witness.completions, "seed {seed}");
        let digests = |run: &load::Run| run.truths.iter().map(|t| t.digest).collect::<Vec<_>>();
        assert_eq!(digests(&one), digests(&other), "seed {seed}");
        assert_eq!(one.ended, other.ended, "seed {seed}");
    }
}

/// The requests that the targets get do not depend on the number of shards.
#[test]
fn one_two_and_three_shards_ask_for_the_same() {
    for seed in 0..SEEDS / 10 {
        let asked = |shards| {
            let mut load = mixture(seed);
            load.pace = Pace::Open {
                rate: 900.0,
                distribution: Distribution::Poisson,
                sharing: Sharing::InTurn,
            };
            (load.limits.backlog, load.script.enough) = (LIMITS.backlog, None);
            // As in a real load, each shard has a pool of each target.
            (load.shards, load.pools) = (shards, shards);
            let completions = load.run().witness.completions;
            let mut asked: Vec<_> =
                completions.iter().map(|c| (c.number, c.of.target, c.intended)).collect();
            asked.sort();
            asked
        };
        let one = asked(1);
        assert!(!one.is_empty());
        assert_eq!(one, asked(2), "seed {seed}");
        assert_eq!(one, asked(3), "seed {seed}");
    }
}
