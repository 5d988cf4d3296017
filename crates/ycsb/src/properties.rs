//! Java's `.properties` files, and the properties of YCSB with their defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The place where a property was set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    File {
        name: Arc<str>,
        line: usize,
    },
    /// An argument, such as `-p recordcount=0`.
    Argument(Arc<str>),
    /// Nobody set it.
    Default,
}

impl Place {
    /// Returns the place in words, of an argument its name alone.
    fn without_value(&self) -> String {
        let words = self.to_string();
        match self {
            Place::Argument(_) => words.split('=').next().unwrap_or_default().to_owned(),
            Place::File { .. } | Place::Default => words,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { name, line } => write!(out, "{name}:{line}"),
            Place::Argument(argument) => write!(out, "{argument}"),
            Place::Default => write!(out, "default"),
        }
    }
}

/// Returns true if the workload, or a binding with this table, reads a property.
pub fn is_known(name: &str, binding: &[Known]) -> bool {
    CORE.iter().chain(binding).any(|(known, _)| *known == name)
}

/// The value of a property.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Value {
    pub text: String,
    pub place: Place,
}

/// A property that is wrong: its place, its name and the remedy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wrong(pub String);

impl Wrong {
    /// Returns the error of a property that was set at this place.
    fn at(place: &Place, name: &str, why: &str) -> Wrong {
        match place {
            Place::Default => Wrong(format!("the property `{name}` {why}")),
            _ => Wrong(format!("{place}: the property `{name}` {why}")),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

/// A property that somebody reads, and its default. If that is `true` or `false`, the property is a boolean.
pub type Known = (&'static str, &'static str);

/// The properties of all workloads and bindings.
pub const CORE: &[Known] = &[
    ("core_workload_insertion_keep_going_on_error", "false"),
    ("core_workload_insertion_retry_interval", "3"),
    ("core_workload_insertion_retry_limit", "0"),
    ("dataintegrity", "false"),
    ("db", ""),
    ("dotransactions", "true"),
    ("exponential.frac", "0.8571428571"),
    ("exponential.percentile", "95"),
    ("exporter", "site.ycsb.measurements.exporter.TextMeasurementsExporter"),
    ("exportfile", ""),
    ("fieldcount", "10"),
    ("fieldlength", "100"),
    ("fieldlengthdistribution", "constant"),
    ("fieldlengthhistogram", "hist.txt"),
    ("fieldnameprefix", "field"),
    ("hdrhistogram.fileoutput", "false"),
    ("hdrhistogram.output.path", ""),
    ("hdrhistogram.percentiles", "50,95,99"),
    ("histogram.buckets", "1000"),
    ("hotspotdatafraction", "0.2"),
    ("hotspotopnfraction", "0.8"),
    ("insertcount", ""),
    ("insertorder", "hashed"),
    ("insertproportion", "0"),
    ("insertstart", "0"),
    ("label", ""),
    ("latencytrackederrors", ""),
    ("maxexecutiontime", "0"),
    ("maxscanlength", "1000"),
    ("measurement.histogram.verbose", "false"),
    ("measurement.interval", ""),
    ("measurement.raw.no_summary", "false"),
    ("measurement.raw.output_file", ""),
    ("measurementtype", "hdrhistogram"),
    ("minfieldlength", "1"),
    ("minscanlength", "1"),
    ("operationcount", "0"),
    ("readallfields", "true"),
    ("readallfieldsbyname", "false"),
    ("readmodifywriteproportion", "0"),
    ("readproportion", "0.95"),
    ("recordcount", "0"),
    ("reportlatencyforeacherror", "false"),
    ("requestdistribution", "uniform"),
    ("scanlengthdistribution", "uniform"),
    ("scanproportion", "0"),
    ("status", "false"),
    ("status.interval", "10"),
    ("table", "usertable"),
    ("target", "0"),
    ("threadcount", "1"),
    ("timeseries.granularity", "1000"),
    ("updateproportion", "0.05"),
    ("workload", ""),
    ("writeallfields", "false"),
    ("zeropadding", "1"),
];

/// The properties of the original that have no meaning without a Java machine.
const WITHOUT_EFFECT: [&str; 3] = ["measurement.trackjvm", "spin.sleep", "htrace."];

/// The properties that were set. The last value of a name counts.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    values: BTreeMap<String, Value>,
}

impl Properties {
    /// Reads the content of a file, with this name in errors.
    pub fn read(&mut self, name: &str, content: &[u8]) -> Result<(), Wrong> {
        let name: Arc<str> = name.into();
        let mut lines = lines(content).zip(1..);
        while let Some((line, number)) = lines.next() {
            let mut line = unindented(line).to_vec();
            if matches!(line.first(), None | Some(b'#' | b'!')) {
                continue;
            }
            while continues(&line) {
                line.pop();
                let Some((next, _)) = lines.next() else { break };
                line.extend_from_slice(unindented(next));
            }
            let place = Place::File { name: Arc::clone(&name), line: number };
            let (key, text) = split(&line);
            let wrong = |why| Wrong(format!("{place}: {why}"));
            let (key, text) = (unescaped(key).map_err(wrong)?, unescaped(text).map_err(wrong)?);
            self.values.insert(key, Value { text, place });
        }
        Ok(())
    }

    /// Sets a property, in whatever way it was set before.
    pub fn set(&mut self, name: &str, text: &str, place: Place) {
        self.values.insert(name.to_owned(), Value { text: text.to_owned(), place });
    }

    /// Returns what the user should know: properties that nobody reads, and booleans that are not.
    pub fn warnings(&self, binding: &[Known]) -> Vec<String> {
        let mut warnings = Vec::new();
        for (name, value) in &self.values {
            let known = CORE.iter().chain(binding).find(|(known, _)| known == name);
            let place = &value.place;
            match known {
                None if WITHOUT_EFFECT.iter().any(|prefix| name.starts_with(prefix)) => {
                    warnings.push(format!("{place}: the property `{name}` has no effect here"));
                }
                None => {
                    // Without the value, which may be a password whose name is misspelt.
                    let place = place.without_value();
                    warnings.push(format!(
                        "{place}: nothing reads the property `{name}`; correct its name or remove it"
                    ));
                }
                Some((_, "true" | "false")) => {
                    if !["true", "false"].iter().any(|word| value.text.eq_ignore_ascii_case(word)) {
                        warnings.push(format!(
                            "{place}: the property `{name}` counts as false, because `{}` is not `true`",
                            value.text
                        ));
                    }
                }
                Some(_) => {}
            }
        }
        warnings
    }

    /// Returns every property of the tables with its value, in the order of names, and without passwords.
    pub fn resolved(&self, binding: &[Known]) -> Vec<(&'static str, Value)> {
        let mut resolved: Vec<_> = CORE.iter().chain(binding).collect();
        resolved.sort_unstable();
        let value = |known: &Known| {
            let mut value = self.value(std::slice::from_ref(known), known.0);
            if known.0.ends_with(".password") && !value.text.is_empty() {
                value.text = "***".to_owned();
            }
            (known.0, value)
        };
        resolved.into_iter().map(value).collect()
    }

    /// Returns the value of a property, or its default in the table.
    ///
    /// # Panics
    /// If the table does not have it.
    pub fn value(&self, table: &[Known], name: &str) -> Value {
        let known = table.iter().find(|(known, _)| *known == name);
        let (_, default) = known.unwrap_or_else(|| panic!("the table has the property {name}"));
        let default = || Value { text: (*default).to_owned(), place: Place::Default };
        self.values.get(name).cloned().unwrap_or_else(default)
    }

    /// Returns the text of a property of the core.
    pub fn text(&self, name: &str) -> String {
        self.value(CORE, name).text
    }

    /// Returns true if a property of the core is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.is_true_in(CORE, name)
    }

    /// Returns true if a property of the table is `true`.
    pub fn is_true_in(&self, table: &[Known], name: &str) -> bool {
        self.value(table, name).text.eq_ignore_ascii_case("true")
    }

    /// Returns a property of the core as a whole number of the range.
    pub fn count<T>(&self, name: &str, range: RangeInclusive<T>) -> Result<T, Wrong>
    where
        T: FromStr + PartialOrd + fmt::Display,
    {
        self.count_in(CORE, name, range)
    }

    /// Returns a property of the table as a whole number of the range.
    pub fn count_in<T>(
        &self,
        table: &[Known],
        name: &str,
        range: RangeInclusive<T>,
    ) -> Result<T, Wrong>
    where
        T: FromStr + PartialOrd + fmt::Display,
    {
        let value = self.value(table, name);
        let Value { text, place } = &value;
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            let is = match place {
                Place::Default => "is not set".to_owned(),
                _ => format!("is `{text}`"),
            };
            let why = format!("{is}; write a whole number from {least} to {most}");
            Wrong::at(place, name, &why)
        })
    }

    /// Returns a property of the core as a number of the range.
    pub fn number(&self, name: &str, range: RangeInclusive<f64>) -> Result<f64, Wrong> {
        let text = self.value(CORE, name).text;
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let least = range.start();
            let most = match range.end() {
                most if *most < f64::MAX => format!(" to {most}"),
                _ => " on".to_owned(),
            };
            self.wrong(name, &format!("is `{text}`; write a number from {least}{most}"))
        })
    }

    /// Returns the choice that a property of the core names.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, Wrong> {
        let text = self.value(CORE, name).text;
        let chosen = choices.iter().find(|(choice, _)| *choice == text);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            self.wrong(name, &format!("is `{text}`; write one of: {}", names.join(", ")))
        })
    }

    /// Returns the error of a property, of whatever table, with its place.
    pub fn wrong(&self, name: &str, why: &str) -> Wrong {
        self.contradiction(&[name], why)
    }

    /// Returns the error of properties that do not go together. It is about the first of them, at the place of the first
    /// one that was set: the others have their defaults.
    pub fn contradiction(&self, names: &[&str], why: &str) -> Wrong {
        let set = names.iter().find_map(|name| self.values.get(*name));
        let place = set.map_or(Place::Default, |value| value.place.clone());
        Wrong::at(&place, names[0], why)
    }
}

