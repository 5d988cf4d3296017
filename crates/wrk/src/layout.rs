//! The originals' texts, byte for byte: figures in, lines out.
//!
//! Socket errors and bad statuses have lines only if there are any; empty statistics print `0.00`,
//! where the originals print `-nan`.

use std::fmt::Write;
use std::ops::AddAssign;

use measure::Nanos;

use crate::extended::Extended;
use crate::statistics::hdr::{BUCKETS, SUB_BUCKETS};
use crate::statistics::thread::Calibration;
use crate::statistics::{Hdr, Row, Table};
use crate::units;

#[cfg(test)]
mod tests;

const RECORDED: &str = "Recorded Latency";
const RECORDED_OVERALL: &str = "Recorded Overall Latency";
const UNCORRECTED: &str =
    "Uncorrected Latency (measured without taking delayed starts into account)";

/// The results of a run, or of one target. `S` is the type of the statistics.
#[derive(Debug)]
pub struct Results<'a, S> {
    pub totals: &'a Totals,
    /// The latencies in µs.
    pub latency: &'a S,
    /// The requests/s of each script thread.
    pub rates: &'a S,
    pub distribution: Distribution,
}

/// The visibility of the distribution of latencies (`-L`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Distribution {
    Hidden,
    Shown,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// The number of answers.
    pub requests: u64,
    pub run: Nanos,
    pub bytes: u64,
    pub errors: Errors,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Errors {
    pub connect: u64,
    pub read: u64,
    pub write: u64,
    pub timeout: u64,
    /// Answers with a status above 399.
    pub status: u64,
}

impl AddAssign for Errors {
    fn add_assign(&mut self, other: Errors) {
        self.connect += other.connect;
        self.read += other.read;
        self.write += other.write;
        self.timeout += other.timeout;
        self.status += other.status;
    }
}

/// The text of wrk and wrk2 before a run.
pub fn opening(run: Nanos, url: &str, threads: u64, connections: u64) -> String {
    let run = units::run_length(run);
    format!("Running {run} test @ {url}\n  {threads} threads and {connections} connections\n")
}

/// The text of DeathStarBench's fork for each target before a run.
pub fn dsb_opening(run: Nanos, url: &str, threads: u64, connections: u64) -> String {
    opening(run, url, threads, connections) + "\n"
}

/// The text of wrk2 and the fork for each script thread at the end of its calibration.
pub fn calibration(found: Calibration) -> String {
    let Calibration { mean_us, interval_ms } = found;
    let mean_ms = (Extended::from(mean_us as f64 / 1000.0)).fixed(3);
    format!(
        "  Thread calibration: mean lat.: {mean_ms}ms, rate sampling interval: {interval_ms}ms\n"
    )
}

/// wrk's results.
pub fn wrk(results: &Results<Table>) -> String {
    let mut text = table("Max", results.latency.row(), results.rates.row());
    if results.distribution == Distribution::Shown {
        text += "  Latency Distribution\n";
        for percent in [50u64, 75, 90, 99] {
            let value = units::time(results.latency.percentile(percent as f64));
            line(&mut text, format_args!("{percent:7}%{}", units::aligned(&value, 10)));
        }
    }
    text + &requests("  ", results.totals) + &errors(&results.totals.errors) + &rates(results, "")
}

/// wrk2's results; `uncorrected` are service times in µs, for `-U`.
pub fn wrk2(results: &Results<Hdr>, uncorrected: Option<&Hdr>) -> String {
    let Results { latency, rates: sampled, .. } = results;
    let mut text = table("Max", latency.row(latency.max()), sampled.row(sampled.highest()));
    let end = "-".repeat(58) + "\n";
    if results.distribution == Distribution::Shown {
        text += &(distribution(latency, RECORDED) + &end);
    }
    if let Some(uncorrected) = uncorrected {
        text += &("\n".to_owned() + &distribution(uncorrected, UNCORRECTED) + &end);
    }
    text + &requests("  ", results.totals) + &errors(&results.totals.errors) + &rates(results, "")
}

/// One target's results by DeathStarBench's fork; `sent` requests, for `-r`.
pub fn dsb_target(url: &str, results: &Results<Hdr>, sent: Option<u64>) -> String {
    let heading = format!("\n{}\nTest Results @ {url} \n", rule());
    heading
        + &dsb(results, sent, RECORDED)
        + &requests("  ", results.totals)
        + &errors(&results.totals.errors)
        + &rates(results, "  ")
}

/// All targets' results together, as DeathStarBench's fork prints them. It hides errors; we do not.
pub fn dsb_overall(results: &Results<Hdr>, sent: Option<u64>) -> String {
    let middle = format!("{}Overall Statistics{}", "-".repeat(27), "-".repeat(26));
    let heading = format!("\n{}\n{middle}\n{}\n", rule(), rule());
    heading
        + &dsb(results, sent, RECORDED_OVERALL)
        + &requests("  Overall ", results.totals)
        + &errors(&results.totals.errors)
        + &rates(results, "")
}

