//! The intervals of a load as an HdrHistogram log.

use load::measurement::Measurement;
use measure::Histogram;
use measure::series::Sparse;
use results::times;

/// Response and service times of each interval; times begin with the measurement.
pub(super) fn of(measurement: &Measurement) -> String {
    let length = measurement.series.interval().as_secs_f64();
    let mut log = times::log_header().to_owned();
    for (begin, interval) in measurement.series.iter() {
        for (tag, sparse) in [("response", &interval.response), ("service", &interval.service)] {
            let histogram = dense(sparse);
            if 0 < histogram.count() {
                log += &times::log_line(tag, (begin.as_secs_f64(), length), &histogram);
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
