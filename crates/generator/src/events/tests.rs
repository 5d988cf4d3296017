use super::*;

#[test]
fn counts_of_events_are_written_as_those_of_requests() {
    let events =
        Events { sent: 15_000, duplicated: 1_234, lost: 2_000, unnoted: 0, ..Events::default() };
    assert_eq!(
        findings(&events),
        [
            "2,000 of 15,000 events were accepted and did not arrive",
            "1,234 of 15,000 events arrived more than once"
        ]
    );
    let unnoted = warning(&Events { unnoted: 10_000, ..events }).unwrap();
    assert!(unnoted.starts_with("10,000 events or arrivals found no memory"), "{unnoted}");
}
