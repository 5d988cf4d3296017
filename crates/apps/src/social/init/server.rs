//! The application as its callers see it: the verbs of its HTTP interface that the initialisation
//! needs. Whatever changes nothing when it is repeated is repeated if it fails.

use std::cell::Cell;
use std::time::Duration;

use anyhow::ensure;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderValue, SET_COOKIE};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time;

use super::posts::{Post, username};
use crate::kit::client::{Client, Failure};
use crate::kit::rpc::Addresses;
use crate::kit::timeout::Pause;

/// The longest time for a response.
const LONGEST: Duration = Duration::from_secs(30);

/// The attempts for a request that may be repeated: the pauses between them take about two seconds.
const ATTEMPTS: usize = 7;

/// A replica of the front.
pub struct Server {
    client: Client,
    host: HeaderValue,
    /// The requests so far.
    sent: Cell<u64>,
}

/// The session of a user who has logged in.
pub type Session = HeaderValue;

/// The result of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    Now,
    /// The name was registered before.
    Before,
}

/// The reason why a request did not succeed; the last of them if it was repeated.
pub type Refused = String;

/// A list as the application encodes it: an empty one as an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum List<T> {
    Filled(Vec<T>),
    Empty {},
}

#[derive(Deserialize)]
struct PostText {
    text: String,
}

#[derive(Deserialize)]
struct Follower {
    follower_id: String,
}

#[derive(Deserialize)]
struct Followee {
    followee_id: String,
}

impl Server {
    /// Returns all replicas; nothing is sent yet.
    pub async fn replicas(addresses: &Addresses) -> anyhow::Result<Vec<Self>> {
        let found = addresses.look().await?;
        ensure!(!found.is_empty(), "there is no address; write HOST:PORT");
        let server = |address: &String| {
            let host = HeaderValue::from_str(address)?;
            Ok(Server { client: Client::new(address), host, sent: Cell::new(0) })
        };
        found.iter().map(server).collect()
    }

    /// Returns the number of requests so far.
    pub fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// Registers a user with the original's names and password.
    pub async fn register(&self, user: u32) -> Result<Registered, Refused> {
        let (first_name, last_name) = (format!("first_name_{user}"), format!("last_name_{user}"));
        let form = form(&[
            ("first_name", &first_name),
            ("last_name", &last_name),
            ("username", &username(user)),
            ("password", &password(user)),
            ("user_id", &user.to_string()),
        ]);
        let is_done = |answer: &Response<Bytes>| {
            let text = String::from_utf8_lossy(answer.body());
            match answer.status() {
                StatusCode::OK if text.starts_with("Success") => Some(Registered::Now),
                _ if text.contains("already existed") => Some(Registered::Before),
                _ => None,
            }
        };
        self.repeated(Method::POST, "/wrk2-api/user/register", form, None, is_done).await
    }

    pub async fn follow(&self, user: u32, followee: u32) -> Result<(), Refused> {
        let names = (username(user), username(followee));
        let form = form(&[("user_name", &names.0), ("followee_name", &names.1)]);
        self.repeated(Method::POST, "/wrk2-api/user/follow", form, None, is_success).await
    }

    /// Sends a post once: after a failure it may be there or not.
    pub async fn compose(&self, author: u32, post: &Post) -> Result<(), Refused> {
        let list = |items: Vec<String>| format!("[{}]", items.join(","));
        let ids = post.media.iter().map(|id| format!("\"{id}\"")).collect();
        let types = post.media.iter().map(|_| "\"png\"".to_owned()).collect();
        let form = form(&[
            ("username", &username(author)),
            ("user_id", &author.to_string()),
            ("text", &post.text),
            ("media_ids", &list(ids)),
            ("media_types", &list(types)),
            ("post_type", "0"),
        ]);
        let answer = self.once(Method::POST, "/wrk2-api/post/compose", form, None).await?;
        is_success(&answer).ok_or_else(|| refusal("/wrk2-api/post/compose", &answer))
    }

    pub async fn login(&self, user: u32) -> Result<Session, Refused> {
        let form = form(&[("username", &username(user)), ("password", &password(user))]);
        let session = |answer: &Response<Bytes>| {
            let mut cookies = answer.headers().get_all(SET_COOKIE).iter();
            cookies.find_map(|cookie| {
                let pair = cookie.to_str().ok()?.split(';').next()?;
                pair.strip_prefix("login_token=").filter(|token| !token.is_empty())?;
                HeaderValue::from_str(pair).ok()
            })
        };
        self.repeated(Method::POST, "/api/user/login", form, None, session).await
    }

