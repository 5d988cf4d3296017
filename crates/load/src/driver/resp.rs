//! A store that speaks RESP, such as Redis: commands are pipelined, and answered in their order.
//!
//! A request is one command or several that are written together, and ends with its last reply. A
//! workload may write further commands when it has seen replies: the request then goes on, as a
//! read-modify-write does. What a connection has sent when it breaks is lost, and is not sent again.

use std::collections::VecDeque;

use ::measure::Nanos;
use wire::resp::{Commands, Decoder, Value, decimal, known_error};

use super::parts::{Steps, Verdict};
use super::{
    Asked, Done, Driver, Fault, Label, Lost, Next, Opening, Outcome, Reports, Slot, Started, Token,
};

#[cfg(test)]
mod tests;

/// The reason of a connection on which the server wants a password.
pub const WANTS_PASSWORD: &str = "the server wants a password (NOAUTH)";
/// The reason of a connection that was given a password for a server without one.
pub const HAS_NO_PASSWORD: &str = "the server has no password, and was given one";
/// The reason of a connection for which the server has no room.
pub const IS_FULL: &str = "the server has as many clients as it may have (maxclients)";

/// The source of requests, and the judge of their replies.
pub trait RespWorkload {
    /// The workload's notes on a request, until it ends.
    type Request;

    /// Writes one or more commands of the next request.
    fn next(&mut self, commands: &mut Commands<'_>) -> Result<(Label, Self::Request), Fault>;

    /// Judges a reply that is no error, and may write further commands of the request.
    fn reply(
        &mut self,
        request: &mut Self::Request,
        reply: Value<'_>,
        commands: &mut Commands<'_>,
    ) -> Verdict;

    /// Handles the end of a part of a request: its commands so far are answered, and none was written
    /// since. May report steps, and write the commands of the next part.
    fn answered(
        &mut self,
        _request: &mut Self::Request,
        _verdict: Verdict,
        _steps: &mut Steps<'_>,
        _commands: &mut Commands<'_>,
    ) {
    }

    /// Returns the pause after which a request that failed is sent again; `None` if it has ended.
    fn retries(&mut self, _request: &mut Self::Request, _outcome: Outcome) -> Option<Nanos> {
        None
    }

    /// Writes the commands of a request that is sent again.
    fn again(&mut self, _request: &mut Self::Request, _commands: &mut Commands<'_>) {
        unreachable!("this workload repeats no request");
    }

    /// Handles the end of a request, answered or not.
    fn ended(&mut self, _request: Self::Request, _outcome: Outcome) {}

    /// Handles the end of the next request, which is never sent, and returns its label.
    fn unsent(&mut self) -> Label {
        Label::NONE
    }

    /// True if there is no further request.
    fn has_ended(&self) -> bool {
        false
    }
}

/// The terms of the connections.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The most requests of a connection that are not answered.
    pub pipeline: usize,
    pub login: Login,
}

/// The login of a connection, before its first request.
#[derive(Clone, Default)]
pub struct Login {
    /// The user that the password is of; the store's default one if absent.
    pub user: Option<String>,
    pub password: Option<String>,
    /// The number of the database; 0 is selected without a word.
    pub database: u32,
}

impl std::fmt::Debug for Login {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Login { user, password, database } = self;
        let has_password = password.is_some();
        f.debug_struct("Login")
            .field("user", user)
            .field("has_password", &has_password)
            .field("database", database)
            .finish()
    }
}

impl Login {
    fn write(&self, commands: &mut Commands<'_>) {
        match &self.password {
            // A server that wants a password says so to a short command; after a long one it only closes the
            // connection.
            None => commands.begin(b"PING", 1),
            Some(password) => self.prove(password, commands),
        }
        if self.database != 0 {
            commands.begin(b"SELECT", 2);
            commands.word(decimal(self.database.into(), &mut [0; 20]));
        }
    }

    fn prove(&self, password: &str, commands: &mut Commands<'_>) {
        commands.begin(b"AUTH", 2 + usize::from(self.user.is_some()));
        if let Some(user) = &self.user {
            commands.word(user.as_bytes());
        }
        commands.word(password.as_bytes());
    }

