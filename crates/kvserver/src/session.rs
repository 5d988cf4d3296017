//! A session of a client: its batches, their replies, and what is kept to answer repeats.

use std::collections::VecDeque;

use kv::storage::Storage;
use kv::{FixedCode, FixedOp, Op};
use wire::kv::{
    Answer, Checksums, Code, Completion, Header, Hello, Item, Items, Kind, MOST_FRAME_BYTES,
    Opcode, Opening, RequestFixed, Status, encode_answer, encode_completion, encode_reply_fixed,
    reseal,
};

use crate::bounds::{MOST_KEPT, MOST_PENDING, MOST_WAITING};
use crate::counts::{Counted, Counts};

#[cfg(test)]
mod tests;

/// The view of a server that owns all slices.
pub(crate) const VIEW: u32 = 1;
/// The most operations on values of any length that are handed to the store at once.
const GROUP: usize = 64;
/// The bytes of values from which a store returns the rest of a batch.
const REPLIES: usize = MOST_WAITING;

/// The buffers of a shard with which it executes batches.
#[derive(Debug)]
pub(crate) struct Scratch {
    ops: Vec<FixedOp>,
    statuses: Vec<u8>,
    fixed: kv::Replies,
    sized: kv::Replies,
    completions: kv::Completions,
    /// A buffer that is full from the beginning: nothing completes.
    none: kv::Completions,
    /// The longest value that was met so far: groups of operations are so small that their values
    /// do not exceed what may wait.
    longest: usize,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch {
            ops: Vec::new(),
            statuses: Vec::new(),
            // The largest batch fits, so the store always executes all of it.
            fixed: kv::Replies::new(usize::MAX),
            sized: kv::Replies::new(REPLIES),
            completions: kv::Completions::new(REPLIES),
            none: kv::Completions::new(0),
            longest: 1,
        }
    }

    /// Does the store's work with its files in a session without operations.
    pub(crate) fn work(&mut self, session: &mut kv::Session, storage: &mut dyn Storage) {
        session.poll(storage, &mut self.completions);
    }

    fn group(&self) -> usize {
        (MOST_WAITING / self.longest).clamp(1, GROUP)
    }
}

/// A session that a connection uses, or that waits for the next one.
#[derive(Debug)]
pub(crate) struct Running {
    store: kv::Session,
    /// The number of connections that have resumed it.
    pub(crate) turn: u32,
    pipeline: usize,
    pub(crate) checksums: Checksums,
    /// The position of the server in the client's list, if it has one.
    pub(crate) position: Option<(u16, u16)>,
    /// The latest batches, the oldest first.
    kept: VecDeque<Kept>,
    kept_bytes: usize,
    /// The operations whose results follow.
    pub(crate) pending: usize,
    /// The most operations of a batch so far.
    largest: usize,
    rest: Option<Rest>,
    /// It is an operator's: if it executes nothing, nobody resumes it.
    pub(crate) is_operators: bool,
}

/// A batch that was executed, with its replies.
#[derive(Debug, Default)]
struct Kept {
    serial: u64,
    count: usize,
    replies: Vec<u8>,
    /// The results of operations that were pending, without the header of their frame.
    completions: Vec<u8>,
    completed: usize,
    /// The replies were too long to be kept.
    is_gone: bool,
}

/// The part of a batch that waits.
#[derive(Debug)]
enum Rest {
    /// The replies to the part before it must leave first.
    Sized { bytes: Vec<u8>, serial: u64 },
    /// A checkpoint makes its cut.
    Fixed(Box<FixedRest>),
}

/// A batch of which a part was executed, and which has one reply.
#[derive(Debug)]
struct FixedRest {
    serial: u64,
    opcodes: Vec<u8>,
    ops: Vec<FixedOp>,
    statuses: Vec<u8>,
    values: Vec<u8>,
}

