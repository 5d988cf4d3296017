//! The service: HTTP requests in, hashing and calls of the store, HTTP responses out. Paths, fields
//! and texts are the original's.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use hyper::body::Bytes;
use hyper::header::{ALLOW, AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Method, StatusCode};
use serde::Serialize;
use serde_json::json;
use tonic::{Code, Request, Status};

use super::account::{
    self, Credentials, Description, LONGEST_PASSWORD, Photo, Refreshing, Registration, Shown,
};
use super::api::{self, Changes, Found, Named, User};
use super::command::{Arguments, Kept};
use super::health::{self, Probe};
use super::metrics::{Endpoint, Metrics};
use super::postgres::Postgres;
use super::store::{self, Embedded};
use super::tokens::{self, Tokens};
use super::{Process, Service};
use crate::kit::answer::{PROMETHEUS, of_type};
use crate::kit::folder::Folder;
use crate::kit::hashing::{Login, Pool, Ticket};
use crate::kit::health::Health;
use crate::kit::metrics::Metrics as _;
use crate::kit::process;
use crate::kit::query::decode_path;
use crate::kit::rpc::Remote;
use crate::kit::serve::{FullResponse, Head, Site};
use crate::kit::services::Service as _;
use crate::kit::statistics::Statistics;

pub struct Users {
    store: Arc<dyn api::Store>,
    hashing: Pool,
    tokens: Tokens,
    cost: u32,
    health: Health,
    /// The port for probes; `None` if they wait behind the hashing of this one.
    probes: Option<SocketAddr>,
    metrics: Arc<Metrics>,
    statistics: Arc<Statistics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Kept { data, store, postgres } = &arguments.kept;
    let is_shared = store.is_some() || postgres.is_some();
    ensure!(
        !is_shared || arguments.secret.is_some(),
        "replicas need the same secret, or they refuse each other's tokens; set \
         BENCHWRIGHT_USERS_SECRET, for example to the output of: openssl rand -hex 32"
    );
    // It is removed when nothing writes into it any more.
    let folder = match is_shared {
        true => None,
        false => Some(Folder::choose(Service::APPLICATION, data.clone())?),
    };
    let common = arguments.common.clone();
    process::run(common, async |process: &Process| {
        let (store, health) = connect(process, &arguments, folder.as_ref()).await?;
        let metrics = Arc::clone(&process.metrics);
        let probes = match arguments.health_on_service_port {
            true => None,
            false => Some(health::listen(&arguments, health.clone(), metrics).await?),
        };
        Ok(Users {
            store,
            hashing: Pool::start(arguments.threads(), arguments.room())?,
            tokens: Tokens::new(arguments.secret.as_deref(), arguments.token_lifetime)?,
            cost: arguments.cost,
            health,
            probes,
            metrics: Arc::clone(&process.metrics),
            statistics: Arc::clone(&process.statistics),
        })
    })
}

/// Returns the store with its health.
async fn connect(
    process: &Process,
    arguments: &Arguments,
    folder: Option<&Folder>,
) -> anyhow::Result<(Arc<dyn api::Store>, Health)> {
    let Kept { store, postgres, .. } = &arguments.kept;
    if let Some(addresses) = store {
        let peers = process.peers("store", addresses).await?;
        return Ok((Arc::new(Remote(peers.clone())), Health::of_peers(vec![peers])));
    }
    if let Some(database) = postgres {
        let times = (arguments.common.deadline, arguments.common.start_within);
        let found = Postgres::connect(database, times, Arc::clone(&process.statistics)).await?;
        let found = Arc::new(found);
        return Ok((Arc::clone(&found) as _, Health::of_part(found)));
    }
    let folder = folder.expect("a store of this process has a folder");
    let store = Arc::new(Embedded::open(folder.path(), store::durability(arguments.fsync))?);
    Ok((Arc::clone(&store) as _, Health::of_part(store)))
}

/// The response to a request that is not granted, boxed as errors are passed on often.
type Refused = Box<FullResponse>;

