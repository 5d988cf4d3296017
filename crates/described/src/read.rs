//! The readers of all kinds of sources, and what is chosen of what they find.

use std::collections::BTreeSet;
use std::io::BufRead;

use results::regular;

use crate::described::{Described, MOST_REQUESTS, Request, Wanted, reads};
use crate::kind::Kind;
use crate::words::several;
use crate::{har, log, openapi};

/// The longest document that is read as a whole.
const MOST_OF_OPENAPI: u64 = 32 << 20;
const MOST_OF_HAR: u64 = regular::MOST;

/// Reads a source. An error says the place and the remedy.
pub fn read(kind: Kind, input: &mut dyn BufRead, wanted: &Wanted) -> Result<Described, String> {
    let all = |input: &mut dyn BufRead, most: u64| {
        regular::read_bounded(input, most).map_err(|error| regular::plain(&error))
    };
    let mut described = match kind {
        Kind::OpenApi => openapi::read(&all(input, MOST_OF_OPENAPI)?, wanted)?,
        Kind::Har => har::read(&all(input, MOST_OF_HAR)?, wanted)?,
        Kind::Log => log::read(input, wanted)?,
    };
    described.choose(wanted);
    match described.requests.iter().any(|request| request.left_out.is_none()) {
        true => Ok(described),
        false if described.requests.is_empty() => {
            let said = described.said.join("; ");
            Err(format!("it has no request that could be sent{}{said}", if said.is_empty() { "" } else { ": " }))
        }
        false => Err("all its requests may change data, and are not sent by default; add --writes if the service \
                      may lose its data"
            .to_owned()),
    }
}

impl Described {
    /// Leaves out what may change data, and what a mix has no room for; gives the others distinct labels.
    fn choose(&mut self, wanted: &Wanted) {
        let mut writes = 0;
        let mut sent = 0;
        let mut rare = 0;
        for request in &mut self.requests {
            if request.left_out.is_some() {
                continue;
            }
            if !reads(&request.method) && !wanted.writes {
                request.left_out = Some("it may change data".to_owned());
                writes += 1;
            } else if sent == MOST_REQUESTS {
                request.left_out = Some(format!("a mix has at most {MOST_REQUESTS} requests"));
                rare += 1;
            } else {
                sent += 1;
            }
        }
        if 0 < writes {
            self.said.push(format!(
                "not sent: {} with another method than GET and HEAD, which may change data: in the mix they are \
                 comments; --writes sends them, too",
                several(writes, "request", "requests")
            ));
        }
        if 0 < rare {
            self.said.push(format!(
                "not sent: {} beyond the first {MOST_REQUESTS}, the most that a mix can have: there they are comments",
                several(rare, "request", "requests")
            ));
        }
        distinct(&mut self.requests);
    }
}

/// Gives each request a label that no other has.
fn distinct(requests: &mut [Request]) {
    let mut known = BTreeSet::new();
    for request in requests {
        let label = request.label.clone();
        let mut number = 2;
        while !known.insert(request.label.clone()) {
            request.label = format!("{label} {number}");
            number += 1;
        }
    }
}
