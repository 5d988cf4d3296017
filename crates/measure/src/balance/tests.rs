use crate::Random;

use super::*;

const SECOND: f64 = 1e9;

/// A simulated target with its response times.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// Each request takes this many seconds, whatever the others do.
    Constant(f64),
    /// Exponential response times with this mean.
    Exponential(f64),
    /// One request after the other, this many per second.
    Queue(f64),
    /// One request after the other, this many per second on average, exponential.
    Random(f64),
    /// One of every ten requests is never answered.
    Failing,
    /// Answers nothing after this many seconds.
    HangsAt(f64),
    /// Answers nothing between these seconds, and all waiting requests at the end.
    Stalls(f64, f64),
}

#[derive(Clone, Copy, Debug)]
struct Offer {
    poisson: bool,
    rate: f64,
    warm_up_s: f64,
    measure_s: f64,
    seed: u64,
}

const OFFER: Offer =
    Offer { poisson: true, rate: 1_000.0, warm_up_s: 0.0, measure_s: 10.0, seed: 1 };

impl Offer {
    fn constant(self) -> Offer {
        Offer { poisson: false, ..self }
    }

    fn arrivals(&self, random: &mut Random) -> Vec<f64> {
        let mut at = 0.0;
        let end = self.warm_up_s + self.measure_s;
        std::iter::from_fn(|| {
            let gap = if self.poisson { random.exponential(1.0) } else { 1.0 };
            at += gap / self.rate;
            (at < end).then_some(at)
        })
        .collect()
    }

    fn answers(arrivals: &[f64], target: Target, random: &mut Random) -> Vec<f64> {
        let mut free: f64 = 0.0;
        let answer = |(index, &at): (usize, &f64)| match target {
            Target::Constant(takes) => Some(at + takes),
            Target::Exponential(mean) => Some(at + random.exponential(mean)),
            Target::Queue(rate) => {
                free = free.max(at) + 1.0 / rate;
                Some(free)
            }
            Target::Random(rate) => {
                free = free.max(at) + random.exponential(1.0 / rate);
                Some(free)
            }
            Target::Failing => (index % 10 != 0).then_some(at + 0.001),
            Target::HangsAt(when) => (at < when).then_some(at + 0.001),
            Target::Stalls(from, until) if from <= at && at < until => Some(until),
            Target::Stalls(..) => Some(at + 0.001),
        };
        arrivals.iter().enumerate().filter_map(answer).collect()
    }

    fn balance(&self, target: Target) -> Balance {
        let mut random = Random::new(self.seed);
        let arrivals = self.arrivals(&mut random);
        let answers = Offer::answers(&arrivals, target, &mut random);
        let at = |seconds: f64| Instant((seconds * SECOND) as u64);
        let mut balance = Balance::new(at(self.warm_up_s));
        arrivals.iter().for_each(|&seconds| balance.arrived(at(seconds)));
        let end = self.warm_up_s + self.measure_s;
        answers.iter().filter(|&&s| s < end).for_each(|&seconds| balance.answered(at(seconds)));
        balance
    }

    fn verdict(self, target: Target) -> Option<bool> {
        self.balance(target).is_saturated()
    }

    /// Returns the share of such loads that are judged saturated.
    fn saturated(self, target: Target) -> f64 {
        let loads = if self.rate < 1_000.0 { 1_000 } else { 100 };
        let load = |seed| Offer { seed, ..self }.verdict(target);
        (0..loads).filter(|&seed| load(seed) == Some(true)).count() as f64 / loads as f64
    }
}

/// 400 ms at 100/s for 10 s without a warm-up: 4 % of the requests are in progress at the end.
#[test]
fn a_slow_target_that_keeps_up_is_not_saturated() {
    let slow = Offer { rate: 100.0, ..OFFER };
    assert_eq!(slow.constant().verdict(Target::Constant(0.4)), Some(false));
    assert!(slow.saturated(Target::Constant(0.4)) <= 0.001);
    assert!(slow.saturated(Target::Exponential(0.4)) <= 0.001);
}

