//! The plan of an experiment: every question, how often it is put, and in which order the trials
//! are made. A strand is one search, made once; it sees only its own trials.
//!
//! The next trial follows from the plan and the journal alone. An order chooses among the strands,
//! and never looks at results: only at how many trials each strand has.

use std::collections::BTreeMap;

use measure::Random;
use results::{Entry, Metric};

use crate::course::{Attempt, Ending, Position};
use crate::spec::{Arms, Cell, Offered, Order, Question, Resolved, SpecError, questions};

pub use decide::{Decision, bracket, points, seed_of, swept};
pub(crate) use failing::CORRECT;

use decide::Spent;

mod decide;
mod failing;
pub(crate) mod found;
pub(crate) mod slow;

#[cfg(test)]
mod tests;

/// Everything that is fixed before the first trial.
#[derive(Clone, Debug)]
pub struct Plan {
    pub cells: Vec<Cell>,
    pub questions: Vec<Question>,
    pub strands: Vec<Strand>,
    /// How often each search is made.
    pub repetitions: u32,
    pub order: Order,
    pub seed: u64,
    /// The levels that are compared.
    pub(crate) arms: Option<Arms>,
    /// For each question the first one with the same system under test: where it changes, the
    /// system is deployed again.
    systems: Vec<usize>,
    /// For each strand the one whose result its load is a share of.
    shares: Vec<Option<usize>>,
}

/// One search, made once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Strand {
    /// The index of its question.
    pub question: usize,
    /// The number of this search among the equal ones, from 1.
    pub repetition: u32,
}

impl Plan {
    pub fn of(resolved: &Resolved) -> Result<Plan, SpecError> {
        let (cells, questions) = questions(resolved)?;
        let repeat = &resolved.spec.repeat;
        let strands: Vec<Strand> = (0..questions.len())
            .flat_map(|question| {
                (1..=repeat.searches.0).map(move |repetition| Strand { question, repetition })
            })
            .collect();
        let systems = systems(&questions);
        let shares = shares(&questions, &strands);
        let (repetitions, order, seed) = (repeat.searches.0, repeat.order, resolved.seed());
        let compare = resolved.spec.compare.as_ref();
        let arms = compare.map(|compare| compare.arms(resolved));
        Ok(Plan { cells, questions, strands, repetitions, order, seed, arms, systems, shares })
    }

    /// Returns true if the journal has to say which strand a trial belongs to.
    pub fn has_several(&self) -> bool {
        1 < self.strands.len()
    }

    /// Returns how often each question has its turn in a block; `None` in an order without blocks.
    pub fn each_in_a_block(&self) -> Option<u32> {
        let Order::Blocks(of) = self.order else { return None };
        let questions = u32::try_from(self.questions.len()).unwrap_or(u32::MAX);
        Some((of.0 / questions).max(1))
    }

    pub fn question(&self, strand: usize) -> &Question {
        &self.questions[self.strands[strand].question]
    }

    /// Returns the spec of a strand, with its levels and its search.
    pub fn resolved(&self, strand: usize) -> &Resolved {
        &self.question(strand).resolved
    }

    /// Checks that every trial of a journal belongs to a strand of this plan.
    pub fn check(&self, journal: &[Entry]) -> anyhow::Result<()> {
        let of = self.strands.len();
        for Entry { trial, strand, .. } in journal {
            let number = strand.unwrap_or(if self.has_several() { 0 } else { 1 });
            anyhow::ensure!(
                (1..=of).contains(&(number as usize)),
                "journal.jsonl: trial {trial} is of strand {number}, and the plan has 1 to {of}"
            );
        }
        Ok(())
    }

    /// Returns the place of the trials of a strand.
    pub fn place(&self, strand: usize) -> Position {
        let question = self.strands[strand].question;
        Position { cell: self.questions[question].cell, system: self.systems[question], question }
    }

    pub fn cell_name(&self, strand: usize) -> Option<String> {
        self.cells[self.question(strand).cell].name()
    }

