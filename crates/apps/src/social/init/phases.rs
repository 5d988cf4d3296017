//! The phases of the initialisation. Each first looks at what is there, then sends what is missing,
//! and looks again until nothing is missing: so a run continues one that was killed, and its end is
//! its verification. Nothing is kept outside the application.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::time;

use super::graph::Graph;
use super::posts::{MARK, Posts, username};
use super::server::{Registered, Server, Session, Timeline};
use super::work::Workers;
use crate::kit::exit::Exit;
use crate::kit::terminal::note;

/// The time after which a request of a killed run, or one without a response, has either been
/// processed or never will be. If that is wrong, a post is there twice, which the next look finds.
const SETTLING: Duration = Duration::from_secs(1);

/// The posts of a page of a timeline. It has about 150 kB.
const PAGE: u64 = 100;

/// The most failed posts of one round, and the most rounds.
const MOST_FAILED: usize = 100;
const MOST_ROUNDS: usize = 10;

/// The things of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number that shall be there at the end.
    pub wanted: u64,
    /// The number that was there at the beginning.
    pub found: u64,
}

/// A run of the initialisation.
pub struct Run {
    pub workers: Rc<Workers>,
    pub graph: Graph,
    pub posts: Posts,
    sessions: RefCell<HashMap<u32, Session>>,
}

impl Run {
    pub fn new(workers: Workers, graph: Graph, posts: Posts) -> Self {
        Run { workers: Rc::new(workers), graph, posts, sessions: RefCell::default() }
    }

    /// Registers the users. Those who are there keep what they have; whether their password is ours
    /// is seen when they log in.
    pub async fn users(self: &Rc<Self>) -> Result<Tally, Exit> {
        let wanted = self.graph.users();
        let found = Rc::new(Cell::new(0));
        let before = Rc::clone(&found);
        let register = async move |server: &Server, user| {
            let registered = server.register(user).await.map_err(Exit::no_answer)?;
            if registered == Registered::Before {
                before.set(before.get() + 1);
            }
            Ok(())
        };
        self.workers.each("users", (0..wanted).collect(), register).await?;
        Ok(Tally { wanted: wanted.into(), found: found.get() })
    }

    /// Adds the follows that are missing, and checks both lists of each user.
    pub async fn follows(self: &Rc<Self>) -> Result<Tally, Exit> {
        let users: Vec<u32> = (0..self.graph.users()).collect();
        let missing = self.missing_follows(users).await?;
        let wanted = self.graph.follows();
        let found = wanted - missing.len() as u64;
        let mut incomplete: Vec<u32> = missing.iter().map(|(user, _)| *user).collect();
        incomplete.dedup();
        let follow = async |server: &Server, (user, followee)| {
            server.follow(user, followee).await.map_err(Exit::no_answer)
        };
        self.workers.each("follows", missing, follow).await?;
        let missing = self.missing_follows(incomplete).await?;
        if let Some((user, followee)) = missing.first() {
            return Err(Exit::no(format!(
                "{} does not follow {} after the application accepted it; {} follows are missing",
                username(*user),
                username(*followee),
                missing.len()
            )));
        }
        let users = (0..self.graph.users()).collect();
        let run = Rc::clone(self);
        let check = async move |server: &Server, user| {
            let session = run.session(server, user).await?;
            let followers = server.followers(&session).await.map_err(Exit::no_answer)?;
            if followers != run.graph.friends(user) {
                return Err(Exit::no(format!(
                    "{} has {} followers instead of these {}",
                    username(user),
                    followers.len(),
                    run.graph.friends(user).len()
                )));
            }
            Ok(())
        };
        self.workers.each("checking followers", users, check).await?;
        Ok(Tally { wanted, found })
    }

    /// Returns the follows of these users that are missing, user by user.
    async fn missing_follows(self: &Rc<Self>, users: Vec<u32>) -> Result<Vec<(u32, u32)>, Exit> {
        let missing = Rc::new(RefCell::new(Vec::new()));
        let (run, found) = (Rc::clone(self), Rc::clone(&missing));
        let look = async move |server: &Server, user| {
            let session = run.session(server, user).await?;
            let followees = server.followees(&session).await.map_err(Exit::no_answer)?;
            let friends = run.graph.friends(user);
            if let Some(other) = followees.iter().find(|one| friends.binary_search(one).is_err()) {
                return Err(Exit::no(format!(
                    "{} follows user {other}, who is not a friend in this graph; {EMPTY}",
                    username(user)
                )));
            }
            let is_missing = |one: &&u32| followees.binary_search(one).is_err();
            let missing = friends.iter().filter(is_missing).map(|one| (user, *one));
            found.borrow_mut().extend(missing);
            Ok(())
        };
        self.workers.each("looking at follows", users, look).await?;
        let mut missing = missing.take();
        missing.sort_unstable();
        Ok(missing)
    }

    async fn session(&self, server: &Server, user: u32) -> Result<Session, Exit> {
        let known = self.sessions.borrow().get(&user).cloned();
        if let Some(session) = known {
            return Ok(session);
        }
        let session = server.login(user).await.map_err(Exit::no_answer)?;
        self.sessions.borrow_mut().insert(user, session.clone());
        Ok(session)
    }

