//! Clients that measure and test servers from outside. `cargo xtask bench kv` and `cargo xtask chaos kv` run them.
//!
//! ```text
//! client exchange kv|redis|memcached IP:PORT VALUE_BYTES PIPELINE CONNECTIONS SECONDS
//! client soak IP:PORT LIVE_BYTES CONNECTIONS SECONDS SEED
//! client attack IP:PORT CONNECTIONS SECONDS
//! ```
#![expect(clippy::print_stdout, reason = "their output")]

use std::process::ExitCode;

mod attack;
mod exchange;
mod soak;
mod store;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = match &words[..] {
        ["exchange", rest @ ..] => exchange::run(rest),
        ["attack", rest @ ..] => attack::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        _ => None,
    };
    match ran {
        Some(()) => ExitCode::SUCCESS,
        None => {
            println!("wrong arguments: see the beginning of the example's main.rs");
            ExitCode::from(2)
        }
    }
}
