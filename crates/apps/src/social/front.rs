//! The front: HTTP requests in, calls of the services, HTTP responses out. Paths, parameters, texts
//! and headers are the original's, so that its workloads run unmodified. It keeps nothing, and what
//! users typed passes through it as data.
//!
//! As in the original, a path takes any method: a GET of a path that needs a form lacks arguments.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use hyper::body::Bytes;
use hyper::header::COOKIE;
use hyper::{HeaderMap, Method, StatusCode};
use tonic::{Code, Request, Status};

use super::api::common::{Account, Nothing, Page, PageRequest};
use super::api::compose_post::{ComposePost, ComposeRequest};
use super::api::home_timeline::HomeTimeline;
use super::api::social_graph::{Edge, NamedEdge, SocialGraph, UserId};
use super::api::stored::state::{CountsReply, State};
use super::api::user::{Credentials, Registration, Session, User};
use super::api::user_timeline::UserTimeline;
use super::called::Called;
use super::command::{DocumentsArguments, RedisArguments};
use super::metrics::{Endpoint, Metrics};
use super::postgres::Use;
use super::redis::Redis;
use super::state::Both;
use super::unique_id::now as since_1970;
use super::{Process, pages, random, rendering};
use crate::kit::answer::of_type;
use crate::kit::arguments::Common;
use crate::kit::health::Health;
use crate::kit::metrics::Metrics as _;
use crate::kit::process;
use crate::kit::rpc::Addresses;
use crate::kit::serve::{FullResponse, Head, Site};
use crate::kit::source::Source;
use answer::Refusal;
use form::Form;

pub mod answer;
pub mod form;

/// The path of the workloads and the initialiser, and that of the pages.
const WORKLOADS: &str = "/wrk2-api/";
const PAGES: &str = "/api/";

const SUCCESS: &str = "Success!\n";
const COMPOSED: &str = "Successfully upload post\n";

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    user: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    social_graph: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    compose_post: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    user_timeline: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    home_timeline: Addresses,

    // It uses the stores only for /counts, /snapshot and /reset.
    #[command(flatten)]
    documents: DocumentsArguments,

    /// The store's process that keeps the timelines, if it is not that of --store.
    #[arg(long, value_name = "ADDRESSES", conflicts_with = "redis")]
    timelines: Option<Addresses>,

    #[command(flatten)]
    redis: RedisArguments,

    #[command(flatten)]
    quirks: Quirks,

    #[command(flatten)]
    common: Common,
}

#[derive(Args, Clone, Copy)]
pub struct Quirks {
    /// Answers 200 to a registration or a post that was refused (a taken name, media lists of
    /// different lengths), as the original does, which never looks at these errors. For comparisons
    /// with it: otherwise they are 500.
    #[arg(long)]
    pub false_successes: bool,
}

pub struct Front {
    pub user: Arc<dyn User>,
    pub social_graph: Arc<dyn SocialGraph>,
    pub compose_post: Arc<dyn ComposePost>,
    pub user_timeline: Arc<dyn UserTimeline>,
    pub home_timeline: Arc<dyn HomeTimeline>,
    /// For experiments only: to count it, and to return to a state.
    pub store: Arc<dyn State>,
    pub quirks: Quirks,
    /// The address that it listens on.
    pub address: IpAddr,
    pub health: Health,
    pub metrics: Arc<Metrics>,
}

/// Runs a process of the front until a signal ends it.
pub fn run(to: Arguments) -> anyhow::Result<()> {
    let address = to.common.listen.ip();
    process::run(to.common.clone(), async |process: &Process| {
        let mut called = Called::by(process);
        let store = state_of_all(&to, &mut called, process).await?;
        Ok(Front {
            user: called.to("user", &to.user).await?,
            social_graph: called.to("social-graph", &to.social_graph).await?,
            compose_post: called.to("compose-post", &to.compose_post).await?,
            user_timeline: called.to("user-timeline", &to.user_timeline).await?,
            home_timeline: called.to("home-timeline", &to.home_timeline).await?,
            store,
            quirks: to.quirks,
            address,
            health: called.health(),
            metrics: Arc::clone(&process.metrics),
        })
    })
}

