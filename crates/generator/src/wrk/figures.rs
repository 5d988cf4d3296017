//! The originals' figures of a load, merged over script threads, and their text.

use load::Fault;
use load::measurement::Plan;
use measure::Nanos;
use results::load::{Latencies, Wrk};
use script::ScriptSet;
use wrk::arguments::{Command, Compatibility};
use wrk::layout::{self, Distribution, Errors, Results, Totals};
use wrk::statistics::{Hdr, Table, table};

use super::observer::{Kept, Originals, Thread};

/// Returns the first lines, which are printed before anything is measured.
pub(super) fn opening(command: &Command) -> String {
    let Command { duration, threads, connections, .. } = *command;
    let of = |url: &String| match command.compatibility {
        Compatibility::Dsb => layout::dsb_opening(duration, url, threads, connections),
        Compatibility::Wrk | Compatibility::Wrk2 => {
            layout::opening(duration, url, threads, connections)
        }
    };
    command.urls.iter().map(of).collect()
}

/// The figures of each target.
pub(super) struct Figures {
    targets: Vec<Target>,
    connections: u64,
}

#[derive(Clone, Default)]
pub(super) struct Target {
    pub(super) totals: Totals,
    sent: u64,
    pub(super) kept: Statistics,
}

/// The statistics that the compatibility mode keeps.
#[derive(Clone, Default)]
pub(super) enum Statistics {
    #[default]
    Nothing,
    Wrk {
        /// The latencies as measured.
        raw: Table,
        /// The same with the samples that wrk estimates to be missing because of slow responses.
        filled: Table,
        rates: Table,
    },
    Wrk2 {
        latency: Hdr,
        uncorrected: Option<Hdr>,
        rates: Table,
    },
}

impl Figures {
    pub(super) fn of(
        command: &Command,
        plan: &Plan,
        originals: Vec<Originals>,
        run: Nanos,
    ) -> Figures {
        let mut targets = vec![Target::default(); plan.targets as usize];
        for thread in originals.into_iter().flat_map(|originals| originals.threads) {
            targets[thread.target as usize].add(thread);
        }
        for target in &mut targets {
            target.totals.run = run;
            target.fill(command.connections);
        }
        Figures { targets, connections: command.connections }
    }

    pub(super) fn text(&self, command: &Command) -> String {
        let mut text = String::new();
        for (url, target) in command.urls.iter().zip(&self.targets) {
            if command.compatibility != Compatibility::Dsb || command.separate {
                text += &target.text(command, url);
            }
        }
        if 1 < self.targets.len() {
            text += &self.overall().overall(command);
        }
        text
    }

    /// Returns wrk's latencies, as measured and with the samples that it adds.
    pub(super) fn wrk(&self) -> Option<Wrk> {
        match &self.targets.first()?.kept {
            Statistics::Wrk { raw, filled, .. } => {
                Some(Wrk { raw: latencies(raw), filled: latencies(filled) })
            }
            Statistics::Nothing | Statistics::Wrk2 { .. } => None,
        }
    }

    /// Calls the script's `done`: once, or with DeathStarBench's fork once for each target.
    pub(super) fn done(&self, script_set: &ScriptSet) -> Result<(), Fault> {
        for (number, target) in self.targets.iter().enumerate() {
            if script_set.has_done(number)? {
                script_set.done(number, &target.results())?;
            }
        }
        Ok(())
    }

    fn overall(&self) -> Target {
        let mut all = Target::default();
        for target in &self.targets {
            all.merge(target);
        }
        all.fill(self.connections);
        all
    }
}

impl Target {
    fn add(&mut self, thread: Thread) {
        let Thread { kept, answers, sent, bytes, errors, .. } = thread;
        let kept = match kept {
            Kept::Wrk(counted) => {
                let filled = Table::new(0);
                Statistics::Wrk { raw: counted.latency, filled, rates: counted.rates }
            }
            Kept::Wrk2(calibrated) => Statistics::Wrk2 {
                latency: calibrated.latency,
                uncorrected: calibrated.uncorrected,
                rates: calibrated.rates,
            },
            Kept::Nothing => Statistics::Nothing,
        };
        let totals = Totals { requests: answers, run: Nanos::ZERO, bytes, errors };
        self.merge(&Target { totals, sent, kept });
    }

