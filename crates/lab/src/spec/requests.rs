//! The runner's own requests, of `ready`, of `smoke` and of actions, and the load of our generator: they
//! are HTTP, and what gets them must be.

use wire::url;

use super::source::SpecError;
use super::workload::Protocol;
use super::{BackendKind, Component, HTTP, Resolved, generator, texts};

#[cfg(test)]
mod tests;

/// A request of the runner.
struct Own {
    /// The component that gets it; empty for a service that runs elsewhere.
    to: String,
    target: String,
    /// The key under which it is written.
    key: &'static str,
}

/// Returns the runner's own requests.
fn own(resolved: &Resolved) -> Vec<Own> {
    let sut = &resolved.spec.sut;
    let is_external = resolved.spec.where_.backend == BackendKind::External;
    let endpoint = sut.endpoint_component().filter(|_| !is_external).map_or("", Component::name);
    let ready = |to: &str, get: Option<String>| {
        get.map(|target| Own { to: to.to_owned(), target, key: "ready:" })
    };
    let elsewhere = is_external.then(|| ready("", sut.ready.get.clone())).flatten();
    let of_components = sut.components().filter_map(|one| ready(one.name(), sut.ready_of(one).get));
    let of_actions = texts::actions(resolved)
        .filter_map(|action| action.exchange().map(|exchange| (exchange.clone(), "http:")));
    let of_smoke = sut.smoke.iter().map(|exchange| (exchange.clone(), "smoke:"));
    let exchanges = of_actions.chain(of_smoke).map(|(exchange, key)| Own {
        to: exchange.to.as_deref().unwrap_or(endpoint).to_owned(),
        target: exchange.target,
        key,
    });
    elsewhere.into_iter().chain(of_components).chain(exchanges).collect()
}

/// Checks that what the spec says to speak another protocol gets neither a request of the runner nor HTTP from
/// our generator.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let sut = &resolved.spec.sut;
    let protocol = resolved.spec.workload.protocol();
    let scheme = |(instance, written): (u32, &String)| {
        let url = resolved.text(written, instance);
        url::server(&url).map(|server| server.scheme).map_err(|why| {
            // The workload may have a better reason.
            let why = protocol.check(&url).err().unwrap_or(why);
            resolved.wrong_endpoint(written, &why)
        })
    };
    let elsewhere: Vec<String> = match resolved.spec.where_.backend {
        // With components, its endpoint may be the name of one: that it deploys nothing is said later.
        BackendKind::External if !sut.deploy.is_empty() => return Ok(()),
        BackendKind::External => {
            (1..).zip(&sut.endpoint.0).map(scheme).collect::<Result<_, SpecError>>()?
        }
        BackendKind::Local | BackendKind::Simulated | BackendKind::Kubernetes => Vec::new(),
    };
    for request in own(resolved) {
        let component = sut.components().find(|component| component.name() == request.to);
        let scheme = component.and_then(Component::scheme).map(|scheme| &**scheme);
        let mut schemes = scheme.into_iter().chain(elsewhere.iter().map(String::as_str));
        if let Some(scheme) = schemes.find(|scheme| *scheme != HTTP) {
            return Err(refused(resolved, &request, scheme));
        }
    }
    let Some(endpoint) = sut.endpoint_component().filter(|_| elsewhere.is_empty()) else {
        return Ok(());
    };
    let stated = endpoint.scheme().map(|scheme| &**scheme);
    // A program that prints no URL is at HTTP unless its scheme is stated.
    let known = stated.or(endpoint.port().map(|_| HTTP));
    let Some(scheme) = known.filter(|scheme| !protocol.is_at(scheme)) else { return Ok(()) };
    let (name, sent) = (endpoint.name(), protocol.requests());
    let message = format!("this workload sends {sent}, and `{name}` is at {scheme}://");
    let (place, label) = match (stated, protocol) {
        (Some(scheme), Protocol::Http) => (
            resolved.source.find("scheme:", scheme),
            "choose another endpoint, or a generator of this protocol by `exec`",
        ),
        (Some(scheme), _) => {
            (resolved.source.find("scheme:", scheme), "choose another endpoint, or correct it")
        }
        (None, _) => (
            resolved.source.find("name:", name),
            "state the protocol of this component, such as scheme: redis",
        ),
    };
    Err(resolved.source.error(message, place, label))
}

impl Resolved {
    /// Checks the URL at which a component is ready: one of another scheme gets no request of the runner, and one
    /// with a query no path of the workload.
    pub(crate) fn check_requests(&self, component: &str, url: &str) -> Result<(), SpecError> {
        let source = &self.source;
        let server = url::server(url).map_err(|why| {
            let message = format!("`{component}` is ready at no valid URL: {why}");
            source.error(message, source.find("name:", component), "")
        })?;
        let scheme = &server.scheme;
        let mut own = own(self).into_iter();
        if let Some(request) = own.find(|request| request.to == component && scheme != HTTP) {
            return Err(refused(self, &request, scheme));
        }
        let endpoint = self.spec.sut.endpoint_component().map(Component::name);
        if endpoint == Some(component) && generator::is_behind_query(self, &server) {
            let message = format!(
                "`{component}` is ready at a URL with a query, and the workload has a path of its own"
            );
            let path = self.spec.workload.path().unwrap_or_default();
            let place = source.find("get:", path).or_else(|| source.find("path:", path));
            let label =
                "move the query to this path, and let the component print its URL without it";
            return Err(source.error(message, place, label));
        }
        Ok(())
    }
}

fn refused(resolved: &Resolved, Own { to, target, key }: &Own, scheme: &str) -> SpecError {
    let (at, label) = match (to.is_empty(), *key) {
        (true, _) => ("the endpoint".to_owned(), "remove it, or name an HTTP endpoint"),
        (false, "ready:") => (
            format!("`{to}`"),
            "remove it: a component is ready by its line `ready <url>`, or with a port by `tcp` or `log`",
        ),
        (false, _) => (format!("`{to}`"), "remove it, or send it to an HTTP component by `to`"),
    };
    let message = format!("the runner's own requests are plain HTTP, and {at} is at {scheme}://");
    let source = &resolved.source;
    let place = source.find(key, target).or_else(|| source.find(key, key));
    source.error(message, place, label)
}