    /// Returns `replicas=2 · capacity · 3`, as far as there are several of each; empty for a plan
    /// of one strand.
    pub fn label(&self, strand: usize) -> String {
        let search = self.question(strand).search.clone();
        let repetition = self.strands[strand].repetition.to_string();
        let repetition = (1 < self.repetitions).then_some(repetition);
        let parts = self.cell_name(strand).into_iter().chain(search).chain(repetition);
        parts.collect::<Vec<_>>().join(" · ")
    }

    /// Returns the seed of a strand: of its levels, its search and its repetition, so that a
    /// further level changes no other strand.
    pub fn seed_of(&self, strand: usize) -> u64 {
        if !self.has_several() {
            return self.seed;
        }
        let Strand { repetition, .. } = self.strands[strand];
        let search = self.question(strand).search.as_deref().unwrap_or_default();
        let cell = self.cell_name(strand).unwrap_or_default();
        let name = format!("{cell}\n{search}\n{repetition}");
        Random::part(self.seed, measure::random::seed_of(&name)).next_u64() >> 11
    }
}

fn shares(questions: &[Question], strands: &[Strand]) -> Vec<Option<usize>> {
    let named = |strand: &Strand| {
        let question = &questions[strand.question];
        Some((question.cell, question.search.as_deref()?, strand.repetition))
    };
    let known: BTreeMap<(usize, &str, u32), usize> =
        strands.iter().zip(0..).filter_map(|(strand, i)| Some((named(strand)?, i))).collect();
    let share = |strand: &Strand| {
        let question = &questions[strand.question];
        match question.resolved.spec.load.rate() {
            Some(Offered::Share { of, .. }) => {
                known.get(&(question.cell, &**of, strand.repetition)).copied()
            }
            Some(Offered::Rate(_)) | None => None,
        }
    };
    strands.iter().map(share).collect()
}

fn systems(questions: &[Question]) -> Vec<usize> {
    let mut known: Vec<usize> = Vec::new();
    let mut systems = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        let spec = &question.resolved.spec;
        let same = known.iter().copied().find(|&other| {
            let other = &questions[other].resolved.spec;
            let same_place = spec.where_ == other.where_ && spec.vars == other.vars;
            same_place && spec.sut == other.sut && spec.simulated == other.simulated
        });
        if same.is_none() {
            known.push(number);
        }
        systems.push(same.unwrap_or(number));
    }
    systems
}

/// The next trial of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub strand: usize,
    pub attempt: Attempt,
    /// The number of the block, from 1; absent in an order without blocks.
    pub block: Option<u32>,
}

/// The journal as the strands see it.
pub struct Turns<'a> {
    plan: &'a Plan,
    /// The trials of each strand, in order.
    strands: Vec<Vec<Entry>>,
    /// The strand of each trial, in the order of the journal.
    order: Vec<usize>,
    /// The number of trials of each strand that gave an answer.
    turns: Vec<u32>,
    endings: Vec<Option<Ending>>,
    /// The position of each strand in an order that is fixed beforehand.
    ranks: Vec<u64>,
    spent: Spent,
}

