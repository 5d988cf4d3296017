//! Figures in Prometheus' text format, as kubelets print them.

#[cfg(test)]
mod tests;

/// A line of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample<'a> {
    labels: &'a str,
    pub(crate) value: f64,
    /// The time when it was read, in milliseconds since 1970, if the line says so.
    pub(crate) at_ms: Option<u64>,
}

impl<'a> Sample<'a> {
    /// Returns the value of a label.
    pub(crate) fn label(&self, name: &str) -> Option<&'a str> {
        let mut labels = self.labels.split("\",").filter_map(|label| label.split_once("=\""));
        let (_, value) = labels.find(|(label, _)| label.trim() == name)?;
        Some(value.strip_suffix('"').unwrap_or(value))
    }
}

/// Returns the samples of a metric.
pub(crate) fn samples<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Sample<'a>> {
    text.lines().filter_map(move |line| sample(line.strip_prefix(name)?))
}

/// Reads the rest of a line behind the metric's name: `{a="b"} 1 1700000000000`, or ` 1`.
fn sample(rest: &str) -> Option<Sample<'_>> {
    let (labels, rest) = match rest.strip_prefix('{') {
        // A value of a label may contain a brace.
        Some(rest) => rest.rsplit_once('}')?,
        None => ("", rest.strip_prefix(' ')?),
    };
    let mut rest = rest.split_whitespace();
    let value = rest.next()?.parse().ok()?;
    let at_ms = rest.next().and_then(|time| time.parse().ok());
    Some(Sample { labels, value, at_ms })
}

/// The numbers of a container's periods of its CPU quota.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Periods {
    pub(crate) all: f64,
    pub(crate) throttled: f64,
}

/// Returns the periods of a container; `None` if it has no quota.
pub(crate) fn periods(text: &str, of: [&str; 3]) -> Option<Periods> {
    let value = |name| samples(text, name).find(|sample| is_of(sample, of)).map(|one| one.value);
    let all = value("container_cpu_cfs_periods_total")?;
    let throttled = value("container_cpu_cfs_throttled_periods_total").unwrap_or(0.0);
    Some(Periods { all, throttled })
}

/// Returns true if figures of a container are there at all.
pub(crate) fn has_container(text: &str, of: [&str; 3]) -> bool {
    samples(text, "container_cpu_usage_seconds_total").any(|sample| is_of(&sample, of))
}

/// Returns true for a sample of this namespace, pod and container.
fn is_of(sample: &Sample<'_>, of: [&str; 3]) -> bool {
    ["namespace", "pod", "container"].map(|name| sample.label(name).unwrap_or_default()) == of
}
