//! The keys in the lines of the binding `basic`.

#[cfg(test)]
mod tests;

/// The text before the digits of a key.
const PREFIX: &[u8] = b"usertable user";

/// Reads lines of any length, in pieces of any size, and appends the key of each line as a number of 8 bytes, the
/// lowest first. A line has at most one.
#[derive(Debug, Default)]
pub struct Keys {
    state: State,
    /// Something of the line has been read.
    has_begun: bool,
    found: u64,
    skipped: u64,
    too_large: u64,
}

/// The position in a line.
#[derive(Clone, Copy, Debug)]
enum State {
    /// So many bytes of the prefix are found.
    Prefix(usize),
    Digits(u64),
    /// The rest of the line says nothing more.
    Found,
    /// A number that is too large for a key.
    TooLarge,
}

impl Default for State {
    fn default() -> State {
        State::Prefix(0)
    }
}

impl Keys {
    /// The lines with a key.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// The lines without one.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The lines whose number is too large for a key.
    pub fn too_large(&self) -> u64 {
        self.too_large
    }

    /// Reads a piece.
    pub fn read(&mut self, piece: &[u8], keys: &mut Vec<u8>) {
        let mut rest = piece;
        while let Some((byte, after)) = rest.split_first() {
            if *byte == b'\n' {
                self.end_line(keys);
                rest = after;
                continue;
            }
            self.has_begun = true;
            rest = match self.state {
                // Most of a line is after its key: nothing but its end is of interest.
                State::Found | State::TooLarge => {
                    &rest[memchr::memchr(b'\n', rest).unwrap_or(rest.len())..]
                }
                State::Prefix(0) => {
                    let end = memchr::memchr2(PREFIX[0], b'\n', rest).unwrap_or(rest.len());
                    let rest = &rest[end..];
                    match rest.first() {
                        Some(byte) if *byte == PREFIX[0] => {
                            self.state = State::Prefix(1);
                            &rest[1..]
                        }
                        _ => rest,
                    }
                }
                state => {
                    self.state = self.step(state, *byte, keys);
                    after
                }
            };
        }
    }

    /// Ends the last line, if it has no end of its own.
    pub fn end(&mut self, keys: &mut Vec<u8>) {
        if self.has_begun {
            self.end_line(keys);
        }
    }

    fn step(&mut self, state: State, byte: u8, keys: &mut Vec<u8>) -> State {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        match (state, digit) {
            (State::Prefix(length), Some(digit)) if length == PREFIX.len() => State::Digits(digit),
            (State::Prefix(length), _) => State::Prefix(longer(length, byte)),
            (State::Digits(number), Some(digit)) => {
                let number = number.checked_mul(10).and_then(|number| number.checked_add(digit));
                number.map_or(State::TooLarge, State::Digits)
            }
            (State::Digits(number), None) => {
                self.push(number, keys);
                State::Found
            }
            (State::Found | State::TooLarge, _) => state,
        }
    }

    fn push(&mut self, number: u64, keys: &mut Vec<u8>) {
        keys.extend_from_slice(&number.to_le_bytes());
        self.found += 1;
    }

    fn end_line(&mut self, keys: &mut Vec<u8>) {
        match self.state {
            State::Digits(number) => self.push(number, keys),
            State::Found => {}
            State::Prefix(_) => self.skipped += 1,
            State::TooLarge => self.too_large += 1,
        }
        (self.state, self.has_begun) = (State::Prefix(0), false);
    }
}

/// Returns how much of the prefix is found after a further byte (Knuth, Morris and Pratt).
fn longer(length: usize, byte: u8) -> usize {
    let mut length = length;
    while length == PREFIX.len() || PREFIX[length] != byte {
        if length == 0 {
            return 0;
        }
        // The prefix ends as it begins, with `user`, ten bytes later.
        length = length.saturating_sub(10);
    }
    length + 1
}
