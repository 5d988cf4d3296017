use std::sync::Barrier;
use std::thread;

use super::*;

#[test]
fn a_number_counts_when_all_before_are_answered() {
    let inserts = Acknowledged::new(1000);
    let taken: Vec<u64> = (0..4).filter_map(|_| inserts.take()).collect();
    assert_eq!((taken, inserts.limit()), (vec![1000, 1001, 1002, 1003], 1000));
    inserts.acknowledge(1001);
    inserts.acknowledge(1003);
    assert_eq!(inserts.limit(), 1000);
    inserts.acknowledge(1000);
    assert_eq!(inserts.limit(), 1002);
    inserts.acknowledge(1002);
    assert_eq!(inserts.limit(), 1004);
}

#[test]
fn a_full_window_gives_no_number_until_the_oldest_is_answered() {
    let inserts = Acknowledged::new(7);
    for _ in 0..WINDOW {
        inserts.take().unwrap();
    }
    assert_eq!(inserts.take(), None);
    for number in 8..7 + WINDOW {
        inserts.acknowledge(number);
    }
    assert_eq!((inserts.take(), inserts.limit()), (None, 7));
    inserts.acknowledge(7);
    assert_eq!((inserts.take(), inserts.limit()), (Some(7 + WINDOW), 7 + WINDOW));
}

#[test]
fn several_shards_lose_no_answer_over_several_windows() {
    const SHARDS: u64 = 4;
    let inserts = Acknowledged::new(3);
    let start = Barrier::new(SHARDS as usize);
    let shard = || {
        start.wait();
        let mut taken = 0;
        while taken < 2 * WINDOW {
            // The window is full while the thread with the oldest insert has no CPU: then nothing is taken.
            let both = [inserts.take(), inserts.take()];
            for number in both.into_iter().flatten().rev() {
                inserts.acknowledge(number);
                taken += 1;
            }
        }
        taken
    };
    let taken: u64 = thread::scope(|scope| {
        let shards = [(); SHARDS as usize].map(|()| scope.spawn(shard));
        shards.map(|shard| shard.join().unwrap()).iter().sum()
    });
    assert_eq!(inserts.limit(), 3 + taken);
}
