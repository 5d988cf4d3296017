//! JMeter's results (JTL) as CSV.

use std::io::BufRead;

use measure::Nanos;
use results::foreign::Facts;
use results::printed::Since;

use crate::samples::{Ended, Samples, cut_off, label_of, of_tool};
use crate::table::{Table, delimiter};
use crate::{Format, Found, Unit, time};

pub(crate) const JTL: Format = Format {
    name: "jmeter",
    what: "jmeter -n -t PLAN.jmx -l FILE.jtl",
    asks: &[],
    is: |head| head.has_columns(&["timeStamp", "elapsed"]),
    read: |input, _| read(input),
};

/// The beginning of the message of a row that sums up other rows.
const TRANSACTION: &str = "Number of samples in transaction";
/// The beginning of the code of a request without an answer.
const NO_ANSWER: &str = "Non HTTP response code";

fn read(input: &mut dyn BufRead) -> Result<Found, String> {
    let delimiter = match input.fill_buf() {
        Ok(bytes) => delimiter(String::from_utf8_lossy(bytes).lines().next().unwrap_or_default()),
        Err(error) => return Err(error.to_string()),
    };
    let mut table = Table::named(input, delimiter)?;
    let (at, elapsed) = (table.needed("timeStamp")?, table.needed("elapsed")?);
    let names = ["responseCode", "responseMessage", "success"];
    let [code, message, success] = names.map(|name| table.column(name));
    let label = table.column("label");
    let last_column = table.columns().len().saturating_sub(1);
    let (mut samples, mut limits, mut transactions) = (Samples::default(), Vec::new(), 0_u64);
    while table.next()? {
        let line = table.line();
        let time = table.number(elapsed).and_then(|ms| time(ms, Unit::Milliseconds));
        let Some(time) = time.filter(|_| table.reaches(last_column)) else {
            let cell = label_of(&table.text(elapsed));
            if table.next()? {
                return Err(format!(
                    "line {line}: the row is not complete, or `{cell}` in column `elapsed` is not a time"
                ));
            }
            limits.push(cut_off(line));
            break;
        };
        let text = |column: Option<usize>| column.map(|column| table.text(column));
        if text(message).is_some_and(|message| message.starts_with(TRANSACTION)) {
            transactions += 1;
            continue;
        }
        let code = text(code);
        let is_answered = code.as_deref().is_none_or(|code| !code.starts_with(NO_ANSWER));
        let is_well = match (text(success), &code) {
            (Some(success), _) => success.eq_ignore_ascii_case("true"),
            // Without that column nothing says whether an assertion failed.
            (None, Some(code)) => !code.parse::<u32>().is_ok_and(|code| 400 <= code),
            (None, None) => true,
        };
        let ended = match (is_answered, is_well) {
            (false, _) => Ended::Unanswered,
            (true, false) => Ended::Badly,
            (true, true) => Ended::Well,
        };
        match text(label) {
            Some(label) => samples.add_labelled(&label, time, ended),
            None => samples.add(time, ended),
        }
        if let Some(code) = code.filter(|code| is_answered && !code.is_empty()) {
            samples.status(&code);
        }
        if let Some(begin) = table.number(at).map(|ms| ms / 1e3) {
            samples.at(begin);
            samples.at(begin + time.as_secs_f64());
        }
    }
    if 0 < transactions {
        limits.push(of_tool(format!(
            "{transactions} rows of transactions are left out: each sums up requests that have rows of their own"
        )));
    }
    limits.push(of_tool(
        "JMeter's thread groups are closed loops, except the Open Model Thread Group; the file does not say which \
         one it was. A connection that had to be opened is in the time",
    ));
    let mut facts = samples.facts()?;
    if success.is_none() && code.is_none() {
        (facts.failed, facts.unanswered) = (None, None);
    }
    let step_ns = Some(Nanos::from_millis(1).0);
    let facts = Facts { since: Some(Since::Sent), step_ns, ..facts };
    Ok(Found { tool: "JMeter".to_owned(), facts, limits, ..Found::default() })
}