    /// Explains the error that answers the login; `None` if requests may be answered all the same. `left` is
    /// the number of replies that are still to come, with this one.
    fn refused(&self, error: &'static str, left: u32) -> Option<&'static str> {
        let is_ping = self.password.is_none() && left == 1 + u32::from(self.database != 0);
        match error {
            "NOAUTH" => Some(WANTS_PASSWORD),
            "LOADING" => Some("the server still loads its data (LOADING)"),
            // Both are no answers to a command: the server says so to every connection, and closes it.
            "DENIED" => Some("the server is in protected mode, and refuses this address (DENIED)"),
            _ if error.starts_with("ERR max number of clients") => Some(IS_FULL),
            // A user may be permitted to do what the requests need, and no PING.
            _ if is_ping => None,
            "WRONGPASS" | "ERR invalid password" => {
                Some("the server refuses the password (WRONGPASS)")
            }
            "NOPERM" => Some("the server does not permit this user to do so (NOPERM)"),
            _ if error.contains("AUTH") => Some(HAS_NO_PASSWORD),
            _ if error.starts_with("ERR DB index") => {
                Some("the server has no database with this number")
            }
            _ => Some("the server refuses AUTH or SELECT"),
        }
    }
}

/// The driver of a store that speaks RESP.
#[derive(Debug)]
pub struct Resp<W: RespWorkload> {
    workload: W,
    terms: Terms,
    lines: Vec<Line<W::Request>>,
    /// The requests that have failed and are sent again after their pause.
    returned: Vec<Returned<W::Request>>,
}

#[derive(Debug)]
struct Returned<R> {
    number: u64,
    label: Label,
    request: R,
}

/// One connection.
#[derive(Debug)]
struct Line<R> {
    decoder: Decoder,
    /// The replies to the login that have not arrived.
    greeting: u32,
    /// The parts of requests that are not answered, in order: a request has at most one here.
    sent: VecDeque<Sent<R>>,
}

#[derive(Debug)]
struct Sent<R> {
    token: Token,
    number: u64,
    label: Label,
    request: R,
    /// The replies that have not arrived.
    left: u32,
    has_begun: bool,
    /// The verdict on the part that is being answered.
    part: Verdict,
    /// The verdict on the parts before.
    before: Verdict,
}

impl<W: RespWorkload> Resp<W> {
    pub fn new(slots: usize, terms: Terms, workload: W) -> Resp<W> {
        let lines = (0..slots).map(|_| Line {
            decoder: Decoder::default(),
            greeting: 0,
            sent: VecDeque::with_capacity(terms.pipeline),
        });
        Resp { workload, lines: lines.collect(), returned: Vec::new(), terms }
    }

    /// Returns a request that failed before, if there is one with this number.
    fn returned(&mut self, number: u64) -> Option<Returned<W::Request>> {
        let place = self.returned.iter().position(|returned| returned.number == number)?;
        Some(self.returned.swap_remove(place))
    }
}

/// Ends a request, or has it sent again.
fn end<W: RespWorkload>(
    workload: &mut W,
    sent: Sent<W::Request>,
    Verdict { outcome, why }: Verdict,
    returned: &mut Vec<Returned<W::Request>>,
    reports: &mut Reports,
) {
    let Sent { token, number, label, mut request, .. } = sent;
    if let Some(pause) = workload.retries(&mut request, outcome) {
        Steps::new(token, &mut reports.steps).ended(label, outcome);
        reports.later.push((token, pause));
        returned.push(Returned { number, label, request });
        return;
    }
    workload.ended(request, outcome);
    reports.done.push(done(token, outcome, why));
}

impl<W: RespWorkload> Driver for Resp<W> {
    fn room(&self, slot: Slot) -> usize {
        let sent = self.lines[slot.0 as usize].sent.len();
        match self.workload.has_ended() && self.returned.is_empty() {
            true => 0,
            false => self.terms.pipeline.saturating_sub(sent),
        }
    }

