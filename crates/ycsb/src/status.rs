//! The line that tells the state of a run.

use measure::{Civil, Histogram, Nanos, Quantile};

use crate::export::Interval;
use crate::export::blocks;
use crate::measurements::{Form, Measurements, Times};

#[cfg(test)]
mod tests;

/// The state of a run at a time after its start.
#[derive(Clone, Debug)]
pub struct State {
    pub elapsed: Nanos,
    /// The operations that remain; `None` if only time ends the run.
    pub remaining: Option<u64>,
    pub measurements: Measurements,
}

/// Returns the line at a time in milliseconds since 1970 (universal time), with the figures since the line before.
pub fn line(
    label: &str,
    now_ms: u64,
    state: &State,
    before: Option<&State>,
    interval: Interval,
) -> String {
    let date = Civil::of(now_ms / 1000);
    let Civil { year, month, day, hour, minute, second } = date;
    let operations = state.measurements.operations;
    let seconds = state.elapsed.0 / Nanos::SECOND.0;
    let mut line = format!(
        "{label}{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}:{:03} {seconds} sec: {operations} operations; ",
        now_ms % 1000,
    );
    let (earlier, since) =
        before.map_or((0, Nanos::ZERO), |before| (before.measurements.operations, before.elapsed));
    let length = state.elapsed.saturating_sub(since).as_secs_f64();
    if operations != 0 && 0.0 < length {
        let current = (operations - earlier) as f64 / length;
        line += &format!("{} current ops/sec; ", short(current));
    }
    if let Some(remaining) = state.remaining.filter(|remaining| 0 < *remaining)
        && operations != 0
    {
        let seconds = remaining as f64 * state.elapsed.as_secs_f64() / operations as f64;
        line += &format!("est completion in {}", rough(seconds.ceil() as u64));
    }
    for summary in summaries(state, before, interval) {
        line += &summary;
        line.push(' ');
    }
    line
}

fn summaries(state: &State, before: Option<&State>, interval: Interval) -> Vec<String> {
    let earlier = before.map(|before| blocks(&before.measurements, interval)).unwrap_or_default();
    let form = state.measurements.form();
    let mut summaries = Vec::new();
    for block in blocks(&state.measurements, interval) {
        let earlier = earlier.iter().find(|earlier| earlier.name == block.name);
        let earlier = earlier.map(|earlier| earlier.times);
        let parts: &[Form] = match form {
            Form::HdrAndBuckets => &[Form::Hdr, Form::Buckets],
            Form::HdrAndRaw => &[Form::Hdr, Form::Raw],
            _ => &[form],
        };
        let part = |part: &Form| match part {
            Form::Hdr => times(&block.part(form, "Hdr"), block.times, earlier),
            Form::Raw => mean(block.times, earlier).map_or(String::new(), |(count, mean)| {
                let name = block.part(form, "Raw");
                format!("{name} count: {count}, average latency(us): {mean:.2}")
            }),
            _ => mean(block.times, earlier).map_or(String::new(), |(_, mean)| {
                format!("[{} AverageLatency(us)={}]", block.part(form, "Bucket"), short(mean))
            }),
        };
        summaries.push(parts.iter().map(part).collect::<Vec<_>>().join("\n"));
    }
    summaries
}

/// The distribution since the line before.
fn times(name: &str, times: &Times, earlier: Option<&Times>) -> String {
    let histogram: Histogram = match earlier {
        None => times.histogram.clone(),
        Some(earlier) => times.histogram.less(&earlier.histogram).expect("measurements only grow"),
    };
    let micros = |time: Option<Nanos>| time.unwrap_or_default().0 / 1000;
    let quantile = |level: f64| {
        let quantile = Quantile::new(level).expect("the levels are constants");
        micros(histogram.quantile(quantile))
    };
    format!(
        "[{name}: Count={}, Max={}, Min={}, Avg={}, 50={}, 90={}, 99={}, 99.9={}, 99.99={}]",
        histogram.count(),
        micros(histogram.max()),
        micros(histogram.min()),
        short(histogram.mean().unwrap_or_default().0 as f64 / 1000.0),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        quantile(0.9999),
    )
}

/// The number of operations since the line before and their mean in microseconds; `None` without any.
fn mean(times: &Times, earlier: Option<&Times>) -> Option<(u64, f64)> {
    let figures = |times: &Times| (times.histogram.count(), times.sum_us);
    let (count, sum) = figures(times);
    let (counted, summed) = earlier.map_or((0, 0), figures);
    let (count, sum) = (count - counted, sum - summed);
    (0 < count).then(|| (count, sum as f64 / count as f64))
}

/// At most two decimals, half to even, as Java's `#.##`.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time in the unit of its size.
fn rough(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let counted = |count: u64, unit: &str| match count {
        0 => String::new(),
        1 => format!("1 {unit} "),
        _ => format!("{count} {unit}s "),
    };
    match () {
        () if 0 < days => counted(days, "day") + &counted(hours, "hour"),
        () if seconds < 60 => format!("{seconds} seconds "),
        () => counted(hours, "hour") + &counted(minutes, "minute"),
    }
}
