//! Comparisons of runs that have ended.

use results::answer::Search;
use results::{Comparison, Metric};

use super::{Past, environment};
use crate::Error;
use crate::comparison::{Ran, of_arms, of_experiments};

impl Past {
    /// Compares the two arms of the experiment again, with other metrics or another margin if they are given.
    ///
    /// # Errors
    ///
    /// If the spec names no arms.
    pub fn compared(&self, metrics: &[Metric], margin: Option<f64>) -> Result<Comparison, Error> {
        let own = self.resolved.spec.compare.as_ref();
        let own = own.ok_or_else(|| {
            Error::Question(anyhow::anyhow!(
                "the spec of {} has no `compare`; name two directories, or compare two levels of a factor: \
                 compare: {{metrics: [p99], margin: 3%}}",
                self.name
            ))
        })?;
        let metrics = if metrics.is_empty() { &own.metrics } else { metrics };
        let margin = margin.unwrap_or(own.margin.0.0);
        let searches = self.searches();
        let found = of_arms(self.ran(&searches), metrics, margin);
        decided_by_some(found.expect("a spec with a comparison has its arms"), metrics)
    }

    /// Compares it with a run of another version, which is judged.
    ///
    /// # Errors
    ///
    /// If the two have no question in common, or if their loads differ.
    pub fn compared_with(
        &self,
        other: &Past,
        metrics: &[Metric],
        margin: f64,
    ) -> Result<Comparison, Error> {
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
fn decided_by_some(found: Comparison, asked: &[Metric]) -> Result<Comparison, Error> {
    if !found.metrics.is_empty() {
        return Ok(found);
    }
    let asked: Vec<&str> = asked.iter().map(|metric| metric.name()).collect();
    Err(Error::Question(anyhow::anyhow!(
        "there is no {} to compare: searches have a capacity and a maximum_throughput, and trials at given loads \
         have all other metrics",
        asked.join(", ")
    )))
}
