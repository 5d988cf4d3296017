//! The speed of the store in process, by one line for each repetition. `cargo xtask bench kv` reads them:
//!
//! | line | figures |
//! |---|---|
//! | `fill A` | inserts per CPU-second |
//! | `uniform A B`, `zipf A B` | additions per second by all threads, and per CPU-second |
//! | `cold A B` | reads per second from the disk by itself, and of the store |
//! | `checkpoint A B C` | additions per second before, in the worst second from the beginning of a checkpoint on, and the longest time without any, in milliseconds |
//! | `recovery A B C` | the records of a log that were found again per second, its bytes per second, and the bytes per second of the disk by itself |
//!
//! ```text
//! cargo run --release -p kv --example speed memory KEYS THREADS REPETITIONS
//! cargo run --release -p kv --example speed cold|checkpoint|recovery FOLDER KEYS REPETITIONS
//! ```
#![expect(clippy::print_stdout, reason = "its output")]

use std::path::Path;
use std::process::ExitCode;

mod memory;
mod stored;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, rest @ ..] = &words[..] else { return usage() };
    let number = |index: usize| rest.get(index).and_then(|word| word.parse::<u64>().ok());
    let (Some(second), Some(third)) = (number(1), number(2)) else { return usage() };
    match (&name[..], number(0)) {
        ("memory", Some(keys)) => memory::run(keys, second, third),
        ("cold", None) => stored::cold(Path::new(&rest[0]), second, third),
        ("checkpoint", None) => stored::checkpoint(Path::new(&rest[0]), second, third),
        ("recovery", None) => stored::recovery(Path::new(&rest[0]), second, third),
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    println!(
        "speed memory KEYS THREADS REPETITIONS\nspeed cold|checkpoint|recovery FOLDER KEYS REPETITIONS"
    );
    ExitCode::from(2)
}
