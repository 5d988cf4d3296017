//! Many questions in one experiment: every combination of levels is a cell, and each search is put
//! to each cell. A level and a search are patches of this file, so a question is again an ordinary
//! spec, without factors and searches.

use std::collections::BTreeSet;

use measure::Bytes;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::load::Offered;
use super::source::SpecError;
use super::{Name, Order, Resolved, Spec, compare, patch, read, scaling, schema};

#[cfg(test)]
mod tests;

/// The most searches of one experiment, with their repetitions.
const MOST_SEARCHES: usize = 10_000;
/// The most text of all questions together: each of them is a spec of its own.
const MOST_BYTES: usize = 256 << 20;
/// The most trials of a block.
const MOST_IN_A_BLOCK: u32 = 1_000;
/// The most levels of one factor, and the most factors.
const MOST_LEVELS: usize = 1_000;
const MOST_FACTORS: usize = 16;
/// The parts of a spec that a level may change.
pub(super) const OF_A_LEVEL: [&str; 11] = [
    "where",
    "vars",
    "sut",
    "simulated",
    "workload",
    "load",
    "phases",
    "slo",
    "search",
    "reset",
    "repeat",
];
/// The parts of a spec that a search may change besides its own fields.
pub(super) const OF_A_SEARCH: [&str; 5] = ["load", "phases", "slo", "workload", "repeat"];

/// A mapping that keeps the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(Name, T)>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Vec::new())
    }
}

impl<T> Named<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (&**name, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        struct InOrder<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a mapping (`name: …`)")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut named: Vec<(Name, T)> = Vec::new();
                while let Some(name) = map.next_key::<Name>()? {
                    if named.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format!("`{name}` is given twice")));
                    }
                    named.push((name, map.next_value()?));
                }
                Ok(Named(named))
            }
        }
        deserializer.deserialize_map(InOrder(std::marker::PhantomData))
    }
}

/// A variable of the experiment, with the values that it takes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenFactor", into = "WrittenFactor")]
pub struct Factor {
    pub levels: Vec<Level>,
    written: WrittenFactor,
}

/// One value of a factor: its name, and the patch of the spec that sets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub name: String,
    pub set: Value,
}

/// `{path: sut.replicas, levels: [1, 2]}` or `{levels: [{name: pinned, set: {…}}]}`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenFactor {
    /// The path of the value that its levels set: `sut.replicas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Its levels: values if there is a path, and otherwise named patches.
    #[schemars(with = "Vec<schema::Level>")]
    levels: Vec<Value>,
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Level")]
pub(super) struct WrittenLevel {
    /// The name of the level.
    name: Name,
    /// The patch of this file that makes the level.
    #[schemars(schema_with = "schema::of_level")]
    set: Value,
}

impl TryFrom<WrittenFactor> for Factor {
    type Error = String;
    fn try_from(written: WrittenFactor) -> Result<Factor, String> {
        let WrittenFactor { path, levels } = written.clone();
        if levels.is_empty() || MOST_LEVELS < levels.len() {
            return Err(format!("a factor has 1 to {MOST_LEVELS} levels, not {}", levels.len()));
        }
        let levels: Vec<Level> = match path {
            Some(path) => {
                levels.into_iter().map(|value| at(&path, value)).collect::<Result<_, _>>()?
            }
            None => levels.into_iter().map(named).collect::<Result<_, _>>()?,
        };
        let mut known = BTreeSet::new();
        match levels.iter().find(|level| !known.insert(&level.name)) {
            Some(level) => Err(format!("the level `{}` is given twice", level.name)),
            None => Ok(Factor { levels, written }),
        }
    }
}

impl From<Factor> for WrittenFactor {
    fn from(factor: Factor) -> WrittenFactor {
        factor.written
    }
}

/// Returns the level that sets the value at `path`; it is named by the value.
fn at(path: &str, value: Value) -> Result<Level, String> {
    let name = scalar(&value)
        .ok_or_else(|| format!("with `path: {path}` a level is one value, for example 2"))?;
    Ok(Level { set: patch::at(path, value)?, name: level_name(name)? })
}

/// Returns the name of a level that is one value.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn named(value: Value) -> Result<Level, String> {
    let WrittenLevel { name, set } = serde_json::from_value(value).map_err(|error| {
        format!(
            "a level is `{{name: …, set: {{…}}}}`, or one value if the factor has a `path` ({error})"
        )
    })?;
    match set {
        Value::Object(_) => Ok(Level { name: name.to_string(), set }),
        _ => Err(format!("the level `{name}` sets nothing; write for example set: {{sut: {{…}}}}")),
    }
}

fn level_name(name: String) -> Result<String, String> {
    let fits = !name.is_empty() && name.len() <= 80 && !name.chars().any(char::is_control);
    if fits { Ok(name) } else { Err(format!("`{name}` is too long for the name of a level")) }
}

