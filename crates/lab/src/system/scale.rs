//! Levels that change only the number of replicas of a Deployment: the system stays up, as with
//! `kubectl scale`, and so does what the other components have in memory.

use super::{Backend, Event, Progress, Stage, Stop, System, check_address, smoke, until_ready};
use crate::spec::{Component, Helm, Resolved, Step, Sut, replicas_in};

#[cfg(test)]
mod tests;

impl System {
    /// Returns the components that must be scaled to make this system the one of another level;
    /// `None` if it is not deployed, or if more has to change.
    pub(super) fn scaled<'a>(&self, resolved: &'a Resolved) -> Option<Vec<&'a Component>> {
        let of = self.of.as_deref().filter(|_| !self.urls.is_empty())?;
        let (old, new) = (&of.spec, &resolved.spec);
        let same_place = old.where_ == new.where_ && old.vars == new.vars;
        let same_sut = without_replicas(&old.sut) == without_replicas(&new.sut);
        if !same_place || !same_sut || old.simulated != new.simulated {
            return None;
        }
        let pairs = old.sut.components().zip(new.sut.components());
        let differ = pairs.filter(|(a, b)| old.sut.replicas_of(a) != new.sut.replicas_of(b));
        let changed: Vec<&Component> = differ.map(|(_, component)| component).collect();
        let can_follow = changed.iter().all(|component| {
            let mut texts = new.sut.components().flat_map(Component::texts);
            let is_used = texts.any(|text| replicas_in(text).any(|name| name == component.name()));
            component.chart().is_some_and(|chart| chart.deployment.is_some()) && !is_used
        });
        can_follow.then_some(changed)
    }

    /// Scales a system that is deployed, as far as that is necessary, and checks it as after a
    /// deployment. Its data stays.
    pub(super) fn scale(
        &mut self,
        resolved: &Resolved,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<(), Stop> {
        let changed = self.scaled(resolved).unwrap_or_default();
        if changed.is_empty() {
            return Ok(());
        }
        progress.event(&Event::Stage(Stage::Scale));
        let begun = backend.now();
        let sut = &resolved.spec.sut;
        for component in &changed {
            for instance in 1..=sut.instances.0 {
                let name = resolved.name_in(component.name(), instance);
                let addresses = backend.scale(&name, sut.replicas_of(component))?;
                let ready = sut.ready_of(component);
                for address in &addresses {
                    check_address(resolved, component, address)?;
                    until_ready(resolved, &ready, &address.of_runner, instance, backend, progress)?;
                }
                self.started.insert((instance, component.name().to_owned()), addresses);
            }
        }
        self.of = Some(Box::new(resolved.clone()));
        self.aim(resolved);
        let took = backend.now() - begun;
        self.verify(resolved, backend)?;
        smoke(resolved, &self.started, backend, progress)?;
        let is_untouched = sut.smoke.is_empty();
        self.is_initial &= is_untouched;
        self.has_fresh_data &= is_untouched;
        let replicas = |component: &&Component| {
            format!("{} ×{}", component.name(), sut.replicas_of(component))
        };
        let what = changed.iter().map(replicas).collect::<Vec<_>>().join(" + ");
        progress.event(&Event::Scaled { what, took, smoke_tests: sut.smoke.len() });
        Ok(())
    }
}

/// Returns a system without the numbers that scaling changes.
fn without_replicas(sut: &Sut) -> Sut {
    let step = |step: &Step| match step {
        Step::Component(Component::Helm(helm)) if helm.deployment.is_some() => {
            Step::Component(Component::Helm(Helm { replicas: None, ..helm.clone() }))
        }
        other => other.clone(),
    };
    let deploy = sut.deploy.iter().map(step).collect();
    Sut { replicas: Sut::default().replicas, deploy, ..sut.clone() }
}