impl Site for Users {
    async fn answer(&self, request: hyper::Request<Bytes>) -> FullResponse {
        let began = now();
        let (endpoint, answer) = self.route(&request).await;
        let answer = answer.unwrap_or_else(|refused| *refused);
        self.metrics.answered(endpoint, answer.status().as_u16(), began.elapsed());
        answer
    }

    fn keeps_body(&self, head: &Head) -> bool {
        matches!(head.method, Method::POST | Method::PUT)
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }
}

impl Users {
    /// Calls the function of a path, if its method is right.
    async fn route(
        &self,
        request: &hyper::Request<Bytes>,
    ) -> (Endpoint, Result<FullResponse, Refused>) {
        let path = request.uri().path();
        let (endpoint, method) = match path {
            "/auth/register" => (Endpoint::Register, Method::POST),
            "/auth/login" => (Endpoint::Login, Method::POST),
            "/oauth/access_token" => (Endpoint::Refresh, Method::POST),
            "/profile/description" | "/profile/photo" => (Endpoint::Profile, Method::PUT),
            "/whoami" => (Endpoint::User, Method::GET),
            "/metrics" => (Endpoint::Metrics, Method::GET),
            _ if path.starts_with("/users/") => (Endpoint::User, Method::GET),
            _ if Probe::of(path).is_some() => (Endpoint::Health, Method::GET),
            _ => return (Endpoint::Unknown, Err(message(StatusCode::NOT_FOUND, "Not Found"))),
        };
        if request.method() != method {
            let mut refused = message(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
            let allowed = HeaderValue::from_str(method.as_str()).expect("a method is a token");
            refused.headers_mut().insert(ALLOW, allowed);
            return (endpoint, Err(refused));
        }
        let (headers, body) = (request.headers(), request.body());
        let answer = match endpoint {
            Endpoint::Register => self.register(headers, body).await,
            Endpoint::Login => self.login(body).await,
            Endpoint::Refresh => self.refresh(body).await,
            Endpoint::User => self.user(headers, path).await,
            Endpoint::Profile => self.profile(headers, path, body).await,
            Endpoint::Health => self.probe(headers, path).await,
            Endpoint::Metrics => Ok(self.metrics()),
            Endpoint::Unknown => unreachable!("unknown paths have been refused"),
        };
        (endpoint, answer)
    }

    /// Adds a user: a read, the hashing, and a write.
    async fn register(&self, headers: &HeaderMap, body: &[u8]) -> Result<FullResponse, Refused> {
        if headers.contains_key(AUTHORIZATION) {
            self.bearer(headers)?;
            return Err(message(StatusCode::FORBIDDEN, "Forbidden"));
        }
        let new: Registration = read(body)?;
        if let Some(why) = new.wrong() {
            return Err(message(StatusCode::BAD_REQUEST, &why));
        }
        let taken = |username: &str| {
            Box::new(json_of(StatusCode::CONFLICT, &json!({"username": username})))
        };
        let place = self.place()?;
        if self.find(&new.username).await?.is_some() {
            return Err(taken(&new.username));
        }
        let (password, cost) = (new.password.clone(), self.cost);
        let hash = self.hash(place, move || bcrypt::hash(password, cost)).await?;
        let user = new.with(hash);
        self.metrics.called(Service::Store);
        let inserted = self.store.insert(Request::new(user.clone())).await.map_err(failed)?;
        match inserted.into_inner().made {
            true => Ok(json_of(StatusCode::OK, &Shown::from(&user))),
            false => Err(taken(&user.username)),
        }
    }

    async fn login(&self, body: &[u8]) -> Result<FullResponse, Refused> {
        let credentials: Credentials = read(body)?;
        let outcome = self.logged_in(credentials).await;
        self.metrics.logged_in(match &outcome {
            Ok(_) => Login::Made,
            Err(answer) if answer.status() == StatusCode::UNAUTHORIZED => Login::Rejected,
            Err(answer) if answer.headers().contains_key(RETRY_AFTER) => Login::Refused,
            Err(_) => Login::Failed,
        });
        outcome
    }

    /// Checks a password and issues the tokens: four reads and one write. The original reads the
    /// user for the password, and for the event of a new refresh token once to look, once to
    /// replace, and once to return it.
    async fn logged_in(&self, credentials: Credentials) -> Result<FullResponse, Refused> {
        let Credentials { username, password } = credentials;
        let place = self.place()?;
        let Some(user) = self.find(&username).await? else {
            return Err(message(StatusCode::UNAUTHORIZED, "User Not Found"));
        };
        let is_correct = password.len() <= LONGEST_PASSWORD
            && self.hash(place, move || bcrypt::verify(password, &user.hash)).await?;
        if !is_correct {
            return Err(message(StatusCode::UNAUTHORIZED, "Credentials Do Not Match"));
        }
        let login = tokens::new_login().map_err(|_| internal())?;
        self.find(&username).await?;
        self.find(&username).await?;
        let changes = Changes {
            username: username.clone(),
            login: Some(login.clone()),
            ..Changes::default()
        };
        self.change(changes).await?.ok_or_else(|| missing(&username))?;
        self.find(&username).await?.ok_or_else(|| missing(&username))?;
        let refresh_token = self.tokens.refresh(&username, &login, seconds());
        self.issued(&username, refresh_token.map_err(|_| internal())?, true)
    }

    /// Returns a new access token for the refresh token of a user's last login.
    async fn refresh(&self, body: &[u8]) -> Result<FullResponse, Refused> {
        let Refreshing { grant_type, refresh_token } = read(body)?;
        let refuse = |error: &str, why: &str| {
            let body = json!({"error": error, "error_description": why});
            Box::new(json_of(StatusCode::BAD_REQUEST, &body))
        };
        if grant_type != "refresh_token" {
            return Err(refuse("unsupported_grant_type", "grant_type must be refresh_token"));
        }
        let invalid = || refuse("invalid_grant", "the refresh token is not valid any more");
        let (username, login) = self.tokens.login(&refresh_token).ok_or_else(invalid)?;
        match self.find(&username).await? {
            Some(user) if user.login.as_ref() == Some(&login) => {
                self.issued(&username, refresh_token, false)
            }
            _ => Err(invalid()),
        }
    }

    fn issued(
        &self,
        username: &str,
        refresh_token: String,
        is_login: bool,
    ) -> Result<FullResponse, Refused> {
        let access_token = self.tokens.access(username, seconds()).map_err(|_| internal())?;
        let issued = Issued {
            username: is_login.then_some(username),
            access_token,
            refresh_token,
            token_type: "Bearer",
            expires_in: self.tokens.lifetime().as_secs(),
        };
        Ok(json_of(StatusCode::OK, &issued))
    }

    /// Shows the bearer, or the user that the path names.
    async fn user(&self, headers: &HeaderMap, path: &str) -> Result<FullResponse, Refused> {
        let bearer = self.bearer(headers)?;
        let username = path.strip_prefix("/users/").unwrap_or(&bearer);
        let username = decoded(username);
        let found = self.find(&username).await?;
        let user = found.ok_or_else(|| missing(&username))?;
        Ok(json_of(StatusCode::OK, &Shown::from(&user)))
    }

    async fn profile(
        &self,
        headers: &HeaderMap,
        path: &str,
        body: &[u8],
    ) -> Result<FullResponse, Refused> {
        let username = self.bearer(headers)?;
        let mut changes = Changes { username: username.clone(), ..Changes::default() };
        match path {
            "/profile/photo" => {
                changes.profile_picture = Some(read::<Photo>(body)?.profile_picture);
            }
            _ => changes.description = Some(read::<Description>(body)?.description),
        }
        if let Some(why) = account::wrong_change(&changes) {
            return Err(message(StatusCode::BAD_REQUEST, &why));
        }
        let user = self.change(changes).await?.ok_or_else(|| missing(&username))?;
        Ok(json_of(StatusCode::OK, &Shown::from(&user)))
    }

    /// Answers a probe behind the hashing before it, or sends it to its own port.
    async fn probe(&self, headers: &HeaderMap, path: &str) -> Result<FullResponse, Refused> {
        let probe = Probe::of(path).expect("the path was checked");
        if let Some(address) = self.probes {
            return Ok(probe.redirect(headers, address));
        }
        self.place()?.run(|| ()).await.ok_or_else(internal)?;
        Ok(probe.answer(&self.health))
    }

    fn metrics(&self) -> FullResponse {
        self.metrics.queued(self.hashing.taken());
        of_type(StatusCode::OK, PROMETHEUS, self.metrics.text())
    }

    /// Returns the bearer of the request's token.
    fn bearer(&self, headers: &HeaderMap) -> Result<String, Refused> {
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer "));
        let bearer = token.and_then(|token| self.tokens.bearer(token));
        bearer.ok_or_else(|| message(StatusCode::UNAUTHORIZED, "Unauthorized"))
    }

    /// Takes a place in the queue for hashing, before anything is asked of the store.
    fn place(&self) -> Result<Ticket, Refused> {
        self.hashing.enter().ok_or_else(|| {
            self.statistics.refuse();
            let mut full = message(StatusCode::SERVICE_UNAVAILABLE, "too many logins at once");
            full.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            full
        })
    }

    async fn hash<T: Send + 'static>(
        &self,
        place: Ticket,
        work: impl FnOnce() -> bcrypt::BcryptResult<T> + Send + 'static,
    ) -> Result<T, Refused> {
        let metrics = Arc::clone(&self.metrics);
        let hashed = place.run(move || {
            let began = now();
            let hashed = work();
            metrics.hashed(began.elapsed());
            hashed
        });
        hashed.await.and_then(Result::ok).ok_or_else(internal)
    }