    fn merge(&mut self, other: &Target) {
        let Totals { requests, run, bytes, errors } = other.totals;
        self.totals.requests += requests;
        self.totals.bytes += bytes;
        self.totals.run = self.totals.run.max(run);
        self.totals.errors += errors;
        self.sent += other.sent;
        match (&mut self.kept, &other.kept) {
            (_, Statistics::Nothing) => {}
            (into @ Statistics::Nothing, from) => *into = from.clone(),
            (
                Statistics::Wrk { raw, rates, .. },
                Statistics::Wrk { raw: more, rates: others, .. },
            ) => {
                raw.add(more);
                rates.add(others);
            }
            (
                Statistics::Wrk2 { latency, uncorrected, rates },
                Statistics::Wrk2 { latency: more, uncorrected: service, rates: others },
            ) => {
                latency.add(more);
                rates.add(others);
                if let (Some(into), Some(from)) = (uncorrected, service) {
                    into.add(from);
                }
            }
            _ => unreachable!("all threads of a run are of one compatibility mode"),
        }
    }

    /// Adds the samples that wrk estimates to be missing because of slow responses.
    fn fill(&mut self, connections: u64) {
        let Totals { run, requests, .. } = self.totals;
        if let Statistics::Wrk { raw, filled, .. } = &mut self.kept {
            *filled = raw.clone();
            filled.back_fill(table::expected_interval(run, requests, connections));
        }
    }

    fn text(&self, command: &Command, url: &str) -> String {
        let totals = &self.totals;
        let distribution = distribution(command);
        match &self.kept {
            Statistics::Nothing => String::new(),
            Statistics::Wrk { filled: latency, rates, .. } => {
                layout::wrk(&Results { totals, latency, rates, distribution })
            }
            Statistics::Wrk2 { latency, uncorrected, rates } => {
                let rates = &Hdr::from(rates);
                let results = Results { totals, latency, rates, distribution };
                match command.compatibility {
                    Compatibility::Dsb => layout::dsb_target(url, &results, self.sent(command)),
                    _ => layout::wrk2(&results, uncorrected.as_ref()),
                }
            }
        }
    }

    fn overall(&self, command: &Command) -> String {
        let Statistics::Wrk2 { latency, rates, .. } = &self.kept else { return String::new() };
        let (rates, distribution) = (&Hdr::from(rates), distribution(command));
        let results = Results { totals: &self.totals, latency, rates, distribution };
        layout::dsb_overall(&results, self.sent(command))
    }

    /// Returns the results as the script gets them.
    fn results(&self) -> script::Results {
        let Totals { requests, run, bytes, errors } = self.totals;
        let Errors { connect, read, write, timeout, status } = errors;
        let summary = script::Summary {
            duration_us: run.0 / 1000,
            requests,
            bytes,
            errors: script::Errors { connect, read, write, status, timeout },
        };
        let (latency, requests) = match &self.kept {
            Statistics::Nothing => Default::default(),
            // wrk passes the filled table to its scripts.
            Statistics::Wrk { filled, rates, .. } => (of_table(filled), of_table(rates)),
            Statistics::Wrk2 { latency, rates, .. } => (of_hdr(latency), of_hdr(&Hdr::from(rates))),
        };
        script::Results { summary, latency, requests }
    }

    fn sent(&self, command: &Command) -> Option<u64> {
        command.sent.then_some(self.sent)
    }
}

fn latencies(table: &Table) -> Latencies {
    Latencies {
        count: table.count(),
        p50_us: table.percentile(50.0),
        p75_us: table.percentile(75.0),
        p90_us: table.percentile(90.0),
        p99_us: table.percentile(99.0),
        max_us: table.max().unwrap_or_default(),
    }
}

fn of_table(table: &Table) -> script::Distribution {
    let values: Vec<(f64, u64)> = table.iter().map(|(value, n)| (value as f64, n)).collect();
    script::Distribution {
        min: table.min().unwrap_or_default() as f64,
        max: table.max().unwrap_or_default() as f64,
        mean: table.mean().to_f64(),
        stdev: table.deviation().to_f64(),
        values,
    }
}

fn of_hdr(hdr: &Hdr) -> script::Distribution {
    script::Distribution {
        min: hdr.min() as f64,
        max: hdr.max() as f64,
        mean: hdr.mean(),
        stdev: hdr.deviation(),
        values: hdr.iter().map(|(value, n)| (value as f64, n)).collect(),
    }
}

fn distribution(command: &Command) -> Distribution {
    if command.latency { Distribution::Shown } else { Distribution::Hidden }
}
