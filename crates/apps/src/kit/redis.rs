//! Connections to Redis servers: one to each, on which all questions are sent at once and answered in
//! order. A connection that breaks, or on which an answer is late, is replaced; until the server
//! answers again, its callers get errors at once.

use std::str::FromStr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use anyhow::bail;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, FromRedisValue, Pipeline, RedisConnectionInfo, RedisError,
};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time;
use tonic::Status;

use super::lock::lock;
use super::rpc::Addresses;
use super::timeout::Pause;

/// The address of a server, as written on a command line. A name is looked up for each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server(String);

impl Server {
    /// Takes HOST:PORT.
    pub fn at(address: String) -> Self {
        Server(address)
    }
}

impl FromStr for Server {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text.parse()? {
            Addresses::Listed(list) if list.len() == 1 => Ok(Server(list[0].clone())),
            _ => bail!("`{text}` is not the address of one server; write HOST:PORT"),
        }
    }
}

/// A server, and the connection to it while there is one.
pub struct Link {
    address: String,
    timeout: Duration,
    /// The reason if there is none.
    connected: Mutex<Result<Connected, String>>,
}

#[derive(Clone)]
struct Connected {
    connection: MultiplexedConnection,
    /// Told that the connection is of no use any more.
    given_up: Arc<Notify>,
}

impl Link {
    /// Returns a link that is connected whenever the server answers. An answer that takes longer than
    /// `timeout` is an error.
    pub fn keep(Server(address): &Server, timeout: Duration) -> Arc<Self> {
        let connected = Mutex::new(Err("not connected yet".to_owned()));
        let link = Arc::new(Link { address: address.clone(), timeout, connected });
        tokio::spawn(stay_connected(Arc::clone(&link)));
        link
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the longest time for an answer.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns the reason why it cannot be asked, if any.
    pub fn lost(&self) -> Option<String> {
        let connected = lock(&self.connected);
        let why = connected.as_ref().err()?;
        Some(format!("Redis {} cannot be reached: {why}", self.address))
    }

    /// Sends one command, and returns its answer.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Status> {
        let Connected { mut connection, given_up } = self.connected()?;
        let answer = command.query_async(&mut connection).await;
        answer.map_err(|error| self.failed(&error, &given_up))
    }

    /// Sends all commands of a pipeline, and returns their answers.
    pub async fn ask_all<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, Status> {
        let Connected { mut connection, given_up } = self.connected()?;
        let answers = commands.query_async(&mut connection).await;
        answers.map_err(|error| self.failed(&error, &given_up))
    }

    fn connected(&self) -> Result<Connected, Status> {
        let connected = lock(&self.connected).clone();
        connected.map_err(|_| Status::unavailable(self.lost().unwrap_or_default()))
    }

    fn failed(&self, error: &RedisError, given_up: &Notify) -> Status {
        let text = format!("Redis {}: {error}", self.address);
        match error.code() {
            Some("OOM") => Status::resource_exhausted(format!("{text}; see its maxmemory")),
            // It serves nobody while it loads, or has lost its primary; an answer may be late.
            Some("LOADING" | "MASTERDOWN") | None => {
                given_up.notify_one();
                Status::unavailable(text)
            }
            Some(_) => Status::unavailable(text),
        }
    }
}

/// Returns one connection of its own, which is not replaced when it breaks. An answer that takes longer
/// than `timeout` is an error.
pub async fn connect(
    Server(address): &Server,
    timeout: Duration,
) -> Result<MultiplexedConnection, String> {
    let (connection, driver) = open(address, timeout).await?;
    // It ends with the connection.
    tokio::spawn(driver);
    Ok(connection)
}

async fn stay_connected(link: Arc<Link>) {
    let mut pause = Pause::first();
    loop {
        let opened = time::timeout(link.timeout, open(&link.address, link.timeout)).await;
        let ended = match opened {
            Ok(Ok((connection, driver))) => {
                pause = Pause::first();
                let given_up = Arc::new(Notify::new());
                let is_given_up = Arc::clone(&given_up);
                *lock(&link.connected) = Ok(Connected { connection, given_up });
                tokio::select! {
                    () = driver => "the connection broke".to_owned(),
                    () = is_given_up.notified() => "it did not answer".to_owned(),
                }
            }
            Ok(Err(why)) => why,
            Err(_) => format!("no answer in {:?}", link.timeout),
        };
        *lock(&link.connected) = Err(ended);
        pause.rest().await;
    }
}

/// Opens a connection to a server that answers. The future that comes with it moves its bytes.
async fn open(
    address: &str,
    timeout: Duration,
) -> Result<(MultiplexedConnection, impl Future<Output = ()> + Send + use<>), String> {
    /// The first database, without a password.
    static INFO: LazyLock<RedisConnectionInfo> = LazyLock::new(RedisConnectionInfo::default);

    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(timeout));
    let opened = MultiplexedConnection::new_with_config(&INFO, stream, config).await;
    let (mut connection, driver) = opened.map_err(|error| error.to_string())?;
    let mut driver = Box::pin(driver);
    // A server that loads its data, or a replica that has lost its primary, refuses this.
    let ping = redis::cmd("PING");
    let answer = tokio::select! {
        answer = ping.query_async::<()>(&mut connection) => answer,
        () = &mut driver => return Err("it closed the connection".to_owned()),
    };
    answer.map_err(|error| error.to_string())?;
    Ok((connection, driver))
}