/// Connects to all that documents and timelines are kept in.
async fn state_of_all(
    to: &Arguments,
    called: &mut Called<'_>,
    process: &Process,
) -> anyhow::Result<Arc<dyn State>> {
    let documents = called.documents(&to.documents, Use::Reads).await?;
    let timelines: Arc<dyn State> = match (&to.timelines, &to.documents.store) {
        (Some(addresses), _) => called.to("store", addresses).await?,
        (None, store) => match (Redis::connect(&to.redis, process).await?, store) {
            (Some(redis), _) => {
                called.needs(Health::of_part(Arc::clone(&redis) as _));
                redis
            }
            (None, Source::Process(_)) => return Ok(documents),
            (None, Source::Postgres(_)) => {
                bail!("timelines are not in PostgreSQL: add --timelines or --redis")
            }
        },
    };
    Ok(Arc::new(Both { documents, timelines }))
}

/// The change to an edge that a form asks for.
#[derive(Clone, Copy)]
enum Wish {
    Follow,
    Unfollow,
}

/// A post that a form asks for, without its author.
struct Draft {
    text: String,
    media_ids: Vec<i64>,
    media_types: Vec<String>,
    post_type: i32,
}

impl Site for Front {
    async fn answer(&self, request: hyper::Request<Bytes>) -> FullResponse {
        let began = now();
        let (endpoint, answer) = self.route(&request).await;
        let mut answer = answer.unwrap_or_else(FullResponse::from);
        if request.uri().path().starts_with(PAGES) {
            answer = answer::for_all_origins(answer);
        }
        self.metrics.answered(endpoint, answer.status().as_u16(), began.elapsed());
        answer
    }

    fn keeps_body(&self, head: &Head) -> bool {
        let path = head.uri.path();
        path.starts_with(WORKLOADS) || path.starts_with(PAGES)
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }
}

impl Front {
    /// Calls the function of a path. Only the path of an absolute target counts: the original's
    /// workloads always name port 8080.
    async fn route(
        &self,
        request: &hyper::Request<Bytes>,
    ) -> (Endpoint, Result<FullResponse, Refusal>) {
        let (headers, method) = (request.headers(), request.method());
        let path = request.uri().path();
        if *method == Method::OPTIONS && !path.starts_with(WORKLOADS) {
            return (Endpoint::Page, Ok(answer::preflight()));
        }
        let query = || Form::read(request.uri().query().unwrap_or_default().as_bytes());
        let body = || Form::read(request.body());
        match path {
            "/wrk2-api/home-timeline/read" => {
                (Endpoint::HomeTimeline, self.home_page(&query(), None).await)
            }
            "/wrk2-api/user-timeline/read" => {
                (Endpoint::UserTimeline, self.user_page(&query(), None).await)
            }
            "/wrk2-api/post/compose" => (Endpoint::Compose, self.compose(&body()).await),
            "/wrk2-api/user/register" => (Endpoint::Register, self.register(&body()).await),
            "/wrk2-api/user/follow" => {
                let made = self.change(&body(), Wish::Follow).await;
                (Endpoint::Follow, made.map(|()| answer::text(SUCCESS)))
            }
            "/wrk2-api/user/unfollow" => {
                let made = self.change(&body(), Wish::Unfollow).await;
                (Endpoint::Follow, made.map(|()| answer::text(SUCCESS)))
            }
            "/api/home-timeline/read" => {
                (Endpoint::HomeTimeline, self.home_page(&query(), Some(headers)).await)
            }
            "/api/user-timeline/read" => {
                (Endpoint::UserTimeline, self.user_page(&query(), Some(headers)).await)
            }
            "/api/post/compose" => (Endpoint::Compose, self.compose_own(&body(), headers).await),
            "/api/user/register" => (Endpoint::Register, self.sign_up(&body()).await),
            "/api/user/login" => (Endpoint::Login, self.login(&body()).await),
            "/api/user/follow" => {
                let made = self.change(&body(), Wish::Follow).await;
                (Endpoint::Follow, made.map(|()| answer::redirect("../../contact.html")))
            }
            "/api/user/unfollow" => {
                let made = self.change(&body(), Wish::Unfollow).await;
                (Endpoint::Follow, made.map(|()| answer::redirect("../../contact.html")))
            }
            "/api/user/get_follower" => (Endpoint::Follow, self.followers(headers).await),
            "/api/user/get_followee" => (Endpoint::Follow, self.followees(headers).await),
            "/healthz" => (Endpoint::Admin, self.healthy()),
            "/metrics" => (Endpoint::Admin, Ok(answer::metrics(self.metrics.text()))),
            "/counts" => {
                (Endpoint::Admin, counts(self.store.counts(Request::new(Nothing {})).await))
            }
            "/snapshot" | "/reset" if *method != Method::POST => {
                (Endpoint::Admin, Err(Refusal::wrong_method()))
            }
            "/snapshot" => {
                (Endpoint::Admin, counts(self.store.snapshot(Request::new(Nothing {})).await))
            }
            "/reset" => (Endpoint::Admin, counts(self.store.reset(Request::new(Nothing {})).await)),
            _ => match pages::answer(path) {
                Some(page) => (Endpoint::Page, Ok(page)),
                None => (Endpoint::Unknown, Err(Refusal::not_found())),
            },
        }
    }

