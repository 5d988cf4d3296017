//! A document as lines of a log, which other lines may interrupt and which may be read twice.
//!
//! A log of a container keeps lines of 16 KiB whole, and loses nothing of shorter ones. Each line
//! has its place among all and the digest of the whole document, so that a reader knows when it has
//! everything, and that it is right.

use serde::{Deserialize, Serialize};

use crate::digest;

#[cfg(test)]
mod tests;

/// The most bytes of the document in one line; escaped they may be twice as many.
const MOST_BYTES: usize = 6 * 1024;
/// The most lines of a document: 96 MiB.
const MOST_FRAMES: usize = 16 * 1024;
const BEGIN: &str = "{\"frame\":";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Line {
    frame: Frame,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Frame {
    /// Counted from 0.
    index: usize,
    of: usize,
    /// The digest of the whole document.
    sha256: String,
    text: String,
}

/// Returns the lines of a document.
pub fn lines(document: &str) -> Vec<String> {
    let sha256 = digest::sha256(document.as_bytes());
    let texts = parts(document);
    let of = texts.len();
    let line = |(index, text): (usize, &str)| {
        let frame = Frame { index, of, sha256: sha256.clone(), text: text.to_owned() };
        serde_json::to_string(&Line { frame }).expect("a frame is plain data")
    };
    texts.into_iter().enumerate().map(line).collect()
}

/// Divides a text between characters.
fn parts(mut text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    while MOST_BYTES < text.len() {
        let (part, rest) = text.split_at(text.floor_char_boundary(MOST_BYTES));
        parts.push(part);
        text = rest;
    }
    parts.push(text);
    parts
}

/// The lines of a document that were read so far.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    sha256: String,
    texts: Vec<Option<String>>,
    missing: usize,
}

impl Frames {
    /// Returns true for a line that is a part of a document.
    pub fn is_frame(line: &str) -> bool {
        line.starts_with(BEGIN)
    }

    /// Takes a line; other lines than those of a document change nothing. Returns the document with
    /// its last missing line.
    ///
    /// Fails with the reason if a line is damaged or of another document.
    pub fn take(&mut self, line: &str) -> Result<Option<String>, String> {
        if !Frames::is_frame(line) {
            return Ok(None);
        }
        let line: Line = serde_json::from_str(line)
            .map_err(|error| format!("a line of the document is damaged: {error}"))?;
        let Frame { index, of, sha256, text } = line.frame;
        if self.texts.is_empty() {
            if of == 0 || MOST_FRAMES < of {
                return Err(format!("a document of {of} lines"));
            }
            (self.sha256, self.texts, self.missing) = (sha256.clone(), vec![None; of], of);
        }
        if self.sha256 != sha256 || self.texts.len() != of || of <= index {
            return Err("a line is of another document".to_owned());
        }
        if self.texts[index].replace(text).is_some() {
            return Ok(None);
        }
        self.missing -= 1;
        if 0 < self.missing {
            return Ok(None);
        }
        let document: String = self.texts.iter().flatten().map(String::as_str).collect();
        match digest::sha256(document.as_bytes()) == self.sha256 {
            true => Ok(Some(document)),
            false => Err("the document does not have its digest".to_owned()),
        }
    }
}
