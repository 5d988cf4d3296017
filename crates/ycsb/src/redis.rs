//! The binding to Redis: a record is a hash, and the sorted set `_indices` has the names of all records by
//! their hash codes, as the original keeps them.

use std::sync::Arc;

use load::driver::Fault;
use load::driver::parts::{Steps, Verdict};
use load::driver::resp::RespWorkload;
use load::{Label, Outcome};
use measure::Nanos;
use wire::resp::{Commands, Elements, Value, decimal};

use crate::binding::{Source, WRONG, label, read_ended};
use crate::properties::{Known, Properties, Wrong};
use crate::settings::Retries;
use crate::stream::Stream;
use crate::workload::{Kind, Operation, Workload, hash_code};

#[cfg(test)]
mod tests;

/// The properties of the binding.
pub const PROPERTIES: &[Known] = &[
    ("redis.cluster", "false"),
    ("redis.host", "127.0.0.1"),
    ("redis.password", ""),
    ("redis.port", "6379"),
    ("redis.timeout", "2000"),
];

/// The server that the properties name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    pub host: String,
    pub port: u16,
    pub password: Option<String>,
    /// The longest time of an operation.
    pub timeout: Nanos,
}

impl Server {
    pub fn of(properties: &Properties) -> Result<Server, Wrong> {
        let value = |name| properties.value(PROPERTIES, name);
        let wrong = |name, why: &str| properties.wrong(name, why);
        if value("redis.cluster").text.eq_ignore_ascii_case("true") {
            let why = "is true, and this client does not follow a cluster; remove it, and name one server";
            return Err(wrong("redis.cluster", why));
        }
        let port = value("redis.port").text.trim().parse().ok().filter(|port| *port != 0);
        let port = port.ok_or_else(|| {
            wrong("redis.port", "is not a port; write a number from 1 to 65535, such as 6379")
        })?;
        let timeout = value("redis.timeout").text.trim().parse().ok();
        let timeout = timeout.filter(|timeout| (1..=86_400_000).contains(timeout));
        let timeout = timeout.ok_or_else(|| {
            wrong("redis.timeout", "is not a time; write milliseconds from 1 to 86400000")
        })?;
        Ok(Server {
            host: value("redis.host").text.trim().to_owned(),
            port,
            password: Some(value("redis.password").text).filter(|password| !password.is_empty()),
            timeout: Nanos::from_millis(timeout),
        })
    }
}

/// The sorted set of all records.
const INDEX: &[u8] = b"_indices";

/// The requests of one shard.
#[derive(Debug)]
pub struct Redis {
    source: Source,
    workload: Arc<Workload>,
    /// The names of all fields.
    fields: Vec<Vec<u8>>,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// An operation in progress.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    operation: Operation,
    part: Part,
    /// The number of times that it was repeated.
    attempts: u32,
}

/// The part of an operation whose replies are awaited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    Read,
    Write,
    /// The names of the records of a scan.
    Names,
    /// The records of a scan.
    Records,
}

impl Redis {
    pub fn new(stream: Stream, stops_on_failure: bool) -> Redis {
        let source = Source::new(stream, stops_on_failure);
        let workload = source.workload();
        let field = |field| {
            let mut name = Vec::new();
            workload.field_name(field, &mut name);
            name
        };
        let fields = (0..workload.fields).map(field).collect();
        Redis { source, workload, fields, name: Vec::new(), value: Vec::new() }
    }

    /// Repeats inserts that fail.
    #[must_use]
    pub fn with_retries(mut self, retries: Retries, seed: u64) -> Redis {
        self.source.repeat(retries, seed);
        self
    }

    /// Makes the name of a record.
    fn name(&mut self, record: u64) {
        self.name.clear();
        self.workload.name(record, &mut self.name);
    }

