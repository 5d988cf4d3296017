//! The value of a form's field in an HTML page, without a parser of the whole page: the tags `<input>`
//! and `<textarea>` are read as a browser would, whatever stands around them.

use std::borrow::Cow;

use memchr::memchr;

/// Returns the value of the first field of this name.
pub(super) fn value<'a>(page: &'a [u8], name: &str) -> Option<Cow<'a, [u8]>> {
    let mut rest = page;
    while let Some(at) = memchr(b'<', rest) {
        rest = &rest[at + 1..];
        if rest.starts_with(b"!--") {
            let end = memchr::memmem::find(rest, b"-->")?;
            rest = &rest[end + 3..];
            continue;
        }
        let is_input = begins_tag(rest, b"input");
        if !is_input && !begins_tag(rest, b"textarea") {
            continue;
        }
        let mut attributes = Attributes { rest: &rest[if is_input { 5 } else { 8 }..] };
        let (mut is_named, mut value) = (false, None);
        while let Some((key, text)) = attributes.next() {
            if key.eq_ignore_ascii_case(b"name") {
                is_named = *unescaped(text) == *name.as_bytes();
            } else if key.eq_ignore_ascii_case(b"value") {
                value = Some(text);
            }
        }
        rest = attributes.rest;
        if is_named && is_input {
            return Some(unescaped(value.unwrap_or_default()));
        }
        if is_named {
            let text = rest.strip_prefix(b">").unwrap_or(rest);
            let text = text.strip_prefix(b"\r\n").or(text.strip_prefix(b"\n")).unwrap_or(text);
            let end = memchr(b'<', text).unwrap_or(text.len());
            return Some(unescaped(&text[..end]));
        }
    }
    None
}

fn begins_tag(rest: &[u8], tag: &[u8]) -> bool {
    let Some((name, behind)) = rest.split_at_checked(tag.len()) else { return false };
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    name.eq_ignore_ascii_case(tag) && behind.first().is_some_and(ends)
}

/// The attributes of a tag, up to its `>`.
struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let begins = |byte: u8| !byte.is_ascii_whitespace() && byte != b'/';
        self.rest = &self.rest[self.rest.iter().position(|&byte| begins(byte))?..];
        if self.rest.starts_with(b">") {
            return None;
        }
        let ends = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/');
        // A `=` without a name before it is a name, as in browsers.
        let length = self.rest[1..].iter().position(|&byte| ends(byte));
        let key = self.take(1 + length.unwrap_or(self.rest.len() - 1));
        let after = self.rest.trim_ascii_start();
        let Some(after) = after.strip_prefix(b"=") else { return Some((key, b"")) };
        self.rest = after.trim_ascii_start();
        let value = match self.rest.first() {
            Some(&quote @ (b'"' | b'\'')) => {
                self.rest = &self.rest[1..];
                let end = memchr(quote, self.rest).unwrap_or(self.rest.len());
                let value = self.take(end);
                self.rest = self.rest.get(1..).unwrap_or_default();
                value
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
                let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
                self.take(end)
            }
        };
        Some((key, value))
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

/// Replaces the character references that servers write into values: `&amp;`, `&quot;`, `&lt;`, `&gt;`,
/// `&apos;` and numbers. Others stay as they are.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'&', text) else { return Cow::Borrowed(text) };
    let mut out = text[..first].to_vec();
    let mut rest = &text[first..];
    while let Some((&byte, behind)) = rest.split_first() {
        let reference = (byte == b'&').then(|| memchr(b';', &behind[..behind.len().min(12)]));
        let length = reference.flatten();
        match length.and_then(|length| character(&behind[..length])) {
            Some(c) => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &behind[length.unwrap_or_default() + 1..];
            }
            None => {
                out.push(byte);
                rest = behind;
            }
        }
    }
    Cow::Owned(out)
}

fn character(name: &[u8]) -> Option<char> {
    Some(match name {
        b"amp" => '&',
        b"quot" => '"',
        b"apos" => '\'',
        b"lt" => '<',
        b"gt" => '>',
        _ => {
            let number = std::str::from_utf8(name.strip_prefix(b"#")?).ok()?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}
