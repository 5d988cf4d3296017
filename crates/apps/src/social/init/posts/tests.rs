use std::collections::HashSet;

use super::super::graph::Source;
use super::super::phases::home_lengths;
use super::*;

const EACH: Posts = Posts { choice: Choice::Each, number: 3, users: 50, seed: 1 };
const UP_TO: Posts = Posts { choice: Choice::UpTo, number: 20, users: 962, seed: 1 };

#[test]
fn each_user_has_exactly_as_many_posts_as_asked_for() {
    assert_eq!((EACH.authors(), EACH.total()), (0..50, 150));
    let guide = Posts { number: 110, users: 962, ..EACH };
    assert_eq!(guide.total(), 105_820);
    let none = Posts { number: 0, ..EACH };
    assert_eq!((none.authors().count(), none.total()), (0, 0));
}

#[test]
fn up_to_as_many_posts_are_spread_evenly_and_begin_with_user_1() {
    assert_eq!(UP_TO.authors(), 1..963);
    let counts: Vec<u32> = UP_TO.authors().map(|author| UP_TO.count(author)).collect();
    let distinct: HashSet<_> = counts.iter().collect();
    assert_eq!((counts.iter().min(), counts.iter().max()), (Some(&0), Some(&20)));
    assert_eq!(distinct.len(), 21);
    // The mean is 10, with a standard deviation of 188 posts.
    assert!(UP_TO.total().abs_diff(9_620) < 6 * 188, "{}", UP_TO.total());
}

#[test]
fn a_post_is_the_same_every_time_and_recognised_by_its_beginning() {
    let mut marks = HashSet::new();
    for author in EACH.authors() {
        for number in 0..3 {
            let post = EACH.post(author, number);
            assert_eq!(post, EACH.post(author, number));
            let mark = EACH.mark(author, number);
            assert!(mark.len() == MARK && post.text.starts_with(&mark));
            assert!(marks.insert(mark));
        }
    }
    let other = Posts { seed: 2, ..EACH };
    assert_ne!(EACH.mark(0, 0), other.mark(0, 0));
}

#[test]
fn posts_have_the_sizes_of_the_originals() {
    let mut sums = [0; 3];
    for author in UP_TO.authors() {
        let Post { text, mentions, media } = UP_TO.post(author, 0);
        let urls: Vec<&str> = text.split(" http://").skip(1).collect();
        assert!(mentions.len() <= 5 && urls.len() <= 5 && media.len() <= 5, "{text}");
        assert!(!mentions.contains(&author) && mentions.iter().all(|one| *one <= 962));
        assert!(urls.iter().all(|url| url.len() == 64 && !url.contains(' ')), "{text}");
        assert!(media.iter().all(|id| id.len() == 18 && id.bytes().all(|c| c.is_ascii_digit())));
        let names: Vec<String> = mentions.iter().map(|one| format!("@username_{one}")).collect();
        let words: Vec<&str> = text.split(' ').filter(|word| word.starts_with('@')).collect();
        assert_eq!(words, names);
        for (sum, count) in sums.iter_mut().zip([mentions.len(), urls.len(), media.len()]) {
            *sum += count;
        }
    }
    // Each mean is 2.5, with a standard deviation of 1.7 for one post.
    for sum in sums {
        assert!(sum.abs_diff(2_405) < 6 * 53, "{sums:?}");
    }
}

#[test]
fn one_user_alone_mentions_nobody() {
    let alone = Posts { users: 1, ..EACH };
    assert!((0..3).all(|number| alone.post(0, number).mentions.is_empty()));
}

/// The workload reads ten posts from a place drawn from 0 to 100 on. With the original's graph and
/// posts, 94 % of these pages are full.
#[test]
fn pages_of_home_timelines_are_as_full_as_the_originals() {
    let graph = "generated".parse::<Source>().unwrap().graph(1).unwrap();
    let lengths = home_lengths(&graph, &UP_TO);
    let full = lengths.iter().map(|length| (length + 1).saturating_sub(10).min(101)).sum::<u64>();
    let share = full as f64 / (101.0 * lengths.len() as f64);
    assert!((0.93..0.97).contains(&share), "{share}");
}
