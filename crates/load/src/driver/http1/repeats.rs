//! The requests that may have to be sent again as they are, because their workload cannot make them
//! again: those of a script, and the rest of a group that was answered in part.

use std::collections::HashMap;
use std::num::NonZeroU32;

use wire::http1::{RequestDecoder, RequestEvent};

use super::{Expected, Outgoing, Tally};
use crate::driver::Token;

/// The place of a group's bytes while it is outstanding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sent(NonZeroU32);

#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// The bytes of outstanding groups, and buffers that are not in use.
    kept: Vec<Kept>,
    unused: Vec<Sent>,
    /// The groups to send again, by their numbers.
    returned: HashMap<u64, Repeat>,
    /// The counts of the responses before the repetition, for repeated groups that are outstanding.
    begun: Vec<(Token, Tally)>,
}

#[derive(Debug, Default)]
struct Kept {
    number: u64,
    bytes: Vec<u8>,
}

/// A group, or the rest of one.
#[derive(Debug)]
struct Repeat {
    bytes: Vec<u8>,
    expected: Vec<Expected>,
    tally: Tally,
}

impl Repeats {
    /// Keeps a copy of a group's bytes until it completes.
    pub(super) fn keep(&mut self, number: u64, bytes: &[u8]) -> Sent {
        let sent = self.unused.pop().unwrap_or_else(|| {
            self.kept.push(Kept::default());
            let count = self.kept.len() as u32;
            Sent(NonZeroU32::new(count).expect("there is one more than before"))
        });
        let kept = self.of(sent);
        kept.number = number;
        kept.bytes.clear();
        kept.bytes.extend_from_slice(bytes);
        sent
    }

    /// Handles the end of a group, and returns its whole tally.
    #[inline]
    pub(super) fn complete(&mut self, token: Token, sent: Option<Sent>, tally: Tally) -> Tally {
        self.unused.extend(sent);
        if self.begun.is_empty() {
            return tally;
        }
        match self.begun.iter().position(|(of, _)| *of == token) {
            Some(place) => self.begun.swap_remove(place).1.and(tally),
            None => tally,
        }
    }

    /// Stores a group that has to be sent again, without the requests that were answered. A group
    /// whose bytes were not kept is made again by its workload.
    pub(super) fn take_back(
        &mut self,
        token: Token,
        sent: Option<Sent>,
        expected: Vec<Expected>,
        tally: Tally,
    ) {
        let Some(sent) = sent else { return };
        let answered = tally.answers;
        let tally = self.complete(token, Some(sent), tally);
        let Kept { number, ref bytes } = *self.of(sent);
        let bytes = without_first(answered, bytes).to_vec();
        self.returned.insert(number, Repeat { bytes, expected, tally });
    }

    /// Appends the group with this number; false if its workload has to make it again.
    pub(super) fn take(&mut self, token: Token, number: u64, request: &mut Outgoing<'_>) -> bool {
        let Some(Repeat { bytes, expected, tally }) = self.returned.remove(&number) else {
            return false;
        };
        request.wire.extend_from_slice(&bytes);
        request.expected.extend(expected);
        if 0 < tally.answers {
            self.begun.push((token, tally));
        }
        true
    }

    fn of(&mut self, Sent(place): Sent) -> &mut Kept {
        &mut self.kept[place.get() as usize - 1]
    }
}

/// Returns the bytes behind the first `count` requests.
fn without_first(count: u32, bytes: &[u8]) -> &[u8] {
    let mut decoder = RequestDecoder::default();
    let mut rest = bytes;
    let mut left = count;
    while 0 < left {
        let event = decoder.next(&mut rest).ok().flatten();
        match event.expect("a group consists of whole requests") {
            RequestEvent::End(_) => left -= 1,
            RequestEvent::Head(_) | RequestEvent::Body(_) => {}
        }
    }
    rest
}
