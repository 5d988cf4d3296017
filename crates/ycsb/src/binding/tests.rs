use crate::stream::Shared;
use crate::workload::Part;

use super::*;

#[test]
fn inserts_that_fail_are_repeated_as_often_as_allowed_after_about_the_wait() {
    let workload = Arc::new(crate::workload::tests::workload("recordcount=10\noperationcount=9"));
    let shared = Arc::new(Shared::new(&workload));
    let mut source = Source::new(Stream::run(&workload, Part::WHOLE, 1, &shared), false);
    let of = |kind| Operation { kind, record: 1, length: 0, read: None, write: None };
    let mut attempts = 0;
    assert_eq!(source.retry(&of(Kind::Insert), &mut attempts, Outcome::Status), None, "by default");
    let wait = Nanos::from_secs(3);
    source.repeat(Retries { limit: 100, wait, goes_on: false }, 1);
    for (kind, outcome) in [(Kind::Update, Outcome::Status), (Kind::Insert, Outcome::Ok)] {
        assert_eq!(source.retry(&of(kind), &mut attempts, outcome), None);
    }
    let pauses: Vec<Nanos> =
        std::iter::from_fn(|| source.retry(&of(Kind::Insert), &mut attempts, Outcome::Reset))
            .take(1_000)
            .collect();
    assert_eq!((pauses.len(), attempts), (100, 100));
    let (shortest, longest) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
    assert!(wait.0 * 8 <= shortest.0 * 10 && longest.0 * 10 <= wait.0 * 12, "{pauses:?}");
    assert!(*shortest < *longest);
}
