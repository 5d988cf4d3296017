//! The rest until the system is idle. What one load left to do, such as requests that nobody waits for
//! any more, must not be in the way of the next.

use measure::Nanos;

use crate::backend::{Backend, Stop};
use crate::progress::{Event, Progress, Stage};
use crate::spec::{Resolved, UntilIdle};

#[cfg(test)]
mod tests;

/// The time over which the use of CPUs is compared with the bound.
pub const OVER: Nanos = Nanos::from_millis(100);

/// Waits until the components of the system hardly use CPUs; returns in words why they may not be
/// idle.
pub(super) fn rest(
    resolved: &Resolved,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<Option<String>, Stop> {
    let wanted = resolved.spec.phases.cool_down.until_idle;
    let UntilIdle { below, max } = wanted.unwrap_or_default();
    if *max == Nanos::ZERO {
        return Ok(None);
    }
    let (begun, mut before) = (backend.now(), backend.cpu_time());
    let mut since = begun;
    let unknown = || {
        let text = "the CPU time of the system is not known here, so nothing was waited for; rest \
                    for a fixed time: phases.cool_down.trials in place of until_idle";
        wanted.map(|_| text.to_owned())
    };
    loop {
        let Some(used) = before else { return Ok(unknown()) };
        backend.pause(OVER)?;
        let (now, after) = (backend.now(), backend.cpu_time());
        let Some(used) = after.map(|after| after.saturating_sub(used)) else {
            return Ok(unknown());
        };
        let cpus = used.as_secs_f64() / (now - since).as_secs_f64();
        if cpus <= below {
            return Ok(None);
        }
        if *max <= now - begun {
            return Ok(Some(format!(
                "the system still used {cpus:.2} CPUs after a rest of {}; if it always does, allow \
                 it: phases.cool_down.until_idle.below",
                max.in_words()
            )));
        }
        if since == begun {
            progress.event(&Event::Stage(Stage::RestUntilIdle));
        }
        (since, before) = (now, after);
    }
}
