//! The social graph: users with the numbers 0, 1, …, and friendships between them. A friendship is
//! two follows, one in each direction.
//!
//! A graph is read from files in the original's format, or generated from a seed: then nothing is
//! needed from outside.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail, ensure};

use super::random::Random;

#[cfg(test)]
mod tests;

/// The most users of a graph; each takes a few dozen bytes.
const MOST_USERS: u32 = 10_000_000;
/// The most friendships of a graph.
const MOST_FRIENDSHIPS: usize = 50_000_000;

/// The size of the graph of guide 2, socfb-Reed98.
const OF_GUIDE: (u32, u64) = (962, 37_624);

/// The source of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// So many users and follows.
    Generated(u32, u64),
    /// A file of friendships, or a folder with one.
    File(PathBuf),
}

pub struct Graph {
    /// The friends of each user, in ascending order.
    friends: Vec<Vec<u32>>,
}

impl Graph {
    pub fn users(&self) -> u32 {
        self.friends.len() as u32
    }

    /// Returns the users whom a user follows, in ascending order. They are also the followers.
    pub fn friends(&self, user: u32) -> &[u32] {
        &self.friends[user as usize]
    }

    pub fn follows(&self) -> u64 {
        self.friends.iter().map(|friends| friends.len() as u64).sum()
    }

    /// Keeps one of equal friendships.
    fn of(users: u32, friendships: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut friends = vec![Vec::new(); users as usize];
        for (one, other) in friendships {
            friends[one as usize].push(other);
            friends[other as usize].push(one);
        }
        for friends in &mut friends {
            friends.sort_unstable();
            friends.dedup();
        }
        Graph { friends }
    }
}

impl FromStr for Source {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let shape = match text.split_once(':') {
            _ if text == "generated" => return Ok(Source::Generated(OF_GUIDE.0, OF_GUIDE.1)),
            Some(("generated", shape)) => shape,
            _ => return Ok(Source::File(text.into())),
        };
        let parsed = shape.split_once('x').and_then(|(users, follows)| {
            Some((users.parse::<u32>().ok()?, follows.parse::<u64>().ok()?))
        });
        let Some((users, follows)) = parsed else {
            bail!(
                "`{shape}` is not a valid size; write generated:USERSxFOLLOWS, for example \
                 generated:962x37624"
            );
        };
        ensure!(
            (2..=MOST_USERS).contains(&users),
            "a generated graph has from 2 to {MOST_USERS} users"
        );
        // With more, most of the drawn friendships would exist already.
        let most = (u64::from(users) * u64::from(users - 1) / 2).min(2 * MOST_FRIENDSHIPS as u64);
        ensure!(
            follows.is_multiple_of(2) && (2 * u64::from(users)..=most).contains(&follows),
            "{users} users of a generated graph have an even number of follows from {} to {most}: \
             everyone has a friend, and at most half of all pairs are friends",
            2 * u64::from(users)
        );
        Ok(Source::Generated(users, follows))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Generated(users, follows) => write!(f, "generated:{users}x{follows}"),
            Source::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Source {
    /// Returns the graph. The seed matters only to one that is generated.
    pub fn graph(&self, seed: u64) -> anyhow::Result<Graph> {
        match self {
            Source::Generated(users, follows) => Ok(generated(*users, *follows / 2, seed)),
            Source::File(path) => read(path),
        }
    }
}

/// Draws a graph with exactly these numbers of users and friendships.
///
/// The numbers of friends are distributed nearly exponentially, which fits socfb-Reed98: there half
/// of the users have at most 29 friends, 90 % at most 87, one 313, and an exponential distribution
/// with the same mean gives 27, 90 and 269. So each user has a weight from that distribution, in an
/// order without meaning, and both ends of a friendship are drawn by weight (Chung and Lu, 2002).
fn generated(users: u32, friendships: u64, seed: u64) -> Graph {
    let mut random = Random::of(seed, &[]);
    let ends = Ends::new(users, &mut random);
    let mut made = HashSet::with_capacity(friendships as usize);
    let mut befriend = |one: u32, other: u32| {
        if one != other {
            made.insert((one.min(other), one.max(other)));
        }
        made.len() as u64
    };
    // Nobody is alone, as in the original's graph.
    let mut count = 0;
    for user in 0..users {
        count = befriend(user, ends.other_than(user, &mut random));
    }
    while count < friendships {
        count = befriend(ends.draw(&mut random), ends.draw(&mut random));
    }
    Graph::of(users, made)
}

/// The users, each as often as its weight.
struct Ends {
    /// The sum of the weights up to each user.
    sums: Vec<u64>,
}

impl Ends {
    /// Weights are whole numbers, so that they are the same on every machine.
    fn new(users: u32, random: &mut Random) -> Self {
        const UNIT: f64 = 65_536.0;
        let quantile = |user: u32| (f64::from(user) + 0.5) / f64::from(users);
        let weight = |user: u32| ((-(1.0 - quantile(user)).ln() * UNIT) as u64).max(1);
        let mut weights: Vec<u64> = (0..users).map(weight).collect();
        for end in (2..=weights.len()).rev() {
            weights.swap(end - 1, random.below(end as u64) as usize);
        }
        let sum = |sum: &mut u64, weight: u64| {
            *sum += weight;
            Some(*sum)
        };
        Ends { sums: weights.into_iter().scan(0, sum).collect() }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let all = self.sums.last().expect("there is a user");
        let drawn = random.below(*all);
        self.sums.partition_point(|sum| *sum <= drawn) as u32
    }

