//! Counts words in a store of its own: `cargo run -p kv --example embed to be or not to be`.
#![expect(clippy::print_stdout, reason = "an example")]

use kv::storage::Nowhere;
use kv::{Completions, Op, Options, Replies, Status, Store};

fn main() {
    let store = Store::open(Options::default(), &mut Nowhere).expect("a gigabyte of memory");
    let mut session = store.session(1).expect("no session is open");
    let words: Vec<String> = std::env::args().skip(1).collect();

    // One addition for each word, as a batch.
    let ops: Vec<Op<'_>> =
        words.iter().map(|word| Op::Add { key: word.as_bytes(), delta: 1 }).collect();
    let mut replies = Replies::new(1 << 20);
    assert_eq!(session.batch(&ops, &mut replies), ops.len(), "the replies fit the limit");

    // With a storage some would be pending, and their completions would come from here.
    let mut completions = Completions::new(1 << 20);
    session.poll(&mut Nowhere, &mut completions);

    for (index, word) in words.iter().enumerate() {
        match replies.statuses()[index] {
            Status::Ok => {
                let count = replies.value(index).try_into().expect("a sum has eight bytes");
                println!("{word} {}", i64::from_le_bytes(count));
            }
            status => println!("{word}: {status:?}"),
        }
    }
}
