//! The binding to the key-value store: a record is one value, with a slot of fixed size for each field.

use std::sync::Arc;

use load::driver::Fault;
use load::driver::kv::shared::{Batch, Operations, Then};
use load::driver::parts::{Steps, Verdict};
use load::{Label, Node, Outcome};
use measure::Nanos;
use wire::kv::{Answer, Item, MOST_KEY_BYTES, MOST_SCANNED, MOST_VALUE_BYTES, Opcode, Status};

use crate::binding::{ABSENT, Source, WRONG, label, read_ended};
use crate::keys::owner;
use crate::properties::{Known, Properties, Wrong};
use crate::settings::Retries;
use crate::stream::Stream;
use crate::workload::{Kind, Operation, Workload};

#[cfg(test)]
mod tests;

/// The properties of the binding.
pub const PROPERTIES: &[Known] = &[
    ("kv.keys", "name"),
    ("kv.linger", "100us"),
    ("kv.rmw", "pair"),
    ("kv.servers", ""),
    ("kv.tokenfile", ""),
];

/// The longest time of an operation of YCSB's phases.
pub const TIMEOUT: Nanos = Nanos::from_secs(10);

/// The bytes before the value of a field, which are its length.
const LENGTH: usize = 2;
/// The bytes before each record in the result of a scan: the lengths of its key and value.
const HEAD: usize = 8;

/// The form of what is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    pub keys: Keys,
    /// The longest time that an operation waits for others.
    pub linger: Nanos,
}

/// The form of keys.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Keys {
    /// The names of the original.
    Names,
    /// Numbers of 8 bytes, as guide 5's client has them.
    Integers,
}

/// Returns the servers that the properties name, each with its port or without one.
pub fn servers(properties: &Properties) -> Result<Vec<String>, Wrong> {
    let value = properties.value(PROPERTIES, "kv.servers");
    let each = value.text.split(',').map(|server| server.trim().to_owned());
    let servers: Vec<String> = each.collect();
    if servers.iter().any(String::is_empty) {
        let why = "names no server; write -p kv.servers=HOST:PORT, several separated by commas";
        return Err(properties.wrong("kv.servers", why));
    }
    Ok(servers)
}

/// Returns the path of the file with the token of the servers, if the properties name one.
pub fn token_file(properties: &Properties) -> Option<String> {
    let path = properties.value(PROPERTIES, "kv.tokenfile").text;
    Some(path.to_string()).filter(|path| !path.is_empty())
}

impl Settings {
    /// Reads the properties, and checks that the store can do what the workload asks for, with operations that fail
    /// after `timeout`.
    pub fn of(
        properties: &Properties,
        workload: &Workload,
        timeout: Nanos,
    ) -> Result<Settings, Wrong> {
        let value = |name| properties.value(PROPERTIES, name);
        let wrong = |name, why: &str| properties.wrong(name, why);
        let keys = match value("kv.keys").text.trim() {
            "name" => Keys::Names,
            "integer" => Keys::Integers,
            _ => return Err(wrong("kv.keys", "is not a form of keys; write name or integer")),
        };
        let linger = value("kv.linger").text.trim().parse::<Nanos>();
        let linger =
            linger.map_err(|_| wrong("kv.linger", "is not a time; write for example 100us"))?;
        // That there is no time at all is refused with its own words.
        if Nanos::ZERO < timeout && timeout <= linger {
            let why = format!(
                "is {}, and an operation fails after {}; write a shorter time, such as 100us",
                linger.written(),
                timeout.in_words()
            );
            return Err(wrong("kv.linger", &why));
        }
        if value("kv.rmw").text.trim() != "pair" {
            let why = "is not supported: records have no number to add to; write pair, or use \
                       `benchwright ycsb bench --mix rmw`";
            return Err(wrong("kv.rmw", why));
        }
        check(properties, workload)?;
        Ok(Settings { keys, linger })
    }
}

