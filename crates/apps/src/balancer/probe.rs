//! Probes of a replica, as a kubelet makes them: each on a connection of its own, at a fixed
//! interval, whatever the balancer passes on meanwhile.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HOST, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode, Uri, body};
use tokio::time::{self, Instant, MissedTickBehavior};

use super::backend::Backend;
use super::command::Probes;
use super::metrics::Metrics;
use super::readiness::{Readiness, Thresholds};
use crate::kit::client;
use crate::kit::events::Events;

#[cfg(test)]
mod tests;

/// Probes a replica until it leaves the list.
pub async fn follow(
    backend: Arc<Backend>,
    probes: Probes,
    metrics: Arc<Metrics>,
    events: Arc<Events>,
) {
    let thresholds =
        Thresholds { failures: probes.failure_threshold, successes: probes.success_threshold };
    let mut readiness = Readiness::default();
    let mut next = time::interval(probes.probe_every);
    next.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        next.tick().await;
        if backend.is_gone() {
            return;
        }
        let result = probe(&backend.address, &probes.probe_path, probes.probe_timeout).await;
        let changed = readiness.probed(result.is_ok(), thresholds);
        backend.set_ready(readiness.is_ready());
        metrics.probed(&backend.address, result.is_ok());
        metrics.stands(&backend.address, readiness.is_ready());
        if changed {
            let failures = thresholds.failures;
            let state = result.err().map(|why| {
                format!("not ready: {failures} probes in a row failed, the last because {why}")
            });
            events.note(&backend.address, state.as_deref());
        }
    }
}

/// Makes one probe; the error says why it failed.
async fn probe(address: &str, path: &str, timeout: Duration) -> Result<(), String> {
    let until = Instant::now() + timeout;
    let asked = async {
        let response = get(address, path).await?;
        match redirect(address, &response) {
            // A second redirect is a success, as the first one would be elsewhere.
            Some((address, path)) => get(&address, &path).await,
            None => Ok(response),
        }
    };
    let response = time::timeout_at(until, asked).await;
    let status = response.map_err(|_| format!("of no response within {timeout:?}"))??.status();
    match status.is_success() || status.is_redirection() {
        true => Ok(()),
        false => Err(format!("of status {}", status.as_u16())),
    }
}

async fn get(address: &str, path: &str) -> Result<Response<body::Incoming>, String> {
    let wrong = |why: String| format!("it cannot be asked: {why}");
    let mut link = client::connect(address).await.map_err(wrong)?;
    let request = Request::get(path).header(HOST, address).header(CONNECTION, "close");
    let request = request.body(Full::<Bytes>::default());
    let request = request.map_err(|error| wrong(error.to_string()))?;
    link.send_request(request).await.map_err(|error| wrong(error.to_string()))
}

/// Returns the address and the path of a redirect to another port of the same host.
fn redirect<B>(address: &str, response: &Response<B>) -> Option<(String, String)> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let location = response.headers().get(LOCATION).map(HeaderValue::as_bytes);
    let to = Uri::try_from(location.filter(|_| is_redirect)?).ok()?;
    let same_host = to.host()? == address.rsplit_once(':')?.0;
    let authority = to.authority()?;
    let port = match authority.as_str().strip_prefix(authority.host())? {
        "" => 80,
        port => port[1..].parse::<u16>().ok()?,
    };
    same_host.then(|| (format!("{}:{port}", to.host().unwrap_or_default()), to.path().to_owned()))
}