    /// Composes the posts that are missing. With `is_new`, no post can be on its way.
    pub async fn posts(self: &Rc<Self>, is_new: bool) -> Result<Tally, Exit> {
        let wanted = self.posts.total();
        let mut missing = self.missing_posts(self.posts.authors().collect()).await?;
        let found = wanted - missing.len() as u64;
        let mut is_certain = is_new && found == 0;
        for _ in 0..MOST_ROUNDS {
            if missing.is_empty() {
                return Ok(Tally { wanted, found });
            }
            let mut authors: Vec<u32> = missing.iter().map(|(author, _)| *author).collect();
            authors.dedup();
            if !is_certain {
                note("waiting for posts that may be on their way");
                time::sleep(SETTLING).await;
                missing = self.missing_posts(authors.clone()).await?;
            }
            is_certain = false;
            let sent = missing.len();
            let last_failure = self.compose(missing).await?;
            missing = self.missing_posts(authors).await?;
            if let Some(why) = last_failure.filter(|_| missing.len() == sent) {
                return Err(Exit::no_answer(why));
            }
        }
        Err(Exit::no_answer(format!(
            "{} posts are missing after {MOST_ROUNDS} rounds; run the same command again",
            missing.len()
        )))
    }

    /// Composes each post once, and gives up after many failures. Returns the reason of the last one;
    /// a post that failed may be there nevertheless.
    async fn compose(self: &Rc<Self>, missing: Vec<(u32, u32)>) -> Result<Option<String>, Exit> {
        let failures = Rc::new(RefCell::new((0, None)));
        let (run, failed) = (Rc::clone(self), Rc::clone(&failures));
        let compose = async move |server: &Server, (author, number)| {
            if MOST_FAILED <= failed.borrow().0 {
                return Ok(());
            }
            let post = run.posts.post(author, number);
            if let Err(why) = server.compose(author, &post).await {
                let mut failed = failed.borrow_mut();
                *failed = (failed.0 + 1, Some(why));
            }
            Ok(())
        };
        self.workers.each("posts", missing, compose).await?;
        Ok(failures.take().1)
    }

    /// Returns the posts of these authors that are missing, author by author.
    async fn missing_posts(self: &Rc<Self>, authors: Vec<u32>) -> Result<Vec<(u32, u32)>, Exit> {
        let missing = Rc::new(RefCell::new(Vec::new()));
        let (run, found) = (Rc::clone(self), Rc::clone(&missing));
        let look = async move |server: &Server, author| {
            let numbers = 0..run.posts.count(author);
            let mut wanted: HashMap<String, (u32, bool)> =
                numbers.map(|number| (run.posts.mark(author, number), (number, false))).collect();
            let mut seen = 0;
            loop {
                let page = server.timeline(Timeline::User, author, seen, seen + PAGE).await;
                let page = page.map_err(Exit::no_answer)?;
                if page.is_empty() {
                    break;
                }
                seen += page.len() as u64;
                for text in page {
                    match text.get(..MARK).and_then(|mark| wanted.get_mut(mark)) {
                        Some((_, is_there @ false)) => *is_there = true,
                        Some(_) => {
                            return Err(Exit::no(format!(
                                "a post of {} is there twice; {EMPTY}",
                                username(author)
                            )));
                        }
                        None => {
                            return Err(Exit::no(format!(
                                "{} has a post that is not of this initialisation; {EMPTY}",
                                username(author)
                            )));
                        }
                    }
                }
            }
            let missing = wanted.into_values().filter(|(_, is_there)| !is_there);
            found.borrow_mut().extend(missing.map(|(number, _)| (author, number)));
            Ok(())
        };
        self.workers.each("looking at posts", authors, look).await?;
        let mut missing = missing.take();
        missing.sort_unstable();
        Ok(missing)
    }

    /// Checks the length of each home timeline, of which the application keeps the newest posts.
    /// Returns the sum.
    pub async fn homes(self: &Rc<Self>, most: u64) -> Result<u64, Exit> {
        let mut lengths = home_lengths(&self.graph, &self.posts);
        lengths.iter_mut().for_each(|length| *length = most.min(*length));
        let sum = lengths.iter().sum();
        let users = (0..self.graph.users()).collect();
        let check = async move |server: &Server, user: u32| {
            let length = lengths[user as usize];
            // The last post and nothing after it.
            let (start, last) = (length.saturating_sub(1), length.min(1));
            let found = server.timeline(Timeline::Home, user, start, length + 1).await;
            let found = found.map_err(Exit::no_answer)?.len() as u64;
            if found != last {
                return Err(Exit::no(format!(
                    "the home timeline of {} has not {length} posts: there are {found} from place \
                     {start} on; {EMPTY}",
                    username(user)
                )));
            }
            Ok(())
        };
        self.workers.each("checking home timelines", users, check).await?;
        Ok(sum)
    }
}

/// The remedy for a state that no request can repair.
const EMPTY: &str = "begin with an empty application";

/// Returns the number of posts in each home timeline: those of friends, and those with a mention.
pub fn home_lengths(graph: &Graph, posts: &Posts) -> Vec<u64> {
    let mut lengths = vec![0; graph.users() as usize];
    for author in posts.authors() {
        // One author may not be registered, and then has no friends.
        let friends = if author < graph.users() { graph.friends(author) } else { &[] };
        for friend in friends {
            lengths[*friend as usize] += u64::from(posts.count(author));
        }
        for number in 0..posts.count(author) {
            let mut others = posts.post(author, number).mentions;
            others.sort_unstable();
            others.dedup();
            others.retain(|one| *one < graph.users() && friends.binary_search(one).is_err());
            for other in others {
                lengths[other as usize] += 1;
            }
        }
    }
    lengths
}

#[cfg(test)]
mod tests;
