use super::*;

fn size(graph: &Graph) -> (u32, u64) {
    (graph.users(), graph.follows())
}

fn quantile(degrees: &[usize], share: f64) -> usize {
    degrees[(share * degrees.len() as f64) as usize]
}

fn degrees(graph: &Graph) -> Vec<usize> {
    let mut degrees: Vec<_> = (0..graph.users()).map(|user| graph.friends(user).len()).collect();
    degrees.sort_unstable();
    degrees
}

#[test]
fn a_generated_graph_has_exactly_the_size_of_the_guide() {
    for seed in [1, 2, 3] {
        let source: Source = "generated".parse().unwrap();
        assert_eq!(source.to_string(), "generated:962x37624");
        assert_eq!(size(&source.graph(seed).unwrap()), (962, 37_624));
    }
}

#[test]
fn a_generated_graph_has_as_many_friends_as_the_originals_where_quantiles_are_compared() {
    let degrees = degrees(&generated(962, 18_812, 1));
    // In socfb-Reed98 they are 1, 14, 29, 54, 87 and 313.
    assert!((1..=4).contains(&degrees[0]), "{}", degrees[0]);
    assert!((9..=19).contains(&quantile(&degrees, 0.25)));
    assert!((24..=34).contains(&quantile(&degrees, 0.5)));
    assert!((49..=59).contains(&quantile(&degrees, 0.75)));
    assert!((77..=97).contains(&quantile(&degrees, 0.9)));
    assert!((200..=340).contains(degrees.last().unwrap()), "{:?}", degrees.last());
}

#[test]
fn friendships_are_mutual_and_nobody_is_alone() {
    let graph = generated(300, 900, 7);
    for user in 0..300 {
        assert!(!graph.friends(user).is_empty() && !graph.friends(user).contains(&user));
        for friend in graph.friends(user) {
            assert!(graph.friends(*friend).contains(&user));
        }
    }
}

#[test]
fn the_seed_decides_a_generated_graph() {
    let friends = |seed| generated(100, 500, seed).friends;
    assert_eq!(friends(1), friends(1));
    assert_ne!(friends(1), friends(2));
}

#[test]
fn the_smallest_and_the_densest_graphs_can_be_drawn() {
    for text in ["generated:4x6", "generated:5x10", "generated:40x780", "generated:1000x2000"] {
        if let Ok(Source::Generated(users, follows)) = text.parse() {
            assert_eq!(size(&generated(users, follows / 2, 1)), (users, follows));
        }
    }
}

#[test]
fn a_size_that_cannot_be_generated_is_refused_with_the_remedy() {
    for (text, part) in [
        ("generated:962", "write generated:USERSxFOLLOWS"),
        ("generated:1x2", "from 2 to"),
        ("generated:99999999x2", "from 2 to"),
        ("generated:962x37625", "an even number"),
        ("generated:962x100", "from 1924 to"),
        ("generated:962x900000", "to 462241"),
    ] {
        let why = text.parse::<Source>().unwrap_err().to_string();
        assert!(why.contains(part), "{text}: {why}");
    }
}

/// Writes files and reads the graph at a path below their folder.
fn graph_of(files: &[(&str, &str)], path: &str) -> Result<Graph, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let read = read(&folder.path().join(path));
    let place = format!("{}/", folder.path().display());
    read.map_err(|error| format!("{error:#}").replace(&place, ""))
}

#[test]
fn a_graph_is_read_from_the_originals_files() {
    let files = [("g.edges", "1 0\r\n# a comment\n\n% another\n2\t0\n0 1\n"), ("g.nodes", "5\n")];
    for path in ["", "g.edges"] {
        let graph = graph_of(&files, path).unwrap();
        assert_eq!(size(&graph), (5, 4));
        assert_eq!(graph.friends(0), [1, 2]);
        assert_eq!(graph.friends(4), [0; 0]);
    }
    assert_eq!(size(&graph_of(&files[..1], "g.edges").unwrap()), (3, 4));
}

#[test]
fn a_wrong_graph_is_refused_with_its_place() {
    for (files, path, part) in [
        (&[("g.edges", "1 0\n2 x\n")][..], "", "g.edges:2:3: `x` is not a valid number"),
        (&[("g.edges", "1 -1")], "", "g.edges:1:3: `-1`"),
        (&[("g.edges", "1 0 2")], "", "g.edges:1:1: this is not a friendship"),
        (&[("g.edges", "7")], "", "g.edges:1:1: this is not a friendship"),
        (&[("g.edges", "3 3")], "", "g.edges:1:1: nobody is a friend of oneself"),
        (&[("g.edges", "1 99999999999")], "", "g.edges:1:3: `99999999999`"),
        (&[("g.edges", "")], "", "it has no friendship"),
        (&[("g.edges", "1 0"), ("g.nodes", "1")], "", "user 1 is not among the 1 users"),
        (&[("g.edges", "1 0"), ("g.nodes", "many")], "", "g.nodes:1:1: `many`"),
        (&[("g.nodes", "1")], "", "0 files that end in .edges"),
        (&[("a.edges", "1 0"), ("b.edges", "1 0")], "", "2 files that end in .edges"),
        (&[], "none", "No such file"),
    ] {
        let why = graph_of(files, path).err().expect(part);
        assert!(why.contains(part), "{part}: {why}");
    }
}
