use super::*;

const BOUNDS: Bounds = Bounds { length: 4, entries: 6 };

fn add(timelines: &mut Timelines, post_id: i64, timestamp: i64, user_ids: &[i64]) {
    let user_ids = user_ids.to_vec();
    timelines.add(&Addition { kind: Kind::Home.into(), post_id, timestamp, user_ids });
}

fn home(timelines: &Timelines, user: i64, start: u64, stop: u64) -> Vec<i64> {
    timelines.range(Kind::Home, user, start, stop)
}

#[test]
fn the_newest_post_is_first_whenever_it_was_added() {
    let mut timelines = Timelines::new(BOUNDS);
    for (post, time) in [(7, 30), (5, 10), (6, 20), (9, 20)] {
        add(&mut timelines, post, time, &[1]);
    }
    assert_eq!(home(&timelines, 1, 0, 10), [7, 9, 6, 5]);
    assert!(home(&timelines, 2, 0, 10).is_empty());
    assert!(timelines.range(Kind::User, 1, 0, 10).is_empty());
}

#[test]
fn a_range_is_what_there_is_of_it() {
    let mut timelines = Timelines::new(BOUNDS);
    for post in 1..=4 {
        add(&mut timelines, post, post, &[1]);
    }
    for (start, stop, expected) in [
        (0, 2, &[4, 3][..]),
        (1, 3, &[3, 2]),
        (3, 9, &[1]),
        (4, 9, &[]),
        (2, 2, &[]),
        (3, 1, &[]),
        (u64::MAX, u64::MAX, &[]),
        (0, u64::MAX, &[4, 3, 2, 1]),
    ] {
        assert_eq!(home(&timelines, 1, start, stop), expected, "{start} to {stop}");
    }
}

#[test]
fn a_post_is_added_once() {
    let mut timelines = Timelines::new(BOUNDS);
    for _ in 0..3 {
        add(&mut timelines, 1, 10, &[1, 2, 1]);
        add(&mut timelines, 2, 20, &[1]);
    }
    assert_eq!((home(&timelines, 1, 0, 9), home(&timelines, 2, 0, 9)), (vec![2, 1], vec![1]));
    assert_eq!(timelines.entries(Kind::Home), 3);
}

#[test]
fn a_full_timeline_keeps_its_newest_posts() {
    let mut timelines = Timelines::new(BOUNDS);
    for post in [1, 2, 3, 5, 6] {
        add(&mut timelines, post, 10 * post, &[1]);
    }
    assert_eq!(home(&timelines, 1, 0, 9), [6, 5, 3, 2]);
    add(&mut timelines, 1, 10, &[1]);
    assert_eq!(home(&timelines, 1, 0, 9), [6, 5, 3, 2]);
    add(&mut timelines, 4, 40, &[1]);
    assert_eq!(home(&timelines, 1, 0, 9), [6, 5, 4, 3]);
    assert_eq!(timelines.entries(Kind::Home), 4);
    assert!(timelines.has_room(2) && !timelines.has_room(3));
}
