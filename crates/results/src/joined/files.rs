//! Files of notes in memory.

use std::io::BufRead;

use super::{File, file};
use crate::events::{Received, Sent};
use crate::notes::{self, Header, Note, Rest, Sender, Side};

/// The notes of one file.
#[derive(Clone, Debug)]
pub enum Notes {
    Sender(OfSender),
    Receiver(OfReceiver),
}

#[derive(Clone, Debug)]
pub struct OfSender {
    pub name: String,
    pub clock: Option<String>,
    pub of: Sender,
    /// The events of each of its sources.
    pub sent: Vec<Vec<Sent>>,
    pub rest: Rest,
}

#[derive(Clone, Debug)]
pub struct OfReceiver {
    pub name: String,
    pub clock: Option<String>,
    pub sources: Vec<Vec<u8>>,
    /// The arrivals with a number of ours as their id. Their senders are places in `sources`.
    pub received: Vec<Received>,
    /// The arrivals with other ids.
    pub foreign: u64,
    pub rest: Rest,
}

/// The fewest bytes of an arrival in a file: with an id of one byte.
const FEWEST_BYTES: u64 = 12;

impl Notes {
    /// Reads a file of this many bytes.
    pub fn read(name: &str, input: &mut impl BufRead, length: u64) -> Result<Notes, String> {
        let named = |why: String| format!("{name}: {why}");
        let Header { clock, side, .. } = Header::read(input).map_err(named)?;
        match side {
            Side::Sender(of) => {
                let mut sent: Vec<Vec<Sent>> = of.sources.iter().map(|_| Vec::new()).collect();
                let rest = notes::read(input, |note| {
                    let Note::Sent { source, sent: one } = note else { return Ok(()) };
                    let of_source = sent.get_mut(usize::from(source));
                    of_source.ok_or("it has events of an unknown source")?.push(one);
                    Ok(())
                });
                let rest = rest.map_err(named)?;
                Ok(Notes::Sender(OfSender { name: name.to_owned(), clock, of, sent, rest }))
            }
            Side::Receiver => {
                let (mut sources, mut foreign, mut order) = (Vec::new(), 0, 0_u32);
                // Growing step by step would need up to half as much again.
                let mut received = Vec::with_capacity((length / FEWEST_BYTES) as usize);
                let rest = notes::read(input, |note| {
                    match note {
                        Note::Source(source) => sources.push(source.to_vec()),
                        Note::Arrival { source, id, at } => {
                            match notes::number(id) {
                                Some(number) => {
                                    received.push(Received { number, at, order, sender: source });
                                }
                                None => foreign += 1,
                            }
                            order = order.checked_add(1).ok_or("it has too many arrivals")?;
                        }
                        Note::Sent { .. } => {}
                    }
                    Ok(())
                });
                let rest = rest.map_err(named)?;
                received.shrink_to_fit();
                let name = name.to_owned();
                Ok(Notes::Receiver(OfReceiver { name, clock, sources, received, foreign, rest }))
            }
        }
    }
}

impl OfSender {
    pub(super) fn file(&self) -> File {
        let noted = self.sent.iter().map(|sent| sent.len() as u64).sum();
        file(&self.name, self.of.sources.clone(), noted, self.rest)
    }
}

impl OfReceiver {
    pub(super) fn file(&self) -> File {
        let sources = self.sources.iter().map(|source| source.escape_ascii().to_string()).collect();
        file(&self.name, sources, self.received.len() as u64 + self.foreign, self.rest)
    }
}