/// One combination of levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The level of each factor, in the order of the factors.
    pub levels: Vec<(String, String)>,
}

impl Cell {
    /// Returns `replicas=2, hardening=pinned`; `None` without factors.
    pub fn name(&self) -> Option<String> {
        let parts = self.levels.iter().map(|(factor, level)| format!("{factor}={level}"));
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// One search in one cell, as a spec of its own.
#[derive(Clone, Debug)]
pub struct Question {
    /// The index of its cell.
    pub cell: usize,
    /// The name of the search, if the experiment names several.
    pub search: Option<String>,
    /// The spec with the levels' patches and the search's.
    pub resolved: Resolved,
}

/// Returns every cell, and every question in the order of the file: cell after cell, and in each
/// cell search after search.
pub fn questions(resolved: &Resolved) -> Result<(Vec<Cell>, Vec<Question>), SpecError> {
    let spec = &resolved.spec;
    let cells = cells(resolved)?;
    let searches = &spec.searches.0;
    let repetitions = spec.repeat.searches.0 as usize;
    let in_all = cells.len().saturating_mul(searches.len().max(1)).saturating_mul(repetitions);
    if MOST_SEARCHES < in_all {
        return Err(too_many(resolved));
    }
    if let Order::Blocks(of) = spec.repeat.order
        && MOST_IN_A_BLOCK < of.0
    {
        let place = resolved.source.find("blocks:", &of.0.to_string());
        let message = format!("a block of more than {MOST_IN_A_BLOCK} trials");
        return Err(resolved.source.error(message, place, "write for example {blocks: 4}"));
    }
    let alone = Spec { factors: Named::default(), searches: Named::default(), ..spec.clone() };
    let document = serde_json::to_value(&alone).expect("a spec is plain data");
    let number = cells.len() * searches.len().max(1);
    let all = number.saturating_mul(document.to_string().len() + resolved.source.text.len());
    if MOST_BYTES < all {
        let size = Bytes(all as u64);
        let message =
            format!("{number} questions of a spec as long as this one have {size} of text");
        let place = resolved.source.find("factors:", "factors");
        let label = format!(
            "they have at most {} MiB; remove some, or use files for long texts",
            MOST_BYTES >> 20
        );
        return Err(resolved.source.error(message, place, &label));
    }
    let mut questions = Vec::new();
    for (number, (cell, patches)) in cells.iter().enumerate() {
        let mut of_cell = document.clone();
        patch::change(&mut of_cell, patches);
        let named = searches.iter().map(|(name, search)| (Some(name), Some(search)));
        let none = searches.is_empty().then_some((None, None));
        for (name, search) in named.chain(none) {
            let mut document = of_cell.clone();
            if let (Some(name), Some(search)) = (name, search) {
                patch::change(&mut document, &[&of_search(resolved, name, search)?]);
            }
            let what: Vec<String> =
                cell.name().into_iter().chain(name.map(ToString::to_string)).collect();
            let what = what.join(", ");
            let spec: Spec = match what.is_empty() {
                true => alone.clone(),
                false => patch::typed(&document).map_err(|(message, label)| {
                    resolved.source.error(format!("{what}: {message}"), None, &label)
                })?,
            };
            let question = Resolved { spec, ..resolved.clone() };
            question.check_question().map_err(|error| match what.is_empty() {
                true => error,
                false => error.within(&what),
            })?;
            questions.push(Question {
                cell: number,
                search: name.map(ToString::to_string),
                resolved: question,
            });
        }
    }
    check_shares(resolved, &questions)?;
    compare::check(resolved, &questions)?;
    scaling::check(resolved)?;
    Ok((cells.into_iter().map(|(cell, _)| cell).collect(), questions))
}

type Patches<'a> = Vec<&'a Value>;

/// Returns every combination of levels with its patches; the last factor varies fastest.
fn cells(resolved: &Resolved) -> Result<Vec<(Cell, Patches<'_>)>, SpecError> {
    let factors = &resolved.spec.factors.0;
    if MOST_FACTORS < factors.len() {
        return Err(too_many(resolved));
    }
    check_paths(resolved)?;
    let mut cells: Vec<(Cell, Patches<'_>)> = vec![(Cell::default(), Vec::new())];
    for (factor, Factor { levels, .. }) in factors {
        if MOST_SEARCHES < cells.len() * levels.len() {
            return Err(too_many(resolved));
        }
        let of_factor = || resolved.source.key(&["factors", factor]);
        for level in levels {
            let fields = level.set.as_object().into_iter().flat_map(Map::keys);
            if let Some(field) = fields.into_iter().find(|f| !OF_A_LEVEL.contains(&f.as_str())) {
                let message =
                    format!("the level `{}` of `{factor}` cannot change `{field}`", level.name);
                let label = read::nested(field, &OF_A_LEVEL)
                    .unwrap_or_else(|| format!("a level may change: {}", OF_A_LEVEL.join(", ")));
                let place = resolved.source.behind(&["factors", factor], field).or_else(of_factor);
                return Err(resolved.source.error(message, place, &label));
            }
            if level.set.pointer("/where/backend").is_some() {
                let message =
                    format!("the level `{}` of `{factor}` cannot change the backend", level.name);
                let place = resolved.source.behind(&["factors", factor], "where.backend");
                let place = place.or_else(of_factor);
                let label = "figures of two backends are not comparable: write two experiments";
                return Err(resolved.source.error(message, place, label));
            }
        }
        cells = cells
            .into_iter()
            .flat_map(|(cell, patches)| {
                levels.iter().map(move |level| {
                    let mut cell = cell.clone();
                    cell.levels.push((factor.to_string(), level.name.clone()));
                    (cell, patches.iter().copied().chain([&level.set]).collect())
                })
            })
            .collect();
    }
    Ok(cells)
}

/// Checks that no factor sets what another one sets: in a cell the later one would win, and the level of the other
/// would not be true.
fn check_paths(resolved: &Resolved) -> Result<(), SpecError> {
    let mut before: Vec<(&Name, Vec<&str>)> = Vec::new();
    for (factor, Factor { written, .. }) in &resolved.spec.factors.0 {
        let Some(path) = &written.path else { continue };
        let parts: Vec<&str> = path.split('.').map(str::trim).collect();
        let sets_same = |(_, other): &&(&Name, Vec<&str>)| {
            parts.iter().zip(other).all(|(part, of_other)| part == of_other)
        };
        if let Some((other, of_other)) = before.iter().find(sets_same) {
            let of_other = of_other.join(".");
            let message = format!(
                "the factors `{other}` ({of_other}) and `{factor}` ({path}) set the same value: of each cell one level \
                 would not be true"
            );
            let place = resolved.source.key(&["factors", factor]);
            return Err(resolved.source.error(
                message,
                place,
                "remove one, or give it another path",
            ));
        }
        before.push((factor, parts));
    }
    Ok(())
}

/// Returns the patch of a search: its own fields replace `search`, the others patch the spec. A
/// search without own fields, or with `strategy: fixed`, measures the one load of `load`.
fn of_search(resolved: &Resolved, name: &Name, search: &Value) -> Result<Value, SpecError> {
    let Value::Object(written) = search else {
        let message = format!("the search `{name}` is not a mapping");
        let place = resolved.source.key(&["searches", name]);
        let label = "write for example {strategy: sweep, range: [500/s, 2000/s], step: 5%}";
        return Err(resolved.source.error(message, place, label));
    };
    let mut own = written.clone();
    let mut patch = Map::new();
    for field in OF_A_SEARCH {
        if let Some(value) = own.shift_remove(field) {
            patch.insert(field.to_owned(), value);
        }
    }
    let fixed = own.get("strategy").is_some_and(|strategy| strategy == "fixed");
    if fixed {
        own.shift_remove("strategy");
        if let Some(field) = own.keys().next() {
            let message = format!("the search `{name}` measures one load, and has no `{field}`");
            let place = resolved.source.behind(&["searches", name], field);
            return Err(resolved.source.error(message, place, "remove it, or the strategy"));
        }
    }
    let own = if own.is_empty() { Value::Null } else { Value::Object(own) };
    patch.insert("search".to_owned(), own);
    Ok(Value::Object(patch))
}

/// Checks that every share of a capacity names a search that finds one.
fn check_shares(resolved: &Resolved, questions: &[Question]) -> Result<(), SpecError> {
    for question in questions {
        let Some(Offered::Share { of, .. }) = question.resolved.spec.load.rate() else { continue };
        let source = questions
            .iter()
            .find(|other| other.cell == question.cell && other.search.as_deref() == Some(&**of));
        let error = |message: String, label: &str| {
            Err(resolved.source.error(message, resolved.source.find("of:", of), label))
        };
        match source {
            None => {
                let names: Vec<&str> =
                    resolved.spec.searches.0.iter().map(|(name, _)| &**name).collect();
                let label = match names.is_empty() {
                    true => "add it to `searches`".to_owned(),
                    false => format!("searches here: {}", names.join(", ")),
                };
                return error(format!("no search is called `{of}`"), &label);
            }
            Some(source) if source.resolved.spec.search.is_none() => {
                return error(
                    format!("`{of}` finds no capacity"),
                    "name a search with a range or a start",
                );
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn too_many(resolved: &Resolved) -> SpecError {
    resolved.source.error(
        format!("more than {MOST_SEARCHES} searches: levels, searches and repetitions multiply"),
        resolved.source.find("factors:", "factors"),
        "remove some, or split the experiment",
    )
}