    /// The fields that an operation reads by their names; `None` if it reads all without naming one.
    fn named(&self, operation: &Operation) -> Option<&[Vec<u8>]> {
        match operation.read {
            Some(field) => Some(std::slice::from_ref(&self.fields[usize::from(field)])),
            // As the original, which lists all fields only for a read.
            None => (operation.kind == Kind::Read && self.workload.names_all_fields)
                .then_some(&self.fields),
        }
    }

    /// Writes the command that sets one field or all.
    fn write(&mut self, record: u64, field: Option<u16>, commands: &mut Commands<'_>) {
        self.name(record);
        let fields = field.map_or(0..self.workload.fields, |field| field..field + 1);
        commands.begin(b"HMSET", 2 + 2 * fields.len());
        commands.word(&self.name);
        for field in fields {
            self.value.clear();
            self.source.stream.value(record, field, &mut self.value);
            commands.word(&self.fields[usize::from(field)]);
            commands.word(&self.value);
        }
    }

    /// Writes the command that enters the record with the name in `self.name` into the index.
    fn index(&self, commands: &mut Commands<'_>) {
        commands.begin(b"ZADD", 4);
        commands.word(INDEX);
        score(&self.name, commands);
        commands.word(&self.name);
    }

    /// Writes the command that finds the names of the records from the one in `self.name` on.
    fn names(&self, length: u32, commands: &mut Commands<'_>) {
        commands.begin(b"ZRANGEBYSCORE", 7);
        commands.word(INDEX);
        score(&self.name, commands);
        for word in [&b"+inf"[..], b"LIMIT", b"0"] {
            commands.word(word);
        }
        commands.word(decimal(length.into(), &mut [0; 20]));
    }

    /// Judges a record that was read.
    fn found(&mut self, operation: Operation, reply: Value<'_>) -> Verdict {
        let Value::Array(values) = reply else { return ANOTHER_TYPE };
        match () {
            () if is_absent(values) => Verdict::status(ABSENT),
            () if self.named(&operation).is_none() && values.len() % 2 != 0 => UNPAIRED,
            () if !self.workload.data_integrity => Verdict::OK,
            () if self.is_intact(operation, values) => Verdict::OK,
            () => Verdict::check(WRONG),
        }
    }

    /// True if a record has the values that belong to it.
    fn is_intact(&mut self, operation: Operation, mut values: Elements<'_>) -> bool {
        let Operation { record, read, .. } = operation;
        let is_named = self.named(&operation).is_some();
        let Redis { workload, fields, value: scratch, .. } = self;
        let mut is_value = |field: u16, value: Option<Value<'_>>| match value {
            Some(Value::String(value)) => workload.is_intact(record, field, value, scratch),
            _ => false,
        };
        let mut wanted = read.map_or(0..workload.fields, |field| field..field + 1);
        if is_named {
            return wanted.all(|field| is_value(field, values.next()));
        }
        // Names and values by turns, in any order of the names.
        let mut seen = 0;
        while let Some(name) = values.next() {
            let Value::String(name) = name else { return false };
            let Some(field) = fields.iter().position(|field| field == name) else { return false };
            if !is_value(field as u16, values.next()) {
                return false;
            }
            seen += 1;
        }
        seen == fields.len()
    }
}

/// True if no field was found.
fn is_absent(mut values: Elements<'_>) -> bool {
    values.all(|value| value == Value::Null)
}

/// The record is not there: the original returns an error, not that it was not found.
const ABSENT: &str = "no such record";
const UNPAIRED: Verdict =
    Verdict { outcome: Outcome::Check, why: "names and values of a record that do not pair" };
const ANOTHER_TYPE: Verdict = Verdict { outcome: Outcome::Status, why: "a reply of another type" };

/// Writes the command that reads the record with a name.
fn fetch(name: &[u8], named: Option<&[Vec<u8>]>, commands: &mut Commands<'_>) {
    match named {
        None => {
            commands.begin(b"HGETALL", 2);
            commands.word(name);
        }
        Some(fields) => {
            commands.begin(b"HMGET", 2 + fields.len());
            commands.word(name);
            fields.iter().for_each(|field| commands.word(field));
        }
    }
}

