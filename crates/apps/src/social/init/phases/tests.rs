use super::super::posts::Choice;
use super::*;

#[test]
fn a_home_timeline_has_the_posts_of_friends_and_those_with_a_mention_once() {
    let graph: Graph =
        "generated:30x120".parse::<super::super::graph::Source>().unwrap().graph(5).unwrap();
    for choice in [Choice::Each, Choice::UpTo] {
        let posts = Posts { choice, number: 8, users: 30, seed: 5 };
        let lengths = home_lengths(&graph, &posts);
        for (user, length) in (0..).zip(lengths) {
            let all = posts.authors().flat_map(|author| {
                (0..posts.count(author)).map(move |number| (author, posts.post(author, number)))
            });
            let is_shown = |(author, post): &(u32, super::super::posts::Post)| {
                graph.friends(user).contains(author) || post.mentions.contains(&user)
            };
            assert_eq!(all.filter(is_shown).count() as u64, length, "{choice:?}: {user}");
        }
    }
}