/// The part from the number of requests to the distribution.
fn dsb(results: &Results<Hdr>, sent: Option<u64>, name: &str) -> String {
    let sent = sent.map_or(String::new(), |sent| format!("Sent {sent} requests\n\n"));
    let row = |hdr: &Hdr| hdr.row(hdr.percentile(99.0));
    let text = sent + &table("99%", row(results.latency), row(results.rates));
    match results.distribution {
        Distribution::Hidden => text,
        Distribution::Shown => text + &distribution(results.latency, name) + &rule() + "\n",
    }
}

fn rule() -> String {
    "-".repeat(71)
}

fn table(high: &str, latency: Row, rates: Row) -> String {
    let mut text = String::new();
    let (mean, deviation, within) = ("Avg", "Stdev", "+/- Stdev");
    line(&mut text, format_args!("  Thread Stats{mean:>6}{deviation:>11}{high:>8}{within:>12}"));
    line(&mut text, format_args!("    Latency   {}", row(latency, units::time)));
    line(&mut text, format_args!("    Req/Sec   {}", row(rates, units::count)));
    text
}

fn row(row: Row, write: fn(Extended) -> String) -> String {
    let mean = units::aligned(&write(row.mean), 8);
    let deviation = units::aligned(&write(row.deviation), 10);
    let high = units::aligned(&write(row.high), 9);
    format!("{mean}{deviation}{high}{:>8}%", row.within.fixed(2))
}

/// Percentiles and spectrum, in µs and in ms.
fn distribution(latency: &Hdr, name: &str) -> String {
    let mut text = String::new();
    line(&mut text, format_args!("  Latency Distribution (HdrHistogram - {name})"));
    for percent in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
        let value = units::aligned(&units::time(latency.percentile(percent)), 10);
        line(&mut text, format_args!("{percent:7.3}%{value}"));
    }
    line(&mut text, format_args!("\n  Detailed Percentile spectrum:"));
    let heads = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];
    line(&mut text, format_args!("{}\n", heads.map(|head| format!("{head:>12}")).join(" ")));
    for level in latency.spectrum() {
        let (value, beyond) = (ms(level.value as f64), 1.0 / (1.0 - level.level));
        let beyond = if beyond.is_finite() { fixed(beyond, 2) } else { "inf".to_owned() };
        let (percentile, count) = (fixed(level.level, 6), level.count);
        line(&mut text, format_args!("{value:>12} {percentile:>12} {count:12} {beyond:>12}"));
    }
    let (mean, deviation) = (ms(latency.mean()), ms(latency.deviation()));
    line(&mut text, format_args!("#[Mean    = {mean:>12}, StdDeviation   = {deviation:>12}]"));
    let (max, count) = (ms(latency.max() as f64), latency.count());
    line(&mut text, format_args!("#[Max     = {max:>12}, Total count    = {count:12}]"));
    line(&mut text, format_args!("#[Buckets = {BUCKETS:12}, SubBuckets     = {SUB_BUCKETS:12}]"));
    text
}

fn ms(us: f64) -> String {
    fixed(us / 1000.0, 3)
}

/// Formats a number as C's `%.*f` does.
fn fixed(x: f64, decimals: u32) -> String {
    Extended::from(x).fixed(decimals)
}

fn requests(before: &str, totals: &Totals) -> String {
    let (run, bytes) = (units::time(micros(totals.run)), units::bytes(totals.bytes));
    format!("{before}{} requests in {run}, {bytes}B read\n", totals.requests)
}

fn errors(errors: &Errors) -> String {
    let mut text = String::new();
    let Errors { connect, read, write, timeout, status } = errors;
    if [connect, read, write, timeout].into_iter().any(|&count| 0 < count) {
        line(
            &mut text,
            format_args!(
                "  Socket errors: connect {connect}, read {read}, write {write}, \
                 timeout {timeout}"
            ),
        );
    }
    if 0 < *status {
        line(&mut text, format_args!("  Non-2xx or 3xx responses: {status}"));
    }
    text
}

/// The last two lines; `after` follows the rate of requests.
fn rates<S>(results: &Results<S>, after: &str) -> String {
    let seconds = Extended::from(micros(results.totals.run) as f64 / 1_000_000.0);
    let requests = (Extended::from(results.totals.requests) / seconds).fixed(2);
    let bytes = units::bytes(Extended::from(results.totals.bytes) / seconds);
    format!("Requests/sec: {requests:>9}{after}\nTransfer/sec: {bytes:>10}B\n")
}

fn micros(length: Nanos) -> u64 {
    length.0 / 1000
}

fn line(text: &mut String, line: std::fmt::Arguments) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}
