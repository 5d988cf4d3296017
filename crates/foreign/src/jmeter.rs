//! JMeter's results (JTL) as CSV.

use std::io::BufRead;

use measure::quantity::counted;
use measure::{Nanos, civil};
use results::foreign::Facts;
use results::printed::Since;

use crate::samples::{Ended, Samples, cut_off, label_of, of_tool};
use crate::table::{Table, delimiter};
use crate::{Format, Found, Unit, time};

pub(crate) const JTL: Format = Format {
    name: "jmeter",
    what: "jmeter -n -t PLAN.jmx -l FILE.jtl",
    asks: &[],
    is: |head| {
        head.has_columns(&["timeStamp", "elapsed"])
            || head.has_columns(&["elapsed", "label", "success"])
    },
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
    let (at, elapsed) = (table.column("timeStamp"), table.needed("elapsed")?);
    let names = ["responseCode", "responseMessage", "success"];
    let [code, message, success] = names.map(|name| table.column(name));
    let (label, sums) = (table.column("label"), table.column("SampleCount"));
    let last_column = table.columns().len().saturating_sub(1);
    let (mut samples, mut limits) = (Samples::default(), Vec::new());
    let mut transactions = Samples::default();
    while table.next()? {
        let line = table.line();
        let time = table.number(elapsed).and_then(|ms| time(ms, Unit::Milliseconds));
        let Some(time) = time.filter(|_| table.reaches(last_column)) else {
            let cell = label_of(&table.text(elapsed));
            if !table.is_cut_off()? {
                return Err(format!(
                    "line {line}: the row is not complete, or `{cell}` in column `elapsed` is not a time"
                ));
            }
            limits.push(cut_off(line));
            break;
        };
        let text = |column: Option<usize>| column.map(|column| table.text(column));
        let is_transaction = text(message).is_some_and(|message| message.starts_with(TRANSACTION));
        let number = sums.and_then(|column| table.number(column)).filter(|n| 1.0 < *n);
        if let Some(number) = number.filter(|_| !is_transaction) {
            return Err(format!(
                "line {line} sums up {number} requests, whose own times are lost: run JMeter without \
                 -Jmode=Statistical"
            ));
        }
        let samples = if is_transaction { &mut transactions } else { &mut samples };
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
        if let Some(begin) = at.and_then(|column| moment(&table, column)) {
            samples.at(begin);
            samples.at(begin + time.as_secs_f64());
        }
    }
    let sums = transactions.histogram.count();
    let samples = match (sums, samples.histogram.count()) {
        (0, _) => samples,
        // A plan that generates parent samples has no other rows.
        (_, 0) => {
            limits.push(of_tool(
                "each row is a transaction: it counts as one request, and its time is that of all requests in it",
            ));
            transactions
        }
        _ => {
            limits.push(of_tool(format!(
                "{} rows of transactions are left out: each sums up requests that have rows of their own, unless the \
                 plan generates parent samples",
                counted(sums)
            )));
            samples
        }
    };
    limits.push(of_tool(
        "JMeter's thread groups are closed loops, except the Open Model Thread Group; the file does not say which \
         one it was. A connection that had to be opened is in the time",
    ));
    let mut facts = samples.facts()?;
    if success.is_none() && code.is_none() {
        facts.failed = None;
    }
    // Only a code tells a request without an answer.
    facts.unanswered = facts.unanswered.filter(|_| code.is_some());
    let step_ns = Some(Nanos::from_millis(1).0);
    let facts = Facts { since: Some(Since::Sent), step_ns, ..facts };
    Ok(Found { tool: "JMeter".to_owned(), facts, limits, ..Found::default() })
}

/// Returns the moment of a row in seconds: its milliseconds, or its date in one of JMeter's formats. A date has no
/// zone, and only differences count.
fn moment(table: &Table<'_>, column: usize) -> Option<f64> {
    if let Some(ms) = table.number(column) {
        return Some(ms / 1e3);
    }
    let text = table.text(column).replace('/', "-").replace(',', ".");
    let (date, time) = text.split_once([' ', 'T'])?;
    let parts: Vec<&str> = date.split('-').collect();
    let date = match parts[..] {
        // The format of its first versions, which begins with the month.
        [month, day, year] if month.len() == 2 => format!("20{year}-{month}-{day}"),
        _ => date.to_owned(),
    };
    civil::seconds(&format!("{date} {time}Z"))
}
