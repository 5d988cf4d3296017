use super::*;

pub(crate) fn terms(form: Form) -> Terms {
    Terms {
        form,
        buckets: 9,
        granularity: Nanos::SECOND,
        tracked: Status::ALL.map(|status| status == Status::NotFound),
    }
}

/// An operation that ended after so many milliseconds; its response time is one more than its service time.
pub(crate) fn ended(name: Name, status: Status, end_ms: u64, service_us: u64) -> Ended {
    let service = Nanos::from_micros(service_us);
    let response = Nanos(service.0 + 1_000_000);
    Ended { name, status, end: Nanos::from_millis(end_ms), service, response }
}

#[test]
fn measurements_of_two_shards_add_up_to_those_of_one() {
    for form in [Form::Hdr, Form::HdrAndBuckets, Form::HdrAndRaw, Form::Series] {
        let mut parts = [(); 2].map(|()| Measurements::new(terms(form)));
        let mut whole = Measurements::new(terms(form));
        for i in 0..1000 {
            let name = [Name::Read, Name::Update][(i % 3 / 2) as usize];
            let status = Status::ALL[(i % 4) as usize];
            let ended = ended(name, status, i, i * 7);
            parts[(i % 2) as usize].record(&ended);
            whole.record(&ended);
        }
        let [mut sum, other] = parts;
        sum.add(&other);
        // Failures are listed as they first come, which differs between shards.
        let sorted = |mut measurements: Measurements| {
            for named in measurements.names.iter_mut().flatten() {
                named.failed.sort_by_key(|(name, _)| *name);
            }
            format!("{measurements:?}")
        };
        assert_eq!(sorted(sum), sorted(whole), "{form:?}");
    }
}

#[test]
fn a_failure_is_measured_apart_and_its_status_is_counted() {
    let mut measurements = Measurements::new(terms(Form::Hdr));
    for status in [Status::Ok, Status::Error, Status::NotFound, Status::BatchedOk, Status::Error] {
        measurements.record(&ended(Name::Read, status, 1, 1));
    }
    measurements.record(&ended(Name::Verify, Status::UnexpectedState, 1, 1));
    measurements.record(&ended(Name::ReadModifyWrite, Status::Error, 1, 1));
    let counts = |both: &Both| (both.service.histogram.count(), both.response.histogram.count());
    let all: Vec<_> = measurements
        .names()
        .map(|(name, named)| {
            let failed = named.failed.iter().map(|(failure, both)| (*failure, counts(both)));
            (name.text(), counts(&named.ok), failed.collect::<Vec<_>>(), named.statuses)
        })
        .collect();
    assert_eq!(
        all,
        [
            (
                "READ",
                (2, 2),
                vec![("FAILED", (2, 2)), ("NOT_FOUND", (1, 1))],
                [1, 2, 1, 0, 0, 0, 0, 0, 1]
            ),
            ("READ-MODIFY-WRITE", (1, 1), vec![], [0; 9]),
            ("VERIFY", (1, 1), vec![], [0, 0, 0, 0, 1, 0, 0, 0, 0]),
        ]
    );
    assert_eq!(measurements.failed(), 4);
}

#[test]
fn an_interval_beyond_the_bound_is_counted_as_lost() {
    let mut measurements = Measurements::new(terms(Form::Series));
    let bound = MOST_POINTS as u64 * 1000;
    measurements.record(&ended(Name::Read, Status::Ok, bound - 1, 1));
    assert_eq!(measurements.lost(), 0);
    measurements.record(&ended(Name::Read, Status::Ok, bound, 1));
    assert_eq!(measurements.lost(), 1);
}
