//! The cost of a request that a script makes: `cargo run --release -p script --example cost
//! SCRIPT`.
//!
//! Prints the mean of some rounds, of which the first includes the compilation of the script, and
//! then the time of single requests, which shows garbage collection and compilation: first for
//! requests made one after the other, then with idle time between them to prepare and to collect.
#![expect(clippy::disallowed_methods, reason = "it measures what happens on the real clock")]
#![expect(clippy::print_stdout, reason = "the figures are its result")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use load::driver::http1::{Expected, HttpWorkload, Origin, Outgoing, Response, Wanted};
use load::driver::{Label, Session};
use script::{Defaults, Program, Script, Target};

const ROUNDS: usize = 5;
const REQUESTS: usize = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
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
    let mut outgoing = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..REQUESTS {
            next(&mut script, &mut outgoing)?;
        }
        println!("mean {:?} a request", begun.elapsed() / REQUESTS as u32);
    }

    let mut made = Vec::new();
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        next(&mut script, &mut outgoing)?;
        made.push(begun.elapsed());
    }
    print("one after the other", made);

    let (mut taken, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..REQUESTS {
        loop {
            let begun = Instant::now();
            let was_work = script.prepare()?;
            idle.push(begun.elapsed());
            if !was_work {
                break;
            }
        }
        let begun = Instant::now();
        next(&mut script, &mut outgoing)?;
        taken.push(begun.elapsed());
    }
    print("with idle time between", taken);
    print("a piece of work in idle time", idle);
    Ok(())
}

/// Makes a request, and passes its answers to the script if it asks for them.
fn next(script: &mut Script, (wire, expected): &mut Buffers) -> Result<(), load::Fault> {
    wire.clear();
    expected.clear();
    let of = Origin { number: 0, label: Label::NONE, session: Session::NONE, connection: 0 };
    script.next(of, &mut Outgoing { wire, expected, label: Label::NONE })?;
    if script.wanted(0, 0) != Wanted::Nothing {
        for &Expected { tag, .. } in &*expected {
            let body = &[b'x'; 512];
            let (head, body_length) = (HEAD, body.len() as u64);
            let answer = Response { status: 200, head, body, body_length, connection: 0, tag };
            script.answered(&answer)?;
        }
    }
    Ok(())
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\n\
    Content-Length: 512\r\nConnection: keep-alive\r\nETag: \"5f\"\r\n\r\n";

type Buffers = (Vec<u8>, Vec<Expected>);

fn print(what: &str, mut lengths: Vec<Duration>) {
    lengths.sort_unstable();
    let at = |share: f64| lengths[(lengths.len() as f64 * share) as usize];
    let slowest = lengths.last().copied().unwrap_or_default();
    let total: Duration = lengths.iter().sum();
    println!(
        "{what}: mean {:?}, p50 {:?}, p99 {:?}, p99.9 {:?}, slowest {slowest:?}",
        total / lengths.len() as u32,
        at(0.5),
        at(0.99),
        at(0.999)
    );
}
