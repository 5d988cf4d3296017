//! A kind of failure: requests that failed for the same reason.

use serde::{Deserialize, Serialize};

/// The outcomes that are wrong responses: neither lateness nor a disturbed machine makes a response wrong. What is
/// malformed is no whole response, and ends its connection.
pub(crate) const WRONG_BUT_WHOLE: [&str; 3] = [STATUS, "check", "capture"];
const MALFORMED: &str = "malformed";
/// The outcome of requests whose response has a status of failure.
pub(crate) const STATUS: &str = "status";
/// The outcome of requests that got no connection, and the reason if nothing listened.
const CONNECT: &str = "connect";
const NOT_LISTENING: &str = "connection refused";
/// The status with which a rate limiter refuses requests (RFC 6585, 4).
const LIMITED: &str = "429";
/// The statuses with which a service refuses a load that is too high for it.
const REFUSALS: [&str; 2] = [LIMITED, "503"];

/// Requests of one label, path or target that failed for the same reason.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Failure {
    /// The failure in words: `404 for 213 of 213 requests to /fast/`.
    pub text: String,
    /// As in `Part::outcomes`.
    pub outcome: String,
    /// The status of the response, the rule that it violated, or other details of the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The label of the requests, if they have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The path of requests without a label, or their target if they have several paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    pub count: u64,
    /// The requests with this label, or to this path or target.
    pub of: u64,
}

impl Failure {
    pub(crate) fn is_wrong_response(&self) -> bool {
        WRONG_BUT_WHOLE.contains(&&*self.outcome) || self.outcome == MALFORMED
    }

    /// Returns true if the service refused these requests, which it may not do at a lower load.
    pub(crate) fn is_refusal(&self) -> bool {
        self.outcome == STATUS && self.reason.as_deref().is_none_or(|it| REFUSALS.contains(&it))
    }

    /// Returns true if no lower load is likely to change that these requests failed: they were answered wrongly and not
    /// refused, or nothing listened.
    pub(crate) fn is_of_any_load(&self) -> bool {
        let is_unheard = self.outcome == CONNECT && self.reason.as_deref() == Some(NOT_LISTENING);
        is_unheard || self.is_wrong_response() && !self.is_refusal()
    }

    pub(crate) fn is_of_limiter(&self) -> bool {
        self.outcome == STATUS && self.reason.as_deref() == Some(LIMITED)
    }

    /// Returns true if a server that is slowed may answer so: something that it waits for (5xx) or the request
    /// itself (408) took too long.
    pub(crate) fn may_be_of_slowness(&self) -> bool {
        let is_slow = |status: &str| status.starts_with('5') || status == "408";
        self.outcome == STATUS && self.reason.as_deref().is_none_or(is_slow)
    }
}
