//! The API of a cluster, as calls that block.
//!
//! A call that the server did not answer, or could not answer for the moment, is repeated with growing
//! pauses; all our calls may be repeated, since objects have names that we choose. Objects are plain
//! JSON: what we do not name, we do not change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context;
use futures::{AsyncBufReadExt, TryStreamExt};
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use lab::backend::Stop;
use measure::{Nanos, Random};
use results::regular::MOST_OF_SHORT;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::objects::{MANAGER, RUN};

pub use attach::Attached;

mod attach;

#[cfg(test)]
mod tests;

/// The longest time for the answer to one call.
const ANSWER: Duration = Duration::from_secs(15);
/// The time for which a call is repeated: an API server may be gone for a minute.
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest time for an answer that we can do without: a kubelet may be lost.
const SOON: Duration = Duration::from_secs(3);
/// The longest time in which the kubeconfig's command gives credentials: somebody may have to log in.
const CREDENTIALS: Nanos = Nanos::from_secs(300);
/// The first pause between repetitions, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// The number of a pod's last log lines that are shown.
pub const LAST_LINES: u32 = 10;
/// The most lines of a log that wait to be read.
const MOST_LINES: usize = 10_000;

/// A connection to the API server of a cluster.
pub struct Api {
    runtime: Arc<Runtime>,
    client: Client,
    interrupted: Arc<AtomicBool>,
    /// The number of calls so far.
    calls: Arc<AtomicU64>,
    /// The longest time for the answer to one call.
    answer: Duration,
    /// The time for which a call is repeated.
    patience: Duration,
}

/// The reason why a call failed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Error {
    /// The server refused it: the HTTP status, the reason in one word, and the message.
    Refused { status: u16, reason: String, message: String },
    /// The server could not be reached for a long time.
    Unreachable(String),
    /// The user interrupted the run.
    Interrupted,
    /// The answer was not understood.
    Malformed(String),
    /// The helm program failed.
    Helm(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Refused { status, reason, message } => {
                write!(f, "the cluster refuses it ({status} {reason}): {message}")
            }
            Error::Unreachable(why) => write!(f, "the API server cannot be reached: {why}"),
            Error::Interrupted => f.write_str("interrupted"),
            Error::Malformed(why) => write!(f, "the API server's answer: {why}"),
            Error::Helm(why) => write!(f, "helm: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Returns true if the object or its kind does not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Error::Refused { status: 404, .. })
    }

    /// Returns true if we lack the right.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Error::Refused { status: 403, .. })
    }

    /// Returns the end of a stage that this error brings.
    pub(crate) fn into_stop(self) -> Stop {
        match self {
            Error::Interrupted => Stop::Interrupted,
            other => Stop::no_answer(other),
        }
    }
}

/// The kinds of objects that we use: API version, kind, plural, and whether they are in a namespace.
const KINDS: [(&str, &str, &str, bool); 12] = [
    ("v1", "Namespace", "namespaces", false),
    ("v1", "Node", "nodes", false),
    ("v1", "ConfigMap", "configmaps", true),
    ("v1", "Secret", "secrets", true),
    ("v1", "Event", "events", true),
    ("v1", "Pod", "pods", true),
    ("v1", "Service", "services", true),
    ("apps/v1", "StatefulSet", "statefulsets", true),
    ("apps/v1", "Deployment", "deployments", true),
    ("batch/v1", "Job", "jobs", true),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true),
    ("coordination.k8s.io/v1", "Lease", "leases", true),
];

