//! A post as JSON, as the original's front writes it: numbers of 64 bits are strings, an empty list
//! is `{}`, and a slash is `\/`.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};

use super::api::common::Account;
use super::api::post::{Media, Post, Url};

#[cfg(test)]
mod tests;

/// An empty list, of posts or of anything else.
pub const EMPTY: &str = "{}";

/// Returns a post as JSON.
pub fn post(post: &Post) -> Vec<u8> {
    json(&Rendered::from(post))
}

/// Returns users as a list of objects with one field: their numbers.
pub fn users(field: &'static str, ids: &[i64]) -> Vec<u8> {
    let objects: Vec<One> = ids.iter().map(|id| One(field, id.to_string())).collect();
    json(&List(&objects, |object| object))
}

fn json(document: &impl Serialize) -> Vec<u8> {
    let mut json = Vec::with_capacity(2048);
    let mut serializer = serde_json::Serializer::with_formatter(&mut json, Slashes);
    document.serialize(&mut serializer).expect("a vector takes any bytes");
    json
}

#[derive(serde::Serialize)]
struct Rendered<'a> {
    urls: List<'a, Url, RenderedUrl<'a>>,
    req_id: String,
    post_id: String,
    creator: RenderedAccount<'a>,
    media: List<'a, Media, RenderedMedia<'a>>,
    post_type: i32,
    timestamp: String,
    text: &'a str,
    user_mentions: List<'a, Account, RenderedAccount<'a>>,
}

#[derive(serde::Serialize)]
struct RenderedUrl<'a> {
    expanded_url: &'a str,
    shortened_url: &'a str,
}

#[derive(serde::Serialize)]
struct RenderedMedia<'a> {
    media_id: String,
    media_type: &'a str,
}

#[derive(serde::Serialize)]
struct RenderedAccount<'a> {
    username: &'a str,
    user_id: String,
}

impl<'a> From<&'a Post> for Rendered<'a> {
    fn from(post: &'a Post) -> Self {
        static NOBODY: Account = Account { user_id: 0, username: String::new() };
        Rendered {
            urls: List(&post.urls, |url| RenderedUrl {
                expanded_url: &url.expanded_url,
                shortened_url: &url.shortened_url,
            }),
            req_id: post.req_id.to_string(),
            post_id: post.post_id.to_string(),
            creator: account(post.creator.as_ref().unwrap_or(&NOBODY)),
            media: List(&post.media, |media| RenderedMedia {
                media_id: media.media_id.to_string(),
                media_type: &media.media_type,
            }),
            post_type: post.post_type,
            timestamp: post.timestamp.to_string(),
            text: &post.text,
            user_mentions: List(&post.user_mentions, account),
        }
    }
}

fn account(account: &Account) -> RenderedAccount<'_> {
    RenderedAccount { username: &account.username, user_id: account.user_id.to_string() }
}

/// A list and the form of its items. Without items it is an empty object.
struct List<'a, T, R>(&'a [T], fn(&'a T) -> R);

impl<T, R: Serialize> Serialize for List<'_, T, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let List(items, rendered) = self;
        match items.is_empty() {
            true => serializer.serialize_map(Some(0))?.end(),
            false => serializer.collect_seq(items.iter().map(rendered)),
        }
    }
}

/// An object with one field.
struct One(&'static str, String);

impl Serialize for One {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let One(field, value) = self;
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry(field, value)?;
        object.end()
    }
}

/// The format without white space, and with escaped slashes.
struct Slashes;

impl Formatter for Slashes {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut parts = fragment.split('/');
        out.write_all(parts.next().unwrap_or_default().as_bytes())?;
        for part in parts {
            CompactFormatter.write_char_escape(out, CharEscape::Solidus)?;
            out.write_all(part.as_bytes())?;
        }
        Ok(())
    }
}
