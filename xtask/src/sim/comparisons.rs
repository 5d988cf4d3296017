//! The error rates of comparisons in blocks of four.

use measure::Random;
use measure::comparison::{Better, Block, Verdict, compare, p_value};

use super::{Extent, Goal, Noise, Rate, noise, share};

/// The trials of one arm in a block.
const OF_ARM: usize = 2;
/// The standard deviation between trials.
const SD: f64 = 0.02;
/// The significance of all tests.
const ALPHA: f64 = 0.05;
/// The difference that matters.
const MARGIN: f64 = 0.03;

/// Returns the blocks of a comparison with this effect on arm B, in the order in which they ran.
fn blocks(noise: Noise, per_arm: usize, sd: f64, effect: f64, random: &mut Random) -> Vec<Block> {
    let trials = noise.trials(2 * per_arm, sd, random);
    let block = |trials: &[f64]| {
        let mut block = Block::default();
        let mut left = [OF_ARM, OF_ARM];
        for trial in trials {
            // A random order of the arms: each place is drawn from what is left.
            let is_a = random.below((left[0] + left[1]) as u64) < left[0] as u64;
            left[usize::from(!is_a)] -= 1;
            match is_a {
                true => block.a.push(trial.exp()),
                false => block.b.push((trial + effect).exp()),
            }
        }
        block
    };
    trials.chunks_exact(2 * OF_ARM).map(block).collect()
}

pub(super) fn rates(extent: Extent) -> Vec<Rate> {
    let mut rates = Vec::new();
    let differs = |noise, per_arm, effect: f64| {
        move |random: &mut Random| {
            let blocks = blocks(noise, per_arm, SD, effect.ln_1p(), random);
            p_value(&blocks).is_some_and(|p| p <= ALPHA)
        }
    };
    for noise in noise::ALL {
        for per_arm in [6, 10, 20] {
            let what = format!("compare, no difference, {}, {per_arm} per arm", noise.name());
            rates.push(share(
                what,
                extent,
                Goal::at_most(0.055, 0.05),
                differs(noise, per_arm, 0.0),
            ));
        }
    }
    for (noise, goal) in [
        (Noise::Iid, Goal::at_least(0.99, 0.995)),
        (Noise::Drift, Goal::at_least(0.99, 0.995)),
        (Noise::Ar, Goal::at_least(0.99, 0.995)),
        (Noise::Step, Goal::at_least(0.99, 0.995)),
        (Noise::Outlier, Goal::at_least(0.85, 0.9)),
        (Noise::Bimodal, Goal::None),
    ] {
        let what = format!("compare, 5 % more, {}, 10 per arm", noise.name());
        rates.push(share(what, extent, goal, differs(noise, 10, 0.05)));
    }
    let what = "compare, no difference, independent, SD 1 %, 10 per arm: equivalent".to_owned();
    rates.push(share(what, extent, Goal::at_least(0.95, 0.98), |random| {
        let blocks = blocks(Noise::Iid, 10, 0.01, 0.0, random);
        let found = compare(&blocks, ALPHA).expect("both arms have trials");
        found.verdict(Better::Lower, MARGIN) == Verdict::Equivalent
    }));
    rates
}
