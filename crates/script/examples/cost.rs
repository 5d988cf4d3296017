//! What a request costs that a script makes: `cargo run --release -p script --example cost SCRIPT`.
//!
//! Prints the mean of each round, and the slowest requests of one more, where garbage collection
//! and compilation show. The first round includes the compilation of the script.
#![expect(clippy::disallowed_methods, reason = "it measures what happens on the real clock")]
#![expect(clippy::print_stdout, reason = "the figures are its result")]

use std::path::Path;
use std::time::{Duration, Instant};

use script::{Defaults, Program, Script, Target};

const ROUNDS: usize = 6;
const REQUESTS: u32 = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which script?")?;
    let program = Program::load(Path::new(&path), std::env::args().skip(2).collect())?;
    let target = Target {
        url: "http://127.0.0.1:5000".to_owned(),
        scheme: "http".to_owned(),
        host: "127.0.0.1".to_owned(),
        port: Some("5000".to_owned()),
        path: "/".to_owned(),
    };
    let mut script = Script::new(&program, &target, &Defaults::default(), 1)?;
    let mut wire = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..REQUESTS {
            wire.clear();
            script.append(&mut wire)?;
        }
        println!("mean {:?} a request", begun.elapsed() / REQUESTS);
    }
    let lengths = slowest_first(&mut script, &mut wire)?;
    println!("p99 {:?}, p99.9 {:?}, slowest {:?}", lengths[2_000], lengths[200], lengths[0]);
    Ok(())
}

fn slowest_first(script: &mut Script, wire: &mut Vec<u8>) -> Result<Vec<Duration>, load::Fault> {
    let mut lengths = Vec::new();
    for _ in 0..REQUESTS {
        wire.clear();
        let begun = Instant::now();
        script.append(wire)?;
        lengths.push(begun.elapsed());
    }
    lengths.sort_by(|one, other| other.cmp(one));
    Ok(lengths)
}
