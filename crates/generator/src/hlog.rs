//! The intervals of a load as an HdrHistogram log.

use load::measurement::Measurement;
use measure::Histogram;
use measure::series::Sparse;
use results::times;

/// Returns response and service times of each interval; times count from the measurement's start.
pub(super) fn of(measurement: &Measurement) -> String {
    let mut log = times::log_header().to_owned();
    for (begin, length, interval) in measurement.intervals() {
        let place = (begin.as_secs_f64(), length.as_secs_f64());
        for (tag, sparse) in [("response", &interval.response), ("service", &interval.service)] {
            let histogram = dense(sparse);
            if 0 < histogram.count() {
                log += &times::log_line(tag, place, &histogram);
            }
        }
    }
    log
}

fn dense(sparse: &Sparse) -> Histogram {
    let mut histogram = Histogram::new();
    sparse.add_to(&mut histogram);
    histogram
}
