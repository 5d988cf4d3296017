use super::*;

#[test]
fn the_least_loaded_comes_first_and_among_equals_the_one_idle_longest() {
    let mut idle = Idle::new(4, 1);
    for (slot, carried) in [(0, 1), (1, 0), (2, 0), (3, 2)] {
        idle.enter(Slot(slot), 0, carried);
    }
    let mut order = Vec::new();
    while let Some(slot) = idle.first(0) {
        order.push(slot.0);
        idle.leave(slot);
    }
    assert_eq!(order, [1, 2, 0, 3]);
}

#[test]
fn a_slot_is_in_one_queue_only_and_can_leave_from_the_middle() {
    let mut idle = Idle::new(3, 1);
    for slot in [0, 1, 2, 1] {
        idle.enter(Slot(slot), 0, 0);
    }
    idle.leave(Slot(2));
    idle.leave(Slot(2));
    assert_eq!((idle.contains(Slot(2)), idle.first(0)), (false, Some(Slot(0))));
    idle.enter(Slot(0), 0, 5);
    assert_eq!(idle.first(0), Some(Slot(1)));
    idle.leave(Slot(1));
    assert_eq!(idle.first(0), Some(Slot(0)));
}

/// Compares with a list that is sorted each time.
#[test]
fn any_sequence_of_calls_gives_what_a_sorted_list_gives() {
    const GROUPS: u32 = 2;
    for seed in 0..200 {
        let mut random = ::measure::Random::new(seed);
        let mut idle = Idle::new(8, GROUPS as usize);
        // In order of entering: the slot and its number of requests.
        let mut list: Vec<(Slot, usize)> = Vec::new();
        for _ in 0..300 {
            let slot = Slot(random.below(8) as u32);
            list.retain(|(other, _)| *other != slot);
            if random.below(3) == 0 {
                idle.leave(slot);
            } else {
                let carried = random.below(5) as usize;
                idle.enter(slot, (slot.0 % GROUPS) as usize, carried);
                list.push((slot, carried));
            }
            for group in 0..GROUPS {
                let of_group = list.iter().filter(|(slot, _)| slot.0 % GROUPS == group);
                let first = of_group.min_by_key(|(_, carried)| *carried).map(|(slot, _)| *slot);
                assert_eq!(idle.first(group as usize), first, "seed {seed}");
            }
            for slot in (0..8).map(Slot) {
                let is_there = list.iter().any(|(other, _)| *other == slot);
                assert_eq!(idle.contains(slot), is_there, "seed {seed}");
            }
        }
    }
}
