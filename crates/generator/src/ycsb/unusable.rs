//! The reasons why a store cannot be used, and what helps against each: one list for every command that connects to
//! one.

use load::driver::kv::WANTS_TOKEN;
use load::driver::resp::{HAS_NO_PASSWORD, IS_FULL, WANTS_PASSWORD};
use load::shard::Unopened;
use net::Closed;
use wire::kv::Code;

#[cfg(test)]
mod tests;

/// The words of a command for what helps.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The option that names the file of a token.
    pub token: &'static str,
    /// The option or property that lists the servers.
    pub servers: &'static str,
    /// The option that decides the number of connections.
    pub connections: &'static str,
}

/// Returns why a server cannot be used, with the remedy.
pub fn unusable(why: Option<&Unopened>, words: &Words) -> String {
    let Words { servers, .. } = words;
    match why {
        Some(Unopened::Unprepared(why)) => unprepared(why, words).unwrap_or_else(|| {
            format!("{}\n  look at its log, or correct {servers}", without_option(why))
        }),
        Some(Unopened::By(Closed::Exhausted)) => format!(
            "{}\n  raise the limit of open files (`ulimit -n`), or use fewer {}",
            reason(why),
            words.connections
        ),
        _ => {
            format!("{}\n  start it with `benchwright kv serve`, or correct {servers}", reason(why))
        }
    }
}

/// Returns why a server of any kind cannot be used.
pub fn reason(why: Option<&Unopened>) -> String {
    match why {
        Some(Unopened::By(Closed::Refused)) => "nobody listens there".to_owned(),
        Some(Unopened::By(Closed::Exhausted)) => {
            "this machine has no free local port or open file".to_owned()
        }
        Some(Unopened::Unprepared(why)) => without_option(why),
        _ => "there is no answer".to_owned(),
    }
}

/// Returns the sentence for a connection that its server refuses, with the remedy, if the reason is known.
pub fn unprepared(why: &str, words: &Words) -> Option<String> {
    let Words { token, servers, connections } = words;
    let is = |code: Code| why == code.as_str();
    Some(match () {
        () if why == WANTS_TOKEN => format!("it wants a token; give it with {token}"),
        () if is(Code::Denied) => {
            format!("it has another token; write the server's into the file of {token}")
        }
        () if is(Code::TopologyMismatch) => format!(
            "it was filled with another list of servers; write the list that it was filled with into {servers}, in the \
             same order"
        ),
        () if is(Code::Busy) => format!(
            "it has no room for this connection; use fewer {connections}, or start it with a higher limit of open files \
             (`ulimit -n`)"
        ),
        () if is(Code::Version) => {
            "it needs another version of the protocol; use its version of benchwright".to_owned()
        }
        () if is(Code::Magic) => {
            format!("it is not a server of the key-value store; correct {servers}")
        }
        () if is(Code::Ending) => {
            "it is about to end; start it again with `benchwright kv serve`".to_owned()
        }
        _ => return None,
    })
}

/// Returns the same for Redis, to which a password is given in this way.
pub fn unprepared_redis(why: &str, password: &str, connections: &str) -> Option<String> {
    match why {
        WANTS_PASSWORD => Some(format!("it wants a password; give it with {password}")),
        HAS_NO_PASSWORD => Some("it has no password; leave it out".to_owned()),
        IS_FULL => Some(format!(
            "it has as many clients as it may have; use fewer {connections}, or raise its maxclients"
        )),
        _ => None,
    }
}

/// Returns a reason of the engine without the option for its time, which these commands do not have.
pub fn without_option(why: impl AsRef<str>) -> String {
    why.as_ref().trim_end_matches(" (--connect-timeout)").to_owned()
}
