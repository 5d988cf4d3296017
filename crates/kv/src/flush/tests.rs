use std::io;

use measure::{Instant, Nanos};

use super::{Flush, Health};

const PAGE: u64 = 16 << 10;
const NOW: Instant = Instant(1_000_000_000);

#[test]
fn areas_end_with_their_page_and_are_flushed_in_order() {
    let flush = Flush::new();
    let safe = 2 * PAGE + 4096;
    let areas: Vec<_> = std::iter::from_fn(|| flush.begin(safe, PAGE, NOW)).collect();
    assert_eq!(areas, [0..PAGE, PAGE..2 * PAGE, 2 * PAGE..safe]);
    flush.end(areas[1].clone(), &Ok(0));
    assert_eq!(flush.flushed(), 0);
    flush.end(areas[0].clone(), &Ok(0));
    assert_eq!(flush.flushed(), 2 * PAGE);
    flush.end(areas[2].clone(), &Ok(0));
    assert_eq!(flush.flushed(), safe);
    assert_eq!(flush.begin(3 * PAGE, PAGE, NOW), Some(safe..3 * PAGE));
}

#[test]
fn what_found_no_space_is_written_again() {
    let flush = Flush::new();
    let area = flush.begin(PAGE, PAGE, NOW).unwrap();
    flush.end(area.clone(), &Err(io::ErrorKind::StorageFull.into()));
    assert_eq!((flush.health(), flush.flushed()), (Health::NoSpace, 0));
    assert_eq!(flush.begin(PAGE, PAGE, NOW), Some(area.clone()));
    flush.end(area, &Ok(0));
    assert_eq!((flush.health(), flush.flushed()), (Health::Good, PAGE));
}

#[test]
fn one_area_is_tried_every_hundred_milliseconds_until_there_is_space() {
    let flush = Flush::new();
    let areas: Vec<_> = (0..3).map(|_| flush.begin(8 * PAGE, PAGE, NOW).unwrap()).collect();
    for area in areas {
        flush.end(area, &Err(io::ErrorKind::StorageFull.into()));
    }
    let tried = (0..1_000)
        .filter_map(|ms| flush.begin(8 * PAGE, PAGE, NOW + Nanos::from_millis(ms)))
        .inspect(|area| flush.end(area.clone(), &Err(io::ErrorKind::StorageFull.into())));
    assert_eq!(tried.count(), 10);
    let later = NOW + Nanos::from_millis(1_000);
    let written = std::iter::from_fn(|| flush.begin(8 * PAGE, PAGE, later))
        .inspect(|area| flush.end(area.clone(), &Ok(0)));
    assert_eq!(written.count(), 8);
    assert_eq!((flush.health(), flush.flushed()), (Health::Good, 8 * PAGE));
}

#[test]
fn after_another_failure_nothing_is_written() {
    let flush = Flush::new();
    let (first, second) =
        (flush.begin(2 * PAGE, PAGE, NOW).unwrap(), flush.begin(2 * PAGE, PAGE, NOW).unwrap());
    flush.end(first, &Err(io::ErrorKind::Other.into()));
    flush.end(second, &Ok(0));
    assert_eq!((flush.health(), flush.flushed()), (Health::Failed, 0));
    assert_eq!(flush.begin(8 * PAGE, PAGE, NOW), None);
}

#[test]
fn an_area_whose_file_could_not_be_opened_is_written_once_there_is_a_descriptor() {
    let flush = Flush::new();
    let area = flush.begin(PAGE, PAGE, NOW).unwrap();
    flush.put_back(area.clone(), &io::Error::from_raw_os_error(24));
    assert_eq!(flush.health(), Health::NoSpace);
    assert!(flush.why().contains("Too many open files"), "{}", flush.why());
    assert_eq!(flush.begin(PAGE, PAGE, NOW), Some(area.clone()));
    flush.end(area, &Ok(0));
    assert_eq!((flush.health(), flush.flushed()), (Health::Good, PAGE));
    let area = flush.begin(2 * PAGE, PAGE, NOW).unwrap();
    flush.put_back(area, &io::ErrorKind::PermissionDenied.into());
    assert_eq!(flush.health(), Health::Failed);
}
