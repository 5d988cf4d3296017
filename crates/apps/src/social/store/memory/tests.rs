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
fn posts_that_come_in_any_order_are_sorted_once() {
    let mut timelines = Timelines::new(Bounds { length: 1000, entries: 1000 });
    let times = (0..300).map(|number| number * 173 % 300);
    for time in times.clone().chain(times) {
        add(&mut timelines, time, time, &[1]);
    }
    assert_eq!(home(&timelines, 1, 0, 1000), (0..300).rev().collect::<Vec<_>>());
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

/// Returns all timelines of a few users, and the numbers of posts.
fn all(timelines: &Timelines) -> (Vec<Vec<i64>>, [usize; 2]) {
    let kinds = [Kind::Home, Kind::User];
    let of = |kind| (0..5).map(move |user| timelines.range(kind, user, 0, 99));
    (kinds.into_iter().flat_map(of).collect(), kinds.map(|kind| timelines.entries(kind)))
}

#[test]
fn what_came_after_the_noted_state_is_undone_as_often_as_wanted() {
    let mut randomness = 1_u64;
    let mut draw = |below: u64| {
        randomness = randomness.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((randomness >> 33) % below) as i64
    };
    // Many are there already, are older than all, or push the oldest out.
    let mut more = |timelines: &mut Timelines| {
        let (kind, post_id) = (draw(2) as i32, draw(12));
        let user_ids = vec![draw(5), draw(5)];
        timelines.add(&Addition { kind, post_id, timestamp: 7 * post_id % 12, user_ids });
    };
    let mut timelines = Timelines::new(Bounds { length: 4, entries: 99 });
    assert!(!timelines.undo(), "nothing was noted");
    for _ in 0..20 {
        more(&mut timelines);
        timelines.note();
        let noted = all(&timelines);
        for changes in [0, 1, 3, 40] {
            (0..changes).for_each(|_| more(&mut timelines));
            assert!(timelines.undo());
            assert_eq!(all(&timelines), noted);
        }
    }
}

#[test]
fn too_many_changes_are_not_kept() {
    let mut timelines = Timelines::new(Bounds { length: 4, entries: 2 * MOST_CHANGES });
    timelines.note();
    let users: Vec<i64> = (0..=MOST_CHANGES as i64).collect();
    add(&mut timelines, 1, 10, &users);
    assert!(!timelines.undo());
    assert_eq!(timelines.entries(Kind::Home), MOST_CHANGES + 1);
}