/// Writes the score of a record in the index.
fn score(name: &[u8], commands: &mut Commands<'_>) {
    let hash = hash_code(0, name);
    let mut digits = [0; 20];
    let digits = decimal(hash.unsigned_abs().into(), &mut digits);
    let mut word = [b'-'; 11];
    word[1..=digits.len()].copy_from_slice(digits);
    commands.word(&word[usize::from(0 <= hash)..=digits.len()]);
}

impl RespWorkload for Redis {
    type Request = Request;

    fn next(&mut self, commands: &mut Commands<'_>) -> Result<(Label, Request), Fault> {
        let operation = self.source.next()?;
        let Operation { kind, record, length, write, .. } = operation;
        let part = match kind {
            Kind::Read | Kind::ReadModifyWrite => {
                self.name(record);
                fetch(&self.name, self.named(&operation), commands);
                Part::Read
            }
            Kind::Update => {
                self.write(record, write, commands);
                Part::Write
            }
            Kind::Insert => {
                self.write(record, None, commands);
                self.index(commands);
                Part::Write
            }
            Kind::Scan => {
                self.name(record);
                self.names(length, commands);
                Part::Names
            }
        };
        Ok((label(kind), Request { operation, part, attempts: 0 }))
    }

    fn reply(
        &mut self,
        request: &mut Request,
        reply: Value<'_>,
        commands: &mut Commands<'_>,
    ) -> Verdict {
        let Request { operation, part, .. } = request;
        match part {
            Part::Read => self.found(*operation, reply),
            Part::Write => match reply {
                Value::Status(b"OK") | Value::Integer(_) => Verdict::OK,
                _ => ANOTHER_TYPE,
            },
            Part::Names => {
                let Value::Array(names) = reply else { return ANOTHER_TYPE };
                let named = self.named(operation);
                *part = Part::Records;
                for name in names {
                    let Value::String(name) = name else { return ANOTHER_TYPE };
                    fetch(name, named, commands);
                }
                Verdict::OK
            }
            Part::Records => match reply {
                Value::Array(values) if is_absent(values) => Verdict::status(ABSENT),
                Value::Array(_) => Verdict::OK,
                _ => ANOTHER_TYPE,
            },
        }
    }

    fn answered(
        &mut self,
        request: &mut Request,
        verdict: Verdict,
        steps: &mut Steps<'_>,
        commands: &mut Commands<'_>,
    ) {
        let Request { operation: Operation { kind, record, write, .. }, part, .. } = *request;
        let is_modified = kind == Kind::ReadModifyWrite;
        if part == Part::Read {
            read_ended(&self.workload, kind, verdict, steps);
            if is_modified {
                self.write(record, write, commands);
                request.part = Part::Write;
            }
        } else if is_modified {
            steps.ended(label(Kind::Update), verdict.outcome);
        }
    }

    fn retries(&mut self, request: &mut Request, outcome: Outcome) -> Option<Nanos> {
        let Request { operation, attempts, .. } = request;
        self.source.retry(operation, attempts, outcome)
    }

    fn again(&mut self, request: &mut Request, commands: &mut Commands<'_>) {
        // Only inserts are repeated.
        self.write(request.operation.record, None, commands);
        self.index(commands);
    }

    fn ended(&mut self, request: Request, outcome: Outcome) {
        self.source.ended(&request.operation, outcome);
    }

    fn unsent(&mut self) -> Label {
        // Without an operation there is nothing to end: the fault comes with the next start.
        let Ok(operation) = self.source.next() else { return Label::NONE };
        self.source.ended(&operation, Outcome::Connect);
        label(operation.kind)
    }

    fn has_ended(&self) -> bool {
        self.source.has_ended()
    }
}