    /// Reads a user; a name that nobody can have is not asked for.
    async fn find(&self, username: &str) -> Result<Option<User>, Refused> {
        if !account::is_name(username) {
            return Ok(None);
        }
        self.metrics.called(Service::Store);
        let asked = Request::new(Named { username: username.to_owned() });
        let Found { user } = self.store.find(asked).await.map_err(failed)?.into_inner();
        Ok(user)
    }

    async fn change(&self, changes: Changes) -> Result<Option<User>, Refused> {
        self.metrics.called(Service::Store);
        let Found { user } =
            self.store.change(Request::new(changes)).await.map_err(failed)?.into_inner();
        Ok(user)
    }
}

/// The tokens of a login, or of a refresh, which does not name the user.
#[derive(Serialize)]
struct Issued<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    access_token: String,
    refresh_token: String,
    token_type: &'static str,
    expires_in: u64,
}

fn read<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refused> {
    account::read(body).map_err(|why| message(StatusCode::BAD_REQUEST, &why))
}

/// Decodes the escapes of a path's last part; invalid ones stay as they are.
fn decoded(part: &str) -> String {
    decode_path(part).map_or_else(|| part.to_owned(), Cow::into_owned)
}

fn json_of(code: StatusCode, document: &impl Serialize) -> FullResponse {
    let body = serde_json::to_vec(document).expect("documents have string keys only");
    of_type(code, "application/json", body)
}

fn message(code: StatusCode, text: &str) -> Refused {
    Box::new(json_of(code, &json!({"message": text})))
}

fn missing(username: &str) -> Refused {
    Box::new(json_of(StatusCode::NOT_FOUND, &json!({"username": username})))
}

fn internal() -> Refused {
    message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
}

/// Turns a failure of the store into a response.
fn failed(status: Status) -> Refused {
    match status.code() {
        Code::DeadlineExceeded => message(StatusCode::GATEWAY_TIMEOUT, status.message()),
        Code::Unavailable | Code::ResourceExhausted => {
            message(StatusCode::SERVICE_UNAVAILABLE, status.message())
        }
        _ => internal(),
    }
}

#[expect(clippy::disallowed_methods, reason = "a server measures its own real time")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "tokens end by the calendar")]
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