    fn other_than(&self, user: u32, random: &mut Random) -> u32 {
        loop {
            let drawn = self.draw(random);
            if drawn != user {
                return drawn;
            }
        }
    }
}

/// Reads a graph: a line for each friendship, with the numbers of two users. Lines that begin with
/// `#` or `%` are comments. A file beside it that ends in `.nodes` has the number of users, which is
/// otherwise that of the largest number.
fn read(path: &Path) -> anyhow::Result<Graph> {
    let edges = edges_of(path)?;
    let place = || format!("reading the graph {}", edges.display());
    let mut friendships = Vec::new();
    let mut file = BufReader::new(File::open(&edges).with_context(place)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if file.read_until(b'\n', &mut line).with_context(place)? == 0 {
            break;
        }
        let wrong = |column: usize, why: &str| {
            anyhow::anyhow!(
                "{}:{number}:{column}: {why}; a line has the numbers of two users, for example `15 0`",
                edges.display()
            )
        };
        let Ok(text) = std::str::from_utf8(&line) else { bail!(wrong(1, "this is not text")) };
        if text.trim().is_empty() || text.starts_with(['#', '%']) {
            continue;
        }
        let mut users = text.split_ascii_whitespace().map(|word| {
            let column = 1 + word.as_ptr() as usize - text.as_ptr() as usize;
            let user = word.parse::<u32>().ok().filter(|user| *user < MOST_USERS);
            user.ok_or_else(|| wrong(column, &format!("`{word}` is not a valid number of a user")))
        });
        let friendship = match (users.next(), users.next(), users.next()) {
            (Some(one), Some(other), None) => (one?, other?),
            _ => bail!(wrong(1, "this is not a friendship")),
        };
        ensure!(friendship.0 != friendship.1, wrong(1, "nobody is a friend of oneself"));
        ensure!(friendships.len() < MOST_FRIENDSHIPS, wrong(1, "the file has too many lines"));
        friendships.push(friendship);
    }
    let largest = friendships.iter().map(|(one, other)| *one.max(other)).max();
    let Some(largest) = largest else { bail!("{}: it has no friendship", edges.display()) };
    let users = users_beside(&edges)?.unwrap_or(largest + 1);
    ensure!(
        largest < users,
        "{}: user {largest} is not among the {users} users of the file that ends in .nodes, whose \
         numbers begin with 0",
        edges.display()
    );
    Ok(Graph::of(users, friendships))
}

/// Returns the file of friendships: the path itself, or the only one in a folder.
fn edges_of(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let place = || format!("reading the graph {}", path.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(path).with_context(place)? {
        found.push(entry.with_context(place)?.path());
    }
    found.retain(|path| path.extension().is_some_and(|end| end == "edges"));
    match <[PathBuf; 1]>::try_from(found) {
        Ok([edges]) => Ok(edges),
        Err(found) => bail!(
            "{} has {} files that end in .edges; name one of them",
            path.display(),
            found.len()
        ),
    }
}

/// Returns the number of users, if there is a file that has it.
fn users_beside(edges: &Path) -> anyhow::Result<Option<u32>> {
    let nodes = edges.with_extension("nodes");
    if !nodes.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&nodes);
    let text = text.with_context(|| format!("reading the graph {}", nodes.display()))?;
    let first = text.lines().next().unwrap_or_default().trim();
    match first.parse() {
        Ok(users) if (1..=MOST_USERS).contains(&users) => Ok(Some(users)),
        _ => bail!(
            "{}:1:1: `{first}` is not a valid number of users; write one from 1 to {MOST_USERS}",
            nodes.display()
        ),
    }
}
