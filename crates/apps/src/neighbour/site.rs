//! The threads that make noise, and the HTTP side of the process.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use anyhow::Context;
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use tokio::time::Instant;

use super::Process;
use super::bursts::Noise;
use super::command::Command;
use super::metrics::Metrics;
use crate::kit::answer::{PROMETHEUS, of_type};
use crate::kit::metrics::Metrics as _;
use crate::kit::process;
use crate::kit::serve::{FullResponse, Site};

struct Served {
    metrics: Arc<Metrics>,
    /// While it exists, the threads make noise.
    _ends: Vec<mpsc::Sender<()>>,
}

/// Makes noise until a signal ends the process.
pub fn run(command: Command) -> anyhow::Result<()> {
    process::run(command.common.clone(), async |process: &Process| {
        let Command { cpu, burst, spell, threads, on_cpu, seed, .. } = command;
        if let Some(number) = on_cpu {
            stay_on(number).with_context(|| format!("--on-cpu {number}"))?;
        }
        let mut ends = Vec::new();
        for number in 0..u64::from(threads) {
            let noise = Noise { cpu, burst, spell, seed: seed.wrapping_add(number << 32) };
            let (end, ended) = mpsc::channel();
            let metrics = Arc::clone(&process.metrics);
            let thread = thread::Builder::new().name(format!("noise-{number}"));
            thread.spawn(move || make(noise, &ended, &metrics)).context("starting a thread")?;
            ends.push(end);
        }
        Ok(Served { metrics: Arc::clone(&process.metrics), _ends: ends })
    })
}

/// Keeps this thread, and those that it starts from now on, on one CPU.
fn stay_on(number: usize) -> nix::Result<()> {
    let mut cpus = CpuSet::new();
    cpus.set(number)?;
    sched_setaffinity(Pid::from_raw(0), &cpus)
}

/// Makes bursts until nobody holds the other end of the channel.
fn make(noise: Noise, ended: &mpsc::Receiver<()>, metrics: &Metrics) {
    for number in 0.. {
        // Every process reads the same, also after a restart.
        let clock = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
        let pause = noise.pause(clock.into(), number);
        if ended.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let begun = Instant::now();
        while begun.elapsed() < noise.burst {
            std::hint::spin_loop();
        }
        metrics.burst(begun.elapsed());
    }
}

impl Site for Served {
    async fn answer(&self, request: Request<Bytes>) -> FullResponse {
        match request.uri().path() {
            "/healthz" => of_type(StatusCode::OK, PROMETHEUS, "ok"),
            "/metrics" => of_type(StatusCode::OK, PROMETHEUS, self.metrics.text()),
            _ => {
                let hint = "404: here are /healthz and /metrics\n";
                of_type(StatusCode::NOT_FOUND, PROMETHEUS, hint)
            }
        }
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }
}