/// Returns the path of all objects of a kind, in a namespace or in all.
pub fn all(kind: &str, namespace: Option<&str>) -> String {
    let (version, _, plural, is_namespaced) = KINDS
        .into_iter()
        .find(|(_, name, ..)| *name == kind)
        .expect("every kind that we use is in the list");
    let group = if version.contains('/') { "/apis" } else { "/api" };
    match namespace.filter(|_| is_namespaced) {
        Some(namespace) => format!("{group}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("{group}/{version}/{plural}"),
    }
}

fn is_namespaced(kind: &str) -> bool {
    KINDS.iter().any(|(_, name, _, is_namespaced)| *name == kind && *is_namespaced)
}

/// Returns the path of an object.
pub fn one(kind: &str, namespace: &str, name: &str) -> String {
    format!("{}/{name}", all(kind, Some(namespace)))
}

/// Returns the path of an object that we made.
fn path_of(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    one(text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

/// Returns the kubeconfig files that are read: the named one, those of `KUBECONFIG`, or `~/.kube/config`.
fn files(named: Option<&Path>) -> Vec<PathBuf> {
    let of_environment = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".kube/config"));
    match (named, of_environment) {
        (Some(path), _) => vec![path.to_owned()],
        (None, Some(paths)) => std::env::split_paths(&paths).collect(),
        (None, None) => usual().into_iter().collect(),
    }
}

/// Waits until a connection is made, or has failed.
fn await_connection(
    connected: &Receiver<anyhow::Result<Api>>,
    interrupted: &AtomicBool,
) -> Result<anyhow::Result<Api>, Stop> {
    let deadline = lab::host::now() + CREDENTIALS;
    loop {
        match connected.recv_timeout(PAUSES.0) {
            Ok(connected) => return Ok(connected),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err(anyhow::anyhow!("no connection was made")));
            }
            Err(RecvTimeoutError::Timeout) if interrupted.load(Ordering::Relaxed) => {
                return Err(Stop::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) if deadline <= lab::host::now() => {
                return Err(Stop::NoAnswer(anyhow::anyhow!(
                    "connecting to the cluster: no credentials in {CREDENTIALS}; does the `exec` command of the \
                     kubeconfig wait for somebody? Log in before the run"
                )));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Refuses a kubeconfig that would be read for ever, such as a pipe. One that is not there has an error of its own.
fn check_file(path: &Path) -> anyhow::Result<()> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    anyhow::ensure!(
        found.is_file() && found.len() <= MOST_OF_SHORT,
        "{}: it is not a kubeconfig: not a regular file of at most 16 MiB",
        path.display()
    );
    Ok(())
}

impl Api {
    /// Connects by a kubeconfig file, or by what the environment gives: `KUBECONFIG`,
    /// `~/.kube/config`, or the account of the pod that we run in. A file or a context that was named and cannot be
    /// used is a wrong question.
    pub fn connect(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Api, Stop> {
        files(kubeconfig).iter().try_for_each(|path| check_file(path)).map_err(Stop::Question)?;
        let is_named = kubeconfig.is_some() || context.is_some();
        let (kubeconfig, context) = (kubeconfig.map(Path::to_owned), context.map(str::to_owned));
        let stop = Arc::clone(&interrupted);
        let (sender, connected) = mpsc::channel();
        // A command of the kubeconfig for credentials runs meanwhile, and may wait for ever.
        std::thread::spawn(move || {
            // After an interruption nobody waits for it.
            let _ = sender.send(Api::of_config(kubeconfig.as_deref(), context, interrupted));
        });
        let connected = await_connection(&connected, &stop)?.context("connecting to the cluster");
        connected.map_err(if is_named { Stop::Question } else { Stop::NoAnswer })
    }

    fn of_config(
        kubeconfig: Option<&Path>,
        context: Option<String>,
        interrupted: Arc<AtomicBool>,
    ) -> anyhow::Result<Api> {
        let options = KubeConfigOptions { context, ..Default::default() };
        Api::with(interrupted, async {
            let config = match (kubeconfig, &options.context) {
                (Some(path), _) => {
                    let file = Kubeconfig::read_from(path)?;
                    Config::from_custom_kubeconfig(file, &options).await?
                }
                (None, Some(_)) => Config::from_kubeconfig(&options).await?,
                (None, None) => Config::infer().await?,
            };
            Ok(Client::try_from(config)?)
        })
    }

    fn with(
        interrupted: Arc<AtomicBool>,
        client: impl Future<Output = anyhow::Result<Client>>,
    ) -> anyhow::Result<Api> {
        // One thread: it also serves streams while no call waits.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let client = runtime.block_on(client)?;
        Ok(Api {
            runtime: Arc::new(runtime),
            client,
            interrupted,
            calls: Arc::default(),
            answer: ANSWER,
            patience: PATIENCE,
        })
    }

    /// Returns the same connection for calls whose answers we can do without: each is made once, and
    /// has three seconds.
    pub fn impatient(&self) -> Api {
        Api {
            runtime: Arc::clone(&self.runtime),
            client: self.client.clone(),
            interrupted: Arc::clone(&self.interrupted),
            calls: Arc::clone(&self.calls),
            answer: SOON,
            patience: Duration::ZERO,
        }
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns an object; `None` if there is none.
    pub fn get(&self, path: &str) -> Result<Option<Value>, Error> {
        match self.json(&Call::new(Method::GET, path)) {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the objects below a path that have these labels (`a=b,c`), all if it is empty.
    pub fn list(&self, path: &str, labels: &str) -> Result<Vec<Value>, Error> {
        let query = match labels {
            "" => String::new(),
            labels => format!("?labelSelector={}", escaped(labels)),
        };
        let mut list = self.json(&Call::new(Method::GET, &format!("{path}{query}")))?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Err(Error::Malformed(format!("{path} is not a list"))),
        }
    }

    /// Returns the objects of a kind that runs made, in all namespaces; only in one of them if we may
    /// not look into the others.
    pub fn list_ours(&self, kind: &str, namespace: Option<&str>) -> Result<Vec<Value>, Error> {
        match (self.list(&all(kind, None), RUN), namespace) {
            (Err(error), Some(namespace)) if error.is_forbidden() && is_namespaced(kind) => {
                self.list(&all(kind, Some(namespace)), RUN)
            }
            (listed, _) => listed,
        }
    }

    /// Makes an object, or changes the fields of it that are ours (server-side apply).
    pub fn apply(&self, object: &Value) -> Result<Value, Error> {
        let path = format!("{}?fieldManager={MANAGER}&force=true", path_of(object));
        self.json(&Call {
            method: Method::PATCH,
            path,
            // JSON is YAML.
            content_type: "application/apply-patch+yaml",
            body: object.to_string().into_bytes(),
        })
    }

    /// Changes an object by a merge patch.
    pub fn patch(&self, path: &str, patch: &Value) -> Result<Value, Error> {
        self.json(&Call {
            method: Method::PATCH,
            path: path.to_owned(),
            content_type: "application/merge-patch+json",
            body: patch.to_string().into_bytes(),
        })
    }

    /// Makes an object; `Refused` with 409 if there is one of its name.
    pub fn create(&self, object: &Value) -> Result<Value, Error> {
        let path = path_of(object);
        let (all, _) = path.rsplit_once('/').expect("a path has parts");
        self.json(&Call {
            method: Method::POST,
            path: format!("{all}?fieldManager={MANAGER}"),
            content_type: "application/json",
            body: object.to_string().into_bytes(),
        })
    }

    /// Replaces an object; `Refused` with 409 if somebody else changed it since it was read.
    pub fn replace(&self, object: &Value) -> Result<Value, Error> {
        self.json(&Call {
            method: Method::PUT,
            path: format!("{}?fieldManager={MANAGER}", path_of(object)),
            content_type: "application/json",
            body: object.to_string().into_bytes(),
        })
    }

    /// Deletes an object with all that it owns; returns false if there was none.
    pub fn delete(&self, path: &str) -> Result<bool, Error> {
        let path = format!("{path}?propagationPolicy=Background");
        match self.text(&Call::new(Method::DELETE, &path)) {
            Ok(_) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends a request through the API server to a pod or a service, once. Returns the status and the
    /// body of whatever answered.
    pub fn proxied(&self, request: Request<Vec<u8>>) -> Result<(u16, String), String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let exchange = async {
            let response = self.client.send(request.map(Into::into)).await?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await?.to_bytes();
            Ok::<_, kube::Error>((status, String::from_utf8_lossy(&body).into_owned()))
        };
        self.once(exchange)
    }

    /// Returns a page that is not JSON.
    pub fn page(&self, path: &str) -> Result<String, Error> {
        self.text(&Call::new(Method::GET, path))
    }

    /// Returns the time of whatever answered a call, in whole seconds since 1970; `None` if the
    /// answer has no date. The call is made once.
    pub fn date(&self, path: &str) -> Result<Option<u64>, String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let request = Call::new(Method::GET, path).request().map(Into::into);
        let response = self.once(self.client.send(request))?;
        let date = response.headers().get("Date").and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
        Ok(date.and_then(|date| u64::try_from(date.timestamp().as_second()).ok()))
    }

    /// Returns the last lines of a pod's log.
    pub fn last_lines(
        &self,
        namespace: &str,
        pod: &str,
        number: u32,
    ) -> Result<Vec<String>, Error> {
        let path = format!("{}/log?tailLines={number}", one("Pod", namespace, pod));
        let text = self.text(&Call::new(Method::GET, &path))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Follows a pod's log from its beginning. The receiver ends when the log does, or the connection.
    pub fn follow(&self, namespace: &str, pod: &str) -> Receiver<String> {
        let path = format!("{}/log?follow=true", one("Pod", namespace, pod));
        let request = Call::new(Method::GET, &path).request();
        let client = self.client.clone();
        self.calls.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::sync_channel(MOST_LINES);
        self.runtime.spawn(async move {
            let Ok(stream) = client.request_stream(request).await else { return };
            let mut lines = stream.lines();
            while let Ok(Some(line)) = lines.try_next().await {
                // A full queue holds the thread until it is read, or nobody reads it any more.
                if tokio::task::block_in_place(|| sender.send(line)).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    /// Makes a call once; the reason in words if it was not answered.
    fn once<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
        // A timeout needs the runtime that its clock belongs to.
        match self.runtime.block_on(async { timeout(self.answer, call).await }) {
            Ok(answered) => answered.map_err(|error| plain(&error)),
            Err(_) => Err(self.silence()),
        }
    }

    /// Returns the words for a call that was not answered in time.
    fn silence(&self) -> String {
        format!("no answer in {} s", self.answer.as_secs())
    }

    fn json(&self, call: &Call) -> Result<Value, Error> {
        let text = self.text(call)?;
        serde_json::from_str(&text)
            .map_err(|error| Error::Malformed(format!("{} {}: {error}", call.method, call.path)))
    }

    /// Makes a call until it is answered, and returns the answer.
    fn text(&self, call: &Call) -> Result<String, Error> {
        self.runtime.block_on(async {
            let mut pause = Pause::new(call);
            let mut waited = Duration::ZERO;
            loop {
                self.calls.fetch_add(1, Ordering::Relaxed);
                let answer = timeout(self.answer, self.client.request_text(call.request())).await;
                let why = match answer {
                    Ok(Ok(text)) => return Ok(text),
                    Ok(Err(kube::Error::Api(status))) if !is_transient(status.code) => {
                        let (reason, message) = (status.reason.clone(), status.message.clone());
                        return Err(Error::Refused { status: status.code, reason, message });
                    }
                    Ok(Err(error)) => plain(&error),
                    Err(_) => self.silence(),
                };
                if self.interrupted.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                if self.patience <= waited {
                    return Err(Error::Unreachable(why));
                }
                let length = pause.next();
                waited += length;
                tokio::time::sleep(length).await;
            }
        })
    }
}

/// Returns true for the answers of a server that is overloaded or not ready.
fn is_transient(status: u16) -> bool {
    matches!(status, 429 | 500 | 502..=504)
}

/// Returns an error with its causes, in one line.
fn plain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

/// A call to the server.
struct Call {
    method: Method,
    /// With the query.
    path: String,
    content_type: &'static str,
    body: Vec<u8>,
}

impl Call {
    fn new(method: Method, path: &str) -> Call {
        Call { method, path: path.to_owned(), content_type: "application/json", body: Vec::new() }
    }

    fn request(&self) -> Request<Vec<u8>> {
        Request::builder()
            .method(&self.method)
            .uri(&self.path)
            .header("Content-Type", self.content_type)
            .body(self.body.clone())
            .expect("paths are made of names that were checked")
    }
}

/// The pauses between repetitions: each twice as long as the last, less a random part of it, so that
/// several runners do not come back together.
struct Pause {
    next: Duration,
    random: Random,
}

impl Pause {
    fn new(call: &Call) -> Pause {
        let seed = measure::random::seed_of(&format!("{}{}", call.path, std::process::id()));
        Pause { next: PAUSES.0, random: Random::new(seed) }
    }

    fn next(&mut self) -> Duration {
        let length = self.next.mul_f64(1.0 - self.random.unit() / 2.0);
        self.next = (self.next * 2).min(PAUSES.1);
        length
    }
}

/// Returns a text as a part of a query (RFC 3986).
pub fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Returns the reason why the API server itself answered a request that it should have passed on.
pub fn is_refusal(status: u16, body: &str) -> Option<String> {
    if status < 400 {
        return None;
    }
    message(body)
}

/// Returns the message of an answer in which the API server refuses a request.
pub fn message(body: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(body).ok()?;
    let is_status = answer["kind"] == "Status" && answer["apiVersion"] == "v1";
    is_status.then(|| answer["message"].as_str().unwrap_or("refused").to_owned())
}
