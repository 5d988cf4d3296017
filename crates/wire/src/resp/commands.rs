//! Commands on their way to the peer.

/// Appends commands to bytes, and counts them.
#[derive(Debug)]
pub struct Commands<'a> {
    out: &'a mut Vec<u8>,
    count: u32,
    /// The arguments that the last command still needs.
    wanted: usize,
}

impl<'a> Commands<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Commands<'a> {
        Commands { out, count: 0, wanted: 0 }
    }

    /// The number of commands that were begun. Each gets one reply.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Begins a command that has so many words, with its name.
    pub fn begin(&mut self, name: &[u8], words: usize) {
        assert_eq!(self.wanted, 0, "the command before is complete");
        assert!(0 < words, "a command has a name");
        self.count += 1;
        self.wanted = words;
        self.out.push(b'*');
        self.number(words as u64);
        self.word(name);
    }

    /// Appends a word of the command.
    pub fn word(&mut self, word: &[u8]) {
        self.wanted = self.wanted.checked_sub(1).expect("a command has as many words as it said");
        self.out.push(b'$');
        self.number(word.len() as u64);
        self.out.extend_from_slice(word);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Appends a number and the end of a line.
    fn number(&mut self, number: u64) {
        let mut digits = [0; 20];
        self.out.extend_from_slice(decimal(number, &mut digits));
        self.out.extend_from_slice(b"\r\n");
    }
}

/// Writes a number in decimal, and returns its digits.
pub fn decimal(number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let (mut rest, mut at) = (number, digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[at..];
        }
    }
}
