//! The user service: users, their passwords and their sessions. It asks the store each time.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use clap::Args;
use tonic::{Code, Request, Response, Status, async_trait};

use super::api::common::{Account, Nothing};
use super::api::stored::users::{self as stored, Secret as Kept, Users};
use super::api::user::{self as api, Credentials, Named, Registration, Session};
use super::bounds::{LONGEST_NAME, LONGEST_PASSWORD};
use super::called::Called;
use super::command::Stored;
use super::metrics::Metrics;
use super::passwords::{self, Hashing};
use super::postgres::Use;
use super::unique_id::{Machine, Numbers, now};
use super::{Process, Service, session};
use crate::kit::hashing::{Login, Pool};
use crate::kit::jwt::{self, Secret};
use crate::kit::process;
use crate::kit::statistics::Statistics;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    security: Security,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    stored: Stored,
}

#[derive(Args, Clone)]
pub struct Security {
    #[command(flatten)]
    hashing: Hashing,

    /// The threads that hash passwords [default: the CPUs that the process may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    hashing_threads: Option<u16>,

    /// The most registrations and logins that wait for a hashing thread; further ones are refused.
    #[arg(long, value_name = "N", default_value_t = 256)]
    hashing_queue: u16,

    /// The secret that signs sessions. Without it one is drawn when the first user service starts,
    /// and kept in the store for all replicas. The original's is `secret`, which everybody knows.
    #[arg(long, value_name = "TEXT", env = "BENCHWRIGHT_SOCIAL_SECRET", hide_env_values = true)]
    secret: Option<String>,
}

pub struct User {
    store: Arc<dyn Users>,
    pool: Pool,
    hashing: Hashing,
    numbers: Numbers,
    secret: Secret,
    metrics: Arc<Metrics>,
    statistics: Arc<Statistics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Arguments { security, machine, stored }: Arguments) -> anyhow::Result<()> {
    let Stored { documents, common } = stored;
    process::run(common, async |process: &Process| {
        let mut called = Called::by(process);
        let store = called.documents(&documents, Use::Writes).await?;
        let service = User::start(process, store, &security, machine).await?;
        Ok(process.page(Service::User, api::answering(Arc::new(service)), called.health()))
    })
}

impl User {
    pub async fn start(
        process: &Process,
        store: Arc<dyn Users>,
        security: &Security,
        machine: Machine,
    ) -> anyhow::Result<Self> {
        let secret = match &security.secret {
            Some(secret) => Secret::new(secret.as_bytes()),
            None => {
                let secret = jwt::drawn()?.to_vec().into();
                let kept = store.keep_secret(Request::new(Kept { secret })).await?;
                Secret::new(&kept.into_inner().secret)
            }
        };
        let available = || thread::available_parallelism().map_or(1, NonZero::get);
        let threads = security.hashing_threads.map_or_else(available, usize::from);
        Ok(User {
            store,
            pool: Pool::start(threads, threads + usize::from(security.hashing_queue))?,
            hashing: security.hashing,
            numbers: Numbers::of(machine)?,
            secret,
            metrics: Arc::clone(&process.metrics),
            statistics: Arc::clone(&process.statistics),
        })
    }

    async fn find(&self, username: String) -> Result<stored::User, Status> {
        let unknown = format!("User: {username} is not registered");
        let found = self.store.find(Request::new(stored::Named { username })).await?;
        found.into_inner().user.ok_or_else(|| Status::not_found(unknown))
    }

    /// Works on a password on a thread of its own.
    async fn hashed<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let Some(place) = self.pool.enter() else {
            self.statistics.refuse();
            return Err(Status::resource_exhausted("too many passwords at once"));
        };
        place.run(work).await.unwrap_or_else(|| Err(Status::internal("hashing failed")))
    }

    async fn logged_in(&self, credentials: Credentials) -> Result<Session, Status> {
        let Credentials { username, password } = credentials;
        let user = self.find(username).await?;
        let hash = user.hash;
        let is_correct = password.len() <= LONGEST_PASSWORD
            && self.hashed(move || passwords::is_correct(&password, &hash)).await?;
        if !is_correct {
            return Err(Status::unauthenticated("Incorrect username or password"));
        }
        let account = Account { user_id: user.user_id, username: user.username };
        let token = session::begin(&self.secret, account, now().as_secs())?;
        Ok(Session { token })
    }
}

#[async_trait]
impl api::User for User {
    async fn register(&self, request: Request<Registration>) -> Result<Response<Nothing>, Status> {
        self.metrics.called(Service::User);
        let Registration { first_name, last_name, username, password, user_id } =
            request.into_inner();
        check("username", &username, LONGEST_NAME)?;
        check("first_name", &first_name, LONGEST_NAME)?;
        check("last_name", &last_name, LONGEST_NAME)?;
        check("password", &password, LONGEST_PASSWORD)?;
        let taken = Status::already_exists(format!("User {username} already existed"));
        // Hashing is expensive, so it is not begun in vain.
        let named = stored::Named { username: username.clone() };
        if self.store.find(Request::new(named)).await?.into_inner().user.is_some() {
            return Err(taken);
        }
        let hashing = self.hashing;
        let hash = self.hashed(move || hashing.hash(&password)).await?;
        let user_id = user_id.unwrap_or_else(|| self.numbers.next(now()));
        let user = stored::User { user_id, username, first_name, last_name, hash };
        match self.store.insert(Request::new(user)).await?.into_inner().made {
            true => Ok(Response::new(Nothing {})),
            false => Err(taken),
        }
    }

    async fn login(&self, request: Request<Credentials>) -> Result<Response<Session>, Status> {
        self.metrics.called(Service::User);
        let outcome = self.logged_in(request.into_inner()).await;
        self.metrics.logged_in(login(&outcome));
        outcome.map(Response::new)
    }

    async fn authenticate(&self, request: Request<Session>) -> Result<Response<Account>, Status> {
        self.metrics.called(Service::User);
        let token = &request.get_ref().token;
        session::user(&self.secret, token, now().as_secs()).map(Response::new)
    }

    async fn creator(&self, request: Request<Account>) -> Result<Response<Account>, Status> {
        self.metrics.called(Service::User);
        let account = request.into_inner();
        check("username", &account.username, LONGEST_NAME)?;
        Ok(Response::new(account))
    }

    async fn number(&self, request: Request<Named>) -> Result<Response<Account>, Status> {
        self.metrics.called(Service::User);
        let user = self.find(request.into_inner().username).await?;
        Ok(Response::new(Account { user_id: user.user_id, username: user.username }))
    }
}

/// Returns the outcome that metrics count.
fn login<T>(outcome: &Result<T, Status>) -> Login {
    match outcome.as_ref().map_err(Status::code) {
        Ok(_) => Login::Made,
        Err(Code::NotFound | Code::Unauthenticated) => Login::Rejected,
        Err(Code::ResourceExhausted) => Login::Refused,
        Err(_) => Login::Failed,
    }
}

/// Refuses a text that is empty or too long.
fn check(what: &str, text: &str, most: usize) -> Result<(), Status> {
    match (1..=most).contains(&text.len()) {
        true => Ok(()),
        false => Err(Status::invalid_argument(format!("{what} must have 1 to {most} bytes"))),
    }
}
