//! All instances of a script that a run needs, from before its first request until after its last.
//!
//! Each target has a main instance, where `setup` and `done` are called, and one for each of its
//! script threads, where everything else is called; each runs the whole file. The threads'
//! instances move to the shards as [`Script`]s, and the main ones access them before and after the
//! load, never during it.

use std::sync::Arc;

use load::Fault;
use measure::Random;
use measure::pace::Portion;

use crate::bound::Watch;
use crate::machine::{Callbacks, Machine};
use crate::network::Nowhere;
use crate::program::Program;
use crate::script::Script;
use crate::stage::{Compatibility, Defaults, Seed, Stage, Target};
use crate::statistics::{Results, Statistics};
use crate::thread::Thread;

#[cfg(test)]
mod tests;

/// The main instances, and what was learned while the threads' were created.
#[derive(Debug)]
pub struct ScriptSet {
    mains: Vec<Machine>,
    compatibility: Compatibility,
    at_once: usize,
    notices: Vec<String>,
    /// The calls of the threads' instances.
    watch: Watch,
}

impl ScriptSet {
    /// Creates all instances; `setup` and `init` run, and `request` once on the first of all, to
    /// check what it returns. The scripts are ordered by target, and within a target by thread.
    pub fn assemble(
        program: &Program,
        stage: &Stage<'_>,
    ) -> Result<(ScriptSet, Vec<Script>), Fault> {
        let program = Arc::new(program.clone());
        let (Seed::Final(seed) | Seed::Initial(seed)) = stage.seed;
        let part = |number| Random::part(seed, number).next_u64();
        let Stage { compatibility, targets, threads, .. } = *stage;
        let mut script_set = ScriptSet {
            mains: Vec::new(),
            compatibility,
            at_once: 0,
            notices: Vec::new(),
            watch: Watch::new(program.clone()),
        };
        let mut scripts = Vec::new();
        for (number, target) in (0..).zip(targets) {
            let main = Machine::start(&program, stage, target, part(u64::MAX - number))?;
            main.resolve(target)?;
            for _ in 0..threads {
                let seed = part(stage.part.number(scripts.len() as u64));
                let machine = Machine::start(&program, stage, target, seed)?;
                let thread = Arc::new(Thread::default());
                machine.adopt(&thread)?;
                main.setup(&thread, &machine)?;
                // DeathStarBench's wrk2 passes its arguments unchanged to all of them.
                let first = if compatibility == Compatibility::Dsb { &targets[0] } else { target };
                let only_request = machine.init(&first.url)?;
                let script = Script::of(machine, thread, compatibility, only_request)?;
                if scripts.is_empty() {
                    script_set.at_once = script.count()?;
                }
                scripts.push(script);
            }
            script_set.mains.push(main);
        }
        script_set.begin(&mut scripts)?;
        scripts.iter().for_each(|script| script.show(&mut script_set.watch));
        Ok((script_set, scripts))
    }

    fn begin(&mut self, scripts: &mut [Script]) -> Result<(), Fault> {
        for main in &self.mains {
            main.begin()?;
        }
        for script in scripts.iter_mut() {
            script.begin()?;
        }
        let delays = scripts.iter().any(|script| script.callbacks().has(Callbacks::DELAY));
        if delays && self.compatibility != Compatibility::Wrk {
            let what = "the script's `delay` is ignored: the load decides when requests begin";
            self.notices.push(what.to_owned());
        }
        Ok(())
    }

    /// The number of requests in the first one that the script returned.
    pub fn at_once(&self) -> usize {
        self.at_once
    }

    /// Notices about the script for the user; a sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Returns what another thread sees of the threads' instances during the load.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// True if [`ScriptSet::done`] would run a function.
    pub fn has_done(&self, target: usize) -> Result<bool, Fault> {
        self.mains[target].has_done()
    }

    /// Runs the script's `done`, if it has one, with the results of this target. No thread may be
    /// running any more.
    pub fn done(&self, target: usize, results: &Results) -> Result<(), Fault> {
        let compatibility = self.compatibility;
        self.mains[target].done(|lua| {
            Ok((
                results.summary.table(lua)?,
                lua.create_userdata(Statistics::new(results.latency.clone(), compatibility))?,
                lua.create_userdata(Statistics::new(results.requests.clone(), compatibility))?,
            ))
        })
    }
}

impl Script {
    /// Creates a single script without a network, to check that it loads.
    pub fn new(
        program: &Program,
        target: &Target,
        defaults: &Defaults,
        seed: u64,
    ) -> Result<Script, Fault> {
        let stage = Stage {
            compatibility: Compatibility::Native,
            targets: std::slice::from_ref(target),
            threads: 1,
            part: Portion::WHOLE,
            defaults,
            seed: Seed::Final(seed),
            network: Arc::new(Nowhere),
        };
        let (_, mut scripts) = ScriptSet::assemble(program, &stage)?;
        Ok(scripts.pop().expect("one target with one thread has one script"))
    }
}
