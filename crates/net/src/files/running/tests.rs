use super::*;

fn read(length: usize) -> Running<()> {
    Running::new(1, (), Work::Read { at: 100, buffer: vec![0; length] })
}

fn write(length: usize) -> Running<()> {
    Running::new(1, (), Work::Write { at: 100, bytes: vec![0; length] })
}

/// The position and the length of the next call.
fn next(running: &mut Running<()>) -> (u64, usize) {
    match running.call().1 {
        Call::Read(at, into) => (at, into.len()),
        Call::Write(at, from) => (at, from.len()),
        _ => panic!("it reads or writes"),
    }
}

/// The results of an operation whose calls have these results.
fn ends(mut running: Running<()>, results: &[Result<usize, i32>]) -> Vec<String> {
    let results = results.iter().map(|result| {
        let result = result.map_err(io::Error::from_raw_os_error);
        match running.advance(result) {
            None => "goes on".to_owned(),
            Some(Ok(count)) => count.to_string(),
            Some(Err(error)) => format!("{:?}", error.kind()),
        }
    });
    results.collect()
}

#[test]
fn a_part_is_continued_where_it_ended() {
    for mut running in [read(10), write(10)] {
        assert_eq!(next(&mut running), (100, 10));
        assert!(running.advance(Ok(3)).is_none());
        assert_eq!(next(&mut running), (103, 7));
        assert!(running.advance(Err(io::Error::from_raw_os_error(libc::EINTR))).is_none());
        assert_eq!(next(&mut running), (103, 7));
        assert_eq!(running.advance(Ok(7)).unwrap().unwrap(), 10);
    }
}

#[test]
fn an_operation_ends_with_its_bytes_its_file_or_a_failure() {
    assert_eq!(ends(read(10), &[Ok(4), Ok(0)]), ["goes on", "4"]);
    assert_eq!(ends(read(10), &[Ok(4), Err(libc::EIO)]), ["goes on", "Uncategorized"]);
    assert_eq!(ends(read(0), &[Ok(0)]), ["0"]);
    assert_eq!(ends(write(10), &[Ok(4), Err(libc::ENOSPC)]), ["goes on", "StorageFull"]);
    assert_eq!(ends(write(10), &[Ok(0)]), ["WriteZero"]);
    assert_eq!(ends(write(0), &[Ok(0)]), ["0"]);
    let sync = |then_folder| Running::new(1, (), Work::Sync { then_folder });
    assert_eq!(ends(sync(false), &[Ok(0)]), ["0"]);
    assert_eq!(ends(sync(true), &[Err(libc::EINTR), Ok(0), Ok(0)]), ["goes on", "goes on", "0"]);
    assert_eq!(ends(sync(true), &[Err(libc::ENOSPC)]), ["StorageFull"]);
    assert_eq!(ends(sync(true), &[Ok(0), Err(libc::ENOSPC)]), ["goes on", "StorageFull"]);
}

#[test]
fn a_call_is_never_longer_than_its_result_can_tell() {
    let mut running = read(MOST_OF_A_CALL + 5);
    assert_eq!(next(&mut running), (100, MOST_OF_A_CALL));
    assert!(running.advance(Ok(MOST_OF_A_CALL)).is_none());
    assert_eq!(next(&mut running), (100 + MOST_OF_A_CALL as u64, 5));
}