    fn opened(&mut self, slot: Slot, _opening: Opening<'_>, reports: &mut Reports) -> Next {
        let mut commands = Commands::new(&mut reports.wire);
        self.terms.login.write(&mut commands);
        self.lines[slot.0 as usize].greeting = commands.count();
        Next::Greeting(None)
    }

    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault> {
        let Asked { token, number, .. } = asked;
        let returned = self.returned(number);
        let mut commands = Commands::new(&mut reports.wire);
        let (label, request) = match returned {
            Some(Returned { label, mut request, .. }) => {
                self.workload.again(&mut request, &mut commands);
                (label, request)
            }
            None => self.workload.next(&mut commands)?,
        };
        let left = commands.count();
        assert!(0 < left, "a request has a command");
        self.lines[slot.0 as usize].sent.push_back(Sent {
            token,
            number,
            label,
            request,
            left,
            has_begun: false,
            part: Verdict::OK,
            before: Verdict::OK,
        });
        Ok(label.into())
    }

    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        let Resp { workload, terms, lines, returned } = self;
        let Line { decoder, greeting, sent } = &mut lines[slot.0 as usize];
        let mut next = if *greeting == 0 { Next::Continue } else { Next::Greeting(None) };
        let mut rest = bytes;
        loop {
            let reply = match decoder.next(&mut rest) {
                Ok(Some(reply)) => reply,
                Ok(None) => return Ok(next),
                Err(malformed) => return Ok(Next::Fail(Outcome::Malformed, malformed.as_str())),
            };
            if 0 < *greeting {
                if let Value::Error(error) = reply
                    && let Some(why) = terms.login.refused(known_error(error), *greeting)
                {
                    return Ok(Next::Fail(Outcome::Connect, why));
                }
                *greeting -= 1;
                next = if *greeting == 0 { Next::Ready(None) } else { next };
                continue;
            }
            let Some(first) = sent.front_mut() else { return Ok(Next::Unasked) };
            if !std::mem::replace(&mut first.has_begun, true) {
                reports.begun.push(first.token);
            }
            let mut commands = Commands::new(&mut reports.wire);
            let verdict = match reply.error() {
                Some(error) => Verdict::status(known_error(error)),
                None => workload.reply(&mut first.request, reply, &mut commands),
            };
            first.part = first.part.or_else(verdict);
            first.left -= 1;
            if 0 < first.left {
                // They would be answered after the commands of the requests behind.
                assert_eq!(commands.count(), 0, "further commands follow the last reply");
                continue;
            }
            let mut ended = sent.pop_front().expect("it is there");
            if commands.count() == 0 {
                let mut steps = Steps::new(ended.token, &mut reports.steps);
                let verdict = std::mem::replace(&mut ended.part, Verdict::OK);
                ended.before = ended.before.or_else(verdict);
                workload.answered(&mut ended.request, verdict, &mut steps, &mut commands);
            }
            ended.left = commands.count();
            if 0 < ended.left {
                sent.push_back(ended);
                continue;
            }
            let verdict = ended.before;
            end(workload, ended, verdict, returned, reports);
        }
    }

    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let Resp { workload, lines, returned, .. } = self;
        let line = &mut lines[slot.0 as usize];
        (line.decoder, line.greeting) = (Decoder::default(), 0);
        for sent in line.sent.drain(..) {
            // A server that closes a connection says why in the reply before.
            let said = sent.before.or_else(sent.part);
            let verdict = said.or_else(Verdict::lost(lost, sent.token));
            end(workload, sent, verdict, returned, reports);
        }
        Ok(())
    }

    fn unsent(&mut self, number: u64, _label: Label) -> Started {
        let Some(Returned { label, request, .. }) = self.returned(number) else {
            return self.workload.unsent().into();
        };
        self.workload.ended(request, Outcome::Connect);
        label.into()
    }

    /// The next request may still be leaving when the reply to the one before arrives.
    fn outlives_early_responses(&self) -> bool {
        true
    }

    fn has_stopped(&self) -> bool {
        let is_drained = self.returned.is_empty();
        let is_over = self.workload.has_ended() && is_drained;
        is_over && self.lines.iter().all(|line| line.sent.is_empty())
    }
}

fn done(token: Token, outcome: Outcome, why: &'static str) -> Done {
    let answers = u32::from(outcome.is_answer());
    Done { token, outcome, status: 0, answers, bad: 0, bytes: 0, why }
}
