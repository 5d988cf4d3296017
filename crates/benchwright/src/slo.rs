//! What is wanted of a target: limits of response times and of failures.

use std::fmt;
use std::str::FromStr;

use load::observe::Part;
use measure::{Nanos, Quantile};

#[cfg(test)]
mod tests;

/// Conditions that all have to hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slo(Vec<Condition>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    ResponseTime { quantile: Quantile, below: Nanos },
    Failures { below: f64 },
}

impl Slo {
    /// The tightest limit of a response time: slower answers are no goodput.
    pub(crate) fn response_time(&self) -> Option<Nanos> {
        let limit = |condition: &Condition| match condition {
            Condition::ResponseTime { below, .. } => Some(*below),
            Condition::Failures { .. } => None,
        };
        self.0.iter().filter_map(limit).min()
    }

    /// The conditions that do not hold, each with its figure.
    pub(crate) fn missed(&self, total: &Part) -> Vec<String> {
        let missed = |condition: &Condition| match *condition {
            Condition::ResponseTime { quantile, below } => {
                let figure = total.response.quantile(quantile);
                match figure {
                    Some(figure) if figure < below => None,
                    Some(figure) => Some(format!("{condition}, and it is {figure}")),
                    None => Some(format!("{condition}, and nothing was answered")),
                }
            }
            Condition::Failures { below } => {
                let share = total.failed() as f64 / total.intended.max(1) as f64;
                (below <= share)
                    .then(|| format!("{condition}, and they are {:.3} %", 100.0 * share))
            }
        };
        self.0.iter().filter_map(missed).collect()
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, condition) in self.0.iter().enumerate() {
            write!(f, "{}{condition}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::ResponseTime { quantile, below } => {
                // Levels have few digits in percent, and more in binary.
                write!(f, "p{}<{below}", (quantile.level() * 1e8).round() / 1e6)
            }
            Condition::Failures { below } => write!(f, "errors<{}%", (below * 1e8).round() / 1e6),
        }
    }
}

/// Reads `p99<10ms,errors<0.1%`; a time alone is a limit of the p99.
impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Slo, String> {
        if let Ok(below) = text.trim().parse() {
            return Ok(Slo(vec![Condition::ResponseTime { quantile: Quantile::P99, below }]));
        }
        text.split(',').map(|part| condition(part.trim())).collect::<Result<_, _>>().map(Slo)
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    let wrong = || format!("`{text}` is no condition; write p99<10ms or errors<0.1%");
    let (name, limit) = text.split_once('<').ok_or_else(wrong)?;
    let (name, limit) = (name.trim(), limit.trim().trim_start_matches('=').trim());
    if name == "errors" {
        let percent: f64 =
            limit.strip_suffix('%').and_then(|n| n.trim().parse().ok()).ok_or_else(wrong)?;
        let below = percent / 100.0;
        return if (0.0..=1.0).contains(&below) {
            Ok(Condition::Failures { below })
        } else {
            Err(wrong())
        };
    }
    let level = name.strip_prefix('p').and_then(|n| n.parse::<f64>().ok()).ok_or_else(wrong)?;
    let quantile = Quantile::new(level / 100.0).ok_or_else(wrong)?;
    let below = limit.parse().map_err(|_| wrong())?;
    Ok(Condition::ResponseTime { quantile, below })
}
