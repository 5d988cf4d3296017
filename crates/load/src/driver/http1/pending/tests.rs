use std::collections::VecDeque;

use ::measure::Random;
use wire::http1::Expect;

use super::*;

fn pending(number: u32) -> Pending {
    let expected = Expected { body: Expect::Body, tag: number, closes: false };
    Pending { token: Token(number), expected, is_last: true, sent: None }
}

/// Compares with a separate queue for each connection.
#[test]
fn each_connection_gets_its_answers_in_order_whatever_the_others_do() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut slab = Slab::with_room_for(4);
        let mut queues = [Queue::default(); 4];
        let mut known: [VecDeque<u32>; 4] = Default::default();
        let mut most = 0;
        for number in 0..500 {
            let slot = random.below(4) as usize;
            if random.below(2) == 0 {
                slab.push(&mut queues[slot], pending(number));
                known[slot].push_back(number);
            } else {
                let popped = slab.pop(&mut queues[slot]).map(|pending| pending.token.0);
                assert_eq!(popped, known[slot].pop_front(), "seed {seed}");
            }
            for (queue, known) in queues.iter().zip(&known) {
                let first = slab.first(*queue).map(|pending| pending.token.0);
                assert_eq!(first, known.front().copied(), "seed {seed}");
            }
            most = most.max(known.iter().map(VecDeque::len).sum());
        }
        assert_eq!(slab.entries.len(), most, "places are used again");
    }
}
