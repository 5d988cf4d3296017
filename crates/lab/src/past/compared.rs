//! Comparisons of runs that have ended.

use std::collections::BTreeSet;

use results::Comparison;
use results::answer::Search;
use results::metric::MetricOf;

use super::{Past, environment};
use crate::Error;
use crate::comparison::{Ran, of_arms, of_experiments};

impl Past {
    /// Compares the two arms of the experiment again, with other metrics or another margin if they are given.
    ///
    /// # Errors
    ///
    /// If the spec names no arms, or if no request has the label of a metric.
    pub fn compared(&self, metrics: &[MetricOf], margin: Option<f64>) -> Result<Comparison, Error> {
        let own = self.resolved.spec.compare.as_ref();
        let own = own.ok_or_else(|| {
            Error::Question(anyhow::anyhow!(
                "the spec of {} has no `compare`; name two directories, or compare two levels of a factor: \
                 compare: {{metrics: [p99], margin: 3%}}",
                self.name
            ))
        })?;
        let own_metrics: Vec<MetricOf> = own.metrics.iter().copied().map(MetricOf::from).collect();
        let metrics = if metrics.is_empty() { &own_metrics } else { metrics };
        check_labels(&[self], metrics)?;
        let margin = margin.unwrap_or(own.margin.0.0);
        let searches = self.searches();
        let found = of_arms(self.ran(&searches), metrics, margin);
        decided_by_some(found.expect("a spec with a comparison has its arms"), metrics)
    }

    /// Compares it with a run of another version, which is judged.
    ///
    /// # Errors
    ///
    /// If the two have no question in common, if their loads differ, or if no request has the label of a metric.
    pub fn compared_with(
        &self,
        other: &Past,
        metrics: &[MetricOf],
        margin: f64,
    ) -> Result<Comparison, Error> {
        check_labels(&[self, other], metrics)?;
        let (of_a, of_b) = (self.searches(), other.searches());
        let (a, b) = ((&*self.name, self.ran(&of_a)), (&*other.name, other.ran(&of_b)));
        let differences = environment::differences(self, other);
        let found = of_experiments(a, b, metrics, margin, &differences);
        decided_by_some(found.map_err(|why| Error::Question(anyhow::anyhow!(why)))?, metrics)
    }

    fn ran<'a>(&'a self, searches: &'a [Search]) -> Ran<'a> {
        Ran { plan: &self.plan, journal: &self.journal, searches }
    }
}

/// Refuses a comparison without a metric: further trials would not bring one.
fn decided_by_some(found: Comparison, asked: &[MetricOf]) -> Result<Comparison, Error> {
    if !found.metrics.is_empty() {
        return Ok(found);
    }
    let asked: Vec<String> = asked.iter().map(MetricOf::to_string).collect();
    Err(Error::Question(anyhow::anyhow!(
        "there is no {} to compare: searches have a capacity and a maximum_throughput, and trials at given loads \
         have all other metrics",
        asked.join(", ")
    )))
}

/// Refuses a metric of a label that no request has.
fn check_labels(pasts: &[&Past], metrics: &[MetricOf]) -> Result<(), Error> {
    let entries = pasts.iter().flat_map(|past| &past.journal);
    let observed = entries.filter_map(|entry| entry.observed.as_ref());
    let known: BTreeSet<&str> =
        observed.flat_map(|observed| &observed.labels).map(|of| &*of.label).collect();
    let mut labels = metrics.iter().filter_map(|wanted| wanted.label.as_deref());
    let Some(label) = labels.find(|label| !known.contains(label)) else { return Ok(()) };
    let known: Vec<&str> = known.into_iter().collect();
    let which = match known.is_empty() {
        true => "requests get labels by a mix or a trace".to_owned(),
        false => format!("write one of {}", known.join(", ")),
    };
    Err(Error::Question(anyhow::anyhow!("no request has the label `{label}`; {which}")))
}