impl Running {
    pub(crate) fn new(store: kv::Session) -> Running {
        Running {
            store,
            turn: 0,
            pipeline: 1,
            checksums: Checksums::On,
            position: None,
            kept: VecDeque::new(),
            kept_bytes: 0,
            pending: 0,
            largest: 0,
            rest: None,
            is_operators: false,
        }
    }

    /// Sets what a connection has agreed upon.
    pub(crate) fn agree(&mut self, hello: &Hello) {
        self.pipeline = usize::from(hello.pipeline);
        (self.checksums, self.position) = (hello.checksums, hello.position);
    }

    pub(crate) fn id(&self) -> u64 {
        self.store.id()
    }

    /// The serial of the last operation that was executed; 0 before the first.
    pub(crate) fn executed(&self) -> u64 {
        // The store counts from 0.
        self.store.next_serial()
    }

    /// The operations that survive a crash: all up to a serial, but these.
    pub(crate) fn durable(&self) -> (u64, Vec<u64>) {
        let kv::Durable { through, except } = self.store.durable();
        // The store counts from 0.
        (through, except.into_iter().map(|serial| serial + 1).collect())
    }

    /// The bytes that it holds.
    pub(crate) fn held(&self) -> usize {
        let rest = match &self.rest {
            None => 0,
            Some(Rest::Sized { bytes, .. }) => bytes.len(),
            Some(Rest::Fixed(rest)) => {
                rest.ops.len() * size_of::<FixedOp>() + rest.statuses.len() + rest.values.len()
            }
        };
        self.kept_bytes + rest + self.store.held()
    }

    /// True if so many operations are pending that those of another batch might not have room.
    pub(crate) fn is_full(&self) -> bool {
        let bound = MOST_PENDING.saturating_sub(self.largest).max(1);
        bound <= self.pending
    }

    pub(crate) fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// Returns true if a batch is the next one, and false if it is a repeated one, whose replies were
    /// appended.
    pub(crate) fn follows(
        &self,
        header: Header,
        counts: &Counts,
        out: &mut Vec<u8>,
    ) -> Result<bool, Code> {
        let executed = self.executed();
        if header.serial == executed + 1 {
            return Ok(true);
        }
        let last = header.serial.checked_add(header.count as u64 - 1).ok_or(Code::Serial)?;
        if header.serial == 0 || executed < last {
            return Err(Code::Serial);
        }
        let is_same = |kept: &&Kept| (kept.serial, kept.count) == (header.serial, header.count);
        let kept = self.kept.iter().find(is_same).filter(|kept| !kept.is_gone);
        let kept = kept.ok_or(Code::ReplyGone)?;
        counts.count(Counted::Repeated, 1);
        self.repeat(kept, out);
        Ok(false)
    }

    fn repeat(&self, kept: &Kept, out: &mut Vec<u8>) {
        let mut start = out.len();
        out.extend_from_slice(&kept.replies);
        while start < out.len() {
            let length = out[start + 4..start + 8].try_into().expect("four bytes");
            let end = start + u32::from_le_bytes(length) as usize;
            reseal(&mut out[start..end], self.checksums);
            start = end;
        }
        if 0 < kept.completed {
            let frame = Opening::begin(Kind::Completions, VIEW, 0, self.checksums, out);
            out.extend_from_slice(&kept.completions);
            frame.finish(kept.completed, out);
        }
    }