    /// Answers with a page of a home timeline: that of the session in the headers, or without them
    /// that of any user.
    async fn home_page(
        &self,
        query: &Form<'_>,
        headers: Option<&HeaderMap>,
    ) -> Result<FullResponse, Refusal> {
        let asked = self.page_request(query, headers).await?;
        let page = self.home_timeline.read(Request::new(asked)).await;
        let page = page.map_err(|why| Refusal::failed("Get home-timeline failure", &why))?;
        Ok(self.page(Endpoint::HomeTimeline, asked, page.into_inner()))
    }

    /// Does the same with a user timeline.
    async fn user_page(
        &self,
        query: &Form<'_>,
        headers: Option<&HeaderMap>,
    ) -> Result<FullResponse, Refusal> {
        let asked = self.page_request(query, headers).await?;
        let page = self.user_timeline.read(Request::new(asked)).await;
        let page = page.map_err(|why| Refusal::failed("Get user-timeline failure", &why))?;
        Ok(self.page(Endpoint::UserTimeline, asked, page.into_inner()))
    }

    async fn page_request(
        &self,
        query: &Form<'_>,
        headers: Option<&HeaderMap>,
    ) -> Result<PageRequest, Refusal> {
        let [start, stop] = query.required(["start", "stop"])?;
        let (start, stop) = (form::number("start", start)?, form::number("stop", stop)?);
        let user_id = match headers {
            Some(headers) => {
                let user = self.user_of(headers).await;
                user.map_err(|why| Refusal::unauthorized(&why))?.user_id
            }
            None => {
                let [user_id] = query.required(["user_id"])?;
                form::user_id("user_id", user_id)?
            }
        };
        Ok(PageRequest { user_id, start, stop })
    }

    fn page(&self, endpoint: Endpoint, asked: PageRequest, page: Page) -> FullResponse {
        self.metrics.read(endpoint, page.posts, asked.stop.saturating_sub(asked.start));
        answer::json(page.json)
    }

    async fn compose(&self, form: &Form<'_>) -> Result<FullResponse, Refusal> {
        let [user_id, username] = form.required(["user_id", "username"])?;
        let user_id = form::user_id("user_id", user_id)?;
        let author = Account { user_id, username: username.to_owned() };
        self.post(author, Draft::read(form)?).await
    }

