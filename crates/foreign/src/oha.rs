//! The JSON of oha, and its CSV file with a line for each answer.

use std::collections::BTreeMap;
use std::io::BufRead;

use results::foreign::{Code, Distribution, Facts, Limit, Quantiles};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json::{number, percentiles, quantiles, wrong};
use crate::samples::{self, Ended, Samples, cut_off, of_tool};
use crate::table::Table;
use crate::{Format, Found, Unit, document, time};

pub(crate) const JSON: Format = Format {
    name: "oha",
    what: "oha --output-format json URL",
    asks: &[],
    is: |head| head.has_keys(&["summary", "latencyPercentiles"]),
    read: |input, _| read(input),
};

pub(crate) const CSV: Format = Format {
    name: "oha-csv",
    what: "oha --output-format csv URL",
    asks: &[],
    is: |head| head.has_columns(&["request-start", "Response-delay", "request-duration"]),
    read: |input, _| answers(input),
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    /// Times in seconds; null if nothing was answered.
    summary: Map<String, Value>,
    #[serde(default)]
    latency_percentiles: Map<String, Value>,
    #[serde(default)]
    status_code_distribution: BTreeMap<String, u64>,
    #[serde(default)]
    error_distribution: BTreeMap<String, u64>,
}

const UNSAID: &str = "oha is a closed loop unless it ran with -q or --burst-delay, and counts times from sending unless \
     with --latency-correction; the file does not say";

/// Its word for the requests that were in progress at the end.
const AT_END: &str = "aborted due to deadline";

fn read(input: &mut dyn BufRead) -> Result<Found, String> {
    let document: Document =
        serde_json::from_slice(&document(input)?).map_err(|error| wrong(&error))?;
    let Document { summary, latency_percentiles, status_code_distribution, error_distribution } =
        document;
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let answered = sum(&mut status_code_distribution.values().copied());
    let is_error = |(reason, _): &(&String, &u64)| !reason.contains(AT_END);
    let errors = sum(&mut error_distribution.iter().filter(is_error).map(|(_, n)| *n));
    let unfinished = sum(&mut error_distribution.values().copied()).saturating_sub(errors);
    let is_refused =
        |(code, _): &(&String, &u64)| code.parse::<u32>().is_ok_and(|code| 400 <= code);
    let refused = sum(&mut status_code_distribution.iter().filter(is_refused).map(|(_, n)| *n));
    let mut statuses = BTreeMap::new();
    for (code, number) in &status_code_distribution {
        samples::count(&mut statuses, code, *number);
    }
    let measured_s = number(&summary, "total").filter(|s| 0.0 < *s);
    let named = quantiles(&summary, ["average", "fastest", "slowest"], Unit::Seconds);
    let level = |name: &str| name.strip_prefix('p')?.parse().ok();
    let percentiles = percentiles(&latency_percentiles, Unit::Seconds, level);
    let facts = Facts {
        measured_s,
        requests: Some(answered.saturating_add(errors)),
        failed: Some(refused.saturating_add(errors)),
        unanswered: Some(errors),
        completed_per_s: measured_s.map(|s| answered as f64 / s),
        statuses,
        times: Some(Distribution::Quantiles(Quantiles {
            count: Some(answered),
            percentiles,
            ..named
        })),
        ..Facts::default()
    };
    let mut limits = vec![of_tool(UNSAID)];
    if 0 < unfinished {
        limits.push(Limit {
            code: Code::LeftOut,
            text: format!(
                "{unfinished} requests were in progress at the end and count nowhere: the slowest may be among them"
            ),
        });
    }
    Ok(Found { tool: "oha".to_owned(), facts, limits, ..Found::default() })
}

fn answers(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut table = Table::named(input, b',')?;
    let [begin, duration, status] =
        ["request-start", "request-duration", "status"].map(|name| table.needed(name));
    let (begin, duration, status) = (begin?, duration?, status?);
    let mut samples = Samples::default();
    let mut limits = vec![
        Limit {
            code: Code::LeftOut,
            text:
                "oha writes no line for a request without an answer: how many there were is unknown"
                    .to_owned(),
        },
        of_tool(UNSAID),
    ];
    while table.next()? {
        let line = table.line();
        let time = table.number(duration).and_then(|number| time(number, Unit::Seconds));
        let code = table.text(status);
        let (Some(time), Some(begin), Ok(number)) =
            (time, table.number(begin), code.parse::<u32>())
        else {
            if !table.is_cut_off()? {
                return Err(format!("line {line} has no begin, duration and status of a request"));
            }
            limits.push(cut_off(line));
            break;
        };
        samples.add(time, if 400 <= number { Ended::Badly } else { Ended::Well });
        samples.status(&code);
        samples.at(begin);
        samples.at(begin + time.as_secs_f64());
    }
    let facts = Facts { unanswered: None, ..samples.facts()? };
    Ok(Found { tool: "oha".to_owned(), facts, limits, ..Found::default() })
}