    /// Executes a batch of operations on keys and values of eight bytes, and appends its reply.
    pub(crate) fn execute_fixed(
        &mut self,
        header: Header,
        batch: &RequestFixed<'_>,
        scratch: &mut Scratch,
        counts: &Counts,
        out: &mut Vec<u8>,
    ) {
        let Scratch { ops, statuses, fixed, .. } = scratch;
        let mut arguments = batch.values();
        ops.clear();
        ops.extend(batch.opcodes.iter().zip(batch.keys()).map(|(&opcode, key)| {
            let code = fixed_code(opcode);
            let has_argument = matches!(code, FixedCode::Upsert | FixedCode::Add);
            let argument = if has_argument { arguments.next() } else { None };
            FixedOp { code, key, argument: argument.unwrap_or(0) }
        }));
        let executed = self.store.batch_fixed(ops, fixed);
        statuses.clear();
        statuses.extend(fixed.statuses().iter().map(|status| *status as u8));
        self.count(&batch.opcodes[..executed], statuses, counts);
        self.begin_to_keep(header.serial, header.count);
        if executed < ops.len() {
            self.rest = Some(Rest::Fixed(Box::new(FixedRest {
                serial: header.serial,
                opcodes: batch.opcodes[executed..].to_vec(),
                ops: ops[executed..].to_vec(),
                statuses: statuses.clone(),
                values: fixed.bytes().to_vec(),
            })));
            return;
        }
        self.reply_fixed(header.serial, statuses, fixed.bytes(), out);
    }

    /// Goes on with a batch of which a part was executed before the cut of a checkpoint.
    fn go_on_fixed(
        &mut self,
        mut rest: Box<FixedRest>,
        scratch: &mut Scratch,
        counts: &Counts,
        out: &mut Vec<u8>,
    ) {
        let executed = self.store.batch_fixed(&rest.ops, &mut scratch.fixed);
        let first = rest.statuses.len();
        rest.statuses.extend(scratch.fixed.statuses().iter().map(|status| *status as u8));
        rest.values.extend_from_slice(scratch.fixed.bytes());
        self.count(&rest.opcodes[..executed], &rest.statuses[first..], counts);
        rest.opcodes.drain(..executed);
        rest.ops.drain(..executed);
        if !rest.ops.is_empty() {
            self.rest = Some(Rest::Fixed(rest));
            return;
        }
        self.reply_fixed(rest.serial, &rest.statuses, &rest.values, out);
    }

    /// Counts operations that were executed, and those of them whose results follow.
    fn count(&mut self, opcodes: &[u8], statuses: &[u8], counts: &Counts) {
        counts.count_batch(opcodes, statuses);
        self.pending += statuses.iter().filter(|status| **status == Status::Pending as u8).count();
    }

    /// Appends the reply to a whole batch, and keeps it.
    fn reply_fixed(&mut self, serial: u64, statuses: &[u8], values: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        encode_reply_fixed((VIEW, serial), statuses, values, self.checksums, out);
        self.keep(&out[start..]);
    }

    /// Executes a batch of operations on values of any length, and appends its replies, as far as
    /// they may wait.
    pub(crate) fn execute(
        &mut self,
        header: Header,
        items: Items<'_>,
        scratch: &mut Scratch,
        counts: &Counts,
        out: &mut Vec<u8>,
    ) {
        self.begin_to_keep(header.serial, header.count);
        self.execute_items(items, header.serial, scratch, counts, out);
    }

    /// Executes the operations from a serial on, as far as their replies may wait.
    fn execute_items(
        &mut self,
        mut items: Items<'_>,
        serial: u64,
        scratch: &mut Scratch,
        counts: &Counts,
        out: &mut Vec<u8>,
    ) {
        self.run(&mut items, serial, MOST_WAITING, scratch, counts, out);
        if !items.rest().is_empty() {
            let bytes = items.rest().to_vec();
            self.rest = Some(Rest::Sized { bytes, serial: self.executed() + 1 });
        }
    }

    /// Goes on with a batch of which a part had to wait.
    pub(crate) fn go_on(&mut self, scratch: &mut Scratch, counts: &Counts, out: &mut Vec<u8>) {
        match self.rest.take() {
            None => {}
            Some(Rest::Fixed(rest)) => self.go_on_fixed(rest, scratch, counts, out),
            Some(Rest::Sized { bytes, serial }) => {
                self.execute_items(Items::rest_of(&bytes), serial, scratch, counts, out);
            }
        }
    }

