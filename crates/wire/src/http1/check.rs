//! The check of requests before they are sent: the only place where it is decided what may be
//! written into one.

use super::body::tokens;

/// Checks a whole request. Its body is sent as it is, with its length.
pub fn check_request(
    method: &str,
    target: &str,
    fields: &[(&str, &str)],
    body: &[u8],
) -> Result<(), String> {
    check_method(method)?;
    check_target(target)?;
    check_fields(fields.iter().copied(), Some(body.len()))
}

/// Checks the fields of a request. Without the length of its body, they cannot state it.
pub fn check_fields<'a>(
    fields: impl Iterator<Item = (&'a str, &'a str)>,
    length: Option<usize>,
) -> Result<(), String> {
    let singles = ["Host", "Content-Length"];
    let mut seen = [false; 2];
    for (name, value) in fields {
        check_field(name, value)?;
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match length {
            Some(length) if is("content-length") && value.trim() != length.to_string() => {
                return Err(format!(
                    "`{name}: {value}` contradicts the body, which has {length} bytes; leave the \
                     field out"
                ));
            }
            None if is("content-length") => return Err(follows(name)),
            _ if is("transfer-encoding") => return Err(follows(name)),
            _ => {}
        }
        for (single, seen) in singles.into_iter().zip(&mut seen) {
            if is(single) && std::mem::replace(seen, true) {
                return Err(format!("a request has one `{single}`; remove the others"));
            }
        }
    }
    Ok(())
}

fn follows(name: &str) -> String {
    format!("`{name}` follows from the body, which is sent with its length; leave it out")
}

pub fn check_method(method: &str) -> Result<(), String> {
    match is_token(method) {
        true => Ok(()),
        false => Err(format!(
            "`{}` is not a valid method; write one word, such as PUT",
            method.escape_debug()
        )),
    }
}

/// Checks what follows the method: a path with its query, `*`, or a whole URL.
pub fn check_target(target: &str) -> Result<(), String> {
    match bad_in_target(target) {
        None if !target.is_empty() => Ok(()),
        None => Err("the path is missing; write for example /".to_owned()),
        Some((_, c)) => Err(format!(
            "{c:?} is not allowed in a path or query; write it percent-encoded, such as %20 for a \
             space"
        )),
    }
}

/// Returns the first character that a target cannot have, with its position.
pub fn bad_in_target(text: &str) -> Option<(usize, char)> {
    text.char_indices().find(|(_, c)| !c.is_ascii_graphic() || *c == '#')
}

pub fn check_field(name: &str, value: &str) -> Result<(), String> {
    check_name(name)?;
    match bad_in_value(value) {
        None => Ok(()),
        Some((_, c)) => Err(format!(
            "the value of the header field `{name}` has {c:?}, which is not allowed there; leave \
             it out"
        )),
    }
}

pub fn check_name(name: &str) -> Result<(), String> {
    match is_token(name) {
        true => Ok(()),
        false => Err(format!(
            "`{}` is not a valid name of a header field; write for example X-Request-Id",
            name.escape_debug()
        )),
    }
}

/// Returns the first character that the value of a field cannot have, with its position.
pub fn bad_in_value(value: &str) -> Option<(usize, char)> {
    value.char_indices().find(|(_, c)| c.is_ascii_control() && *c != '\t')
}

/// True if a field says that the connection ends after this message: `Connection: close`.
pub fn asks_to_close(fields: &[(&str, &str)]) -> bool {
    fields.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("connection") && says_close(value.as_bytes())
    })
}

/// True if `close` is one of the options in the value of `Connection`.
pub fn says_close(value: &[u8]) -> bool {
    tokens(value).any(|token| token.eq_ignore_ascii_case(b"close"))
}

/// True for a token as in RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(is_part)
}
