//! The places of the keys and the values of a document, which its typed form does not have.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_saphyr::Spanned;

use crate::spec::read;

/// A part of a document.
#[derive(Clone, Debug)]
enum Node {
    Scalar,
    List(Vec<Spanned<Node>>),
    Mapping(Vec<(Spanned<Node>, Spanned<Node>)>),
}

/// A document with the places of its parts.
#[derive(Clone, Debug)]
pub(super) struct Document(Spanned<Node>);

/// A key or a value, as it stands in the text.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    /// The keys above it and, of a key, itself.
    pub(super) path: &'a [&'a str],
    pub(super) is_key: bool,
    /// The bytes of it in the text.
    pub(super) at: Range<usize>,
}

impl Document {
    /// Returns the places in a text; `None` if it is not a document.
    pub(super) fn read(text: &str) -> Option<Document> {
        serde_saphyr::from_str_with_options(text, read::options()).ok().map(Document)
    }

    /// Calls `see` with each key and each value in the order of the text, as long as it returns true. It
    /// enters what is below a key if `enter` returns true for its path.
    pub(super) fn walk<'a>(
        &self,
        text: &'a str,
        enter: &dyn Fn(&[&'a str]) -> bool,
        see: &mut dyn FnMut(&Token<'_>),
    ) {
        walk(&self.0, text, &mut Vec::new(), enter, see);
    }
}

fn walk<'a>(
    node: &Spanned<Node>,
    text: &'a str,
    path: &mut Vec<&'a str>,
    enter: &dyn Fn(&[&'a str]) -> bool,
    see: &mut dyn FnMut(&Token<'_>),
) {
    match &node.value {
        Node::Scalar => {
            if let Some(at) = bytes(node, text) {
                see(&Token { path, is_key: false, at });
            }
        }
        Node::List(elements) => {
            elements.iter().for_each(|element| walk(element, text, path, enter, see));
        }
        Node::Mapping(fields) => {
            for (key, value) in fields {
                let Some(at) = bytes(key, text) else { continue };
                path.push(text[at.clone()].trim_matches(['"', '\'']));
                see(&Token { path, is_key: true, at });
                if enter(path) {
                    walk(value, text, path, enter, see);
                }
                path.pop();
            }
        }
    }
}

/// Returns the bytes of a node in the text; of an alias, those that it stands for.
fn bytes(node: &Spanned<Node>, text: &str) -> Option<Range<usize>> {
    let span = node.defined.span();
    let begin = usize::try_from(span.byte_offset()?).ok()?;
    let end = begin + usize::try_from(span.byte_len()?).ok()?;
    text.get(begin..end).map(|_| begin..end)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Node;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_i128<E: de::Error>(self, _: i128) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_u128<E: de::Error>(self, _: u128) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_str<E: de::Error>(self, _: &str) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_none<E: de::Error>(self) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
            fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Node, D::Error> {
                Node::deserialize(inner)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    elements.push(element);
                }
                Ok(Node::List(elements))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(Node::Mapping(fields))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
