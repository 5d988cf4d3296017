use super::*;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tonic::Code;

/// Gives an order and goes away; returns the refusal, if any.
fn give(writer: &Writer<usize, usize>, order: usize) -> Option<Code> {
    let decided = pin!(writer.decided(order));
    match decided.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(decided) => decided.err().map(|status| status.code()),
        Poll::Pending => None,
    }
}

#[test]
fn the_orders_of_callers_who_go_away_have_a_bound() {
    let (go_on, waiting) = mpsc::channel::<()>();
    let commit = move |orders: &[usize]| {
        // It waits for the end of the test, and then for nothing.
        let _ = waiting.recv();
        Ok(orders.to_vec())
    };
    let writer = Writer::start(commit).unwrap();
    let all = 0..LONGEST_QUEUE + 2 * LARGEST_BATCH;
    let refused: Vec<Code> = all.filter_map(|order| give(&writer, order)).collect();
    assert!((LARGEST_BATCH..=2 * LARGEST_BATCH).contains(&refused.len()), "{}", refused.len());
    assert!(refused.iter().all(|code| *code == Code::ResourceExhausted), "{refused:?}");
    drop(go_on);
}
