//! The health of the service as its probes see it.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HOST, HeaderMap, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode};

use super::command::Arguments;
use super::metrics::Metrics;
use crate::kit::answer::of_type;
use crate::kit::health::Health;
use crate::kit::metrics::Metrics as _;
use crate::kit::serve::{self, FullResponse, Limits, Site};

const READINESS: &str = "/health/readiness";
const LIVENESS: &str = "/health/liveness";

/// The most connections of probes.
const CONNECTIONS: usize = 256;

/// The kinds of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    Readiness,
    Liveness,
}

impl Probe {
    pub fn of(path: &str) -> Option<Self> {
        match path {
            READINESS => Some(Probe::Readiness),
            LIVENESS => Some(Probe::Liveness),
            _ => None,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Probe::Readiness => READINESS,
            Probe::Liveness => LIVENESS,
        }
    }

    /// Answers it: a process that can answer is alive, and ready if its store can be reached.
    pub fn answer(self, health: &Health) -> FullResponse {
        let is_up = self == Probe::Liveness || health.unhealthy().is_none();
        let (code, body) = match is_up {
            true => (StatusCode::OK, "{\"status\":\"UP\"}"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"DOWN\"}"),
        };
        of_type(code, "application/json", body)
    }

    /// Sends a probe of the service's port to the port of its own, at the host that it asked.
    pub fn redirect(self, headers: &HeaderMap, to: SocketAddr) -> FullResponse {
        let asked = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = asked.map_or_else(
            || to.ip().to_string(),
            |host| host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned(),
        );
        let location = format!("http://{host}:{}{}", to.port(), self.path());
        let mut response = FullResponse::default();
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }
}

/// The site of the port for probes.
struct Own {
    health: Health,
    metrics: Arc<Metrics>,
}

/// Serves probes at a port of their own until the process ends; returns its address.
pub async fn listen(
    arguments: &Arguments,
    health: Health,
    metrics: Arc<Metrics>,
) -> anyhow::Result<SocketAddr> {
    let listener = serve::listen(arguments.health_listen).await?;
    let address = listener.local_addr()?;
    let limits = Limits { connections: CONNECTIONS, ..Limits::default() };
    let site = Arc::new(Own { health, metrics });
    // Probes are not requests, so the statistics of the process do not count them.
    let statistics = Arc::default();
    tokio::spawn(serve::until(serve::told_to_end()?, listener, limits, statistics, site));
    Ok(address)
}

impl Site for Own {
    async fn answer(&self, request: Request<Bytes>) -> FullResponse {
        match Probe::of(request.uri().path()) {
            Some(probe) => probe.answer(&self.health),
            None => {
                let mut response = Response::new(Full::new(Bytes::from_static(
                    b"404: here are /health/readiness and /health/liveness\n",
                )));
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }
}