/// Checks that the store can do what the workload asks for.
fn check(properties: &Properties, workload: &Workload) -> Result<(), Wrong> {
    if workload.has(Kind::Scan) && MOST_SCANNED < workload.scan_lengths.most() {
        return Err(
            properties.wrong("maxscanlength", "is over 10000, the longest scan of this store")
        );
    }
    let length = workload.field_lengths.most();
    if u64::from(u16::MAX) < length.into() {
        let names = ["fieldlength", "fieldlengthhistogram"];
        let why = "is over 65535, the longest field of this store";
        return Err(properties.contradiction(&names, why));
    }
    if MOST_VALUE_BYTES < slot(workload) * usize::from(workload.fields) {
        let why = "makes records over 1 MiB, the longest value of this store; use fewer or shorter fields";
        return Err(properties.contradiction(&["fieldcount", "fieldlength"], why));
    }
    Ok(())
}

/// The bytes of a field in a record.
fn slot(workload: &Workload) -> usize {
    LENGTH + workload.field_lengths.most() as usize
}

/// Returns the number of records in the result of a scan, and the last key; `None` if it is none.
fn scanned(mut bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (mut count, mut last) = (0, &[][..]);
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let key = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let value = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        last = rest.get(..key)?;
        bytes = bytes.get((HEAD + key + value).next_multiple_of(8)..)?;
        count += 1;
    }
    Some((count, last))
}

/// The operations of one shard.
#[derive(Debug)]
pub struct Kv {
    source: Source,
    workload: Arc<Workload>,
    keys: Keys,
    servers: u16,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// An operation in progress.
#[derive(Clone, Debug)]
pub struct Request {
    operation: Operation,
    /// True if its next operation, or the one that is awaited, writes.
    writes: bool,
    /// The records that a scan still wants.
    wanted: u32,
    /// The number of servers that it has gone on to.
    hops: u16,
    /// The last key of its part before this one, on the same server.
    behind: Option<Box<[u8]>>,
    /// The number of times that it was repeated.
    attempts: u32,
}

impl Request {
    fn new(operation: Operation) -> Request {
        let writes = matches!(operation.kind, Kind::Update | Kind::Insert);
        let (wanted, hops, behind, attempts) = (operation.length, 0, None, 0);
        Request { operation, writes, wanted, hops, behind, attempts }
    }
}

impl Kv {
    pub fn new(stream: Stream, keys: Keys, servers: u16, stops_on_failure: bool) -> Kv {
        let source = Source::new(stream, stops_on_failure);
        let (key, value) = (Vec::new(), Vec::new());
        Kv { workload: source.workload(), source, keys, servers, key, value }
    }

    /// Repeats inserts that fail.
    #[must_use]
    pub fn with_retries(mut self, retries: Retries, seed: u64) -> Kv {
        self.source.repeat(retries, seed);
        self
    }

    fn key(&mut self, record: u64) {
        self.key.clear();
        match self.keys {
            Keys::Names => self.workload.name(record, &mut self.key),
            Keys::Integers => {
                self.key.extend_from_slice(&self.workload.key(record).to_le_bytes());
            }
        }
    }

    /// Makes the slots of the fields.
    fn slots(&mut self, record: u64, fields: std::ops::Range<u16>) {
        let slot = slot(&self.workload);
        self.value.clear();
        for field in fields {
            let begin = self.value.len();
            self.value.extend_from_slice(&[0; LENGTH]);
            self.source.stream.value(record, field, &mut self.value);
            let length = (self.value.len() - begin - LENGTH) as u16;
            self.value[begin..begin + LENGTH].copy_from_slice(&length.to_le_bytes());
            self.value.resize(begin + slot, 0);
        }
    }

    /// True if what was read has the values that belong to the record.
    fn is_intact(&mut self, operation: Operation, bytes: &[u8]) -> bool {
        let Operation { record, read, .. } = operation;
        let Kv { workload, value: scratch, .. } = self;
        let fields = read.map_or(0..workload.fields, |field| field..field + 1);
        let slot = slot(workload);
        bytes.len() == slot * fields.len()
            && fields.zip(bytes.chunks_exact(slot)).all(|(field, slot)| {
                let (length, value) = slot.split_at(LENGTH);
                let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
                value
                    .get(..length)
                    .is_some_and(|value| workload.is_intact(record, field, value, scratch))
            })
    }