    /// Composes a post of the user of the session; without a session leads to the login.
    async fn compose_own(
        &self,
        form: &Form<'_>,
        headers: &HeaderMap,
    ) -> Result<FullResponse, Refusal> {
        let draft = Draft::read(form)?;
        match self.user_of(headers).await {
            Ok(author) => self.post(author, draft).await,
            Err(why) if why.code() == Code::Unauthenticated => {
                Ok(answer::redirect("../../index.html"))
            }
            Err(why) => Err(Refusal::failed("compost_post failure", &why)),
        }
    }

    async fn post(&self, author: Account, draft: Draft) -> Result<FullResponse, Refusal> {
        let failed = |why: Status| Refusal::failed("compost_post failure", &why);
        let Draft { text, media_ids, media_types, post_type } = draft;
        let post = ComposeRequest {
            req_id: request_id().map_err(failed)?,
            user_id: author.user_id,
            username: author.username,
            text,
            media_ids,
            media_types,
            post_type,
        };
        let composed = self.compose_post.compose(Request::new(post)).await;
        self.unless_ignored(composed.map(drop)).map_err(failed)?;
        Ok(answer::text(COMPOSED))
    }

    async fn register(&self, form: &Form<'_>) -> Result<FullResponse, Refusal> {
        let names = ["first_name", "last_name", "username", "password", "user_id"];
        let [.., user_id] = form.required(names)?;
        let user_id = form::user_id("user_id", user_id)?;
        self.add_user(form, Some(user_id)).await?;
        Ok(answer::text(SUCCESS))
    }

    /// Registers a user who gets a number, and leads to the login.
    async fn sign_up(&self, form: &Form<'_>) -> Result<FullResponse, Refusal> {
        self.add_user(form, None).await?;
        Ok(answer::redirect("../../index.html"))
    }

    async fn add_user(&self, form: &Form<'_>, user_id: Option<i64>) -> Result<(), Refusal> {
        let names = ["first_name", "last_name", "username", "password"];
        let [first_name, last_name, username, password] = form.required(names)?.map(str::to_owned);
        let user = Registration { first_name, last_name, username, password, user_id };
        let registered = self.user.register(Request::new(user)).await;
        self.unless_ignored(registered.map(drop))
            .map_err(|why| Refusal::failed("User registration failure", &why))
    }

    async fn login(&self, form: &Form<'_>) -> Result<FullResponse, Refusal> {
        let [username, password] = form
            .required(["username", "password"])
            .map_err(|refusal| refusal.with_address(self.address))?;
        let (username, password) = (username.to_owned(), password.to_owned());
        let credentials = Credentials { username: username.clone(), password };
        let session = self.user.login(Request::new(credentials)).await;
        let session = session.map_err(|why| Refusal::failed("User login failure", &why))?;
        Ok(answer::logged_in(&username, &session.get_ref().token, since_1970()))
    }

    /// Follows or unfollows, by numbers or by names. Nobody has to be logged in, as in the original.
    async fn change(&self, form: &Form<'_>, wish: Wish) -> Result<(), Refusal> {
        let by_number = form.required(["user_id", "followee_id"]);
        let made = match by_number {
            Ok([user_id, followee_id]) => {
                let user_id = form::user_id("user_id", user_id)?;
                let followee_id = form::user_id("followee_id", followee_id)?;
                let edge = Request::new(Edge { user_id, followee_id });
                match wish {
                    Wish::Follow => self.social_graph.follow(edge).await,
                    Wish::Unfollow => self.social_graph.unfollow(edge).await,
                }
            }
            Err(_) => {
                let names = form.required(["user_name", "followee_name"])?;
                let [user_name, followee_name] = names.map(str::to_owned);
                let edge = Request::new(NamedEdge { user_name, followee_name });
                match wish {
                    Wish::Follow => self.social_graph.follow_by_name(edge).await,
                    Wish::Unfollow => self.social_graph.unfollow_by_name(edge).await,
                }
            }
        };
        let words = match wish {
            Wish::Follow => "Follow Failed",
            Wish::Unfollow => "Unfollow Failed",
        };
        made.map(drop).map_err(|why| Refusal::failed(words, &why))
    }