#[test]
fn a_target_that_completes_nine_tenths_of_the_offer_is_saturated() {
    for warm_up_s in [0.0, 5.0] {
        let offer = Offer { warm_up_s, ..OFFER };
        assert_eq!(offer.constant().verdict(Target::Queue(900.0)), Some(true), "{warm_up_s}");
        assert!(0.95 < offer.saturated(Target::Queue(900.0)), "{warm_up_s}");
        assert!(0.95 < offer.saturated(Target::Random(900.0)), "{warm_up_s}");
    }
    for share in [0.5, 0.1, 0.01] {
        assert_eq!(OFFER.verdict(Target::Queue(1_000.0 * share)), Some(true), "{share}");
    }
}

#[test]
fn a_queue_at_nine_tenths_of_its_capacity_is_not_saturated() {
    // With 200 requests its queue grows at random as if without limit.
    for (rate, at_most) in [(20.0, 0.1), (100.0, 0.025), (1_000.0, 0.0)] {
        let saturated = Offer { rate, ..OFFER }.saturated(Target::Random(rate / 0.9));
        assert!(saturated <= at_most, "{saturated} at {rate}/s");
    }
}

#[test]
fn a_target_that_hangs_or_fails_is_saturated_and_one_that_stalls_is_not() {
    assert_eq!(OFFER.verdict(Target::HangsAt(4.0)), Some(true));
    assert_eq!(OFFER.verdict(Target::Failing), Some(true));
    assert_eq!(OFFER.verdict(Target::Stalls(4.0, 6.0)), Some(false));
    assert_eq!(OFFER.verdict(Target::Stalls(9.0, 10.0)), Some(false));
}

#[test]
fn a_short_load_is_judged_if_possible() {
    let short = Offer { rate: 1_000.0, measure_s: 0.4, ..OFFER };
    assert_eq!(short.verdict(Target::Constant(0.002)), Some(false));
    assert_eq!(short.verdict(Target::Queue(500.0)), Some(true));
    // The first response comes after the load, or late in it.
    assert_eq!(short.verdict(Target::Constant(0.4)), None);
    assert_eq!(short.verdict(Target::Constant(0.2)), None);
    // The unanswered requests are within random variation.
    let few = Offer { rate: 30.0, ..short };
    assert_eq!(few.verdict(Target::Constant(0.05)), None);
    assert_eq!(Balance::new(Instant(0)).is_saturated(), None);
}

/// A load with a fixed number of requests lasts until the last response; nothing arrives meanwhile.
#[test]
fn the_time_after_the_last_arrival_does_not_count() {
    let mut balance = OFFER.constant().balance(Target::Queue(900.0));
    (9_000..10_000).for_each(|n| balance.answered(Instant(n * 1_111_111)));
    assert_eq!(balance.is_saturated(), Some(true));
}

#[test]
fn shards_are_judged_together() {
    let mut whole = Offer { seed: 1, ..OFFER }.balance(Target::Queue(900.0));
    // Longer, and so with longer slices.
    let longer = Offer { seed: 2, measure_s: 60.0, rate: 100.0, ..OFFER };
    let other = longer.balance(Target::Constant(0.01));
    let count = |balance: &Balance| sum(&balance.slices).and(balance.before);
    let both = count(&whole).and(count(&other));
    whole.add(other);
    assert_eq!(count(&whole), both);
    assert_eq!(whole.start, Instant(0));
}

/// A rate that rises from 10/s to 1,000/s in a minute, and a target that always takes two seconds.
#[test]
fn a_rising_rate_is_not_saturation() {
    let balance = |takes: f64| {
        let mut balance = Balance::new(Instant(0));
        let at = |seconds: f64| Instant((seconds * SECOND) as u64);
        let arrivals = (0..30_300).map(|n| {
            // The n-th arrival of a rate of 10 + 16.5 t.
            let n = f64::from(n);
            ((100.0 + 33.0 * n).sqrt() - 10.0) / 16.5
        });
        for arrival in arrivals.filter(|arrival| *arrival < 60.0) {
            balance.arrived(at(arrival));
            if arrival + takes < 60.0 {
                balance.answered(at(arrival + takes));
            }
        }
        balance.is_saturated()
    };
    assert_eq!(balance(2.0), None);
    assert_eq!(balance(0.01), Some(false));
}

/// Sessions on a target that serves one request after the other. Each step is intended a think time after the response
/// to the step before it.
#[derive(Clone, Copy, Debug)]
struct Users {
    /// Sessions that begin each second.
    rate: f64,
    steps: u32,
    /// Requests that the target answers each second; as many as are asked for without a limit, each after a second.
    answers: Option<f64>,
    /// The mean of an exponential think time, in seconds.
    think_s: f64,
    warm_up_s: f64,
    measure_s: f64,
}