/// The lines of a file, which end with LF, CR or both.
fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = content;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.strip_prefix(b"\r\n").unwrap_or(&after[after.len().min(1)..]);
        Some(line)
    })
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c')
}

fn unindented(line: &[u8]) -> &[u8] {
    &line[line.iter().take_while(|byte| is_blank(byte)).count()..]
}

/// True if the line ends with a backslash that is not escaped itself.
fn continues(line: &[u8]) -> bool {
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Splits a line at the first `=`, `:` or blank that is not escaped.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let mut is_escaped = false;
    let end = line.iter().position(|byte| {
        let ends = !is_escaped && (is_blank(byte) || matches!(byte, b'=' | b':'));
        is_escaped = !is_escaped && *byte == b'\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = unindented(rest);
    match rest {
        [b'=' | b':', value @ ..] => (key, unindented(value)),
        value => (key, value),
    }
}

/// Returns Latin-1 text without its escapes.
fn unescaped(text: &[u8]) -> Result<String, String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            units.push(u16::from(*byte));
            continue;
        }
        let [escaped, after @ ..] = rest else { break };
        rest = after;
        units.push(match escaped {
            b't' => 0x9,
            b'n' => 0xa,
            b'r' => 0xd,
            b'f' => 0xc,
            b'u' => {
                let digits =
                    after.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
                let digits =
                    digits.ok_or("`\\u` needs four hexadecimal digits; write `\\u00e9`")?;
                rest = &after[4..];
                let digits = std::str::from_utf8(digits).expect("digits are ASCII");
                u16::from_str_radix(digits, 16).expect("four digits are 16 bits")
            }
            other => u16::from(*other),
        });
    }
    String::from_utf16(&units)
        .map_err(|_| "an escape is half a character; write both halves".to_owned())
}
