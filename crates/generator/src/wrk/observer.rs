//! The originals' statistics of a load, kept for each script thread while it runs.

use load::Outcome;
use load::measurement::Plan;
use load::observe::{Completion, Observer, Of, Turn, Window};
use measure::{Instant, Nanos};
use wrk::arguments::{Command, Compatibility};
use wrk::layout::{self, Errors};
use wrk::statistics::thread::{self, Calibrated, Counted, Stretches};

use super::files::{Line, Lines, Writer};
use console::output;

/// The script threads of one shard.
pub(super) struct Originals {
    pub(super) threads: Vec<Thread>,
    shards: u32,
    lines: Option<Lines>,
}

/// One script thread.
pub(super) struct Thread {
    pub(super) target: u32,
    /// The index among the threads of its target.
    place: u32,
    pub(super) kept: Kept,
    /// Answers since the last turn.
    fresh: u64,
    pub(super) answers: u64,
    pub(super) sent: u64,
    pub(super) bytes: u64,
    pub(super) errors: Errors,
    stretches: Option<Stretches>,
    each_latency: bool,
    batch: bool,
    begun: Begin,
}

/// The settings that are needed once the start time is known.
#[derive(Clone, Copy)]
struct Begin {
    run: Nanos,
    calibration: Nanos,
    timeout: Nanos,
    uncorrected: bool,
}

pub(super) enum Kept {
    /// Before the start is known.
    Nothing,
    Wrk(Box<Counted>),
    Wrk2(Box<Calibrated>),
}

impl Originals {
    pub(super) fn new(
        command: &Command,
        plan: &Plan,
        shard: usize,
        writer: Option<&Writer>,
    ) -> Originals {
        let shards = plan.cpus.len();
        let pools = (shard..plan.pools.len()).step_by(shards);
        let thread = |pool: usize| Thread::new(command, plan, pool as u32);
        Originals {
            threads: pools.map(thread).collect(),
            shards: shards as u32,
            lines: writer.map(Writer::lines),
        }
    }

    fn thread(&mut self, of: Of) -> &mut Thread {
        &mut self.threads[(of.pool / self.shards) as usize]
    }
}

impl Thread {
    fn new(command: &Command, plan: &Plan, pool: u32) -> Thread {
        let place = pool % plan.pools_of_each();
        let connections = plan.pools[pool as usize].connections as u64;
        let calibration = match command.compatibility {
            Compatibility::Wrk => Nanos::ZERO,
            Compatibility::Wrk2 => thread::wrk2_calibration(connections),
            Compatibility::Dsb => thread::dsb_calibration(connections),
        };
        let rate = command.rate.filter(|_| command.stretches && place == 0);
        Thread {
            target: pool / plan.pools_of_each(),
            place,
            kept: Kept::Nothing,
            fresh: 0,
            answers: 0,
            sent: 0,
            bytes: 0,
            errors: Errors::default(),
            stretches: rate.and_then(|r| Stretches::new(r.as_per_second(), command.threads)),
            each_latency: command.each_latency,
            batch: command.batch,
            begun: Begin {
                run: command.duration,
                calibration,
                timeout: command.timeout,
                uncorrected: command.uncorrected,
            },
        }
    }

    fn begin(&mut self, start: Instant, is_wrk: bool) {
        let Begin { run, calibration, timeout, uncorrected } = self.begun;
        self.kept = if is_wrk {
            Kept::Wrk(Box::new(Counted::new(start, timeout)))
        } else {
            let calibrated = Calibrated::new(start, run, calibration);
            let calibrated = if uncorrected { calibrated.with_uncorrected() } else { calibrated };
            Kept::Wrk2(Box::new(calibrated))
        };
    }

    fn answered(&mut self, completion: &Completion, lines: &mut Option<Lines>) {
        let latency = completion.response_time();
        let service = completion.start.map_or(latency, |start| completion.done - start.sent);
        // A batch has one sample for each of its responses, or with `-B` one for the whole batch.
        let samples = if self.batch { 1 } else { completion.answers };
        match &mut self.kept {
            Kept::Wrk(counted) => counted.record(service),
            Kept::Wrk2(calibrated) => {
                (0..samples).for_each(|_| calibrated.record(latency, service));
            }
            Kept::Nothing => unreachable!("nothing is answered before the start"),
        }
        let Some(lines) = lines else { return };
        for _ in 0..samples {
            if self.each_latency {
                lines.push(Line::Latency {
                    target: self.target,
                    thread: self.place,
                    us: latency.0 / 1000,
                });
            }
            if let Some(us) = self.stretches.as_mut().and_then(|s| s.record(latency)) {
                lines.push(Line::Stretch { target: self.target, us });
            }
        }
    }
}

impl Observer for Originals {
    fn begin(&mut self, start: Instant, _window: Window) {
        for thread in &mut self.threads {
            // Only wrk has no calibration.
            thread.begin(start, thread.begun.calibration == Nanos::ZERO);
        }
    }

    fn sent(&mut self, of: Of, _intended: Instant, _sent: Instant, _bytes: usize) {
        self.thread(of).sent += 1;
    }

    fn received(&mut self, of: Of, _now: Instant, bytes: usize) {
        self.thread(of).bytes += bytes as u64;
    }

    fn overdue(&mut self, of: Of, _intended: Instant) {
        self.thread(of).errors.timeout += 1;
    }

    fn completed(&mut self, completion: &Completion) {
        let place = (completion.of.pool / self.shards) as usize;
        let thread = &mut self.threads[place];
        let answers = u64::from(completion.answers);
        thread.fresh += answers;
        thread.answers += answers;
        thread.errors.status += u64::from(completion.bad);
        match completion.outcome {
            Outcome::Connect => thread.errors.connect += 1,
            Outcome::Reset | Outcome::Malformed => thread.errors.read += 1,
            Outcome::Write => thread.errors.write += 1,
            outcome if outcome.is_answer() => thread.answered(completion, &mut self.lines),
            _ => {}
        }
    }

    fn turn(&mut self, now: Instant, _turn: Turn) {
        for thread in &mut self.threads {
            thread.turn(now);
        }
    }

    fn end(&mut self, now: Instant) {
        for thread in &mut self.threads {
            thread.turn(now);
        }
        // The writer ends once all senders are dropped.
        if let Some(mut lines) = self.lines.take() {
            lines.hand_over();
        }
    }
}

impl Thread {
    fn turn(&mut self, now: Instant) {
        let fresh = std::mem::take(&mut self.fresh);
        match &mut self.kept {
            Kept::Wrk(counted) => counted.turn(now, fresh),
            Kept::Wrk2(calibrated) => {
                if let Some(found) = calibrated.turn(now, fresh) {
                    // Printed once in a run; a closed pipe does not end a measurement.
                    let _ = output::result(&layout::calibration(found));
                }
            }
            Kept::Nothing => {}
        }
    }
}
