use super::*;

#[test]
fn after_the_first_there_is_room_for_all() {
    let mut ahead = Ahead::default();
    let mut first = ahead.blank();
    first.wire.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
    let length = first.wire.len();
    ahead.push(first);
    assert_eq!(ahead.spare.len(), MOST - 1);
    for _ in 1..MOST {
        let request = ahead.blank();
        assert!(2 * length <= request.wire.capacity());
        ahead.push(request);
    }
    assert!(ahead.is_full());
    assert!(ahead.ready.iter().all(|request| 2 * length <= request.wire.capacity()));
}

#[test]
fn large_requests_take_no_more_memory_than_may_be_made_ahead() {
    let mut ahead = Ahead::default();
    let mut first = ahead.blank();
    first.wire.resize(MOST_BYTES / 4, b'x');
    ahead.push(first);
    let held: usize = ahead.spare.iter().map(|request| request.wire.capacity()).sum();
    assert!(held <= MOST_BYTES, "{held}");
}
