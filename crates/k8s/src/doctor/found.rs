//! The findings of one check, and the result that they amount to.

use std::collections::{BTreeMap, BTreeSet};

use results::doctor::{Check, Severity, Standing, State};

use super::{Missing, Row, Wanted};

/// The most findings that a message lists.
const MOST: usize = 6;

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The value in words, if nothing is bad or unknown.
    pub(super) value: String,
    pub(super) wanted: String,
    pub(super) source: String,
    findings: Vec<Finding>,
    /// The values for the fingerprint, by name.
    pub(super) records: BTreeMap<String, String>,
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
    /// True if it is only too early to know.
    is_early: bool,
}

impl Found {
    pub(super) fn new(wanted: impl Into<String>, source: impl Into<String>) -> Found {
        Found { wanted: wanted.into(), source: source.into(), ..Found::default() }
    }

    /// Sets the value of a good cluster.
    pub(super) fn with(mut self, value: impl Into<String>) -> Found {
        self.value = value.into();
        self
    }

    /// Adds a bad value.
    pub(super) fn bad(
        &mut self,
        word: Option<&'static str>,
        severity: Severity,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (text, remedy) = (text.into(), remedy.into());
        let state = State::Bad;
        self.add(Finding { word, severity, state, text, remedy, is_early: false });
    }

    /// Adds that something could not be read.
    pub(super) fn unread(&mut self, word: Option<&'static str>, what: &str, missing: &Missing) {
        let (why, remedy) = match missing {
            Missing::Forbidden(right) => (
                format!("may not be read: the account has not the right to {right}"),
                format!("grant it, and test it by `kubectl auth can-i {right}`"),
            ),
            Missing::Absent => (
                "is not in this cluster".to_owned(),
                "look at it on the nodes themselves".to_owned(),
            ),
            Missing::NotRead => ("was not read".to_owned(), "read it by hand".to_owned()),
            Missing::Failed(why) => {
                (format!("could not be read: {why}"), "try it again".to_owned())
            }
        };
        self.unknown(word, format!("{what} {why}"), remedy);
    }

    /// Adds that something is not known.
    pub(super) fn unknown(
        &mut self,
        word: Option<&'static str>,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (text, remedy) = (text.into(), remedy.into());
        let (severity, state) = (Severity::Warning, State::Unknown);
        self.add(Finding { word, severity, state, text, remedy, is_early: false });
    }

    /// Adds a finding, unless several objects have led to the same one.
    fn add(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Adds that an answer does not have what Kubernetes documents.
    pub(super) fn odd(&mut self, word: Option<&'static str>, what: &str, field: &str) {
        let text = format!("{what} has no {field}");
        self.unknown(word, text, "look at it by `kubectl get --raw` with the path of the source");
    }

    /// Adds that it is too early to know: none of our pods runs yet. No spec can require that.
    pub(super) fn early(&mut self) {
        self.add(Finding {
            word: None,
            severity: Severity::Info,
            state: State::Unknown,
            text: "no pod of the experiment runs yet".to_owned(),
            remedy: "none is needed: it is checked again before and after every trial".to_owned(),
            is_early: true,
        });
    }

    /// Adds a value to the fingerprint.
    pub(super) fn record(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.records.insert(name.into(), value.into());
    }

    /// Returns the result of the check.
    pub(super) fn conclude(self, row: &Row, wanted: &Wanted) -> Check {
        let is_required = |finding: &Finding| finding.is_required(row, &wanted.required);
        let is_waived =
            |finding: &Finding| row.names(&wanted.allowed, finding.word) && !is_required(finding);
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
    fn weight(&self, row: &Row) -> Severity {
        match self.state {
            State::Unknown => self.severity.min(row.severity),
            State::Ok | State::Bad => self.severity,
        }
    }

    fn is_of(&self, row: &Row) -> bool {
        self.word.is_none_or(|word| row.words.contains(&word))
    }

    fn is_required(&self, row: &Row, required: &BTreeSet<String>) -> bool {
        let of_parts = || row.words.iter().any(|word| required.contains(*word));
        !self.is_early && (row.names(required, self.word) || self.word.is_none() && of_parts())
    }
}

impl Row {
    /// Returns true if a list of the spec names this check, or this part of it.
    fn names(&self, list: &BTreeSet<String>, word: Option<&str>) -> bool {
        list.contains(self.id) || word.is_some_and(|word| list.contains(word))
    }
}

/// Joins texts, and counts those that are too many.
pub(super) fn listed(texts: &[impl AsRef<str>]) -> String {
    let mut shown: Vec<&str> = texts.iter().take(MOST).map(AsRef::as_ref).collect();
    let more = texts.len().saturating_sub(MOST);
    let rest = format!("and {more} more");
    if 0 < more {
        shown.push(&rest);
    }
    shown.join("; ")
}
