//! Actions and checks on a system: each is carried out in every instance, before the next begins.

use measure::Nanos;

use super::{POLL_EVERY, Started, addresses, endpoint_name, failed, join, until_ready};
use crate::backend::{Backend, Stop};
use crate::progress::Silent;
use crate::spec::{Action, BackendKind, Change, Check, Exchange, Resolved, Run, Wait};

#[cfg(test)]
mod tests;

/// The longest part of a response or of an output that is shown.
const MOST_SHOWN: usize = 200;

/// A list of actions, and the beginning of the message if one fails.
pub(super) struct List<'a> {
    pub(super) actions: &'a [Action],
    pub(super) error: &'a str,
}

impl List<'_> {
    /// Carries out the actions on the components that are `started`.
    pub(super) fn perform(
        &self,
        resolved: &Resolved,
        started: &Started,
        backend: &mut dyn Backend,
    ) -> Result<(), Stop> {
        for action in self.actions {
            if let Action::Wait(Wait::Time(length)) = action {
                backend.pause(*length)?;
                continue;
            }
            for instance in 1..=instances(resolved) {
                let at = At { resolved, started, instance };
                self.in_instance(action, &at, backend)?;
            }
        }
        Ok(())
    }

    fn in_instance(
        &self,
        action: &Action,
        at: &At<'_>,
        backend: &mut dyn Backend,
    ) -> Result<(), Stop> {
        let done = match action {
            Action::Restart(components) => return restart(&components.0, at, backend),
            Action::Http(exchange) => ask(exchange, at, backend),
            Action::Run(run) => execute(run, at, backend),
            Action::Config(config) => change(&Change::Config(config.clone()), at, backend)?,
            Action::Scale(scale) => change(&Change::Scale(scale.clone()), at, backend)?,
            Action::Wait(Wait::Time(_)) => unreachable!("a rest is not taken in each instance"),
            Action::Wait(Wait::Until { check, timeout }) => {
                return self.wait(check, *timeout, at, backend);
            }
        };
        done.map_err(|why| failed(self.error, &why, backend))
    }

    /// Repeats a check until it passes.
    fn wait(
        &self,
        check: &Check,
        timeout: Nanos,
        at: &At<'_>,
        backend: &mut dyn Backend,
    ) -> Result<(), Stop> {
        let deadline = backend.now() + timeout;
        loop {
            let done = match check {
                Check::Http(exchange) => ask(exchange, at, backend),
                Check::Run(run) => execute(run, at, backend),
            };
            let Err(why) = done else { return Ok(()) };
            backend.check()?;
            if deadline <= backend.now() {
                let why = format!("waited {} for: {why}", timeout.in_words());
                return Err(failed(self.error, &why, backend));
            }
            backend.pause(POLL_EVERY)?;
        }
    }
}

/// One instance of a system, as far as it is started.
pub(super) struct At<'a> {
    pub(super) resolved: &'a Resolved,
    pub(super) started: &'a Started,
    pub(super) instance: u32,
}

/// Sends one request; an error contains the request, the expected response and the actual one.
pub(super) fn ask(
    exchange: &Exchange,
    at: &At<'_>,
    backend: &mut dyn Backend,
) -> Result<(), String> {
    let At { resolved, started, instance } = *at;
    let exchange = exchange.with_texts(&|text| resolved.text(text, instance));
    let name = exchange.to.as_deref().unwrap_or(endpoint_name(resolved));
    let replicas = started.get(&(instance, name.to_owned()));
    let first = replicas.and_then(|all| all.first()).expect("the order was checked in the spec");
    let url = &first.of_runner;
    let asked = format!("{} {}", exchange.method, join(url, &exchange.target));
    let reply = backend.ask(url, &exchange).map_err(|why| format!("{asked}: {why}"))?;
    let secrets = &resolved.secrets;
    // A backend without a system answers with the text of the spec.
    let (answer, shown) = (secrets.reveal(&reply.body), shown(&secrets.redact(&reply.body)));
    if !exchange.status.allow(reply.status) {
        let status = &exchange.status;
        return Err(format!("{asked}: status {} instead of {status}: {shown}", reply.status));
    }
    match (&exchange.body, &exchange.body_equals) {
        (Some(part), _) if !answer.contains(&secrets.reveal(part)) => {
            Err(format!("{asked}: no `{part}` in the answer: {shown}"))
        }
        (_, Some(whole)) if answer.trim() != secrets.reveal(whole).trim() => Err(format!(
            "{asked}: the answer must be `{}`, and is `{}`",
            whole.trim(),
            shown.trim()
        )),
        _ => Ok(()),
    }
}

/// Restarts components, one after the other, each until it is ready.
fn restart(components: &[String], at: &At<'_>, backend: &mut dyn Backend) -> Result<(), Stop> {
    let At { resolved, started, instance } = *at;
    for name in components {
        backend.restart(&[resolved.name_in(name, instance)])?;
        let sut = &resolved.spec.sut;
        let component = sut.components().find(|component| component.name() == name);
        let ready = sut.ready_of(component.expect("the name was checked in the spec"));
        for address in started.get(&(instance, name.clone())).into_iter().flatten() {
            until_ready(resolved, &ready, &address.of_runner, instance, backend, &mut Silent)?;
        }
    }
    Ok(())
}

/// Changes an object of the cluster; an error contains the change.
fn change(
    change: &Change,
    at: &At<'_>,
    backend: &mut dyn Backend,
) -> Result<Result<(), String>, Stop> {
    let At { resolved, started, instance } = *at;
    let addresses = addresses(started, instance);
    let change = change.with_texts(&|text| resolved.text_with(text, instance, &addresses));
    let done = backend.change(&change)?;
    Ok(done.map_err(|why| format!("{change}: {why}")))
}

/// Runs a program; an error contains its command, what was expected and what happened.
fn execute(run: &Run, at: &At<'_>, backend: &mut dyn Backend) -> Result<(), String> {
    let At { resolved, started, instance } = *at;
    let addresses = addresses(started, instance);
    let run = run.with_texts(&|text| resolved.text_with(text, instance, &addresses));
    let asked = run.in_words();
    let job = run.job.as_ref().map(|file| resolved.path(file).display().to_string());
    let run = Run { job, ..run };
    let done = backend.execute(&run).map_err(|why| format!("{asked}: {why}"))?;
    let secrets = &resolved.secrets;
    if !done.succeeded {
        let lines: String = done.last_lines.iter().map(|line| format!("\n    {line}")).collect();
        return Err(format!("{asked}: {}{lines}", done.end));
    }
    let (output, shown) = (secrets.reveal(&done.output), shown(&secrets.redact(&done.output)));
    match (&run.output, &run.output_equals) {
        (Some(part), _) if !output.contains(&secrets.reveal(part)) => {
            Err(format!("{asked}: no `{part}` in the output: {shown}"))
        }
        (_, Some(whole)) if output.trim() != secrets.reveal(whole).trim() => Err(format!(
            "{asked}: the output must be `{}`, and is `{}`",
            whole.trim(),
            shown.trim()
        )),
        _ => Ok(()),
    }
}

fn shown(text: &str) -> String {
    text.trim_end().chars().take(MOST_SHOWN).collect()
}

/// Returns the number of instances; a service that runs elsewhere has one for each address.
pub(super) fn instances(resolved: &Resolved) -> u32 {
    let sut = &resolved.spec.sut;
    match resolved.spec.where_.backend {
        BackendKind::External => sut.endpoint.0.len() as u32,
        BackendKind::Local | BackendKind::Simulated | BackendKind::Kubernetes => sut.instances.0,
    }
}
