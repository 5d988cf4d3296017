//! The HTTP/1.1 pages of a service that is not a frontend, beside its gRPC calls: its health and
//! its metrics.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::{Request, StatusCode};

use super::answer::{PROMETHEUS, of_type};
use super::health::Health;
use super::metrics::Metrics;
use super::rpc::Calls;
use super::serve::{FullResponse, Site};

pub struct Page<M> {
    pub health: Health,
    pub metrics: Arc<M>,
    pub calls: Calls,
}

impl<M: Metrics> Site for Page<M> {
    async fn answer(&self, request: Request<Bytes>) -> FullResponse {
        match request.uri().path() {
            "/healthz" => match self.health.unhealthy() {
                None => text(StatusCode::OK, "ok"),
                Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            },
            "/metrics" => text(StatusCode::OK, self.metrics.text()),
            _ => {
                let hint = "404: here are /healthz and /metrics; calls are gRPC over HTTP/2\n";
                text(StatusCode::NOT_FOUND, hint)
            }
        }
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }

    fn calls(&self) -> Option<&Calls> {
        Some(&self.calls)
    }
}

fn text(code: StatusCode, body: impl Into<Bytes>) -> FullResponse {
    of_type(code, PROMETHEUS, body)
}
