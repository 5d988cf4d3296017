//! The social-network application of guide 2, compatible with DeathStarBench's at `/wrk2-api` and
//! `/api`.
//!
//! One module per service. Each service runs in its own process ([`Process`]), or all run in one
//! ([`all_in_one`]). Calls go down this list only: the front calls services, compose-post calls
//! those that make and deliver a post, and services call the store. What a service keeps is behind
//! the traits of [`api::stored`]; timelines may be in Redis ([`redis`]), and everything else in
//! PostgreSQL ([`postgres`]).
//!
//! Deliberate differences from the original: names are indexed; an edge needs no document, so a
//! registration does not call social-graph, and following is one atomic step; a timeline keeps its
//! newest posts only; a page of a user timeline past its end asks nobody else; numbers of posts and
//! users go on if the clock goes back; and everything that a user can make grow has a bound
//! ([`bounds`]).

use crate::kit;
use crate::kit::arguments::Common;
use command::{StoreProcess, Stored};

pub mod all_in_one;
pub mod command;
pub mod front;
pub mod init;
pub mod pages;

pub mod compose_post;
pub mod home_timeline;
pub mod user_timeline;

pub mod media;
pub mod post_storage;
pub mod social_graph;
pub mod text;
pub mod unique_id;
pub mod url_shorten;
pub mod user;
pub mod user_mention;

pub mod cached_posts;
pub mod postgres;
pub mod redis;
pub mod store;

pub mod api;
pub mod bounds;
pub mod called;
pub mod metrics;
pub mod passwords;
pub mod random;
pub mod rendering;
pub mod session;
pub mod state;
pub mod timeline;

kit::services::services! {
    "social":
    /// Makes a post of its parts and delivers it to the timelines.
    ComposePost(compose_post::Arguments) in compose_post,
    /// Home timelines: the posts of those whom a user follows.
    HomeTimeline(home_timeline::Arguments) in home_timeline,
    /// User timelines: the posts of a user.
    UserTimeline(user_timeline::Arguments) in user_timeline,
    /// The follows of all users.
    SocialGraph(social_graph::Arguments) in social_graph,
    /// Posts by their numbers.
    PostStorage(post_storage::Arguments) in post_storage,
    /// Users, their passwords and sessions.
    User(user::Arguments) in user,
    /// The mentions and the URLs in a text.
    Text(text::Arguments) in text,
    /// Short names for URLs.
    UrlShorten(Stored) in url_shorten,
    /// The users that a text mentions.
    UserMention(Stored) in user_mention,
    /// The media of a post.
    Media(Common) in media,
    /// The numbers of posts.
    UniqueId(unique_id::Arguments) in unique_id,
    /// The state of one instance: a durable database.
    Store(StoreProcess) in store,
}

/// A process of this application.
pub type Process = kit::process::Process<metrics::Metrics>;
