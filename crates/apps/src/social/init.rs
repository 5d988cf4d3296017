//! The initialisation: users, follows and posts, sent to a running application over its HTTP
//! interface, and verified there. It keeps nothing itself: what the application answers decides
//! what is sent, so a run continues one that was killed at any moment.

use std::io::Write;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::{self, Instant};

use crate::kit::exit::Exit;
use crate::kit::rpc::Addresses;
use crate::kit::serve;
use graph::Source;
use phases::{Run, Tally};
use posts::{Choice, Posts};
use server::Server;
use work::{Workers, interrupted};

pub mod graph;
pub mod phases;
pub mod posts;
pub mod random;
pub mod server;
pub mod work;

#[cfg(test)]
mod tests;

/// The most posts of a run.
const MOST_POSTS: u64 = 20_000_000;

/// The longest time for requests in progress after a signal.
const ENDING: Duration = Duration::from_secs(2);

/// Registers users, adds their follows and composes posts, and verifies all of them.
///
/// It looks at what is there, sends what is missing and looks again, so an interrupted or killed
/// run is continued by the same command, and posts are never there twice: each begins with a text
/// that depends on --seed, by which it is recognised in its author's timeline. In the end all users
/// have logged in, the lists of followers and followees are those of the graph, and the
/// posts of all timelines are counted.
///
/// User i has the name username_i, the password password_i and the number i, as with the original's
/// init_social_graph.py; texts, mentions, URLs and images have the same distributions.
///
/// Try it:
///   benchwright-apps social all-in-one --listen 127.0.0.1:8080
///   benchwright-apps social init --address 127.0.0.1:8080 --compose 110
///
/// The size of guide 2, with the original's graph:
///   benchwright-apps social init --address 127.0.0.1:8080 --compose 110 \
///     --graph datasets/social-graph/socfb-Reed98
///
/// Exit codes: 0 verified; 1 something else is there; 2 wrong arguments or graph, nothing was sent;
/// 3 requests failed; 130 interrupted. After 3 and 130 the same command continues.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Command {
    /// The front of the application; the connections are spread over the addresses.
    #[arg(long, value_name = "HOST:PORT")]
    address: Addresses,

    /// The graph: a folder or file in the original's format, where FILE.edges has a line with two
    /// users for each friendship, and FILE.nodes, if it exists, the number of users; or
    /// generated:USERSxFOLLOWS, which is drawn from --seed. A friendship is two follows.
    #[arg(long, value_name = "FILE|generated", default_value = "generated:962x37624")]
    graph: Source,

    /// The number of posts; see --posts.
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=100_000))]
    compose: u32,

    /// The meaning of --compose.
    #[arg(long, value_enum, default_value_t = Choice::Each)]
    posts: Choice,

    /// The most posts that the application keeps in a timeline, its own --max-timeline. The original
    /// keeps all.
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_timeline: u32,

    /// Decides a generated graph, the numbers of posts and their texts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The requests in progress at a time, each on a connection of its own.
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    connections: u16,

    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// The result of a run, in which everything was verified.
#[derive(Serialize)]
struct Document {
    graph: String,
    seed: u64,
    users: Counted,
    follows: Counted,
    posts: Counted,
    /// The posts of all home timelines together.
    home_timeline_posts: u64,
    phases: Vec<Phase>,
    requests: u64,
    seconds: f64,
    requests_per_s: f64,
    /// The CPU time of this process for a request.
    client_cpu_us_per_request: f64,
}

#[derive(Serialize)]
struct Counted {
    verified: u64,
    /// Those that an earlier run had made.
    found: u64,
}

/// A part of the run, with its looks at what is there.
#[derive(Serialize)]
struct Phase {
    name: &'static str,
    requests: u64,
    seconds: f64,
    requests_per_s: f64,
}

