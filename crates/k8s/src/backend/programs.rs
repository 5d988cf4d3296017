//! Programs of our image that run once, in pods of their own.

use lab::host;
use measure::Nanos;
use serde_json::Value;

use super::{Connected, Kubernetes, POLL_EVERY};
use crate::api;
use crate::pods::{self, State};

impl Kubernetes {
    /// Runs a pod until it ends; returns the pod, its end in words, and true if it ended
    /// with 0.
    pub(super) fn until_ended(
        &self,
        name: &str,
        object: &Value,
        within: Nanos,
    ) -> Result<(Value, String, bool), String> {
        let Connected { api, run, .. } = self.connected();
        let path = api::one("Pod", &run.namespace, name);
        let deadline = host::now() + within;
        api.apply(object).map_err(|error| error.to_string())?;
        loop {
            if self.host.is_interrupted() {
                return Err("interrupted".to_owned());
            }
            let pod = api.get(&path).map_err(|error| error.to_string())?;
            let pod = pod.ok_or("its pod is gone")?;
            match pods::state(&pod) {
                State::Succeeded => return Ok((pod, "ended with exit code 0".to_owned(), true)),
                State::Died(why) => return Ok((pod, why, false)),
                State::Ready | State::Waiting(_) if host::now() < deadline => {}
                State::Waiting(why) => {
                    return Err(format!("did not end in {}: {why}", within.in_words()));
                }
                State::Ready => return Err(format!("did not end in {}", within.in_words())),
            }
            host::rest(POLL_EVERY);
        }
    }
}
