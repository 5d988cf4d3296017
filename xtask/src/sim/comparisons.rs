//! The error rates of comparisons in blocks of four.

use measure::Random;
use measure::comparison::{
    Better, Block, Comparison, Verdict, adjusted, adjusted_p_value, compare, p_value,
};

use super::{Extent, Figure, Goal, Noise, Rate, SHOWN_SEEDS, each, noise, share};

/// The trials of one arm in a block.
const OF_ARM: usize = 2;
/// The trials of each arm, where they are not varied.
const PER_ARM: usize = 10;
/// The standard deviation between trials.
const SD: f64 = 0.02;
/// The significance of all tests.
const ALPHA: f64 = 0.05;
/// The difference that matters.
const MARGIN: f64 = 0.03;

/// Returns the blocks of a comparison with this effect on arm B, in the order in which they ran.
fn blocks(noise: Noise, per_arm: usize, sd: f64, effect: f64, random: &mut Random) -> Vec<Block> {
    let trials = noise.trials(2 * per_arm, sd, random);
    in_blocks(&trials, &vec![0.0; trials.len()], effect, random).0
}

/// Returns the same with the speed of the machine, which explains this share of the variance; what its
/// noise adds to independent trials is explained whole.
fn with_speed(
    noise: Noise,
    per_arm: usize,
    explained: f64,
    effect: f64,
    random: &mut Random,
) -> (Vec<Block>, Vec<Block>) {
    let count = 2 * per_arm;
    let speeds = noise.trials(count, SD * explained.sqrt(), random);
    let own = Noise::Iid.trials(count, SD * (1.0 - explained).sqrt(), random);
    let trials: Vec<f64> = speeds.iter().zip(own).map(|(speed, own)| own - speed).collect();
    // A speed that explains nothing varies as much, but apart from the figures.
    let speeds = match explained {
        0.0 => noise.trials(count, SD, random),
        _ => speeds,
    };
    in_blocks(&trials, &speeds, effect, random)
}

/// Divides trials into blocks, with this effect on arm B; returns their figures, and their speeds in the
/// same places.
fn in_blocks(
    trials: &[f64],
    speeds: &[f64],
    effect: f64,
    random: &mut Random,
) -> (Vec<Block>, Vec<Block>) {
    let block = |(trials, speeds): (&[f64], &[f64])| {
        let (mut block, mut of_speeds) = (Block::default(), Block::default());
        let mut left = [OF_ARM, OF_ARM];
        for (trial, speed) in trials.iter().zip(speeds) {
            // A random order of the arms: each place is drawn from what is left.
            let is_a = random.below((left[0] + left[1]) as u64) < left[0] as u64;
            left[usize::from(!is_a)] -= 1;
            match is_a {
                true => block.a.push(trial.exp()),
                false => block.b.push((trial + effect).exp()),
            }
            let speeds = if is_a { &mut of_speeds.a } else { &mut of_speeds.b };
            speeds.push(speed.exp());
        }
        (block, of_speeds)
    };
    trials.chunks_exact(2 * OF_ARM).zip(speeds.chunks_exact(2 * OF_ARM)).map(block).unzip()
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
        rates.push(share(what, extent, goal, differs(noise, PER_ARM, 0.05)));
    }
    let what = "compare, no difference, independent, SD 1 %, 10 per arm: equivalent".to_owned();
    rates.push(share(what, extent, Goal::at_least(0.95, 0.98), |random| {
        let blocks = blocks(Noise::Iid, 10, 0.01, 0.0, random);
        let found = compare(&blocks, ALPHA).expect("both arms have trials");
        found.verdict(Better::Lower, MARGIN) == Verdict::Equivalent
    }));
    rates.extend(of_speed(extent));
    rates
}

