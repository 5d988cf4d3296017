//! One delivery: its attempts, and the times between them.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper::{Response, StatusCode};
use tokio::time;

use super::command::{Backoff, Delivery};
use super::connection::MOST_QUOTED;
use super::event::{self, Event};
use super::metrics::Metrics;
use super::target::{Attempt, Target, Url};

#[cfg(test)]
mod tests;

/// The rules for the attempts of a delivery.
#[derive(Clone, Debug)]
pub struct Policy {
    pub retry: u32,
    pub backoff: Backoff,
    pub delay: Duration,
    pub retry_after_max: Option<Duration>,
}

/// The last failure of a delivery.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status of the response, or 500 if there was none.
    pub code: u16,
    pub data: Bytes,
}

impl Policy {
    pub fn new(delivery: &Delivery) -> Self {
        Policy {
            retry: delivery.retry,
            backoff: delivery.backoff,
            delay: delivery.backoff_delay,
            retry_after_max: delivery.retry_after_max,
        }
    }

    /// Returns the time before the repetition of this number, from 1.
    fn pause(&self, repetition: u32, retry_after: Option<Duration>) -> Duration {
        let factor = match self.backoff {
            Backoff::Exponential => 1_u32.checked_shl(repetition - 1).unwrap_or(u32::MAX),
            Backoff::Linear => repetition,
        };
        let backoff = self.delay.saturating_mul(factor);
        match (self.retry_after_max, retry_after) {
            (Some(most), Some(wanted)) => backoff.max(wanted.min(most)),
            _ => backoff,
        }
    }

    /// Brings an event to a URL after its first attempt, and returns the response that took it.
    pub async fn deliver(
        &self,
        event: &Event,
        target: &Target,
        first: Attempt,
        metrics: &Metrics,
    ) -> Result<Response<Bytes>, Failure> {
        let mut attempt = first;
        for repetition in 1.. {
            let (failure, may_repeat, retry_after) = match attempt {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let status = response.status();
                    let retry_after = retry_after(status, response.headers(), calendar());
                    let failure = Failure { code: status.as_u16(), data: response.into_body() };
                    (failure, is_temporary(status), retry_after)
                }
                Err(why) => (Failure { code: 500, data: why.into() }, true, None),
            };
            if !may_repeat || self.retry < repetition {
                return Err(failure);
            }
            time::sleep(self.pause(repetition, retry_after)).await;
            attempt = target.attempt_one(event, metrics).await;
        }
        unreachable!("the last attempt returns")
    }
}

impl Failure {
    /// Returns the event as the dead letter sink gets it.
    pub fn dead_letter(&self, event: &Event, destination: &Url) -> Event {
        let quoted = &self.data[..self.data.len().min(MOST_QUOTED)];
        event.with([
            ("Ce-Knativeerrordest", destination.to_string()),
            ("Ce-Knativeerrorcode", self.code.to_string()),
            ("Ce-Knativeerrordata", BASE64_STANDARD.encode(quoted)),
        ])
    }
}

/// Returns true if a subscriber replies with an event. Only a response 200 does.
pub fn has_reply(response: &Response<Bytes>) -> bool {
    response.status() == StatusCode::OK && event::is_claimed(response.headers())
}

fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 404 | 408 | 409 | 429)
}

/// Returns the time that a response asks for: seconds, or a date.
fn retry_after(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if !matches!(status.as_u16(), 429 | 503) {
        return None;
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

#[expect(clippy::disallowed_methods, reason = "Retry-After may be a date of the calendar")]
fn calendar() -> SystemTime {
    SystemTime::now()
}