    /// Goes on with a batch of a connection that is gone: a batch is executed as a whole or not at
    /// all. Its replies are kept as far as they go. Call it until nothing is left: the cut of a
    /// checkpoint may stop it.
    pub(crate) fn finish_rest(&mut self, scratch: &mut Scratch, counts: &Counts) {
        let mut out = Vec::new();
        let mut executed = None;
        while self.has_rest() && executed != Some(self.executed()) {
            executed = Some(self.executed());
            out.clear();
            self.go_on(scratch, counts, &mut out);
        }
    }

    /// Executes operations until none is left, or until the replies have this many bytes.
    fn run(
        &mut self,
        items: &mut Items<'_>,
        serial: u64,
        limit: usize,
        scratch: &mut Scratch,
        counts: &Counts,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let mut reply = Reply::begin(serial, self.checksums);
        while out.len() - start < limit {
            let before = *items;
            let mut opcodes = [Opcode::Read; GROUP];
            let mut ops = [Op::Read { key: &[] }; GROUP];
            let mut taken = 0;
            for item in items.by_ref().take(scratch.group()) {
                scratch.longest = scratch.longest.max(item.value.len());
                (opcodes[taken], ops[taken]) = (item.opcode, op_of(&item));
                taken += 1;
            }
            if taken == 0 {
                break;
            }
            let executed = self.store.batch(&ops[..taken], &mut scratch.sized);
            for (index, status) in scratch.sized.statuses().iter().enumerate() {
                let status = Status::of(*status as u8).expect("the numbers are those of the wire");
                let value = scratch.sized.value(index);
                counts.count_one(opcodes[index], status);
                scratch.longest = scratch.longest.max(value.len());
                self.pending += usize::from(status == Status::Pending);
                reply.push(&Answer { status, value }, out);
            }
            if executed < taken {
                *items = before;
                items.by_ref().take(executed).for_each(drop);
            }
            if executed == 0 {
                // A checkpoint makes its cut.
                break;
            }
        }
        reply.finish(out);
        self.keep(&out[start..]);
    }

    /// Makes room for the replies to a batch, and forgets those to the oldest.
    fn begin_to_keep(&mut self, serial: u64, count: usize) {
        self.largest = self.largest.max(count);
        let mut new = Kept::default();
        while self.pipeline <= self.kept.len() {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.kept_bytes -= oldest.replies.len() + oldest.completions.len();
            // Its memory is used again.
            new = oldest;
        }
        let Kept { mut replies, mut completions, .. } = new;
        replies.clear();
        completions.clear();
        self.kept.push_back(Kept {
            serial,
            count,
            replies,
            completions,
            completed: 0,
            is_gone: false,
        });
    }

    /// Keeps replies to the latest batch, and forgets older ones if they are too long together.
    fn keep(&mut self, replies: &[u8]) {
        let Some(newest) = self.kept.back_mut().filter(|newest| !newest.is_gone) else { return };
        if MOST_KEPT < newest.replies.len() + replies.len() {
            self.kept_bytes -= newest.replies.len();
            newest.replies = Vec::new();
            newest.is_gone = true;
            return;
        }
        newest.replies.extend_from_slice(replies);
        self.kept_bytes += replies.len();
        while MOST_KEPT < self.kept_bytes && 1 < self.kept.len() {
            let oldest = self.kept.pop_front().expect("there are several");
            self.kept_bytes -= oldest.replies.len() + oldest.completions.len();
        }
    }

    /// Takes part in the store's work, but completes nothing: the results that wait already are not read.
    pub(crate) fn poll_only(&mut self, storage: &mut dyn Storage, scratch: &mut Scratch) {
        self.store.poll(storage, &mut scratch.none);
    }