    async fn followers(&self, headers: &HeaderMap) -> Result<FullResponse, Refusal> {
        let Account { user_id, .. } =
            self.user_of(headers).await.map_err(|why| Refusal::unauthorized(&why))?;
        let ids = self.social_graph.followers(Request::new(UserId { user_id })).await;
        let ids = ids.map_err(|why| Refusal::failed("Get follower failure", &why))?;
        Ok(answer::json(rendering::users("follower_id", &ids.get_ref().ids)))
    }

    async fn followees(&self, headers: &HeaderMap) -> Result<FullResponse, Refusal> {
        let Account { user_id, .. } =
            self.user_of(headers).await.map_err(|why| Refusal::unauthorized(&why))?;
        let ids = self.social_graph.followees(Request::new(UserId { user_id })).await;
        let ids = ids.map_err(|why| Refusal::failed("Get followee failure", &why))?;
        Ok(answer::json(rendering::users("followee_id", &ids.get_ref().ids)))
    }

    /// Returns the user of the session in the cookie.
    async fn user_of(&self, headers: &HeaderMap) -> Result<Account, Status> {
        let Some(token) = cookie(headers, "login_token") else {
            return Err(Status::unauthenticated("Not logged in"));
        };
        let session = Session { token: token.to_owned() };
        Ok(self.user.authenticate(Request::new(session)).await?.into_inner())
    }

    /// Passes on only what the original reports, if that is wanted: that a service cannot be reached.
    fn unless_ignored(&self, made: Result<(), Status>) -> Result<(), Status> {
        match made {
            Err(why) if self.quirks.false_successes && is_answer(why.code()) => Ok(()),
            other => other,
        }
    }

    fn healthy(&self) -> Result<FullResponse, Refusal> {
        match self.health.unhealthy() {
            None => Ok(of_type(StatusCode::OK, "text/plain; charset=utf-8", "ok")),
            Some(why) => Err(Refusal::unhealthy(why)),
        }
    }
}

impl Draft {
    fn read(form: &Form<'_>) -> Result<Self, Refusal> {
        let [text, post_type] = form.required(["text", "post_type"])?;
        let post_type = match form::number("post_type", post_type)? {
            kind @ 0..=3 => kind as i32,
            _ => return Err(Refusal::invalid("post_type", "0, 1, 2 or 3")),
        };
        let (ids, types) = (form.get("media_ids"), form.get("media_types"));
        // Without one of them there are no media.
        let (ids, types) = if types.is_empty() || ids.is_empty() { ("", "") } else { (ids, types) };
        let ids = form::list("media_ids", ids)?;
        let ids: Result<_, _> = ids.iter().map(|id| form::number("media_ids", id)).collect();
        Ok(Draft {
            text: text.to_owned(),
            media_ids: ids?,
            media_types: form::list("media_types", types)?,
            post_type,
        })
    }
}

/// Returns true if a service answered, even if it refused.
fn is_answer(code: Code) -> bool {
    matches!(code, Code::InvalidArgument | Code::AlreadyExists | Code::NotFound)
}

/// Returns the value of a cookie.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut pairs =
        cookies.flat_map(|header| header.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// Returns a number for a request as the original makes it: 60 bits, of which a Lua number keeps 53.
fn request_id() -> Result<i64, Status> {
    let drawn = random::number()? >> 4;
    Ok(drawn as f64 as i64)
}

fn counts(counts: Result<tonic::Response<CountsReply>, Status>) -> Result<FullResponse, Refusal> {
    let counts = counts.map_err(|why| Refusal::failed("The store failed", &why))?;
    let mut body = serde_json::to_vec(counts.get_ref()).expect("counts have string keys only");
    body.push(b'\n');
    Ok(answer::json(body))
}

#[expect(clippy::disallowed_methods, reason = "a server measures its own real time")]
fn now() -> Instant {
    Instant::now()
}
