//! The posts of the initialisation. Each is a function of the seed, its author and its number among
//! the author's posts, and begins with a text that no other post has: so a post that is there
//! already is recognised wherever it is read.

use std::fmt::Write;
use std::ops::Range;

use clap::ValueEnum;

use super::random::Random;

#[cfg(test)]
mod tests;

/// The first characters of each post, which services keep as they are.
pub const MARK: usize = 256;

const LETTERS_AND_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SMALL_LETTERS_AND_DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS: &[u8] = b"0123456789";

/// The number of posts of each author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Exactly N posts of each user, as guide 2 says.
    Each,
    /// From 0 to N posts, as the original's script makes them with N = 20. As there, the authors
    /// are the users from 1 on and one who is not registered, who may be mentioned, too.
    UpTo,
}

/// The posts of a run.
#[derive(Clone, Copy, Debug)]
pub struct Posts {
    pub choice: Choice,
    /// N of the choice.
    pub number: u32,
    pub users: u32,
    pub seed: u64,
}

/// A post as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Post {
    pub text: String,
    /// The mentioned users, never the author; one may be mentioned twice.
    pub mentions: Vec<u32>,
    pub media: Vec<String>,
}

impl Posts {
    pub fn authors(&self) -> Range<u32> {
        match self.choice {
            _ if self.number == 0 => 0..0,
            Choice::Each => 0..self.users,
            Choice::UpTo => 1..self.users + 1,
        }
    }

    /// Returns the number of an author's posts.
    pub fn count(&self, author: u32) -> u32 {
        match self.choice {
            Choice::Each => self.number,
            Choice::UpTo => {
                let mut random = Random::of(self.seed, &[author.into()]);
                random.below(u64::from(self.number) + 1) as u32
            }
        }
    }

    pub fn total(&self) -> u64 {
        self.authors().map(|author| u64::from(self.count(author))).sum()
    }

    /// Returns the text by which a post is recognised.
    pub fn mark(&self, author: u32, number: u32) -> String {
        let mut mark = String::with_capacity(MARK);
        self.stream(author, number).text(MARK, LETTERS_AND_DIGITS, &mut mark);
        mark
    }

    /// Returns a post of the size that the original's script makes: after the mark from 0 to 5
    /// mentions, then from 0 to 5 URLs, and from 0 to 5 images.
    pub fn post(&self, author: u32, number: u32) -> Post {
        let mut random = self.stream(author, number);
        let mut text = String::with_capacity(2 * MARK);
        random.text(MARK, LETTERS_AND_DIGITS, &mut text);
        let mut mentions = Vec::new();
        for _ in 0..self.most_mentions(&mut random) {
            let mentioned = self.other_than(author, &mut random);
            mentions.push(mentioned);
            write!(text, " @{}", username(mentioned)).expect("a string takes any text");
        }
        for _ in 0..random.below(6) {
            text.push_str(" http://");
            random.text(64, SMALL_LETTERS_AND_DIGITS, &mut text);
        }
        let images = random.below(6);
        let media = (0..images).map(|_| {
            let mut id = String::with_capacity(18);
            random.text(18, DIGITS, &mut id);
            id
        });
        Post { text, mentions, media: media.collect() }
    }

    fn stream(&self, author: u32, number: u32) -> Random {
        Random::of(self.seed, &[author.into(), number.into()])
    }

    fn most_mentions(&self, random: &mut Random) -> u64 {
        let drawn = random.below(6);
        if self.mentionable() == 1 { 0 } else { drawn }
    }

    /// The number of those who may be mentioned, from user 0 on.
    fn mentionable(&self) -> u32 {
        match self.choice {
            Choice::Each => self.users,
            Choice::UpTo => self.users + 1,
        }
    }

    fn other_than(&self, author: u32, random: &mut Random) -> u32 {
        let drawn = random.below(u64::from(self.mentionable()) - 1) as u32;
        if drawn < author { drawn } else { drawn + 1 }
    }
}

/// Returns a user's name, which is the original's.
pub fn username(user: u32) -> String {
    format!("username_{user}")
}