    /// Completes pending operations, and appends their results.
    pub(crate) fn poll(
        &mut self,
        storage: &mut dyn Storage,
        scratch: &mut Scratch,
        counts: &Counts,
        out: &mut Vec<u8>,
    ) {
        self.store.poll(storage, &mut scratch.completions);
        let mut frame: Option<(Opening, usize)> = None;
        for (serial, status, value) in scratch.completions.iter() {
            let status = Status::of(status as u8).expect("the numbers are those of the wire");
            let answer = Answer { status, value };
            let completion = Completion { serial: serial + 1, answer };
            let needed = completion.bytes();
            if let Some((opening, number)) = frame.take() {
                match opening.length(out) + needed <= MOST_FRAME_BYTES {
                    true => frame = Some((opening, number)),
                    false => opening.finish(number, out),
                }
            }
            let begin =
                |out: &mut _| (Opening::begin(Kind::Completions, VIEW, 0, self.checksums, out), 0);
            let (opening, number) = frame.take().unwrap_or_else(|| begin(out));
            let start = out.len();
            encode_completion(&completion, out);
            frame = Some((opening, number + 1));
            counts.completed();
            self.pending -= 1;
            keep_completion(&mut self.kept, &mut self.kept_bytes, serial + 1, &out[start..]);
        }
        if let Some((opening, number)) = frame {
            opening.finish(number, out);
        }
    }
}

/// Keeps the result of an operation with its batch, if that is kept.
fn keep_completion(kept: &mut VecDeque<Kept>, bytes: &mut usize, serial: u64, result: &[u8]) {
    let has = |kept: &&mut Kept| {
        kept.serial <= serial && serial - kept.serial < kept.count as u64 && !kept.is_gone
    };
    let Some(batch) = kept.iter_mut().find(has) else { return };
    if MOST_KEPT < *bytes + result.len() {
        *bytes -= batch.replies.len() + batch.completions.len();
        *batch =
            Kept { is_gone: true, serial: batch.serial, count: batch.count, ..Kept::default() };
        return;
    }
    batch.completions.extend_from_slice(result);
    batch.completed += 1;
    *bytes += result.len();
}

/// The REPLY frames of a batch, as many as its values need.
struct Reply {
    frame: Option<Opening>,
    /// The number of results in the frame.
    count: usize,
    /// The serial of the next result.
    next: u64,
    checksums: Checksums,
}

impl Reply {
    fn begin(serial: u64, checksums: Checksums) -> Reply {
        Reply { frame: None, count: 0, next: serial, checksums }
    }

    fn push(&mut self, answer: &Answer<'_>, out: &mut Vec<u8>) {
        let is_full = |frame: &Opening| MOST_FRAME_BYTES < frame.length(out) + answer.bytes();
        if self.frame.as_ref().is_some_and(is_full) {
            self.finish(out);
        }
        let (next, checksums) = (self.next, self.checksums);
        self.frame.get_or_insert_with(|| Opening::begin(Kind::Reply, VIEW, next, checksums, out));
        encode_answer(answer, out);
        self.count += 1;
        self.next += 1;
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(frame) = self.frame.take() {
            frame.finish(std::mem::take(&mut self.count), out);
        }
    }
}

fn fixed_code(opcode: u8) -> FixedCode {
    match opcode {
        1 => FixedCode::Read,
        2 => FixedCode::Upsert,
        3 => FixedCode::Add,
        4 => FixedCode::Delete,
        _ => unreachable!("the frame was checked"),
    }
}

fn op_of<'a>(item: &Item<'a>) -> Op<'a> {
    let Item { opcode, offset, length, key, value } = *item;
    match opcode {
        Opcode::Read => Op::Read { key },
        Opcode::Upsert => Op::Upsert { key, value },
        Opcode::Add => {
            let delta = value.try_into().expect("the frame was checked");
            Op::Add { key, delta: i64::from_le_bytes(delta) }
        }
        Opcode::Delete => Op::Delete { key },
        Opcode::ReadAt => Op::ReadAt { key, offset, length },
        Opcode::WriteAt => Op::WriteAt { key, offset, bytes: value },
        Opcode::Scan => Op::Scan { key, is_behind: offset != 0, count: length },
    }
}
