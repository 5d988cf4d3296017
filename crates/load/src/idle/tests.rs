use super::*;

#[test]
fn the_least_loaded_comes_first_and_among_equals_the_one_idle_longest() {
    let mut idle = Idle::new(4);
    for (seat, carried) in [(0, 1), (1, 0), (2, 0), (3, 2)] {
        idle.enter(Seat(seat), carried);
    }
    let mut order = Vec::new();
    while let Some(seat) = idle.first() {
        order.push(seat.0);
        idle.leave(seat);
    }
    assert_eq!(order, [1, 2, 0, 3]);
}

#[test]
fn a_seat_stands_in_one_place_only_and_can_leave_from_the_middle() {
    let mut idle = Idle::new(3);
    for seat in [0, 1, 2, 1] {
        idle.enter(Seat(seat), 0);
    }
    idle.leave(Seat(2));
    idle.leave(Seat(2));
    assert_eq!((idle.contains(Seat(2)), idle.first()), (false, Some(Seat(0))));
    idle.enter(Seat(0), 5);
    assert_eq!(idle.first(), Some(Seat(1)));
    idle.leave(Seat(1));
    assert_eq!(idle.first(), Some(Seat(0)));
}

/// Against a list that is sorted each time.
#[test]
fn any_sequence_of_calls_gives_what_a_sorted_list_gives() {
    for seed in 0..200 {
        let mut random = ::measure::Random::new(seed);
        let mut idle = Idle::new(8);
        // In order of entering: seat and what it carries.
        let mut list: Vec<(Seat, usize)> = Vec::new();
        for _ in 0..300 {
            let seat = Seat(random.below(8) as u32);
            list.retain(|(other, _)| *other != seat);
            if random.below(3) == 0 {
                idle.leave(seat);
            } else {
                let carried = random.below(5) as usize;
                idle.enter(seat, carried);
                list.push((seat, carried));
            }
            let first = list.iter().min_by_key(|(_, carried)| *carried).map(|(seat, _)| *seat);
            assert_eq!(idle.first(), first, "seed {seed}");
            for seat in (0..8).map(Seat) {
                let is_there = list.iter().any(|(other, _)| *other == seat);
                assert_eq!(idle.contains(seat), is_there, "seed {seed}");
            }
        }
    }
}