/// The loads of each kind that are tried.
const SEEDS: u64 = 20;

const USERS: Users = Users {
    rate: 20.0,
    steps: 5,
    answers: Some(200.0),
    think_s: 0.2,
    warm_up_s: 2.0,
    measure_s: 20.0,
};

impl Users {
    /// Returns the balances of the requests and of the sessions.
    fn balances(self, seed: u64) -> (Balance, Balance) {
        let mut random = Random::new(seed);
        let at = |seconds: f64| Instant((seconds * SECOND) as u64);
        let end = self.warm_up_s + self.measure_s;
        let mut requests = Balance::new(at(self.warm_up_s));
        let mut sessions = requests.clone();
        // The requests that are due, as their time in nanoseconds and the steps that follow.
        let mut due = std::collections::BinaryHeap::new();
        let mut begin = random.exponential(1.0) / self.rate;
        while begin < end {
            sessions.arrived(at(begin));
            due.push(std::cmp::Reverse((at(begin), self.steps)));
            begin += random.exponential(1.0) / self.rate;
        }
        let mut free = 0.0_f64;
        while let Some(std::cmp::Reverse((intended, left))) = due.pop() {
            let seconds = intended.0 as f64 / SECOND;
            if end <= seconds {
                break;
            }
            requests.arrived(intended);
            let done = match self.answers {
                Some(per_s) => {
                    free = free.max(seconds) + random.exponential(1.0) / per_s;
                    free
                }
                None => seconds + random.exponential(1.0),
            };
            if end <= done {
                continue;
            }
            requests.answered(at(done));
            match left {
                1 => sessions.answered(at(done)),
                _ => {
                    let think = random.exponential(1.0) * self.think_s;
                    due.push(std::cmp::Reverse((at(done + think), left - 1)));
                }
            }
        }
        (requests, sessions)
    }

    /// Returns the share of such loads with this verdict.
    fn share(self, verdict: Option<bool>) -> f64 {
        let is = |seed: &u64| {
            let (requests, sessions) = self.balances(*seed);
            requests.is_saturated_by(&sessions) == verdict
        };
        (0..SEEDS).filter(is).count() as f64 / SEEDS as f64
    }

    fn fills(self) -> f64 {
        (0..SEEDS).filter(|seed| self.balances(*seed).1.still_fills()).count() as f64 / SEEDS as f64
    }
}

#[test]
fn sessions_at_twice_what_a_target_completes_are_saturated_and_at_half_of_it_they_are_not() {
    let half = USERS;
    assert!(half.share(Some(true)) <= 0.01, "{}", half.share(Some(true)));
    assert!(0.9 <= half.share(Some(false)), "{}", half.share(Some(false)));
    assert!(half.fills() <= 0.02, "{}", half.fills());
    let twice = Users { rate: 80.0, ..USERS };
    assert!(0.99 <= twice.share(Some(true)), "{}", twice.share(Some(true)));
    // A fifth above it: most requests are answered, and the sessions are not.
    let above = Users { rate: 48.0, ..USERS };
    assert!(0.9 <= above.share(Some(true)), "{}", above.share(Some(true)));
}

/// The requests alone call 8 loads of 100 kept up with, and none of their sessions was.
#[test]
fn a_load_that_is_shorter_than_its_sessions_is_not_known_to_be_kept_up_with() {
    let short = Users { rate: 60.0, think_s: 1.5, warm_up_s: 1.0, measure_s: 5.0, ..USERS };
    assert!(short.share(Some(false)) <= 0.01, "{}", short.share(Some(false)));
    assert!(0.95 <= short.fills(), "{}", short.fills());
}

#[test]
fn think_times_and_slow_responses_are_not_saturation() {
    for think_s in [0.2, 1.0, 3.0] {
        for (warm_up_s, measure_s) in [(0.0, 5.0), (1.0, 10.0), (0.0, 30.0)] {
            for (answers, rate) in [(Some(2_000.0), 20.0), (None, 20.0), (None, 100.0)] {
                let users = Users { rate, answers, think_s, warm_up_s, measure_s, ..USERS };
                let share = users.share(Some(true));
                assert!(share <= 0.1, "{users:?}: {share}");
            }
        }
    }
}