impl Command {
    /// Runs to the end of the initialisation, or until a signal.
    pub fn run(self) -> anyhow::Result<()> {
        let graph = self.graph.graph(self.seed).map_err(Exit::question)?;
        let users = graph.users();
        let posts = Posts { choice: self.posts, number: self.compose, users, seed: self.seed };
        if MOST_POSTS < posts.total() {
            let why = format!("--compose {} is too large: more than {MOST_POSTS}", self.compose);
            return Err(Exit::question(anyhow::anyhow!(why)).into());
        }
        if self.max_timeline < self.compose {
            let why = "--compose must not exceed --max-timeline, or the oldest posts are dropped";
            return Err(Exit::question(anyhow::anyhow!(why)).into());
        }
        let runtime = Builder::new_current_thread().enable_all().build().context("starting")?;
        let document = runtime.block_on(LocalSet::new().run_until(async {
            let servers = Server::replicas(&self.address).await?;
            let workers = Workers::new(servers, self.connections.into());
            self.until_told_to_end(Rc::new(Run::new(workers, graph, posts))).await
        }))?;
        let text = match self.json {
            true => serde_json::to_string_pretty(&document).expect("its keys are strings") + "\n",
            false => document.text(),
        };
        std::io::stdout().write_all(text.as_bytes()).context("writing the result")
    }

    async fn until_told_to_end(&self, run: Rc<Run>) -> anyhow::Result<Document> {
        let mut ending = pin!(serve::told_to_end()?);
        let mut work = pin!(self.verified(&run));
        tokio::select! {
            done = work.as_mut() => return Ok(done?),
            () = run.workers.report() => unreachable!("it reports until it is dropped"),
            () = ending.as_mut() => run.workers.stop(),
        }
        match time::timeout(ENDING, work).await {
            Ok(done) => Ok(done?),
            Err(_) => Err(interrupted().into()),
        }
    }

    async fn verified(&self, run: &Rc<Run>) -> Result<Document, Exit> {
        let began = Instant::now();
        let mut phases = Vec::new();
        let mut last = (0, began);
        let mut ended = |name| {
            let (requests, now) = (run.workers.requests(), Instant::now());
            phases.push(Phase::of(name, requests - last.0, now - last.1));
            last = (requests, now);
        };
        let users = run.users().await?;
        ended("users");
        let follows = run.follows().await?;
        ended("follows");
        let posts = run.posts(users.found == 0).await?;
        ended("posts");
        let home_timeline_posts = run.homes(self.max_timeline.into()).await?;
        ended("home timelines");
        let all = Phase::of("all", run.workers.requests(), began.elapsed());
        Ok(Document {
            graph: self.graph.to_string(),
            seed: self.seed,
            users: users.into(),
            follows: follows.into(),
            posts: posts.into(),
            home_timeline_posts,
            phases,
            requests: all.requests,
            seconds: all.seconds,
            requests_per_s: all.requests_per_s,
            client_cpu_us_per_request: cpu_microseconds() / all.requests as f64,
        })
    }
}

impl Phase {
    fn of(name: &'static str, requests: u64, took: Duration) -> Self {
        let seconds = took.as_secs_f64();
        Phase { name, requests, seconds, requests_per_s: requests as f64 / seconds }
    }
}

impl From<Tally> for Counted {
    fn from(tally: Tally) -> Self {
        Counted { verified: tally.wanted, found: tally.found }
    }
}

impl Document {
    /// Returns the result for people.
    fn text(&self) -> String {
        let counts = [("users", &self.users), ("follows", &self.follows), ("posts", &self.posts)];
        let mut lines: Vec<String> = counts
            .iter()
            .map(|(name, one)| {
                format!("{name:16} {:>9} verified, {} of them found", one.verified, one.found)
            })
            .collect();
        lines.push(format!(
            "{:16} {:>9} posts verified",
            "home timelines", self.home_timeline_posts
        ));
        lines.extend(self.phases.iter().map(|phase| {
            let Phase { name, requests, seconds, requests_per_s } = phase;
            format!("{name:16} {requests:>9} requests, {seconds:.2} s, {requests_per_s:.0}/s")
        }));
        lines.push(format!(
            "{:16} {:>9} requests, {:.2} s, {:.0}/s, {:.1} us of CPU each",
            "all", self.requests, self.seconds, self.requests_per_s, self.client_cpu_us_per_request
        ));
        lines.join("\n") + "\n"
    }
}

/// Returns the CPU time of this process; 0 if the kernel does not tell.
fn cpu_microseconds() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| {
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64
    })
}