    /// Returns those whom the user of a session follows, in ascending order.
    pub async fn followees(&self, session: &Session) -> Result<Vec<u32>, Refused> {
        let users: Vec<Followee> = self.list("/api/user/get_followee", Some(session)).await?;
        numbers(users.into_iter().map(|user| user.followee_id))
    }

    /// Returns those who follow the user of a session, in ascending order.
    pub async fn followers(&self, session: &Session) -> Result<Vec<u32>, Refused> {
        let users: Vec<Follower> = self.list("/api/user/get_follower", Some(session)).await?;
        numbers(users.into_iter().map(|user| user.follower_id))
    }

    /// Returns the texts of a part of a timeline, newest first.
    pub async fn timeline(
        &self,
        timeline: Timeline,
        user: u32,
        start: u64,
        stop: u64,
    ) -> Result<Vec<String>, Refused> {
        let which = match timeline {
            Timeline::Home => "home",
            Timeline::User => "user",
        };
        let target =
            format!("/wrk2-api/{which}-timeline/read?user_id={user}&start={start}&stop={stop}");
        let posts: Vec<PostText> = self.list(&target, None).await?;
        Ok(posts.into_iter().map(|post| post.text).collect())
    }

    async fn list<T: DeserializeOwned>(
        &self,
        target: &str,
        session: Option<&Session>,
    ) -> Result<Vec<T>, Refused> {
        let read = |answer: &Response<Bytes>| {
            let is_ok = answer.status() == StatusCode::OK;
            match is_ok.then(|| serde_json::from_slice(answer.body()))?.ok()? {
                List::Filled(items) => Some(items),
                List::Empty {} => Some(Vec::new()),
            }
        };
        self.repeated(Method::GET, target, String::new(), session, read).await
    }

    /// Sends a request until `read` accepts its response.
    async fn repeated<T>(
        &self,
        method: Method,
        target: &str,
        form: String,
        session: Option<&Session>,
        read: impl Fn(&Response<Bytes>) -> Option<T>,
    ) -> Result<T, Refused> {
        let form = Bytes::from(form);
        let mut pause = Pause::first();
        for attempt in 1.. {
            let answer = self.once(method.clone(), target, form.clone(), session).await;
            let read =
                answer.and_then(|answer| read(&answer).ok_or_else(|| refusal(target, &answer)));
            match read {
                Err(_) if attempt < ATTEMPTS => pause.rest().await,
                read => return read,
            }
        }
        unreachable!("the last attempt has returned")
    }

    async fn once(
        &self,
        method: Method,
        target: &str,
        form: impl Into<Bytes>,
        session: Option<&Session>,
    ) -> Result<Response<Bytes>, Refused> {
        self.sent.set(self.sent.get() + 1);
        let mut request = Request::new(Full::new(form.into()));
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().expect("the target is made of numbers");
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        let encoding = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, encoding);
        if let Some(session) = session {
            headers.insert(COOKIE, session.clone());
        }
        match time::timeout(LONGEST, self.client.ask(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Failure::Unsent(_, why) | Failure::Broken(why))) => {
                Err(format!("{target}: {why}"))
            }
            Err(_) => Err(format!("{target}: no response within {LONGEST:?}")),
        }
    }
}

/// The two timelines of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeline {
    /// The posts of those whom the user follows, and those that mention the user.
    Home,
    /// The user's own posts.
    User,
}

fn password(user: u32) -> String {
    format!("password_{user}")
}

fn is_success(answer: &Response<Bytes>) -> Option<()> {
    (answer.status() == StatusCode::OK && answer.body().starts_with(b"Success")).then_some(())
}

fn refusal(target: &str, answer: &Response<Bytes>) -> Refused {
    /// The most characters of a response that are shown.
    const SHOWN: usize = 200;
    let body = String::from_utf8_lossy(answer.body());
    let text: String = body.trim().chars().take(SHOWN).collect();
    format!("{target}: {}: {text}", answer.status())
}

fn numbers(users: impl Iterator<Item = String>) -> Result<Vec<u32>, Refused> {
    let parsed = |text: String| {
        text.parse().map_err(|_| format!("`{text}` is not the number of a user of a graph"))
    };
    let mut users = users.map(parsed).collect::<Result<Vec<u32>, _>>()?;
    users.sort_unstable();
    Ok(users)
}

/// Returns a form, percent-encoded.
fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[cfg(test)]
mod tests;
