//! The findings of one check, and the result that they amount to: the same rules for this machine
//! and for a cluster.

use std::collections::{BTreeMap, BTreeSet};

use results::doctor::{Check, Severity, Standing, State};

use crate::spec::Doctor;

/// One check in the table of a place.
#[derive(Debug)]
pub struct Row<C> {
    pub id: &'static str,
    pub name: &'static str,
    /// The names of its parts, by which a spec allows or requires one of them.
    pub words: &'static [&'static str],
    /// The severity while nothing is found.
    pub severity: Severity,
    pub check: C,
}

/// The place that a spec gives to checks, named by their ids or by the words of their parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// The waivers.
    pub allowed: BTreeSet<String>,
    /// The requirements. They win over a waiver.
    pub required: BTreeSet<String>,
}

impl Terms {
    pub fn of(doctor: &Doctor) -> Terms {
        let set = |names: &[String]| names.iter().cloned().collect();
        Terms { allowed: set(&doctor.allow), required: set(&doctor.require) }
    }
}

/// Returns the names that a spec may allow or require: the ids of the checks, and the words of
/// their parts.
pub fn words<C>(table: &[Row<C>]) -> Vec<&'static str> {
    table.iter().flat_map(|row| [row.id].into_iter().chain(row.words.iter().copied())).collect()
}

/// Makes the checks of a table; returns their results, and the values for the fingerprint.
pub fn conclude<C>(
    table: &[Row<C>],
    terms: &Terms,
    make: impl Fn(&C) -> Found,
) -> (Vec<Check>, BTreeMap<String, String>) {
    let mut values = BTreeMap::new();
    let check = |row: &Row<C>| {
        let mut found = make(&row.check);
        values.append(&mut found.records);
        found.conclude(row, terms)
    };
    (table.iter().map(check).collect(), values)
}

/// The most findings that a message lists.
const MOST: usize = 6;

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The value in words, if nothing is bad or unknown.
    pub value: String,
    pub wanted: String,
    pub source: String,
    findings: Vec<Finding>,
    /// The values for the fingerprint, by name.
    pub records: BTreeMap<String, String>,
}

/// One thing that is not known to be good.
#[derive(Clone, Debug, PartialEq)]
struct Finding {
    /// The part of the check that it belongs to; absent if it concerns all parts.
    word: Option<&'static str>,
    severity: Severity,
    state: State,
    text: String,
    remedy: String,
    /// True if this is only not the moment to know it.
    is_untimely: bool,
}

impl Found {
    pub fn new(wanted: impl Into<String>, source: impl Into<String>) -> Found {
        Found { wanted: wanted.into(), source: source.into(), ..Found::default() }
    }

    /// Sets the value of a good place.
    pub fn with(mut self, value: impl Into<String>) -> Found {
        self.value = value.into();
        self
    }

    /// Adds a bad value.
    pub fn bad(
        &mut self,
        word: Option<&'static str>,
        severity: Severity,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (text, remedy) = (text.into(), remedy.into());
        let state = State::Bad;
        self.add(Finding { word, severity, state, text, remedy, is_untimely: false });
    }

    /// Adds that something is not known.
    pub fn unknown(
        &mut self,
        word: Option<&'static str>,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (text, remedy) = (text.into(), remedy.into());
        let (severity, state) = (Severity::Warning, State::Unknown);
        self.add(Finding { word, severity, state, text, remedy, is_untimely: false });
    }

    /// Adds a finding, unless several objects have led to the same one.
    fn add(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Adds that it cannot be known at this moment. No spec can require that.
    pub fn untimely(&mut self, text: impl Into<String>) {
        self.add(Finding {
            word: None,
            severity: Severity::Info,
            state: State::Unknown,
            text: text.into(),
            remedy: "none is needed: it is checked again before and after every trial".to_owned(),
            is_untimely: true,
        });
    }

    /// Adds a value to the fingerprint.
    pub fn record(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.records.insert(name.into(), value.into());
    }

    /// Returns the result of the check.
    pub fn conclude(self, row: &Row<impl Sized>, terms: &Terms) -> Check {
        let is_required = |finding: &Finding| finding.is_required(row, &terms.required);
        let is_waived =
            |finding: &Finding| row.names(&terms.allowed, finding.word) && !is_required(finding);
        debug_assert!(
            self.findings.iter().all(|finding| finding.is_of(row)),
            "a spec can name every part of a check by a word of the table: {}",
            row.id
        );
        let (waived, counted): (Vec<Finding>, Vec<Finding>) =
            self.findings.into_iter().partition(is_waived);
        let (decisive, standing) = match (counted.is_empty(), counted.iter().any(is_required)) {
            (true, _) if !waived.is_empty() => (&waived, Standing::Waived),
            (_, true) => (&counted, Standing::Required),
            (_, false) => (&counted, Standing::Usual),
        };
        let state = worst(decisive);
        let of_state: Vec<&Finding> =
            decisive.iter().filter(|finding| finding.state == state).collect();
        let severity = match standing {
            Standing::Required => Severity::Error,
            Standing::Usual | Standing::Waived => {
                of_state.iter().map(|finding| finding.weight(row)).max().unwrap_or(row.severity)
            }
        };
        let mut texts: Vec<String> = counted.iter().map(|finding| finding.text.clone()).collect();
        texts.extend(waived.iter().map(|finding| format!("{} (waived)", finding.text)));
        let mut remedies: Vec<&str> = Vec::new();
        for finding in of_state {
            if !remedies.contains(&finding.remedy.as_str()) {
                remedies.push(&finding.remedy);
            }
        }
        Check {
            id: row.id.to_owned(),
            name: row.name.to_owned(),
            severity,
            state,
            standing,
            value: if texts.is_empty() { self.value } else { listed(&texts) },
            wanted: self.wanted,
            source: self.source,
            remedy: (!remedies.is_empty()).then(|| listed(&remedies)),
        }
    }
}

/// Returns the state of several findings together.
fn worst(findings: &[Finding]) -> State {
    let has = |state: State| findings.iter().any(|finding| finding.state == state);
    match (has(State::Bad), has(State::Unknown)) {
        (true, _) => State::Bad,
        (false, true) => State::Unknown,
        (false, false) => State::Ok,
    }
}

impl Finding {
    /// Returns the severity; what is only recorded is not missed either.
    fn weight(&self, row: &Row<impl Sized>) -> Severity {
        match self.state {
            State::Unknown => self.severity.min(row.severity),
            State::Ok | State::Bad => self.severity,
        }
    }

    fn is_of(&self, row: &Row<impl Sized>) -> bool {
        self.word.is_none_or(|word| row.words.contains(&word))
    }

    fn is_required(&self, row: &Row<impl Sized>, required: &BTreeSet<String>) -> bool {
        let of_parts = || row.words.iter().any(|word| required.contains(*word));
        !self.is_untimely && (row.names(required, self.word) || self.word.is_none() && of_parts())
    }
}

impl<C> Row<C> {
    /// Returns true if a list of the spec names this check, or this part of it.
    fn names(&self, list: &BTreeSet<String>, word: Option<&str>) -> bool {
        list.contains(self.id) || word.is_some_and(|word| list.contains(word))
    }
}

/// Joins texts, and counts those that are too many.
pub fn listed(texts: &[impl AsRef<str>]) -> String {
    let mut shown: Vec<&str> = texts.iter().take(MOST).map(AsRef::as_ref).collect();
    let more = texts.len().saturating_sub(MOST);
    let rest = format!("and {more} more");
    if 0 < more {
        shown.push(&rest);
    }
    shown.join("; ")
}