    /// Counts the records of a part of a scan. What is missing is behind them, if the answer was too long for all
    /// of them, or on the server of the next hashes.
    fn scanned(&mut self, request: &mut Request, answer: Answer<'_>) -> (Verdict, Then) {
        if answer.status != Status::Ok {
            return (Verdict::status(answer.status.name()), Then::End);
        }
        let Some((count, last)) = scanned(answer.value) else {
            return (Verdict::check(WRONG), Then::End);
        };
        request.wanted = request.wanted.saturating_sub(count);
        if request.wanted == 0 {
            return (Verdict::OK, Then::End);
        }
        let longest =
            HEAD + MOST_KEY_BYTES + slot(&self.workload) * usize::from(self.workload.fields);
        if count != 0 && MOST_VALUE_BYTES < answer.value.len() + longest.next_multiple_of(8) {
            request.behind = Some(last.into());
            return (Verdict::OK, Then::GoOn);
        }
        self.key(request.operation.record);
        let next = owner(&self.key, self.servers) + request.hops + 1;
        if next == self.servers {
            return (Verdict::OK, Then::End);
        }
        (request.hops, request.behind) = (request.hops + 1, None);
        (Verdict::OK, Then::GoTo(Node(next.into())))
    }

    /// Judges a record that was read.
    fn found(&mut self, operation: Operation, answer: Answer<'_>) -> Verdict {
        match answer.status {
            Status::Ok if !self.workload.data_integrity => Verdict::OK,
            Status::Ok if self.is_intact(operation, answer.value) => Verdict::OK,
            Status::Ok => Verdict::check(WRONG),
            Status::NotFound => Verdict::status(ABSENT),
            status => Verdict::status(status.name()),
        }
    }
}

impl Operations for Kv {
    type Request = Request;

    fn next(&mut self) -> Result<(Label, Request), Fault> {
        let operation = self.source.next()?;
        Ok((label(operation.kind), Request::new(operation)))
    }

    fn node(&mut self, request: &Request) -> Node {
        self.key(request.operation.record);
        Node(owner(&self.key, self.servers).into())
    }

    fn write(&mut self, request: &Request, batch: &mut Batch<'_>) {
        let Request { operation: Operation { kind, record, read, write, .. }, writes, .. } =
            *request;
        self.key(record);
        if kind == Kind::Scan {
            let (key, offset) =
                request.behind.as_deref().map_or((&self.key[..], 0), |key| (key, 1));
            let (opcode, length) = (Opcode::Scan, request.wanted);
            return batch.push(&Item { opcode, offset, length, key, value: &[] });
        }
        let slot = slot(&self.workload);
        let offset = |field: u16| (usize::from(field) * slot) as u32;
        self.value.clear();
        let (opcode, offset, length) = match (writes, read, write) {
            (false, None, _) => (Opcode::Read, 0, 0),
            (false, Some(field), _) => (Opcode::ReadAt, offset(field), slot as u32),
            (true, _, Some(field)) if kind != Kind::Insert => {
                self.slots(record, field..field + 1);
                (Opcode::WriteAt, offset(field), slot as u32)
            }
            (true, ..) => {
                self.slots(record, 0..self.workload.fields);
                (Opcode::Upsert, 0, 0)
            }
        };
        batch.push(&Item { opcode, offset, length, key: &self.key, value: &self.value });
    }

    fn answered(
        &mut self,
        request: &mut Request,
        answer: Answer<'_>,
        steps: &mut Steps<'_>,
    ) -> (Verdict, Then) {
        let Request { operation, writes, .. } = *request;
        if operation.kind == Kind::Scan {
            return self.scanned(request, answer);
        }
        let is_modified = operation.kind == Kind::ReadModifyWrite;
        if writes {
            let verdict = match answer.status {
                Status::Ok => Verdict::OK,
                status => Verdict::status(status.name()),
            };
            if is_modified {
                steps.ended(label(Kind::Update), verdict.outcome);
            }
            return (verdict, Then::End);
        }
        let verdict = self.found(operation, answer);
        read_ended(&self.workload, operation.kind, verdict, steps);
        request.writes = is_modified;
        (verdict, if is_modified { Then::GoOn } else { Then::End })
    }

    fn retries(&mut self, request: &mut Request, outcome: Outcome) -> Option<Nanos> {
        let Request { operation, attempts, .. } = request;
        self.source.retry(operation, attempts, outcome)
    }

    fn ended(&mut self, request: Request, outcome: Outcome) {
        self.source.ended(&request.operation, outcome);
    }

    fn has_ended(&self) -> bool {
        self.source.has_ended()
    }

    fn must_stop(&self) -> bool {
        self.source.has_failed()
    }
}
