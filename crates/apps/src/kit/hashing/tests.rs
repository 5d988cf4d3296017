use super::*;

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn a_place_is_taken_until_its_work_ends() {
    let pool = Pool::start(1, 2).unwrap();
    let (begin, may_begin) = mpsc::channel::<()>();
    let first = pool.enter().unwrap();
    let second = pool.enter().unwrap();
    assert!(pool.enter().is_none(), "the queue is full");
    assert_eq!(pool.taken(), 2);
    let both = async {
        let first = first.run(move || may_begin.recv().is_ok());
        let second = second.run(|| 7);
        begin.send(()).unwrap();
        (first.await, second.await)
    };
    assert_eq!(wait(both), (Some(true), Some(7)));
    // The permit is returned after the answer.
    while pool.taken() > 0 {
        thread::yield_now();
    }
    assert!(pool.enter().is_some());
}

#[test]
fn work_whose_caller_has_gone_is_not_begun() {
    let pool = Pool::start(1, 3).unwrap();
    let (begin, may_begin) = mpsc::channel::<()>();
    let ran = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&ran);
    wait(async {
        let first = pool.enter().unwrap();
        let first = tokio::spawn(first.run(move || may_begin.recv().is_ok()));
        let second = pool.enter().unwrap();
        let second = tokio::spawn(second.run(move || counted.fetch_add(1, Ordering::Relaxed)));
        tokio::task::yield_now().await;
        second.abort();
        assert!(second.await.is_err());
        begin.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Some(true));
        assert_eq!(pool.enter().unwrap().run(|| 7).await, Some(7));
    });
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[test]
fn a_panic_costs_its_caller_an_answer_and_nothing_else() {
    let pool = Pool::start(1, 1).unwrap();
    let panicked = wait(pool.enter().unwrap().run(|| panic!("expected by this test")));
    assert_eq!(panicked, None::<()>);
    while pool.taken() > 0 {
        thread::yield_now();
    }
    assert_eq!(wait(pool.enter().unwrap().run(|| 7)), Some(7));
}