/// Counts the verdicts that are not so, of the comparison and of the one at equal speed; and the intervals
/// that do not agree with their test.
pub(super) fn verdicts(extent: Extent) -> (Vec<Rate>, Figure) {
    let mut rates = Vec::new();
    let mut disagree = Vec::new();
    for noise in noise::ALL {
        for per_arm in [6, 10, 20] {
            let raw = move |effect: f64, random: &mut Random| {
                let blocks = blocks(noise, per_arm, SD, effect.ln_1p(), random);
                compare(&blocks, ALPHA).expect("both arms have trials")
            };
            let at_equal_speed = move |effect: f64, random: &mut Random| {
                let (figures, speeds) = with_speed(noise, per_arm, 0.5, effect.ln_1p(), random);
                adjusted(&figures, &speeds, ALPHA).expect("the speeds vary").comparison
            };
            let place = format!("{}, {per_arm} per arm", noise.name());
            for (what, compared) in [
                ("verdict", &raw as &(dyn Fn(f64, &mut Random) -> Comparison + Sync)),
                ("verdict at equal speed", &at_equal_speed),
            ] {
                let [equal, more] = [0.0, 0.05].map(|effect| {
                    each(extent.first, extent.verdicts, |random| compared(effect, random))
                });
                rates.extend(wrong(&format!("{what}, {place}"), extent.first, &equal, &more));
                let all = equal.iter().zip(&more).zip(extent.first..);
                let wrong = all.filter(|((equal, more), _)| disagrees(equal) || disagrees(more));
                disagree.extend(wrong.map(|(_, seed)| seed));
            }
        }
    }
    let figure = Figure {
        what: "verdicts: intervals that exclude 1 and a p above 5 %, or the reverse".to_owned(),
        value: disagree.len() as f64,
        goal: Goal::at_most(0.0, 0.0),
        seeds: disagree.into_iter().take(SHOWN_SEEDS).collect(),
    };
    (rates, figure)
}

/// Returns true if the interval and the test do not say the same.
fn disagrees(found: &Comparison) -> bool {
    let (low, high) = found.interval;
    (1.0 < low || high < 1.0) != (found.p <= ALPHA)
}

/// Counts the wrong verdicts of comparisons without a difference, and of such with one of 5 %.
fn wrong(what: &str, first: u64, equal: &[Comparison], more: &[Comparison]) -> [Rate; 3] {
    let rate = |name: &str, goal: Goal, all: &[Comparison], counted: &[Verdict]| {
        let is_counted =
            |found: &Comparison| counted.contains(&found.verdict(Better::Lower, MARGIN));
        let found: Vec<bool> = all.iter().map(is_counted).collect();
        Rate::of(format!("{what}, {name}"), first, goal, &found)
    };
    let different = [Verdict::Better, Verdict::Worse];
    [
        rate("no difference: better or worse", Goal::at_most(0.055, 0.05), equal, &different),
        rate("5 % more: equivalent", Goal::at_most(0.01, 0.005), more, &[Verdict::Equivalent]),
        rate("5 % more: worse", Goal::None, more, &[Verdict::Worse]),
    ]
}

/// Compares the test of the figures with that of the figures at equal speed.
fn of_speed(extent: Extent) -> Vec<Rate> {
    let mut rates = Vec::new();
    for (explained, noise) in [
        (0.5, Noise::Iid),
        (0.5, Noise::Ar),
        (0.5, Noise::Drift),
        (0.5, Noise::Outlier),
        (0.0, Noise::Iid),
    ] {
        for (effect, name) in [(0.0_f64, "no difference"), (0.03, "3 % more"), (0.05, "5 % more")] {
            let raw = move |random: &mut Random| {
                let (figures, _) = with_speed(noise, PER_ARM, explained, effect.ln_1p(), random);
                p_value(&figures).is_some_and(|p| p <= ALPHA)
            };
            let adjusted = move |random: &mut Random| {
                let (figures, speeds) =
                    with_speed(noise, PER_ARM, explained, effect.ln_1p(), random);
                adjusted_p_value(&figures, &speeds).is_some_and(|p| p <= ALPHA)
            };
            let what = |how: &str| {
                format!("compare, {name}, a speed ({}) explains {explained}, {how}", noise.name())
            };
            let raw = share(what("raw"), extent, of_effect(effect, None), raw);
            let goal = of_effect(effect, (0.0 < explained).then_some(raw.share));
            let adjusted = share(what("adjusted"), extent, goal, adjusted);
            rates.extend([raw, adjusted]);
        }
    }
    rates
}

/// Returns the goal: few errors without an effect, a large one found as ever, and a smaller one as often
/// as by the raw test.
fn of_effect(effect: f64, raw: Option<f64>) -> Goal {
    match (effect, raw) {
        (0.0, _) => Goal::at_most(0.055, 0.05),
        (0.05, Some(_)) => Goal::at_least(0.99, 0.995),
        (_, Some(raw)) => Goal::at_least(raw, raw),
        (_, None) => Goal::None,
    }
}
