//! The sessions of a load: users whose requests follow from each other's responses.

use measure::quantity::grouped;
use serde::{Deserialize, Serialize};

use crate::times::Times;

/// The kind of the arrivals of an open loop.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Each is a request. If the requests belong to sessions, it is the next one of the session that has
    /// been ready for the longest time, or the first one of a new session.
    Requests,
    /// Each begins a session: the rate is one of sessions. Their first requests count from their intended
    /// starts, all others from the response before them and the think time.
    Sessions,
}

/// The sessions that arrived in the measurement: `started` = `completed` + those of `broken` +
/// `unfinished`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Sessions {
    /// The sessions per second that were asked for; absent if the arrivals are no sessions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked_per_s: Option<f64>,
    pub started: u64,
    /// The sessions whose last step was answered well.
    pub completed: u64,
    /// The sessions that were still in progress when the load ended.
    pub unfinished: u64,
    /// The requests of all of them.
    pub requests: u64,
    /// The sessions per second that the successful requests of the measurement are: divided by the mean number of a
    /// session's requests. Absent where the arrivals of an open loop are requests, and in earlier documents.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub succeeded_per_s: Option<f64>,
    /// The sessions that ended with a failed request, whose later steps were not sent: by request and
    /// reason, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub broken: Vec<Broken>,
    /// The times of the complete ones from the intended start to the last response, with think times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Times>,
}

/// Sessions that ended at the same step for the same reason.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Broken {
    /// The label of the last request; absent if it was never sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<String>,
    /// As in `Part::outcomes`.
    pub outcome: String,
    /// The status of the response, the value that it lacked, or other details.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    pub sessions: u64,
}

impl Arrivals {
    /// Returns a load with its unit: `300/s`, or `300 sessions/s`.
    pub fn load_in_words(self, per_s: f64) -> String {
        match self {
            Arrivals::Requests => format!("{}/s", grouped(per_s)),
            Arrivals::Sessions => format!("{} sessions/s", grouped(per_s)),
        }
    }

    /// Returns a rate of requests as it stands beside such loads: `300/s`, or `300 requests/s`.
    pub fn requests_in_words(self, per_s: f64) -> String {
        match self {
            Arrivals::Requests => format!("{}/s", grouped(per_s)),
            Arrivals::Sessions => format!("{} requests/s", grouped(per_s)),
        }
    }

    /// Returns the kind that arrivals are, from whether they are sessions.
    pub fn are_sessions(sessions: bool) -> Arrivals {
        if sessions { Arrivals::Sessions } else { Arrivals::Requests }
    }
}

impl Sessions {
    /// The sessions that ended with a failed request.
    pub fn broken(&self) -> u64 {
        self.broken.iter().map(|broken| broken.sessions).sum()
    }

    /// Adds sessions that ended at the same step for the same reason to those that did, too.
    pub fn add_broken(&mut self, other: Broken) {
        let same = |known: &&mut Broken| {
            (&known.at, &known.outcome, &known.reason) == (&other.at, &other.outcome, &other.reason)
        };
        match self.broken.iter_mut().find(same) {
            Some(known) => known.sessions += other.sessions,
            None => self.broken.push(other),
        }
        self.broken.sort_by_key(|broken| std::cmp::Reverse(broken.sessions));
    }
}