impl<'a> Turns<'a> {
    /// Reads the journal of an earlier run, whose trials are all of this plan ([`Plan::check`]).
    pub fn new(plan: &'a Plan, journal: Vec<Entry>) -> Turns<'a> {
        Turns::resumed(plan, journal, 0)
    }

    /// Reads the journal of a run that went on, although it had ended without an answer after this trial:
    /// the allowances for trials that give no answer count from there.
    pub fn resumed(plan: &'a Plan, journal: Vec<Entry>, after: u32) -> Turns<'a> {
        let count = plan.strands.len();
        let rank = |strand: usize| match plan.order {
            Order::Shuffled => Random::part(plan.seed_of(strand), 1).next_u64(),
            Order::Listed | Order::Interleaved | Order::Blocks(_) => strand as u64,
        };
        let mut turns = Turns {
            plan,
            strands: vec![Vec::new(); count],
            order: Vec::new(),
            turns: vec![0; count],
            endings: vec![None; count],
            ranks: (0..count).map(rank).collect(),
            spent: Spent::of(count as u64, after),
        };
        journal.into_iter().for_each(|entry| turns.push(entry));
        turns
    }

    /// Adds a finished trial.
    pub fn push(&mut self, entry: Entry) {
        let strand = entry.strand.map_or(0, |number| number as usize - 1);
        self.spent.add(self.plan.resolved(strand), &entry);
        self.turns[strand] += u32::from(entry.status.answers());
        self.order.push(strand);
        self.strands[strand].push(entry);
        // An end is known as soon as its last trial is, so that a resumed run knows it too.
        if let Decision::End(ending) = self.decide(strand) {
            self.endings[strand] = Some(ending);
        }
    }

    /// Returns the number of trials so far.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// Returns the trials of one strand.
    pub fn of(&self, strand: usize) -> &[Entry] {
        &self.strands[strand]
    }

    pub fn last(&self) -> Option<(usize, &Entry)> {
        let strand = *self.order.last()?;
        Some((strand, self.strands[strand].last()?))
    }

    /// Returns the trials of all strands.
    pub fn all(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.strands.iter().flatten()
    }

    /// Returns the repetitions of a trial that a slow machine may cause.
    pub fn slow_attempts(&self, strand: usize) -> u32 {
        self.plan.resolved(strand).spec.budget.slow_attempts
    }

    /// Returns true if a further attempt follows a trial that gave no answer.
    pub fn repeats(&self, strand: usize, entry: &Entry) -> bool {
        let mut journal = self.strands[strand].clone();
        journal.push(entry.clone());
        let mut spent = self.spent;
        spent.add(self.plan.resolved(strand), entry);
        matches!(self.decide_after(strand, &journal, &spent), Decision::Run(_))
    }

    /// Returns all trials in the order of the journal.
    pub fn journal(&self) -> Vec<Entry> {
        let mut next = vec![0; self.strands.len()];
        let entry = |&strand: &usize| {
            next[strand] += 1;
            self.strands[strand][next[strand] - 1].clone()
        };
        self.order.iter().map(entry).collect()
    }

    /// Returns the next trial; `None` if every strand has ended.
    pub fn next_turn(&mut self) -> Option<Turn> {
        loop {
            let strand = self.choose()?;
            match self.decide(strand) {
                Decision::Run(attempt) => {
                    let each = self.plan.each_in_a_block().filter(|_| self.plan.has_several());
                    let question = self.plan.strands[strand].question;
                    let block = each.map(|each| self.had()[question] / each + 1);
                    return Some(Turn { strand, attempt, block });
                }
                Decision::End(ending) => self.endings[strand] = Some(ending),
            }
        }
    }

    /// Returns the next attempt of a strand, even if it is not its turn; `None` if it has ended.
    pub fn attempt(&self, strand: usize) -> Option<Attempt> {
        match self.decide(strand) {
            Decision::Run(attempt) => Some(attempt),
            Decision::End(_) => None,
        }
    }

    /// Returns how a strand ended; `None` if it did not.
    pub fn ending_of(&self, strand: usize) -> Option<&Ending> {
        self.endings[strand].as_ref()
    }

    /// Returns how the experiment ended, once every strand has: as that one did in which the service failed, or
    /// that has no answer.
    pub fn ending(&self) -> Ending {
        if let [ending] = &self.endings[..] {
            return ending.clone().unwrap_or(Ending::Open);
        }
        let strands = || {
            (0..).zip(&self.endings).filter_map(|(strand, ending)| Some((strand, ending.as_ref()?)))
        };
        let named = |strand: usize, why: &str| format!("{}: {why}", self.plan.label(strand));
        let failing = strands().find_map(|(strand, ending)| match ending {
            Ending::Failing(why) => Some(Ending::Failing(named(strand, why))),
            _ => None,
        });
        let without = strands().find_map(|(strand, ending)| match ending {
            Ending::NoAnswer(why) => Some(Ending::NoAnswer(named(strand, why))),
            _ => None,
        });
        failing
            .or(without)
            .unwrap_or_else(|| Ending::Answered(format!("{} searches ended", self.endings.len())))
    }

    fn decide(&self, strand: usize) -> Decision {
        self.decide_after(strand, &self.strands[strand], &self.spent)
    }

    /// Decides as if the trials of a strand were these.
    fn decide_after(&self, strand: usize, journal: &[Entry], spent: &Spent) -> Decision {
        let resolved = self.plan.resolved(strand);
        let Some(source) = self.plan.shares[strand] else {
            return decide::next(resolved, journal, None, spent);
        };
        let label = self.plan.label(source);
        let (of_source, trials) = (self.plan.resolved(source), self.of(source));
        let Some(base) = decide::found(of_source, trials) else {
            let why = format!("`{label}` found no capacity to take a share of");
            return Decision::End(Ending::NoAnswer(why));
        };
        match decide::next(resolved, journal, Some(base), spent) {
            Decision::End(Ending::Answered(why)) => {
                let bound = self
                    .bound(source)
                    .map(|bound| format!("; it is a share of a bound: `{label}` found {bound}"));
                Decision::End(Ending::Answered(why + &bound.unwrap_or_default()))
            }
            next => next,
        }
    }

    /// Returns what a strand found, in words, if that is only a bound: `at least 300/s`.
    fn bound(&self, source: usize) -> Option<String> {
        let resolved = self.plan.resolved(source);
        let ending = self.endings[source].clone().unwrap_or_else(|| match self.decide(source) {
            Decision::End(ending) => ending,
            Decision::Run(_) => Ending::Open,
        });
        let search = found::searched(resolved, self.of(source), &ending);
        let metric = match resolved.spec.slo.is_empty() {
            true => Metric::MaximumThroughput,
            false => Metric::Capacity,
        };
        let found = search.found(metric);
        let is_bound = found.exact().is_none() && !found.is_unknown();
        let written = |per_s| match metric {
            Metric::Capacity => search.arrivals().load_in_words(per_s),
            _ => search.arrivals().requests_in_words(per_s),
        };
        is_bound.then(|| found.in_words(written))
    }

    /// Returns the strand whose turn it is; `None` if none is open.
    fn choose(&self) -> Option<usize> {
        // A trial without an answer is repeated at once.
        if let Some((strand, entry)) = self.last()
            && !entry.status.answers()
            && self.is_open(strand)
        {
            return Some(strand);
        }
        let open = (0..self.strands.len()).filter(|&strand| self.is_open(strand));
        match self.plan.order {
            Order::Listed | Order::Shuffled => open.min_by_key(|&strand| self.ranks[strand]),
            Order::Interleaved => open.min_by_key(|&strand| (self.turns[strand], strand)),
            Order::Blocks(_) => self.of_block(open),
        }
    }

    /// Returns the number of turns that each question has had.
    fn had(&self) -> Vec<u32> {
        let mut had = vec![0; self.plan.questions.len()];
        for (strand, turns) in self.plan.strands.iter().zip(&self.turns) {
            had[strand.question] += turns;
        }
        had
    }

    /// Returns the next strand of a block. A question gets its turns in groups of as many as it has
    /// in one block; the places of each group among those of the others are random.
    fn of_block(&self, open: impl Iterator<Item = usize>) -> Option<usize> {
        let (each, had) = (self.plan.each_in_a_block()?, self.had());
        let place = |question: usize| {
            let (group, place) = (had[question] / each, (had[question] % each) as usize);
            let mut random = Random::part(self.plan.seed, u64::from(group) << 32 | question as u64);
            let mut places: Vec<u64> = (0..each).map(|_| random.next_u64()).collect();
            places.sort_unstable();
            (group, places[place])
        };
        let places: Vec<(u32, u64)> = (0..had.len()).map(place).collect();
        open.min_by_key(|&strand| {
            (places[self.plan.strands[strand].question], self.turns[strand], strand)
        })
    }

    fn is_open(&self, strand: usize) -> bool {
        let is_known = |source: usize| {
            self.endings[source].is_some() || matches!(self.decide(source), Decision::End(_))
        };
        self.endings[strand].is_none() && self.plan.shares[strand].is_none_or(is_known)
    }
}
